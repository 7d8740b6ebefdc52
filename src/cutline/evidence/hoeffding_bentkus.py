"""Hoeffding's sharper (Chernoff) bound or Bentkus', whichever is smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainccinv

from cutline._checks import check_level, check_whole
from cutline.evidence import _binomial_law as law
from cutline.evidence._protocol import Flags, Floats, Needs, check_total, check_totals, raised_until_certified
from cutline.evidence._summaries import FromSums

_DUST = 1e-9
# Many p-values at once may differ from one alone in their last bits: bounds stay on the safe side.
_SURELY = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class HoeffdingBentkus(FromSums):
    """p = min{ exp(-n kl(r, alpha)), e P(Bin(n, alpha) <= ceil(S)) } for a mean loss r < alpha, else 1.

    Bates et al., "Distribution-Free, Risk-Controlling Prediction Sets", 2021. A sum within 1e-9 above a whole number
    counts as that number, or float dust would cost a whole step; this moves the null hypothesis by at most 1e-9 / n.
    """

    name: ClassVar[str] = "hoeffding-bentkus"
    needs: ClassVar[Needs] = "sum"
    asymptotic: ClassVar[bool] = False

    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float:
        """p from the sum of n losses."""
        alpha = check_level("alpha", alpha)
        total, n = check_total(total, n)
        return float(_p_values(np.array([total]), n, np.array([alpha]))[0])

    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats:
        """The smaller of the two inverses: of the divergence by bisection, of the binomial cdf as a beta quantile."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=1)
        sums = check_totals("totals", totals, n)
        ceiling = _ceiling(sums)
        inside = np.minimum(ceiling, n - 1.0)
        bentkus = np.where(ceiling < n, betainccinv(inside + 1.0, n - inside, delta / math.e), 1.0)
        bounds = np.fmin(bentkus, _divergence_inverse(sums, n, -math.log(delta)))

        def certified(alphas: Floats) -> Flags:
            inside = np.clip(alphas, 1e-300, 1.0 - 2.0**-53)
            return _p_values(sums, n, inside) <= delta * _SURELY

        return raised_until_certified(bounds, certified)

    def critical_total(self, n: int, *, alpha: float, delta: float) -> float:
        """The largest sum that certifies alpha at delta; -inf where even a sum of 0 does not."""
        alpha, delta, n = check_level("alpha", alpha), check_level("delta", delta), check_whole("n", n, least=1)
        steps = float(law.first_above(delta / math.e, n, alpha).first[0]) - 1.0
        bentkus = steps + _DUST if steps >= 0.0 else -math.inf
        return min(max(bentkus, _divergence_critical(n, alpha, -math.log(delta))), math.nextafter(n * alpha, 0.0))

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, n: int, *, alpha: float) -> float:
        return float(law.divergence(total, n, alpha))


def _ceiling(totals: Floats) -> Floats:
    return np.maximum(np.ceil(totals - _DUST), 0.0)


def _p_values(totals: Floats, n: int, alpha: Floats) -> Floats:
    chernoff = np.exp(-law.divergence(totals, n, alpha))
    bentkus = math.e * law.cdf(_ceiling(totals), n, alpha)
    return np.where(totals < n * alpha, np.minimum(np.minimum(chernoff, bentkus), 1.0), 1.0)


def _divergence_inverse(totals: Floats, n: int, wanted: float) -> Floats:
    """The smallest alpha above the mean with n kl(mean, alpha) >= wanted, from above; 1 where there is none.

    Newton from the right, as kl is convex in alpha: no step passes the root.
    """
    low = totals / n
    high = np.clip(low + math.sqrt(wanted / (2.0 * n)), 1e-300, 1.0 - 2.0**-53)  # kl(r, a) >= 2 (a - r)^2
    none = law.divergence(totals, n, high) < wanted * _SURELY
    for _ in range(60):
        over = np.maximum(law.divergence(totals, n, high) - wanted, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(over > 0.0, over * high * (1.0 - high) / (n * (high - low)), 0.0)
        high = high - step
        if not (step > 1e-15 * high).any():
            break
    return np.where(none, 1.0, high)


def _divergence_critical(n: int, alpha: float, wanted: float) -> float:
    """The largest sum below n alpha with n kl(sum / n, alpha) >= wanted, from below; -inf where there is none."""
    if -n * math.log1p(-alpha) < wanted:
        return -math.inf
    low, high = 0.0, n * alpha
    while True:
        middle = (low + high) / 2.0
        if not low < middle < high or high - low <= 1e-15 * high + 1e-13:
            return low
        rest, gap = n - middle, n * alpha - middle
        misses = math.log1p(-gap / rest) if gap < 0.5 * rest else math.log(n * (1.0 - alpha) / rest)
        spent = -middle * math.log1p(gap / middle) - rest * misses
        low, high = (middle, high) if spent >= wanted else (low, middle)
