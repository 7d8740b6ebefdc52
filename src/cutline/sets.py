"""Rules that cut a scored list at a threshold. A rule sees scores (and vectors), never labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._arrays import vectors_of
from cutline._checks import check_number, check_one_of, check_seed, check_whole
from cutline._display import shown
from cutline._vectors import vectors_at
from cutline.diversity import DISTANCES, NO_ROWS, Distance, check_one_list, eliminated
from cutline.errors import InputError
from cutline.strategies import PYVERSITY, STRATEGIES, Candidates, Chooser, Strategy, captured_by, chooser_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]
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


@dataclass(frozen=True, slots=True)
class Diverse:
    """Keep the items with score ≥ λ; where these are more than `max_size`, the ones that `strategy` chooses of them.

    `strategy="eliminate"` removes, until `max_size` are left, the item with the smallest sum of distances to the
    others left; among equals the lowest score goes first, then the highest position. "mmr", "msd", "dpp" and "cover"
    are those of the pyversity package (extra `diversity`), with `trade_off` from 0 (relevance alone) to 1 (diversity
    alone; 0.5 by default). Or a function of one's own, `(scores, distances, max_size) → positions`, see
    `strategies.Strategy`; one that is random takes `rng`, whose numbers follow from the list itself and from `seed`.

    `distance` is "euclidean", "cosine", "jaccard" (vectors of 0 and 1), or "precomputed": the vector of an item then
    holds its distances to the items of its own list, in their order, padded to the longest list. Whatever the
    distance and the strategy, the promise is about the lists that come out. Where ties are left to positions, it holds
    as long as position in the list means the same for new queries, as with `Threshold`.
    """

    max_size: int
    _: KW_ONLY
    distance: Distance = "euclidean"
    strategy: str | Strategy = "eliminate"
    trade_off: float | None = None
    seed: int = 0
    name: ClassVar[str] = "diverse"
    needs_vectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_size", check_whole("max_size", self.max_size, least=1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_one_of("distance", self.distance, DISTANCES)
        if isinstance(self.strategy, str):
            check_one_of("strategy", self.strategy, STRATEGIES)
        elif not callable(self.strategy) or isinstance(self.strategy, type):
            raise InputError(
                "strategy must be a name or a function (scores, distances, max_size) → positions, got "
                f"{shown(self.strategy)}"
            )
        _ = self.chooser
        if self.strategy in PYVERSITY:
            self._check_pyversity()
        elif self.trade_off is not None:
            raise InputError(f"trade_off is for {', '.join(map(repr, PYVERSITY))}, got it with {self.chooser.name!r}")

    def _check_pyversity(self) -> None:
        if self.distance == "precomputed":
            raise InputError(f"strategy {self.strategy!r} needs vectors, which precomputed distances are not")
        trade_off = check_number("trade_off", 0.5 if self.trade_off is None else self.trade_off)
        if not 0.0 <= trade_off <= 1.0:
            raise InputError(f"trade_off must be in [0, 1], got {shown(self.trade_off)}")
        object.__setattr__(self, "trade_off", trade_off)

    @property
    def chooser(self) -> Chooser:
        """The strategy, ready to be called."""
        return chooser_of(self.strategy, self.trade_off)

    def candidates(self, scores: Floats, vectors: Vectors) -> Candidates:
        """One list as the strategy sees it."""
        return Candidates.of(scores, vectors, distance=self.distance, chooser=self.chooser, seed=self.seed)

    @property
    def kind(self) -> int:
        """The distance as compiled loops know it."""
        return DISTANCES.index(self.distance)

    def choose(self, scores: Floats, vectors: Vectors | None, threshold: float) -> Integers:
        """The chosen rows of one list, best first."""
        if vectors is None:
            raise InputError(f"vectors are wanted, as {self.name} needs them")
        vectors = vectors_of(vectors, None)
        if self.distance == "precomputed":
            vectors = vectors[:, : len(scores)]  # what stands beyond is padding, as rows of `Queries` have it
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        check_one_list(vectors, len(scores), self.distance)
        return self.choose_all(scores, np.array([0, len(scores)]), vectors, None, threshold)[0]

    def choose_all(
        self, scores: Floats, offsets: Integers, vectors: Vectors, vector_rows: Integers | None, threshold: float
    ) -> tuple[Integers, Integers]:
        """The chosen rows of many lists, best first and list after list, and how many of each. Vectors were checked."""
        if self.strategy == "eliminate":
            return eliminated(scores, vectors, vector_rows, offsets, threshold, self.max_size, self.kind)
        chosen = [NO_ROWS]
        for begin, end in pairwise(offsets.tolist()):
            count = int(np.count_nonzero(scores[begin:end] >= threshold))
            if count > self.max_size:
                own = vectors_at(vectors, vector_rows, slice(begin, end))
                rows = self.candidates(scores[begin:end], own).chosen(count, self.max_size)
            else:
                rows = np.argsort(-scores[begin:end], kind="stable")[:count]
            chosen.append(begin + rows)
        return np.concatenate(chosen), np.array([len(rows) for rows in chosen[1:]], dtype=np.int64)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it; a strategy of one's own is passed again to `load`, in its rule."""
        settings: dict[str, Any] = {"name": self.name, "max_size": self.max_size, "distance": self.distance}
        settings |= {"strategy": self.chooser.name, "seed": self.seed}
        if self.trade_off is not None:
            settings["trade_off"] = self.trade_off
        if not isinstance(self.strategy, str):
            own = getattr(self.strategy, "settings", None)
            told = own() if callable(own) else captured_by(self.strategy)
            settings |= {"custom": True, **({"strategy_settings": told} if told else {})}
        return settings


RULES: dict[str, type[Any]] = {rule.name: rule for rule in (Threshold, Diverse)}
