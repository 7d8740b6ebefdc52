"""The risk curve: sums of losses on a grid of thresholds, which add up over chunks, threads and machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np
import numpy.typing as npt

from cutline._arrays import frozen_view
from cutline._checks import check_one_of, check_piece
from cutline._display import html_table, shown, text_table
from cutline._record import ListLengths, check_settings
from cutline._tables import check_is_queries
from cutline.cutting import (
    Lists,
    check_summable,
    fingerprint,
    judged_labels,
    lengths_of,
    prepared,
    unit_losses,
    width_of,
)
from cutline.errors import InputError, warn
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.relevance import UNJUDGED, Relevance
from cutline.sequence import grid
from cutline.sets import SetRule, Threshold

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class _State(msgspec.Struct, frozen=True, array_like=True):
    """What a curve has summed up, as it travels between processes: numbers, and a mark of what they are sums of."""

    meaning: bytes
    sums: bytes  # 64-bit whole numbers, lowest byte first, row by row
    lengths: dict[int, int]
    fingerprint: tuple[int, int]
    n_judged: int
    vector_width: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskCurve:
    """Sums over queries at every threshold of a walk: ΣL, ΣL², ΣL·1[S≠∅], Σ|S|, Σb, non-empty; and n, items, lengths.

    All sums are whole numbers, so that any order of chunks and merges gives the same curve to the last bit. A curve
    keeps no single loss: it serves evidence that needs sums, not betting.
    """

    loss: Loss
    scoring: Scoring
    sets: SetRule
    thresholds: Floats
    sums: Integers
    lengths: dict[int, int]
    fingerprint: tuple[int, int]
    n_judged: int = 0
    vector_width: int | None = None  # how many numbers a vector has, where the rule looks at vectors

    def __post_init__(self) -> None:
        from cutline.kernels.walk import COLUMNS

        thresholds, sums = np.array(self.thresholds, dtype=np.float64), np.asarray(self.sums)
        if thresholds.ndim != 1 or sums.shape != (len(thresholds), COLUMNS) or sums.dtype != np.int64:
            raise InputError(
                f"sums must be {COLUMNS} 64-bit whole numbers for each of {thresholds.size} thresholds, got "
                f"{sums.dtype} of shape {sums.shape}; RiskCurve.empty makes a curve"
            )
        object.__setattr__(self, "thresholds", frozen_view(thresholds))
        object.__setattr__(self, "sums", frozen_view(sums))

    @classmethod
    def empty(
        cls,
        *,
        loss: Loss,
        scoring: Scoring | None = None,
        sets: SetRule | None = None,
        thresholds: npt.ArrayLike | None = None,
    ) -> Self:
        """A curve of no queries, to add chunks to."""
        from cutline.kernels.walk import COLUMNS

        scoring, sets = AsGiven() if scoring is None else scoring, Threshold() if sets is None else sets
        check_pieces(loss=loss, scoring=scoring, sets=sets)
        if isinstance(thresholds, str):
            raise InputError(
                f"thresholds of a curve must be numbers, got {shown(thresholds)}; pass thresholds=cl.grid(…)"
            )
        values = check_thresholds(thresholds, loss=loss, scoring=scoring)
        sums = np.zeros((len(values), COLUMNS), np.int64)
        return cls(
            loss=loss, scoring=scoring, sets=sets, thresholds=values, sums=sums,
            lengths={}, fingerprint=(0, 0),
        )  # fmt: skip

    def add(self, queries: Queries) -> Self:
        """The curve with these queries added. Whole queries only: one split over two chunks would count as two."""
        check_is_queries(queries)
        lists = prepared(queries, loss=self.loss, scoring=self.scoring, sets=self.sets)
        return self.merge(self.of(lists, judged_labels(queries)))

    def of(self, lists: Lists, n_judged: int) -> Self:
        """The curve of these lists alone, on the same thresholds."""
        from cutline.walks import walk_of

        walk = walk_of(lists, self.thresholds, squares=True, losses=False, entire=True)
        return replace(
            self,
            sums=np.concatenate([stretch.sums for stretch in walk.stretches()]),
            lengths=lengths_of(np.diff(lists.offsets)),
            fingerprint=fingerprint(lists.scores, lists.badness, lists.offsets),
            n_judged=n_judged,
            vector_width=width_of(lists),
        )

    def merge(self, other: RiskCurve) -> Self:
        """Both curves in one; they must have the same thresholds, loss, scoring and rule."""
        if type(other) is not type(self):
            raise InputError(f"other must be a RiskCurve, got {type(other).__name__}; add() takes queries")
        mine, theirs = self._meaning(), other._meaning()
        differing = [f"{name}: {mine[name]} and {theirs[name]}" for name in mine if mine[name] != theirs[name]]
        if differing or not np.array_equal(self.thresholds, other.thresholds):
            differing = differing or ["thresholds with the same ends and count, and other values between"]
            raise InputError(
                f"curves to merge must share thresholds, loss, scoring and sets, got {'; '.join(differing)}"
            )
        if self.n_queries and (self.fingerprint, self.lengths) == (other.fingerprint, other.lengths):
            warn("both curves hold the same lists: was a chunk added twice? each query counts once only")
        check_summable(self.n_queries + other.n_queries)
        if None not in (self.vector_width, other.vector_width) and self.vector_width != other.vector_width:
            raise InputError(f"vectors must be of one width, got {self.vector_width} and {other.vector_width}")
        lengths = dict(self.lengths)
        for length, count in other.lengths.items():
            lengths[length] = lengths.get(length, 0) + count
        joined = tuple((one + two) % 2**64 for one, two in zip(self.fingerprint, other.fingerprint, strict=True))
        return replace(
            self,
            sums=self.sums + other.sums,
            lengths=lengths,
            fingerprint=(joined[0], joined[1]),
            n_judged=self.n_judged + other.n_judged,
            vector_width=self.vector_width if other.vector_width is None else other.vector_width,
        )

    def state(self) -> bytes:
        """The sums as bytes, for another process or another day. What they are sums of is told by `empty` there."""
        return msgspec.msgpack.encode(
            _State(
                self._mark(), self.sums.astype("<i8").tobytes(), self.lengths, self.fingerprint, self.n_judged,
                self.vector_width,
            )
        )  # fmt: skip

    def with_state(self, state: bytes) -> Self:
        """A curve of the same thresholds, loss, scoring and rule with the sums of a `state`, whatever this one
        holds. Nothing in a state is executed."""
        try:
            found = msgspec.msgpack.decode(state, type=_State)
        except (msgspec.MsgspecError, TypeError):
            raise InputError("state must be the bytes that RiskCurve.state() gave, whole; got something else") from None
        if found.meaning != self._mark() or len(found.sums) != self.sums.nbytes:
            raise InputError(
                "state must be that of a curve with the same thresholds, loss, scoring and sets; make the empty curve "
                "with those of the curve it came from"
            )
        sums = np.frombuffer(found.sums, "<i8").reshape(self.sums.shape).astype(np.int64)
        return replace(
            self, sums=sums, lengths=found.lengths, fingerprint=found.fingerprint, n_judged=found.n_judged,
            vector_width=found.vector_width,
        )  # fmt: skip

    def _mark(self) -> bytes:
        """A hash of what the sums are sums of."""
        meaning = msgspec.json.encode(self._meaning(), order="sorted")
        return sha256(meaning + self.thresholds.astype("<f8").tobytes()).digest()

    def without(self, other: RiskCurve) -> Self:
        """The curve without queries that are part of it."""
        taken = replace(
            other,
            sums=-other.sums,
            lengths={length: -count for length, count in other.lengths.items()},
            fingerprint=((-other.fingerprint[0]) % 2**64, (-other.fingerprint[1]) % 2**64),
            n_judged=-other.n_judged,
        )
        left = self.merge(taken)
        return replace(left, lengths={length: count for length, count in left.lengths.items() if count})

    def _meaning(self) -> dict[str, object]:
        return {
            "loss": _kind_of(self.loss),
            "relevance": (*_kind_of(self.loss.relevance), self.loss.relevance.unjudged),
            "scoring": _kind_of(self.scoring),
            "sets": _kind_of(self.sets),
            "thresholds": f"{len(self)} from {self.thresholds[0]:g} to {self.thresholds[-1]:g}",
        }

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return sum(self.lengths.values())

    @property
    def n_items(self) -> int:
        """Items added so far."""
        return sum(length * count for length, count in self.lengths.items())

    @property
    def risk(self) -> Floats:
        """The mean loss at each threshold."""
        from cutline.kernels.walk import LOSS

        return self.sums[:, LOSS] / np.float64(unit_losses(max(1, self.n_queries)))

    @property
    def mean_size(self) -> Floats:
        """The mean length of the lists at each threshold."""
        from cutline.kernels.walk import CHOSEN

        return self.sums[:, CHOSEN] / max(1, self.n_queries)

    def __len__(self) -> int:
        return len(self.thresholds)

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "queries", f"{self.n_queries:,}, {self.n_items:,} items"
        yield "thresholds", f"{len(self):,}, {self.thresholds[0]:g} … {self.thresholds[-1]:g}"
        if self.n_queries:
            yield "risk", f"{self.risk[0]:.4f} … {self.risk[-1]:.4f}"
            yield "mean list size", f"{self.mean_size[0]:.2f} … {self.mean_size[-1]:.2f}"

    def __repr__(self) -> str:
        return text_table(f"RiskCurve of {self.loss.name}", self._rows())

    def _repr_html_(self) -> str:
        return html_table(f"RiskCurve of {self.loss.name}", self._rows())


def _kind_of(piece: Loss | Relevance | Scoring | SetRule) -> tuple[str, object]:
    return type(piece).__name__, piece.settings()


def length_quantiles(lengths: dict[int, int]) -> ListLengths:
    """The shortest, median and longest list length, from counts."""
    sizes = np.array(sorted(lengths), dtype=np.int64)
    upto = np.cumsum([lengths[int(size)] for size in sizes])
    total = int(upto[-1])
    middle = sizes[np.searchsorted(upto, [(total - 1) // 2, total // 2], side="right")]
    return ListLengths(min=int(sizes[0]), median=float(middle.mean()), max=int(sizes[-1]))


def check_thresholds(thresholds: npt.ArrayLike | None, *, loss: Loss, scoring: Scoring) -> Floats:
    """A grid in the order in which this loss walks it; the default grid of win rates where none is given."""
    falling = loss.safe_end == "high"
    if thresholds is None:
        if scoring.name != "win-rate":
            raise InputError(
                "thresholds are wanted: scores as given have no grid of their own; pass thresholds=cl.grid(…)"
            )
        return grid(0.999, 0.001, 0.001) if falling else grid(0.001, 0.999, 0.001)
    try:
        values = np.array(thresholds, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f'thresholds must be numbers or "exact", got {shown(thresholds)}') from None
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise InputError(f"thresholds must be a list of at least one finite number, got {shown(thresholds)}")
    steps = np.diff(values)
    if not bool(np.all(steps < 0 if falling else steps > 0)):
        order, cause = ("fall", "from few items on") if falling else ("rise", "from all items on")
        place = int(np.flatnonzero(steps >= 0 if falling else steps <= 0)[0])
        backwards = bool(np.all(steps > 0 if falling else steps < 0))
        fix = "; reverse them" if backwards else "; sort them and drop repeats"
        raise InputError(
            f"thresholds must {order} strictly, as {loss.name} walks {cause}, "
            f"got {values[place]:g} then {values[place + 1]:g}{fix}"
        )
    if scoring.name == "win-rate" and (values.min() < 0 or values.max() > 1):
        raise InputError(f"thresholds of win rates must lie in [0, 1], got {values.min():g} to {values.max():g}")
    return values + 0.0


def check_pieces(*, loss: Loss, scoring: Scoring, sets: SetRule) -> None:
    """A loss, a scoring and a rule, as objects whose settings a certificate can write down."""
    check_piece("loss", loss, Loss, "cl.FalseDiscovery(cl.Grade(at_least=3))")
    check_piece("scoring", scoring, Scoring, "cl.AsGiven() or cl.WinRate()")
    check_piece("sets", sets, SetRule, "cl.Threshold()")
    check_one_of(f"safe_end of the loss {loss.name!r}", loss.safe_end, ("high", "low"))
    check_piece("relevance", loss.relevance, Relevance, "cl.Grade(at_least=3)")
    check_one_of(f"unjudged of the relevance {loss.relevance.name!r}", loss.relevance.unjudged, UNJUDGED)
    for role, piece in (("loss", loss), ("relevance", loss.relevance), ("scoring", scoring), ("sets", sets)):
        check_settings(role, piece)
