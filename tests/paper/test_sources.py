"""What the protocols run on says what it is; features of shared words are those of their formulas."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.paper.worlds import drawn

import cutline as cl
from cutline.datasets import Collection
from cutline.paper.lexical import K1, B, with_lexical_features
from cutline.paper.registry import EXPERIMENTS
from cutline.paper.sources import SIZES, SOURCES, Counts, Wish


def test_counts_keep_their_proportions_where_there_are_fewer_queries():
    wanted = Counts(50, 30, 20)
    assert wanted.within(100) == wanted.within(1_000) == wanted
    assert wanted.within(10) == Counts(5, 3, 2)
    assert wanted.within(11).total == 11
    assert str(Counts(13_045, 8_000, 5_045)) == "13,045 to train, 8,000 to calibrate, 5,045 to test"


def test_the_paper_sizes_are_those_of_the_paper():
    assert SOURCES["yahoo"].counts["full"] == SOURCES["yahoo-like"].counts["full"] == Counts(13_045, 8_000, 5_045)
    assert SOURCES["msmarco"].counts["full"] == SOURCES["msmarco-like"].counts["full"] == Counts(10_000, 1_500, 8_500)
    assert SOURCES["yahoo-like"].world("full").features == 700
    assert SOURCES["msmarco-like"].world("full").features == 2 * 768


def test_simulations_are_called_so_and_nothing_else_is():
    for source in SOURCES.values():
        assert ("simulation" in source.label) == (source.world is not None)
        assert set(source.counts) == set(source.recipe) == set(SIZES)
        assert "good" in dict(source.decided)


def test_each_experiment_runs_on_known_sources():
    for experiment in EXPERIMENTS.values():
        assert {*experiment.real, *experiment.others} <= set(SOURCES)
        assert all(SOURCES[name].world is None for name in experiment.real)


def test_simulated_lists_are_as_many_as_are_wanted_and_the_same_for_the_same_seed():
    one, again, other = (
        SOURCES["yahoo-like"].load(Wish(size="small", n_queries=40, seed=seed)).queries for seed in (0, 0, 1)
    )
    assert len(one) == 40
    assert np.array_equal(one.labels, again.labels)
    assert not np.array_equal(one.labels[:50], other.labels[:50])
    assert one.vectors is not None


def test_real_lists_come_in_random_order():
    found = SOURCES["movielens"].load(Wish(size="small", n_queries=671, seed=0))
    whole = cl.datasets.movielens()
    assert set(found.queries.query_ids) == set(whole.queries.query_ids)
    assert not np.array_equal(found.queries.query_ids, whole.queries.query_ids)


QUESTION = "Is flood insurance required?"
ANSWERS = ["Flood insurance may be required, insurance is", "Nothing of it", "insured floods are insured"]


def questions() -> Collection:
    queries = cl.Queries(
        np.zeros(4), np.array([0, 3, 4]), np.zeros(4),
        columns={
            "question": np.array([QUESTION, "of"], dtype=object),
            "answer": np.array([*ANSWERS, ANSWERS[1]], dtype=object),
        },
    )  # fmt: skip
    return Collection(name="q", source="", licence="", queries=queries)


def bm25(question: list[str], answer: list[str], corpus: list[list[str]]) -> tuple[float, float, float]:
    mean = sum(map(len, corpus)) / len(corpus)
    times, score, covered, whole, shared = Counter(answer), 0.0, 0.0, 0.0, 0
    for word in dict.fromkeys(question):
        held = sum(word in text for text in corpus)
        idf = float(np.log(1 + (len(corpus) - held + 0.5) / (held + 0.5))) if held else 0.0
        whole += idf
        if times[word]:
            score += idf * times[word] * (K1 + 1) / (times[word] + K1 * (1 - B + B * len(answer) / mean))
            covered, shared = covered + idf, shared + 1
    return score, covered / whole, shared / len(dict.fromkeys(question))


def test_features_of_shared_words_are_those_of_their_formulas():
    features = with_lexical_features(questions()).features
    words = [text.lower().replace(",", "").replace("?", "").split() for text in (QUESTION, *ANSWERS)]
    short = [[word[:5] for word in text] for text in words]
    for row, _ in enumerate(ANSWERS):
        assert features[row, :3] == pytest.approx(bm25(words[0], words[row + 1], words[1:]), rel=1e-5)
        assert features[row, 3:6] == pytest.approx(bm25(short[0], short[row + 1], short[1:]), rel=1e-5)
        assert features[row, 6] == pytest.approx(np.log1p(len(words[row + 1])), rel=1e-5)
    assert features[2, 2] == 0 < features[2, 5]  # insured floods: no word in common, beginnings are


def test_features_of_shared_words_look_at_no_label():
    one = questions()
    other = replace(one, queries=replace(one.queries, labels=np.ones(4), columns=dict(one.queries.columns)))
    assert np.array_equal(with_lexical_features(one).features, with_lexical_features(other).features)


def test_a_source_with_its_ranker_keeps_training_and_validation_apart():
    from cutline.paper.ranked import ranked

    source = replace(
        SOURCES["yahoo-like"], counts={"small": Counts(60, 50, 30)}, recipe={"small": {"epochs": 1}},
        load=lambda wish: drawn().select(slice(0, wish.n_queries)),
    )  # fmt: skip
    told: list[str] = []
    found = ranked(source, Wish(size="small", n_queries=0, seed=0, say=told.append))
    assert len(found.queries) == 80
    assert np.array_equal(found.queries.labels, drawn().select(slice(60, 140)).queries.labels)
    assert np.array_equal(found.training.labels, drawn().select(slice(0, 60)).queries.labels)
    assert any("epoch" in step for step in told)
    assert dict(found.about)["queries"] == "60 to train, 50 to calibrate, 30 to test"
    assert found.plain.world.vectors == 0 < found.stream.world.vectors
