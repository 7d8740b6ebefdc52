"""The gradient of LambdaRank beside a double loop that swaps every two items and measures NDCG anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.rankers import lambdas as room
from cutline.rankers.lambdas import lambdas


def dcg_in(order: list[int], gains: list[float], at: int) -> float:
    return sum(gains[item] / math.log2(place + 2) for place, item in enumerate(order) if place < at)


def naive(scores: list[float], labels: list[float], at: int) -> tuple[list[float], float]:
    """∂C/∂s and C of one list, by definition."""
    n = len(scores)
    gains = [2.0**label - 1 for label in labels]
    order = sorted(range(n), key=lambda item: -scores[item])
    best = dcg_in(sorted(range(n), key=lambda item: -gains[item]), gains, at)
    slopes, cost = [0.0] * n, 0.0
    for i in range(n):
        for j in range(n):
            if gains[i] > gains[j]:
                swapped = [j if item == i else i if item == j else item for item in order]
                change = abs(dcg_in(swapped, gains, at) - dcg_in(order, gains, at)) / best
                force = change / (1 + math.exp(scores[i] - scores[j]))
                slopes[i] -= force
                slopes[j] += force
                cost += change * math.log1p(math.exp(-(scores[i] - scores[j])))
    return slopes, cost


def padded(table: list[list[tuple[float, int]]], filler: float = 0.0):
    longest = max(map(len, table))
    scores, gains = np.full((2, len(table), longest), filler)
    present = np.zeros((len(table), longest), bool)
    for row, one in enumerate(table):
        scores[row, : len(one)] = [score for score, _ in one]
        gains[row, : len(one)] = [2.0**label - 1 for _, label in one]
        present[row, : len(one)] = True
    return torch.tensor(scores), torch.tensor(gains), torch.tensor(present)


lists = st.lists(st.tuples(st.floats(-4, 4).map(lambda x: round(x, 1)), st.integers(0, 4)), min_size=1, max_size=7)


@settings(deadline=None)
@given(table=st.lists(lists, min_size=1, max_size=4), truncation=st.sampled_from([None, 1, 2, 5, 100]))
def test_lambdas_are_those_of_a_double_loop(table, truncation):
    slopes, costs = lambdas(*padded(table), truncation=truncation)
    for row, one in enumerate(table):
        wanted, cost = naive([s for s, _ in one], [y for _, y in one], truncation or 1_000)
        assert slopes[row, : len(one)].tolist() == pytest.approx(wanted, abs=1e-9)
        assert slopes[row, len(one) :].abs().sum() == 0
        assert float(costs[row]) == pytest.approx(cost, abs=1e-9)


def test_what_stands_at_padding_does_not_matter():
    table = [[(0.3, 2), (0.1, 0), (0.2, 4)], [(1.0, 1), (0.5, 3)], [(0.0, 1)]]
    plain, odd = lambdas(*padded(table), truncation=2), lambdas(*padded(table, filler=50.0), truncation=2)
    assert torch.equal(plain[0], odd[0])
    assert torch.equal(plain[1], odd[1])


def test_lambdas_are_the_slope_of_the_cost_where_no_place_changes():
    table = [[(1.5, 0), (0.4, 3), (-0.2, 1), (-1.0, 2)]]
    scores, gains, present = padded(table)
    slopes, _ = lambdas(scores, gains, present, truncation=None)
    for item in range(4):
        step = torch.zeros_like(scores)
        step[0, item] = 1e-6
        above, below = (lambdas(scores + sign * step, gains, present, truncation=None)[1] for sign in (1, -1))
        assert float(slopes[0, item]) == pytest.approx(float(above - below) / 2e-6, abs=1e-6)


def test_the_lambdas_of_a_list_sum_to_zero_and_equal_labels_have_none():
    slopes, costs = lambdas(
        *padded([[(0.3, 2), (0.1, 0), (0.2, 4)], [(0.3, 2), (0.1, 2)], [(0.3, 0)]]), truncation=None
    )
    assert slopes.sum(dim=1).tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert slopes[1:].abs().sum() == 0
    assert costs[1:].sum() == 0


def test_lists_that_are_too_many_at_once_are_taken_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    table = [[(float(rng.normal()), int(rng.integers(5))) for _ in range(6)] for _ in range(11)]
    whole = lambdas(*padded(table), truncation=None)
    monkeypatch.setattr(room, "PAIRS", 80)
    parts = lambdas(*padded(table), truncation=None)
    assert torch.equal(whole[0], parts[0])
    assert torch.equal(whole[1], parts[1])


def test_scores_far_apart_overflow_nothing():
    slopes, costs = lambdas(*padded([[(4.0e4, 0), (-4.0e4, 3)]]), truncation=None)
    assert bool(torch.isfinite(slopes).all())
    assert bool(torch.isfinite(costs).all())
