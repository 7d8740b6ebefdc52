"""The paper's protocol: split the validation queries again and again, calibrate on one part, look at the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutline.evidence import Evidence
from cutline.paper.tables import LossTable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ABSTAINED = -1  # in place of a place on the walk


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows of the queries that calibrate and of those that test, and which of the latter is looked at alone."""

    calibration: Integers
    test: Integers
    one: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """What each split came to. Where calibration abstained, `place` is -1 and all else is NaN.

    `size_of_one` is the length of the list of one random test query, as the paper records it.
    """

    place: Integers
    threshold: Floats
    risk: Floats
    mean_size: Floats
    size_of_one: Floats

    def __len__(self) -> int:
        return len(self.place)

    @property
    def certified(self) -> npt.NDArray[np.bool_]:
        """Which splits came to a threshold."""
        return self.place != ABSTAINED

    @property
    def typical(self) -> int | None:
        """The place at which the splits stopped most often, the safer one among equals; None where all abstained."""
        places = self.place[self.certified]
        return int(np.argmax(np.bincount(places))) if len(places) else None


def splits_of(n_queries: int, *, n_calibration: int, repeats: int, seed: int) -> list[Split]:
    """Random splits; the same for the same seed."""
    rng = np.random.default_rng([seed, 1])
    found: list[Split] = []
    for _ in range(repeats):
        order = rng.permutation(n_queries)
        calibration, test = np.sort(order[:n_calibration]), np.sort(order[n_calibration:])
        found.append(Split(calibration, test, int(test[rng.integers(len(test))])))
    return found


def outcomes_of(
    table: LossTable, splits: list[Split], *, evidence: Evidence, alpha: float, delta: float, seed: int = 0,
    first: int = 0,
) -> Outcomes:  # fmt: skip
    """Calibrate each split, from place `first` of the walk on, and measure it on its test queries. Split i has the seed
    `seed` + i, as in `resample`."""
    places = np.full(len(splits), ABSTAINED, np.int64)
    figures = np.full((len(splits), 4), np.nan)
    for number, split in enumerate(splits):
        own = seed + number
        place = table.place(split.calibration, evidence=evidence, alpha=alpha, delta=delta, seed=own, first=first)
        if place is not None:
            sizes = table.sizes(place)
            places[number] = place
            figures[number] = (
                table.thresholds[place], table.risk(split.test, place), sizes[split.test].mean(), sizes[split.one],
            )  # fmt: skip
    threshold, risk, mean_size, size_of_one = figures.T
    return Outcomes(place=places, threshold=threshold, risk=risk, mean_size=mean_size, size_of_one=size_of_one)
