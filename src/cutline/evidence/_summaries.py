"""Evidence that reads only summaries of the losses: what a sum, or a sum and a sum of squares, is turned into."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutline._checks import check_level
from cutline.evidence._protocol import Floats, Sums, agreeing, check_losses, log_from_p


class _Sums(Protocol):
    def read_losses(self, losses: npt.ArrayLike) -> Floats: ...
    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float: ...
    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats: ...
    def log_evidence_from_sums(self, total: float, n: int, *, alpha: float, delta: float) -> float: ...
    def upper_bound_from_sums(self, total: float, n: int, *, delta: float) -> float: ...
    def least_log_evidence(self, total: float, n: int, *, alpha: float) -> float: ...


class FromSums:
    """Answers about losses, given answers about (sum, n). Sums are correctly rounded, so the order does not matter."""

    __slots__ = ()

    def read_losses(self, losses: npt.ArrayLike) -> Floats:
        """The losses as checked numbers; an evidence that accepts fewer kinds of losses says so here."""
        return check_losses(losses)

    def p_value(self: _Sums, losses: npt.ArrayLike, *, alpha: float, tuning_delta: float | None = None) -> float:
        """The p-value against R > alpha; `tuning_delta` is not used."""
        values = self.read_losses(losses)
        return self.p_value_from_sums(math.fsum(values), values.size, alpha=alpha)

    def certifies(self: _Sums, losses: npt.ArrayLike, *, alpha: float, delta: float) -> bool:
        """Whether p <= delta, without tolerance."""
        values, delta = self.read_losses(losses), check_level("delta", delta)
        return self.p_value_from_sums(math.fsum(values), values.size, alpha=alpha) <= delta

    def log_evidence(self: _Sums, losses: npt.ArrayLike, *, alpha: float, delta: float) -> float:
        """-log p: certified exactly where it is at least log(1 / delta)."""
        values = self.read_losses(losses)
        return self.log_evidence_from_sums(math.fsum(values), values.size, alpha=alpha, delta=delta)

    def upper_bound(self: _Sums, losses: npt.ArrayLike, *, delta: float) -> float:
        """The alpha from which on these losses certify, at most 1: R exceeds it with probability at most delta."""
        values = self.read_losses(losses)
        return self.upper_bound_from_sums(math.fsum(values), values.size, delta=delta)

    def log_evidence_from_sums(self: _Sums, total: float, n: int, *, alpha: float, delta: float) -> float:
        """-log p from the sum and the number of losses."""
        delta = check_level("delta", delta)
        p = self.p_value_from_sums(total, n, alpha=alpha)
        raw = log_from_p(p, lambda: self.least_log_evidence(total, n, alpha=alpha))
        return agreeing(raw, certified=p <= delta, delta=delta)

    def upper_bound_from_sums(self: _Sums, total: float, n: int, *, delta: float) -> float:
        """The upper bound from the sum and the number of losses."""
        return float(self.bounds_from_sums(np.array([total], dtype=np.float64), n, delta=delta)[0])


class _Moments(Protocol):
    def p_value_from_moments(self, total: Sums, squares: Sums, n: int, *, alpha: float) -> Floats: ...
    def bounds_from_moments(self, totals: Sums, squares: Sums, n: int, *, delta: float) -> Floats: ...
    def log_evidence_from_moments(
        self, total: float, squares: float, n: int, *, alpha: float, delta: float
    ) -> float: ...
    def least_log_evidence(self, total: float, squares: float, n: int, *, alpha: float) -> float: ...


class FromMoments:
    """Answers about losses, given answers about (sum, sum of squares, n)."""

    __slots__ = ()

    def p_value(self: _Moments, losses: npt.ArrayLike, *, alpha: float, tuning_delta: float | None = None) -> float:
        """The p-value against R > alpha; `tuning_delta` is not used."""
        total, squares, n = moments_of(losses)
        return float(self.p_value_from_moments(total, squares, n, alpha=alpha))

    def certifies(self: _Moments, losses: npt.ArrayLike, *, alpha: float, delta: float) -> bool:
        """Whether p <= delta, without tolerance."""
        delta = check_level("delta", delta)
        total, squares, n = moments_of(losses)
        return float(self.p_value_from_moments(total, squares, n, alpha=alpha)) <= delta

    def log_evidence(self: _Moments, losses: npt.ArrayLike, *, alpha: float, delta: float) -> float:
        """-log p: certified exactly where it is at least log(1 / delta)."""
        total, squares, n = moments_of(losses)
        return self.log_evidence_from_moments(total, squares, n, alpha=alpha, delta=delta)

    def log_evidence_from_moments(
        self: _Moments, total: float, squares: float, n: int, *, alpha: float, delta: float
    ) -> float:
        """-log p from the sums of the losses and of their squares."""
        delta = check_level("delta", delta)
        p = float(self.p_value_from_moments(total, squares, n, alpha=alpha))
        raw = log_from_p(p, lambda: self.least_log_evidence(total, squares, n, alpha=alpha))
        return agreeing(raw, certified=p <= delta, delta=delta)


def moments_of(losses: npt.ArrayLike) -> tuple[float, float, int]:
    """The sum, the sum of squares and the number of at least two losses."""
    values = check_losses(losses, least=2)
    return math.fsum(values), math.fsum(values * values), values.size


def centred_squares(totals: Floats, squares: Floats, n: int) -> Floats:
    """The sum of (L - mean)^2, never below 0."""
    return np.maximum(squares - totals * (totals / n), 0.0)
