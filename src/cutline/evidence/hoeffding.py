"""Hoeffding's inequality: the paper's own evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline._checks import check_level, check_whole
from cutline.evidence._protocol import Flags, Floats, Needs, check_total, check_totals, raised_until_certified
from cutline.evidence._summaries import FromSums


@dataclass(frozen=True, slots=True)
class Hoeffding(FromSums):
    """p = exp(-2 n (alpha - r)^2) for a mean loss r < alpha, else 1 (Hoeffding 1963).

    Simple and valid for any losses in [0, 1], but it ignores how small their variance is: `Convex` certifies more.
    """

    name: ClassVar[str] = "hoeffding"
    needs: ClassVar[Needs] = "sum"
    asymptotic: ClassVar[bool] = False

    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float:
        """p from the sum of n losses."""
        alpha = check_level("alpha", alpha)
        total, n = check_total(total, n)
        return math.exp(-_exponent(total, n, alpha))

    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats:
        """r + sqrt(log(1 / delta) / (2 n)), at most 1, for each sum."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=1)
        sums = check_totals("totals", totals, n)
        bounds = sums / n + math.sqrt(-math.log(delta) / (2.0 * n))

        def certified(
            alphas: Floats,
        ) -> Flags:  # one by one, as NumPy's exp may differ from the p-value's in the last bit
            pairs = zip(sums.ravel().tolist(), alphas.ravel().tolist(), strict=True)
            found = [math.exp(-_exponent(total, n, alpha)) <= delta for total, alpha in pairs]
            return np.array(found, dtype=np.bool_).reshape(sums.shape)

        return raised_until_certified(bounds, certified)

    def critical_total(self, n: int, *, alpha: float, delta: float) -> float:
        """The largest sum that certifies alpha at delta; -inf where even a sum of 0 does not."""
        alpha, delta, n = check_level("alpha", alpha), check_level("delta", delta), check_whole("n", n, least=1)
        total = n * (alpha - math.sqrt(-math.log(delta) / (2.0 * n)))
        return total if total >= 0.0 else -math.inf

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, n: int, *, alpha: float) -> float:
        return _exponent(total, n, alpha)


def _exponent(total: float, n: int, alpha: float) -> float:
    gap = alpha - total / n
    return 2.0 * n * gap * gap if gap > 0.0 else 0.0
