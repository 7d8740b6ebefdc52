"""The binomial law against exact fractions where n is small, and against itself where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence import naive

from cutline.evidence import _binomial_law as law

RATES = st.floats(0.001, 0.999)


@given(n=st.integers(1, 30), p=RATES)
def test_the_law_is_exact_to_twelve_digits_for_small_n(n, p):
    k = np.arange(n + 1.0)
    masses = [float(mass) for mass in naive.binomial_masses(n, p)]
    assert law.pmf(k, n, p) == pytest.approx(masses, rel=1e-12)
    assert law.cdf(k, n, p) == pytest.approx([float(naive.binomial_cdf(int(j), n, p)) for j in k], rel=1e-12)
    shortfalls = [float(naive.shortfall(t, n, p)) for t in range(1, n + 1)]
    assert law.shortfall(k[1:], n, p) == pytest.approx(shortfalls, rel=1e-9)


def test_the_law_is_exact_for_a_few_hundred_and_far_out_in_the_tail():
    n, p = 150, 0.3
    for k in (1, 10, 30, 45, 60, 90, 149):
        assert float(law.pmf(k, n, p)) == pytest.approx(float(naive.binomial_masses(n, p)[k]), rel=1e-12)
        assert float(law.cdf(k, n, p)) == pytest.approx(float(naive.binomial_cdf(k, n, p)), rel=1e-11)
        assert float(law.shortfall(k, n, p)) == pytest.approx(float(naive.shortfall(k, n, p)), rel=1e-9)


def test_the_cdf_is_0_below_0_and_1_from_n_on():
    assert law.cdf(np.array([-1.0, 5.0, 6.0]), 5, 0.3).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("n", [10**5, 10**7, 10**9])
@pytest.mark.parametrize("p", [1e-7, 0.01, 0.3, 0.5, 0.97])
def test_for_large_n_the_pmf_is_the_difference_of_the_cdf(n, p):
    centre = math.floor(n * p)
    k = np.unique(np.clip(centre + np.linspace(-3.0, 3.0, 7).round() * math.isqrt(int(n * p * (1 - p)) + 1), 0, n - 1))
    # a difference of two numbers near 1/2 with errors of 1e-11 keeps the pmf to about 1e-11 standard deviations
    tolerance = max(1e-9, 1e-10 * math.sqrt(n * p * (1 - p)))
    assert law.cdf(k, n, p) - law.cdf(k - 1, n, p) == pytest.approx(law.pmf(k, n, p), rel=tolerance, abs=1e-14)


@pytest.mark.parametrize("n", [10**5, 10**9])
def test_for_large_n_the_shortfall_grows_by_the_cdf(n):
    p = 0.3
    t = np.floor(n * p + np.array([-2.0, -1.0, 0.0, 1.0]) * math.sqrt(n * p * (1 - p)))
    # over one standard deviation F is far from constant: add it up in steps of one
    growth = law.shortfall(t + 50.0, n, p) - law.shortfall(t, n, p)
    steps = [float(np.sum(law.cdf(start + np.arange(50.0), n, p))) for start in t]
    assert growth == pytest.approx(steps, rel=1e-6)


@given(n=st.one_of(st.integers(1, 50), st.integers(10**3, 10**9)), p=RATES, level=st.floats(1e-12, 0.999))
def test_the_quantile_is_where_the_cdf_first_exceeds_the_level(n, p, level):
    first, below, mass = (float(part[0]) for part in law.first_above(level, n, p))
    # one part in 1e10 on either side: the cdf is not known better than that for n of a billion
    assert float(law.cdf(first, n, p)) > level * (1 - 1e-10)
    assert float(law.cdf(first - 1, n, p)) <= level * (1 + 1e-10)
    assert below == pytest.approx(float(law.cdf(first - 1, n, p)), rel=1e-8)
    assert mass == pytest.approx(float(law.pmf(first, n, p)), rel=1e-8)


@pytest.mark.parametrize("level", [1e-200, 1e-60, 1e-20, 1 - 1e-12])
@pytest.mark.parametrize(("n", "p"), [(10**4, 0.3), (10**6, 1e-4), (10**9, 0.7), (50, 1e-20), (50, 1 - 1e-12)])
def test_the_quantile_is_found_where_the_first_guess_is_far_off(n, p, level):
    first, below, mass = (float(part[0]) for part in law.first_above(level, n, p))
    assert float(law.cdf(first, n, p)) > level * (1 - 1e-8)
    assert float(law.cdf(first - 1, n, p)) <= level * (1 + 1e-8)
    assert below == pytest.approx(float(law.cdf(first - 1, n, p)), rel=1e-7)
    assert mass == pytest.approx(float(law.pmf(first, n, p)), rel=1e-7)


def test_the_cdf_below_the_quantile_keeps_its_digits_next_to_a_much_larger_pmf():
    # F(47) / F(48) is 1e-11 here: F(48) - pmf(48) would keep no more than five digits
    n, p, level = 50, 1 - 1e-12, 1e-22
    first, below, _ = (float(part[0]) for part in law.first_above(level, n, p))
    assert first == 48
    assert below == pytest.approx(float(naive.binomial_cdf(47, n, p)), rel=1e-10)


@given(n=st.integers(1, 10**6), share=st.floats(0.0, 1.0), p=RATES)
def test_the_divergence_is_n_kl_and_zero_only_at_the_mean(n, share, p):
    found = float(law.divergence(n * share, n, p))
    assert found == pytest.approx(n * naive.kl(n * share / n, p), rel=1e-9, abs=1e-15 * n)
    assert found >= 0.0


def test_the_divergence_takes_sums_too_small_to_divide_by():
    assert float(law.divergence(5e-324, 10, 0.3)) == pytest.approx(-10 * math.log(0.7))
