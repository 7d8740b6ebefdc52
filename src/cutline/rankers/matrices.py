"""Matrices of features: rows are the items of a table of queries, in its order. They may be larger than is good to
copy, or mapped from a file, so they are gone through a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import differs, plain_array, plain_scalar, same_length
from cutline._display import shown
from cutline._tables import check_is_queries
from cutline.datasets.drawn_features import SimulatedFeatures
from cutline.errors import InputError
from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32 | np.float64]

BLOCK = 1 << 20  # numbers looked at, at a time


def checked_features(features: Any) -> Matrix:
    """A matrix of one row per item, in single precision unless it came in double; not copied where it is one."""
    if hasattr(features, "toarray"):
        raise InputError(f"features must be a dense array (n_items, d), got {shown(features)}; pass features.toarray()")
    if isinstance(features, SimulatedFeatures):  # made a block at a time, as they are asked for
        return cast(Matrix, features)
    array = plain_array("features", features)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.shape[1] == 0:
        raise InputError(
            "features must be numbers of shape (n_items, d) with d at least 1, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.float64 if array.dtype == np.float64 else np.float32)


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive rows, about a million numbers at a time."""
    step = max(1, BLOCK // width)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def check_finite(features: Matrix) -> None:
    """No NaN and no infinity: a network passes them on to every weight."""
    for rows in blocks(*features.shape):
        finite = np.isfinite(features[rows])
        if not finite.all():
            row, column = (int(place) for place in np.argwhere(~finite)[0])
            came = float(features[rows.start + row, column])
            raise InputError(
                f"features must be finite, got {came} in row {rows.start + row}, column {column}; fill in what is "
                "missing, for instance with the mean of the column"
            )


def check_width(width: int, wanted: int | None) -> None:
    """As many columns as the model was trained on, where that is known."""
    if wanted is not None and width != wanted:
        raise InputError(
            f"features must have the {wanted:,} columns that the model was trained on, got {width:,}; pass the same "
            "features in the same order"
        )


def check_rows(features: Matrix, queries: Queries, qid: npt.ArrayLike | None) -> None:
    """One row per item; and, where `qid` tells the query of each row, that it is the query of the item."""
    check_is_queries(queries)
    same_length("features", len(features), queries.n_items, "item")
    if qid is None:
        return
    given = plain_array("qid", qid)
    same_length("qid", len(given), len(features), "item")
    ids = np.arange(len(queries)) if queries.query_ids is None else queries.query_ids
    wanted = np.repeat(ids, queries.sizes)
    for row in np.flatnonzero(differs(given, wanted)).tolist():
        came, other = plain_scalar(given[row]), plain_scalar(wanted[row])
        if str(came) == str(other):  # 7 is "7", as files have it
            continue
        raise InputError(
            f"features are not in the order of queries: row {row} is of query {came!r} by qid, and of query {other!r} "
            "in queries, which keep the rows of one query together; sort the rows by query first, or let them go along "
            "with Queries.from_arrays(…, vectors=features) and pass queries.vectors"
        )


def marks_of(features: Matrix, queries: Queries) -> Marks:
    """A 64-bit mark of each query, from the single-precision bits of its rows, whatever their order: the same features
    have the same mark."""
    width = features.shape[1]
    weights = np.frombuffer(np.random.default_rng(width).bytes(8 * width), "<u8") | np.uint64(1)  # odd: no bit is lost
    marks: Marks = np.empty(len(features), np.uint64)
    for rows in blocks(*features.shape):
        bits = (np.asarray(features[rows], np.float32) + np.float32(0.0)).view(np.uint32)
        mixed: Marks = bits.astype(np.uint64) @ weights
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        marks[rows] = mixed ^ (mixed >> np.uint64(29))
    return np.add.reduceat(marks, queries.offsets[:-1]) if len(queries) else marks  # each query has an item


def moments(features: Matrix, keep: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column over some rows, each block merged into those before it:

    n = n₁ + n₂,  m = m₁ + (m₂ - m₁)·n₂/n,  S = S₁ + S₂ + (m₂ - m₁)²·n₁n₂/n     (Chan, Golub and LeVeque 1983)
    """
    count, mean, squares = 0, np.zeros(features.shape[1]), np.zeros(features.shape[1])
    for rows in blocks(*features.shape):
        kept = keep[rows]
        block = features[rows].astype(np.float64) if kept.all() else features[rows][kept].astype(np.float64)
        if not len(block):
            continue
        own = block.mean(axis=0)
        block -= own
        total, shift = count + len(block), own - mean
        squares += np.einsum("ij,ij->j", block, block) + shift**2 * (count * len(block) / total)
        mean += shift * (len(block) / total)
        count = total
    return mean, np.sqrt(squares / max(count, 1))


def inverse_of(deviation: Floats, mean: Floats) -> Floats:
    """1/σ, and 0 for a column that does not vary: whatever it holds, it does not count."""
    varies = deviation > 1e-7 * np.abs(mean)  # less than single precision tells apart
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies & (deviation > 1e-30))
