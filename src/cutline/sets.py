"""Rules that cut a scored list at a threshold. A rule sees scores (and vectors), never labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import check_whole
from cutline.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
UNLIMITED = np.iinfo(np.int64).max


@runtime_checkable
class SetRule(Protocol):
    """Chooses items of a list: (scores, vectors, threshold) → rows, best first. One list at a time, whatever the
    others are."""

    name: ClassVar[str]
    needs_vectors: ClassVar[bool]

    def choose(self, scores: Floats, vectors: npt.NDArray[Any] | None, threshold: float) -> Integers:
        """The chosen rows of one list, best first."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        ...


@dataclass(frozen=True, slots=True)
class Threshold:
    """Keep the items with score ≥ λ: at least the best `min_size`, at most the best `max_size`.

    Where the sizes cut through equal scores, the lower position in the list stays. That is a rule about positions:
    it keeps its guarantee as long as position in the list means the same for new queries as it did for the
    calibration queries.
    """

    min_size: int = 0
    max_size: int | None = None
    name: ClassVar[str] = "threshold"
    needs_vectors: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_size", check_whole("min_size", self.min_size, least=0))
        if self.max_size is not None:
            object.__setattr__(self, "max_size", check_whole("max_size", self.max_size, least=1))
            if self.min_size > self.limit:
                raise InputError(f"min_size must be at most max_size, got {self.min_size} and {self.max_size}")

    @property
    def limit(self) -> int:
        """The largest size allowed."""
        return UNLIMITED if self.max_size is None else self.max_size

    def choose(self, scores: Floats, vectors: npt.NDArray[Any] | None, threshold: float) -> Integers:
        """The chosen rows of one list, best first."""
        from cutline.kernels.lists import cut_list

        rows = np.empty(len(scores), np.int64)
        return rows[: cut_list(scores, threshold, self.min_size, self.limit, rows)]

    def choose_all(self, scores: Floats, offsets: Integers, threshold: float) -> tuple[Integers, Integers]:
        """The chosen rows of many lists, best first and list after list, and how many of each."""
        from cutline.kernels._compile import on_threads, spans
        from cutline.kernels.lists import cut_lists

        rows, sizes = np.empty(len(scores), np.int64), np.empty(len(offsets) - 1, np.int64)
        cut = partial(cut_lists, scores, offsets, threshold, self.min_size, self.limit)
        on_threads([partial(cut, *span, rows, sizes) for span in spans(len(sizes), least=1024)])
        starts = np.repeat(offsets[:-1] - (np.cumsum(sizes) - sizes), sizes)
        return rows[np.arange(len(starts)) + starts], sizes

    def bounded_scores(self, scores: Floats, offsets: Integers) -> Floats:
        """Scores with which a plain threshold cuts the same lists: +∞ for those always kept, -∞ for those never
        kept."""
        from cutline.kernels._compile import on_threads, spans
        from cutline.kernels.lists import bound_lists

        if self.min_size == 0 and self.max_size is None:
            return scores
        bounded = np.empty(len(scores))
        bound = partial(bound_lists, scores, offsets, self.min_size, self.limit)
        on_threads([partial(bound, *span, bounded) for span in spans(len(offsets) - 1, least=1024)])
        return bounded

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name, "min_size": self.min_size, "max_size": self.max_size}


RULES: dict[str, type[Any]] = {rule.name: rule for rule in (Threshold,)}
