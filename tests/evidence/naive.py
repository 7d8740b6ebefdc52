"""The evidence of STATISTICS section 4 once more, as plain loops and exact fractions. Slow and obvious on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def binomial_masses(n: int, p: float) -> list[Fraction]:
    exact = Fraction(p)
    return [math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(n + 1)]


def binomial_cdf(k: int, n: int, p: float) -> Fraction:
    return sum(binomial_masses(n, p)[: k + 1], Fraction(0)) if k >= 0 else Fraction(0)


def shortfall(t: int, n: int, p: float) -> Fraction:
    return sum(((t - k) * mass for k, mass in enumerate(binomial_masses(n, p)) if k < t), Fraction(0))


def convex_p(total: float, n: int, alpha: float) -> float:
    exact = Fraction(total)
    if exact >= n * Fraction(alpha):
        return 1.0
    masses = binomial_masses(n, alpha)
    below, h, best = Fraction(0), Fraction(0), Fraction(1)
    for t in range(1, n + 1):
        below += masses[t - 1]
        h += below
        if t > exact:
            best = min(best, h / (t - exact))
    return float(best)


def kl(r: float, alpha: float) -> float:
    hits = r * math.log(r / alpha) if r > 0 else 0.0
    misses = (1 - r) * math.log((1 - r) / (1 - alpha)) if r < 1 else 0.0
    return hits + misses


def hoeffding_bentkus_p(total: float, n: int, alpha: float) -> float:
    if total >= n * alpha:
        return 1.0
    chernoff = math.exp(-n * kl(total / n, alpha))
    return min(chernoff, math.e * float(binomial_cdf(math.ceil(total), n, alpha)), 1.0)


def empirical_bernstein_bound(losses: Sequence[float], delta: float) -> float:
    n = len(losses)
    mean = sum(losses) / n
    variance = sum((loss - mean) ** 2 for loss in losses) / (n - 1)
    log_term = math.log(2 / delta)
    return mean + math.sqrt(2 * variance * log_term / n) + 7 * log_term / (3 * (n - 1))


def star_wealths(losses: Sequence[float], alpha: float, delta: float) -> list[float]:
    n, m, wealth, wealths = len(losses), 1 - alpha, 1.0, [1.0]
    y = [1 - loss for loss in losses]
    for i in range(n):
        t = i + 1e-4
        spread = sum((y[j] - m) ** 2 for j in range(i)) / t + (m + 1e-4) * n / t**2
        variance = min(spread, m * (1 - m) + 1e-4)
        missing = max(math.log(1 / delta) - math.log(wealth), 0.0)
        bet = min(math.sqrt(2 * missing / ((n - t) * variance)), 1 / (m + 1e-4))
        wealth *= 1 + bet * (y[i] - m)
        wealths.append(wealth)
    return wealths


def wsr_wealths(losses: Sequence[float], alpha: float, delta: float) -> list[float]:
    n, wealth, wealths = len(losses), 1.0, [1.0]
    for i in range(1, n + 1):
        seen = losses[: i - 1]
        means = [(0.5 + sum(seen[: j + 1])) / (j + 2) for j in range(len(seen))]
        variance = (0.25 + sum((loss - mean) ** 2 for loss, mean in zip(seen, means, strict=True))) / i
        bet = min(1.0, math.sqrt(2 * math.log(1 / delta) / (n * variance)))
        wealth *= 1 + bet * (alpha - losses[i - 1])
        wealths.append(wealth)
    return wealths
