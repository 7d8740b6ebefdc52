"""Strategies by name and of one's own: what they are given, what they may give, and whom their chance depends on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.points import one_list

import cutline as cl
from cutline.diversity import distances_of, diversity_of, eliminate
from cutline.errors import InputError, MissingExtraError
from cutline.strategies import PYVERSITY, STRATEGIES

RNG = np.random.default_rng(0)
SCORES, VECTORS = RNG.random(12), RNG.normal(size=(12, 4))


def at_random(scores, distances, max_size, *, rng):
    return rng.permutation(len(scores))[:max_size]


@dataclass(frozen=True)
class Every:
    """Every so manieth item."""

    step: int
    name: ClassVar[str] = "every"

    def __call__(self, scores, distances, max_size):
        return list(range(0, len(scores), self.step))[:max_size]

    def settings(self):
        return {"step": self.step}


def chosen(strategy, scores=SCORES, vectors=VECTORS, threshold=-np.inf, most=4, **how):
    return (
        cl.Diverse(most, strategy=strategy, **how).choose(np.asarray(scores), np.asarray(vectors), threshold).tolist()
    )


# What a strategy is given -------------------------------------------------------------------------------------------


def test_a_strategy_sees_the_items_above_the_threshold_best_first():
    seen = {}

    def look(scores, distances, max_size, *, vectors, rng):
        seen.update(scores=scores, distances=distances, max_size=max_size, vectors=vectors, rng=rng)
        return [0, 2]

    threshold = np.sort(SCORES)[5]
    order = np.argsort(-SCORES)[:7]
    assert chosen(look, threshold=threshold) == order[[0, 2]].tolist()
    assert seen["scores"].tolist() == SCORES[order].tolist()
    assert np.array_equal(seen["distances"], distances_of(VECTORS)[np.ix_(order, order)])
    assert seen["vectors"].tolist() == VECTORS[order].tolist()
    assert seen["max_size"] == 4
    assert isinstance(seen["rng"], np.random.Generator)


def test_precomputed_distances_come_without_vectors():
    seen = []

    def look(scores, distances, max_size, *, vectors):
        seen.append(vectors)
        return [0]

    chosen(look, vectors=distances_of(VECTORS), distance="precomputed")
    assert seen == [None]


def test_a_strategy_is_not_asked_where_nothing_has_to_be_chosen():
    def never(scores, distances, max_size):
        raise AssertionError

    assert chosen(never, most=12) == np.argsort(-SCORES).tolist()
    assert chosen(never, threshold=np.sort(SCORES)[-4]) == np.argsort(-SCORES)[:4].tolist()


def test_what_a_strategy_does_to_its_arrays_stays_there():
    def spoil(scores, distances, max_size):
        scores[:], distances[:] = -1.0, -1.0
        return range(max_size)

    scores, vectors = SCORES.copy(), VECTORS.copy()
    assert chosen(spoil, scores, vectors) == np.argsort(-SCORES)[:4].tolist()
    assert np.array_equal(scores, SCORES)
    assert np.array_equal(vectors, VECTORS)


def test_elimination_written_as_a_strategy_chooses_what_the_named_one_does():
    for threshold in np.sort(SCORES):
        for most in (1, 3, 5):
            assert chosen(eliminate, threshold=threshold, most=most) == chosen(
                "eliminate", threshold=threshold, most=most
            )


def test_what_is_chosen_comes_best_first_whatever_the_order_of_the_answer():
    assert chosen(scattered) == np.argsort(-SCORES)[[1, 3, 8]].tolist()


def scattered(scores, distances, max_size):
    return np.array([8, 1, 3])


@given(one_list(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_random_choice_does_not_depend_on_the_order_of_the_items(drawn, most, shuffled):
    scores, vectors, distance = drawn
    places = list(range(len(scores)))
    shuffled.shuffle(places)
    moved = vectors[places][:, places] if distance == "precomputed" else vectors[places]
    one = chosen(at_random, scores, vectors, most=most, distance=distance)
    other = chosen(at_random, [scores[i] for i in places], moved, most=most, distance=distance)
    if distance == "precomputed":  # items alike in score and in all distances are told apart by nothing else
        assert sorted(scores[i] for i in one) == sorted(scores[places[i]] for i in other)
    else:
        pairs = [sorted((scores[i], *vectors[i].tolist()) for i in rows) for rows in (one, [places[i] for i in other])]
        assert pairs[0] == pairs[1]


def test_a_random_choice_depends_on_the_list_and_on_the_seed():
    assert chosen(at_random) == chosen(at_random)
    assert chosen(at_random, vectors=VECTORS.astype(np.float32).astype(np.float64)) == chosen(
        at_random, vectors=VECTORS.astype(np.float32)
    )
    zeros, minus = np.zeros((12, 2)), -np.zeros((12, 2))
    assert chosen(at_random, vectors=zeros) == chosen(at_random, vectors=minus)
    assert len({tuple(chosen(at_random, seed=seed)) for seed in range(20)}) > 10
    assert len({tuple(chosen(at_random, vectors=VECTORS + shift)) for shift in range(20)}) > 10


def test_a_random_choice_takes_every_item_about_equally_often():
    counts = np.zeros(12)
    for seed in range(600):
        counts[chosen(at_random, seed=seed)] += 1
    assert np.abs(counts - 200).max() < 60  # five standard errors


# What a strategy may give -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (range(5), r"strategy 'answering' must choose at most 4 items, got 5: range\(0, 5\)"),
        ([0, 12], r"must choose among the 12 items it is given, at positions 0 to 11, got \[0, 12\]"),
        ([-1], r"must choose among the 12 items it is given, at positions 0 to 11, got \[-1\]"),
        ([2, 2], r"must choose each item once, got \[2, 2\]"),
        ([0.5], r"must give positions of items, got \[0.5\]"),
        ([True, False], r"must give positions of items, got \[True, False\]"),
        (3, "must give positions of items, got 3"),
        (None, "must give positions of items, got None"),
        ([[0, 1]], r"must give positions of items, got \[\[0, 1\]\]"),
    ],
)
def test_an_answer_that_is_no_choice_is_refused(answer, message):
    def answering(scores, distances, max_size):
        return answer

    with pytest.raises(InputError, match=message):
        chosen(answering)


def test_a_strategy_cannot_choose_below_the_threshold():
    def last(scores, distances, max_size):
        return [11]

    with pytest.raises(InputError, match="must choose among the 7 items it is given"):
        chosen(last, threshold=np.sort(SCORES)[5])


def test_a_strategy_may_choose_fewer_or_none():
    def none(scores, distances, max_size):
        return []

    assert chosen(none) == []


# pyversity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PYVERSITY)
def test_strategies_of_pyversity_are_what_it_says(name):
    import pyversity

    order = np.argsort(-SCORES)
    for trade_off in (None, 0.0, 0.3, 1.0):
        wanted = pyversity.diversify(
            VECTORS[order], SCORES[order], 4, strategy=name, diversity=0.5 if trade_off is None else trade_off
        ).indices
        assert sorted(chosen(name, trade_off=trade_off)) == sorted(order[wanted].tolist())


@pytest.mark.parametrize("name", PYVERSITY)
def test_lists_chosen_by_pyversity_are_calibrated_applied_and_served_alike(name):
    rng = np.random.default_rng(1)
    queries = cl.Queries.from_arrays(
        rng.random(600), rng.integers(0, 2, 600), group=[6] * 100, vectors=rng.normal(size=(600, 3))
    )
    rule = cl.Diverse(3, strategy=name, distance="cosine")
    certificate = cl.calibrate(
        queries, loss=cl.FalseDiscovery(cl.Grade(1)), alpha=0.7, delta=0.1, sets=rule, thresholds=[0.9, 0.5, 0.2]
    )
    slates = certificate.apply(queries)
    for place, query in enumerate(queries):
        assert certificate.choose(query.scores, query.vectors).tolist() == slates[place].tolist()
    assert f"{name} of pyversity, trade-off 0.5" in certificate.statement()


def test_without_pyversity_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyversity", None)
    with pytest.raises(
        MissingExtraError, match=r"strategy 'mmr' needs pyversity, .* pip install 'cutline\[diversity\]'"
    ):
        chosen("mmr")
    assert len(chosen("eliminate")) == 4


@given(one_list(longest=8), st.integers(1, 4), st.sampled_from(["mmr", "dpp"]))
@settings(max_examples=25, deadline=None)
def test_pyversity_copes_with_lists_full_of_ties(drawn, most, name):
    scores, vectors, distance = drawn
    assume(distance != "precomputed")
    with np.errstate(all="ignore"):
        assert len(chosen(name, scores, np.clip(vectors, -1e3, 1e3), most=most)) == min(most, len(scores))


# The rule itself ----------------------------------------------------------------------------------------------------


def test_a_rule_says_what_a_certificate_needs():
    assert STRATEGIES == ("eliminate", "mmr", "msd", "dpp", "cover")
    plain = {"name": "diverse", "max_size": 3, "distance": "euclidean", "strategy": "eliminate", "seed": 0}
    assert cl.Diverse(3).settings() == plain
    assert cl.Diverse(3, strategy="mmr").settings() == {**plain, "strategy": "mmr", "trade_off": 0.5}
    assert cl.Diverse(3, strategy=at_random, seed=5).settings() == {
        **plain, "strategy": "at_random", "seed": 5, "custom": True,
    }  # fmt: skip
    own = {**plain, "strategy": "every", "custom": True, "strategy_settings": {"step": 2}}
    assert cl.Diverse(3.0, strategy=Every(2)).settings() == own
    assert cl.Diverse(3) == cl.Diverse(3, distance="euclidean")
    assert cl.Diverse.needs_vectors


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"max_size": 0}, "max_size must be a whole number of at least 1, got 0"),
        ({"max_size": 1.5}, "max_size must be a whole number of at least 1, got 1.5"),
        ({"max_size": None}, "max_size must be a number, got None"),
        ({"distance": "cosin"}, "distance must be one of 'euclidean', .*, got 'cosin'; did you mean 'cosine'"),
        ({"strategy": "mmrr"}, "strategy must be one of 'eliminate', 'mmr', .*; did you mean 'mmr'"),
        ({"strategy": 3}, r"strategy must be a name or a function \(scores, distances, max_size\) → positions, got 3"),
        ({"strategy": Every}, "strategy must be a name or a function .* got <class"),
        ({"strategy": lambda s, d, m: [0]}, "strategy must have a name, for a certificate to write down, .* with def"),
        ({"strategy": partial(at_random, rng=None)}, "strategy must have a name, .* got functools.partial"),
        ({"trade_off": 0.5}, "trade_off is for 'mmr', 'msd', 'dpp', 'cover', got it with 'eliminate'"),
        ({"strategy": "mmr", "trade_off": 1.5}, r"trade_off must be in \[0, 1\], got 1.5"),
        ({"strategy": "mmr", "trade_off": "x"}, "trade_off must be a number, got 'x'"),
        ({"strategy": "dpp", "distance": "precomputed"}, "strategy 'dpp' needs vectors, which precomputed distances"),
        ({"seed": 0.5}, "seed must be a whole number of at most 63 bits, got 0.5"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(how, message):
    with pytest.raises(InputError, match=message):
        cl.Diverse(**{"max_size": 3, **how})


def test_vectors_of_one_list_are_checked():
    rule = cl.Diverse(3)
    with pytest.raises(InputError, match="vectors are wanted, as diverse needs them"):
        rule.choose(SCORES, None, 0.0)
    with pytest.raises(InputError, match="vectors must have one row per item, 12 in all, got 11"):
        rule.choose(SCORES, VECTORS[:11], 0.0)
    with pytest.raises(InputError, match=r"square matrix, .* for each of 12 items, got shape \(12, 4\)"):
        cl.Diverse(3, distance="precomputed").choose(SCORES, VECTORS, 0.0)


def test_eliminating_is_more_diverse_than_the_best_by_score():
    kept = chosen("eliminate")
    top = np.argsort(-SCORES)[:4]
    assert diversity_of(VECTORS, kept, max_size=4) > 1.1 * diversity_of(VECTORS, top, max_size=4)
