"""The promise itself: thousands of calibrations in worlds whose true risk is known.

A violation is a certificate whose threshold has a true risk above alpha. It may happen with probability delta, so that
among N calibrations a share of at most delta plus three binomial standard errors is let through. Abstentions violate
nothing and are counted apart: a procedure that always abstains would pass the first of these tests and fail the others.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from tests.guarantee import worlds
from tests.test_calibration import Markov

import cutline as cl
from cutline.evidence import Betting, Binomial, Convex, EmpiricalBernstein, Hoeffding, HoeffdingBentkus
from cutline.sequence import Walked

pytestmark = pytest.mark.guarantee

CALIBRATIONS, DELTA = 2_000, 0.1
FINITE_SAMPLE = [
    Hoeffding(), HoeffdingBentkus(), Convex(), EmpiricalBernstein(), Betting(), Betting(strategy="wsr"),
]  # fmt: skip
LOSSES = [cl.FalseDiscovery(worlds.GRADE), cl.Miss(worlds.GRADE)]
BINARY = [worlds.just_above, worlds.jump, worlds.rare, worlds.smooth]
MIXED = [worlds.just_above, worlds.jump, worlds.crossing, worlds.sparse]
CROSSING = {"jump", "crossing", "sparse", "rare", "smooth", "ties", "bad_at_both_ends"}
loss_named = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


@dataclass
class Counted:
    """How the calibrations in one world ended."""

    violations: int = 0
    certificates: int = 0
    abstentions: int = 0
    tested: int = 0

    @property
    def bound(self):
        """delta and three standard errors of a binomial share."""
        return DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / self.all)

    @property
    def all(self):
        return self.certificates + self.abstentions

    @property
    def rate(self):
        return self.violations / self.all

    def __str__(self):
        return (
            f"{self.violations} violations in {self.all} calibrations ({self.rate:.4f}, at most {self.bound:.4f}); "
            f"{self.certificates} certificates, {self.abstentions} abstentions"
        )


@cache
def world_of(make, loss):
    return make(loss)


def count(make, loss, evidence, *, n=100, calibrations=CALIBRATIONS, thresholds="grid", sequence=None, **how):
    """Calibrate again and again on fresh draws, and look up the true risk of every threshold certified."""
    world, counted = world_of(make, loss), Counted()
    rng = np.random.default_rng(zlib.crc32(f"{make.__name__} {loss.name}".encode()))
    for _ in range(calibrations):
        found = cl.calibrate(
            world.draw(n, rng), loss=world.loss, alpha=world.alpha, delta=DELTA, evidence=evidence, sequence=sequence,
            thresholds=world.thresholds if isinstance(thresholds, str) and thresholds == "grid" else thresholds, **how,
        )  # fmt: skip
        counted.tested += found.tested
        if isinstance(found, cl.Abstention):
            counted.abstentions += 1
        else:
            counted.certificates += 1
            counted.violations += world.risk(found.threshold, **how) > world.alpha
    assert counted.all == calibrations
    return counted


def assert_kept(counted, make):
    assert counted.rate <= counted.bound, f"{make.__name__}: {counted}"


# what the worlds are ------------------------------------------------------------------------------------------------


@loss_named
@pytest.mark.parametrize("make", [worlds.just_above, worlds.just_above_in_fractions], ids=lambda make: make.__name__)
def test_the_adversarial_worlds_are_just_above_alpha_along_the_whole_walk(make, loss):
    world = make(loss)
    risks = [world.risk(threshold) for threshold in world.thresholds]
    assert risks == pytest.approx([world.alpha + worlds.ABOVE] * len(risks))


@loss_named
@pytest.mark.parametrize(
    "make", [worlds.jump, worlds.crossing, worlds.sparse, worlds.rare, worlds.smooth, worlds.ties],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_the_other_worlds_cross_alpha_midway_once(make, loss):
    world = make(loss)
    above = np.array([world.risk(threshold) > world.alpha for threshold in world.thresholds])
    assert np.count_nonzero(np.diff(above)) == 1
    assert 2 <= np.argmax(above) <= len(above) - 2


@loss_named
@pytest.mark.parametrize("make", [worlds.crossing, worlds.sparse, worlds.ties, worlds.smooth], ids=lambda m: m.__name__)
def test_risks_counted_or_in_closed_form_are_those_of_a_large_draw(make, loss):
    world, queries = make(loss), make(loss).draw(200_000, np.random.default_rng(1))
    curve = cl.RiskCurve.empty(loss=world.loss, thresholds=world.thresholds).add(queries)
    margin = 4 * 0.5 / math.sqrt(200_000)
    assert curve.risk == pytest.approx([world.risk(threshold) for threshold in world.thresholds], abs=margin)


# the guarantee ------------------------------------------------------------------------------------------------------


@loss_named
@pytest.mark.parametrize("make", MIXED, ids=lambda make: make.__name__)
@pytest.mark.parametrize("evidence", FINITE_SAMPLE, ids=repr)
def test_a_threshold_above_alpha_is_certified_at_most_delta_of_the_time(evidence, make, loss):
    counted = count(make, loss, evidence)
    assert_kept(counted, make)
    if make in (worlds.jump, worlds.crossing):  # not vacuous: half of the walk is there to be certified
        assert counted.certificates > 0.9 * counted.all, counted
        assert counted.tested > 4 * counted.all, counted


@loss_named
@pytest.mark.parametrize("make", BINARY, ids=lambda make: make.__name__)
def test_binomial_certifies_a_threshold_above_alpha_at_most_delta_of_the_time(make, loss):
    counted = count(make, loss, Binomial())
    assert_kept(counted, make)
    if make is not worlds.just_above:
        assert counted.certificates > 0.9 * counted.all, counted


if __name__ == "__main__":
    import sys, time
    for make in (worlds.just_above, worlds.just_above_in_fractions, worlds.jump, worlds.crossing, worlds.sparse, worlds.ties, worlds.smooth, worlds.rare):
        for loss in LOSSES:
            for ev in [*FINITE_SAMPLE, Binomial()]:
                if isinstance(ev, Binomial) and make not in BINARY: continue
                t = time.process_time()
                c = count(make, loss, ev, calibrations=int(sys.argv[1]))
                print(f"{make.__name__:24s} {loss.name:16s} {ev.name[:14]+getattr(ev,'strategy',''):20s} viol {c.rate:.3f} cert {c.certificates/c.all:.3f} tested {c.tested/c.all:5.1f} {(time.process_time()-t)/c.all*1e3:.2f} ms", flush=True)
