"""Betting: the wealth of the formulas, decisions nested in delta, bounds, and rows on threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evidence import naive
from tests.evidence.reference_values import losses_named

from cutline.errors import InputError
from cutline.evidence import Betting

LOSSES = st.lists(st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)), min_size=1, max_size=40)
ALPHAS = st.floats(0.001, 0.999)
LEVELS = st.floats(1e-6, 0.9)
STRATEGIES = pytest.mark.parametrize("strategy", ["star", "wsr"])


@given(losses=LOSSES, alpha=ALPHAS, delta=LEVELS)
def test_star_wealth_is_the_formula(losses, alpha, delta):
    wealths = naive.star_wealths(losses, alpha, delta)
    expected = math.log(max(wealths))
    assert Betting().log_evidence(losses, alpha=alpha, delta=delta) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if abs(expected - math.log(1 / delta)) > 1e-9:
        assert Betting().certifies(losses, alpha=alpha, delta=delta) is (max(wealths) >= 1 / delta)


@given(losses=LOSSES, alpha=ALPHAS, delta=LEVELS)
def test_wsr_wealth_is_the_formula(losses, alpha, delta):
    wsr, best = Betting(strategy="wsr"), max(naive.wsr_wealths(losses, alpha, delta))
    assert wsr.log_evidence(losses, alpha=alpha, delta=delta) == pytest.approx(math.log(best), rel=1e-9, abs=1e-9)
    assert wsr.p_value(losses, alpha=alpha, tuning_delta=delta) == pytest.approx(min(1.0, 1 / best), rel=1e-9)


@STRATEGIES
@given(losses=LOSSES, alpha=ALPHAS, delta=LEVELS)
def test_log_evidence_reaches_the_bar_exactly_when_certified(strategy, losses, alpha, delta):
    betting = Betting(strategy=strategy)
    certified = betting.certifies(losses, alpha=alpha, delta=delta)
    assert (betting.log_evidence(losses, alpha=alpha, delta=delta) >= math.log(1 / delta)) is certified
    assert (betting.p_value(losses, alpha=alpha, tuning_delta=delta) <= delta) is certified


@given(losses=LOSSES, alpha=ALPHAS, delta=LEVELS, looser=st.floats(1.0, 100.0))
def test_star_decisions_are_nested_in_delta(losses, alpha, delta, looser):
    if Betting().certifies(losses, alpha=alpha, delta=delta):
        assert Betting().certifies(losses, alpha=alpha, delta=min(delta * looser, 0.999))


@given(losses=LOSSES, alpha=ALPHAS)
def test_star_p_value_is_the_smallest_delta_that_certifies(losses, alpha):
    p = Betting().p_value(losses, alpha=alpha)
    assert 0.0 < p <= 1.0
    if p < 0.999:
        assert Betting().certifies(losses, alpha=alpha, delta=p)
    if p > 1e-290:
        assert not Betting().certifies(losses, alpha=alpha, delta=p * (1 - 1e-9))


@STRATEGIES
@settings(max_examples=40)
@given(losses=LOSSES, delta=LEVELS)
def test_the_upper_bound_is_where_certification_begins(strategy, losses, delta):
    betting = Betting(strategy=strategy)
    bound = betting.upper_bound(losses, delta=delta)
    assert 0.0 < bound <= 1.0
    if bound < 1.0:
        for alpha in np.linspace(bound, 1.0, 30, endpoint=False):
            assert betting.certifies(losses, alpha=float(alpha), delta=delta)
    if bound > 1e-6:
        assert not betting.certifies(losses, alpha=bound - min(1e-9, bound / 2), delta=delta)


def test_no_alpha_of_a_fine_scan_fails_above_the_bound():
    rng = np.random.default_rng(5)
    for _ in range(20):
        losses = rng.choice([0.0, 1.0], size=30, p=[0.6, 0.4])
        scan = [float(a) for a in np.arange(1, 2000) / 2000]
        failing = [alpha for alpha in scan if not Betting().certifies(losses, alpha=alpha, delta=0.3)]
        bound = Betting().upper_bound(losses, delta=0.3)
        assert max(failing) <= bound <= max(failing) + 1 / 2000


@STRATEGIES
def test_rough_bounds_lie_at_most_1e_4_above_the_fine_ones(strategy):
    rng = np.random.default_rng(3)
    rows = rng.beta(0.3, rng.uniform(0.3, 9.0, size=(12, 1)), size=(12, 700))
    rough = Betting(strategy=strategy).bounds_each(rows, delta=0.1)
    fine = np.array([Betting(strategy=strategy).upper_bound(row, delta=0.1) for row in rows])
    assert np.all(rough >= fine - 1e-11)
    assert np.all(rough <= fine + 1e-4)


@STRATEGIES
def test_rows_answer_as_single_sequences_do_on_one_thread_or_two(strategy, monkeypatch):
    betting, rng = Betting(strategy=strategy), np.random.default_rng(1)
    rows = rng.choice([0.0, 0.25, 0.5, 1.0], size=(9, 300), p=[0.6, 0.2, 0.1, 0.1])
    alone = [betting.log_evidence(row, alpha=0.25, delta=0.1) for row in rows]
    decisions = [betting.certifies(row, alpha=0.25, delta=0.1) for row in rows]
    assert 0 < sum(decisions) < 9
    for threads in ("1", "2"):
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        assert betting.log_evidence_each(rows, alpha=0.25, delta=0.1).tolist() == alone
        assert betting.certifies_each(rows, alpha=0.25, delta=0.1).tolist() == decisions
    assert betting.certifies_each(np.empty((0, 5)), alpha=0.25, delta=0.1).tolist() == []


def test_the_order_given_is_the_order_bet_in():
    losses = losses_named("fdp10", 100)
    forwards, backwards = (Betting().log_evidence(order, alpha=0.3, delta=1e-6) for order in (losses, losses[::-1]))
    assert forwards != backwards


@STRATEGIES
def test_betting_is_one_sided_so_losses_above_alpha_are_no_evidence(strategy):
    for risk in (0.6, 0.8, 1.0):
        assert Betting(strategy=strategy).log_evidence([risk] * 500, alpha=0.5, delta=0.1) == 0.0


@STRATEGIES
@pytest.mark.parametrize("alpha", [1e-12, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("losses", [[0.0], [1.0], [0.5], [0.0] * 1000, [1.0] * 1000, [0.3] * 1000])
def test_the_corners_give_finite_numbers(strategy, alpha, losses):
    betting = Betting(strategy=strategy)
    assert 0.0 < betting.p_value(losses, alpha=alpha, tuning_delta=0.1) <= 1.0
    assert math.isfinite(betting.log_evidence(losses, alpha=alpha, delta=1e-15))
    assert np.mean(losses) <= betting.upper_bound(losses, delta=0.1) <= 1.0


def test_long_sequences_neither_overflow_nor_vanish():
    assert Betting().p_value(np.zeros(100_000), alpha=0.5) == 1e-300
    assert Betting(strategy="wsr").log_evidence(np.zeros(100_000), alpha=0.5, delta=0.1) > 300
    assert Betting(strategy="wsr").log_evidence(np.ones(100_000), alpha=0.5, delta=0.1) == 0.0


def test_wsr_asks_for_the_delta_it_is_tuned_at():
    with pytest.raises(InputError, match=r"tuning_delta is required by Betting\(strategy='wsr'\).*pass the delta"):
        Betting(strategy="wsr").p_value([0.0, 1.0], alpha=0.3)


def test_an_unknown_strategy_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match="strategy must be one of 'star', 'wsr', got 'stars'; did you mean 'star'"):
        Betting(strategy="stars")


def test_rows_must_be_a_table():
    with pytest.raises(InputError, match=r"one row per threshold, got shape \(3,\)"):
        Betting().certifies_each(np.zeros(3), alpha=0.3, delta=0.1)


def test_wsr_keeps_its_bets_where_only_the_level_of_the_test_changes():
    rows = np.random.default_rng(3).beta(2, 5, size=(40, 300))
    wsr = Betting(strategy="wsr")
    peaks = wsr.log_evidence_each(rows, alpha=0.32, delta=0.1)
    for level in (0.2, 0.1, 0.03, 0.004):
        decided = wsr.certifies_each(rows, alpha=0.32, delta=level, tuning_delta=0.1)
        assert decided.tolist() == (peaks >= math.log(1 / level)).tolist()
    assert 0 < decided.sum() < 40
