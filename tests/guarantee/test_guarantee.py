"""The promise, tested by drawing: of thousands of calibrations, at most a share delta certifies a risk above alpha.

Every count is compared with delta plus three binomial standard errors. Abstentions are no violations, and are counted
apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar
from zlib import crc32

import numpy as np
import pytest
from tests.guarantee.worlds import ALPHA, GOOD, GRID, World, constant_risk, crossing, fresh_chances, steep, worlds

import cutline as cl
from cutline.evidence import Betting, Binomial, Convex, EmpiricalBernstein, Hoeffding, HoeffdingBentkus
from cutline.sequence import Walked

DELTA = 0.1
CALIBRATIONS = 2_000
QUERIES = 100
ANY_LOSS = [Hoeffding(), HoeffdingBentkus(), Convex(), EmpiricalBernstein(), Betting(), Betting(strategy="wsr")]
WORLDS = [*worlds(cl.FalseDiscovery), *worlds(cl.Miss)]


@dataclass(frozen=True)
class Count:
    """How many calibrations certified, and how many of these have a true risk above alpha."""

    calibrations: int
    certified: int
    violations: int

    @property
    def allowed(self) -> float:
        """delta plus three standard errors, as a number of calibrations."""
        return self.calibrations * DELTA + 3 * math.sqrt(self.calibrations * DELTA * (1 - DELTA))


def counted(world: World, *, calibrations: int = CALIBRATIONS, risk_at=None, n: int = QUERIES, **settings) -> Count:
    """Calibrate on fresh queries again and again."""
    rng = np.random.default_rng(crc32(f"{world.name} {world.loss.name} {settings}".encode()))
    settings.setdefault("thresholds", GRID if world.loss.safe_end == "high" else GRID[::-1].copy())
    if settings["thresholds"] is None:
        del settings["thresholds"]
    risk_at = risk_at or world.risk_at
    certified = violations = 0
    for _ in range(calibrations):
        found = cl.calibrate(world.draw(n, rng), loss=world.loss, alpha=world.alpha, delta=DELTA, **settings)
        if isinstance(found, cl.Certificate):
            certified += 1
            violations += risk_at(found.threshold) > world.alpha
    return Count(calibrations, certified, violations)


@pytest.mark.parametrize("evidence", ANY_LOSS, ids=repr)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.loss.name}-{world.name}")
def test_at_most_a_share_delta_of_calibrations_certifies_a_risk_above_alpha(world, evidence):
    count = counted(world, evidence=evidence)
    assert count.violations <= count.allowed, count
    if world.name in ("crossing", "steep", "shared-places"):  # there is something to certify, and it is certified
        assert count.certified > 0.9 * count.calibrations, count


@pytest.mark.parametrize("world", [w for w in WORLDS if w.binary], ids=lambda world: f"{world.loss.name}-{world.name}")
def test_binomial_keeps_delta_on_losses_of_0_and_1(world):
    count = counted(world, evidence=Binomial())
    assert count.violations <= count.allowed, count
    assert count.certified > 0, count


@dataclass(frozen=True, slots=True)
class Hopeful(Convex):
    """Certifies whatever looks good: a mean of at most alpha."""

    def critical_total(self, n, *, alpha, delta):
        return n * alpha

    def p_value_from_sums(self, total, n, *, alpha):
        return 0.0 if total <= n * alpha else 1.0


@pytest.mark.parametrize(
    "world",
    [constant_risk(cl.FalseDiscovery, 0.302, spread="binary"), constant_risk(cl.Miss, 0.302, spread="fractional")],
    ids=lambda world: f"{world.loss.name}-{world.name}",
)
def test_this_harness_catches_evidence_that_only_hopes(world):
    count = counted(world, evidence=Hopeful(), calibrations=500)
    assert count.violations > 2 * count.allowed, count


@dataclass(frozen=True)
class OneTooFar:
    """Returns the threshold that failed, as if it had passed."""

    name: ClassVar[str] = "one-too-far"

    def walk(self, blocks, *, delta, count):
        walked = cl.FixedSequence().walk(blocks, delta=delta, count=count)
        return Walked(walked.tested - 1, walked.tested)

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class SecondStart:
    """Begins again at the full delta after every failure."""

    name: ClassVar[str] = "second-start"

    def walk(self, blocks, *, delta, count):
        verdicts = np.concatenate([block.certified(delta, 0, len(block)) for block in blocks])
        passed = np.flatnonzero(verdicts)
        return Walked(int(passed[-1]) if len(passed) else None, len(verdicts))

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize(
    ("world", "evidence", "sequence", "n"),
    [(crossing(cl.FalseDiscovery), Hoeffding(), OneTooFar(), 5_000), (fresh_chances(), Betting(), SecondStart(), 100)],
    ids=["one too far", "second start"],
)
def test_this_harness_catches_walks_that_go_too_far(world, evidence, sequence, n):
    count = counted(world, evidence=evidence, sequence=sequence, calibrations=400, n=n)
    assert count.violations > count.allowed, count


def test_this_harness_catches_items_taken_for_independent_draws():
    """The pitfall: five items of a query that are good or bad together are one draw, not five."""
    rng, alpha, n = np.random.default_rng(7), 0.3, 100
    violations = 0
    for _ in range(CALIBRATIONS):
        losses = np.repeat(rng.random(n) < alpha + 0.002, 5).astype(float)
        violations += Convex().certifies(losses, alpha=alpha, delta=DELTA)
    count = Count(CALIBRATIONS, violations, violations)
    assert violations > 1.5 * count.allowed, count


def test_every_score_as_a_threshold_keeps_delta():
    count = counted(crossing(cl.FalseDiscovery), evidence=Convex(), thresholds="exact")
    assert count.violations <= count.allowed, count
    assert count.certified > 0.9 * count.calibrations, count
    count = counted(steep(), evidence=HoeffdingBentkus(), thresholds="exact")
    assert count.violations <= count.allowed, count


@pytest.mark.parametrize("evidence", [Betting(), EmpiricalBernstein()], ids=repr)
def test_thresholds_drawn_from_a_sample_of_the_queries_keep_delta(evidence):
    count = counted(steep(), evidence=evidence, thresholds=None)
    assert count.violations <= count.allowed, count
    assert count.certified > 0.5 * count.calibrations, count


@pytest.mark.parametrize("worst", [False, True], ids=["good-first", "bad-first"])
@pytest.mark.parametrize(
    ("n", "settings"),
    [
        (60, {"thresholds": [0.5]}),
        (447, {"thresholds": [0.5]}),
        (60, {"thresholds": None, "evidence": Binomial(), "sequence": cl.Fallback()}),  # a sample draws the thresholds
    ],
    ids=["betting-60", "betting-447", "sample-60"],
)
def test_a_sorted_file_whose_ids_are_row_numbers_keeps_delta(n, settings, worst):
    """Two items a list, both kept from the first threshold on, both good or both bad; what else they score says
    nothing. An order by ids alone would be the same one each time."""
    rng, risk, violations = np.random.default_rng(n + worst), ALPHA + 0.001, 0
    count = Count(CALIBRATIONS, 0, 0)
    for _ in range(CALIBRATIONS):
        bad = np.sort(rng.random(n) < risk)[:: -1 if worst else 1]
        scores = np.where(np.arange(2 * n) % 2, 0.9, rng.uniform(0.0, 0.9, 2 * n))
        queries = cl.Queries.from_arrays(scores, 1.0 - np.repeat(bad, 2), group=np.full(n, 2))
        found = cl.calibrate(queries, loss=cl.FalseDiscovery(GOOD), alpha=ALPHA, delta=DELTA, **settings)
        violations += isinstance(found, cl.Certificate)
    assert violations <= count.allowed, violations


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_fallback_keeps_delta_where_a_minimum_size_makes_the_first_losses_high(evidence):
    """The best item always stays, and is bad every other time; later ones seldom: the risk falls below alpha."""
    chances = np.array([0.5, 0.1, 0.05, 0.05, 0.05, 0.05, 0.4, 0.6, 0.95])
    risks = np.cumsum(chances) / np.arange(1, 10)

    def draw(n, rng):
        bad = rng.random((n, 9)) < chances
        return cl.Queries.from_arrays(np.tile(GRID, n), 1.0 - bad.ravel(), qid=np.repeat(np.arange(n), 9))

    world = World("u-shaped", draw, cl.FalseDiscovery(cl.Grade(at_least=1)), risks, False)
    assert risks[0] > 0.3 > risks.min()
    settings = {"evidence": evidence, "sequence": cl.Fallback(), "sets": cl.Threshold(min_size=1)}
    count = counted(world, **settings)
    assert count.violations <= count.allowed, count
    assert count.certified > 0.5 * count.calibrations, count


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_a_largest_size_keeps_delta(evidence):
    world = crossing(cl.FalseDiscovery)
    risks = np.concatenate([world.risks[:6], np.full(3, world.risks[5])])  # from the sixth on the list grows no longer
    count = counted(replace(world, risks=risks), evidence=evidence, sets=cl.Threshold(max_size=6))
    assert count.violations <= count.allowed, count


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_win_rates_keep_delta(evidence):
    """Eleven outputs of one list are always 0 … 10, so that the win rates are fixed and the k best are kept or not."""
    outputs = np.arange(11.0)[::-1].copy()
    rates = cl.WinRate().item_scores(outputs, np.array([0, 11]))
    chances = np.linspace(0.02, 0.9, 11)
    risks = np.concatenate([[0.0], np.cumsum(chances) / np.arange(1, 12)])

    def draw(n, rng):
        bad = rng.random((n, 11)) < chances
        return cl.Queries.from_arrays(np.tile(outputs, n), 1.0 - bad.ravel(), qid=np.repeat(np.arange(n), 11))

    world = World("win-rates", draw, cl.FalseDiscovery(cl.Grade(at_least=1)), risks, False)
    count = counted(
        world,
        evidence=evidence,
        scoring=cl.WinRate(),
        thresholds=cl.grid(0.95, 0.05, 0.05),
        risk_at=lambda threshold: risks[int(np.sum(rates >= threshold))],
    )
    assert count.violations <= count.allowed, count
    assert count.certified > 0.9 * count.calibrations, count


def test_curves_certify_as_the_queries_do():
    """A curve is calibrated like the queries it was made of, so what holds for these holds for it."""
    world, rng = crossing(cl.FalseDiscovery), np.random.default_rng(3)
    for _ in range(50):
        queries = world.draw(QUERIES, rng)
        curve = cl.RiskCurve.empty(loss=world.loss, thresholds=GRID).add(queries[:40]).add(queries[40:])
        for evidence in (Hoeffding(), HoeffdingBentkus(), Convex(), EmpiricalBernstein()):
            settings = {"alpha": world.alpha, "delta": DELTA, "evidence": evidence}
            whole = cl.calibrate(queries, loss=world.loss, thresholds=GRID, **settings)
            assert cl.calibrate(curve, **settings).threshold == whole.threshold


def test_betting_is_powerful_where_hoeffding_bentkus_is_not():
    """FDP-like losses, n = 1,000, alpha two standard errors above the risk, through calibrate itself."""
    rng, n, size = np.random.default_rng(11), 1_000, 5
    certified = dict.fromkeys(("betting", "hoeffding-bentkus"), 0)
    draws = rng.binomial(size, rng.beta(4, 10, 400_000)) / size
    risk, spread = 4 / 14, float(draws.std())
    alpha = risk + 2 * spread / math.sqrt(n)
    for _ in range(300):
        parts = rng.binomial(size, rng.beta(4, 10, n))
        bad = np.arange(size) < parts[:, None]
        queries = cl.Queries.from_arrays(np.full(n * size, 0.5), 1.0 - bad.ravel(), qid=np.repeat(np.arange(n), size))
        for evidence in (Betting(), HoeffdingBentkus()):
            found = cl.calibrate(
                queries,
                loss=cl.FalseDiscovery(cl.Grade(at_least=1)),
                alpha=alpha,
                delta=DELTA,
                evidence=evidence,
                thresholds=[0.5],
            )
            certified[evidence.name] += isinstance(found, cl.Certificate)
    assert certified["betting"] >= 0.65 * 300, certified
    assert certified["hoeffding-bentkus"] < 0.8 * certified["betting"], certified
