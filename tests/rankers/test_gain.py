"""NDCG, beside a loop over places and every order of ties."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rankers.worlds import ragged, world

import cutline as cl
from cutline.errors import InputError
from cutline.rankers import ndcg
from cutline.rankers.gain import mean_ndcg


def dcg(labels: list[float], at: int | None) -> float:
    return sum((2.0**label - 1) / math.log2(place + 2) for place, label in enumerate(labels[:at]))


def naive(scores: list[float], labels: list[float], at: int | None) -> float | None:
    """NDCG of one list: the mean over every order that the scores allow."""
    best = dcg(sorted(labels, reverse=True), at)
    if best == 0:
        return None
    orders = [
        order
        for order in permutations(range(len(scores)))
        if all(scores[one] >= scores[other] for one, other in pairwise(order))
    ]
    return float(np.mean([dcg([labels[item] for item in order], at) for order in orders])) / best


lists = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 4)), min_size=1, max_size=5)


@given(table=st.lists(lists, min_size=1, max_size=4), at=st.sampled_from([None, 1, 2, 10]))
def test_ndcg_is_that_of_a_loop_over_every_order_of_ties(table, at):
    flat = [pair for one in table for pair in one]
    queries = cl.Queries.from_arrays([s for s, _ in flat], [y for _, y in flat], group=[len(one) for one in table])
    each = [naive([s for s, _ in one], [y for _, y in one], at) for one in table]
    counted = [value for value in each if value is not None]
    expected = np.mean(counted) if counted else math.nan
    assert ndcg(queries, at=at) == pytest.approx(expected, nan_ok=True)


def test_ndcg_is_that_of_ir_measures():
    import ir_measures

    features, queries = world(40)
    queries = replace(queries, scores=np.round(features[:, 0].astype(np.float64), 5))
    rows = [
        (query.id, str(place), query.scores[place], query.labels[place])
        for query in queries
        for place in range(len(query))
    ]
    run = [ir_measures.ScoredDoc(query, item, score) for query, item, score, _ in rows]
    qrels = [ir_measures.Qrel(query, item, int(label)) for query, item, _, label in rows]
    measure = ir_measures.nDCG(gains={grade: 2**grade - 1 for grade in range(5)}) @ 10
    assert ndcg(queries) == pytest.approx(ir_measures.calc_aggregate([measure], qrels, run)[measure], abs=1e-9)


def test_a_constant_ranker_gains_nothing_from_a_file_that_lists_good_items_first():
    queries = cl.Queries.from_arrays(np.zeros(6), [1, 0, 0, 0, 0, 0], group=[6])
    assert ndcg(queries) == pytest.approx(np.mean([1 / math.log2(place + 2) for place in range(6)]))


def test_no_queries_have_no_mean_ndcg():
    assert math.isnan(mean_ndcg(np.empty(0), np.empty(0), np.zeros(1, np.int64), None))


def test_ndcg_refuses_queries_without_labels_and_labels_out_of_range():
    _, queries = ragged([2, 3])
    with pytest.raises(InputError, match="queries have no labels"):
        ndcg(replace(queries, labels=None))
    for wrong, words in (
        (-1.0, "got -1.0 in row 3"),
        (40.0, "rescale"),
        (np.nan, "nan in row 3 .query 1.; leave items"),
    ):
        labels = queries.labels.copy()
        labels[3] = wrong
        with pytest.raises(InputError, match=rf"labels must be in \[0, 31\].*{words}"):
            ndcg(replace(queries, labels=labels))
    with pytest.raises(InputError, match="at must be a whole number of at least 1, got 0"):
        ndcg(queries, at=0)
    with pytest.raises(InputError, match="queries must be"):
        ndcg([1, 2])
