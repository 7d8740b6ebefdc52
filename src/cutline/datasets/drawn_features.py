"""Features of simulated items, drawn block by block: noise around the quality of an item, the same for the same query
whichever block it is asked for in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._display import text_table
from cutline._rows import offsets_of_sizes
from cutline.errors import InputError
from cutline.kernels._compile import on_threads, spans

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

STRONGEST = 0.5  # the correlation of the first feature with the quality


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedFeatures:
    """Rows of features that are made when they are asked for: `features[rows]`, or `of_queries(first, last)`.

    Feature j = 1, 2, … of an item with quality z is w·z/sd(z) + sqrt(1 - w²)·N(0, 1), where w = 0.5/sqrt(j): a standard
    normal, the first ones the closest to z. The noise of a query comes from Philox, keyed by `seed`, with the number of
    the query as its counter, so that no block depends on another.
    """

    quality: Floats  # (n_items,) with standard deviation 1
    offsets: Integers
    width: int
    seed: int
    numbers: Integers  # of the queries, as they were drawn

    @property
    def shape(self) -> tuple[int, int]:
        """Items and features."""
        return len(self.quality), self.width

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """What rows are made of."""
        return np.dtype(np.float32)

    @property
    def ndim(self) -> int:
        """Two, as of any matrix."""
        return 2

    def __len__(self) -> int:
        return len(self.quality)

    def of_queries(self, first: int, last: int) -> Features:
        """The features of the items of queries first to last - 1."""
        start = self.offsets[first]
        block: Features = np.empty((int(self.offsets[last] - start), self.width), np.float32)
        pieces = [(first + a, first + b) for a, b in spans(last - first, least=16)]
        on_threads([partial(self._fill, block, int(start), *piece) for piece in pieces])
        return block

    def __getitem__(self, rows: Any) -> Features:
        index = np.arange(len(self))[rows]
        if index.ndim != 1:
            raise InputError("features are taken by rows: a slice, row numbers or a mask; of_queries(i, i + 1) is one")
        if not len(index):
            return np.empty((0, self.width), np.float32)
        query = np.searchsorted(self.offsets, index, side="right") - 1
        first, last = int(query.min()), int(query.max()) + 1
        if len(index) == self.offsets[last] - self.offsets[first] and bool((np.diff(index) == 1).all()):
            return self.of_queries(first, last)
        out = np.empty((len(index), self.width), np.float32)
        order = np.argsort(query, kind="stable")
        heads = np.flatnonzero(np.diff(query[order], prepend=-1))
        for places in np.split(order, heads[1:]):
            one = int(query[places[0]])
            out[places] = self.of_queries(one, one + 1)[index[places] - self.offsets[one]]
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        made = self.of_queries(0, len(self.numbers))
        return made if dtype is None else made.astype(dtype)

    def select(self, index: Integers) -> SimulatedFeatures:
        """The features of some queries, still to be made."""
        sizes = np.diff(self.offsets)[index]
        ends = offsets_of_sizes(sizes)
        rows: Integers = np.arange(ends[-1], dtype=np.int64)
        rows += np.repeat(self.offsets[index] - ends[:-1], sizes)
        return replace(self, quality=self.quality[rows], offsets=ends, numbers=self.numbers[index])

    def _fill(self, block: Features, start: int, first: int, last: int) -> None:
        weights = (STRONGEST / np.sqrt(np.arange(1, self.width + 1))).astype(np.float32)
        rest = np.sqrt(1 - weights**2)
        for query in range(first, last):
            begin, end = int(self.offsets[query]), int(self.offsets[query + 1])
            noise = np.random.Generator(np.random.Philox(key=self.seed, counter=int(self.numbers[query]) << 192))
            rows: Features = block[begin - start : end - start]
            noise.standard_normal(out=rows, dtype=np.float32)
            rows *= rest
            rows += self.quality[begin:end, np.newaxis].astype(np.float32) * weights

    def __repr__(self) -> str:
        return text_table("SimulatedFeatures", [("items", f"{len(self):,}"), ("features", f"{self.width:,}")])


def drawn_vectors(offsets: Integers, width: int, generator: np.random.Generator) -> Features:
    """Vectors of items on a handful of themes a query: each is a theme, N(0, 1) a coordinate, and a little noise."""
    themes = 5
    sizes = np.diff(offsets)
    centres = generator.standard_normal((len(sizes) * themes, width), dtype=np.float32)
    which = generator.integers(themes, size=int(offsets[-1])) + themes * np.repeat(np.arange(len(sizes)), sizes)
    noise = generator.standard_normal((len(which), width), dtype=np.float32)
    noise *= np.float32(0.3)
    noise += centres[which]
    return noise
