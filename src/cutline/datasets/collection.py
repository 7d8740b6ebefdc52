"""A data set: queries, the features of their items, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._checks import generator_of
from cutline._display import html_table, text_table
from cutline._rows import count_of, offsets_of_sizes, selected_rows
from cutline._tables import summary_rows
from cutline.datasets.drawn_features import SimulatedFeatures
from cutline.errors import InputError
from cutline.queries import Queries

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collection:
    """Queries with labels, and the features of their items, row by row.

    `features` is a float32 array (n_items, d), None where there are none, or rows made when asked for
    (`SimulatedFeatures`). The scores of `queries` are all 0 where no ranker has scored yet. `source` says where the
    data come from, `licence` what may be done with them: read both before you publish anything.
    """

    name: str
    source: str
    licence: str
    queries: Queries
    features: Any = None
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape: tuple[int, ...] | None = None if self.features is None else tuple(np.shape(self.features))
        if shape is not None and (len(shape) != 2 or shape[0] != self.queries.n_items):
            raise InputError(f"features must have one row per item, {self.queries.n_items:,} in all, got shape {shape}")
        is_array = isinstance(self.features, np.ndarray)
        if is_array:  # a view, and no copy, where it is as it should be
            object.__setattr__(self, "features", np.asarray(self.features, dtype=np.float32, order="C"))
        if self.feature_names and (shape is None or len(self.feature_names) != shape[1]):
            raise InputError(f"feature_names must name each feature, got {len(self.feature_names)} for shape {shape}")

    def __len__(self) -> int:
        return len(self.queries)

    def select(self, which: slice | npt.ArrayLike) -> Collection:
        """Some of the queries with their features: row numbers, a boolean mask, or a slice."""
        index = selected_rows(which, len(self), self.queries.query_ids)
        if isinstance(self.features, SimulatedFeatures):
            features: Any = self.features.select(index)
        else:
            features = None if self.features is None else self.features[_rows_of(self.queries, index)]
        return replace(self, queries=self.queries.select(index), features=features)

    def split(self, *shares_or_counts: float, rng: int | np.random.Generator) -> tuple[Collection, ...]:
        """Parts that share no query: one for each share (a float in (0, 1), of all queries) or count (a whole number),
        at random, and one with the rest. Each part keeps the order the queries have here.

        `train, calibration, test = collection.split(0.5, 0.25, rng=0)`: fit a ranker on the first and calibrate on the
        second, never on queries that the ranker has seen.
        """
        if not shares_or_counts:
            raise InputError("split needs a share or a count for each part but the last, as in split(0.5, 0.25, rng=0)")
        counts = [count_of(each, len(self)) for each in shares_or_counts]
        if sum(counts) >= len(self):
            raise InputError(
                f"split must leave queries for the last part, got {', '.join(map(repr, shares_or_counts))} of "
                f"{len(self):,} queries"
            )
        edges = [0, *np.cumsum(counts).tolist(), len(self)]
        shuffled = generator_of(rng).permutation(len(self))
        return tuple(self.select(np.sort(shuffled[a:b])) for a, b in pairwise(edges))

    def __repr__(self) -> str:
        return text_table(f"Collection {self.name!r}", self._rows())

    def _repr_html_(self) -> str:
        return html_table(f"Collection {self.name!r}", self._rows())

    def _rows(self) -> list[tuple[str, object]]:
        about: list[tuple[str, object]] = [("source", self.source), ("licence", self.licence)]
        width = [] if self.features is None else [("features", f"{np.shape(self.features)[1]:,}")]
        return [*about, *summary_rows(self.queries), *width]


def _rows_of(queries: Queries, index: Integers) -> slice | Integers:
    """The items of these queries: a slice, and so no copy, where they stand side by side."""
    if len(index) and bool((np.diff(index) == 1).all()):
        return slice(int(queries.offsets[index[0]]), int(queries.offsets[index[-1] + 1]))
    ends = offsets_of_sizes(queries.sizes[index])
    return np.arange(ends[-1], dtype=np.int64) + np.repeat(queries.offsets[index] - ends[:-1], np.diff(ends))


def check_labels(collection: Collection, grades: tuple[int, ...], place: str) -> Collection:
    """The same, if every label is one of these grades. `place` names the file; items are its lines."""
    labels, items = collection.queries.labels, collection.queries.item_ids
    if labels is not None:
        for row in np.flatnonzero(~np.isin(labels, grades))[:1]:
            where = "" if items is None else f", line {items[row]}"
            raise InputError(
                f"{place}{where}: the label is {labels[row]:g}, and {', '.join(map(str, grades))} are wanted"
            )
    return collection


def folder_of(folder: Any) -> Path:
    """A folder that is there."""
    try:
        path = Path(folder)
    except TypeError:
        raise InputError(f"folder must be the path of a folder, got {type(folder).__name__}") from None
    if not path.is_dir():
        raise InputError(f"folder: {folder} is no folder that can be read; name the one that holds the files")
    return path


def file_in(folder: Path, name: str) -> Path | None:
    """A file in a folder by this name, also gzipped; None where there is none."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
