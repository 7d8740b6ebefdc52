"""The sharpest evidence from a sum that comparing convex functions with the binomial law gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from cutline._checks import check_level, check_whole
from cutline.evidence import _binomial_law as law
from cutline.evidence._protocol import Floats, Needs, check_total, check_totals
from cutline.evidence._summaries import FromSums

_POINTS = 48  # values of t looked at side by side when the search for the best one narrows
_NEWTON = 100  # rounds at most; four are usual
_CLOSE = 1e-12  # a relative step this short ends the search for a bound


@dataclass(frozen=True, slots=True)
class Convex(FromSums):
    """p = min over whole t in (S, n] of h(t) / (t - S), at most 1, where h(t) = E(t - Bin(n, alpha))+.

    E f(S) <= E f(Bin(n, R)) for every convex f (Hoeffding 1963); f(x) = (t - x)+ and Markov's inequality bound the
    chance of S <= c for each t, hence for the best t of that c, so the minimum is valid. Never weaker than
    `HoeffdingBentkus`; valid for independent losses that are not identically distributed, with R their average; depends
    on (n, S) alone, so sums from many places merge.
    """

    name: ClassVar[str] = "convex"
    needs: ClassVar[Needs] = "sum"
    asymptotic: ClassVar[bool] = False

    def p_value_from_sums(self, total: float, n: int, *, alpha: float) -> float:
        """p from the sum of n losses. h(t) / (t - S) falls and then rises in t, so few values of t are looked at."""
        alpha = check_level("alpha", alpha)
        total, n = check_total(total, n)
        if total >= n * alpha:
            return 1.0
        first, best = math.floor(total) + 1.0, 1.0
        # the best t is seldom farther above S than this; where it is, all of the rest is searched after all
        last = min(float(n), first + 16.0 + 12.0 * math.sqrt(n * alpha * (1.0 - alpha)))
        while True:
            t = np.unique(np.floor(np.linspace(first, last, _POINTS)))
            below, mass = law.cdf(t - 1.0, n, alpha), law.pmf(t, n, alpha)
            h = law.shortfall_from_tail(law.Tail(t, below, mass), n, alpha)
            best = min(best, float(np.min(h / (t - total))))
            # the ratio rises from t to t + 1 exactly where F(t) (t - S) >= h(t), and goes on rising from there
            rising = (below + mass) * (t - total) >= h
            if last < n and not rising.any():
                first, last = last, float(n)
                continue
            if last - first < _POINTS - 1:
                return best
            place = int(np.argmax(rising)) if rising.any() else t.size - 1
            first, last = float(t[max(place - 1, 0)]), float(t[place])

    def bounds_from_sums(self, totals: Floats, n: int, *, delta: float) -> Floats:
        """For each sum the smallest alpha whose critical total reaches it, rounded up; 1 where there is none."""
        delta, n = check_level("delta", delta), check_whole("n", n, least=1)
        wanted = check_totals("totals", totals, n)
        bounds = np.ones(wanted.size)
        open_ended = wanted.ravel() < n
        if open_ended.any():
            bounds[open_ended] = _solve(wanted.ravel()[open_ended], n, delta)
        return bounds.reshape(wanted.shape)

    def critical_total(self, n: int, *, alpha: float, delta: float) -> float:
        """The largest sum that certifies alpha at delta; -inf where even a sum of 0 does not.

        h(t) / (t - S) <= delta for some t exactly where S <= max over t of t - h(t) / delta, and that maximum sits at
        the smallest t with F(t) > delta.
        """
        alpha, delta, n = check_level("alpha", alpha), check_level("delta", delta), check_whole("n", n, least=1)
        critical = float(_critical(n, np.array([alpha]), delta)[0][0])
        return min(critical, math.nextafter(n * alpha, 0.0)) if critical >= 0.0 else -math.inf

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name}

    def least_log_evidence(self, total: float, n: int, *, alpha: float) -> float:
        return float(law.divergence(total, n, alpha))  # Chernoff: never more than the true -log p


def _critical(n: int, alpha: Floats, delta: float) -> tuple[Floats, Floats]:
    """Critical totals, negative where there is none, and their slopes in alpha (envelope theorem: at fixed t)."""
    first, below, mass = law.first_above(delta, n, alpha)
    # F(0) > delta: nothing certifies. t = 1 then gives 1 - F(0) / delta < 0, which still points Newton the right way
    none = first == 0.0
    below, mass = np.where(none, mass, below), np.where(none, mass * n * alpha / (1.0 - alpha), mass)
    tail = law.Tail(np.maximum(first, 1.0), below, mass)
    critical = tail.first - law.shortfall_from_tail(tail, n, alpha) / delta
    # d/dalpha E(t - Bin(n, alpha))+ = -n P(Bin(n - 1, alpha) < t), and that is F(t - 1) + (t / n) pmf(t)
    slope = (n * tail.below + tail.first * tail.mass) / delta
    return np.where(none, np.minimum(critical, -1e-300), critical), slope


def _solve(totals: Floats, n: int, delta: float) -> Floats:
    """The smallest alpha with critical total >= S, from above: Newton in a bracket, halved where Newton leaves it."""
    mean = totals / n
    low, high = mean.copy(), np.ones_like(mean)  # low never certifies; high does, or is 1
    alpha, margin = _guess(mean, n, delta), np.full_like(mean, _CLOSE)
    active = np.arange(mean.size)
    for _ in range(_NEWTON):
        here = np.where((alpha > low[active]) & (alpha < high[active]), alpha, (low[active] + high[active]) / 2.0)
        here = np.clip(here, 1e-300, 1.0 - 2.0**-53)
        critical, slope = _critical(n, here, delta)
        good = critical >= totals[active]
        low[active] = np.where(good, low[active], here)
        high[active] = np.where(good, here, high[active])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = (totals[active] - critical) / slope
        # aim a hair above the root, and a wider one each time that fails: the answer has to be on the certified side
        settled = np.abs(step) <= 4.0 * margin * here
        margin = np.where(settled & ~good, margin * 4.0, margin)
        going = ~((good & settled) | (high[active] - low[active] <= _CLOSE * high[active]))
        if not going.any():
            break
        aimed = np.where(np.isfinite(step), here + step + margin * here, -1.0)
        alpha, margin, active = aimed[going], margin[going], active[going]
    return high


def _guess(mean: Floats, n: int, delta: float) -> Floats:
    """About the alpha whose critical total is S: that total is the lower-tail expected shortfall of Bin(n, alpha).

    With z the delta quantile, c = phi(z) / delta and s^2 = n alpha (1 - alpha), the normal law gives S = n alpha - c s.
    Cornish and Fisher's terms for skew and kurtosis, averaged over the tail, then move alpha, twice.
    """
    z = float(ndtri(delta))
    c = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / delta
    spread = c * c / n
    alpha = (mean + spread / 2.0 + np.sqrt(spread * (mean * (1.0 - mean) + spread / 4.0))) / (1.0 + spread)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(2):
            variance = np.maximum(alpha * (1.0 - alpha), 1e-300)
            skew, deviation = 1.0 - 2.0 * alpha, np.sqrt(n * variance)
            bend = (1.0 - 6.0 * variance) * (z * z - 1.0) / 24.0 - skew * skew * (2.0 * z * z - 1.0) / 36.0
            shortfall = c * (deviation + z * skew / 6.0 + bend / deviation)
            alpha = alpha + (mean - alpha + shortfall / n) / (1.0 - 0.5 * c * skew / deviation)
    return alpha
