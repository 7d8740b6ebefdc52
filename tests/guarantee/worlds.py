"""Small worlds with a known true risk at every threshold, to draw calibration queries from.

Every world has lists of one fixed length K, scores that are levels of a grid, and badness drawn so that the risk at
each threshold is a sum or a product on paper. `risk` is computed from these formulas, never from draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import cutline as cl

ALPHA = 0.3
GRID = np.round(np.arange(0.9, 0.05, -0.1), 1)  # 0.9 … 0.1, nine thresholds


@dataclass(frozen=True)
class World:
    """`draw(n, rng)` gives queries; `risks` are the true risks at GRID, for the loss that the world was made for."""

    name: str
    draw: Callable[[int, np.random.Generator], cl.Queries]
    loss: cl.FalseDiscovery | cl.Miss
    risks: np.ndarray
    binary: bool  # whether every loss is 0 or 1
    alpha: float = ALPHA

    def risk_at(self, threshold: float) -> float:
        """The risk of cutting at a threshold: that of the first grid level at or above it, as scores sit on the
        grid."""
        levels = np.flatnonzero(threshold <= GRID)
        return float(self.risks[levels[-1]]) if len(levels) else 0.0


def lists_of(scores: np.ndarray, bad: np.ndarray) -> cl.Queries:
    """Queries from two (n, K) arrays; label 1 is good."""
    n, length = scores.shape
    return cl.Queries.from_arrays(scores.ravel(), 1.0 - bad.ravel(), qid=np.repeat(np.arange(n), length))


GOOD = cl.Grade(at_least=1)


def constant_risk(loss_kind: type, risk: float, *, spread: str, alpha: float = 0.3) -> World:
    """The same loss along the whole walk, with mean `risk`.

    "binary": one item; it is bad, or never kept, with probability `risk`. "fractional": a random number of five
    items is. "sparse": one of two items is, in few lists.
    """

    def draw(n: int, rng: np.random.Generator) -> cl.Queries:
        if spread == "binary":
            parts, whole = (rng.random(n) < risk).astype(int), 1
        elif spread == "fractional":
            parts, whole = rng.binomial(5, rng.beta(2 * risk, 2 * (1 - risk), n)), 5
        else:
            parts, whole = (rng.random(n) < 2 * risk).astype(int), 2
        hit = np.arange(whole) < parts[:, None]
        if loss_kind is cl.FalseDiscovery:  # all kept from the first threshold on; the hit ones are bad
            return lists_of(np.full((n, whole), 0.95), hit)
        return lists_of(np.where(hit, 0.0, 0.95), np.zeros((n, whole)))  # all good; the hit ones are never kept

    name = f"constant-{spread}-{risk:g}"
    return World(name, draw, loss_kind(GOOD), np.full(len(GRID), risk), spread == "binary", alpha=alpha)


def crossing(loss_kind: type) -> World:
    """The risk rises along the walk and crosses alpha midway.

    False discoveries: nine items, item k scored GRID[k] and bad with probability p_k, all independent; at threshold
    k the items 0 … k are kept, so the risk is the mean of p_0 … p_k. Misses: the walk goes up, item k leaves above
    GRID[k]; all items are good with a probability of their own, and exactly one item of each list is good: the risk
    is the chance that it has left.
    """
    if loss_kind is cl.FalseDiscovery:
        chances = np.linspace(0.02, 0.85, len(GRID))

        def draw(n: int, rng: np.random.Generator) -> cl.Queries:
            return lists_of(np.tile(GRID, (n, 1)), rng.random((n, len(GRID))) < chances)

        risks = np.cumsum(chances) / np.arange(1, len(GRID) + 1)
        return World("crossing", draw, cl.FalseDiscovery(GOOD), risks, False)

    places = np.array([0.16, 0.16, 0.16, 0.15, 0.1, 0.1, 0.08, 0.07, 0.02])

    def draw_one_good(n: int, rng: np.random.Generator) -> cl.Queries:
        good = rng.choice(len(GRID), size=n, p=places)
        return lists_of(np.tile(GRID, (n, 1)), np.arange(len(GRID)) != good[:, None])

    missed = 1.0 - np.cumsum(places)  # at GRID[k] the items 0 … k are kept
    return World("crossing", draw_one_good, cl.Miss(GOOD), missed, True)


def steep() -> World:
    """One item a list, its score a random level and bad with a chance that rises as scores fall: losses of 0 or 1,
    and
    lists that are empty until their item enters."""
    chances = np.linspace(0.0, 0.9, len(GRID))

    def draw(n: int, rng: np.random.Generator) -> cl.Queries:
        level = rng.integers(0, len(GRID), n)
        return lists_of(GRID[level][:, None], (rng.random(n) < chances[level])[:, None])

    return World("steep", draw, cl.FalseDiscovery(GOOD), np.cumsum(chances) / len(GRID), True)


def fresh_chances() -> World:
    """Adversarial: two more items enter at every threshold, both bad with probability just above alpha, else both
    good.

    So the risk is just above alpha all along, and every threshold is a fresh chance to be certified by luck.
    """
    risk = ALPHA + 0.002

    def draw(n: int, rng: np.random.Generator) -> cl.Queries:
        return lists_of(np.tile(np.repeat(GRID, 2), (n, 1)), np.repeat(rng.random((n, len(GRID))) < risk, 2, axis=1))

    return World("fresh-chances", draw, cl.FalseDiscovery(GOOD), np.full(len(GRID), risk), False)


def shared_places() -> World:
    """TopM with `expected` ties: two of four items share one place, so badness is fractional; the risk is exact by
    cases."""
    # labels: with chance u the list is (2, 1, 0, 0) in score order, else (0, 1, 1, 1); TopM(m=2)
    # first case: items 0, 1 good; the loss of keeping the first k+1 is 0, 0, 1/3, 1/2
    # second case: items 1, 2, 3 share both places: badness 1, 1/3, 1/3, 1/3; losses 1, 2/3, 5/9, 1/2
    first, second = np.array([0, 0, 1 / 3, 1 / 2]), np.array([1, 2 / 3, 5 / 9, 1 / 2])
    chance = 0.8
    scores = GRID[[1, 3, 5, 7]]

    def draw(n: int, rng: np.random.Generator) -> cl.Queries:
        sure = rng.random(n) < chance
        labels = np.where(sure[:, None], [2.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0])
        return cl.Queries.from_arrays(np.tile(scores, n), labels.ravel(), qid=np.repeat(np.arange(n), 4))

    kept = [int(np.sum(threshold <= scores)) for threshold in GRID]
    mixed = chance * first + (1 - chance) * second
    risks = np.array([0.0 if k == 0 else mixed[k - 1] for k in kept])
    loss = cl.FalseDiscovery(cl.TopM(m=2, ties="expected"))
    return World("shared-places", draw, loss, risks, False)


def worlds(loss_kind: type) -> list[World]:
    """All worlds for a loss."""
    above, sparse = ALPHA + 0.002, 0.05
    common = [
        constant_risk(loss_kind, above, spread="binary"),
        constant_risk(loss_kind, above, spread="fractional"),
        constant_risk(loss_kind, sparse + 0.001, spread="sparse", alpha=sparse),
        crossing(loss_kind),
    ]
    return [*common, steep(), fresh_chances(), shared_places()] if loss_kind is cl.FalseDiscovery else common
