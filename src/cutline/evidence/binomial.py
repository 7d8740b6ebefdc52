"""The exact binomial test, for losses that are 0 or 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv

from cutline._checks import check_level, check_whole
from cutline.errors import InputError
from cutline.evidence import _binomial_law as law
from cutline.evidence._protocol import Floats, Needs, check_losses, check_total, check_totals, raised_until_certified
from cutline.evidence._summaries import FromSums


@dataclass(frozen=True, slots=True)
class Binomial(FromSums):
    """p = P(Bin(n, alpha) <= S): exact where every loss is 0 or 1, and refused elsewhere (Clopper and Pearson 1934).

    A sum cannot show whether the losses behind it were fractional: whoever passes sums answers for that. A fractional
    sum is refused.
    """

    name: ClassVar[str] = "binomial"
    needs: ClassVar[Needs] = "sum"
    asymptotic: ClassVar[bool] = False
    binary_only: ClassVar[bool] = True

    def read_losses(self, losses: npt.ArrayLike) -> Floats:
        """The losses, each 0 or 1."""
        values = check_losses(losses)
        fractional = (values != 0.0) & (values != 1.0)
        if fractional.any():
            where = int(np.argmax(fractional))
            came = f"{float(values[where])!r} at position {where}"
            raise InputError(f"Binomial() needs losses that are 0 or 1, got {came}; use Convex()")
        return values

    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float:
        """p from the number of ones among n losses."""
        alpha = check_level("alpha", alpha)
        total, n = check_total(total, n)
        return float(law.cdf(_whole_totals(np.array(total)), n, alpha))

    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats:
        """The beta quantile at which P(Bin(n, alpha) <= S) = delta, for each number of ones."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=1)
        ones = _whole_totals(check_totals("totals", totals, n))
        inside = np.minimum(ones, n - 1.0)
        bounds = np.where(ones < n, betainccinv(inside + 1.0, n - inside, delta), 1.0)
        return raised_until_certified(bounds, lambda alpha: law.cdf(ones, n, alpha) <= delta)

    def critical_total(self, n: int, *, alpha: float, delta: float) -> float:
        """The largest number of ones that certifies alpha at delta; -inf where even none at all does not."""
        alpha, delta, n = check_level("alpha", alpha), check_level("delta", delta), check_whole("n", n, least=1)
        ones = float(law.first_above(delta, n, alpha).first[0]) - 1.0
        return ones if ones >= 0.0 else -math.inf

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, n: int, *, alpha: float) -> float:
        return float(law.divergence(total, n, alpha))


def _whole_totals(totals: Floats) -> Floats:
    fractional = totals != np.floor(totals)
    if fractional.any():
        came = float(totals[fractional][0])
        raise InputError(f"Binomial() needs losses that are 0 or 1, got the fractional sum {came!r}; use Convex()")
    return totals
