"""Gains in diversity, list by list, are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paper.worlds import scored

import cutline as cl
from cutline.diversity import diversity_of
from cutline.paper.spreads import Spreads


def test_gains_are_those_of_the_definition():
    queries, rule = scored()[:60], cl.Diverse(3)
    gains = Spreads.of(queries, cl.WinRate(), rule).at(0.6)
    scores = cl.WinRate().item_scores(queries.scores, queries.offsets)
    checked = 0
    for row, query in enumerate(queries):
        own = scores[queries.offsets[row] : queries.offsets[row + 1]]
        reached = np.flatnonzero(own >= 0.6)
        if len(reached) <= 3:
            assert np.isnan([gains.pairs[row], gains.paper[row], gains.top[row]]).all()
            continue
        kept, top = rule.choose(own, query.vectors, 0.6), np.argsort(-own)[:3]
        for found, other, denominator in (
            (gains.pairs, reached, "pairs"), (gains.paper, reached, "paper"), (gains.top, top, "pairs"),
        ):  # fmt: skip
            after, before = (
                diversity_of(query.vectors, rows, max_size=3, denominator=denominator) for rows in (kept, other)
            )
            assert found[row] == pytest.approx(after / before - 1)
        checked += 1
    assert checked > 20


def test_a_threshold_is_looked_at_once():
    spreads = Spreads.of(scored()[:20], cl.WinRate(), cl.Diverse(2))
    assert spreads.at(0.5) is spreads.at(0.5)
