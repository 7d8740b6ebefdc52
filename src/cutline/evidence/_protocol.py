"""What an evidence is: the protocols, and the checks and comparisons that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, check_whole
from cutline.errors import InputError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Sums = float | Floats
Needs = Literal["sum", "moments", "order"]

_DUST = 1e-9  # how far a sum may lie outside [0, n], relative to n, before it is called a mistake


@runtime_checkable
class Evidence(Protocol):
    """Evidence from n losses in [0, 1] that their expectation is at most alpha.

    `certifies` is exactly `log_evidence >= log(1 / delta)`. For a risk above alpha it happens with probability at most
    delta over the draw of the losses (only approximately where `asymptotic` is true).
    """

    name: ClassVar[str]
    needs: ClassVar[Needs]
    asymptotic: ClassVar[bool]

    def p_value(self, losses: npt.ArrayLike, *, alpha: float, tuning_delta: float | None = None) -> float: ...
    def certifies(self, losses: npt.ArrayLike, *, alpha: float, delta: float) -> bool: ...
    def log_evidence(self, losses: npt.ArrayLike, *, alpha: float, delta: float) -> float: ...
    def upper_bound(self, losses: npt.ArrayLike, *, delta: float) -> float: ...
    def settings(self) -> dict[str, object]: ...


@runtime_checkable
class SumEvidence(Evidence, Protocol):
    """Evidence that needs only the number of losses and their sum."""

    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float: ...
    def log_evidence_from_sums(self, total: float, n: int, *, alpha: float, delta: float) -> float: ...
    def upper_bound_from_sums(self, total: float, n: int, *, delta: float) -> float: ...
    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats: ...
    def critical_total(self, n: int, *, alpha: float, delta: float) -> float: ...


@runtime_checkable
class MomentEvidence(Evidence, Protocol):
    """Evidence that needs the number of losses, their sum and the sum of their squares."""

    def p_value_from_moments(self, total: Sums, squares: Sums, n: int, *, alpha: float) -> Floats: ...
    def log_evidence_from_moments(
        self, total: float, squares: float, n: int, *, alpha: float, delta: float
    ) -> float: ...
    def bounds_from_moments(self, totals: Sums, squares: Sums, n: int, *, delta: float) -> Floats: ...


@runtime_checkable
class OrderEvidence(Evidence, Protocol):
    """Evidence that reads the losses one after the other: one row of an (m, n) array for each of m thresholds."""

    def certifies_each(
        self, losses: Floats, *, alpha: float, delta: float, tuning_delta: float | None = None
    ) -> Flags: ...
    def log_evidence_each(self, losses: Floats, *, alpha: float, delta: float) -> Floats: ...
    def bounds_each(self, losses: Floats, *, delta: float, tuning_delta: float | None = None) -> Floats: ...


def check_losses(losses: npt.ArrayLike, *, least: int = 1) -> Floats:
    """Losses as a contiguous float64 vector: finite, in [0, 1], at least `least` of them."""
    try:
        values = np.ascontiguousarray(losses, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("losses must be numbers in [0, 1], got values that do not convert to float") from None
    if np.ndim(losses) != 1:
        raise InputError(f"losses must be one-dimensional, one per query, got {np.ndim(losses)} dimensions")
    if values.size < least:
        raise InputError(f"losses must hold at least {least} value{'s' * (least > 1)}, got {values.size}; add queries")
    outside = ~((values >= 0.0) & (values <= 1.0))  # true for NaN as well
    if outside.any():
        where = int(np.argmax(outside))
        came = float(values[where])
        raise InputError(f"losses must be in [0, 1], got {came!r} at position {where}; rescale the loss")
    return values


def check_total(total: float, n: int, *, least: int = 1) -> tuple[float, int]:
    """A sum of n losses, clipped to [0, n] where only rounding pushed it out."""
    n = check_whole("n", n, least=least)
    total = check_number("total", total)
    if not -_DUST * n <= total <= n * (1.0 + _DUST):
        raise InputError(f"total must be a sum of {n} losses in [0, 1], got {total!r}")
    return min(max(total, 0.0), float(n)), n


def check_totals(name: str, totals: Sums, n: int) -> Floats:
    """The same for many sums at once."""
    values = np.asarray(totals, dtype=np.float64)
    outside = ~((values >= -_DUST * n) & (values <= n * (1.0 + _DUST)))
    if outside.any():
        raise InputError(f"{name} must be sums of {n} values in [0, 1], got {float(values[outside][0])!r}")
    return np.clip(values, 0.0, float(n))


def log_from_p(p: float, fallback: Callable[[], float]) -> float:
    """-log p; where p has underflowed, a smaller evidence known from a closed form, so that it stays finite."""
    return -math.log(p) + 0.0 if p > 1e-290 else fallback()


def agreeing(log_evidence: float, *, certified: bool, delta: float) -> float:
    """The log evidence, moved by rounding errors only, so that it is >= log(1 / delta) exactly when certified."""
    bars = (math.log(1.0 / delta), -math.log(delta))
    if certified:
        return max(log_evidence, *bars)
    return min(log_evidence, math.nextafter(min(bars), -math.inf))


def raised_until_certified(bounds: Floats, certified: Callable[[Floats], Flags]) -> Floats:
    """Move upper bounds that sit on the edge up by as little as makes them certified; a bound of 1 may stay."""
    bounds = np.fmin(np.asarray(bounds, dtype=np.float64), 1.0)  # a bound that cannot be computed, NaN, is 1
    step = 2.0**-53
    while True:
        short = (bounds < 1.0) & ~certified(bounds)
        if not short.any():
            return bounds
        bounds = np.where(short, np.minimum(bounds + step * np.maximum(bounds, 1e-300), 1.0), bounds)
        step *= 2.0
