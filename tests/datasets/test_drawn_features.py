"""Simulated features are the same in whatever blocks they are asked for, and change nothing that was drawn before."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets.test_simulated import contents

import cutline as cl
from cutline.datasets import MSMARCO_LIKE, YAHOO_LIKE, SimulatedFeatures, Simulator, msmarco_like, simulate, yahoo_like
from cutline.errors import InputError


def test_features_and_vectors_change_no_other_draw():
    plain = simulate(40, rng=3, share_unjudged=0.2)
    with_features = simulate(40, rng=3, share_unjudged=0.2, features=5, vectors=3).queries
    with_vectors = simulate(40, rng=3, share_unjudged=0.2, vectors=3)
    assert with_vectors.vectors.shape == (plain.n_items, 3)
    assert with_vectors.vectors.tobytes() == with_features.vectors.tobytes()
    for other in (with_features, with_vectors):
        assert contents(other)[: len(contents(plain))][0] == contents(plain)[0]
        assert other.labels.tobytes() == plain.labels.tobytes()
        assert other.columns["device"].tolist() == plain.columns["device"].tolist()


def test_blocks_are_slices_of_the_whole(monkeypatch):
    features = Simulator(features=7).collection(60, rng=1, on_the_fly=True).features
    whole = np.asarray(features)
    assert whole.dtype == np.float32
    assert whole.shape == features.shape == (len(features), 7)
    offsets = features.offsets
    np.testing.assert_array_equal(features.of_queries(10, 20), whole[offsets[10] : offsets[20]])
    rng = np.random.default_rng(0)
    for rows in (slice(5, 33), slice(None), rng.permutation(len(features))[:50], rng.random(len(features)) < 0.3, []):
        rows = np.array(rows, dtype=int) if isinstance(rows, list) else rows
        np.testing.assert_array_equal(features[rows], whole[rows])
    monkeypatch.setenv("CUTLINE_THREADS", "1")
    np.testing.assert_array_equal(features[:], whole)
    with pytest.raises(InputError, match=r"features are taken by rows"):
        features[3]


def test_parts_of_a_collection_keep_the_features_of_their_queries():
    lazy = Simulator(features=4).collection(30, rng=1, on_the_fly=True)
    eager = Simulator(features=4).collection(30, rng=1)
    assert isinstance(eager.features, np.ndarray)
    for one, other in zip(lazy.split(0.3, 0.3, rng=0), eager.split(0.3, 0.3, rng=0), strict=True):
        assert isinstance(one.features, SimulatedFeatures)
        np.testing.assert_array_equal(one.features[:], other.features)
        np.testing.assert_array_equal(one.select([3, 1]).features[:], other.select([3, 1]).features)


def test_features_follow_the_law_that_is_stated():
    world = Simulator(features=3, n_items=10, query_effect=1.0)
    features = world.collection(20_000, rng=0).features.astype(np.float64)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=0.02)
    strengths = 0.5 / np.sqrt([1, 2, 3])
    np.testing.assert_allclose(np.corrcoef(features.T)[0, 1:], strengths[0] * strengths[1:], atol=0.02)


def test_the_true_risk_is_known_with_features_and_of_diverse_lists_with_vectors():
    loss = cl.FalseDiscovery(cl.Grade(at_least=3))
    assert (
        Simulator(features=9, vectors=2).true_risk(0.7, loss=loss).value == Simulator().true_risk(0.7, loss=loss).value
    )
    diverse = cl.Diverse(max_size=3, distance="euclidean")
    risk = Simulator(vectors=2).true_risk(0.7, loss=loss, sets=diverse, queries=500)
    queries = simulate(2000, rng=5, vectors=2)
    losses = loss.of_lists(*_cut(diverse, queries, 0.7, loss))
    assert abs(losses.mean() - risk.value) < 5 * np.hypot(risk.standard_error, losses.std() / np.sqrt(2000))


def _cut(sets, queries, threshold, loss):
    from cutline.cutting import badness_of, cut_all

    chosen, _ = cut_all(sets, queries.scores, queries.offsets, queries.vectors, threshold)
    return chosen, badness_of(queries, loss.relevance).shares(), queries.offsets


def test_presets_have_the_shape_they_are_named_for():
    yahoo = yahoo_like(2000, rng=1)
    assert yahoo.features.shape == (yahoo.queries.n_items, 700)
    assert abs(yahoo.queries.sizes.mean() - 24) < 1
    shares = np.bincount(yahoo.queries.labels.astype(int)) / yahoo.queries.n_items
    np.testing.assert_allclose(shares, np.array([21.92, 50.22, 22.30, 3.88, 1.67]) / 99.99, atol=0.01)
    marco = msmarco_like(300)
    assert isinstance(marco.features, SimulatedFeatures)
    assert marco.features.shape == (30_000, 1536)
    assert marco.features.of_queries(299, 300).shape == (100, 1536)
    assert marco.name == "msmarco-like"
    for world in (YAHOO_LIKE, MSMARCO_LIKE):
        assert 0 < world.true_risk(0.8, loss=cl.FalseDiscovery(cl.Grade(at_least=2))).value < 1


def test_a_number_of_features_is_checked():
    with pytest.raises(InputError, match=r"features must be a whole number of at least 0, got -1"):
        simulate(3, rng=0, features=-1)
    with pytest.raises(InputError, match=r"vectors must be a whole number of at least 0, got 2\.5"):
        simulate(3, rng=0, vectors=2.5)
    with pytest.raises(InputError, match=r"features must be at least 1 for a collection, got 0"):
        Simulator().collection(3, rng=0)
