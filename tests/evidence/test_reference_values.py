"""Every reference value, and that the copies here are the shared ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from tests.evidence.reference_values import (
    P_VALUE_ROWS,
    STAR_DECISION_ROWS,
    UPPER_BOUND_ROWS,
    WSR_P_VALUE_ROWS,
    losses_named,
)

from cutline import evidence
from cutline.evidence import _binomial_law as law

SHARED = Path(__file__).parents[2].parent / "shared" / "oracles.json"
BY_KEY = {
    "hoeffding": evidence.Hoeffding(),
    "hoeffding_bentkus": evidence.HoeffdingBentkus(),
    "convex": evidence.Convex(),
    "binomial": evidence.Binomial(),
    "empirical_bernstein": evidence.EmpiricalBernstein(),
}


@pytest.mark.parametrize("row", P_VALUE_ROWS)
def test_p_values_from_sums_meet_their_reference(row):
    found = {
        key: BY_KEY[key].p_value_from_sums(row["total"], row["n"], alpha=row["alpha"]) for key in BY_KEY if key in row
    }
    found["hoeffding_kl"] = 1.0
    if row["total"] < row["n"] * row["alpha"]:
        found["hoeffding_kl"] = math.exp(-law.divergence(row["total"], row["n"], row["alpha"]))
    assert len(found) == 5
    assert found == pytest.approx({key: row[key] for key in found}, rel=1e-6)


@pytest.mark.parametrize("row", UPPER_BOUND_ROWS)
def test_upper_bounds_meet_their_reference(row):
    losses = losses_named(row["losses"], row["n"])
    found = {key: BY_KEY[key].upper_bound(losses, delta=row["delta"]) for key in BY_KEY if key in row}
    assert len(found) >= 4
    assert found == pytest.approx({key: row[key] for key in found}, rel=1e-6)


@pytest.mark.parametrize("row", UPPER_BOUND_ROWS)
def test_star_upper_bounds_meet_their_reference_up_to_its_grid(row):
    losses = losses_named(row["losses"], row["n"])
    bound = evidence.Betting().upper_bound(losses, delta=row["delta"])
    assert bound == pytest.approx(row["betting_star"], abs=1e-4)


@pytest.mark.parametrize("row", WSR_P_VALUE_ROWS)
def test_wsr_p_values_meet_their_reference(row):
    losses = losses_named(row["losses"], row["n"])
    p = evidence.Betting(strategy="wsr").p_value(losses, alpha=row["alpha"], tuning_delta=row["delta"])
    assert p == pytest.approx(row["p_value"], rel=1e-9)


@pytest.mark.parametrize("row", STAR_DECISION_ROWS)
def test_star_decisions_meet_their_reference(row):
    losses, betting = losses_named(row["losses"], row["n"]), evidence.Betting()
    assert betting.certifies(losses, alpha=row["alpha"], delta=row["delta"]) is row["certify"]
    found = betting.log_evidence(losses, alpha=row["alpha"], delta=row["delta"])
    assert found == pytest.approx(row["log_wealth_max"], rel=1e-9)


def test_the_reference_values_here_are_the_shared_ones():
    if not SHARED.exists():
        pytest.skip("shared/oracles.json does not lie beside this clone: nothing to compare the constants with")
    rows = json.loads(SHARED.read_text(encoding="utf-8"))["rows"]
    for kind, mine in {
        "p_value": P_VALUE_ROWS,
        "upper_bound": UPPER_BOUND_ROWS,
        "wsr_p_value": WSR_P_VALUE_ROWS,
        "star_decision": STAR_DECISION_ROWS,
    }.items():
        assert [{"kind": kind, **row} for row in mine] == [row for row in rows if row["kind"] == kind]
