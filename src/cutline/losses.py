"""Losses of a cut list, in [0, 1] per query. Each declares the end of the walk at which it is safe to begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import lacking
from cutline._display import shown
from cutline.errors import InputError
from cutline.relevance import Relevance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SafeEnd = Literal["high", "low"]


@runtime_checkable
class Loss(Protocol):
    """The loss of each list. `safe_end` says where the walk starts: "high" (returning little) or "low" (returning
    all)."""

    name: ClassVar[str]
    safe_end: ClassVar[SafeEnd]

    @property
    def relevance(self) -> Relevance:
        """What makes an item good."""
        ...

    def of_lists(self, chosen: Flags, badness: Floats, offsets: Integers) -> Floats:
        """One loss in [0, 1] per query; badness is NaN where an item is passed over."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it, relevance apart."""
        ...


@dataclass(frozen=True, slots=True)
class FalseDiscovery:
    """The share of not-good items in a list: L = Σ_{i∈S} b_i / max(|S|, 1). An empty list costs nothing."""

    relevance: Relevance
    name: ClassVar[str] = "false-discovery"
    safe_end: ClassVar[SafeEnd] = "high"

    def __post_init__(self) -> None:
        _check_relevance(self.name, self.relevance)

    def of_lists(self, chosen: Flags, badness: Floats, offsets: Integers) -> Floats:
        """The share of the chosen judged items of each list that is bad; 0 where none is chosen."""
        judged = chosen & ~np.isnan(badness)
        bad = sums_by_list(np.where(judged, badness, 0.0), offsets)
        return bad / np.maximum(sums_by_list(judged, offsets), 1)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name}


@dataclass(frozen=True, slots=True)
class Miss:
    """The share of a query's good items that its list leaves out: L = 1 - Σ_{i∈S}(1-b_i) / Σ_i(1-b_i); 0 with none
    good."""

    relevance: Relevance
    name: ClassVar[str] = "miss"
    safe_end: ClassVar[SafeEnd] = "low"

    def __post_init__(self) -> None:
        _check_relevance(self.name, self.relevance)

    def of_lists(self, chosen: Flags, badness: Floats, offsets: Integers) -> Floats:
        """The share of the good items of each list that is not chosen; 0 where the query has none."""
        goodness = np.where(np.isnan(badness), 0.0, 1.0 - badness)
        good = sums_by_list(goodness, offsets)
        missed = sums_by_list(np.where(chosen, 0.0, goodness), offsets)
        return np.divide(missed, good, out=np.zeros_like(good), where=good > 0)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name}


def sums_by_list(values: npt.NDArray[Any], offsets: Integers) -> Floats:
    """Sums of ragged values, list by list, each from left to right; 0 for an empty list."""
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    sums: Any = np.bincount(queries, weights=values, minlength=len(offsets) - 1)
    return sums


def _check_relevance(name: str, relevance: object) -> None:
    if isinstance(relevance, type) or lacking(relevance, Relevance):
        raise InputError(
            f"{name}: relevance must say which items are good, such as Grade(at_least=3) or TopM(m=5), "
            f"got {shown(relevance)}"
        )


LOSSES: dict[str, type[Any]] = {loss.name: loss for loss in (FalseDiscovery, Miss)}
