"""How much more diverse lists become at a threshold, list by list; each threshold is looked at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline.cutting import cut_all
from cutline.diversity import denominators
from cutline.preferences import Scoring
from cutline.queries import Queries
from cutline.sets import Diverse
from cutline.variety import LEAST, spreads_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Relative gains in diversity, Div(D)/Div(other) - 1, of each query; NaN where its list is not chosen from, or the
    other diversity is next to nothing. `pairs` and `paper` are over all items at or above the threshold, by the two
    denominators; `top` is over the best few by score."""

    pairs: Floats
    paper: Floats
    top: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """Gains of some queries under a rule, by threshold."""

    queries: Queries
    scores: Floats
    rule: Diverse
    known: dict[float, Gains] = field(default_factory=dict[float, Gains])

    @classmethod
    def of(cls, queries: Queries, scoring: Scoring, rule: Diverse) -> Spreads:
        """Before any threshold was asked for."""
        return cls(queries, scoring.item_scores(queries.scores, queries.offsets), rule)

    def at(self, threshold: float) -> Gains:
        """The gains at a threshold."""
        if threshold not in self.known:
            self.known[threshold] = self._worked_out(threshold)
        return self.known[threshold]

    def _worked_out(self, threshold: float) -> Gains:
        queries, rule, vectors = self.queries, self.rule, cast(Any, self.queries.vectors)
        chosen, _ = cut_all(rule, self.scores, queries.offsets, vectors, threshold, queries.vector_rows)
        sizes, sums = spreads_of(
            rule, scores=self.scores, offsets=queries.offsets, vectors=vectors, vector_rows=queries.vector_rows,
            threshold=threshold, chosen=chosen, queries=np.arange(len(queries)),
        )  # fmt: skip
        modified = sizes[:, 0] > rule.max_size
        counts = (sizes[:, 0], sizes[:, 1], np.full(len(sizes), rule.max_size))
        divisors = [denominators(count, rule.max_size) for count in counts]
        paper, pairs = ([_over(sums[:, i], divisors[i][kind]) for i in range(3)] for kind in (0, 1))
        return Gains(
            pairs=_gain(pairs[1], pairs[0], modified),
            paper=_gain(paper[1], paper[0], modified),
            top=_gain(pairs[1], pairs[2], modified),
        )


def _over(sums: Floats, divisors: Floats) -> Floats:
    return np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)


def _gain(after: Floats, other: Floats, modified: npt.NDArray[np.bool_]) -> Floats:
    gain = np.full(len(after), np.nan)
    known = modified & (other > LEAST * after)
    gain[known] = after[known] / other[known] - 1.0
    return gain
