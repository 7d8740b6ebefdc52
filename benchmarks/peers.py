"""What cutline is measured beside. Nothing here imports cutline."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where a peer's walk ended: the last threshold it certified (None: not even the first), and how many it tested."""

    threshold: float | None
    tested: int


def literal(scores: Floats, bad: Flags, *, alpha: float, delta: float, thresholds: Floats) -> Stop:
    """The paper's Algorithm 1 in NumPy, line by line, over a matrix of queries × items.

    Its slips are mended: the walk starts at the first threshold and not at fdp = 1, which would never enter the loop;
    the grid is fixed instead of counted down; a first failure certifies nothing; the last threshold ends the walk.
    """
    width = math.sqrt(math.log(1 / delta) / (2 * len(scores)))
    certified = None
    for tested, threshold in enumerate(thresholds, start=1):
        chosen = scores >= threshold
        fdp = (chosen & bad).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1)
        if fdp.mean() + width > alpha:
            return Stop(threshold=certified, tested=tested)
        certified = float(threshold)
    return Stop(threshold=certified, tested=len(thresholds))


def careful(scores: Floats, bad: Flags, *, alpha: float, delta: float, thresholds: Floats) -> Stop:
    """The same walk after an hour of tuning: row sums as matrix products in float32, which BLAS does."""
    width = math.sqrt(math.log(1 / delta) / (2 * len(scores)))
    ones = np.ones(scores.shape[1], np.float32)
    certified = None
    for tested, threshold in enumerate(thresholds, start=1):
        chosen = scores >= threshold
        found = (chosen & bad).astype(np.float32) @ ones
        fdp = found.astype(np.float64) / np.maximum(chosen.astype(np.float32) @ ones, 1)
        if fdp.mean() + width > alpha:
            return Stop(threshold=certified, tested=tested)
        certified = float(threshold)
    return Stop(threshold=certified, tested=len(thresholds))


def histogram(scores: Floats, bad: Flags, *, alpha: float, delta: float, thresholds: Floats) -> Stop:
    """The same with no walk at all: the step of each item, counts of (query, step), and running sums of them give the
    share of bad items at every threshold, a thousand queries at a time."""
    width = math.sqrt(math.log(1 / delta) / (2 * len(scores)))
    columns = len(thresholds) + 1
    total = np.zeros(len(thresholds))
    for start in range(0, len(scores), 1_000):
        here, wrong = scores[start : start + 1_000], bad[start : start + 1_000]
        cells = np.searchsorted(-thresholds, -here) + columns * np.arange(len(here))[:, None]
        sizes, found = (
            np.cumsum(np.bincount(each, minlength=columns * len(here)).reshape(-1, columns)[:, :-1], axis=1)
            for each in (cells.ravel(), cells[wrong])
        )
        total += (found / np.maximum(sizes, 1)).sum(axis=0)
    failed = np.flatnonzero(total / len(scores) + width > alpha)
    last = int(failed[0]) if len(failed) else len(thresholds)
    return Stop(threshold=float(thresholds[last - 1]) if last else None, tested=min(last + 1, len(thresholds)))


def bentkus(scores: Floats, bad: Flags, *, alpha: float, delta: float, thresholds: Floats) -> Stop:
    """The tuned walk with the p-value of Hoeffding and Bentkus, from SciPy, at each threshold."""
    from scipy.special import rel_entr
    from scipy.stats import binom

    ones, n = np.ones(scores.shape[1], np.float32), len(scores)
    certified = None
    for tested, threshold in enumerate(thresholds, start=1):
        chosen = scores >= threshold
        found = (chosen & bad).astype(np.float32) @ ones
        total = float((found.astype(np.float64) / np.maximum(chosen.astype(np.float32) @ ones, 1)).sum())
        risk = min(total / n, alpha)
        hoeffding = math.exp(-n * float(rel_entr(risk, alpha) + rel_entr(1 - risk, 1 - alpha)))
        if min(hoeffding, math.e * float(binom.cdf(math.ceil(total - 1e-9), n, alpha))) > delta:
            return Stop(threshold=certified, tested=tested)
        certified = float(threshold)
    return Stop(threshold=certified, tested=len(thresholds))


def mapie(scores: Floats, good: npt.NDArray[np.int64], *, alpha: float, delta: float, thresholds: Floats) -> float:
    """The threshold of MAPIE's precision control for several labels (Learn then Test); each item is one label.

    The "classifier" hands back probabilities it was given, so that only the calibration is timed. MAPIE refuses a query
    without a good item, counts an empty list as all bad, and corrects for many tests instead of walking.
    """
    from mapie.risk_control import MultiLabelClassificationController

    def given(rows: npt.NDArray[np.int64]) -> Floats:
        return scores[rows[:, 0]]

    controller: Any = MultiLabelClassificationController(
        predict_function=given, risk="precision", method="ltt", target_level=1 - alpha, confidence_level=1 - delta,
        predict_params=thresholds,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each empty list
        controller.calibrate(np.arange(len(scores))[:, None], good)
    return float(controller.best_predict_param[0])


# Diverse lists ------------------------------------------------------------------------------------------------------


def all_sets(
    query: tuple[Floats, Floats], thresholds: Floats, most: int, choose: Any, every: int = 1
) -> dict[int, list[int]]:
    """What a rule keeps of one query at every threshold (or every so manieth one that gives another set), by how many
    items reach it. Distances are worked out once."""
    scores, vectors = query
    wide = vectors.astype(np.float64)
    apart = np.sqrt(((wide[:, None, :] - wide[None, :, :]) ** 2).sum(axis=2))
    order = np.argsort(-scores, kind="stable")
    counts = np.unique((scores[None, :] >= thresholds[:, None]).sum(axis=1))
    return {
        int(count): sorted(order[choose(apart[np.ix_(order[:count], order[:count])], most)].tolist())
        for count in counts[counts > 0][::every]
    }


def by_row_sums(apart: Floats, most: int) -> npt.NDArray[np.int64]:
    """Greedy elimination with row sums that are kept up to date."""
    left = np.ones(len(apart), np.bool_)
    sums = apart.sum(axis=1)
    for _ in range(len(apart) - most):
        removed = int(np.argmin(np.where(left, sums, np.inf)))
        left[removed] = False
        sums -= apart[removed]
    return np.flatnonzero(left)


def by_the_pseudocode(apart: Floats, most: int) -> npt.NDArray[np.int64]:
    """The paper's Algorithm 2 with its rule mended: the diversity of the rest is worked out for each item that might
    go, and the one whose rest is the most diverse goes."""
    left = list(range(len(apart)))
    while len(left) > most:
        rests = [left[:place] + left[place + 1 :] for place in range(len(left))]
        spreads = [apart[np.ix_(rest, rest)].sum() / max(most, len(rest)) for rest in rests]
        left = rests[int(np.argmax(spreads))]
    return np.array(left, np.int64)


def by_pyversity(scores: Floats, vectors: Floats, *, name: str, most: int, trade_off: float) -> npt.NDArray[np.int64]:
    """What a strategy of pyversity keeps."""
    import pyversity

    return pyversity.diversify(vectors, scores, most, strategy=name, diversity=trade_off).indices


def objective(name: str, scores: Floats, vectors: Floats, rows: npt.NDArray[np.int64], trade_off: float) -> float:
    """What mmr, msd and dpp make large, of a set. mmr has an order and no set: the set is put in its own greedy one."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = unit[rows] @ unit[rows].T
    if name == "dpp":
        weights = np.exp((1 - trade_off) * (scores - scores.mean()) / scores.std())[rows]
        return float(np.linalg.slogdet(weights[:, None] * alike * weights[None, :])[1])
    alike = np.clip(alike, 0.0, 1.0)
    if name == "msd":
        between = (1.0 - alike)[np.triu_indices(len(rows), 1)].sum()
        return float((1 - trade_off) * scores[rows].sum() + trade_off * between)
    chosen: list[int] = []
    total = 0.0
    for _ in rows:
        nearest = alike[:, chosen].max(axis=1) if chosen else np.zeros(len(rows))
        gains = (1 - trade_off) * scores[rows] - trade_off * nearest
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
        total += float(gains[chosen[-1]])
    return total
