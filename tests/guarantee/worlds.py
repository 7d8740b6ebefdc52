"""Worlds to calibrate in whose true risk is known at every threshold: by counting all their lists, or in closed form.

A world is a set of lists with probabilities; queries are drawn from it independently. Risks come from loops over all
lists, straight from the definitions, and share no code with the package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.test_calibration import naive_badness, naive_cut, naive_loss

import cutline as cl

GOOD, BAD = 1.0, 0.0
GRADE = cl.Grade(at_least=1)
FALLING, RISING = cl.grid(0.9, 0.05, 0.05), cl.grid(0.05, 0.9, 0.05)


@dataclass
class World:
    """Lists (scores, labels) and their probabilities, a loss, and an alpha to ask for."""

    lists: list[tuple[Sequence[float], Sequence[float]]]
    chances: list[float]
    loss: object
    alpha: float
    risks: dict = field(default_factory=dict)

    def __post_init__(self):
        assert math.isclose(math.fsum(self.chances), 1.0, abs_tol=1e-12)
        self.edges = np.cumsum(self.chances)
        self.sizes = np.array([len(scores) for scores, _ in self.lists])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.scores = np.concatenate([np.array(scores, dtype=float) for scores, _ in self.lists])
        self.labels = np.concatenate([np.array(labels, dtype=float) for _, labels in self.lists])

    @property
    def thresholds(self):
        return FALLING if self.loss.safe_end == "high" else RISING

    def draw(self, n, rng):
        kinds = np.minimum(np.searchsorted(self.edges, rng.random(n), side="right"), len(self.lists) - 1)
        sizes = self.sizes[kinds]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self.starts[kinds] - offsets[:-1], sizes)
        return cl.Queries(self.scores[rows], offsets, self.labels[rows])

    def risk(self, threshold, *, sets=None, scoring=None):
        """E L by counting every list."""
        sets, key = sets or cl.Threshold(), (threshold, sets, scoring)
        if key not in self.risks:
            losses = [self.loss_of(scores, labels, threshold, sets, scoring) for scores, labels in self.lists]
            self.risks[key] = math.fsum(c * loss for c, loss in zip(self.chances, losses, strict=True))
        return self.risks[key]

    def loss_of(self, outputs, labels, threshold, sets, scoring):
        scores = outputs if scoring is None else rates(outputs, scoring.scale)
        return naive_loss(naive_cut(scores, threshold, sets), naive_badness(labels, self.loss.relevance), self.loss)


@dataclass
class Smooth:
    """One item per list, its score uniform on (0, 1), and the risk in closed form."""

    loss: object
    alpha: float
    closed_form: Callable[[float], float]

    @property
    def thresholds(self):
        return FALLING if self.loss.safe_end == "high" else RISING

    def draw(self, n, rng):
        scores = rng.random(n)
        chance = scores if self.loss.safe_end == "high" else 0.5
        return cl.Queries(scores, np.arange(n + 1), np.where(rng.random(n) < chance, GOOD, BAD))

    def risk(self, threshold, *, sets=None, scoring=None):
        assert sets is None
        assert scoring is None
        return self.closed_form(min(max(threshold, 0.0), 1.0))


def rates(outputs, scale):
    """Win rates from their definition."""
    if len(outputs) == 1:
        return [0.5]
    return [
        sum(1 / (1 + math.exp((other - one) / scale)) for j, other in enumerate(outputs) if j != i) / (len(outputs) - 1)
        for i, one in enumerate(outputs)
    ]


def independent(items, loss, alpha):
    """Every combination of what each item of a list may be: (score, label, chance) choices, item by item."""
    lists, chances = [], []
    for combination in itertools.product(*items):
        chance = math.prod(chance for _, _, chance in combination)
        if chance > 0:
            lists.append(([score for score, _, _ in combination], [label for _, label, _ in combination]))
            chances.append(chance)
    return World(lists, chances, loss, alpha)


def bad_or_good(score, bad, share=1.0):
    """An item with this score (with probability `share`), bad with probability `bad`."""
    return [(score, BAD, share * bad), (score, GOOD, share * (1 - bad))]


ABOVE = 0.004  # how far a risk that is just above alpha is above it


def just_above(loss):
    """0/1 losses; the same risk, a hair above alpha, at every threshold of the walk."""
    if loss.safe_end == "high":
        return independent([bad_or_good(0.95, 0.3 + ABOVE)], loss, 0.3)
    return independent([[(0.01, GOOD, 0.3 + ABOVE), (0.95, GOOD, 0.7 - ABOVE)]], loss, 0.3)


def just_above_in_fractions(loss):
    """Shares of several items, whose mean is a hair above alpha at every threshold, though the lists change."""
    risk = 0.3 + ABOVE
    if loss.safe_end == "high":
        later = [[choice for score in scores for choice in bad_or_good(score, risk, 1 / 3)] for scores in
                 ((0.8, 0.5, 0.2), (0.7, 0.4, 0.1))]  # fmt: skip
        return independent([bad_or_good(0.95, risk), *later], loss, 0.3)
    good = [(0.01, GOOD, risk), (0.95, GOOD, 1 - risk)]
    return independent([good, good, good, [(0.3, BAD, 0.5), (0.6, BAD, 0.5)]], loss, 0.3)


def jump(loss):
    """0/1 losses; far below alpha for half of the walk, then a hair above it."""
    if loss.safe_end == "high":
        return independent([bad_or_good(0.85, 0.1, 0.5) + bad_or_good(0.45, 0.5 + 2 * ABOVE, 0.5)], loss, 0.3)
    return independent([[(0.2, GOOD, 0.05), (0.5, GOOD, 0.25 + ABOVE), (0.95, GOOD, 0.7 - ABOVE)]], loss, 0.3)


def crossing(loss):
    """Shares of three items; the risk rises step by step and passes alpha midway."""
    if loss.safe_end == "high":
        item = [choice for score in (0.88, 0.62, 0.31) for choice in bad_or_good(score, 1 - score, 1 / 3)]
        return independent([item, item, item], loss, 0.27)
    item = [(score, GOOD, 0.2) for score in (0.13, 0.33, 0.53, 0.73, 0.93)]
    return independent([item, item, item], loss, 0.35)


def sparse(loss):
    """Most losses are 0 all along the walk, and small where they are not; the risk ends a hair above alpha."""
    if loss.safe_end == "high":
        chances = [0.01, 0.02, 0.03, 4 * (0.1 + ABOVE) - 0.06]
        items = [bad_or_good(score, bad) for score, bad in zip((0.9, 0.7, 0.5, 0.3), chances, strict=True)]
        return independent(items, loss, 0.1)
    item = [(0.4, GOOD, 0.015), (0.7, GOOD, 0.085 + ABOVE), (0.95, GOOD, 0.9 - ABOVE)]
    return independent([item] * 4, loss, 0.1)


def rare(loss):
    """0/1 losses, most of them 0; the risk ends a hair above a small alpha."""
    if loss.safe_end == "high":
        return independent([bad_or_good(0.8, 0.02, 0.5) + bad_or_good(0.3, 0.18 + 2 * ABOVE, 0.5)], loss, 0.1)
    return independent([[(0.2, GOOD, 0.01), (0.6, GOOD, 0.09 + ABOVE), (0.95, GOOD, 0.9 - ABOVE)]], loss, 0.1)


def ties(loss):
    """Four items with labels that tie, of which the best two are good, in expectation over the ties."""
    tied = type(loss)(cl.TopM(m=2, ties="expected"))
    chances = {0.85: (0.1, 0.2, 0.7), 0.65: (0.2, 0.4, 0.4), 0.45: (0.4, 0.3, 0.3), 0.25: (0.7, 0.2, 0.1)}
    items = [[(score, float(label), chance) for label, chance in enumerate(each)] for score, each in chances.items()]
    return independent(items, tied, 0.33 if loss.safe_end == "high" else 0.4)


def smooth(loss):
    """0/1 losses of one item with a uniform score: P(bad | s) = 1 - s, or a good item in every other list."""
    if loss.safe_end == "high":
        return Smooth(loss, 0.2, lambda threshold: (1 - threshold) ** 2 / 2)
    return Smooth(loss, 0.25, lambda threshold: threshold / 2)


def bad_at_both_ends(loss):
    """With at least one item per list: above alpha at first, below it midway, above it again in the end."""
    assert loss.safe_end == "high"
    chances = [(0.95, 0.45), (0.72, 0.05), (0.62, 0.05), (0.52, 0.05), (0.12, 0.9), (0.11, 0.9), (0.1, 0.9)]
    return independent([bad_or_good(score, bad) for score, bad in chances], loss, 0.3)
