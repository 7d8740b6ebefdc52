"""Vectors of items: one row per item, or a table of vectors that items of many queries share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import checked_ids, counted, plain_array, same_length, vectors_of, whole_numbers
from cutline._display import shown
from cutline._tables import place_of
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.queries import Queries

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def vectors_at(vectors: Array, vector_rows: Ints | None, items: Any) -> Array:
    """The vectors of some items: of a slice of them, or by their rows."""
    return vectors[items] if vector_rows is None else vectors[vector_rows[items]]


def checked_vector_rows(values: Any, n_items: int, vectors: Array | None) -> Ints:
    """For each item the row of its vector."""
    if vectors is None:
        raise InputError("vector_rows say which vector each item has, and vectors are missing; pass both")
    rows = whole_numbers("vector_rows", values)
    same_length("vector_rows", len(rows), n_items, "item")
    for i in np.flatnonzero((rows < 0) | (rows >= len(vectors)))[:1]:
        raise InputError(
            f"vector_rows must be rows of vectors, from 0 to {len(vectors) - 1}, got {int(rows[i])} for item row {i}"
        )
    return rows


def table_for(queries: Queries, vectors: Any, item_ids: Any) -> tuple[Array, Ints]:
    """A table of vectors, and the row of it that belongs to each item of the queries, found by item id."""
    if queries.item_ids is None:
        raise InputError("queries have no item ids, by which their vectors could be found; pass vectors= per item")
    if item_ids is None:
        if not isinstance(vectors, Mapping):
            raise InputError(
                f"vectors must be {{item id: vector}}, or an array with item_ids=, got {shown(cast('object', vectors))}"
            )
        given = cast("Mapping[Any, Any]", vectors)
        used: dict[Any, int] = {}
        for item in queries.item_ids.tolist():
            used.setdefault(item, len(used))
        _rows_of(queries, {item: row for row, item in enumerate(given)})
        return _stacked([(item, given[item]) for item in used]), _rows_of(queries, used)
    given_ids = plain_array("item_ids", item_ids)
    checked, table = checked_ids("item_ids", given_ids, len(given_ids)), vectors_of(vectors, len(given_ids))
    known: dict[Any, int] = {}
    for row, item in enumerate(checked.tolist()):
        if known.setdefault(item, row) != row:
            raise InputError(f"item_ids must name each item once, got {item!r} in rows {known[item]} and {row}")
    return table, _rows_of(queries, known)


def _rows_of(queries: Queries, known: Mapping[Any, int]) -> Ints:
    """The row of each item; an item without a vector is named, with a query it stands in."""
    ids = cast(Array, queries.item_ids).tolist()
    rows = np.array([known.get(item, -1) for item in ids], dtype=np.int64)
    lost = np.flatnonzero(rows < 0)
    if len(lost):
        missing, hint = len({ids[row] for row in lost}), ""
        if len(lost) == len(rows) and known:
            hint = f" Ids of vectors are such as {next(iter(known))!r}: write them alike."
        raise InputError(
            f"{counted(missing, 'item has', 'items have')} no vector, first {place_of(queries, int(lost[0]))}; give "
            f"{ids[lost[0]]!r} a vector, or drop the item.{hint}"
        )
    return rows


def _stacked(vectors: list[tuple[Any, Any]]) -> Array:
    """Vectors of one length, by item, as one array."""
    sizes = np.array([np.size(one) if np.ndim(one) == 1 else -1 for _, one in vectors], dtype=np.int64)
    for i in np.flatnonzero((sizes < 1) | (sizes != sizes[:1]))[:1]:
        (first, one), (item, other) = vectors[0], vectors[int(i)]
        raise InputError(
            f"vectors must be lists of numbers of one length, got shape {np.shape(one)} for item {first!r} and "
            f"{np.shape(other)} for item {item!r}; correct it"
        )
    return vectors_of(np.array([one for _, one in vectors]) if vectors else np.empty((0, 1)), len(vectors))
