"""Losses of scored lists along a walk of thresholds, block by block, no block before it is asked for.

`EvenWalk` is for the built-in losses with a plain threshold: every item has one step, and compiled loops do the rest.
`DiverseWalk`, in a file of its own, is for these losses with lists that a strategy chooses from.
`AnyWalk` is for every other rule or loss: it cuts every list at every threshold, as the definition says.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from cutline.cutting import LARGEST_BLOCK, Lists, Stretch, cut_all, sums_of, units_of
from cutline.diverse_walk import DiverseWalk
from cutline.losses import FalseDiscovery, Miss, sums_by_list
from cutline.sets import Diverse, Threshold

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SHORTEST_BLOCK = 50_000  # changes worth a call


class Walk(Protocol):
    """Stretches of a walk, in order, each computed when it is asked for."""

    def stretches(self) -> Iterator[Stretch]:
        """The next stretch, until the walk ends."""
        ...


def walk_of(lists: Lists, thresholds: Floats, *, squares: bool, losses: bool, entire: bool = False) -> Walk:
    """The walk along given thresholds, in their order; `entire` where all of it will be asked for."""
    if lists.plain:
        return EvenWalk(lists, thresholds, squares=squares, losses=losses)
    if type(lists.rule) is Diverse and type(lists.loss) in (FalseDiscovery, Miss):
        return DiverseWalk(lists, thresholds, losses=losses, entire=entire)
    return AnyWalk(lists, thresholds, losses=losses)


class _State:
    """Where every list of a walk stands. Compiled loops write into these arrays."""

    def __init__(self, lists: Lists, *, squares: bool) -> None:
        from cutline.kernels import walk
        from cutline.kernels._compile import on_threads, spans

        count = len(lists.order)
        self.lists, self.squares = lists, squares
        kinds: dict[type[Any], int] = {FalseDiscovery: walk.FALSE_DISCOVERY, Miss: walk.MISS}
        self.kind = kinds[type(lists.loss)]
        self.unit = lists.badness.unit
        binary = lists.badness.codes.dtype == np.int8 and self.unit == walk.UNITS and count < 1 << 29
        self.shift = walk.SHORT_SHIFT if binary else walk.LONG_SHIFT
        self.dtype = np.int32 if binary else np.int64
        self.spans = spans(count, least=512)
        longest = int(np.diff(lists.offsets).max(initial=0))
        self.short = bool(binary and longest <= walk.SHORT_LIST)
        self.sums: Integers = np.zeros(walk.COLUMNS, np.int64)
        blank = lists.entering and self.kind == walk.FALSE_DISCOVERY  # every list is empty and costs nothing
        wide = 0 if blank and self.short else count
        self.table, self.good_all = np.zeros((wide, 2), np.int64), np.zeros(wide, np.int64)
        self.current = np.zeros(count, np.int64)
        if not blank:
            self.sums = np.sum(on_threads([partial(self._opened, *span) for span in self.spans]), axis=0)
        if self.short:
            self.shares = walk.shares_in_units(longest)
            self.words = np.zeros(count, np.int32) if blank else self._packed()

    def _opened(self, first: int, last: int) -> Integers:
        """Fill the state of one span of lists as they are before the walk; their sums."""
        from cutline.kernels import walk

        lists, sums = self.lists, np.zeros(walk.COLUMNS, np.int64)
        walk.open_lists(
            lists.badness.codes, self.unit, lists.order, lists.offsets, first, last, lists.entering, self.kind,
            self.table, self.good_all, self.current, sums,
        )  # fmt: skip
        return sums

    def _packed(self) -> npt.NDArray[np.int32]:
        """The state of each list as one word: size, and the whole and the part that its loss is the share of."""
        from cutline.kernels import walk

        size, judged, bad = self.table[:, 1] >> 32, self.table[:, 1] & 0xFFFFFFFF, self.table[:, 0] // walk.UNITS
        whole, part = judged, bad
        if self.kind == walk.MISS:
            whole = self.good_all // walk.UNITS
            part = whole - (judged - bad)
        return ((size << walk.SIZE_SHIFT) | (whole << walk.PART_BITS) | part).astype(np.int32)

    def advance(
        self, changes: npt.NDArray[Any], edges: Integers, start: int, stop: int, span: tuple[int, int], losses: Floats
    ) -> Integers:
        """Differences of the sums at steps start … stop-1, over the lists of one span."""
        from cutline.kernels import walk

        sums = np.zeros((stop - start, walk.COLUMNS), np.int64)
        entering = self.lists.entering
        if self.short:
            walk.advance_short(
                changes, edges, start, stop, entering, self.kind, self.squares, self.shares, self.words,
                self.current, *span, sums, losses,
            )  # fmt: skip
        else:
            walk.advance(
                changes, edges, start, stop, self.shift, self.unit, entering, self.kind, self.squares,
                self.table, self.good_all, self.current, *span, sums, losses,
            )  # fmt: skip
        return sums

    def add(self, differences: Integers) -> Integers:
        """The table of sums after these differences, which become part of the state."""
        table = np.cumsum(differences, axis=0) + self.sums
        self.sums = table[-1]
        return table


class EvenWalk:
    """Built-in losses, plain threshold, given thresholds: one sort of all items by step, then one pass."""

    def __init__(self, lists: Lists, thresholds: Floats, *, squares: bool, losses: bool) -> None:
        self.lists, self.thresholds, self.keep = lists, thresholds, losses
        self.state = _State(lists, squares=squares)
        steps = _steps(_bounded(lists), thresholds, lists.entering)
        from cutline.kernels._compile import on_threads

        self.sorted = on_threads([partial(self._sort, steps, span) for span in self.state.spans])

    def _sort(self, steps: npt.NDArray[Any], span: tuple[int, int]) -> tuple[npt.NDArray[Any], Integers]:
        from cutline.kernels import walk

        lists, count = self.lists, len(self.thresholds)
        even, odd = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
        walk.count_steps(steps, lists.order, lists.offsets, *span, even, odd)
        edges = np.concatenate([[0], np.cumsum(even + odd)])
        changes = np.empty(edges[-1], self.state.dtype)
        walk.scatter_changes(
            steps, lists.badness.codes, lists.order, lists.offsets, *span, self.state.shift, edges[:-1].copy(), changes
        )  # fmt: skip
        return changes, edges

    def stretches(self) -> Iterator[Stretch]:
        """Stretches of about equal work: changes where only sums are wanted, losses where these are kept."""
        from cutline.kernels._compile import on_threads

        state, count = self.state, len(self.thresholds)
        changed = np.sum([edges for _, edges in self.sorted], axis=0)
        start, width = 0, 8
        while start < count:
            if self.keep:
                stop = min(count, start + max(1, min(width, LARGEST_BLOCK // max(1, len(self.lists.order)))))
                width = min(64, 2 * width)
            else:
                wanted = changed[start] + max(SHORTEST_BLOCK, int(changed[count]) // 6)
                stop = min(count, max(start + 1, _upto(changed, wanted) - 1))
            losses = np.empty((stop - start if self.keep else 0, len(self.lists.order)))
            tasks = [
                partial(state.advance, changes, edges, start, stop, span, losses)
                for (changes, edges), span in zip(self.sorted, state.spans, strict=True)
            ]
            sums = state.add(np.sum(on_threads(tasks), axis=0))
            yield Stretch(self.thresholds[start:stop], sums, losses)
            start = stop


class ExactWalk:
    """Every calibration score in turn, so that every threshold there is gets tested.

    The first row is the list before any score is reached (threshold ±∞), row r the list after the r-th distinct
    score has entered or left. Items are bucketed by a coarse grid first, so that only the buckets walked through
    are sorted.
    """

    def __init__(self, lists: Lists, *, squares: bool) -> None:
        from cutline.kernels import walk

        self.lists = lists
        self.state = _State(lists, squares=squares)
        self.scores = _bounded(lists)
        slots = np.full(len(lists.offsets) - 1, -1, np.int64)
        slots[lists.order] = np.arange(len(lists.order))
        self.slots = np.repeat(slots, np.diff(lists.offsets))
        finite = self.scores[:: max(1, len(self.scores) // 20_000)]
        pivots = np.unique(finite[np.isfinite(finite)])
        self.pivots = pivots[:: max(1, len(pivots) // 500)]
        steps = (
            _steps(self.scores, self.pivots, lists.entering)
            if len(self.pivots)
            else np.zeros(len(self.scores), np.int16)
        )
        self.edges = np.concatenate([[0], np.cumsum(np.bincount(steps, minlength=len(self.pivots) + 1))])
        self.rows = np.empty(len(self.scores), np.int64)
        walk.scatter_rows(steps, self.edges[:-1].copy(), self.rows)

    def stretches(self) -> Iterator[Stretch]:
        """The lists before the walk, then the buckets, a few at a time."""
        first_in_line = np.flatnonzero(
            (self.scores == (np.inf if self.lists.entering else -np.inf)) & (self.slots >= 0)
        )
        yield self._stretch(np.array([np.inf if self.lists.entering else -np.inf]), first_in_line, None)
        bucket = 0
        while bucket < len(self.edges) - 1:
            wanted = self.edges[bucket] + max(SHORTEST_BLOCK, len(self.rows) // 12)
            last = max(bucket + 1, _upto(self.edges, wanted) - 1)
            rows = self.rows[self.edges[bucket] : self.edges[last]]
            rows = rows[np.isfinite(self.scores[rows]) & (self.slots[rows] >= 0)]
            scores = self.scores[rows] + 0.0
            falling = np.argsort(-scores if self.lists.entering else scores, kind="stable")
            rows, scores = rows[falling], scores[falling]
            begins = (
                np.flatnonzero(np.concatenate([[True], scores[1:] != scores[:-1]]))
                if len(rows)
                else np.empty(0, np.int64)
            )
            if len(begins):
                yield self._stretch(scores[begins], rows, begins)
            bucket = last

    def _stretch(self, thresholds: Floats, rows: Integers, begins: Integers | None) -> Stretch:
        edges = np.append(np.zeros(1, np.int64) if begins is None else begins, len(rows)).astype(np.int64)
        slots = self.slots[rows]
        changes = ((slots << self.state.shift) | (self.lists.badness.codes[rows].astype(np.int64) + 1)).astype(
            self.state.dtype
        )
        nothing = np.empty((0, len(self.lists.order)))
        sums = self.state.advance(changes, edges, 0, len(thresholds), (0, len(self.lists.order)), nothing)
        return Stretch(thresholds, self.state.add(sums), nothing)


class AnyWalk:
    """Any rule and any loss, straight from the definition: cut every list at every threshold."""

    def __init__(self, lists: Lists, thresholds: Floats, *, losses: bool) -> None:
        self.lists, self.thresholds, self.keep = lists, thresholds, losses
        self.badness = lists.badness.shares()

    def stretches(self) -> Iterator[Stretch]:
        """Eight thresholds at a time."""
        from cutline.kernels.walk import UNITS

        for start in range(0, len(self.thresholds), 8):
            thresholds = self.thresholds[start : start + 8]
            rows = [self._at(float(threshold)) for threshold in thresholds]
            losses = np.array([loss for loss, _ in rows]) / UNITS if self.keep else np.empty((0, len(self.lists.order)))
            yield Stretch(thresholds, np.array([sums for _, sums in rows]), losses)

    def _at(self, threshold: float) -> tuple[Integers, Integers]:
        lists = self.lists
        chosen = cut_all(lists.rule, lists.scores, lists.offsets, lists.vectors, threshold, lists.vector_rows)[0]
        losses = units_of(lists.loss, chosen, self.badness, lists.offsets)[lists.order]
        judged = chosen & ~np.isnan(self.badness)
        sizes = sums_by_list(chosen, lists.offsets)[lists.order].astype(np.int64)
        known = sums_by_list(judged, lists.offsets)[lists.order].astype(np.int64)
        codes = np.where(judged, lists.badness.codes.astype(np.int64), 0)
        bad = sums_by_list(codes, lists.offsets)[lists.order].astype(np.int64) * lists.badness.unit
        return losses, sums_of(losses, sizes, bad, known)


def _upto(edges: Integers, wanted: int) -> int:
    """How many of the rising edges are at most `wanted`."""
    return int(np.searchsorted(edges, wanted, side="right"))


def _bounded(lists: Lists) -> Floats:
    return cast(Threshold, lists.rule).bounded_scores(lists.scores, lists.offsets)


def _steps(scores: Floats, thresholds: Floats, entering: bool) -> npt.NDArray[Any]:
    """The step of each item of a walk along these thresholds, which fall if items enter and rise if they leave."""
    from cutline.kernels import walk
    from cutline.kernels._compile import on_threads, spans

    ascending = np.sort(thresholds)
    count = len(ascending)
    steps = np.empty(len(scores), np.int16 if count < 30_000 else np.int32)
    inverse, near = _evenness(ascending)
    if inverse > 0:
        one = partial(walk.locate_evenly, scores, ascending, inverse, near, entering)
    else:
        one = partial(walk.locate, scores, ascending, entering)
    on_threads([partial(one, *span, steps) for span in spans(len(scores), least=16_384)])
    return steps


def _evenness(ascending: Floats) -> tuple[float, float]:
    """1/step of an evenly spaced grid, 0 where its thresholds stand more than a quarter of a step off; and a distance
    from whole places beyond which rounding settles on which side of a threshold a score is (1/2: never)."""
    if len(ascending) < 2 or not np.isfinite(ascending[[0, -1]]).all():
        return 0.0, 0.5
    width = (float(ascending[-1]) - float(ascending[0])) / (len(ascending) - 1)
    if not 0 < width < np.inf or not np.isfinite(1.0 / width):
        return 0.0, 0.5
    places = (ascending - ascending[0]) * (1.0 / width)
    off = float(np.abs(places - np.arange(len(ascending))).max())
    return (1.0 / width if off < 0.25 else 0.0), (1e-6 if off < 5e-7 else 0.5)
