"""The list of evidence, its protocols, and the errors that all of it shares."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from cutline import evidence
from cutline.errors import InputError
from cutline.evidence._protocol import agreeing

EVERY = [*(kind() for kind in evidence.EVIDENCE.values()), evidence.Betting(strategy="wsr")]
every_kind = pytest.mark.parametrize("kind", EVERY, ids=repr)


def test_the_list_of_evidence_is_the_one_of_the_design():
    assert list(evidence.EVIDENCE) == [
        "hoeffding", "hoeffding-bentkus", "convex", "binomial", "empirical-bernstein", "betting", "normal",
    ]  # fmt: skip
    assert [name for name, kind in evidence.EVIDENCE.items() if kind.asymptotic] == ["normal"]


@every_kind
def test_settings_name_and_rebuild_the_evidence(kind):
    assert evidence.evidence_from_name(**kind.settings()) == kind
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert eval(repr(kind), vars(evidence)) == kind


@every_kind
def test_each_evidence_keeps_the_protocol_of_what_it_reads(kind):
    protocols = {"sum": evidence.SumEvidence, "moments": evidence.MomentEvidence, "order": evidence.OrderEvidence}
    assert isinstance(kind, evidence.Evidence)
    assert [need for need, protocol in protocols.items() if isinstance(kind, protocol)] == [kind.needs]


@every_kind
def test_certifying_needs_a_low_risk(kind):
    losses = np.random.default_rng(0).permutation([0.0] * 396 + [1.0] * 4)
    assert kind.certifies(losses, alpha=0.3, delta=0.1)
    assert not kind.certifies(losses, alpha=0.01, delta=0.1)
    assert 0.01 < kind.upper_bound(losses, delta=0.1) < 0.08


@every_kind
def test_whole_numbers_booleans_and_any_float_are_losses(kind):
    expected = kind.p_value([0.0, 1.0, 0.0, 0.0], alpha=0.5, tuning_delta=0.1)
    for losses in ([0, 1, 0, 0], np.array([0, 1, 0, 0], dtype=bool), np.array([0, 1, 0, 0], dtype=np.float32)):
        assert kind.p_value(losses, alpha=0.5, tuning_delta=0.1) == expected


@every_kind
@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([], "losses must hold at least"),
        ([0.0, math.nan], r"losses must be in \[0, 1\], got nan at position 1"),
        ([math.inf, 0.0], r"losses must be in \[0, 1\], got inf at position 0"),
        ([0.0, 1.0, 1.5], r"losses must be in \[0, 1\], got 1.5 at position 2; rescale the loss"),
        ([0.0, -0.1], r"losses must be in \[0, 1\], got -0.1 at position 1"),
        (["a", "b"], "losses must be numbers"),
        ([[0.0, 1.0]], "losses must be one-dimensional, one per query, got 2 dimensions"),
        (0.5, "losses must be one-dimensional, one per query, got 0 dimensions"),
    ],
)
def test_bad_losses_are_refused_by_name(kind, losses, message):
    for ask in (
        lambda: kind.p_value(losses, alpha=0.3, tuning_delta=0.1),
        lambda: kind.certifies(losses, alpha=0.3, delta=0.1),
        lambda: kind.log_evidence(losses, alpha=0.3, delta=0.1),
        lambda: kind.upper_bound(losses, delta=0.1),
    ):
        with pytest.raises(InputError, match=message):
            ask()


def test_rounding_of_the_logarithm_never_contradicts_the_decision():
    levels = np.random.default_rng(0).random(2_000).tolist()
    assert any(-math.log(level) < math.log(1 / level) for level in levels)
    for level in levels:
        bar = math.log(1 / level)
        assert agreeing(-math.log(level), certified=True, delta=level) >= bar
        assert agreeing(-math.log(level), certified=False, delta=level) < bar
        assert agreeing(bar + 1.0, certified=True, delta=level) == bar + 1.0


@every_kind
def test_levels_outside_0_and_1_are_refused(kind):
    losses = [0.0, 1.0, 0.0]
    with pytest.raises(InputError, match=r"alpha must be in \(0, 1\), got 30; did you mean 0.30\?"):
        kind.p_value(losses, alpha=30, tuning_delta=0.1)
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\), got 10; did you mean 0.10\?"):
        kind.certifies(losses, alpha=0.3, delta=10)
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\), got 0"):
        kind.upper_bound(losses, delta=0)


def test_binomial_refuses_fractional_losses_and_says_what_takes_them():
    message = r"Binomial\(\) needs losses that are 0 or 1, got 0.25 at position 2; use Convex\(\)"
    for ask in (
        lambda losses: evidence.Binomial().p_value(losses, alpha=0.3),
        lambda losses: evidence.Binomial().certifies(losses, alpha=0.3, delta=0.1),
        lambda losses: evidence.Binomial().log_evidence(losses, alpha=0.3, delta=0.1),
        lambda losses: evidence.Binomial().upper_bound(losses, delta=0.1),
    ):
        with pytest.raises(InputError, match=message):
            ask([0.0, 1.0, 0.25, 0.5])
    with pytest.raises(InputError, match=r"the fractional sum 2.5; use Convex\(\)"):
        evidence.Binomial().p_value_from_sums(2.5, 10, alpha=0.3)
    with pytest.raises(InputError, match=r"the fractional sum 2.5; use Convex\(\)"):
        evidence.Binomial().bounds_from_sums(np.array([1.0, 2.5]), 10, delta=0.3)


@pytest.mark.parametrize("total", [-0.1, 10.1, math.nan, math.inf])
def test_a_sum_that_n_losses_cannot_have_is_refused(total):
    for kind in (evidence.Convex(), evidence.Hoeffding(), evidence.HoeffdingBentkus(), evidence.Binomial()):
        with pytest.raises(InputError, match="total must be"):
            kind.p_value_from_sums(total, 10, alpha=0.3)
        with pytest.raises(InputError, match="totals must be sums of 10 values"):
            kind.bounds_from_sums(np.array([total]), 10, delta=0.3)


def test_an_unknown_evidence_or_setting_is_refused():
    with pytest.raises(InputError, match=r"evidence must be one of .*got 'convx'; did you mean 'convex'"):
        evidence.evidence_from_name("convx")
    with pytest.raises(InputError, match="evidence 'convex' takes the settings: none; got strategy"):
        evidence.evidence_from_name("convex", strategy="wsr")
    with pytest.raises(InputError, match="evidence 'betting' takes the settings: strategy; got stratgy"):
        evidence.evidence_from_name("betting", stratgy="wsr")
