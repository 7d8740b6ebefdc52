"""Risk curves: the same to the last bit however the queries are cut into chunks, and what each refusal says."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.ragged import UNITS, ascending_grids, badness_by_hand, lists_of, relevances, row_by_hand, rules, tables

import cutline as cl
from cutline.curve import check_thresholds, length_quantiles, lengths_of
from cutline.cutting import fingerprint
from cutline.errors import InputError
from cutline.kernels import walk as kernel

pytestmark = [  # meant here
    pytest.mark.filterwarnings(f"ignore:.*{words}:cutline.errors.CutlineWarning")
    for words in (
        "no judged item",
        "among judged items only",
        "a chunk added twice",
        "a size cuts through items of equal score",
    )
]

LOSS = cl.FalseDiscovery(cl.Grade(1))
SMALL = cl.grid(1.0, 0.0, 0.25)


@st.composite
def drawn_curves(draw: st.DrawFn, *, whole: bool = False) -> tuple[cl.Queries, cl.RiskCurve]:
    queries = draw(tables())
    loss = draw(st.sampled_from([cl.FalseDiscovery, cl.Miss]))(draw(relevances(whole=whole)))
    scoring = draw(st.sampled_from([cl.AsGiven(), cl.WinRate()]))
    ascending = (
        cl.grid(0.0, 1.0, 0.125) if isinstance(scoring, cl.WinRate) else draw(ascending_grids(queries.scores))[:40]
    )
    thresholds = ascending[::-1] if loss.safe_end == "high" else ascending
    return queries, cl.RiskCurve.empty(loss=loss, scoring=scoring, sets=draw(rules()), thresholds=thresholds)


def content(curve: cl.RiskCurve) -> tuple[Any, ...]:
    return curve.sums.tobytes(), curve.sums.shape, curve.lengths, curve.fingerprint, curve.thresholds.tobytes()


def judged(queries: cl.Queries) -> bool:
    """Whether every chunk of it has a label: a chunk that nobody judged is refused by itself."""
    return all(not np.isnan(query.labels).all() for query in queries)


def table(*lists: list[tuple[float, float]]) -> cl.Queries:
    scores, labels = zip(*[item for items in lists for item in items], strict=True)
    return cl.Queries.from_arrays(scores, labels, group=[len(items) for items in lists])


def prints(queries: cl.Queries, loss: Any = LOSS) -> tuple[int, int]:
    return cl.RiskCurve.empty(loss=loss, thresholds=SMALL).add(queries).fingerprint


# Sums ---------------------------------------------------------------------------------------------------------------


@given(drawn_curves(whole=True))  # fractions are rounded up item by item first: compared in test_walks
def test_a_curve_is_the_definition_at_every_threshold(drawn):
    queries, empty = drawn
    curve = empty.add(queries)
    scores = lists_of(curve.scoring.item_scores(queries.scores, queries.offsets).tolist(), queries.offsets)
    labels = lists_of(queries.labels, queries.offsets)
    badness = [badness_by_hand(listed, curve.loss.relevance) for listed in labels]
    rows = [row_by_hand(curve.loss, curve.sets, scores, badness, threshold)[0] for threshold in curve.thresholds]  # type: ignore[arg-type]
    exact = [column for column in range(7) if column != kernel.SQUARED]
    assert curve.sums[:, exact].tolist() == np.array(rows)[:, exact].tolist()
    n = len(queries)
    assert curve.risk.tolist() == [row[kernel.LOSS] / (n * UNITS) for row in rows]
    assert curve.mean_size.tolist() == [row[kernel.CHOSEN] / n for row in rows]
    assert (curve.n_queries, curve.n_items, len(curve)) == (n, queries.n_items, len(curve.thresholds))


@given(drawn=drawn_curves(), data=st.data())
def test_chunks_in_any_order_and_any_merges_give_the_curve_of_all_at_once(drawn, data):
    queries, empty = drawn
    assume(judged(queries))
    expected = content(empty.add(queries))
    order = data.draw(st.permutations(range(len(queries))))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(order) - 1)), max_size=4)) | {0, len(order)})
    chunks = [queries.select(order[start:stop]) for start, stop in pairwise(cuts) if stop > start]
    in_turn = empty
    for chunk in chunks:
        in_turn = in_turn.add(chunk)
    assert content(in_turn) == expected
    curves = [empty.add(chunk) for chunk in chunks]
    while len(curves) > 1:  # merge any two
        one = curves.pop(data.draw(st.integers(0, len(curves) - 1)))
        other = curves.pop(data.draw(st.integers(0, len(curves) - 1)))
        curves.append(one.merge(other))
    assert content(curves[0]) == expected
    assert content(curves[0].merge(empty)) == content(empty.merge(curves[0])) == expected


def test_two_thousand_queries_in_chunks_on_any_number_of_threads_give_the_same_curve(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 9000)
    queries = cl.Queries.from_arrays(rng.random(sizes.sum()), rng.integers(0, 3, sizes.sum()), group=sizes)
    empty = cl.RiskCurve.empty(loss=cl.Miss(cl.TopM(m=2, ties="expected")), thresholds=cl.grid(0.0, 1.0, 0.01))
    answers = []
    for threads, chunk in (("1", 9000), ("2", 9000), ("3", 9000), ("2", 1700)):
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        curve = empty
        for start in range(0, 9000, chunk):
            curve = curve.add(queries[start : start + chunk])
        answers.append(content(curve))
    assert answers[0] == answers[1] == answers[2] == answers[3]


def test_adding_leaves_the_curve_it_was_added_to_alone():
    empty = cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL)
    one = empty.add(table([(0.5, 1)]))
    before = content(one)
    one.add(table([(0.9, 0)]))
    one.merge(one)
    assert content(one) == before
    assert (empty.n_queries, empty.n_items, empty.sums.any()) == (0, 0, False)
    assert empty.risk.tolist() == [0.0] * 5


def test_a_curve_merged_with_itself_counts_everything_twice():
    one = cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL).add(table([(0.5, 1), (0.8, 0)], [(0.3, 0)]))
    twice = one.merge(one)
    assert twice.sums.tolist() == (2 * one.sums).tolist()
    assert (twice.n_queries, twice.n_items, twice.lengths) == (4, 6, {1: 2, 2: 2})
    assert twice.risk.tolist() == one.risk.tolist()
    assert twice.fingerprint == tuple(2 * word % 2**64 for word in one.fingerprint)


def test_a_curve_travels_between_processes():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL).add(table([(0.5, 1)]))
    again = pickle.loads(pickle.dumps(curve))
    assert content(again) == content(curve)
    assert content(again.merge(curve)) == content(curve.merge(curve))


def test_a_curve_shows_what_it_holds():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL).add(table([(0.5, 1)], [(0.5, 0)]))
    lines = [line.split() for line in repr(curve).splitlines()]
    assert lines == [
        ["RiskCurve", "of", "false-discovery"],
        ["queries", "2,", "2", "items"],
        ["thresholds", "5,", "1", "…", "0"],
        ["risk", "0.0000", "…", "0.5000"],
        ["mean", "list", "size", "0.00", "…", "1.00"],
    ]
    assert "<td" in curve._repr_html_()
    assert "risk" not in repr(cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL)).splitlines()[-1]


# The fingerprint ------------------------------------------------------------------------------------------------


@given(queries=tables(), order=st.randoms(use_true_random=False), relevance=relevances())
def test_neither_the_order_of_queries_nor_of_items_changes_the_fingerprint(queries, order, relevance):
    loss = cl.FalseDiscovery(relevance)
    lists = [list(zip(query.scores, query.labels, strict=True)) for query in queries]
    for items in lists:
        order.shuffle(items)
    order.shuffle(lists)
    assert prints(table(*lists), loss) == prints(queries, loss)


@given(queries=tables(), place=st.integers(0, 10**6))
def test_a_changed_score_or_badness_changes_both_words(queries, place):
    place %= queries.n_items
    before = prints(queries)
    scores, labels = queries.scores.copy(), queries.labels.copy()
    scores[place] = np.nextafter(scores[place], np.inf)
    labels[place] = 0.0 if labels[place] >= 1 else 1.0
    changed = [(scores, queries.labels), (queries.scores, labels), (scores, labels)]
    for new_scores, new_labels in changed:
        if np.array_equal(new_scores, queries.scores) and np.array_equal(new_labels, queries.labels, equal_nan=True):
            continue
        if np.isnan(new_labels).all():
            continue
        after = prints(cl.Queries(new_scores, queries.offsets, labels=new_labels))
        assert after[0] != before[0]
        assert after[1] != before[1]


BASE = [[(0.5, 1.0), (0.25, 0.0)], [(0.5, 0.0), (0.75, 1.0)]]


@pytest.mark.parametrize(
    "other",
    [
        [[(0.5, 1.0), (0.75, 1.0)], [(0.5, 0.0), (0.25, 0.0)]],  # the same items, grouped otherwise
        [[(0.5, 1.0), (0.25, 0.0), (0.5, 0.0)], [(0.75, 1.0)]],
        [[(0.5, 1.0), (0.25, 0.0), (0.5, 0.0), (0.75, 1.0)]],
        [[(0.5, 0.0), (0.25, 1.0)], [(0.5, 0.0), (0.75, 1.0)]],  # labels changed places
        [[(0.5, 1.0), (0.25, np.nan)], [(0.5, 0.0), (0.75, 1.0)]],
        [*BASE, BASE[0]],
        [BASE[0], BASE[0]],
        [BASE[0]],
    ],
)
def test_other_lists_have_another_fingerprint(other):
    loss = cl.FalseDiscovery(cl.Grade(1, unjudged="drop"))
    one, two = prints(table(*BASE), loss), prints(table(*other), loss)
    assert one[0] != two[0]
    assert one[1] != two[1]


def test_labels_that_mean_the_same_and_a_negative_zero_leave_the_fingerprint():
    assert prints(table([(0.0, 1), (0.5, 0)])) == prints(table([(-0.0, 2), (0.5, 0.5)]))


def test_items_of_score_zero_passed_over_are_not_lost_from_the_fingerprint():
    loss = cl.FalseDiscovery(cl.TopM(m=1, unjudged="drop"))
    one, two = ([(0.5, 1.0), *[(0.0, np.nan)] * count] for count in (1, 2))
    assert prints(table(one), loss) != prints(table(two), loss)


def test_tables_have_one_fingerprint_exactly_where_they_hold_the_same_lists():
    rng = np.random.default_rng(0)
    relevance = cl.TopM(m=2, ties="expected")
    words: dict[Any, tuple[int, int]] = {}
    for _ in range(1000):
        queries = cl.Queries.from_arrays(rng.integers(0, 2, 9) / 2, rng.integers(0, 3, 9), group=[3, 4, 2])
        badness = relevance.badness(queries)
        items = list(zip(queries.scores.tolist(), badness.codes.tolist(), strict=True))
        held = tuple(sorted(tuple(sorted(listed)) for listed in lists_of(items, queries.offsets)))
        word = fingerprint(queries.scores, badness, queries.offsets)
        assert words.setdefault(held, word) == word
        assert all(0 <= part < 2**64 for part in word)
    assert 100 < len(words) < 1000
    for column in (0, 1):
        assert len({word[column] for word in words.values()}) == len(words)


# Lengths ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_quantiles_of_lengths_are_those_of_the_lengths_written_out(sizes):
    lengths = lengths_of(np.array(sizes))
    assert lengths == {size: sizes.count(size) for size in sizes}
    quantiles = length_quantiles(lengths)
    assert (quantiles.min, quantiles.median, quantiles.max) == (min(sizes), float(np.median(sizes)), max(sizes))


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"thresholds": cl.grid(1.0, 0.0, 0.5)},
        {"loss": cl.FalseDiscovery(cl.Grade(2))},
        {"loss": cl.FalseDiscovery(cl.Grade(1, unjudged="drop"))},
        {"loss": cl.FalseDiscovery(cl.TopM(m=1))},
        {"scoring": cl.WinRate()},
        {"sets": cl.Threshold(min_size=1)},
    ],
)
def test_curves_that_mean_different_things_do_not_merge(other):
    kept = {"loss": LOSS, "thresholds": SMALL}
    one, two = cl.RiskCurve.empty(**kept), cl.RiskCurve.empty(**kept | other)
    for left, right in ((one, two), (two, one)):
        with pytest.raises(InputError, match=r"curves to merge must share thresholds, loss, scoring and sets, got"):
            left.merge(right)


def test_curves_of_two_win_rates_do_not_merge():
    one, two = (cl.RiskCurve.empty(loss=LOSS, scoring=cl.WinRate(scale=scale)) for scale in (1, 2))
    with pytest.raises(InputError, match=r"scale.*1\.0.*scale.*2\.0"):
        one.merge(two)


def test_win_rates_have_a_grid_of_their_own_and_other_scores_have_none():
    falling = cl.RiskCurve.empty(loss=LOSS, scoring=cl.WinRate()).thresholds
    rising = cl.RiskCurve.empty(loss=cl.Miss(cl.Grade(1)), scoring=cl.WinRate()).thresholds
    assert falling.tolist() == [float(f"0.{k:03}") for k in range(999, 0, -1)]
    assert rising.tolist() == falling.tolist()[::-1]
    with pytest.raises(
        InputError, match=r"thresholds are wanted: scores as given have no grid.*pass thresholds=cl.grid"
    ):
        cl.RiskCurve.empty(loss=LOSS)


def test_a_curve_has_no_exact_walk():
    with pytest.raises(
        InputError, match=r"thresholds of a curve must be numbers, got 'exact'; pass thresholds=cl.grid"
    ):
        cl.RiskCurve.empty(loss=LOSS, thresholds="exact")


MISS = cl.Miss(cl.Grade(1))


@pytest.mark.parametrize(
    ("loss", "scoring", "thresholds", "message"),
    [
        (LOSS, cl.AsGiven(), [0.1, 0.2], r"must fall strictly, as false-discovery walks.*got 0.1 then 0.2; reverse"),
        (MISS, cl.AsGiven(), [0.2, 0.1], r"must rise strictly, as miss walks from all items on, got 0.2.*; reverse"),
        (LOSS, cl.AsGiven(), [0.9, 0.5, 0.5], r"must fall strictly.*got 0.5 then 0.5; sort them and drop repeats"),
        (LOSS, cl.AsGiven(), [0.9, 0.5, 0.6, 0.1], r"got 0.5 then 0.6; sort them and drop repeats"),
        (MISS, cl.AsGiven(), [0.1, 0.1], r"must rise strictly.*got 0.1 then 0.1; sort them and drop repeats"),
        (LOSS, cl.WinRate(), [1.5, 0.5], r"thresholds of win rates must lie in \[0, 1\], got 0.5 to 1.5"),
        (MISS, cl.WinRate(), [-0.1, 0.5], r"thresholds of win rates must lie in \[0, 1\], got -0.1 to 0.5"),
        (LOSS, cl.AsGiven(), [], r"thresholds must be a list of at least one finite number, got \[\]"),
        (LOSS, cl.AsGiven(), [0.5, np.nan], r"at least one finite number"),
        (LOSS, cl.AsGiven(), [np.inf, 0.5], r"at least one finite number"),
        (LOSS, cl.AsGiven(), [[0.5]], r"at least one finite number, got \[\[0.5\]\]"),
        (LOSS, cl.AsGiven(), 0.5, r"at least one finite number, got 0.5"),
        (LOSS, cl.AsGiven(), ["a"], r'thresholds must be numbers or "exact", got'),
    ],
)  # fmt: skip
def test_thresholds_that_cannot_be_walked_are_refused(loss, scoring, thresholds, message):
    with pytest.raises(InputError, match=message):
        check_thresholds(thresholds, loss=loss, scoring=scoring)


def test_thresholds_are_copied_and_a_negative_zero_is_zero():
    given_thresholds = np.array([0.5, -0.0])
    values = check_thresholds(given_thresholds, loss=LOSS, scoring=cl.AsGiven())
    given_thresholds[:] = 7
    assert values.tolist() == [0.5, 0.0]
    assert not np.signbit(values).any()


def test_a_chunk_that_cannot_be_judged_is_refused_by_name():
    empty = cl.RiskCurve.empty(loss=cl.FalseDiscovery(cl.Grade(1, unjudged="error")), thresholds=SMALL)
    with pytest.raises(InputError, match=r"labels are missing for 1 of 1 items, first in query 0 at position 0"):
        empty.add(table([(0.5, np.nan)]))


@given(drawn_curves())
def test_a_state_brings_the_sums_to_another_process(drawn: tuple[cl.Queries, cl.RiskCurve]) -> None:
    queries, empty = drawn
    assume(judged(queries))
    curve = empty.add(queries)
    assert content(empty.with_state(curve.state())) == content(curve)
    assert empty.with_state(curve.state()).n_judged == curve.n_judged
    assert empty.with_state(curve.state()).vector_width == curve.vector_width


def test_a_state_of_something_else_is_refused() -> None:
    empty = cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL)
    state = empty.add(table([(0.5, 1.0)])).state()
    others = [
        cl.RiskCurve.empty(loss=cl.FalseDiscovery(cl.Grade(2)), thresholds=SMALL),
        cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL[1:]),
        cl.RiskCurve.empty(loss=LOSS, thresholds=[1.0, 0.74, 0.5, 0.25, 0.0]),
        cl.RiskCurve.empty(loss=LOSS, thresholds=SMALL, sets=cl.Threshold(max_size=3)),
    ]
    for other in others:
        with pytest.raises(InputError, match="state must be that of a curve with the same thresholds, loss, scoring"):
            other.with_state(state)
    for spoiled in (state[:-3], b"", pickle.dumps({})):
        with pytest.raises(InputError, match="state must be the bytes that"):
            empty.with_state(spoiled)
