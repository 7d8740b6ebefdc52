"""The central limit theorem: approximate, and marked so wherever it appears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

from cutline._checks import check_level, check_whole
from cutline.errors import InputError
from cutline.evidence._protocol import Floats, Needs, Sums, check_totals, raised_until_certified
from cutline.evidence._summaries import FromMoments, centred_squares, moments_of

_ROUNDING = 1e-13  # a variance below this share of the mean square is rounding


@dataclass(frozen=True, slots=True)
class Normal(FromMoments):
    """p = Phi(sqrt(n) (r - alpha) / s), s with ddof = 1; refused where s = 0.

    Asymptotic: this relies on the normal limit and has **no** finite-sample guarantee. With rare losses it certifies
    far too often. Never a default.
    """

    name: ClassVar[str] = "normal"
    needs: ClassVar[Needs] = "moments"
    asymptotic: ClassVar[bool] = True
    refuses_equal_losses: ClassVar[bool] = True

    def upper_bound(self, losses: npt.ArrayLike, *, delta: float) -> float:
        """r + z s / sqrt(n) with z the 1 - delta quantile, at most 1."""
        total, squares, n = moments_of(losses)
        _refuse_zero_variance(_scale(np.asarray(total), np.asarray(squares), n))
        return float(self.bounds_from_moments(total, squares, n, delta=delta))

    def p_value_from_moments(self, total: Sums, squares: Sums, n: int, *, alpha: float) -> Floats:
        """p for one sum or many; an InputError if any of the variances is zero."""
        return ndtr(_standardised(total, squares, n, alpha))[()]

    def bounds_from_moments(self, totals: Sums, squares: Sums, n: int, *, delta: float) -> Floats:
        """The bounds for many sums at once; where the variance is zero there is none, and 1 is returned."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=2)
        sums, seconds = check_totals("totals", totals, n), check_totals("squares", squares, n)
        scale = _scale(sums, seconds, n)
        known = scale > 0.0
        safe = np.where(known, scale, 1.0)
        bounds = np.where(known, np.maximum(sums / n - float(ndtri(delta)) * safe, 0.0), 1.0)
        return raised_until_certified(bounds, lambda alpha: ndtr((sums / n - alpha) / safe) <= delta)[()]

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, squares: float, n: int, *, alpha: float) -> float:
        return -float(log_ndtr(_standardised(total, squares, n, alpha)))


def _standardised(totals: Sums, squares: Sums, n: int, alpha: float) -> Floats:
    alpha, n = check_level("alpha", alpha), check_whole("n", n, least=2)
    sums, seconds = check_totals("totals", totals, n), check_totals("squares", squares, n)
    scale = _scale(sums, seconds, n)
    _refuse_zero_variance(scale)
    return (sums / n - alpha) / scale


def _scale(totals: Floats, squares: Floats, n: int) -> Floats:
    """s / sqrt(n); 0 where the squares about the mean are no more than the rounding of the sums."""
    centred = centred_squares(totals, squares, n)
    return np.where(centred > _ROUNDING * squares, np.sqrt(centred / (n - 1.0) / n), 0.0)


def _refuse_zero_variance(scale: Floats) -> None:
    if np.any(scale == 0.0):
        raise InputError(
            "Normal() needs losses that differ, got all equal ones (zero variance); use Betting() or Convex(), "
            "or begin the grid where lists are non-empty"
        )
