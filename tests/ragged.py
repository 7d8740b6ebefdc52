"""Small ragged lists to draw from, and STATISTICS sections 2, 3 and 5 once more as plain loops over exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st

import cutline as cl

UNITS = math.lcm(*range(1, 25))
GRIDS = {
    "tenths": cl.grid(0.0, 1.0, 0.1),
    "thousandths": cl.grid(0.001, 0.999, 0.001),
    "single precision": np.linspace(0, 1, 14, dtype=np.float32).astype(np.float64),
    "millions": np.linspace(-1e6, 1e6, 9),
    "uneven": np.array([-1e6, -1.0, 0.0, 5e-324, 1e-310, 0.1, 0.3, np.nextafter(0.3, 1), 0.5, 1e6]),
    "one": np.array([0.3]),
}


# The definitions ----------------------------------------------------------------------------------------------------


def lists_of(values: Any, offsets: Any) -> list[list[Any]]:
    return [list(values[begin:end]) for begin, end in pairwise(offsets)]


def places_by_hand(relevance: cl.TopM, length: int) -> int:
    if relevance.m is not None:
        return min(relevance.m, length)
    return max(1, math.ceil(Fraction(str(relevance.fraction)) * length))


def badness_by_hand(labels: Sequence[float], relevance: Any) -> list[Fraction | None]:
    """Badness of one list; None where the loss passes over the item."""
    unjudged = Fraction(1) if relevance.unjudged == "bad" else None
    judged = [i for i, label in enumerate(labels) if not math.isnan(label)]
    badness: list[Fraction | None] = [unjudged] * len(labels)
    if isinstance(relevance, cl.Grade):
        for i in judged:
            badness[i] = Fraction(int(labels[i] < relevance.at_least))
        return badness
    # every way to break ties gives the judged items places; an item's badness is how often it gets a place too low
    ways = [way for way in permutations(judged) if all(labels[a] >= labels[b] for a, b in pairwise(way))]
    taken = len(labels) - len(judged) if relevance.unjudged == "bad" else 0  # by items that might be the best
    places = places_by_hand(relevance, len(labels)) - taken
    low = {i: Fraction(sum(way.index(i) >= places for way in ways), len(ways)) for i in judged}
    for i in judged:
        between = Fraction(1) if relevance.ties == "strict" else Fraction(0)
        badness[i] = low[i] if low[i] in (0, 1) or relevance.ties == "expected" else between
    return badness


def best_first(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def chosen_by_hand(scores: Sequence[float], threshold: float, rule: cl.Threshold) -> list[int]:
    count = max(sum(score >= threshold for score in scores), min(rule.min_size, len(scores)))
    return best_first(scores)[: count if rule.max_size is None else min(count, rule.max_size)]


def loss_by_hand(loss: Any, chosen: Sequence[int], badness: Sequence[Fraction | None]) -> Fraction:
    judged = [b for b in (badness[i] for i in chosen) if b is not None]
    if isinstance(loss, cl.FalseDiscovery):
        return Fraction(sum(judged), max(len(judged), 1))
    good = sum(1 - b for b in badness if b is not None)
    return 1 - Fraction(sum(1 - b for b in judged)) / good if good else Fraction(0)


def row_by_hand(
    loss: Any, rule: cl.Threshold, scores: list[list[float]], badness: list[list[Fraction | None]], threshold: float
) -> tuple[list[int], list[int]]:
    """The seven sums at one threshold, and the losses, all in 1/UNITS where they are not counts."""
    losses: list[int] = []
    row = [0] * 7
    for listed, bad in zip(scores, badness, strict=True):
        chosen = chosen_by_hand(listed, threshold, rule)
        judged = [b for b in (bad[i] for i in chosen) if b is not None]
        share = loss_by_hand(loss, chosen, bad)
        losses.append(math.ceil(share * UNITS))
        more = [
            losses[-1],
            math.ceil(Fraction(losses[-1], UNITS) ** 2 * UNITS),
            losses[-1] if chosen else 0,
            len(chosen),
            int(sum(judged) * UNITS),
            int(bool(chosen)),
            len(judged),
        ]
        row = [old + new for old, new in zip(row, more, strict=True)]
    return row, losses


# What to draw -------------------------------------------------------------------------------------------------------

ORDINARY = st.sampled_from([i / 10 for i in range(11)])
BESIDE = st.sampled_from([float(np.nextafter(i / 10, side)) for i in range(11) for side in (-9, 9)])
TINY = st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.3e-308])
SPREAD = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([-1e6, 1e6, 0.3]))
SCORES = st.sampled_from([ORDINARY, BESIDE, TINY, SPREAD, st.one_of(ORDINARY, BESIDE, TINY, SPREAD), st.just(0.5)])
LABELS = st.sampled_from([0.0, 1.0, 2.0, 3.0])


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True, longest: int = 5, most: int = 6) -> cl.Queries:
    """A few lists: some of one item, with ties, wide spreads or denormals, without a good item, unjudged."""
    sizes = draw(st.lists(st.integers(1, longest), min_size=1, max_size=most))
    count = sum(sizes)
    scores = draw(st.lists(draw(SCORES), min_size=count, max_size=count))
    some = st.one_of(LABELS, st.just(math.nan)) if missing else LABELS
    labels = draw(st.lists(draw(st.sampled_from([LABELS, some, st.just(0.0)])), min_size=count, max_size=count))
    if all(math.isnan(label) for label in labels):
        labels[draw(st.integers(0, count - 1))] = 2.0
    return cl.Queries.from_arrays(scores, labels, group=sizes)


@st.composite
def relevances(draw: st.DrawFn, *, whole: bool = False) -> Any:
    """Grade or TopM of every kind; `whole`: without fractional badness."""
    unjudged = draw(st.sampled_from(["bad", "drop"]))
    if draw(st.booleans()):
        return cl.Grade(at_least=draw(st.sampled_from([1, 2, 3, 9])), unjudged=unjudged)
    ties = draw(st.sampled_from(["strict", "lenient"] if whole else ["strict", "lenient", "expected", "expected"]))
    if draw(st.booleans()):
        return cl.TopM(m=draw(st.integers(1, 4)), ties=ties, unjudged=unjudged)
    return cl.TopM(fraction=draw(st.sampled_from([0.07, 0.2, 0.5, 0.6, 1.0])), ties=ties, unjudged=unjudged)


@st.composite
def rules(draw: st.DrawFn) -> cl.Threshold:
    """Plain, and with sizes."""
    least = draw(st.sampled_from([0, 0, 1, 3]))
    most = draw(st.sampled_from([None, None, 1, 2, 4]))
    return cl.Threshold(least, None if most is None else max(most, least))


@st.composite
def ascending_grids(draw: st.DrawFn, scores: Any) -> Any:
    """Even and uneven grids, among them one of scores and their neighbours."""
    kind = draw(st.sampled_from([*GRIDS, "scores"]))
    if kind != "scores":
        return GRIDS[kind]
    picked = draw(st.lists(st.sampled_from(list(scores)), min_size=1, max_size=6))
    near = [*picked, *(np.nextafter(score, 9e9) for score in picked), *(np.nextafter(score, -9e9) for score in picked)]
    return np.unique(np.array(near) + 0.0)
