"""The guarantee of each evidence on losses with a known risk: by enumeration, then by drawing; and its power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.evidence.reference_values import FDP

from cutline.evidence import Betting, Binomial, Convex, EmpiricalBernstein, Hoeffding, HoeffdingBentkus

DELTA = 0.1
SUMS = [Hoeffding(), HoeffdingBentkus(), Convex()]
DRAWS, QUERIES = 2_000, 200
MARGIN = 3 * math.sqrt(DELTA * (1 - DELTA) / DRAWS)


def masses(n, risk):
    return [math.comb(n, k) * risk**k * (1 - risk) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("kind", [*SUMS, Binomial()], ids=lambda kind: kind.name)
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_sums_of_bernoulli_losses_certify_a_true_null_at_most_delta_of_the_time(kind, alpha, delta):
    certified = [kind.p_value_from_sums(float(k), 20, alpha=alpha) <= delta for k in range(21)]
    for risk in np.linspace(alpha, 1.0, 25):
        rate = sum(mass for mass, flag in zip(masses(20, float(risk)), certified, strict=True) if flag)
        assert rate <= delta * (1 + 1e-9)
    if isinstance(kind, Binomial):  # and it uses up what is allowed: one more step would be too many
        more = sum(masses(20, alpha)[: sum(certified) + 1])
        assert more > delta


@pytest.mark.parametrize("kind", [Betting(), Betting(strategy="wsr"), *SUMS, EmpiricalBernstein()], ids=repr)
@pytest.mark.parametrize("alpha", [0.15, 0.5, 0.75])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_every_sequence_of_three_losses_counted_certifies_a_true_null_at_most_delta_of_the_time(kind, alpha, delta):
    values = np.array([0.0, 0.5, 1.0])
    indices = np.array(list(itertools.product(range(3), repeat=6)))
    losses = values[indices]
    if isinstance(kind, Betting):
        certified = kind.certifies_each(losses, alpha=alpha, delta=delta)
    else:
        certified = np.array([kind.certifies(row, alpha=alpha, delta=delta) for row in losses])
    for half in (0.0, 0.1, 0.25, 0.5):
        for risk in (alpha, alpha + 0.1):
            chances = np.array([1 - half - (risk - half / 2), half, risk - half / 2])
            if chances.min() >= 0:
                assert chances @ values == pytest.approx(risk)
                assert np.prod(chances[indices], axis=1)[certified].sum() <= delta * (1 + 1e-9)


def drawn(name, alpha, rng):
    if name == "bernoulli":
        return (rng.random((DRAWS, QUERIES)) < alpha).astype(np.float64)
    if name == "sparse":
        return 0.5 * (rng.random((DRAWS, QUERIES)) < 2 * alpha)
    # false discovery proportions have mean 0.275; mixed with ones or zeros so that the mean is alpha exactly
    share = (alpha - 0.275) / 0.725 if alpha > 0.275 else 1 - alpha / 0.275
    mixed = rng.random((DRAWS, QUERIES)) < share
    return np.where(mixed, float(alpha > 0.275), rng.choice(FDP, size=(DRAWS, QUERIES)))


def rejections(kind, losses, alpha):
    if isinstance(kind, Betting):
        return kind.certifies_each(losses, alpha=alpha, delta=DELTA).mean()
    totals, squares, n = losses.sum(axis=1), (losses**2).sum(axis=1), losses.shape[1]
    if isinstance(kind, EmpiricalBernstein):
        return np.mean(kind.p_value_from_moments(totals, squares, n, alpha=alpha) <= DELTA)
    return np.mean(totals <= kind.critical_total(n, alpha=alpha, delta=DELTA))


@pytest.mark.guarantee
@pytest.mark.parametrize(("name", "alpha"), [("bernoulli", 0.3), ("fdp", 0.3), ("fdp", 0.25), ("sparse", 0.05)])
def test_no_evidence_certifies_a_risk_of_alpha_more_often_than_delta(name, alpha):
    losses = drawn(name, alpha, np.random.default_rng(2024))
    assert losses.mean() == pytest.approx(alpha, abs=4 * losses.std() / math.sqrt(losses.size))
    kinds = [*SUMS, EmpiricalBernstein(), Betting(), Betting(strategy="wsr")]
    rates = {repr(kind): rejections(kind, losses, alpha) for kind in kinds}
    if name == "bernoulli":
        rates["Binomial()"] = rejections(Binomial(), losses, alpha)
        assert rates["Binomial()"] > 0.05
    assert all(rate <= DELTA + MARGIN for rate in rates.values()), rates
    assert rates["Betting(strategy='star')"] > 0.03  # a test that never certifies would pass the line above


@pytest.mark.guarantee
def test_betting_certifies_a_risk_two_standard_errors_below_alpha_far_more_often_than_hoeffding_bentkus():
    losses = np.random.default_rng(7).choice(FDP, size=(2_000, 1_000))
    alpha = float(FDP.mean() + 2 * FDP.std() / math.sqrt(1_000))
    betting, bentkus = (rejections(kind, losses, alpha) for kind in (Betting(), HoeffdingBentkus()))
    assert betting >= 0.65
    assert bentkus < betting - 0.2


@pytest.mark.guarantee
def test_the_best_of_several_orders_is_no_valid_evidence():
    # the reason for one declared seed: the same losses in twenty orders certify a true null far too often
    rng = np.random.default_rng(11)
    once, best = [], []
    for row in (rng.random((300, QUERIES)) < 0.3).astype(np.float64):
        decisions = Betting().certifies_each(
            np.array([rng.permutation(row) for _ in range(20)]), alpha=0.3, delta=DELTA
        )
        once.append(decisions[0])
        best.append(decisions.any())
    assert np.mean(once) <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / 300)
    assert np.mean(best) > 2 * DELTA
