"""The expected loss of simulated queries as an integral, where there is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from cutline.losses import FalseDiscovery, Loss, Miss
from cutline.preferences import AsGiven, Scoring
from cutline.relevance import Grade
from cutline.sets import SetRule, Threshold

if TYPE_CHECKING:
    from cutline.datasets.simulated import Simulator

Floats = npt.NDArray[np.float64]

_REACH = 9.0  # standard deviations of a query effect that an integral covers: all but 2e-19
_STEEPEST = 0.99  # the largest signal for which the nodes below are close enough together
_FAR = 40.0  # standard deviations beyond which a normal probability is 0 or 1


def has_integral(world: Simulator, loss: Loss, scoring: Scoring, sets: SetRule) -> bool:
    """Whether `integral` knows the risk of these lists."""
    if type(loss) not in (FalseDiscovery, Miss) or type(loss.relevance) is not Grade:
        return False
    judged = world.share_unjudged == 0 or loss.relevance.unjudged == "bad"
    smooth = abs(world.signal) <= _STEEPEST
    return smooth and judged and type(scoring) is AsGiven and type(sets) is Threshold and sets == Threshold()


def integral(world: Simulator, threshold: float, loss: FalseDiscovery | Miss) -> float:
    """The risk by the trapezoidal rule over both effects, which for Gaussian integrals converges exponentially."""
    from scipy.special import logit, ndtr

    h, weight_h = _nodes(world.query_effect)
    v, weight_v = _nodes(world.score_shift)
    h, weights = h[:, np.newaxis], weight_h[:, np.newaxis] * weight_v
    f = float(logit(min(max(threshold, 0.0), 1.0)) - world.score_offset) / world.score_scale
    grade = cast("Grade", loss.relevance).at_least
    above = np.clip(world.signal * h + v - f, -_FAR, _FAR)  # f exceeds its bar by this many standard deviations
    good_above = np.clip(h - _cut_of(world, grade), -_FAR, _FAR)
    kept = 1.0 - world.share_unjudged
    chosen, good = ndtr(above), kept * ndtr(good_above)
    both = kept * _both_below(good_above, above, world.signal)
    if isinstance(loss, FalseDiscovery):
        share, some = 1.0 - _ratio(both, chosen), _some(world, chosen)
    else:
        share, some = 1.0 - _ratio(both, good), _some(world, good)
    return float(np.sum(weights * share * some))


def _cut_of(world: Simulator, grade: float) -> float:
    """The quality from which on an item has at least this label."""
    edges = np.concatenate(([-math.inf], world.cut_points, [math.inf]))
    return float(edges[int(min(max(math.ceil(grade), 0), 5))])


def _some(world: Simulator, chance: Floats) -> Floats:
    """The mean over K of 1 - (1 - chance)^K: the chance of at least one item in a list."""
    low, high = world.lengths
    log_none, count = np.log1p(-np.minimum(chance, 1.0 - 2.0**-53)), high - low + 1
    inside = _ratio(-np.expm1(count * log_none), count * chance)
    return 1.0 - np.exp(low * log_none) * np.where(chance > 0, inside, 1.0)


def _nodes(deviation: float) -> tuple[Floats, Floats]:
    """Points and weights for a mean over N(0, deviation²), close enough for functions as steep as a normal law's."""
    if deviation == 0:
        return np.zeros(1), np.ones(1)
    half = math.ceil(_REACH * math.hypot(1.0, deviation) / 0.25)
    points = np.linspace(-_REACH, _REACH, 2 * half + 1)
    weights = np.exp(-0.5 * points * points)
    return deviation * points, weights / weights.sum()


def _both_below(x: Floats, y: Floats, correlation: float) -> Floats:
    """P(X <= x, Y <= y) for standard normal X, Y with this correlation, from Owen's T function (Owen 1956)."""
    from scipy.special import ndtr, owens_t

    x, y = np.broadcast_arrays(np.where(x == 0, 1e-300, x), np.where(y == 0, 1e-300, y))
    rest = math.sqrt(1.0 - correlation**2)
    with np.errstate(over="ignore"):
        parts = owens_t(x, (y - correlation * x) / (x * rest)) + owens_t(y, (x - correlation * y) / (y * rest))
    both = 0.5 * (ndtr(x) + ndtr(y)) - parts - 0.5 * ((x < 0) != (y < 0))
    return np.clip(both, 0.0, np.minimum(ndtr(x), ndtr(y)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is nothing."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)
