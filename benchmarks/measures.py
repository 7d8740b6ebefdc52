"""A row of the table, and the calls that are timed for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import peers
from clock import Timing
from lists import GOOD_FROM, Lists, draw

import cutline as cl

ALPHA, DELTA = 0.30, 0.10
LOSS = cl.FalseDiscovery(cl.Grade(at_least=GOOD_FROM))
FINE = cl.grid(0.999, 0.001, 0.001)
COARSE = cl.grid(0.99, 0.01, 0.01)


class DisagreementError(Exception):
    """cutline and a peer gave different answers to the same question, so that no time of theirs can be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. `ratio` is how many times faster cutline is than its peer."""

    what: str
    ours: Timing
    peer: Timing | None = None
    least_ratio: float | None = None
    most: float | None = None
    target: str = ""
    unit: str = "s"
    walk: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    @property
    def ratio(self) -> float | None:
        """Seconds of the peer over seconds of cutline, medians both."""
        return None if self.peer is None else self.peer.seconds / self.ours.seconds

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.least_ratio is not None and self.ratio is not None:
            return self.ratio >= self.least_ratio
        return None if self.most is None else self.ours.seconds <= self.most

    def record(self) -> dict[str, Any]:
        """What the JSON keeps."""
        return {
            "what": self.what, "cutline": self.ours.record(), "peer": None if self.peer is None else self.peer.record(),
            "ratio": self.ratio, "unit": self.unit, "target": self.target, "met": self.met, "walk": self.walk,
            "remark": self.remark,
        }  # fmt: skip


@cache
def large() -> Lists:
    """100,000 queries × 24."""
    return draw(100_000, 24)


@cache
def small() -> Lists:
    """8,000 queries × 24."""
    return draw(8_000, 24)


@cache
def long() -> Lists:
    """8,000 queries × 100."""
    return draw(8_000, 100)


def calibration(
    queries: cl.Queries, evidence: Any, *, thresholds: Any = FINE, alpha: float = ALPHA, scoring: Any = None
) -> Callable[[], Any]:
    """A call of calibrate, ready to be timed."""
    return partial(
        cl.calibrate, queries, loss=LOSS, alpha=alpha, delta=DELTA, evidence=evidence, thresholds=thresholds,
        scoring=cl.AsGiven() if scoring is None else scoring,
    )  # fmt: skip


def walked(certificate: Any) -> dict[str, Any]:
    """Where a walk stopped: the time depends on it."""
    if not isinstance(certificate, cl.Certificate):
        raise DisagreementError(f"a walk that was to be timed certified nothing: {certificate!r}")
    return {
        "threshold": certificate.threshold, "tested": certificate.tested,
        "share_kept": certificate.mean_size * certificate.n_queries / certificate.n_items,
        "share_nonempty": certificate.share_nonempty, "risk": certificate.risk,
    }  # fmt: skip


def algorithm(
    which: Callable[..., peers.Stop], lists: Lists, *, alpha: float = ALPHA, thresholds: Any = FINE
) -> Callable[[], peers.Stop]:
    """A call of a peer's walk, ready to be timed. It is told which items are bad; cutline finds out itself."""
    return partial(which, lists.scores, lists.bad, alpha=alpha, delta=DELTA, thresholds=thresholds)


def check_agreement(lists: Lists, queries: cl.Queries) -> None:
    """Hoeffding in cutline must stop where the NumPy versions stop: as many tests, the same threshold."""
    certificate = calibration(queries, cl.evidence.Hoeffding())()
    ours = peers.Stop(threshold=certificate.threshold, tested=certificate.tested)
    for which in (peers.literal, peers.careful, peers.histogram):
        theirs = algorithm(which, lists)()
        if theirs != ours:
            shape = "{:,} × {}".format(*lists.outputs.shape)
            raise DisagreementError(
                f"{shape}, Hoeffding: cutline stops at {ours}, the {which.__name__} version at {theirs}"
            )
