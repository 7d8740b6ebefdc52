"""One table of losses for all queries and thresholds, from which any split of the queries is calibrated by sums.

What a list costs at a threshold does not depend on which other queries calibrate. So every list is cut once, at every
threshold, and a split only adds up the rows of its own queries. Its threshold is that of `cl.calibrate` on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._display import shown
from cutline.cutting import Lists, fingerprint_text, lengths_of, prepared, unit_losses
from cutline.diversity import ranked
from cutline.errors import InputError
from cutline.evidence import Evidence
from cutline.judging import Judge, judge_of
from cutline.losses import Loss
from cutline.preferences import Scoring
from cutline.queries import Queries
from cutline.sequence import FixedSequence
from cutline.sets import Diverse, SetRule, Threshold
from cutline.walks import walk_of

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

STRIDE = 8  # thresholds tested at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossTable:
    """Losses of queries at the thresholds of a walk, and how many items of each list reach these.

    `units` (n_queries, n_thresholds) are losses in 1/UNITS; `reached` counts items at or above the threshold, of which
    at least `least` and at most `most` are kept. `marks` are the fingerprints of the lists, `names` the ids of the
    queries.
    """

    thresholds: Floats
    units: Integers
    reached: npt.NDArray[np.int32]
    least: int
    most: int | None
    lengths: Integers
    marks: npt.NDArray[np.uint64]
    names: Queries

    @classmethod
    def of(cls, queries: Queries, *, loss: Loss, scoring: Scoring, sets: SetRule, thresholds: Floats) -> LossTable:
        """Cut every list at every threshold."""
        from cutline.kernels.walk import UNITS

        if not isinstance(sets, Threshold | Diverse):
            raise InputError(f"sets must be Threshold or Diverse, whose sizes are known from counts, got {shown(sets)}")
        lists = prepared(queries, loss=loss, scoring=scoring, sets=sets)
        walk = walk_of(lists, thresholds, squares=False, losses=True, entire=True)
        losses = np.concatenate([stretch.losses for stretch in walk.stretches()])
        return cls(
            thresholds=thresholds,
            units=np.ascontiguousarray(np.rint(losses.T * UNITS).astype(np.int64)),
            reached=_reached(lists, thresholds),
            least=sets.min_size if isinstance(sets, Threshold) else 0,
            most=sets.max_size,
            lengths=queries.sizes,
            marks=_marks(lists),
            names=Queries(np.zeros(len(queries)), np.arange(len(queries) + 1), query_ids=queries.query_ids),
        )

    def __len__(self) -> int:
        return len(self.units)

    def place(
        self, rows: Integers, *, evidence: Evidence, alpha: float, delta: float, seed: int = 0, first: int = 0
    ) -> int | None:
        """The place that these queries certify on the walk from place `first` on; None where they abstain."""
        judge = judge_of(evidence, n=len(rows), alpha=alpha, delta=delta)
        if evidence.needs == "order":
            rows = rows[self.names.select(rows).hash_order(seed, self.fingerprint(rows))]
        farthest = FixedSequence().walk(self._blocks(rows, judge, evidence, first), delta=delta).farthest
        return None if farthest is None else first + farthest

    def fingerprint(self, rows: Integers) -> str:
        """The fingerprint of these lists, as `calibrate` has it."""
        low, high = self.marks[rows].sum(axis=0, dtype=np.uint64).tolist()
        return fingerprint_text((low, high), lengths_of(self.lengths[rows]))

    def risk(self, rows: Integers, place: int) -> float:
        """The mean loss of these queries at a threshold."""
        return int(self.units[rows, place].sum()) / unit_losses(len(rows))

    def losses(self, place: int) -> Floats:
        """The loss of every query at a threshold."""
        from cutline.kernels.walk import UNITS

        return self.units[:, place] / UNITS

    def sizes(self, place: int) -> Integers:
        """How many items of each list are kept at a threshold."""
        sizes = np.maximum(self.reached[:, place].astype(np.int64), np.minimum(self.lengths, self.least))
        return sizes if self.most is None else np.minimum(sizes, self.most)

    def modified(self, place: int) -> Flags:
        """Which lists are chosen from at a threshold, as more items reach it than are kept."""
        return self.reached[:, place] > (np.iinfo(np.int32).max if self.most is None else self.most)

    def _blocks(self, rows: Integers, judge: Judge, evidence: Evidence, first: int) -> Iterator[_Block]:
        for start in range(first, len(self.thresholds), STRIDE):
            yield _Block.of(self.units[rows, start : start + STRIDE], judge, evidence)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some hypotheses of a walk: sums of losses, and the losses themselves where their order counts."""

    sums: Integers
    losses: Floats
    judge: Judge

    @classmethod
    def of(cls, units: Integers, judge: Judge, evidence: Evidence) -> _Block:
        from cutline.kernels.walk import COLUMNS, LOSS, SQUARED, UNITS

        sums = np.zeros((units.shape[1], COLUMNS), np.int64)
        sums[:, LOSS] = units.sum(axis=0)
        if evidence.needs == "moments" or getattr(evidence, "binary_only", False):
            shares = units.astype(np.float64)
            sums[:, SQUARED] = np.ceil(shares * shares / UNITS).astype(np.int64).sum(axis=0)
        ordered = evidence.needs == "order"
        losses = np.ascontiguousarray(units.T) / UNITS if ordered else np.empty((0, 0))
        return cls(sums, losses, judge)

    def __len__(self) -> int:
        return len(self.sums)

    def certified(self, level: float, first: int, last: int) -> Flags:
        """Which of these thresholds are certified at this level."""
        return self.judge.certified(self.sums[first:last], self.losses[first:last], level=level)


def _reached(lists: Lists, thresholds: Floats) -> npt.NDArray[np.int32]:
    """How many items of each list are at or above each threshold."""
    from cutline.kernels.diversity import reach_prefixes

    counts = np.empty((len(thresholds), len(lists.order)), np.int64)
    reach_prefixes(lists.scores, ranked(lists.scores, lists.offsets), lists.offsets, lists.order, thresholds, counts)
    return np.ascontiguousarray(counts.T.astype(np.int32))


def _marks(lists: Lists) -> npt.NDArray[np.uint64]:
    """The fingerprint of each list; those of several add up."""
    from cutline.kernels.walk import fingerprint_lists

    scores: Any = np.ascontiguousarray(lists.scores)
    codes, unit, offsets = lists.badness.codes, lists.badness.unit, lists.offsets
    marks = [fingerprint_lists(scores, codes, unit, offsets, query, query + 1) for query in range(len(lists.order))]
    return np.array(marks, dtype=np.uint64).reshape(-1, 2)
