"""The walk over diverse lists against a cut of every list at every threshold; and one set per list, however asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.points import distances_by_hand, eliminated_by_hand, tables_with_vectors, whole_by_hand
from tests.ragged import UNITS, ascending_grids, badness_by_hand, lists_of, loss_by_hand, relevances
from tests.test_walks import in_walking_order, walked

import cutline as cl
from cutline import diverse_walk
from cutline.cutting import Lists, prepared
from cutline.diverse_walk import DiverseWalk
from cutline.errors import InputError
from cutline.evidence import Convex
from cutline.kernels import walk as kernel
from cutline.walks import AnyWalk, walk_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no (label|judged item):cutline.errors.CutlineWarning")

LOSSES = st.sampled_from([cl.FalseDiscovery, cl.Miss])
LOSS = cl.FalseDiscovery(cl.Grade(at_least=1))


def drawn_at_random(scores, distances, max_size, *, rng):
    return rng.permutation(len(scores))[:max_size]


@st.composite
def drawn_walks(draw: st.DrawFn, *, whole: bool = False, strategy: Any = "eliminate") -> tuple[Lists, np.ndarray]:
    queries, distance = draw(tables_with_vectors())
    loss = draw(LOSSES)(draw(relevances(whole=whole)))
    rule = cl.Diverse(draw(st.integers(1, 6)), distance=distance, strategy=strategy)
    grid = draw(ascending_grids(queries.scores))
    grid = grid[draw(st.integers(0, max(0, len(grid) - 20))) :][:20]
    lists = prepared(queries, loss=loss, scoring=cl.AsGiven(), sets=rule)
    order = draw(st.permutations(range(len(queries))))
    return lists.reordered(np.array(order[: draw(st.integers(1, len(order)))])), in_walking_order(grid, loss)


def queries_with(vectors_of: Any, count: int, *, longest: int = 30, seed: int = 0) -> cl.Queries:
    """Ragged lists with scores of two digits, so that many are equal."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, count)
    items = int(sizes.sum())
    labels = np.where(rng.random(items) < 0.1, np.nan, rng.integers(0, 2, items))
    return cl.Queries.from_arrays(
        np.round(rng.random(items), 2), labels, qid=np.repeat(np.arange(count), sizes), vectors=vectors_of(rng, items)
    )


def normal(rng, items):
    return rng.normal(size=(items, 4)).astype(np.float32)


def tags(rng, items):
    return (rng.random((items, 12)) < 0.25).astype(np.float64)


# Against the definition ---------------------------------------------------------------------------------------------


@given(drawn_walks(whole=True))
def test_a_walk_of_diverse_lists_has_the_losses_of_a_loop_written_by_hand(drawn):
    lists, thresholds = drawn
    visited, sums, losses = walked(DiverseWalk(lists, thresholds, losses=True))
    assert visited.tolist() == thresholds.tolist()
    offsets = lists.offsets
    labels = lists.badness.shares()  # whole badness: the shares are 0, 1 or NaN
    for place, query in enumerate(lists.order.tolist()):
        begin, end = int(offsets[query]), int(offsets[query + 1])
        scores, bad = lists.scores[begin:end].tolist(), [None if b != b else int(b) for b in labels[begin:end].tolist()]
        own = (
            lists.vectors[begin:end]
            if lists.rule.distance != "precomputed"
            else lists.vectors[begin:end, : end - begin]
        )
        whole = whole_by_hand(distances_by_hand(own, lists.rule.distance))
        for row, threshold in enumerate(thresholds):
            kept = eliminated_by_hand(scores, whole, threshold, lists.rule.max_size)
            assert losses[row, place] == -(-loss_by_hand(lists.loss, kept, bad) * UNITS // 1) / UNITS
    assert sums[:, kernel.LOSS].tolist() == np.rint(losses * UNITS).sum(axis=1).tolist()


@given(drawn_walks(whole=True))
def test_it_gives_the_stretches_of_cutting_every_list_at_every_threshold(drawn):
    lists, thresholds = drawn
    diverse = walked(DiverseWalk(lists, thresholds, losses=True))
    by_definition = walked(AnyWalk(lists, thresholds, losses=True))
    for one, other in zip(diverse, by_definition, strict=True):
        assert one.tolist() == other.tolist()
    assert walked(DiverseWalk(lists, thresholds, losses=False))[1].tolist() == diverse[1].tolist()


@given(drawn_walks())
def test_with_fractional_badness_they_differ_by_a_unit_per_list_at_most(drawn):
    lists, thresholds = drawn
    _, sums, losses = walked(DiverseWalk(lists, thresholds, losses=True))
    _, expected, shares = walked(AnyWalk(lists, thresholds, losses=True))
    counted = [kernel.CHOSEN, kernel.BAD, kernel.NONEMPTY, kernel.JUDGED]
    assert sums[:, counted].tolist() == expected[:, counted].tolist()
    assert (np.abs(sums - expected) <= 2 * len(lists.order)).all()
    assert np.abs(losses - shares).max() <= 1.01 / UNITS


@given(drawn_walks(whole=True, strategy=drawn_at_random))
def test_a_random_strategy_is_walked_as_it_cuts(drawn):
    lists, thresholds = drawn
    for one, other in zip(
        walked(DiverseWalk(lists, thresholds, losses=True)),
        walked(AnyWalk(lists, thresholds, losses=True)), strict=True,
    ):  # fmt: skip
        assert one.tolist() == other.tolist()


def test_the_walk_is_taken_for_built_in_losses_and_any_other_loss_is_cut_as_defined():
    class Worst(cl.FalseDiscovery):
        def of_lists(self, chosen, badness, offsets):
            return np.array([float((chosen & (badness > 0))[b:e].any()) for b, e in pairwise(offsets)])

    queries, grid = queries_with(normal, 30), np.linspace(0.95, 0.05, 7)
    own = Worst(cl.Grade(1))
    lists = prepared(queries, loss=LOSS, scoring=cl.AsGiven(), sets=cl.Diverse(3))
    assert isinstance(walk_of(lists, grid, squares=False, losses=False), DiverseWalk)
    other = walk_of(replace(lists, loss=own), grid, squares=False, losses=True)
    assert isinstance(other, AnyWalk)
    expected = [own.of_lists(cut(lists, at), lists.badness.shares(), lists.offsets).tolist() for at in grid]
    assert walked(other)[2].tolist() == expected


def cut(lists: Lists, threshold: float) -> np.ndarray:
    """The mask of a cut by hand."""
    mask = np.zeros(len(lists.scores), dtype=bool)
    for begin, end in pairwise(lists.offsets.tolist()):
        apart = distances_by_hand(lists.vectors[begin:end], lists.rule.distance)
        kept = eliminated_by_hand(
            lists.scores[begin:end].tolist(), whole_by_hand(apart), threshold, lists.rule.max_size
        )
        mask[[begin + i for i in kept]] = True
    return mask


# The same bits however work is cut up -------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["eliminate", drawn_at_random], ids=["eliminate", "random"])
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@pytest.mark.parametrize("vectors", [normal, tags])
def test_threads_blocks_and_matrices_kept_or_not_change_no_bit(monkeypatch, strategy, kind, vectors):
    queries = queries_with(vectors, 150)
    rule = cl.Diverse(4, distance="jaccard" if vectors is tags else "euclidean", strategy=strategy)
    lists = prepared(queries, loss=kind(cl.Grade(1)), scoring=cl.AsGiven(), sets=rule)
    thresholds = in_walking_order(np.linspace(0, 1, 40), lists.loss)
    answers = []
    for threads, block, stretches, kept in [
        ("1", 64, 6, 1 << 25),
        ("2", 7, 1, 0),
        ("3", 1000, 100, 9000),
        ("4", 1, 3, 9000),
    ]:
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        monkeypatch.setattr(diverse_walk, "BLOCK", block)
        monkeypatch.setattr(diverse_walk, "STRETCHES", stretches)
        monkeypatch.setattr(diverse_walk, "MOST_KEPT", kept)
        answers.append([part.tobytes() for part in walked(DiverseWalk(lists, thresholds, losses=True))])
    assert all(answer == answers[0] for answer in answers)


def test_losses_of_many_lists_are_held_a_few_thresholds_at_a_time(monkeypatch):
    monkeypatch.setattr(diverse_walk, "LARGEST_BLOCK", 100)
    lists = prepared(queries_with(normal, 40), loss=LOSS, scoring=cl.AsGiven(), sets=cl.Diverse(3))
    stretches = list(DiverseWalk(lists, np.linspace(1, 0, 15), losses=True).stretches())
    assert max(len(stretch) for stretch in stretches) <= 2
    assert sum(len(stretch) for stretch in stretches) == 15


def test_no_stretch_is_worked_out_before_it_is_asked_for(monkeypatch):
    seen = []

    def counting(scores, distances, max_size):
        seen.append(len(scores))
        return range(max_size)

    lists = prepared(queries_with(normal, 60), loss=LOSS, scoring=cl.AsGiven(), sets=cl.Diverse(3, strategy=counting))
    stretches = DiverseWalk(lists, np.linspace(1, 0, 51), losses=False).stretches()
    assert seen == []
    first = next(stretches)
    early = len(seen)
    list(stretches)
    assert 0 < len(first) < 51
    assert 0 < early < len(seen) / 2


def test_a_strategy_is_asked_once_for_each_set_of_a_list():
    seen = []

    def counting(scores, distances, max_size):
        seen.append(tuple(scores))
        return range(max_size)

    lists = prepared(queries_with(normal, 40), loss=LOSS, scoring=cl.AsGiven(), sets=cl.Diverse(3, strategy=counting))
    walked(DiverseWalk(lists, cl.grid(0.999, 0.001, 0.001), losses=False))
    sets = {
        (query, int((scores >= threshold).sum()))
        for query, scores in enumerate(map(np.array, lists_of(lists.scores, lists.offsets)))
        for threshold in cl.grid(0.999, 0.001, 0.001)
        if (scores >= threshold).sum() > 3
    }
    assert len(sets) <= len(seen) <= len(sets) + 4 * 40  # again at most once in each stretch


# One set per list ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "jaccard"])
@pytest.mark.parametrize("strategy", ["eliminate", drawn_at_random], ids=["eliminate", "random"])
def test_apply_choose_and_calibrate_choose_the_same_of_2_000_queries(monkeypatch, distance, strategy):
    queries = queries_with(tags if distance == "jaccard" else normal, 2_000, longest=14)
    rule = cl.Diverse(3, distance=distance, strategy=strategy, seed=7)
    how = {
        "loss": LOSS,
        "alpha": 0.6,
        "delta": 0.1,
        "sets": rule,
        "thresholds": np.linspace(0.9, 0.2, 8),
        "evidence": Convex(),
    }
    slates, found = [], []
    for threads in "123":
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        found.append(cl.calibrate(queries, **how))
        slates.append(found[-1].apply(queries))
    assert all(np.array_equal(slates[0].order, other.order) for other in slates)
    assert len({certificate.seal for certificate in found}) == 1
    certificate = found[0]
    backwards = certificate.apply(queries.select(np.arange(2_000)[::-1]))
    for place, query in enumerate(queries):
        alone = certificate.choose(query.scores, query.vectors).tolist()
        assert alone == slates[0][place].tolist() == backwards[1_999 - place].tolist()
    badness = [badness_by_hand(labels, LOSS.relevance) for labels in lists_of(queries.labels, queries.offsets)]
    losses = [loss_by_hand(LOSS, kept.tolist(), bad) for kept, bad in zip(slates[0], badness, strict=True)]
    assert certificate.risk == sum(-(-loss * UNITS // 1) for loss in losses) / (2_000 * UNITS)
    assert certificate.mean_size == slates[0].mean_size
    assert max(slates[0].sizes) == 3
    assert (slates[0].sizes == 3).mean() > 0.5


def test_a_curve_in_chunks_is_that_of_all_queries_and_certifies_alike():
    queries, rule = queries_with(tags, 300), cl.Diverse(3, distance="jaccard")
    grid = np.linspace(0.9, 0.1, 9)
    empty = cl.RiskCurve.empty(loss=LOSS, sets=rule, thresholds=grid)
    whole = empty.add(queries)
    parts = empty.add(queries[200:]).merge(empty.add(queries[:50]).add(queries[50:200]))
    assert parts.sums.tolist() == whole.sums.tolist()
    how = {"alpha": 0.6, "delta": 0.1, "evidence": Convex()}
    found = cl.calibrate(parts, **how)
    assert found.threshold == cl.calibrate(queries, loss=LOSS, sets=rule, thresholds=grid, **how).threshold
    assert whole.add(queries[:0]).sums.tolist() == whole.sums.tolist()
    with pytest.raises(InputError, match=r"must share .* sets"):
        whole.merge(cl.RiskCurve.empty(loss=LOSS, sets=cl.Diverse(4, distance="jaccard"), thresholds=grid))


def test_win_rates_and_diverse_lists_go_together():
    queries = queries_with(normal, 200, longest=9)
    how = {"loss": LOSS, "alpha": 0.6, "delta": 0.1, "scoring": cl.WinRate(scale=0.2), "sets": cl.Diverse(2)}
    certificate = cl.calibrate(queries, **how)
    slates = certificate.apply(queries)
    for place, query in enumerate(queries):
        assert certificate.choose(query.scores, query.vectors).tolist() == slates[place].tolist()


def test_queries_that_share_a_table_of_vectors_are_cut_as_if_each_had_its_own():
    rng = np.random.default_rng(5)
    table = {f"i{i}": rng.normal(size=4) for i in range(40)}
    items = [[f"i{i}" for i in rng.choice(40, size, replace=False)] for size in rng.integers(1, 20, 120)]
    flat = [item for each in items for item in each]
    labels, scores = rng.integers(0, 2, len(flat)), np.round(rng.random(len(flat)), 2)
    made = {"group": [len(each) for each in items], "item_ids": flat}
    own = cl.Queries.from_arrays(scores, labels, vectors=np.array([table[item] for item in flat]), **made)
    shared = cl.Queries.from_arrays(scores, labels, **made).with_vectors(table)
    for strategy in ("eliminate", drawn_at_random):
        how = {"loss": LOSS, "alpha": 0.6, "delta": 0.1, "sets": cl.Diverse(3, strategy=strategy)}
        one, other = cl.calibrate(own, **how), cl.calibrate(shared, **how)
        assert one.seal == other.seal
        assert np.array_equal(one.apply(own).order, other.apply(shared).order)
        assert cl.audit(one, own[:50]).to_dict() == cl.audit(one, shared[:50]).to_dict()
