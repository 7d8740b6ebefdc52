"""Betting against "the risk is above alpha": wealth along the losses in their order, one row of losses per threshold.

Wealth is kept as its logarithm, so that it neither overflows nor vanishes. A loop stops at the first loss at which the
wealth reaches its target; STaR bets nothing from there on, so the maximum is known.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled, on_threads, spans

Floats = npt.NDArray[np.float64]

STAR, WSR = 0, 1


@compiled
def _star_from(
    losses: Floats, alpha: float, target: float, start: int, squares: float, wealth: float, peak: float
) -> float:
    n = losses.size
    m = 1.0 - alpha
    largest_bet = 1.0 / (m + 1e-4)
    prior = (m + 1e-4) * n
    most = m * (1.0 - m) + 1e-4
    for i in range(start, n):
        inverse = 1.0 / (i + 1e-4)
        variance = min((squares + prior * inverse) * inverse, most)
        scale = 2.0 / ((n - i - 1e-4) * variance)  # apart from the wealth, so that it is ready before the wealth is
        bet = min(math.sqrt((target - wealth) * scale), largest_bet)
        gain = alpha - losses[i]  # y - m for y = 1 - L
        squares += gain * gain
        wealth += math.log(1.0 + bet * gain)
        peak = max(peak, wealth)
        if wealth >= target:
            break
    return peak


@compiled
def star_log_wealth(losses: Floats, alpha: float, target: float) -> float:
    """max over i of log W_i, W_0 = 1, with the bets of STaR-Bets (arXiv 2505.22422) aimed at log wealth `target`."""
    return _star_from(losses, alpha, target, 0, 0.0, 0.0, 0.0)


@compiled
def star_log_wealth_pair(one: Floats, other: Floats, alpha: float, target: float) -> tuple[float, float]:
    """Two rows side by side until one reaches the target; each waits only for itself, so two take 1.3 times one.

    The arithmetic of a row is that of `star_log_wealth`, to the last bit.
    """
    n = one.size
    m = 1.0 - alpha
    largest_bet = 1.0 / (m + 1e-4)
    prior = (m + 1e-4) * n
    most = m * (1.0 - m) + 1e-4
    squares, wealth, peak = 0.0, 0.0, 0.0
    squares_, wealth_, peak_ = 0.0, 0.0, 0.0
    for i in range(n):
        inverse = 1.0 / (i + 1e-4)
        scale = 2.0 / ((n - i - 1e-4) * min((squares + prior * inverse) * inverse, most))
        scale_ = 2.0 / ((n - i - 1e-4) * min((squares_ + prior * inverse) * inverse, most))
        bet = min(math.sqrt((target - wealth) * scale), largest_bet)
        bet_ = min(math.sqrt((target - wealth_) * scale_), largest_bet)
        gain, gain_ = alpha - one[i], alpha - other[i]
        squares += gain * gain
        squares_ += gain_ * gain_
        wealth += math.log(1.0 + bet * gain)
        wealth_ += math.log(1.0 + bet_ * gain_)
        peak, peak_ = max(peak, wealth), max(peak_, wealth_)
        if wealth >= target or wealth_ >= target:
            if wealth < target:
                peak = _star_from(one, alpha, target, i + 1, squares, wealth, peak)
            if wealth_ < target:
                peak_ = _star_from(other, alpha, target, i + 1, squares_, wealth_, peak_)
            break
    return peak, peak_


@compiled
def wsr_log_wealth(losses: Floats, alpha: float, tuning: float, target: float) -> float:
    """max over t of log K_t (Waudby-Smith and Ramdas 2024), tuned at log(1 / delta) = `tuning`; stops at `target`."""
    n = losses.size
    total = 0.5
    squares = 0.25
    spread = 0.25
    wealth = 0.0
    peak = 0.0
    for i in range(n):
        bet = min(1.0, math.sqrt(2.0 * tuning / (n * spread)))
        wealth += math.log1p(bet * (alpha - losses[i]))
        if wealth > peak:
            peak = wealth
            if wealth >= target:
                break
        total += losses[i]
        away = losses[i] - total / (i + 2)
        squares += away * away
        spread = squares / (i + 2)
    return peak


@compiled
def _log_wealth(losses: Floats, strategy: int, alpha: float, tuning: float, target: float) -> float:
    if strategy == STAR:
        return star_log_wealth(losses, alpha, tuning)
    return wsr_log_wealth(losses, alpha, tuning, target)


@compiled
def _log_wealth_rows(
    rows: Floats, strategy: int, alpha: float, tuning: float, target: float, answers: Floats, start: int, stop: int
) -> None:
    row = start
    while strategy == STAR and row + 1 < stop:
        answers[row], answers[row + 1] = star_log_wealth_pair(rows[row], rows[row + 1], alpha, tuning)
        row += 2
    for left in range(row, stop):
        answers[left] = _log_wealth(rows[left], strategy, alpha, tuning, target)


@compiled
def _narrowed(
    losses: Floats, strategy: int, tuning: float, target: float, low: float, high: float, steps: int
) -> tuple[float, float]:
    """The cell of a grid on [low, high] above which every grid point certifies: down to the first that does not."""
    above = high
    for step in range(steps - 1, 0, -1):
        alpha = low + (high - low) * step / steps
        if _log_wealth(losses, strategy, alpha, tuning, target) < target:
            return alpha, above
        above = alpha
    return low, above


@compiled
def _bound(losses: Floats, strategy: int, tuning: float, target: float, steps: int, again: int, width: float) -> float:
    low, high = _narrowed(losses, strategy, tuning, target, 0.0, 1.0, steps)
    if again > 0:
        low, high = _narrowed(losses, strategy, tuning, target, low, high, again)
    while high - low > width:
        alpha = 0.5 * (low + high)
        if alpha <= low or alpha >= high:
            break
        if _log_wealth(losses, strategy, alpha, tuning, target) < target:
            low = alpha
        else:
            high = alpha
    return high


@compiled
def _bound_rows(
    rows: Floats,
    strategy: int,
    tuning: float,
    target: float,
    steps: int,
    again: int,
    width: float,
    answers: Floats,
    start: int,
    stop: int,
) -> None:
    for row in range(start, stop):
        answers[row] = _bound(rows[row], strategy, tuning, target, steps, again, width)


def log_wealth_rows(rows: Floats, strategy: int, *, alpha: float, tuning: float, target: float) -> Floats:
    """The highest log wealth of each row, rows spread over threads."""
    answers = np.empty(rows.shape[0])
    pieces = spans(rows.shape[0], least=1)
    on_threads(
        [lambda a=a, b=b: _log_wealth_rows(rows, strategy, alpha, tuning, target, answers, a, b) for a, b in pieces]
    )
    return answers


def bound_rows(
    rows: Floats, strategy: int, *, tuning: float, target: float, steps: int, again: int, width: float
) -> Floats:
    """An alpha of each row above which it certifies, as far as two nested grids and a bisection to `width` can see."""
    answers = np.empty(rows.shape[0])
    pieces = spans(rows.shape[0], least=1)
    on_threads(
        [
            lambda a=a, b=b: _bound_rows(rows, strategy, tuning, target, steps, again, width, answers, a, b)
            for a, b in pieces
        ]
    )
    return answers
