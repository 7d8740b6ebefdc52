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
