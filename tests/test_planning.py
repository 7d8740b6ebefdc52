"""The number of queries a plan names does what it says, and every evidence takes its place in the order."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from cutline.errors import InputError
from cutline.evidence import (
    Betting,
    Binomial,
    Convex,
    EmpiricalBernstein,
    Evidence,
    Hoeffding,
    HoeffdingBentkus,
    Normal,
    SumEvidence,
)
from cutline.evidence.needed import queries_for
from cutline.planning import ALL, Plan, name_of, queries_needed

Floats = np.ndarray


def draws(n: int, *, count: int, risk: float, spread: float | None, rng: int = 99) -> Floats:
    """Calibrations of n losses with this mean and this standard deviation: 0/1 ones, or Beta ones."""
    generator = np.random.default_rng(rng)
    if spread is None:
        return (generator.random((count, n)) < risk).astype(np.float64)
    strength = risk * (1 - risk) / spread**2 - 1
    return generator.beta(risk * strength, (1 - risk) * strength, size=(count, n))


def certified_share(evidence: Evidence, losses: Floats, *, alpha: float, delta: float) -> float:
    if evidence.needs == "order":
        return float(np.mean(evidence.certifies_each(losses, alpha=alpha, delta=delta)))  # type: ignore[attr-defined]
    return float(np.mean([evidence.certifies(row, alpha=alpha, delta=delta) for row in losses]))


@cache
def zero_one_plan() -> Plan:
    return queries_needed(alpha=0.30, delta=0.10, expected_risk=0.25)


@pytest.mark.parametrize(
    ("evidence", "spread"),
    [
        (Betting(), None),
        (Betting(), 0.25),
        (Betting("wsr"), None),
        (Convex(), None),
        (Convex(), 0.25),
        (Binomial(), None),
        (EmpiricalBernstein(), 0.25),
        (Normal(), 0.25),
    ],
    ids=repr,
)
def test_that_many_queries_certify_with_about_the_power_asked_for(evidence: Evidence, spread: float | None) -> None:
    n = queries_for(evidence, alpha=0.30, delta=0.10, expected_risk=0.25, spread=spread, power=0.8)
    assert n is not None
    count = 1_000
    share = certified_share(evidence, draws(n, count=count, risk=0.25, spread=spread), alpha=0.30, delta=0.10)
    assert abs(share - 0.8) < 0.04 + 3 * math.sqrt(0.16 / count)


@pytest.mark.parametrize("evidence", [Betting(), Convex()], ids=repr)
def test_a_quarter_fewer_queries_certify_less_often(evidence: Evidence) -> None:
    n = queries_for(evidence, alpha=0.30, delta=0.10, expected_risk=0.25)
    assert n is not None
    fewer = draws((3 * n) // 4, count=1_000, risk=0.25, spread=None)
    assert certified_share(evidence, fewer, alpha=0.30, delta=0.10) < 0.76


def test_a_number_found_by_scaling_up_has_about_the_power_too() -> None:
    n = queries_for(Betting(), alpha=0.30, delta=0.10, expected_risk=0.293)
    assert n is not None
    assert n > 15_000
    share = certified_share(Betting(), draws(n, count=300, risk=0.293, spread=None), alpha=0.30, delta=0.10)
    assert abs(share - 0.8) < 0.06 + 3 * math.sqrt(0.16 / 300)


def test_a_plan_for_a_million_queries_is_answered() -> None:
    n = queries_for(Betting(), alpha=0.30, delta=0.10, expected_risk=0.299)
    normal = queries_for(Normal(), alpha=0.30, delta=0.10, expected_risk=0.299)
    assert n is not None
    assert normal is not None
    assert 0.85 * normal < n < 1.4 * normal


@pytest.mark.parametrize("spread", [None, 0.3])
def test_betting_and_convex_need_fewer_than_the_older_bounds(spread: float | None) -> None:
    needed = queries_needed(alpha=0.30, delta=0.10, expected_risk=0.25, spread=spread).needed
    counts = {name: n for name, n in needed.items() if n is not None}
    assert counts["betting"] < counts["convex"] < counts["hoeffding-bentkus"] < counts["hoeffding"]
    assert counts["betting"] < counts["betting (wsr)"] < counts["empirical-bernstein"]


def test_golden_numbers() -> None:
    """`queries_needed(alpha=0.30, delta=0.10, expected_risk=0.25).needed` prints these."""
    needed = zero_one_plan().needed
    golden = {"convex": 528, "binomial": 380, "hoeffding-bentkus": 581, "empirical-bernstein": 1097}
    golden |= {"hoeffding": 812, "normal": 353}
    assert {name: needed[name] for name in golden} == golden


def test_hoeffding_agrees_with_its_closed_form() -> None:
    """n (alpha - r) - z spread sqrt(n) = sqrt(n log(1/delta) / 2), solved for n."""
    z, spread = 0.8416212335729143, 0.3
    root = (z * spread + math.sqrt(math.log(10) / 2)) / 0.05
    found = queries_for(Hoeffding(), alpha=0.30, delta=0.10, expected_risk=0.25, spread=spread)
    assert found == math.ceil(root * root)


@pytest.mark.parametrize("evidence", [Binomial(), Convex(), HoeffdingBentkus()], ids=repr)
@pytest.mark.parametrize(("alpha", "risk"), [(0.05, 0.01), (0.01, 0.001), (0.05, 0.001), (0.3, 0.25)])
def test_losses_of_0_and_1_are_planned_for_by_the_binomial_law(
    evidence: SumEvidence, alpha: float, risk: float
) -> None:
    n = queries_for(evidence, alpha=alpha, delta=0.1, expected_risk=risk)
    assert n is not None
    power = {
        count: binom.cdf(np.floor(evidence.critical_total(count, alpha=alpha, delta=0.1)), count, risk)
        for count in (n - 1, n)
    }
    assert power[n - 1] < 0.8 <= power[n]


@pytest.mark.parametrize(("alpha", "risk", "spread"), [(0.215, 0.192, 0.09), (0.3, 0.25, None), (0.1, 0.08, 0.15)])
def test_the_quick_plan_for_betting_is_close_to_the_simulated_one(
    alpha: float, risk: float, spread: float | None
) -> None:
    plan = {
        simulate: queries_for(Betting(), alpha=alpha, delta=0.1, expected_risk=risk, spread=spread, simulate=simulate)
        for simulate in (False, True)
    }
    assert plan[False] == pytest.approx(plan[True], rel=0.25)


def test_with_no_bad_item_expected_convex_needs_the_rule_of_powers() -> None:
    """All losses 0 certify once (1 - alpha)^n <= delta."""
    wanted = math.ceil(math.log(0.1) / math.log(0.95))
    for evidence in (Convex(), Binomial()):
        assert queries_for(evidence, alpha=0.05, delta=0.1, expected_risk=0.0) == wanted


def test_equal_losses_are_planned_without_chance() -> None:
    n = queries_for(Betting(), alpha=0.3, delta=0.1, expected_risk=0.2, spread=0.0)
    assert n is not None
    assert Betting().certifies(np.full(n, 0.2), alpha=0.3, delta=0.1)
    assert not Betting().certifies(np.full(n - 1, 0.2), alpha=0.3, delta=0.1)


@settings(max_examples=40, deadline=None)
@given(
    risk=st.floats(0.0, 0.5),
    gap=st.floats(0.02, 0.3),
    delta=st.floats(0.01, 0.3),
    evidence=st.sampled_from([Convex(), HoeffdingBentkus(), Hoeffding(), EmpiricalBernstein()]),
)
def test_more_is_needed_for_a_smaller_gap_or_delta_or_a_greater_power(
    risk: float, gap: float, delta: float, evidence: Evidence
) -> None:
    def needed(gap: float = gap, delta: float = delta, power: float = 0.8) -> int:
        n = queries_for(evidence, alpha=risk + gap, delta=delta, expected_risk=risk, power=power)
        assert n is not None
        return n

    slack = 2  # whole numbers of losses make the condition jump
    assert needed(gap=gap / 2) + slack >= needed()
    assert needed(delta=delta / 2) + slack >= needed()
    assert needed(power=0.95) + slack >= needed()


def test_the_same_seed_gives_the_same_plan() -> None:
    settings_ = {"alpha": 0.2, "delta": 0.1, "expected_risk": 0.15, "evidence": Betting()}
    first = queries_needed(**settings_, rng=5)  # type: ignore[arg-type]
    assert first.needed == queries_needed(**settings_, rng=5).needed  # type: ignore[arg-type]
    by_generator = [queries_needed(**settings_, rng=np.random.default_rng(5)).needed for _ in range(2)]  # type: ignore[arg-type]
    assert by_generator[0] == by_generator[1]


@pytest.mark.parametrize("evidence", ALL, ids=name_of)
def test_an_expected_risk_of_alpha_or_more_is_never_certified(evidence: Evidence) -> None:
    for risk in (0.3, 0.4):
        assert queries_for(evidence, alpha=0.3, delta=0.1, expected_risk=risk) is None


def test_a_gap_too_small_for_a_billion_queries_has_no_number() -> None:
    for evidence in (Convex(), Betting(), Normal()):
        assert queries_for(evidence, alpha=0.3, delta=0.1, expected_risk=0.3 - 1e-6) is None


def test_the_plan_says_that_none_was_found() -> None:
    plan = queries_needed(alpha=0.3, delta=0.1, expected_risk=0.3 - 1e-6, evidence=Convex())
    assert "none found below 1,000,000,000" in repr(plan)


def test_a_risk_close_to_one_is_planned_by_every_evidence() -> None:
    needed = queries_needed(alpha=0.99, delta=0.1, expected_risk=0.9).needed
    assert all(n is not None and 0 < n < 500 for name, n in needed.items() if name != "empirical-bernstein")


def test_binomial_is_planned_only_for_losses_of_zero_or_one() -> None:
    plan = queries_needed(alpha=0.3, delta=0.1, expected_risk=0.25, spread=0.3, evidence=Binomial())
    assert plan.needed == {"binomial": None}
    assert "only for losses of 0 or 1" in repr(plan)


def test_normal_refuses_equal_losses_and_the_plan_says_so() -> None:
    plan = queries_needed(alpha=0.3, delta=0.1, expected_risk=0.2, spread=0.0, evidence=[Normal(), Convex()])
    assert plan.needed["normal"] is None
    assert plan.needed["convex"] is not None
    assert "refuses losses that are all equal" in repr(plan)


def test_a_plan_names_all_evidence_unless_told_which() -> None:
    assert list(zero_one_plan().needed) == [name_of(each) for each in ALL]
    assert "betting (wsr)" in zero_one_plan().needed
    some = queries_needed(alpha=0.3, delta=0.1, expected_risk=0.1, evidence=[Betting("wsr"), Hoeffding()])
    assert list(some.needed) == ["betting (wsr)", "hoeffding"]


def test_a_plan_shows_its_numbers_and_marks_what_is_approximate() -> None:
    shown = repr(zero_one_plan())
    assert shown.splitlines()[0].startswith("Judged queries needed for alpha=0.3, delta=0.1, expected risk 0.25")
    marked = [line.split()[0] for line in shown.splitlines() if "no finite-sample guarantee" in line]
    assert marked == ["normal"] == list(zero_one_plan().asymptotic)
    assert "1,097" in shown
    assert "<table>" in zero_one_plan()._repr_html_()


def test_a_plan_says_when_no_number_of_queries_helps() -> None:
    plan = queries_needed(alpha=0.3, delta=0.1, expected_risk=0.35)
    assert set(plan.needed.values()) == {None}
    assert "no number of queries helps: the expected risk is not below alpha = 0.3" in repr(plan)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha": 30}, r"alpha must be in \(0, 1\), got 30; did you mean 0.30\?"),
        ({"delta": 0.0}, r"delta must be in \(0, 1\), got 0.0"),
        ({"power": 80}, r"power must be in \(0, 1\), got 80; did you mean 0.80\?"),
        ({"expected_risk": 25}, r"expected_risk must be in \[0, 1\], got 25; did you mean 0.25\?"),
        ({"expected_risk": "low"}, "expected_risk must be a number, got 'low'"),
        ({"spread": 0.5}, r"spread must be in \[0, 0.433\], as losses in \[0, 1\] with mean 0.25 .*, got 0.5"),
        ({"rng": -1}, "rng must be a whole number of at least 0, got -1"),
        ({"evidence": "convex"}, r"evidence must be one or several of cl.evidence, .*, got 'convex'"),
        ({"evidence": Convex}, r"evidence must be one or several of cl.evidence, such as cl.evidence.Convex\(\)"),
        ({"evidence": []}, "evidence must name at least one, got none"),
    ],
)
def test_bad_plans_are_refused(changed: dict[str, object], message: str) -> None:
    usual: dict[str, object] = {"alpha": 0.3, "delta": 0.1, "expected_risk": 0.25}
    with pytest.raises(InputError, match=message):
        queries_needed(**{**usual, **changed})  # type: ignore[arg-type]
