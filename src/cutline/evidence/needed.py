"""How many judged queries an evidence needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.special import ndtri

from cutline._checks import check_level, check_number, check_whole
from cutline.errors import InputError
from cutline.evidence import _binomial_law as law
from cutline.evidence._protocol import Evidence, Flags, Floats, MomentEvidence, OrderEvidence, SumEvidence
from cutline.evidence.binomial import Binomial

Certifies = Callable[..., Flags]
MOST = 10**9  # queries beyond which the answer is None
_LONGEST = 20_000  # simulated queries above which a nearer problem is solved instead
_NEARER = 8_000  # simulated queries of that problem, about: fewer queries leave time for more calibrations
_HARDEST = 200_000  # and the most that are simulated where that problem would not be alike
_LOSSES = 4_000_000  # simulated losses held at once, about
_FLAT = 1e-6  # a spread this small beside the mean is none
_DRAWS = (20, 600)  # simulated calibrations, at least and at most


def queries_for(
    evidence: Evidence,
    *,
    alpha: float,
    delta: float,
    expected_risk: float,
    spread: float | None = None,
    power: float = 0.8,
    rng: int | np.random.Generator = 0,
    simulate: bool = True,
) -> int | None:
    """About the smallest n at which n losses certify risk <= alpha at level delta with probability `power`.

    The losses have mean `expected_risk` and standard deviation `spread`; its default, sqrt(r (1 - r)) with r the
    expected risk, is the largest there is and that of losses of 0 or 1. None where the expected risk is not below
    alpha, where the evidence refuses such losses, and where more than 1e9 queries are needed or, for evidence that
    reads losses in order, many times more than the normal limit suggests.

    - Evidence from sums: by the binomial law for losses of 0 or 1; otherwise the observed mean is taken at its `power`
      quantile, r + z spread / sqrt(n), by the normal law. Nothing is simulated.
    - Evidence from moments, or that reads losses in order: the share of simulated calibrations that certify, on 0/1
      losses, or on Beta ones where the spread is smaller; right to about 5 to 10 percent. *Approximate* beyond 20,000
      queries: a wider gap alpha - r is simulated, and n is scaled up by the leading terms of its law, almost 1 / gap^2.
    - With `simulate=False`, evidence from moments is planned for as evidence from sums is, and its variance taken as
      expected: quicker by far, and too low by some percent for 0/1 losses, whose mean and variance move together.
      Evidence that reads losses in order is planned for by the leading terms of its law, right to about a quarter.

    A plan for one threshold whose risk is as expected; nothing is promised about thresholds before it in a walk.
    """
    alpha, delta, power = check_level("alpha", alpha), check_level("delta", delta), check_level("power", power)
    risk = check_risk(expected_risk)
    worst = math.sqrt(risk * (1.0 - risk))
    spread = check_spread(spread, risk)
    seed = rng if isinstance(rng, np.random.Generator) else check_whole("rng", rng, least=0)
    if risk >= alpha or (isinstance(evidence, Binomial) and spread < worst * (1.0 - 1e-9)):
        return None
    if evidence.needs == "order":
        if not simulate:
            n = math.ceil(_leading_terms(alpha - risk, delta, spread, power))
            return n if n <= MOST else None
        return _ByDraws(cast(OrderEvidence, evidence).certifies_each, delta, risk, spread, power, seed).queries(alpha)
    if evidence.needs == "moments":
        if evidence.asymptotic and spread <= _FLAT * risk:
            return None  # a variance of zero is refused
        if not simulate:
            return _smallest(_by_moments(cast(MomentEvidence, evidence), alpha, delta, risk, spread, power), least=2)
        return _ByDraws(_from_moments(cast(MomentEvidence, evidence)), delta, risk, spread, power, seed).queries(alpha)
    return _smallest(_by_sums(cast(SumEvidence, evidence), alpha, delta, risk, spread, power), least=1)


def check_risk(expected_risk: float) -> float:
    """A risk in [0, 1]."""
    risk = check_number("expected_risk", expected_risk)
    if not 0.0 <= risk <= 1.0:
        hint = f"; did you mean {risk / 100:.2f}?" if 1.0 < risk < 100.0 else ""
        raise InputError(f"expected_risk must be in [0, 1], got {expected_risk!r}{hint}")
    return risk


def check_spread(spread: float | None, risk: float) -> float:
    """A standard deviation that losses in [0, 1] with this mean can have; the largest one for None."""
    worst = math.sqrt(risk * (1.0 - risk))
    if spread is None:
        return worst
    number = check_number("spread", spread)
    if not 0.0 <= number <= worst * (1.0 + 1e-6):
        raise InputError(
            f"spread must be in [0, {worst:.4g}], as losses in [0, 1] with mean {risk:g} have it, got {spread!r}; "
            "leave it out to assume the largest"
        )
    return min(number, worst)


def _mean_at(n: int, risk: float, spread: float, power: float) -> float:
    """The `power` quantile of the mean of n losses."""
    return min(1.0, max(0.0, risk + float(ndtri(power)) * spread / math.sqrt(n)))


def _by_sums(
    evidence: SumEvidence, alpha: float, delta: float, risk: float, spread: float, power: float
) -> Callable[[int], bool]:
    binary = spread >= math.sqrt(risk * (1.0 - risk)) * (1.0 - 1e-9)

    def enough(n: int) -> bool:
        critical = evidence.critical_total(n, alpha=alpha, delta=delta)
        if not binary:
            return n * _mean_at(n, risk, spread, power) <= critical
        return critical >= 0.0 and (risk == 0.0 or float(law.cdf(math.floor(critical), n, risk)) >= power)

    return enough


def _by_moments(
    evidence: MomentEvidence, alpha: float, delta: float, risk: float, spread: float, power: float
) -> Callable[[int], bool]:
    def enough(n: int) -> bool:
        total = n * _mean_at(n, risk, spread, power)
        squares = min(float(n), (n - 1) * spread * spread + total * (total / n))
        return total < n * alpha and _passes(evidence, total, squares, n, alpha, delta)

    return enough


def _from_moments(evidence: MomentEvidence) -> Certifies:
    """Decisions on rows of losses by an evidence that reads their sums; a refusal certifies nothing."""

    def certifies_each(losses: Floats, *, alpha: float, delta: float) -> Flags:
        n = losses.shape[1]
        totals, squares = losses.sum(axis=1), (losses * losses).sum(axis=1)
        if n < 2:
            return np.zeros(len(losses), dtype=np.bool_)
        certified = [_passes(evidence, *row, n, alpha, delta) for row in zip(totals, squares, strict=True)]
        return np.array(certified, dtype=np.bool_)

    return certifies_each


def _passes(evidence: MomentEvidence, total: float, squares: float, n: int, alpha: float, delta: float) -> bool:
    try:
        return bool(evidence.p_value_from_moments(total, squares, n, alpha=alpha) <= delta)
    except InputError:
        return False


def _smallest(enough: Callable[[int], bool], *, least: int) -> int | None:
    """The smallest n that is enough, by doubling and bisection, for a condition that stays true once it is."""
    low, high = least - 1, least
    while not enough(high):
        if high >= MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _leading_terms(gap: float, delta: float, spread: float, power: float) -> float:
    """Of n for betting: variance / gap^2, as in the normal limit, and 1 / gap for very small variances."""
    quantiles = max(0.3, float(ndtri(power) - ndtri(delta)))
    return 1.1 * (spread * quantiles / gap) ** 2 - math.log(delta) / gap


class _ByDraws:
    """Simulated calibrations, the same losses for every n."""

    def __init__(
        self,
        certifies_each: Certifies,
        delta: float,
        risk: float,
        spread: float,
        power: float,
        rng: int | np.random.Generator,
    ) -> None:
        self.certifies_each, self.delta, self.risk, self.spread, self.power = certifies_each, delta, risk, spread, power
        self.generator = np.random.default_rng(rng)
        self.losses: Floats = np.empty((1, 0))

    def queries(self, alpha: float) -> int | None:
        """n at alpha itself, or scaled up from the alpha above it whose n can be simulated."""
        gap = alpha - self.risk
        nearer = self._solvable(gap)
        guess = max(1.0, self._expected(nearer))
        draws = 1 if self.spread == 0.0 else int(min(max(_LOSSES / guess, _DRAWS[0]), _DRAWS[1]))
        self.losses = np.empty((draws, 0))
        found = self._search(self.risk + nearer, round(guess))
        if found is None or nearer == gap:
            return found
        scaled = math.ceil(found * self._expected(gap) / self._expected(nearer))
        return scaled if scaled <= MOST else None

    def _expected(self, gap: float) -> float:
        return _leading_terms(gap, self.delta, self.spread, self.power)

    def _solvable(self, gap: float) -> float:
        """This gap where n is short, else one with a shorter n: still a small one beside the variance, if possible."""
        if self._expected(gap) <= _LONGEST:
            return gap
        alike = min(self._gap_of(_NEARER), 0.1 * self.spread**2)
        return min(max(gap, alike, self._gap_of(_HARDEST)), max(gap, 0.5 * (1.0 - self.risk)))

    def _gap_of(self, n: int) -> float:
        """The gap at which n is expected; 0 below which there is none to solve for."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._expected(middle) > n else (low, middle)
        return high

    def _search(self, alpha: float, guess: int) -> int | None:
        """From the guess in steps of a half to both sides of the answer, then halving down to 1 in 256."""
        low, high = 0, max(1, guess)
        while not self._enough(high, alpha):
            if high > 16 * guess + 4096:
                return None
            low, high = high, high + max(1, high // 2)
        if low == 0:
            low = high
            while low > 0 and self._enough(low, alpha):
                low, high = (2 * low) // 3, low
        while high - low > max(1, high // 256):
            middle = (low + high) // 2
            low, high = (low, middle) if self._enough(middle, alpha) else (middle, high)
        return high

    def _enough(self, n: int, alpha: float) -> bool:
        if n > self.losses.shape[1]:
            more = self._drawn((len(self.losses), n - self.losses.shape[1]))
            self.losses = np.hstack((self.losses, more))
        seen = np.ascontiguousarray(self.losses[:, :n])
        certified = self.certifies_each(seen, alpha=alpha, delta=self.delta).astype(np.float64)
        if self.spread == 0.0:
            return bool(certified.all())
        if np.ptp(seen.mean(axis=1)) == 0.0:  # losses so rare that none was drawn: no luck to be freed from
            return bool(certified.mean() >= self.power)
        # the share that certifies, freed by regression from the luck of these draws: E x = 0 and E x^2 = 1 are known
        x = (seen.mean(axis=1) - self.risk) * (math.sqrt(n) / self.spread)
        controls = np.column_stack((np.ones(len(x)), x, x * x - 1.0))
        return bool(np.linalg.lstsq(controls, certified)[0][0] >= self.power)

    def _drawn(self, shape: tuple[int, int]) -> Floats:
        variance, most = self.spread**2, self.risk * (1.0 - self.risk)
        if self.spread == 0.0:
            return np.full(shape, self.risk)
        if variance >= most * (1.0 - 1e-6):
            return (self.generator.random(shape) < self.risk).astype(np.float64)
        strength = most / variance - 1.0
        return cast(Any, self.generator).beta(self.risk * strength, (1.0 - self.risk) * strength, size=shape)
