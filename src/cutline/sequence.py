"""In which order thresholds are tested, and at which level each: fixed sequence testing and the fallback
procedure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import SMALLEST_LEVEL, check_level, check_number
from cutline._display import shown
from cutline.errors import InputError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
LARGEST_GRID = 10_000_000


def grid(start: float, stop: float, step: float) -> Floats:
    """Evenly spaced thresholds from start to stop, both included where the step meets them; downwards if stop is
    below start.

    Computed from whole numbers and rounded once, to the larger number of decimals of start and step: grid(0.99,
    0.01, 0.01) holds exactly the numbers that 0.99, 0.98 … 0.01 are read as, which repeated subtraction misses.
    """
    first, last, width = (
        Decimal(repr(check_number(name, value))) for name, value in (("start", start), ("stop", stop), ("step", step))
    )
    if width <= 0:
        raise InputError(f"step must be above 0, got {step!r}; the direction follows from start and stop")
    decimals = max(0, -_exponent(first), -_exponent(width))
    scale = 10**decimals
    begin, by = int(first * scale), int(width * scale)
    count = int(abs(last - first) / width) + 1
    if count > LARGEST_GRID:
        raise InputError(
            f"grid({start!r}, {stop!r}, {step!r}) has {count} thresholds; at most {LARGEST_GRID} are allowed"
        )
    sign = -1 if last < first else 1
    if max(abs(begin) + count * by, scale) < 2**53:  # every whole number here is a float, and one division rounds once
        return np.asarray((begin + sign * by * np.arange(count)) / scale, dtype=np.float64)
    return np.array([(begin + sign * k * by) / scale for k in range(count)], dtype=np.float64)


def describe(thresholds: Floats) -> dict[str, Any]:
    """A grid as start, stop, step and count where that gives back exactly the same numbers, else all its values."""
    if len(thresholds) > 2:
        first, last = float(thresholds[0]), float(thresholds[-1])
        step = float(f"{abs(last - first) / (len(thresholds) - 1):.12g}")
        if 0 < step < np.inf and np.array_equal(grid(first, last, step), thresholds):
            return {"start": first, "stop": last, "step": step, "count": len(thresholds)}
    return {"values": [float(value) for value in thresholds]}


def _exponent(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


class Block(Protocol):
    """A run of consecutive hypotheses of a walk, which can be tested at a level."""

    def __len__(self) -> int: ...

    def certified(self, level: float, first: int, last: int) -> Flags:
        """Which of the hypotheses first … last-1 of this block are certified at this level."""
        ...


@dataclass(frozen=True, slots=True)
class Walked:
    """How a walk ended: the position of the farthest certified threshold (None: abstain), and how many were
    tested."""

    farthest: int | None
    tested: int


@runtime_checkable
class TestingOrder(Protocol):
    """Spends delta along a walk, so that the chance of certifying any false hypothesis is at most delta."""

    name: ClassVar[str]

    def walk(self, blocks: Iterable[Block], *, delta: float, count: int | None) -> Walked:
        """Test the blocks in order; `count` is the number of all hypotheses where it is known beforehand."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        ...


@dataclass(frozen=True, slots=True)
class FixedSequence:
    """Test each threshold at the full delta, in order, and stop at the first that is not certified (Wiens, 2003).

    Any order fixed before the calibration queries are seen keeps delta. Blocks after the stop are never asked for.
    """

    name: ClassVar[str] = "fixed"

    def walk(self, blocks: Iterable[Block], *, delta: float, count: int | None = None) -> Walked:
        """The position before the first failure."""
        before = 0
        for block in blocks:
            verdicts = block.certified(delta, 0, len(block))
            if not verdicts.all():
                position = before + int(np.argmin(verdicts))
                return Walked(position - 1 if position else None, position + 1)
            before += len(block)
        return Walked(before - 1 if before else None, before)

    def certified(self, p_values: Sequence[float], *, delta: float) -> list[int]:
        """Positions certified by these p-values."""
        walked = self.walk([_PValues(np.asarray(p_values, dtype=np.float64))], delta=delta)
        return [] if walked.farthest is None else list(range(walked.farthest + 1))

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name}


@dataclass(frozen=True, slots=True)
class Fallback:
    """Test every threshold; each has its own share of delta, and passes all it holds on to the next when certified.

    level_i = w_i·δ + level_{i-1} if i-1 was certified (Wiens and Dmitrienko, 2005). For losses that begin high, as
    with a minimum size: a failure does not end the walk. The weights, equal if not given, must be fixed beforehand
    and sum to 1.
    """

    weights: tuple[float, ...] | None = field(default=None)
    name: ClassVar[str] = "fallback"

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        try:
            weights = tuple(check_number("weights", weight) for weight in self.weights)
        except TypeError:
            raise InputError(f"weights must be one share of delta per threshold, got {shown(self.weights)}") from None
        if not weights or min(weights) < 0 or abs(sum(weights) - 1) > 1e-9 * len(weights):
            raise InputError(f"weights must be at least 0 and sum to 1, got a sum of {sum(weights):g}")
        total = math.fsum(weights)
        if total > 1.0 + 2.0**-50 * len(weights):  # once is enough: what is loaded again stays as it is
            weights = tuple(weight / total for weight in weights)
        object.__setattr__(self, "weights", weights)

    def walk(self, blocks: Iterable[Block], *, delta: float, count: int | None) -> Walked:
        """The farthest certified position."""
        farthest: int | None = None
        position = 0
        for position, passed in enumerate(self._levels(blocks, delta, count), start=1):
            if passed:
                farthest = position - 1
        return Walked(farthest, position)

    def certified(self, p_values: Sequence[float], *, delta: float) -> list[int]:
        """Positions certified by these p-values."""
        values = np.asarray(p_values, dtype=np.float64)
        return [
            position for position, passed in enumerate(self._levels([_PValues(values)], delta, len(values))) if passed
        ]

    def _levels(self, blocks: Iterable[Block], delta: float, count: int | None) -> Iterator[bool]:
        if count is None:
            raise InputError('Fallback needs a finite grid of thresholds; pass thresholds=cl.grid(…), not "exact"')
        weights = self.shares(count)
        level, position = 0.0, 0
        for block in blocks:
            for place in range(len(block)):
                level += weights[position] * delta
                passed = level >= SMALLEST_LEVEL and bool(block.certified(min(level, delta), place, place + 1)[0])
                yield passed
                level = level if passed else 0.0
                position += 1

    def shares(self, count: int) -> Sequence[float]:
        """The share of delta that each of so many thresholds holds from the start."""
        if self.weights is None:
            return [1.0 / max(1, count)] * count
        if len(self.weights) != count:
            raise InputError(
                f"weights must name one share per threshold, got {len(self.weights)} for {count} thresholds"
            )
        return self.weights

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name, "weights": None if self.weights is None else list(self.weights)}


@dataclass(frozen=True, slots=True, eq=False)
class _PValues:
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def certified(self, level: float, first: int, last: int) -> Flags:
        return self.values[first:last] <= check_level("delta", level)


SEQUENCES: dict[str, type[Any]] = {kind.name: kind for kind in (FixedSequence, Fallback)}
