"""The risk curve: sums of losses on a grid of thresholds, which add up over chunks, threads and machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutline._record import ListLengths
from cutline.errors import InputError
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.sequence import grid
from cutline.sets import SetRule, Threshold

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskCurve:
    """Sums over queries at every threshold of a walk: ΣL, ΣL², ΣL·1[S≠∅], Σ|S|, Σb, non-empty; and n, items, lengths.

    All sums are whole numbers, so that any order of chunks and merges gives the same curve to the last bit. A curve
    keeps no single loss: it serves evidence that needs sums, not betting.
    """

    loss: Loss
    scoring: Scoring
    sets: SetRule
    thresholds: Floats
    sums: Integers
    lengths: dict[int, int]
    fingerprint: tuple[int, int]

    @classmethod
    def empty(
        cls,
        *,
        loss: Loss,
        scoring: Scoring | None = None,
        sets: SetRule | None = None,
        thresholds: npt.ArrayLike | None = None,
    ) -> Self:
        """A curve of no queries, to add chunks to."""
        from cutline.kernels.walk import COLUMNS

        scoring = AsGiven() if scoring is None else scoring
        if isinstance(thresholds, str):
            raise InputError(f"thresholds of a curve must be numbers, got {thresholds!r}; pass thresholds=cl.grid(…)")
        values = check_thresholds(thresholds, loss=loss, scoring=scoring)
        sums = np.zeros((len(values), COLUMNS), np.int64)
        return cls(
            loss=loss, scoring=scoring, sets=Threshold() if sets is None else sets, thresholds=values, sums=sums,
            lengths={}, fingerprint=(0, 0),
        )  # fmt: skip

    def add(self, queries: Queries) -> Self:
        """The curve with these queries added. Whole queries only: one split over two chunks would count as two."""
        from cutline.cutting import Lists, fingerprint
        from cutline.walks import walk_of

        scores = self.scoring.item_scores(queries.scores, queries.offsets)
        badness = self.loss.relevance.badness(queries)
        lists = Lists(
            scores, queries.offsets, badness, self.loss, self.sets, np.arange(len(queries)), queries.vectors
        )  # fmt: skip
        walk = walk_of(lists, self.thresholds, squares=True, losses=False)
        sums = np.concatenate([stretch.sums for stretch in walk.stretches()])
        low, high = fingerprint(scores, badness, queries.offsets)
        added = replace(self, sums=sums, lengths=lengths_of(np.diff(queries.offsets)), fingerprint=(low, high))
        return self.merge(added)

    def merge(self, other: RiskCurve) -> Self:
        """Both curves in one; they must have the same thresholds, loss, scoring and rule."""
        mine, theirs = self._meaning(), other._meaning()
        if mine != theirs or not np.array_equal(self.thresholds, other.thresholds):
            raise InputError(f"curves to merge must share thresholds, loss, scoring and sets, got {mine} and {theirs}")
        lengths = dict(Counter(self.lengths) + Counter(other.lengths))
        joined = tuple((one + two) % 2**64 for one, two in zip(self.fingerprint, other.fingerprint, strict=True))
        return replace(self, sums=self.sums + other.sums, lengths=lengths, fingerprint=(joined[0], joined[1]))

    def _meaning(self) -> tuple[Any, ...]:
        relevance = self.loss.relevance
        return self.loss.name, relevance.settings(), relevance.unjudged, self.scoring.settings(), self.sets.settings()

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return sum(self.lengths.values())

    @property
    def n_items(self) -> int:
        """Items added so far."""
        return sum(length * count for length, count in self.lengths.items())

    @property
    def risk(self) -> Floats:
        """The mean loss at each threshold."""
        from cutline.kernels.walk import LOSS

        return self.sums[:, LOSS] / np.float64(unit_losses(max(1, self.n_queries)))

    @property
    def mean_size(self) -> Floats:
        """The mean length of the lists at each threshold."""
        from cutline.kernels.walk import CHOSEN

        return self.sums[:, CHOSEN] / max(1, self.n_queries)

    def __len__(self) -> int:
        return len(self.thresholds)

    def __repr__(self) -> str:
        span = f"{self.thresholds[0]:g} … {self.thresholds[-1]:g}"
        return f"RiskCurve({self.loss.name}, {self.n_queries:,} queries, {len(self):,} thresholds {span})"


def unit_losses(n_queries: int) -> int:
    """The sum of n losses of 1, in units."""
    from cutline.kernels.walk import UNITS

    return n_queries * UNITS


def lengths_of(sizes: Integers) -> dict[int, int]:
    """How many lists there are of each length."""
    lengths, counts = np.unique(sizes, return_counts=True)
    return {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}


def length_quantiles(lengths: dict[int, int]) -> ListLengths:
    """The shortest, median and longest list length, from counts."""
    sizes = np.array(sorted(lengths), dtype=np.int64)
    upto = np.cumsum([lengths[int(size)] for size in sizes])
    total = int(upto[-1])
    middle = sizes[np.searchsorted(upto, [(total - 1) // 2, total // 2], side="right")]
    return ListLengths(min=int(sizes[0]), median=float(middle.mean()), max=int(sizes[-1]))


def check_thresholds(thresholds: npt.ArrayLike | None, *, loss: Loss, scoring: Scoring) -> Floats:
    """A grid in the order in which this loss walks it; the default grid of win rates where none is given."""
    falling = loss.safe_end == "high"
    if thresholds is None:
        if scoring.name != "win-rate":
            raise InputError(
                "thresholds are wanted: scores as given have no grid of their own; pass thresholds=cl.grid(…)"
            )
        return grid(0.999, 0.001, 0.001) if falling else grid(0.001, 0.999, 0.001)
    try:
        values = np.array(thresholds, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f'thresholds must be numbers or "exact", got {thresholds!r}') from None
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise InputError(f"thresholds must be a list of at least one finite number, got {thresholds!r}")
    steps = np.diff(values)
    if not bool(np.all(steps < 0 if falling else steps > 0)):
        order, cause = ("fall", "from few items on") if falling else ("rise", "from all items on")
        place = int(np.flatnonzero(steps >= 0 if falling else steps <= 0)[0])
        backwards = bool(np.all(steps > 0 if falling else steps < 0))
        fix = "; reverse them" if backwards else "; sort them and drop repeats"
        raise InputError(
            f"thresholds must {order} strictly, as {loss.name} walks {cause}, "
            f"got {values[place]:g} then {values[place + 1]:g}{fix}"
        )
    if scoring.name == "win-rate" and (values.min() < 0 or values.max() > 1):
        raise InputError(f"thresholds of win rates must lie in [0, 1], got {values.min():g} to {values.max():g}")
    return values + 0.0
