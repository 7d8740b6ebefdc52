"""What the model says of a list, turned into one score per item: taken as given, or as win rates against the other
items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, check_one_of
from cutline.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@runtime_checkable
class Scoring(Protocol):
    """Scores of ragged lists from a model's outputs. It sees one list at a time, and never a label."""

    name: ClassVar[str]
    depends_on_length: ClassVar[bool]

    def item_scores(self, outputs: Floats, offsets: Integers) -> Floats:
        """One score per item; the lists are outputs[offsets[q]:offsets[q + 1]]."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        ...


@dataclass(frozen=True, slots=True)
class AsGiven:
    """The model's outputs are the scores. They must mean the same from one query to the next."""

    name: ClassVar[str] = "as-given"
    depends_on_length: ClassVar[bool] = False

    def item_scores(self, outputs: Floats, offsets: Integers) -> Floats:
        """The outputs themselves."""
        return outputs

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name}


@dataclass(frozen=True, slots=True)
class WinRate:
    """The expected share of the other items that an item beats: s_i = 1/(K-1) Σ_{j≠i} σ((f_i - f_j)/scale).

    From the paper, section 2.2, with the logistic link. A single item has s = 1/2 by convention. Scores lie in [0,
    1] and depend on which other items stand in the list: with other list lengths K a threshold means something else.
    """

    scale: float = 1.0
    name: ClassVar[str] = "win-rate"
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not check_number("scale", self.scale) > 0:
            raise InputError(f"scale must be above 0, got {self.scale!r}")
        object.__setattr__(self, "scale", float(self.scale))

    def item_scores(self, outputs: Floats, offsets: Integers) -> Floats:
        """Win rates within each list; equal outputs have equal rates, in whatever order they come."""
        return win_rates(outputs, offsets, scale=self.scale)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name, "scale": self.scale}


def win_rates(outputs: Floats, offsets: Integers, *, scale: float = 1.0) -> Floats:
    """Win rates of ragged lists of model outputs. Relative error about 1e-13."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.lists import win_rates_of_lists

    rates = np.empty(len(outputs))
    tasks = spans(len(offsets) - 1, least=64)
    on_threads([partial(win_rates_of_lists, outputs, offsets, scale, *span, rates) for span in tasks])
    return rates


def win_rates_from_matrix(preferences: npt.ArrayLike, *, ties: str = "half") -> Floats:
    """Win rates of one list from a matrix π_ij = P(i preferred to j).

    With `ties="half"` both directions are used, (π_ij + 1 - π_ji)/2: exact whether a tie counts for both ("≤", where
    π_ij + π_ji > 1) or for neither ("<"). With `ties="as-given"` the matrix is taken as it is.
    """
    check_one_of("ties", ties, ("half", "as-given"))
    matrix = np.asarray(preferences, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InputError(f"preferences must be a square matrix, got shape {matrix.shape}")
    if not bool(np.all((matrix >= 0) & (matrix <= 1) | np.eye(len(matrix), dtype=bool))):
        raise InputError("preferences must be probabilities in [0, 1] off the diagonal; apply a sigmoid first?")
    if len(matrix) == 1:
        return np.array([0.5])
    wins = (matrix + 1.0 - matrix.T) / 2.0 if ties == "half" else matrix.copy()
    np.fill_diagonal(wins, 0.0)
    return wins.sum(axis=1) / (len(matrix) - 1)


SCORINGS: dict[str, type[Any]] = {scoring.name: scoring for scoring in (AsGiven, WinRate)}
