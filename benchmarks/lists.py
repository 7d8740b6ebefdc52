"""The judged lists that are measured: independent queries, a decent ranker, a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from cutline import Queries

SEED = 20_220_704
GOOD_FROM = 3  # labels 3 and 4 are good
QUERY_SPREAD, ITEM_SPREAD, RANKER_NOISE = 0.6, 1.0, 1.5
GRADE_EDGES = (-1.2, -0.5, 0.1, 1.0)  # of relevance in standard units, between the labels 0 | 1 | 2 | 3 | 4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lists:
    """Queries × items: model outputs on the real line, and labels 0 to 4."""

    outputs: Floats
    labels: npt.NDArray[np.int64]

    @property
    def scores(self) -> Floats:
        """The outputs as numbers in (0, 1), evenly spread over all items: Φ(output / its standard deviation)."""
        from scipy.special import ndtr

        return ndtr(self.outputs / np.sqrt(QUERY_SPREAD**2 + ITEM_SPREAD**2 + RANKER_NOISE**2))

    @property
    def bad(self) -> npt.NDArray[np.bool_]:
        """Which items are not good."""
        return self.labels < GOOD_FROM

    def queries(self, scores: Floats) -> Queries:
        """The same lists as cutline takes them."""
        import cutline as cl

        n_queries, length = scores.shape
        return cl.Queries.from_arrays(scores.ravel(), self.labels.ravel(), group=np.full(n_queries, length))


def draw(n_queries: int, length: int) -> Lists:
    """Lists of graded items: relevance = a query's own level + an item's own; a model output is relevance plus noise.

    Queries without a good item are drawn again (under 1 in 100), because MAPIE refuses them.
    """
    rng = np.random.default_rng([SEED, n_queries, length])
    drawn = n_queries + n_queries // 20 + 10
    relevance = rng.normal(0, QUERY_SPREAD, (drawn, 1)) + rng.normal(0, ITEM_SPREAD, (drawn, length))
    labels = np.searchsorted(GRADE_EDGES, relevance / np.hypot(QUERY_SPREAD, ITEM_SPREAD))
    outputs = relevance + rng.normal(0, RANKER_NOISE, (drawn, length))
    kept = np.flatnonzero((labels >= GOOD_FROM).any(axis=1))[:n_queries]
    if len(kept) < n_queries:
        raise RuntimeError(f"drew {len(kept)} queries with a good item where {n_queries} are wanted; draw more")
    return Lists(outputs=outputs[kept], labels=labels[kept])
