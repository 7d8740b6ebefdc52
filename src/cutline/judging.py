"""How each kind of evidence reads a stretch of a walk: from sums, from sums of squares too, or loss by loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from cutline._checks import lacking
from cutline.errors import InputError
from cutline.evidence import Evidence, MomentEvidence, OrderEvidence, SumEvidence

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BAND = 1e-9  # relative distance to the critical sum within which the p-value itself decides


class Judge(Protocol):
    """Evidence against «the risk is above alpha» at each of several thresholds: rows of sums, and rows of losses."""

    def certified(self, sums: Integers, losses: Floats, *, level: float) -> Flags:
        """Which thresholds are certified at this level."""
        ...

    def log_evidence(self, sums: Integers, losses: Floats, *, delta: float) -> float:
        """The log evidence at one threshold; certified if it is at least log(1/delta)."""
        ...

    def bounds(self, sums: Integers, losses: Floats, *, delta: float) -> Floats:
        """Upper bounds on the risks, each valid alone at level delta."""
        ...


def judge_of(evidence: Evidence, *, n: int, alpha: float, delta: float) -> Judge:
    """The judge for an evidence, by what it needs."""
    check_methods(evidence)
    if evidence.needs == "order":
        return _FromLosses(cast(OrderEvidence, evidence), alpha, delta)
    if evidence.needs == "moments":
        return _FromMoments(cast(MomentEvidence, evidence), n, alpha)
    return _FromSums(cast(SumEvidence, evidence), n, alpha)


@dataclass(frozen=True, slots=True)
class _FromSums:
    evidence: SumEvidence
    n: int
    alpha: float
    criticals: dict[float, float] = field(default_factory=dict[float, float])

    def certified(self, sums: Integers, losses: Floats, *, level: float) -> Flags:
        """p ≤ level, by comparing with the critical sum; within rounding of it, by the p-value itself."""
        if fractional := self._first_fractional(sums):  # refused at one threshold: that matters if the walk gets there
            certified = self.certified(sums[: fractional - 1], losses, level=level)
            if not certified.all():
                return np.append(certified, np.zeros(len(sums) - len(certified), np.bool_))
        totals = self._totals(sums)
        if level not in self.criticals:
            self.criticals[level] = self.evidence.critical_total(self.n, alpha=self.alpha, delta=level)
        critical = self.criticals[level]
        certified = totals <= critical
        for place in np.flatnonzero(np.abs(totals - critical) <= BAND * max(1.0, critical)):
            p = self.evidence.p_value_from_sums(float(totals[place]), self.n, alpha=self.alpha)
            certified[place] = p <= level
        return certified

    def log_evidence(self, sums: Integers, losses: Floats, *, delta: float) -> float:
        total = float(self._totals(sums)[0])
        return self.evidence.log_evidence_from_sums(total, self.n, alpha=self.alpha, delta=delta)

    def bounds(self, sums: Integers, losses: Floats, *, delta: float) -> Floats:
        return self.evidence.bounds_from_sums(self._totals(sums), self.n, delta=delta)

    def _totals(self, sums: Integers) -> Floats:
        if self._first_fractional(sums):
            raise InputError(
                f"evidence {self.evidence.name!r} is for losses that are 0 or 1 only, and some here lie between; "
                "pass evidence=cl.evidence.Convex()"
            )
        return moments(sums)[0]

    def _first_fractional(self, sums: Integers) -> int:
        """The place, counted from 1, of the first row with losses between 0 and 1, where these are refused; else 0."""
        if not getattr(self.evidence, "binary_only", False):
            return 0
        totals, squares = moments(sums)
        rows = np.flatnonzero(totals != squares)
        return int(rows[0]) + 1 if len(rows) else 0


@dataclass(frozen=True, slots=True)
class _FromMoments:
    evidence: MomentEvidence
    n: int
    alpha: float

    def certified(self, sums: Integers, losses: Floats, *, level: float) -> Flags:
        """p ≤ level."""
        totals, squares = moments(sums)
        try:
            return np.asarray(self.evidence.p_value_from_moments(totals, squares, self.n, alpha=self.alpha) <= level)
        except InputError:  # refused at one threshold: that matters only if the walk gets there
            return self._until_refused(totals, squares, level)

    def _until_refused(self, totals: Floats, squares: Floats, level: float) -> Flags:
        certified = np.zeros(len(totals), np.bool_)
        for row in range(len(totals)):
            p = self.evidence.p_value_from_moments(totals[row], squares[row], self.n, alpha=self.alpha)
            certified[row] = p <= level
            if not certified[row]:
                break
        return certified

    def log_evidence(self, sums: Integers, losses: Floats, *, delta: float) -> float:
        totals, squares = moments(sums)
        return self.evidence.log_evidence_from_moments(
            float(totals[0]), float(squares[0]), self.n, alpha=self.alpha, delta=delta
        )

    def bounds(self, sums: Integers, losses: Floats, *, delta: float) -> Floats:
        totals, squares = moments(sums)
        return self.evidence.bounds_from_moments(totals, squares, self.n, delta=delta)


@dataclass(frozen=True, slots=True)
class _FromLosses:
    evidence: OrderEvidence
    alpha: float
    delta: float

    def certified(self, sums: Integers, losses: Floats, *, level: float) -> Flags:
        """The decision of the evidence on each row."""
        rows, same = np.ascontiguousarray(losses), level == self.delta
        tuning = {} if same else {"tuning_delta": self.delta}
        flags = np.asarray(self.evidence.certifies_each(rows, alpha=self.alpha, delta=level, **tuning))
        if flags.shape != (len(rows),):
            raise InputError(
                f"evidence {self.evidence.name!r}: certifies_each must give one answer for each of {len(rows)} rows, "
                f"got shape {flags.shape}"
            )
        return flags

    def log_evidence(self, sums: Integers, losses: Floats, *, delta: float) -> float:
        return float(self.evidence.log_evidence_each(losses, alpha=self.alpha, delta=delta)[0])

    def bounds(self, sums: Integers, losses: Floats, *, delta: float) -> Floats:
        tuning = {} if delta == self.delta else {"tuning_delta": self.delta}
        return self.evidence.bounds_each(losses, delta=delta, **tuning)


def check_methods(evidence: Evidence) -> None:
    """Whether an evidence of one's own can do what its `needs` says."""
    kinds: dict[str, type[Any]] = {"sum": SumEvidence, "moments": MomentEvidence, "order": OrderEvidence}
    kind = kinds.get(evidence.needs)
    if kind is None:
        raise InputError(
            f'evidence {evidence.name!r}: needs must be "sum", "moments" or "order", got {evidence.needs!r}'
        )
    missing = lacking(evidence, kind)
    if missing:
        raise InputError(
            f"evidence {evidence.name!r} needs {evidence.needs!r} and so must have the methods of {kind.__name__}; "
            f"it lacks {', '.join(missing)}"
        )


def moments(sums: Integers) -> tuple[Floats, Floats]:
    """ΣL and ΣL² of rows of sums, as numbers."""
    from cutline.kernels.walk import LOSS, SQUARED, UNITS

    return _in_ones(sums[..., LOSS], UNITS), _in_ones(sums[..., SQUARED], UNITS)


def _in_ones(units: Integers, one: int) -> Floats:
    """A sum as a number, the whole part apart: large ones would lose their last digits before the division."""
    return np.asarray(units // one + (units % one) / one, dtype=np.float64)
