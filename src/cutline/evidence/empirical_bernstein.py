"""Maurer and Pontil's empirical Bernstein bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cutline._checks import check_level, check_whole
from cutline.evidence._protocol import Floats, Needs, Sums, check_totals, raised_until_certified
from cutline.evidence._summaries import FromMoments, centred_squares, moments_of


@dataclass(frozen=True, slots=True)
class EmpiricalBernstein(FromMoments):
    """R <= r + sqrt(2 V log(2 / delta) / n) + 7 log(2 / delta) / (3 (n - 1)), V with ddof = 1 (Maurer and Pontil 2009).

    Needs n >= 2, the sum and the sum of squares. For i.i.d. losses in [0, 1]; good for large n and little variance.
    """

    name: ClassVar[str] = "empirical-bernstein"
    needs: ClassVar[Needs] = "moments"
    asymptotic: ClassVar[bool] = False

    def upper_bound(self, losses: npt.ArrayLike, *, delta: float) -> float:
        """The bound itself, at most 1."""
        total, squares, n = moments_of(losses)
        return float(self.bounds_from_moments(total, squares, n, delta=delta))

    def p_value_from_moments(self, total: Sums, squares: Sums, n: int, *, alpha: float) -> Floats:
        """p = 2 exp(-s^2), at most 1, where s is the positive root of a s^2 + b s = alpha - r."""
        alpha, n = check_level("alpha", alpha), check_whole("n", n, least=2)
        return np.minimum(2.0 * np.exp(-_exponents(total, squares, n, alpha)), 1.0)[()]

    def bounds_from_moments(self, totals: Sums, squares: Sums, n: int, *, delta: float) -> Floats:
        """The bounds for many sums at once."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=2)
        sums = check_totals("totals", totals, n)
        linear, square = _coefficients(sums, check_totals("squares", squares, n), n)
        log_term = math.log(2.0 / delta)
        bounds = sums / n + linear * math.sqrt(log_term) + square * log_term
        return raised_until_certified(
            bounds, lambda alpha: 2.0 * np.exp(-_exponents(sums, squares, n, alpha)) <= delta
        )[()]

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, squares: float, n: int, *, alpha: float) -> float:
        return float(_exponents(total, squares, n, alpha)) - math.log(2.0)


def _coefficients(totals: Floats, squares: Floats, n: int) -> tuple[Floats, float]:
    variance = centred_squares(totals, squares, n) / (n - 1)
    return np.sqrt(2.0 * variance / n), 7.0 / (3.0 * (n - 1))


def _exponents(totals: Sums, squares: Sums, n: int, alpha: Sums) -> Floats:
    """log(2 / delta) at which the bound is alpha; 0 where r >= alpha. The root is written without cancellation."""
    sums = check_totals("totals", totals, n)
    linear, square = _coefficients(sums, check_totals("squares", squares, n), n)
    gap = np.maximum(alpha - sums / n, 0.0)
    root = 2.0 * gap / np.maximum(linear + np.sqrt(linear * linear + 4.0 * square * gap), 1e-300)
    return root * root
