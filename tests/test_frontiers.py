"""Frontiers: every point is the certificate that its share of delta gives; all of them hold together."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.guarantee.worlds import GRID, crossing

import cutline as cl
from cutline.errors import CutlineWarning, InputError

QUERIES = cl.datasets.simulate(1_500, rng=0)
LOSS = cl.FalseDiscovery(cl.Grade(at_least=3))


class OwnRule:
    """A rule with a largest size, which nothing says how to change."""

    name, needs_vectors, max_size = "own", False, 5

    def choose(self, scores, vectors, threshold):
        return np.flatnonzero(scores >= threshold)[:5]

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize("exploratory", [False, True])
def test_each_point_is_the_certificate_at_its_own_level(exploratory):
    found = cl.frontier(QUERIES, alphas=[0.1, 0.2, 0.3], delta=0.12, loss=LOSS, exploratory=exploratory)
    level = 0.12 if exploratory else 0.12 / 3
    assert (found.level, found.exploratory, len(found)) == (level, exploratory, 3)
    for alpha, certificate, point in zip([0.1, 0.2, 0.3], found.certificates, found, strict=True):
        alone = cl.calibrate(QUERIES, loss=LOSS, alpha=alpha, delta=level)
        assert certificate.seal == alone.seal
        assert (point.alpha, point.threshold, point.mean_size) == (alpha, alone.threshold, alone.mean_size)
        assert (point.risk, point.share_nonempty) == (alone.risk, alone.share_nonempty)
        assert point.share_modified is None


def test_sizes_are_points_of_their_own():
    found = cl.frontier(QUERIES, alphas=0.3, max_sizes=[2, 5, None], delta=0.1, loss=LOSS)
    assert [point.max_size for point in found] == [2, 5, None]
    assert found.level == pytest.approx(0.1 / 3)
    sizes = [point.mean_size for point in found]
    assert sizes == sorted(sizes)


def test_a_curve_has_a_frontier():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=cl.grid(0.99, 0.01, 0.01)).add(QUERIES)
    convex = cl.evidence.Convex()
    found = cl.frontier(curve, alphas=[0.2, 0.3], delta=0.1, evidence=convex)
    other = cl.frontier(
        QUERIES, alphas=[0.2, 0.3], delta=0.1, evidence=convex, loss=LOSS, thresholds=cl.grid(0.99, 0.01, 0.01)
    )
    assert [point.threshold for point in found] == [point.threshold for point in other]
    with pytest.raises(InputError, match="a RiskCurve was summed for one rule"):
        cl.frontier(curve, alphas=[0.2], max_sizes=[3], delta=0.1)


def test_a_point_where_nothing_is_certified_says_so():
    found = cl.frontier(QUERIES[:20], alphas=[0.001, 0.9], delta=0.1, loss=LOSS, thresholds=[0.5])
    one, other = found
    assert (one.threshold, one.risk, one.mean_size, one.share_nonempty) == (None, None, None, None)
    assert other.threshold == 0.5
    assert "nothing certified" in repr(found)
    assert "<table>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["points"][0]["threshold"] is None


def test_diverse_points_tell_what_was_modified_and_gained():
    rng = np.random.default_rng(0)
    queries = cl.Queries.from_arrays(
        QUERIES.scores, QUERIES.labels, group=QUERIES.sizes, vectors=rng.normal(size=(QUERIES.n_items, 4))
    )
    found = cl.frontier(queries, alphas=[0.3], delta=0.1, loss=LOSS, sets=cl.Diverse(max_size=3), max_sizes=[2, 4])
    for point, certificate in zip(found, found.certificates, strict=True):
        order = queries.hash_order(certificate.seed, certificate.calibration_fingerprint)
        audit = cl.audit(certificate, queries.select(order[certificate.sample :]))  # those that did not draw thresholds
        assert audit.diversity is not None
        assert (point.share_modified, point.n_modified) == (audit.diversity.share_modified, audit.diversity.n_modified)
        assert point.diversity == pytest.approx(audit.diversity.over_before["pairs"].mean)
    assert "modified, diversity +" in repr(found)


def test_the_statement_tells_declared_points_from_exploring():
    declared = cl.frontier(QUERIES, alphas=[0.2, 0.3], delta=0.1, loss=LOSS)
    assert "With probability at least 90 % all 2 points hold together" in declared.statement()
    around = cl.frontier(QUERIES, alphas=[0.2, 0.3], delta=0.1, loss=LOSS, exploratory=True)
    assert around.statement().startswith("Exploratory")
    assert "breaks its promise" in around.statement()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alphas": []}, "alphas must be one or more levels"),
        ({"alphas": "0.1"}, "alphas must be one or more levels"),
        ({"alphas": [30]}, r"alphas must be in \(0, 1\), got 30; did you mean 0.30\?"),
        ({"alphas": [0.1, 0.1]}, "alphas must differ, got 0.1 twice"),
        ({"alphas": [0.1], "max_sizes": []}, "max_sizes must name at least one size"),
        ({"alphas": [0.1], "max_sizes": [3, 3]}, "max_sizes must differ, got 3 twice"),
        ({"alphas": [0.1], "max_sizes": [0]}, "max_sizes must be a whole number of at least 1"),
        ({"alphas": [0.1], "max_sizes": [3], "sets": OwnRule()}, "max_sizes needs a rule with a max_size"),
        ({"alphas": [0.1], "exploratory": "no"}, "exploratory must be True or False"),
        ({"alphas": [0.1], "delta": 2}, r"delta must be in \(0, 1\)"),
    ],
)
def test_what_is_no_frontier_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cl.frontier(QUERIES, **{"delta": 0.1, "loss": LOSS} | arguments)


@pytest.mark.filterwarnings("ignore:betting evidence looks at:cutline.errors.CutlineWarning")
def test_points_look_at_no_more_queries_than_asked_for():
    rules = {"evidence": cl.evidence.Betting(), "most_queries": 300}
    vectors = np.random.default_rng(0).random((QUERIES.n_items, 2))
    queries = cl.Queries(QUERIES.scores, QUERIES.offsets, QUERIES.labels, vectors)
    diverse = {"loss": LOSS, "sets": cl.Diverse(max_size=3), "thresholds": cl.grid(0.99, 0.01, 0.01)}
    found = cl.frontier(queries, alphas=[0.3, 0.4], delta=0.2, **diverse, **rules)
    for certificate, variety in zip(found.certificates, found.varieties, strict=True):
        alone = cl.calibrate(queries, alpha=certificate.alpha, delta=0.1, **diverse, **rules)
        assert (certificate.n_queries, certificate.seal) == (300, alone.seal)
        first = queries.hash_order(0, alone.calibration_fingerprint)[:300]
        seen = cl.audit(alone, queries.select(np.sort(first))).diversity
        assert (variety.n_modified, variety.share_modified) == (seen.n_modified, seen.share_modified)


def test_what_is_odd_about_the_queries_is_said_once():
    labels = QUERIES.labels.copy()
    labels[QUERIES.offsets[700] :] = np.nan
    half = cl.Queries(QUERIES.scores, QUERIES.offsets, labels)
    with pytest.warns(CutlineWarning, match="no judged item") as caught:
        cl.frontier(half, alphas=[0.2, 0.3, 0.4], delta=0.1, loss=cl.FalseDiscovery(cl.Grade(3, unjudged="drop")))
    assert len(caught) == 1


@pytest.mark.guarantee
def test_choosing_the_best_looking_point_keeps_delta_only_where_all_hold_together():
    """Many levels of alpha, each just below the risk of one threshold: picked afterwards, an exploring one misleads."""
    rng, calibrations, n, delta = np.random.default_rng(5), 400, 100, 0.1
    world = crossing(cl.FalseDiscovery)
    alphas = [float(risk) - 1e-9 for risk in world.risks[1:]]
    wrong = {True: 0, False: 0}
    for _ in range(calibrations):
        queries = world.draw(n, rng)
        for exploratory in wrong:
            found = cl.frontier(
                queries, alphas=alphas, delta=delta, loss=world.loss, thresholds=GRID, exploratory=exploratory,
                evidence=cl.evidence.Convex(),
            )  # fmt: skip
            wrong[exploratory] += any(
                point.threshold is not None and world.risk_at(point.threshold) > point.alpha for point in found
            )
    allowed = delta * calibrations + 3 * math.sqrt(calibrations * delta * (1 - delta))
    assert wrong[False] <= allowed, wrong
    assert wrong[True] > wrong[False], wrong
