"""What must hold of a whole table of queries, and how it shows itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import nearest_name, plain_scalar
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.queries import Queries, Query

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def check_is_queries(value: Any, *, name: str = "queries") -> Queries:
    """The table itself, or an error that says how what came becomes one."""
    room: Any = sys.modules.get("cutline.queries")  # loaded if there is any table; to import it would be a cycle
    if room is not None and isinstance(value, room.Queries):
        return cast("Queries", value)
    came, fix = type(value).__name__, "cl.Queries.from_frame(df) and cl.Queries.from_arrays make them"
    ours = type(value).__module__.startswith("cutline.")
    if ours and came == "Slates":
        fix = "slates.queries holds the queries that were cut"
    elif ours and came == "Query":
        fix = "queries[i : i + 1] is a table of one query"
    elif isinstance(value, str | bytes | Path):
        came, fix = repr(value), "read the file into a frame first, for cl.Queries.from_frame(df)"
    elif isinstance(value, Mapping):
        fix = "cl.Queries.from_dicts(run, qrels) makes them"
    elif isinstance(value, type):
        came = f"the class {value.__name__}"
    elif isinstance(value, tuple | list) and value and room is not None and isinstance(value[0], room.Queries):
        fix = "pass one of the tables in it, as in: one, other = queries.split(0.5, rng=0)"
    raise InputError(f"{name} must be cl.Queries, got {came}; {fix}")


def query_at(queries: Queries, row: int) -> int:
    return int(np.searchsorted(queries.offsets, row, side="right")) - 1


def place_of(queries: Queries, row: int) -> str:
    """Where a row is, in words a user can look up."""
    query = query_at(queries, row)
    item = "" if queries.item_ids is None else f", item {plain_scalar(queries.item_ids[row])!r}"
    return f"query {queries.id_of(query)!r} at position {row - int(queries.offsets[query])} (from 0){item}"


def check_queries(queries: Queries) -> None:
    for i in np.flatnonzero(queries.sizes == 0)[:1]:
        raise InputError(f"query {queries.id_of(int(i))!r} has no items; drop it: there is no list to cut")
    ids = queries.query_ids
    if ids is None or len(set(ids.tolist())) == len(ids):
        return
    seen: dict[Any, int] = {}
    for i, value in enumerate(ids.tolist()):
        if value in seen:
            raise InputError(
                f"query id {value!r} appears twice, as queries {seen[value]} and {i}; "
                "Queries.from_arrays(qid=...) brings the rows of one query together"
            )
        seen[value] = i


def check_column(queries: Queries, name: Any) -> None:
    """An extra column. What the fixed ones hold are fields of the table."""
    if not isinstance(name, str):
        raise InputError(f"a column is named by text, got {name!r}; pass one name, such as 'device'")
    if name in queries.columns:
        return
    held = {"item_id": queries.item_ids, "score": queries.scores, "label": queries.labels, "vector": queries.vectors}
    fixed = ["query_id", *(role for role, values in held.items() if values is not None)]
    if name in fixed:
        raise InputError(f"{name!r} is none of the extra columns{nearest_name(name, queries.columns)}")
    known = nearest_name(name, queries.columns)
    raise InputError(f"there is no column {name!r} besides {', '.join(fixed)}{known}")


def check_values(queries: Queries) -> None:
    for row in np.flatnonzero(~np.isfinite(queries.scores))[:1]:
        raise InputError(
            f"scores must be finite, got {float(queries.scores[row])!r} for {place_of(queries, int(row))}; "
            "drop the item or give it a finite score"
        )
    if queries.labels is not None:
        for row in np.flatnonzero(np.isinf(queries.labels))[:1]:
            raise InputError(
                f"labels must be finite, or NaN where unjudged, got {float(queries.labels[row])!r} for "
                f"{place_of(queries, int(row))}; give it a finite label or NaN"
            )
    if queries.vectors is not None:
        rows = queries.vector_rows
        step = max(1, (1 << 20) // queries.vectors.shape[1])  # block by block, for the mask to stay in cache
        for start in range(0, len(queries.vectors), step):
            block = queries.vectors[start : start + step]
            for row in np.flatnonzero(~np.isfinite(block).all(axis=1))[: 1 if rows is None else None]:
                users = np.array([start + row]) if rows is None else np.flatnonzero(rows == start + row)
                if len(users):
                    place = place_of(queries, int(users[0]))
                    raise InputError(f"vectors must be finite, got NaN or infinity for {place}; correct the vector")


def check_items(queries: Queries) -> None:
    """No item twice in a query. Pairs are hashed to 64 bits and sorted; only those that collide are compared."""
    ids = queries.item_ids
    if ids is None:
        return
    of_item = queries.query_of_item()
    if ids.dtype.kind == "O":
        mixed = np.fromiter(map(hash, ids.tolist()), dtype=np.int64, count=len(ids)).view(np.uint64)
    else:
        mixed = ids.astype(np.uint64)
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed += of_item.view(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    ordered = np.sort(mixed)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated) == 0:
        return
    seen: set[tuple[int, Any]] = set()
    for row in np.flatnonzero(np.isin(mixed, repeated)).tolist():
        pair = (int(of_item[row]), plain_scalar(ids[row]))
        if pair in seen:
            query = queries.id_of(pair[0])
            raise InputError(f"item {pair[1]!r} appears twice in query {query!r}; keep one row per (query, item) pair")
        seen.add(pair)


def frame_columns(queries: Queries, rows: Ints | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    """The columns with fixed names and the others, for the given rows (all: None)."""
    which: Any = slice(None) if rows is None else rows
    of_item = queries.query_of_item()[which]
    roles = {"query_id": of_item if queries.query_ids is None else queries.query_ids[of_item]}
    kept = {"item_id": queries.item_ids, "score": queries.scores, "label": queries.labels}
    roles |= {name: values[which] for name, values in kept.items() if values is not None}
    if queries.vectors is not None:
        roles["vector"] = queries.vectors[which if queries.vector_rows is None else queries.vector_rows[which]]
    n_items = queries.n_items
    extra = {n: c[which] if len(c) == n_items else c[of_item] for n, c in queries.columns.items()}
    return roles, extra


def summary_rows(queries: Queries) -> Iterator[tuple[str, object]]:
    yield "queries", f"{len(queries):,}"
    yield "items", f"{queries.n_items:,}"
    if len(queries):
        sizes = queries.sizes
        yield "list length", f"min {sizes.min():,}, median {np.median(sizes):,.4g}, max {sizes.max():,}"
    if queries.item_ids is None:
        yield "item ids", "none"
    yield "labels", _summary_of_labels(queries.labels)
    if queries.vectors is not None:
        shared = "" if queries.vector_rows is None else f", {len(queries.vectors):,} shared by the items"
        yield "vectors", f"{queries.vectors.shape[1]:,} x {queries.vectors.dtype}{shared}"
    if queries.columns:
        yield "columns", ", ".join(queries.columns)


def summary_of_query(query: Query) -> Iterator[tuple[str, object]]:
    yield "items", f"{len(query):,}"
    if len(query):
        yield "scores", f"{query.scores.min():.4g} to {query.scores.max():.4g}"
    yield "labels", _summary_of_labels(query.labels)
    if query.columns:
        yield "columns", ", ".join(query.columns)


def _summary_of_labels(labels: Floats | None) -> str:
    if labels is None:
        return "none"
    judged = labels[~np.isnan(labels)]
    if len(judged) == 0:  # also a table without items
        return "0 % judged"
    values = np.unique(judged)
    few = ", ".join(f"{v:g}" for v in values) if len(values) <= 8 else f"{values[0]:g} to {values[-1]:g}"
    return f"{100 * len(judged) / len(labels):.4g} % judged: {few}"
