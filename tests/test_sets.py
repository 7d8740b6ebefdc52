"""The threshold rule: three views of it agree with each other and with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ragged import SCORES, ascending_grids, best_first, chosen_by_hand, lists_of, rules, tables

import cutline as cl
from cutline.cutting import cut_all
from cutline.errors import InputError
from cutline.sets import RULES, SetRule


@given(st.data())
def test_choosing_is_the_definition_at_every_threshold(drawing):
    queries, rule = drawing.draw(tables()), drawing.draw(rules())
    grid = drawing.draw(ascending_grids(queries.scores))
    lists = lists_of(queries.scores, queries.offsets)
    bounded = lists_of(rule.bounded_scores(queries.scores, queries.offsets), queries.offsets)
    for threshold in [-np.inf, *grid[:30], np.inf]:
        by_hand = [chosen_by_hand(scores, threshold, rule) for scores in lists]
        assert [rule.choose(np.array(scores), None, threshold).tolist() for scores in lists] == by_hand
        rows, sizes = rule.choose_all(queries.scores, queries.offsets, threshold)
        together = [begin + row for begin, chosen in zip(queries.offsets, by_hand, strict=False) for row in chosen]
        assert (rows.tolist(), sizes.tolist()) == (together, [len(chosen) for chosen in by_hand])
        mask, order = cut_all(rule, queries.scores, queries.offsets, None, threshold)
        assert (np.flatnonzero(mask).tolist(), order.tolist()) == (sorted(together), together)
        if np.isfinite(threshold):
            plain = [[i for i, score in enumerate(scores) if score >= threshold] for scores in bounded]
            assert plain == [sorted(chosen) for chosen in by_hand]


@given(scores=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75]), min_size=60, max_size=200), rule=rules())
def test_long_lists_are_cut_and_ordered_alike(scores, rule):
    for threshold in (0.0, 0.3, 0.75, 1.0):
        assert rule.choose(np.array(scores), None, threshold).tolist() == chosen_by_hand(scores, threshold, rule)


def test_a_score_equal_to_the_threshold_stays_and_one_ulp_below_goes():
    scores = np.array([0.3, np.nextafter(0.3, 0), np.nextafter(0.3, 1)])
    assert cl.Threshold().choose(scores, None, 0.3).tolist() == [2, 0]


def test_the_lower_position_stays_where_sizes_cut_through_equal_scores():
    scores = np.array([0.1, 0.7, 0.7, 0.9, 0.7])
    assert cl.Threshold(max_size=2).choose(scores, None, 0.5).tolist() == [3, 1]
    assert cl.Threshold(min_size=3).choose(scores, None, 0.8).tolist() == [3, 1, 2]
    assert cl.Threshold(max_size=2).bounded_scores(scores, np.array([0, 5])).tolist() == [
        -np.inf,
        0.7,
        -np.inf,
        0.9,
        -np.inf,
    ]
    assert cl.Threshold(min_size=2).bounded_scores(scores, np.array([0, 5])).tolist() == [0.1, np.inf, 0.7, np.inf, 0.7]


def test_a_minimum_size_keeps_the_best_and_never_more_than_there_are():
    assert cl.Threshold(min_size=2).choose(np.array([0.1, 0.3, 0.2]), None, np.inf).tolist() == [1, 2]
    assert cl.Threshold(min_size=5).choose(np.array([0.1, 0.3]), None, np.inf).tolist() == [1, 0]


def test_without_sizes_the_scores_bound_themselves():
    scores = np.array([0.1, 0.2])
    assert cl.Threshold().bounded_scores(scores, np.array([0, 2])) is scores


@given(SCORES.flatmap(lambda values: st.lists(values, min_size=1, max_size=9)))
def test_everything_is_kept_best_first_at_the_lowest_score(scores):
    assert cl.Threshold().choose(np.array(scores), None, min(scores)).tolist() == best_first(scores)


def test_lists_are_cut_alike_on_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 5, 3200))])
    scores = rng.integers(0, 9, offsets[-1]) / 8
    rule = cl.Threshold(1, 3)
    answers = []
    for threads in "123":
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        rows, sizes = rule.choose_all(scores, offsets, 0.5)
        answers.append((rows.tolist(), sizes.tolist(), rule.bounded_scores(scores, offsets).tolist()))
    assert answers[0] == answers[1] == answers[2]


def test_a_rule_says_what_a_certificate_needs():
    assert cl.Threshold().settings() == {"name": "threshold", "min_size": 0, "max_size": None}
    assert cl.Threshold(1, 3).settings() == {"name": "threshold", "min_size": 1, "max_size": 3}
    assert {"threshold": cl.Threshold, "diverse": cl.Diverse} == RULES
    assert isinstance(cl.Threshold(), SetRule)
    assert not cl.Threshold.needs_vectors


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"min_size": -1}, r"min_size must be a whole number of at least 0, got -1"),
        ({"min_size": 1.5}, r"min_size must be a whole number of at least 0, got 1.5"),
        ({"min_size": True}, r"min_size must be a number, got True"),
        ({"min_size": "2"}, r"min_size must be a number, got '2'"),
        ({"max_size": 0}, r"max_size must be a whole number of at least 1, got 0"),
        ({"max_size": float("inf")}, r"max_size must be finite, got inf"),
        ({"min_size": 3, "max_size": 2}, r"min_size must be at most max_size, got 3 and 2"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes, message):
    with pytest.raises(InputError, match=message):
        cl.Threshold(**sizes)


def test_a_size_given_as_a_float_counts_as_whole():
    assert cl.Threshold(1.0, 2.0) == cl.Threshold(1, 2)
