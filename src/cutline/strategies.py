"""How the items of a list that is too long are chosen: strategies by name, and of one's own."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._display import shown
from cutline._rows import keyed_hash
from cutline.diversity import eliminate, whole_distances
from cutline.errors import InputError, MissingExtraError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]

PYVERSITY = ("mmr", "msd", "dpp", "cover")
STRATEGIES = ("eliminate", *PYVERSITY)


@runtime_checkable
class Strategy(Protocol):
    """Chooses at most `max_size` of the items it is given: their positions among these, each once, in any order.

    `scores` (n,) fall, equal ones in the order of their vectors; `distances` (n, n) are those of `distances_of`. Such
    a function may also take, by name, `vectors` (n, d), None where distances are precomputed, and `rng`, a numpy
    Generator whose seed follows from the scores and vectors of the list and from the seed of the rule: the same list
    meets the same numbers, whatever stands beside it and in whatever order its items come. It is called where there
    are more than `max_size` items.
    """

    def __call__(self, scores: Floats, distances: Floats, max_size: int) -> npt.ArrayLike:
        """Positions of the items chosen."""
        ...


def by_pyversity(name: str, trade_off: float) -> Strategy:
    """A strategy of the pyversity package, which has the vectors and a similarity of its own: their cosine, in single
    precision. `trade_off`: 0 looks at relevance alone, 1 at diversity alone."""

    def choose(scores: Floats, distances: Floats, max_size: int, *, vectors: Vectors) -> Any:
        try:
            import pyversity
        except ImportError:
            raise MissingExtraError(
                f"strategy {name!r} needs pyversity, which the extra `diversity` installs: "
                "pip install 'cutline[diversity]'"
            ) from None
        return pyversity.diversify(vectors, scores, max_size, strategy=name, diversity=trade_off).indices

    return cast(Strategy, choose)


def name_of(strategy: Any) -> str:
    """What a certificate calls a strategy of one's own: its `name`, or that of the function or class."""
    name = getattr(strategy, "name", None) or getattr(strategy, "__name__", None) or type(strategy).__name__
    if not isinstance(name, str) or name in ("<lambda>", "partial"):
        came = shown(cast("object", strategy))
        raise InputError(f"strategy must have a name, for a certificate to write down, got {came}; define it with def")
    return name


def wishes_of(strategy: Any) -> frozenset[str]:
    """Which of `vectors` and `rng` a strategy takes by name, beside the three that come first."""
    try:
        signature = inspect.signature(strategy)
    except (TypeError, ValueError):  # written in C: nothing is known of it
        return frozenset()
    wishes = frozenset(list(signature.parameters)[3:]) & {"vectors", "rng"}
    try:
        signature.bind(None, None, 1, **dict.fromkeys(wishes))
    except TypeError as problem:
        raise InputError(
            f"strategy {name_of(strategy)!r} must take (scores, distances, max_size), and may take vectors and rng by "
            f"name; it takes {signature}: {problem}"
        ) from None
    return wishes


def captured_by(strategy: Any) -> dict[str, Any]:
    """The plain values that a function made by another one has from it: with others it is another strategy."""
    function = getattr(strategy, "__func__", strategy)
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    held: dict[str, object] = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    return {name: value for name, value in held.items() if isinstance(value, bool | int | float | str)}


def chooser_of(strategy: Any, trade_off: float | None) -> Chooser:
    """What a name stands for, or a strategy of one's own."""
    if isinstance(strategy, str):
        call = eliminate if strategy == "eliminate" else by_pyversity(strategy, 0.5 if trade_off is None else trade_off)
        return Chooser(strategy, call, wishes_of(call))
    return Chooser(name_of(strategy), strategy, wishes_of(strategy))


@dataclass(frozen=True, slots=True)
class Chooser:
    """A strategy, what it is called, and which of `vectors` and `rng` it takes."""

    name: str
    call: Any
    wishes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """One list as a strategy sees it: in an order that follows from scores and vectors, not from that of the items.

    order: the row of each item in the list; scores, distances and vectors in that order; seed: a hash of the scores
    and vectors of the whole list, keyed by the seed of the rule, where the strategy takes chance.
    """

    chooser: Chooser
    order: Integers
    scores: Floats
    distances: Floats
    vectors: Floats | None
    seed: int

    @classmethod
    def of(cls, scores: Floats, vectors: Vectors, *, distance: str, chooser: Chooser, seed: int) -> Candidates:
        """The candidates of one list, from one score and one vector per item."""
        places = np.arange(len(scores))
        precomputed = distance == "precomputed"
        apart = whole_distances(vectors, places, places, distance)
        # minus zero is zero, and single precision is written as double: the same vectors have the same bytes
        meaning = np.sort(apart, axis=1) if precomputed else np.asarray(vectors, dtype="<f8") + 0.0
        order = np.argsort(-scores, kind="stable")
        if bool((scores[order[1:]] == scores[order[:-1]]).any()):
            bytes_of = [row.tobytes() for row in meaning]
            order = np.array(sorted(places.tolist(), key=lambda i: (-scores[i], bytes_of[i], i)), dtype=np.int64)
        return cls(
            chooser,
            order,
            scores[order],
            apart[np.ix_(order, order)],
            None if precomputed else meaning[order],
            _hashed(scores[order], meaning[order], seed) if "rng" in chooser.wishes else 0,
        )

    def chosen(self, count: int, max_size: int) -> Integers:
        """The rows chosen of the best `count` items, which are more than `max_size`: best first, and checked."""
        extra: dict[str, Any] = {}
        if "vectors" in self.chooser.wishes:
            extra["vectors"] = None if self.vectors is None else self.vectors[:count].copy()
        if "rng" in self.chooser.wishes:
            extra["rng"] = np.random.default_rng(self.seed)
        given = self.chooser.call(self.scores[:count].copy(), self.distances[:count, :count].copy(), max_size, **extra)
        positions = _checked_positions(self.chooser.name, given, count, max_size)
        rows = self.order[positions]
        return rows[np.lexsort((rows, -self.scores[positions]))]


def _hashed(scores: Floats, meaning: Floats, seed: int) -> int:
    """BLAKE2b-128 of the scores and vectors of a list, in their own order, keyed by a seed."""
    hashed = keyed_hash(seed)
    hashed.update(np.asarray(scores + 0.0, dtype="<f8").tobytes())
    hashed.update(np.ascontiguousarray(meaning, dtype="<f8").tobytes())
    return int.from_bytes(hashed.digest(), "big")


def _checked_positions(name: str, given: Any, count: int, max_size: int) -> Integers:
    try:
        positions = np.asarray(given)
    except ValueError:
        raise InputError(f"strategy {name!r} must give positions of items, got {shown(given)}") from None
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise InputError(f"strategy {name!r} must give positions of items, got {shown(given)}")
    if len(positions) > max_size:
        raise InputError(
            f"strategy {name!r} must choose at most {max_size} items, got {len(positions)}: {shown(given)}"
        )
    if len(positions) and (positions.min() < 0 or positions.max() >= count):
        raise InputError(
            f"strategy {name!r} must choose among the {count} items it is given, at positions 0 to "
            f"{count - 1}, got {shown(given)}"
        )
    if len(np.unique(positions)) < len(positions):
        raise InputError(f"strategy {name!r} must choose each item once, got {shown(given)}")
    return positions.astype(np.int64)
