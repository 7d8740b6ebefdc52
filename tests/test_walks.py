"""Walks against a cut of every list at every threshold; the same bits however work is cut up; nothing too early."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ragged import (
    GRIDS,
    UNITS,
    ascending_grids,
    lists_of,
    relevances,
    row_by_hand,
    rules,
    tables,
)

import cutline as cl
from cutline import walks
from cutline.cutting import Lists, fingerprint
from cutline.errors import InputError
from cutline.kernels import _compile
from cutline.kernels import walk as kernel
from cutline.relevance import Badness
from cutline.walks import AnyWalk, EvenWalk, ExactWalk, walk_of

LOSSES = st.sampled_from([cl.FalseDiscovery, cl.Miss])
WHOLE = [i for i in range(7) if i != kernel.SQUARED]


def lists_from(queries: cl.Queries, loss: Any, rule: Any = None, order: Any = None) -> Lists:
    order = np.arange(len(queries)) if order is None else np.array(order, dtype=np.int64)
    badness = loss.relevance.badness(queries)
    return Lists(queries.scores, queries.offsets, badness, loss, rule or cl.Threshold(), order, queries.vectors)


def walked(walk: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds, sums and losses of a whole walk."""
    stretches = list(walk.stretches())
    assert all(len(stretch) == len(stretch.thresholds) == len(stretch.sums) > 0 for stretch in stretches)
    return tuple(np.concatenate([getattr(s, name) for s in stretches]) for name in ("thresholds", "sums", "losses"))  # type: ignore[return-value]


def by_hand(lists: Lists, thresholds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sums and losses at each threshold from the definition, over the queries of `order`."""
    shares = [None if code < 0 else Fraction(int(code) * lists.badness.unit, UNITS) for code in lists.badness.codes]
    scores, badness = lists_of(lists.scores.tolist(), lists.offsets), lists_of(shares, lists.offsets)
    scores, badness = [scores[q] for q in lists.order], [badness[q] for q in lists.order]
    rows = [row_by_hand(lists.loss, lists.rule, scores, badness, threshold) for threshold in thresholds]  # type: ignore[arg-type]
    return np.array([row for row, _ in rows]), np.array([losses for _, losses in rows])


def assert_sums(sums: np.ndarray, expected: np.ndarray, count: int) -> None:
    """Squares are rounded up from floats: exact for 0 and 1, within a unit per query otherwise."""
    assert sums[:, WHOLE].tolist() == expected[:, WHOLE].tolist()
    assert (np.abs(sums - expected)[:, kernel.SQUARED] <= count).all()


def in_walking_order(ascending: np.ndarray, loss: Any) -> np.ndarray:
    return np.ascontiguousarray(ascending[::-1]) if loss.safe_end == "high" else ascending


@st.composite
def drawn_lists(draw: st.DrawFn, *, whole: bool = False, sized: bool = True) -> Lists:
    queries = draw(tables())
    loss = draw(LOSSES)(draw(relevances(whole=whole)))
    order = draw(st.permutations(range(len(queries))))
    kept = draw(st.integers(1, len(order)))
    return lists_from(queries, loss, draw(rules()) if sized else None, order[:kept])


@st.composite
def drawn_walks(draw: st.DrawFn, *, whole: bool = False, longest: int = 60) -> tuple[Lists, np.ndarray]:
    lists = draw(drawn_lists(whole=whole))
    grid = draw(ascending_grids(lists.scores))
    if len(grid) > longest:  # the ends and some between
        grid = grid[draw(st.integers(0, len(grid) - longest)) :][:longest]
    return lists, in_walking_order(grid, lists.loss)


def many(count: int, seed: int = 0, *, ties: str = "expected") -> cl.Queries:
    """Lists of one to six items on a grid of eighths and beside it, one label in five missing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, count)
    scores = rng.integers(0, 9, sizes.sum()) / 8 + rng.choice([0, 0, 1e-9, -1e-9], sizes.sum())
    labels = np.where(rng.random(sizes.sum()) < 0.2, np.nan, rng.integers(0, 3, sizes.sum()))
    return cl.Queries.from_arrays(scores, labels, group=sizes)


# Along a grid ---------------------------------------------------------------------------------------------------


@given(drawn_walks())
def test_an_even_walk_has_the_sums_and_losses_of_the_definition(drawn):
    lists, thresholds = drawn
    expected_sums, expected_losses = by_hand(lists, thresholds)
    visited, sums, losses = walked(EvenWalk(lists, thresholds, squares=True, losses=True))
    assert visited.tolist() == thresholds.tolist()
    assert_sums(sums, expected_sums, len(lists.order))
    assert losses.tolist() == (expected_losses / UNITS).tolist()


@given(drawn_walks())
def test_sums_are_the_same_whether_losses_are_kept_or_not(drawn):
    lists, thresholds = drawn
    _, sums, losses = walked(EvenWalk(lists, thresholds, squares=True, losses=False))
    assert sums.tolist() == walked(EvenWalk(lists, thresholds, squares=True, losses=True))[1].tolist()
    assert losses.shape == (0, len(lists.order))
    unsquared = walked(EvenWalk(lists, thresholds, squares=False, losses=False))[1]
    assert unsquared[:, WHOLE].tolist() == sums[:, WHOLE].tolist()


@given(drawn_walks(whole=True, longest=20))
def test_a_walk_of_any_rule_and_loss_has_the_sums_and_losses_of_the_definition(drawn):
    lists, thresholds = drawn
    expected_sums, expected_losses = by_hand(lists, thresholds)
    visited, sums, losses = walked(AnyWalk(lists, thresholds, losses=True))
    assert visited.tolist() == thresholds.tolist()
    assert_sums(sums, expected_sums, len(lists.order))
    assert losses.tolist() == (expected_losses / UNITS).tolist()
    even = walked(EvenWalk(lists, thresholds, squares=True, losses=True))
    assert sums.tolist() == even[1].tolist()
    assert walked(AnyWalk(lists, thresholds, losses=False))[1].tolist() == sums.tolist()


@given(drawn_walks(longest=20))
def test_with_fractional_badness_the_two_walks_differ_by_a_unit_per_list_at_most(drawn):
    lists, thresholds = drawn
    even, any_ = (
        walked(EvenWalk(lists, thresholds, squares=True, losses=True)),
        walked(AnyWalk(lists, thresholds, losses=True)),
    )
    counted = [kernel.CHOSEN, kernel.BAD, kernel.NONEMPTY, kernel.JUDGED]
    assert any_[1][:, counted].tolist() == even[1][:, counted].tolist()
    assert (np.abs(any_[1] - even[1]) <= 2 * len(lists.order)).all()
    assert np.abs(any_[2] - even[2]).max() <= 1.01 / UNITS


@given(drawn_walks(), st.randoms(use_true_random=False))
def test_another_order_of_the_queries_permutes_the_losses_and_leaves_the_sums(drawn, shuffled):
    lists, thresholds = drawn
    places = list(range(len(lists.order)))
    shuffled.shuffle(places)
    _, sums, losses = walked(EvenWalk(lists, thresholds, squares=True, losses=True))
    other = replace(lists, order=lists.order[places])
    _, sums_again, losses_again = walked(EvenWalk(other, thresholds, squares=True, losses=True))
    assert sums_again.tolist() == sums.tolist()
    assert losses_again.tolist() == losses[:, places].tolist()


@given(drawn_walks())
def test_queries_that_are_not_named_might_as_well_not_be_there(drawn):
    lists, thresholds = drawn
    scores, codes = lists_of(lists.scores, lists.offsets), lists_of(lists.badness.codes, lists.offsets)
    sizes = [len(scores[q]) for q in lists.order]
    alone = replace(
        lists,
        scores=np.concatenate([scores[q] for q in lists.order]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        badness=Badness(
            np.concatenate([codes[q] for q in lists.order]).astype(lists.badness.codes.dtype), lists.badness.unit
        ),
        order=np.arange(len(sizes)),
    )
    for one, other in zip(
        *(walked(EvenWalk(x, thresholds, squares=True, losses=True)) for x in (lists, alone)), strict=True
    ):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
def test_a_score_equal_to_a_threshold_is_in_and_one_ulp_below_is_out(kind, name):
    grid = GRIDS[name]
    beside = [(float(np.nextafter(t, -np.inf)), float(t), float(np.nextafter(t, np.inf))) for t in grid]
    scores = np.array(beside).ravel()
    queries = cl.Queries.from_arrays(scores, np.arange(len(scores)) % 2.0, group=[1] * len(scores))
    thresholds = in_walking_order(grid, kind(cl.Grade(1)))
    _, sums, losses = walked(EvenWalk(lists_from(queries, kind(cl.Grade(1))), thresholds, squares=False, losses=True))
    reached = scores[None, :] >= thresholds[:, None]
    assert sums[:, kernel.CHOSEN].tolist() == reached.sum(axis=1).tolist()
    good = np.arange(len(scores)) % 2.0 >= 1
    lost = reached & ~good if kind is cl.FalseDiscovery else ~reached & good
    assert losses.tolist() == lost.astype(float).tolist()


@given(
    grid=st.one_of(
        st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=30, unique=True).map(sorted),
        st.tuples(st.floats(-1e6, 1e6), st.floats(1e-9, 1e3), st.integers(2, 40)).map(
            lambda g: sorted({g[0] + g[1] * k for k in range(g[2])})
        ),
    ),
    more=st.lists(st.floats(allow_nan=False), max_size=20),
    shaken=st.floats(-0.4, 0.4),
)
def test_the_step_of_an_item_is_how_many_thresholds_it_reaches(grid, more, shaken):
    """Grids almost even, shaken at every second place, are guessed at or searched: a comparison decides either way."""
    ascending = np.array(grid) + 0.0
    if len(ascending) > 2:
        ascending[1::2] += shaken * np.diff(ascending).min()
    ascending = np.unique(ascending)
    scores = np.array(
        [*ascending, *np.nextafter(ascending, np.inf), *np.nextafter(ascending, -np.inf), *more, np.inf, -np.inf]
    )
    reached = (scores[:, None] >= ascending[None, :]).sum(axis=1)
    assert walks._steps(scores, ascending, False).tolist() == reached.tolist()
    assert walks._steps(scores, ascending[::-1].copy(), True).tolist() == (len(ascending) - reached).tolist()


def test_evenly_spaced_grids_are_guessed_at_and_others_searched():
    for name in ("tenths", "thousandths", "single precision", "millions"):
        assert walks._evenness(GRIDS[name])[0] > 0
    for grid in (GRIDS["uneven"], GRIDS["one"], np.array([0.0, 5e-324]), np.array([-1.7e308, 0.0, 1.7e308])):
        assert walks._evenness(grid)[0] == 0


@pytest.mark.parametrize("off", [0.0, 1e-16, 4e-7, 4.99e-7, 5.01e-7, 1e-6, 2e-6, 0.1, 0.24, 0.26, 0.49, 0.6, 0.74])
@pytest.mark.parametrize(("low", "step"), [(0.001, 0.001), (-1e6, 250.0), (0.3, 1e-9), (1e-310, 1e-312)])
def test_a_score_that_stands_alone_has_the_same_step_as_in_company(low, step, off):
    """Rounding alone settles runs of scores that are far from every threshold; each of these is a run of its own."""
    ascending = np.unique(low + step * (np.arange(31) + off * np.resize([0, 1, -1, 0, -1], 31)))
    near = [-0.6, -0.3, 0.0, 0.25, 0.45, 0.5, 0.75]
    near += [sign * close for close in (1e-12, 5e-7, 0.99e-6, 1.01e-6, 2e-6) for sign in (-1, 1)]
    scores = np.array([low + step * (place + beside) for place in (0, 1, 2, 15, 28, 29, 30) for beside in near])
    reached = (scores[:, None] >= ascending[None, :]).sum(axis=1).tolist()
    alone = [int(walks._steps(scores[i : i + 1], ascending, False)[0]) for i in range(len(scores))]
    assert alone == reached
    falling = [int(walks._steps(scores[i : i + 1], ascending[::-1].copy(), True)[0]) for i in range(len(scores))]
    assert falling == [len(ascending) - count for count in reached]


def test_steps_of_many_scores_are_right_at_the_edges_of_runs_and_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    thresholds = GRIDS["thousandths"]
    scores = rng.random(70_000)
    scores[rng.integers(0, len(scores), 40)] = rng.choice(thresholds, 40)  # some runs settled by rounding, some not
    expected = np.searchsorted(thresholds, scores, side="right").tolist()
    for threads in "123":
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        assert walks._steps(scores, thresholds, False).tolist() == expected


def test_a_grid_too_long_for_short_steps_is_walked_alike():
    thresholds = np.linspace(1, 0, 40_001)
    queries = many(50)
    lists = lists_from(queries, cl.FalseDiscovery(cl.Grade(1)))
    _, sums, _ = walked(EvenWalk(lists, thresholds, squares=True, losses=False))
    picked = [0, 1, 5000, 20_000, 39_999, 40_000]
    assert_sums(sums[picked], by_hand(lists, thresholds[picked])[0], len(queries))


def test_badness_in_small_codes_of_a_custom_relevance_is_walked_alike():
    """Codes of one byte that go beyond 1, in quarters: they do not fit the short form of a change."""
    queries = many(40)
    codes = np.random.default_rng(3).integers(-1, 5, queries.n_items).astype(np.int8)
    for loss in (cl.FalseDiscovery(cl.Grade(1)), cl.Miss(cl.Grade(1))):
        lists = replace(lists_from(queries, loss), badness=Badness(codes, UNITS // 4))
        thresholds = in_walking_order(np.linspace(0, 1, 9), loss)
        expected_sums, expected_losses = by_hand(lists, thresholds)
        _, sums, losses = walked(EvenWalk(lists, thresholds, squares=True, losses=True))
        assert_sums(sums, expected_sums, len(queries))
        assert losses.tolist() == (expected_losses / UNITS).tolist()
        assert_sums(
            walked(ExactWalk(lists, squares=True))[1][:1],
            by_hand(lists, [np.inf if lists.entering else -np.inf])[0],
            40,
        )


# Two compiled loops -----------------------------------------------------------------------------------------------


@given(drawn_walks(whole=True))
def test_the_loop_for_short_lists_and_the_loop_for_all_give_the_same_bits(drawn):
    lists, thresholds = drawn
    answers = []
    for longest in (kernel.SHORT_LIST, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "SHORT_LIST", longest)
            walk, exact = EvenWalk(lists, thresholds, squares=True, losses=True), ExactWalk(lists, squares=True)
            assert walk.state.short == exact.state.short == (longest > 0 and lists.badness.codes.dtype == np.int8)
            answers.append([part.tobytes() for part in (*walked(walk), *walked(exact))])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@pytest.mark.parametrize("relevance", [cl.Grade(1), cl.Grade(1, unjudged="drop"), cl.Grade(0, unjudged="drop")])
@pytest.mark.parametrize("longest", [kernel.SHORT_LIST - 1, kernel.SHORT_LIST, kernel.SHORT_LIST + 1, 1500])
def test_lists_as_long_as_the_short_ones_may_be_and_longer_are_walked_alike(kind, relevance, longest):
    rng = np.random.default_rng(longest)
    scores = rng.integers(0, 40, longest + 3) / 40
    labels = np.where(rng.random(longest + 3) < 0.2, np.nan, rng.integers(0, 2, longest + 3))
    lists = lists_from(cl.Queries.from_arrays(scores, labels, group=[longest, 3]), kind(relevance))
    thresholds = in_walking_order(np.linspace(0, 1, 14), lists.loss)
    walk = EvenWalk(lists, thresholds, squares=True, losses=True)
    assert walk.state.short == (longest <= kernel.SHORT_LIST)
    expected_sums, expected_losses = by_hand(lists, thresholds)
    _, sums, losses = walked(walk)
    assert_sums(sums, expected_sums, 2)
    assert losses.tolist() == (expected_losses / UNITS).tolist()


# Every score in turn ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 50_000])
@given(lists=drawn_lists())
def test_an_exact_walk_visits_each_score_once_and_has_the_sums_of_the_definition(block, lists):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "SHORTEST_BLOCK", block)
        thresholds, sums, losses = walked(ExactWalk(lists, squares=True))
    bounded = lists_of(lists.rule.bounded_scores(lists.scores, lists.offsets), lists.offsets)  # type: ignore[attr-defined]
    scores = {score for query in lists.order for score in bounded[query] if math.isfinite(score)}
    assert thresholds[0] == (np.inf if lists.entering else -np.inf)
    assert thresholds[1:].tolist() == sorted(scores, reverse=lists.entering)
    cuts = thresholds if lists.entering else np.nextafter(thresholds, np.inf)  # an item leaves above its own score
    if not lists.entering:
        cuts[0] = -np.inf
        # full lists, but for what a largest size never lets in
    assert_sums(sums, by_hand(lists, cuts)[0], len(lists.order))
    assert losses.size == 0


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
def test_an_exact_walk_over_many_buckets_ends_where_a_grid_of_all_scores_ends(kind):
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.normal(0, 1, 20_000), rng.integers(0, 50, 10_000) / 10])
    queries = cl.Queries.from_arrays(scores, rng.integers(0, 2, 30_000), group=[10] * 3000)
    lists = lists_from(queries, kind(cl.Grade(1)), order=rng.permutation(3000)[:2900])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "SHORTEST_BLOCK", 3000)
        stretches = list(ExactWalk(lists, squares=True).stretches())
    assert len(stretches) > 8
    thresholds = np.concatenate([stretch.thresholds for stretch in stretches])[1:]
    sums = np.concatenate([stretch.sums for stretch in stretches])[1:]
    ordered = np.isin(np.repeat(np.arange(3000), 10), lists.order)
    assert np.array_equal(thresholds, in_walking_order(np.unique(scores[ordered]), lists.loss))
    at = thresholds if lists.entering else np.nextafter(thresholds, np.inf)
    assert np.array_equal(sums, walked(EvenWalk(lists, at, squares=True, losses=False))[1])


# The same bits however the work is cut up ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@pytest.mark.parametrize("relevance", [cl.Grade(1, unjudged="drop"), cl.TopM(m=2, ties="expected")])
def test_no_number_of_threads_changes_a_bit(monkeypatch, kind, relevance):
    queries, loss = many(3100), kind(relevance)
    thresholds = in_walking_order(np.linspace(0, 1, 9), loss)
    order = np.random.default_rng(1).permutation(3100)[:3090]
    answers = []
    for threads in "123":
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        assert len(_compile.spans(len(order), least=512)) == int(threads)
        lists = lists_from(queries, loss, cl.Threshold(1, 4), order)
        parts = [
            *walked(EvenWalk(lists, thresholds, squares=True, losses=True)),
            *walked(AnyWalk(lists, thresholds, losses=True)),
            *walked(ExactWalk(lists, squares=True)),
        ]
        answers.append([part.tobytes() for part in parts] + [fingerprint(lists.scores, lists.badness, lists.offsets)])
    assert answers[0] == answers[1] == answers[2]


@given(drawn_walks(longest=30), st.integers(1, 7), st.integers(1, 40), st.integers(1, 9))
def test_neither_spans_nor_blocks_change_a_bit(drawn, pieces, largest, shortest):
    lists, thresholds = drawn
    expected = [walked(EvenWalk(lists, thresholds, squares=True, losses=keep)) for keep in (True, False)]

    def cut(total: int, *, least: int) -> list[tuple[int, int]]:
        return list(pairwise(total * piece // pieces for piece in range(pieces + 1)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compile, "spans", cut)
        patch.setattr(walks, "LARGEST_BLOCK", largest)
        patch.setattr(walks, "SHORTEST_BLOCK", shortest)
        for keep, answer in zip((True, False), expected, strict=True):
            for one, other in zip(walked(EvenWalk(lists, thresholds, squares=True, losses=keep)), answer, strict=True):
                assert one.tobytes() == other.tobytes()


def test_losses_held_at_once_stay_below_the_largest_block(monkeypatch):
    monkeypatch.setattr(walks, "LARGEST_BLOCK", 100)
    walk = EvenWalk(
        lists_from(many(30), cl.FalseDiscovery(cl.Grade(1))), np.linspace(1, 0, 50), squares=False, losses=True
    )
    assert all(stretch.losses.size <= 100 for stretch in walk.stretches())


# Nothing before it is asked for -------------------------------------------------------------------------------


@pytest.fixture
def steps_taken(monkeypatch):
    """(start, stop) of each call of the compiled loop."""
    taken: list[tuple[int, int]] = []

    def spied(compiled):
        def spy(changes, edges, start, stop, *rest):
            taken.append((start, stop))
            return compiled(changes, edges, start, stop, *rest)

        return spy

    for name in ("advance", "advance_short"):
        monkeypatch.setattr(kernel, name, spied(getattr(kernel, name)))
    return taken


@pytest.mark.parametrize("relevance", [cl.Grade(1), cl.TopM(m=2)])  # each has its own loop
@pytest.mark.parametrize("keep", [True, False])
def test_an_even_walk_has_advanced_only_as_far_as_was_asked(steps_taken, monkeypatch, relevance, keep):
    monkeypatch.setattr(walks, "SHORTEST_BLOCK", 50)
    lists = lists_from(many(100), cl.FalseDiscovery(relevance))
    walk = EvenWalk(lists, np.linspace(1, 0, 401), squares=True, losses=keep)
    assert steps_taken == []
    stretches = walk.stretches()
    assert steps_taken == []
    done = 0
    for stretch in stretches:
        done += len(stretch)
        assert steps_taken[-1][1] == done
        assert walk.state.sums.tolist() == stretch.sums[-1].tolist()
        if done > 200:
            break
    assert 200 < done < 400
    assert not keep or steps_taken[0] == (0, 8)


def test_the_first_stretch_of_an_exact_walk_is_the_lists_before_any_score(steps_taken):
    rng = np.random.default_rng(4)
    queries = cl.Queries.from_arrays(rng.random(200_000), rng.integers(0, 2, 200_000), group=[20] * 10_000)
    walk = ExactWalk(lists_from(queries, cl.FalseDiscovery(cl.Grade(1))), squares=False)
    stretches = walk.stretches()
    first = next(stretches)
    assert (first.thresholds.tolist(), first.sums.tolist()) == ([np.inf], [[0] * 7])
    assert steps_taken == [(0, 1)]
    second = next(stretches)
    assert walk.state.sums[kernel.CHOSEN] == second.sums[-1, kernel.CHOSEN] == len(second)
    assert len(second) < 60_000


class Spy:
    """A plain threshold, which remembers the thresholds it was asked about. Lists above it are not its business."""

    name, needs_vectors = "spy", False

    def __init__(self) -> None:
        self.asked: list[float] = []

    def choose(self, scores, vectors, threshold):
        self.asked.append(threshold)
        return np.flatnonzero(scores >= threshold)

    def settings(self):
        return {"name": self.name}


def test_a_walk_of_any_rule_cuts_no_list_before_it_is_asked_to():
    spy = Spy()
    lists = lists_from(many(10), cl.FalseDiscovery(cl.Grade(1)), spy)
    thresholds = np.linspace(1, 0, 30)
    stretches = walk_of(lists, thresholds, squares=True, losses=True).stretches()
    assert spy.asked == []
    next(stretches)
    assert set(spy.asked) == set(thresholds[:8])
    assert len(spy.asked) == 8 * 10
    next(stretches)
    assert set(spy.asked) == set(thresholds[:16])


# Which walk it is ---------------------------------------------------------------------------------------------


@given(drawn_lists(whole=True, sized=False))
def test_a_custom_rule_and_a_custom_loss_walk_as_their_built_in_likes(lists):
    class Wrapped:
        name, safe_end, relevance = "wrapped", lists.loss.safe_end, lists.loss.relevance

        def of_lists(self, chosen, badness, offsets):
            return lists.loss.of_lists(chosen, badness, offsets)

    thresholds = in_walking_order(GRIDS["tenths"], lists.loss)
    expected = walked(walk_of(lists, thresholds, squares=True, losses=True))
    for custom in (replace(lists, loss=Wrapped()), replace(lists, rule=Spy())):
        walk = walk_of(custom, thresholds, squares=True, losses=True)
        assert isinstance(walk, AnyWalk)
        for one, other in zip(walked(walk), expected, strict=True):
            assert one.tolist() == other.tolist()
    assert isinstance(walk_of(lists, thresholds, squares=True, losses=True), EvenWalk)


def test_a_subclass_of_a_built_in_loss_is_asked_for_its_own_losses():
    class Doubled(cl.FalseDiscovery):
        def of_lists(self, chosen, badness, offsets):
            return np.minimum(2 * cl.FalseDiscovery.of_lists(self, chosen, badness, offsets), 1.0)

    lists = lists_from(many(20), Doubled(cl.Grade(1)))
    walk = walk_of(lists, np.array([0.5]), squares=True, losses=True)
    plain = walked(
        walk_of(replace(lists, loss=cl.FalseDiscovery(cl.Grade(1))), np.array([0.5]), squares=True, losses=True)
    )
    assert isinstance(walk, AnyWalk)
    assert walked(walk)[2].tolist() == np.minimum(2 * plain[2], 1).tolist()


def test_a_subclass_of_the_plain_threshold_is_asked_for_its_own_choice():
    class Odd(cl.Threshold):
        def choose(self, scores, vectors, threshold):
            return np.arange(1, len(scores), 2)

    lists = lists_from(many(20), cl.FalseDiscovery(cl.Grade(1)), Odd())
    _, sums, _ = walked(walk_of(lists, np.array([0.5]), squares=True, losses=True))
    assert sums[0, kernel.CHOSEN] == (np.diff(lists.offsets) // 2).sum()


def test_a_rule_may_see_vectors_and_a_loss_outside_the_unit_interval_is_refused():
    class Nearest:
        name, needs_vectors = "nearest", True

        def choose(self, scores, vectors, threshold):
            return np.flatnonzero(vectors[:, 0] >= threshold)

        def settings(self):
            return {"name": self.name}

    class Twice:
        name, safe_end, relevance = "twice", "high", cl.Grade(1)

        def of_lists(self, chosen, badness, offsets):
            return 2 * cl.FalseDiscovery(cl.Grade(1)).of_lists(chosen, badness, offsets)

        def settings(self):
            return {"name": self.name}

    queries = cl.Queries.from_arrays([1, 2, 3], [0, 1, 0], group=[2, 1], vectors=[[0.9], [0.1], [0.5]])
    lists = lists_from(queries, cl.FalseDiscovery(cl.Grade(1)), Nearest())
    _, sums, losses = walked(walk_of(lists, np.array([0.7, 0.4, 0.0]), squares=True, losses=True))
    assert sums[:, kernel.CHOSEN].tolist() == [1, 2, 3]
    assert losses.tolist() == [[1, 0], [1, 1], [0.5, 1]]
    with pytest.raises(
        InputError, match=r"twice: losses must lie in \[0, 1\], got .*2\.0.*; scale the loss, or clip it"
    ):
        walked(walk_of(replace(lists, loss=Twice()), np.array([0.7]), squares=True, losses=True))
