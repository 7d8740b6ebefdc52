"""Losses of diverse lists along a walk of thresholds: each list is chosen from once for every set that reaches one.

Between two thresholds that it takes the same items to reach, a list does not change; and all its sets share one matrix
of distances. What is chosen at a threshold depends on the list alone, so that the stretches are those of `AnyWalk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._vectors import vectors_at
from cutline.cutting import LARGEST_BLOCK, Lists, Stretch
from cutline.diversity import NO_ROWS, ranked
from cutline.losses import Miss
from cutline.sets import Diverse

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]

BLOCK = 64  # lists of one task
STRETCHES = 4  # of about equal work, so that a walk that stops wastes no more than one of them
MOST_KEPT = 1 << 25  # distances kept from one stretch to the next, in 256 MiB; those of further lists are made anew


class DiverseWalk:
    """Built-in losses, lists cut by `Diverse`, given thresholds. Where the entire walk will be asked for, it is one
    stretch, and no distance is kept longer than its list takes."""

    def __init__(self, lists: Lists, thresholds: Floats, *, losses: bool, entire: bool = False) -> None:
        self.lists, self.thresholds, self.keep = lists, thresholds, losses
        self.rule, self.vectors = cast(Diverse, lists.rule), cast(Vectors, lists.vectors)
        self.pieces = 1 if entire else STRETCHES
        self.compiled = self.rule.strategy == "eliminate"
        self.ranked = ranked(lists.scores, lists.offsets)
        count = len(lists.order)
        self.blocks = [(first, min(first + BLOCK, count)) for first in range(0, max(1, count), BLOCK)]
        lengths = np.diff(lists.offsets)[lists.order]
        squares = np.where(lengths > self.rule.max_size, lengths * lengths, 0)
        ends = np.cumsum(squares)
        kept = (self.pieces > 1 and self.compiled) & (ends <= MOST_KEPT)
        self.starts = np.where(kept, ends - squares, -1)
        self.matrices = np.empty(int(ends[kept].max(initial=0)), np.int64)
        self.known = np.zeros(count, np.bool_)

    def stretches(self) -> Iterator[Stretch]:
        """Stretches of about equal work, which for a list of n items above the threshold is about n²."""
        from cutline.kernels._compile import on_threads

        edges, count = self._edges(), len(self.lists.order)
        for start, stop in pairwise(edges):
            losses = np.empty((stop - start if self.keep else 0, count))
            tasks = [partial(self._advance, start, stop, *block, losses) for block in self.blocks]
            done = on_threads(tasks) if self.compiled else [task() for task in tasks]  # others may not expect threads
            yield Stretch(self.thresholds[start:stop], np.sum(done, axis=0), losses)

    def _edges(self) -> list[int]:
        """Where the stretches begin and end."""
        from cutline.kernels._compile import on_threads

        parts = on_threads([partial(self._work, *block) for block in self.blocks])
        work: Floats = np.cumsum(np.sum(parts, axis=0))
        longest = max(1, LARGEST_BLOCK // max(1, len(self.lists.order))) if self.keep else len(work)
        edges = [0]
        while edges[-1] < len(work):
            wanted = (float(work[edges[-1] - 1]) if edges[-1] else 0.0) + float(work[-1]) / self.pieces
            stop = int(np.searchsorted(work, wanted, side="right"))
            edges.append(min(max(stop, edges[-1] + 1), edges[-1] + longest, len(work)))
        return edges

    def _work(self, first: int, last: int) -> Floats:
        """About how much there is to do at each threshold: n² for each list that differs from that before."""
        reached = self._reached(0, len(self.thresholds), first, last)
        changed = np.diff(reached, axis=0, prepend=0) != 0
        chosen_from = changed & (reached > self.rule.max_size)
        return (np.where(chosen_from, reached.astype(np.float64) ** 2, 0.0) + changed).sum(axis=1)

    def _reached(self, start: int, stop: int, first: int, last: int) -> Integers:
        """How many items of each list of a block are at or above each threshold of a stretch."""
        from cutline.kernels.diversity import reach_prefixes

        lists = self.lists
        reached = np.empty((stop - start, last - first), np.int64)
        reach_prefixes(
            lists.scores, self.ranked, lists.offsets, lists.order[first:last], self.thresholds[start:stop], reached
        )
        return reached

    def _advance(self, start: int, stop: int, first: int, last: int, losses: Floats) -> Integers:
        """The sums of one block of lists at the thresholds of one stretch; its losses are written."""
        from cutline.kernels import walk

        lists, unit = self.lists, self.lists.badness.unit
        queries, reached = lists.order[first:last], self._reached(start, stop, first, last)
        counts = np.empty((*reached.shape, 3), np.int64)
        (self._eliminate if self.compiled else self._choose)(first, queries, reached, counts)
        good_all = np.zeros(last - first, np.int64)
        walk.goodness(lists.badness.codes, unit, lists.offsets, queries, good_all)
        sums = np.zeros((stop - start, walk.COLUMNS), np.int64)
        kind = walk.MISS if type(lists.loss) is Miss else walk.FALSE_DISCOVERY
        walk.tally(counts, unit, good_all, kind, first, sums, losses)
        return sums

    def _eliminate(self, first: int, queries: Integers, reached: Integers, counts: Integers) -> None:
        """What greedy elimination leaves."""
        from cutline.kernels.diversity import count_prefixes

        lists = self.lists
        of_items = NO_ROWS if lists.vector_rows is None else lists.vector_rows
        count_prefixes(
            self.vectors, of_items, self.rule.kind, self.rule.max_size, lists.badness.codes, self.ranked,
            lists.offsets, queries, reached, self.starts, self.matrices, self.known, first, counts,
        )  # fmt: skip

    def _choose(self, first: int, queries: Integers, reached: Integers, counts: Integers) -> None:
        """What any other strategy chooses, asked once for each set of items."""
        lists, most = self.lists, self.rule.max_size
        for here, query in enumerate(queries.tolist()):
            begin, end = int(lists.offsets[query]), int(lists.offsets[query + 1])
            codes, candidates = lists.badness.codes[begin:end], None
            for count in np.unique(reached[:, here]).tolist():
                rows = self.ranked[begin : begin + count] - begin
                if count > most:
                    if candidates is None:
                        own = vectors_at(self.vectors, lists.vector_rows, slice(begin, end))
                        candidates = self.rule.candidates(lists.scores[begin:end], own)
                    rows = candidates.chosen(count, most)
                kept = codes[rows]
                judged = kept[kept >= 0].astype(np.int64)
                counts[reached[:, here] == count, here] = len(rows), len(judged), judged.sum()
