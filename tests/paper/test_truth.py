"""New lists without their features are as those with them, and their risk is the true one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paper.worlds import GRID, LOSS, WORLD, network

import cutline as cl
from cutline.datasets.drawn_features import STRONGEST
from cutline.paper.splits import ABSTAINED
from cutline.paper.truth import Stream, Truth, folded, fresh_places, truth_of


def first_layer(model, features):
    inner = model.network
    return ((features - inner.mean) * inner.inverse) @ inner.weights[0] + inner.biases[0]


def test_the_folded_first_layer_has_the_means_and_covariances_of_the_first_layer():
    model, rng = network(), np.random.default_rng(0)
    width, count = model.n_features, 100_000
    weights = STRONGEST / np.sqrt(np.arange(1, width + 1))
    fold = folded(model.network)
    for quality in (-1.0, 2.0):
        features = weights * quality + np.sqrt(1 - weights**2) * rng.standard_normal((count, width))
        sums = first_layer(model, features)
        mean = np.concatenate([[quality], np.zeros(16)]) @ fold.weights[0] + fold.biases[0]
        spread = fold.weights[0][1:].T @ fold.weights[0][1:]
        error = sums.std(axis=0).max() / np.sqrt(count)
        assert np.abs(sums.mean(axis=0) - mean).max() < 5 * error
        assert np.abs(np.cov(sums.T) - spread).max() < 10 * sums.var(axis=0).max() / np.sqrt(count)


def test_outputs_of_new_lists_are_those_of_lists_with_features():
    """Mean and deviation of the outputs by label, from features and without."""
    model = network()
    drawn = WORLD.collection(8_000, rng=1, ids=False)
    made = Stream.of(WORLD, model.network).draw(8_000, rng=np.random.default_rng(2))
    direct, labels = model.score(drawn.features), drawn.queries.labels
    for label in range(4):
        here, there = direct[labels == label], made.scores[made.labels == label]
        error = here.std() * np.sqrt(12 / len(here) + 12 / len(there))  # items of one query are alike
        assert abs(here.mean() - there.mean()) < 5 * error
        assert here.std() == pytest.approx(there.std(), rel=0.1)


def test_the_true_risk_is_that_of_lists_scored_from_their_features():
    model = network()
    stream, pieces = Stream.of(WORLD, model.network), {"loss": LOSS, "scoring": cl.WinRate(), "thresholds": GRID}
    truth = truth_of(stream, **pieces, sets=cl.Threshold(), n_queries=40_000, seed=0)
    drawn = WORLD.collection(12_000, rng=3, ids=False)
    queries = cl.Queries(model.score(drawn.features), drawn.queries.offsets, drawn.queries.labels)
    curve = cl.RiskCurve.empty(**pieces).add(queries)
    assert np.abs(curve.risk - truth.risk).max() < 6 * np.hypot(truth.error.max(), truth.error.max() * 2)
    assert truth.error[30] == pytest.approx(0.3 / np.sqrt(40_000), rel=0.5)
    assert curve.mean_size[30] == pytest.approx(truth.mean_size[30], rel=0.05)


@pytest.mark.guarantee
def test_new_calibration_samples_break_the_promise_no_more_often_than_delta():
    stream = Stream.of(WORLD, network().network)
    common = {"loss": LOSS, "scoring": cl.WinRate(), "sets": cl.Threshold(), "thresholds": GRID}
    evidences = {"hoeffding": (cl.evidence.Hoeffding(), 0), "betting": (cl.evidence.Betting(), 0)}
    places = fresh_places(
        stream, evidences=evidences, **common, n_calibration=400, repeats=100, alpha=0.4, delta=0.1, seed=0
    )
    truth = truth_of(stream, **common, n_queries=60_000, seed=0)
    for found in places.values():
        assert np.mean(truth.risks(found) > 0.4) <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 100)
        assert (found != ABSTAINED).mean() > 0.9
    assert truth.sizes(places["betting"]).mean() > truth.sizes(places["hoeffding"]).mean()


def test_where_calibration_abstained_nothing_is_returned_and_nothing_is_lost():
    truth = Truth(n_queries=9, risk=np.array([0.2]), error=np.array([0.1]), mean_size=np.array([4.0]))
    assert truth.risks(np.array([ABSTAINED, 0])).tolist() == [0.0, 0.2]
    assert truth.sizes(np.array([ABSTAINED, 0])).tolist() == [0.0, 4.0]
