"""How well scores order the items of each query."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cutline._checks import check_whole
from cutline._display import shown
from cutline._tables import check_is_queries
from cutline.errors import InputError
from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST_LABEL = 31  # 2^31 - 1: as far as LightGBM goes


def ndcg(queries: Queries, *, at: int | None = 10) -> float:
    """Mean NDCG of the scores of judged queries.

        DCG@k = Σ_{r ≤ k} (2^label(r) - 1) / log₂(1 + r),    NDCG@k = DCG@k / the largest DCG@k of the list

    `at` is k; None is the whole list. Items with equal scores share the mean gain of their places: what a random order
    of them would have. Queries without any gain have no NDCG and are left out of the mean; NaN where none is left.
    """
    check_is_queries(queries)
    labels = checked_labels(queries)
    at = None if at is None else check_whole("at", at, least=1)
    return mean_ndcg(queries.scores, labels, queries.offsets, at)


def checked_labels(queries: Queries) -> Floats:
    """The labels of every item, none missing, none out of range."""
    if queries.labels is None:
        raise InputError("queries have no labels; pass judged queries")
    allowed = (queries.labels >= 0) & (queries.labels <= LARGEST_LABEL)  # NaN is not
    for row in np.flatnonzero(~allowed).tolist()[:1]:
        came = float(queries.labels[row])
        query = queries.id_of(int(np.searchsorted(queries.offsets, row, side="right")) - 1)
        fix = "leave items that nobody judged out, or give them a label" if math.isnan(came) else "rescale the labels"
        raise InputError(
            f"labels must be in [0, {LARGEST_LABEL}], since the gain of an item is 2^label - 1, got {shown(came)} in "
            f"row {row} (query {query!r}); {fix}"
        )
    return queries.labels


def gains_of(labels: Floats) -> Floats:
    """2^label - 1."""
    return np.exp2(labels) - 1.0


def mean_ndcg(scores: Floats, labels: Floats, offsets: Integers, at: int | None) -> float:
    """Mean NDCG@at of ragged lists; see `ndcg`."""
    sizes = np.diff(offsets)
    if not len(sizes):
        return math.nan
    query = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(scores)) - np.repeat(offsets[:-1], sizes)
    discounts = 1.0 / np.log2(2.0 + place)
    if at is not None:
        discounts[place >= at] = 0.0
    gains = gains_of(labels)
    ideal = np.bincount(query, gains[np.lexsort((-labels, query))] * discounts, len(sizes))
    order = np.lexsort((-scores, query))
    ranked = scores[order]
    begins = np.concatenate(([True], (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])))
    tied = np.cumsum(begins) - 1
    shared = (np.bincount(tied, gains[order]) / np.bincount(tied))[tied]
    reached = np.bincount(query, shared * discounts, len(sizes))
    counts = ideal > 0
    return float(np.mean(reached[counts] / ideal[counts])) if counts.any() else math.nan
