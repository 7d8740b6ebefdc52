"""Evidence from sums and sums of squares: EmpiricalBernstein and Normal."""

from __future__ import annotations

import math
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.evidence import naive

from cutline.errors import InputError
from cutline.evidence import EmpiricalBernstein, Normal

LOSSES = st.lists(st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)), min_size=2, max_size=60)
ALPHAS = st.floats(0.001, 0.999)
LEVELS = st.floats(1e-9, 0.99)
BOTH = pytest.mark.parametrize("kind", [EmpiricalBernstein(), Normal()], ids=lambda kind: kind.name)


def spread_out(losses):
    return max(losses) - min(losses) > 1e-3


@given(losses=LOSSES, delta=LEVELS)
def test_the_empirical_bernstein_bound_is_the_formula(losses, delta):
    expected = min(naive.empirical_bernstein_bound(losses, delta), 1.0)
    assert EmpiricalBernstein().upper_bound(losses, delta=delta) == pytest.approx(expected, rel=1e-7)


@given(losses=LOSSES, alpha=ALPHAS)
def test_the_empirical_bernstein_p_value_is_the_delta_at_which_the_bound_is_alpha(losses, alpha):
    p = EmpiricalBernstein().p_value(losses, alpha=alpha)
    if sum(losses) / len(losses) >= alpha:
        assert p == 1.0
    elif 1e-12 < p < 0.99:
        assert naive.empirical_bernstein_bound(losses, p) == pytest.approx(alpha, rel=1e-6)


@given(losses=LOSSES.filter(spread_out), alpha=ALPHAS)
def test_the_normal_p_value_is_the_formula(losses, alpha):
    z = math.sqrt(len(losses)) * (mean(losses) - alpha) / stdev(losses)
    assume(abs(z) < 8)
    assert Normal().p_value(losses, alpha=alpha) == pytest.approx(NormalDist().cdf(z), rel=1e-6)


@BOTH
@given(losses=LOSSES.filter(spread_out), alpha=ALPHAS, delta=LEVELS)
def test_log_evidence_reaches_the_bar_exactly_when_certified(kind, losses, alpha, delta):
    certified = kind.certifies(losses, alpha=alpha, delta=delta)
    evidence = kind.log_evidence(losses, alpha=alpha, delta=delta)
    assert certified is (kind.p_value(losses, alpha=alpha) <= delta)
    assert (evidence >= math.log(1 / delta)) is certified
    assert math.isfinite(evidence)


@BOTH
@given(losses=LOSSES.filter(spread_out), delta=LEVELS)
def test_the_upper_bound_is_where_certification_begins(kind, losses, delta):
    bound = kind.upper_bound(losses, delta=delta)
    assert 0.0 <= bound <= 1.0
    if 0.0 < bound < 1.0:
        assert kind.certifies(losses, alpha=bound, delta=delta)
    if bound > 1e-6:
        assert not kind.certifies(losses, alpha=bound * (1 - 1e-7), delta=delta)


@BOTH
def test_a_whole_curve_at_once_gives_the_answers_one_by_one(kind):
    rng = np.random.default_rng(0)
    rows = rng.beta(0.5, 2.0, size=(5, 200))
    totals, squares = rows.sum(axis=1), (rows**2).sum(axis=1)
    expected = [kind.p_value(row, alpha=0.22) for row in rows]
    assert kind.p_value_from_moments(totals, squares, 200, alpha=0.22) == pytest.approx(expected, rel=1e-9)
    expected = [kind.upper_bound(row, delta=0.1) for row in rows]
    assert kind.bounds_from_moments(totals, squares, 200, delta=0.1) == pytest.approx(expected, rel=1e-9)


@BOTH
def test_a_single_loss_has_no_variance_and_is_refused(kind):
    for ask in (
        lambda: kind.p_value([0.5], alpha=0.3),
        lambda: kind.certifies([0.5], alpha=0.3, delta=0.1),
        lambda: kind.log_evidence([0.5], alpha=0.3, delta=0.1),
        lambda: kind.upper_bound([0.5], delta=0.1),
    ):
        with pytest.raises(InputError, match="losses must hold at least 2 values, got 1"):
            ask()
    with pytest.raises(InputError, match="n must be a whole number of at least 2, got 1"):
        kind.p_value_from_moments(0.5, 0.25, 1, alpha=0.3)


@pytest.mark.parametrize("constant", [0.0, 0.1, 0.3, 1.0])
def test_normal_refuses_losses_that_are_all_equal(constant):
    for n in (2, 7, 1000):
        losses = [constant] * n
        for ask in (
            lambda losses=losses: Normal().p_value(losses, alpha=0.5),
            lambda losses=losses: Normal().certifies(losses, alpha=0.5, delta=0.1),
            lambda losses=losses: Normal().log_evidence(losses, alpha=0.5, delta=0.1),
            lambda losses=losses: Normal().upper_bound(losses, delta=0.1),
        ):
            with pytest.raises(InputError, match=r"Normal\(\) needs losses that differ.*zero variance.*Convex\(\)"):
                ask()


def test_normal_has_no_bound_along_a_curve_where_the_variance_is_zero():
    bounds = Normal().bounds_from_moments(np.array([0.0, 30.0]), np.array([0.0, 20.0]), 100, delta=0.1)
    assert bounds[0] == 1.0
    assert 0.3 < bounds[1] < 0.4


def test_empirical_bernstein_works_where_all_losses_are_equal():
    assert EmpiricalBernstein().upper_bound([0.0] * 100, delta=0.1) == pytest.approx(7 * math.log(20) / 297)
    assert EmpiricalBernstein().p_value([1.0] * 100, alpha=0.5) == 1.0


@BOTH
def test_evidence_stays_finite_where_p_underflows(kind):
    evidence = kind.log_evidence_from_moments(1e5, 1e5, 10**6, alpha=0.5, delta=0.1)
    assert 1e4 < evidence < 1e7


def test_only_normal_is_marked_as_asymptotic():
    assert Normal.asymptotic
    assert not EmpiricalBernstein.asymptotic
