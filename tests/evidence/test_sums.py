"""What holds for every evidence from sums: p-values, critical totals and bounds are three views of one decision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.evidence import naive

from cutline.evidence import Binomial, Convex, Hoeffding, HoeffdingBentkus

KINDS = [Hoeffding(), HoeffdingBentkus(), Convex(), Binomial()]
LEVELS = st.floats(1e-9, 0.99)
ALPHAS = st.floats(1e-6, 1 - 1e-6)
COUNTS = st.one_of(st.integers(1, 40), st.integers(41, 10**9))

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def sum_for(kind, share, n):
    total = share * n
    return float(math.floor(total)) if isinstance(kind, Binomial) else total


@every_kind
@given(n=COUNTS, share=st.floats(0, 1), more=st.floats(0, 1), alpha=ALPHAS)
def test_p_is_a_probability_and_grows_with_the_sum(kind, n, share, more, alpha):
    low, high = sum_for(kind, min(share, more), n), sum_for(kind, max(share, more), n)
    p_low, p_high = (kind.p_value_from_sums(total, n, alpha=alpha) for total in (low, high))
    assert 0.0 <= p_low <= 1.0
    assert 0.0 <= p_high <= 1.0
    assert p_low <= p_high * (1 + 1e-8)


@every_kind
@given(n=COUNTS, alpha=ALPHAS, delta=LEVELS)
def test_the_critical_total_is_the_largest_that_certifies(kind, n, alpha, delta):
    critical = kind.critical_total(n, alpha=alpha, delta=delta)
    whole = isinstance(kind, Binomial)
    if critical == -math.inf:
        # 0 does not certify, but for a p-value within rounding of delta
        assert kind.p_value_from_sums(0.0, n, alpha=alpha) > delta * (1 - 1e-9)
        return
    assert 0.0 <= critical <= n
    band = 1e-9 * max(critical, 1.0)
    inside = critical if whole else max(critical - band, 0.0)
    outside = critical + 1.0 if whole else critical + band
    slack = 1e-9 if whole or inside == 0.0 else 0.0
    assert kind.p_value_from_sums(inside, n, alpha=alpha) <= delta * (1 + slack)
    if outside <= n:
        assert kind.p_value_from_sums(outside, n, alpha=alpha) > delta * (1 - (1e-9 if whole else 0.0))


@every_kind
@given(n=COUNTS, share=st.floats(0, 1), delta=LEVELS)
def test_the_upper_bound_is_where_certification_begins(kind, n, share, delta):
    total = sum_for(kind, share, n)
    bound = kind.upper_bound_from_sums(total, n, delta=delta)
    assert 0.0 < bound <= 1.0
    if bound < 1.0 - 1e-7:
        assert kind.p_value_from_sums(total, n, alpha=bound) <= delta * (1 + 1e-9)
        assert kind.p_value_from_sums(total, n, alpha=bound * (1 + 1e-8) + 1e-300) <= delta
    below = bound * (1 - 1e-8) - 1e-300
    if 0.0 < below < 1.0:
        assert kind.p_value_from_sums(total, n, alpha=below) > delta


@every_kind
@given(n=COUNTS, delta=LEVELS, shares=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_many_bounds_at_once_are_the_bounds_one_by_one(kind, n, delta, shares):
    totals = np.array([sum_for(kind, share, n) for share in shares])
    one_by_one = [kind.upper_bound_from_sums(total, n, delta=delta) for total in totals]
    assert kind.bounds_from_sums(totals, n, delta=delta) == pytest.approx(one_by_one, rel=1e-8)


@every_kind
@given(bits=st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50), alpha=ALPHAS, delta=LEVELS)
def test_log_evidence_reaches_the_bar_exactly_when_certified(kind, bits, alpha, delta):
    evidence = kind.log_evidence(bits, alpha=alpha, delta=delta)
    certified = kind.certifies(bits, alpha=alpha, delta=delta)
    assert certified is (kind.p_value(bits, alpha=alpha) <= delta)
    assert (evidence >= math.log(1 / delta)) is certified
    assert (evidence >= -math.log(delta)) is certified


@every_kind
def test_a_p_value_equal_to_delta_certifies(kind):
    p = kind.p_value_from_sums(3.0, 40, alpha=0.2)
    losses = [1.0] * 3 + [0.0] * 37
    assert 0 < p < 1
    for delta, certified in ((p, True), (math.nextafter(p, 0), False), (math.nextafter(p, 1), True)):
        assert kind.certifies(losses, alpha=0.2, delta=delta) is certified
        assert (kind.log_evidence(losses, alpha=0.2, delta=delta) >= math.log(1 / delta)) is certified


@every_kind
@pytest.mark.parametrize("n", [1, 2, 1000, 10**9])
@pytest.mark.parametrize("alpha", [1e-12, 0.3, 1 - 1e-12])
@pytest.mark.parametrize("delta", [1e-15, 0.1, 1 - 1e-9])
def test_the_corners_give_numbers_without_warnings(kind, n, alpha, delta):
    for total in (0.0, 1.0, float(n)):
        p = kind.p_value_from_sums(total, n, alpha=alpha)
        bound = kind.upper_bound_from_sums(total, n, delta=delta)
        assert 0.0 <= p <= 1.0
        assert total / n * (1 - 1e-9) <= bound <= 1.0 or isinstance(kind, Binomial)
        assert math.isfinite(kind.log_evidence_from_sums(total, n, alpha=alpha, delta=delta))
    assert kind.upper_bound_from_sums(float(n), n, delta=delta) == 1.0
    assert not math.isnan(kind.critical_total(n, alpha=alpha, delta=delta))


@every_kind
def test_evidence_stays_finite_where_p_underflows(kind):
    evidence = kind.log_evidence_from_sums(0.0, 10**6, alpha=0.3, delta=0.1)
    expected = 2e6 * 0.3**2 if isinstance(kind, Hoeffding) else -1e6 * math.log(0.7)
    assert evidence == pytest.approx(expected)


@given(n=st.integers(1, 10**6), share=st.floats(0, 1), alpha=ALPHAS)
def test_convex_is_never_weaker_than_hoeffding_bentkus_nor_that_than_hoeffding(n, share, alpha):
    convex, hb, hoeffding = (
        kind.p_value_from_sums(share * n, n, alpha=alpha) for kind in (Convex(), HoeffdingBentkus(), Hoeffding())
    )
    assert convex <= hb * (1 + 1e-8)
    assert hb <= hoeffding * (1 + 1e-8)


@given(n=st.integers(1, 30), share=st.floats(0, 1), alpha=st.floats(0.01, 0.99))
def test_convex_p_is_the_smallest_ratio_over_all_t(n, share, alpha):
    # right below a whole number, t - S itself is only known to the last digits of S
    total = round(share * n, 6)
    assume(total <= n)
    assert Convex().p_value_from_sums(total, n, alpha=alpha) == pytest.approx(naive.convex_p(total, n, alpha), rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.28, 0.2999])
def test_convex_search_over_t_finds_the_smallest_ratio_among_two_hundred(share):
    total = 200 * share
    assert Convex().p_value_from_sums(total, 200, alpha=0.3) == pytest.approx(naive.convex_p(total, 200, 0.3), rel=1e-9)


@given(n=st.integers(1, 30), k=st.integers(0, 60), alpha=st.floats(0.01, 0.99))
def test_hoeffding_bentkus_p_is_the_formula(n, k, alpha):
    total = min(k / 2, n)
    assume(abs(total - n * alpha) > 1e-9)
    expected = naive.hoeffding_bentkus_p(total, n, alpha)
    assert HoeffdingBentkus().p_value_from_sums(total, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)


def test_float_dust_above_a_whole_sum_does_not_cost_a_step():
    # ten times 0.1, added naively, three times over: a hair away from 3
    losses = [0.1] * 30 + [0.0] * 70
    dusty = sum([0.1] * 10) + 2.0 + 4e-10
    exact = HoeffdingBentkus().p_value_from_sums(3.0, 100, alpha=0.2)
    assert HoeffdingBentkus().p_value(losses, alpha=0.2) == pytest.approx(exact, rel=1e-8)
    assert HoeffdingBentkus().p_value_from_sums(dusty, 100, alpha=0.2) == pytest.approx(exact, rel=1e-8)
    assert HoeffdingBentkus().p_value_from_sums(3.001, 100, alpha=0.2) > 1.01 * exact


def test_hoeffding_bentkus_critical_total_forgives_the_same_dust():
    critical = HoeffdingBentkus().critical_total(200, alpha=0.1, delta=0.022)
    assert math.floor(critical) == 10
    assert math.floor(critical) < critical < math.floor(critical) + 2e-9
    assert HoeffdingBentkus().p_value_from_sums(critical, 200, alpha=0.1) <= 0.022


@every_kind
@given(order=st.permutations([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
def test_the_order_of_the_losses_does_not_matter(kind, order):
    assert kind.p_value(order, alpha=0.6) == kind.p_value(sorted(order), alpha=0.6)


@every_kind
def test_losses_and_their_sum_give_the_same_answers(kind):
    losses = [1.0] * 9 + [0.0] * 91
    assert kind.p_value(losses, alpha=0.2) == kind.p_value_from_sums(9.0, 100, alpha=0.2)
    assert kind.upper_bound(losses, delta=0.1) == kind.upper_bound_from_sums(9.0, 100, delta=0.1)
