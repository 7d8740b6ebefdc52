"""The promise for lists that a strategy chooses from: the risk that is certified is that of what is shown."""

from __future__ import annotations

import numpy as np
import pytest
from tests.guarantee.test_guarantee import counted
from tests.guarantee.worlds import ALPHA, GOOD, GRID, World
from tests.points import distances_by_hand, eliminated_by_hand, whole_by_hand

import cutline as cl
from cutline.evidence import Betting, Convex


def world_of(name: str, points: list[float], chances: list[float], most: int) -> World:
    """Item k has score GRID[k] and stands at points[k]; it is bad with chance chances[k], all independent, and stands
    anywhere in its list. So elimination keeps the same items of every list, and the risk is their mean chance."""
    count = len(points)
    whole = whole_by_hand(distances_by_hand([[point] for point in points], "euclidean"))
    kept = [eliminated_by_hand(GRID[:count].tolist(), whole, threshold, most) for threshold in GRID]

    def draw(n: int, rng: np.random.Generator) -> cl.Queries:
        bad = rng.random((n, count)) < chances
        order = rng.permuted(np.tile(np.arange(count), (n, 1)), axis=1)
        where = (np.arange(n)[:, None], order)
        labels = 1.0 - bad[where]
        scores, vectors = GRID[order], np.array(points)[order]
        return cl.Queries.from_arrays(
            scores.ravel(), labels.ravel(), qid=np.repeat(np.arange(n), count), vectors=vectors.reshape(-1, 1)
        )

    return World(name, draw, cl.FalseDiscovery(GOOD), np.array([np.mean(np.array(chances)[k]) for k in kept]), False)


def outer_items_bad() -> World:
    """The two outermost points, bad with a chance just above alpha, are all that is ever shown; what lies between is
    good. A walk that looked at the items above the threshold, and not at those shown, would certify at once."""
    return world_of("outer", [0.0, 10.0, 4.0, 5.1, 6.3, 3.2, 7.7, 2.1, 8.9], [ALPHA + 0.002] * 2 + [0.0] * 7, 2)


def crossing_when_spread() -> World:
    """Each further item stands farther out, so that it is kept, and is more often bad: the risk crosses alpha."""
    points = [(-1.0) ** k * (1 + k) ** 1.5 for k in range(9)]
    return world_of("spread", points, np.linspace(0.02, 0.6, 9).tolist(), 3)


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_elimination_keeps_delta_where_what_is_shown_is_worse_than_what_is_not(evidence):
    world = outer_items_bad()
    assert (world.risks > ALPHA).all()
    count = counted(world, evidence=evidence, sets=cl.Diverse(2))
    assert count.violations <= count.allowed, count


def test_this_harness_catches_a_walk_that_looks_at_what_is_not_shown():
    count = counted(outer_items_bad(), evidence=Convex(), sets=cl.Threshold(), thresholds=GRID[4:], calibrations=300)
    assert count.violations > 2 * count.allowed, count


def test_elimination_keeps_delta_where_the_risk_crosses_alpha():
    world = crossing_when_spread()
    assert world.risks[0] < ALPHA < world.risks[-1]
    count = counted(world, evidence=Betting(), sets=cl.Diverse(3))
    assert count.violations <= count.allowed, count
    assert count.certified > 0.9 * count.calibrations, count


def at_random(scores, distances, max_size, *, rng):
    return rng.permutation(len(scores))[:max_size]


def test_a_strategy_that_chooses_at_random_keeps_delta():
    """Any two of the items above the threshold, equally likely: the risk is the mean chance of all of them."""
    chances = np.array([0.02, 0.2, 0.5, 0.6])

    def draw(n, rng):
        bad = rng.random((n, 4)) < chances
        return cl.Queries.from_arrays(
            np.tile(GRID[:4], n), 1.0 - bad.ravel(), qid=np.repeat(np.arange(n), 4), vectors=rng.random((4 * n, 1))
        )

    risks = np.cumsum(chances) / np.arange(1, 5)
    world = World("at-random", draw, cl.FalseDiscovery(GOOD), np.concatenate([risks, np.full(5, risks[3])]), False)
    assert risks[2] < ALPHA < risks[3]
    count = counted(world, evidence=Betting(), n=40, sets=cl.Diverse(2, strategy=at_random, seed=3))
    assert count.violations <= count.allowed, count
    assert count.certified > 0.9 * count.calibrations, count
