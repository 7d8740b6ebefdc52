"""Evidence by betting: the sharpest one, from the losses in a declared order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cutline._checks import check_level, check_one_of
from cutline.errors import InputError
from cutline.evidence._protocol import Flags, Floats, Needs, agreeing, check_losses
from cutline.kernels import betting as kernel

_CODES = {"star": kernel.STAR, "wsr": kernel.WSR}
_GRID, _FINER, _WIDTH = 256, 32, 1e-12  # two nested grids and a bisection, for one bound
_ROUGH_GRID, _ROUGH_WIDTH = 48, 5e-5  # for the bounds along a curve
_SMALLEST_P = 1e-300


@dataclass(frozen=True, slots=True)
class Betting:
    """Bet against R > alpha, loss by loss, in the order given; enough wealth is evidence that R <= alpha.

    - `strategy="star"` (STaR-Bets, NeurIPS 2025, arXiv 2505.22422, without its final randomisation): certified where
      the wealth reaches 1 / delta at some query. The bets aim at delta, and decisions are nested in delta, so that
      p = inf{delta: certified} is a p-value.
    - `strategy="wsr"` (Waudby-Smith and Ramdas, JRSSB 2024; one side only): p = 1 / max_t K_t, tuned at a given delta.

    The order has to be exchangeable, such as a keyed hash of the query ids: a file's own order is not. Nothing is
    promised for the best of several orders.
    """

    strategy: Literal["star", "wsr"] = "star"

    name: ClassVar[str] = "betting"
    needs: ClassVar[Needs] = "order"
    asymptotic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_one_of("strategy", self.strategy, _CODES)

    def p_value(self, losses: npt.ArrayLike, *, alpha: float, tuning_delta: float | None = None) -> float:
        """The p-value against R > alpha. `wsr` needs `tuning_delta`, the delta of the test; `star` ignores it."""
        values, alpha = check_losses(losses), check_level("alpha", alpha)
        if self.strategy == "star":
            return _smallest_certified_delta(values, alpha)
        if tuning_delta is None:
            raise InputError(
                "tuning_delta is required by Betting(strategy='wsr') and was not given; pass the delta of the test"
            )
        delta = check_level("tuning_delta", tuning_delta)
        target = -math.log(delta)
        peak = kernel.wsr_log_wealth(values, alpha, target, math.inf)
        p = max(math.exp(-peak), _SMALLEST_P)
        return min(p, delta) if peak >= target else max(p, math.nextafter(delta, 1.0))  # as `certifies` decides

    def certifies(self, losses: npt.ArrayLike, *, alpha: float, delta: float) -> bool:
        """Whether the wealth reaches 1 / delta at some query, without tolerance."""
        return bool(self.certifies_each(check_losses(losses)[np.newaxis], alpha=alpha, delta=delta)[0])

    def log_evidence(self, losses: npt.ArrayLike, *, alpha: float, delta: float) -> float:
        """The highest log wealth on the way, at least 0: certified exactly where it is at least log(1 / delta)."""
        return float(self.log_evidence_each(check_losses(losses)[np.newaxis], alpha=alpha, delta=delta)[0])

    def upper_bound(self, losses: npt.ArrayLike, *, delta: float) -> float:
        """The supremum of the alphas that do not certify, at most 1, as far as a search on nested grids can see.

        STaR is not known to be monotone in alpha, so two grids are walked down from 1 to the first alpha that fails,
        before the last cell is bisected; an uncertified island narrower than 1 / 256 above the answer may be missed.
        """
        target = -math.log(check_level("delta", delta))
        rows = check_losses(losses)[np.newaxis]
        bounds = kernel.bound_rows(
            rows, _CODES[self.strategy], tuning=target, target=target, steps=_GRID, again=_FINER, width=_WIDTH
        )
        return float(bounds[0])

    def certifies_each(self, losses: Floats, *, alpha: float, delta: float, tuning_delta: float | None = None) -> Flags:
        """The decision for each row of an (m, n) float64 array; the values are trusted to be in [0, 1].

        `wsr` bets as tuned for `tuning_delta`, by default delta. Where delta depends on earlier tests, as under
        Fallback, it has to be fixed: decisions of bets tuned for different levels are not known to be nested. `star`
        aims at delta itself, and its decisions are nested.
        """
        alpha, target = check_level("alpha", alpha), -math.log(check_level("delta", delta))
        tuning = self._tuning(target, tuning_delta)
        rows = _check_rows(losses)
        peaks = kernel.log_wealth_rows(rows, _CODES[self.strategy], alpha=alpha, tuning=tuning, target=target)
        return peaks >= target

    def log_evidence_each(self, losses: Floats, *, alpha: float, delta: float) -> Floats:
        """The log evidence for each row of an (m, n) float64 array; the values are trusted to be in [0, 1]."""
        alpha, target = check_level("alpha", alpha), -math.log(check_level("delta", delta))
        rows = _check_rows(losses)
        peaks = kernel.log_wealth_rows(rows, _CODES[self.strategy], alpha=alpha, tuning=target, target=math.inf)
        return np.array([agreeing(peak, certified=peak >= target, delta=delta) for peak in peaks.tolist()])

    def bounds_each(self, losses: Floats, *, delta: float, tuning_delta: float | None = None) -> Floats:
        """Upper bounds of each row, at most 1e-4 too high, for drawing a curve; the values are trusted to be in [0, 1].

        One coarse grid is walked instead of two, so an island narrower than 1 / 48 may be missed.
        """
        target = -math.log(check_level("delta", delta))
        tuning = self._tuning(target, tuning_delta)
        rows = _check_rows(losses)
        return kernel.bound_rows(
            rows, _CODES[self.strategy], tuning=tuning, target=target, steps=_ROUGH_GRID, again=0, width=_ROUGH_WIDTH
        )

    def _tuning(self, target: float, tuning_delta: float | None) -> float:
        """The log wealth that bets are made for."""
        if self.strategy == "star" or tuning_delta is None:
            return target
        return -math.log(check_level("tuning_delta", tuning_delta))

    def settings(self) -> dict[str, object]:
        """What a certificate writes down."""
        return {"name": self.name, "strategy": self.strategy}


def _check_rows(losses: Floats) -> Floats:
    if losses.ndim != 2 or losses.shape[1] == 0:
        raise InputError(f"losses must be an (m, n) array with n >= 1, one row per threshold, got shape {losses.shape}")
    return np.ascontiguousarray(losses, dtype=np.float64)


def _smallest_certified_delta(losses: Floats, alpha: float) -> float:
    """inf{delta: certified}, from above: its logarithm is halved, then the interval, down to neighbouring floats."""

    def certified(delta: float) -> bool:
        target = -math.log(delta)
        return kernel.star_log_wealth(losses, alpha, target) >= target

    if certified(_SMALLEST_P):
        return _SMALLEST_P
    low, high = _SMALLEST_P, 1.0
    while high > 2.0 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if certified(middle) else (middle, high)
    while low < (middle := low + (high - low) / 2.0) < high:
        low, high = (low, middle) if certified(middle) else (middle, high)
    return high
