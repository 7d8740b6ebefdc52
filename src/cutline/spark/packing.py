"""Rows of (query, item) packed into runs, and runs back into queries: what the tasks of Spark do, on Arrow data alone.

A run is a stretch of adjacent rows of one query, as one row: its scores, labels, item ids and vectors as bytes. Packing
copies nothing, and a hundred rows move between machines as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._frames import vectors_of_column
from cutline.errors import InputError
from cutline.io.arrow import ArrowError, Column, Table, Values, pa, pc
from cutline.io.delimited import NOTHING, refuse_text
from cutline.io.sheets import Sheet, texts_of
from cutline.queries import Queries

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Batches = Iterator[Any]  # of pyarrow.RecordBatch

PACKED_ROWS = 1 << 18  # rows that are packed at once
CHUNK_BYTES = 1 << 26  # of rows or runs that become queries at once
ROW_BITS = 40  # a place is the number of a part of the data, then that of a row in it

RUN = pa.schema(
    [
        ("query", pa.string()),
        ("place", pa.int64()),
        ("scores", pa.binary()),
        ("labels", pa.binary()),
        ("sizes", pa.binary()),  # bytes of each item id
        ("items", pa.binary()),
        ("vectors", pa.binary()),
        ("width", pa.int32()),  # numbers of a vector
        ("refused", pa.string()),  # what is wrong with the rows: then nothing else counts
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where rows come from, for messages, and which column plays which role. Where all columns are cells of a text
    file, scores and labels are read as numbers."""

    source: str
    roles: dict[str, str]
    cells: bool = False

    def sheet(self, table: Table, place: Any) -> Sheet:
        """Rows as a sheet, as files are read into."""
        for role in ("score", "label") if self.cells else ():
            if role in self.roles:
                name = self.roles[role]
                numbers = _numbers(table.column(name), role, f"{self.source}, {{}}", place)
                table = table.set_column(table.column_names.index(name), name, numbers)
        return Sheet(source=self.source, table=table, roles=self.roles, format="frame", place=place)


def _numbers(cells: Column, role: str, where: str, place: Any) -> Column:
    """Cells as numbers, null where they say that there is none."""
    absent = pc.or_kleene(pc.is_null(cells), pc.is_in(cells, value_set=pa.array(NOTHING)))
    told = pc.if_else(absent, pa.scalar(None, pa.string()), cells)
    try:
        return told.cast(pa.float64())
    except ArrowError:
        for row, cell in enumerate(told.to_pylist()):
            if cell is not None:
                refuse_text(where.format(place(row)), role, cell)
        return pa.chunked_array([[None if cell is None else float(cell) for cell in told.to_pylist()]])


def packed(batches: Batches, reading: Reading, start: int, place: Callable[[int], str]) -> Batches:
    """The runs of some rows, in their order, with places from `start` on; `place` says where a row stands."""
    seen = 0
    try:
        for table in tables(batches, PACKED_ROWS):
            if table.num_rows:
                yield _runs(reading.sheet(table, partial(_further, place, seen)), start + seen)
                seen += table.num_rows
    except InputError as problem:
        yield refusal(RUN, str(problem))


def _further(place: Callable[[int], str], seen: int, row: int) -> str:
    return place(seen + row)


def refusal(schema: Any, message: str) -> Any:
    """A row that says what is wrong, and nothing else."""
    nothing = {name: None if name != "refused" else message for name in schema.names}
    return pa.RecordBatch.from_pylist([nothing], schema=schema)


def tables(batches: Batches, rows: int) -> Iterator[Table]:
    """Batches put together until they have so many rows."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _size(held: list[Any]) -> int:
    return sum(each.nbytes for each in held)


def _runs(sheet: Sheet, first: int) -> Any:
    """The runs of a sheet, with checks of what each row must have."""
    queries, scores = sheet.texts("query_id"), sheet.finite("score")
    heads = np.flatnonzero(queries.changes())
    edges = np.append(heads, len(sheet))
    held: dict[str, Values] = {
        "query": queries.column.take(pa.array(heads)).cast(pa.string()),
        "place": pa.array(heads + first),
        "scores": _bytes_of(scores, edges),
    }
    if sheet.has("label"):
        held["labels"] = _bytes_of(sheet.labels(), edges)
    if sheet.has("item_id"):
        items = sheet.texts("item_id")
        ends = np.asarray(items.offsets)
        held["sizes"] = _bytes_of(np.diff(ends).astype(np.int32), edges)
        held["items"] = _slices(items.data, ends[edges])
    if sheet.has("vector"):
        vectors = np.ascontiguousarray(vectors_of_column(sheet.roles["vector"], sheet.column("vector")))
        held["vectors"] = _bytes_of(vectors, edges)
        held["width"] = pa.array(np.full(len(heads), vectors.shape[1], np.int32))
    columns = [held[field.name] if field.name in held else pa.nulls(len(heads), field.type) for field in RUN]
    return pa.RecordBatch.from_arrays(columns, schema=RUN)


def _bytes_of(values: Array, edges: Integers) -> Values:
    """Stretches of an array as binary values, uncopied."""
    flat = np.ascontiguousarray(values)
    return _slices(flat.reshape(-1).view(np.uint8), edges * (flat.nbytes // max(1, len(flat))))


def _slices(data: npt.NDArray[np.uint8], ends: Integers) -> Values:
    if len(ends) and int(ends[-1]) >= 2**31:
        raise InputError(f"rows of {len(ends):,} runs are too large to be packed at once; use smaller Arrow batches")
    offsets = np.ascontiguousarray(ends, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def whole_queries(batches: Batches, query: str, *, size: int | None = None) -> Iterator[Table]:
    """Rows that are sorted by query, in tables of whole queries, each as large as `size` bytes or little more."""
    rest: list[Any] = []
    held = 0
    limit = CHUNK_BYTES if size is None else size
    for batch in batches:
        if not batch.num_rows:
            continue
        rest.append(batch)
        held += batch.nbytes
        if held < limit:
            continue
        table = pa.Table.from_batches(rest)
        last = int(np.flatnonzero(changes(table.column(query)))[-1])
        if last:
            yield table.slice(0, last)
            rest = table.slice(last).combine_chunks().to_batches()
            held = _size(rest)
    if rest:
        yield pa.Table.from_batches(rest)


def changes(ids: Column) -> npt.NDArray[np.bool_]:
    """Whether each id differs from the one before it; a missing one, which is refused later, is like any other."""
    if ids.null_count:
        ids = pc.fill_null(ids.cast(pa.string()), "")
    return texts_of(ids).changes()


def queries_of(runs: Table, source: str) -> Queries:
    """The queries of a table of runs, all of their runs in it, in the order of their places."""
    column = {name: _one(runs.column(name)) for name in runs.column_names}
    for message in column["refused"].drop_null()[:1]:
        raise InputError(message.as_py())
    ids = texts_of(runs.column("query"))
    heads = np.flatnonzero(ids.changes())
    scores = np.frombuffer(_bytes_in(column["scores"]), np.float64)
    starts = _ends(column["scores"])[np.append(heads, len(ids))] // scores.itemsize
    names = objects_of(ids.column.take(pa.array(heads)).to_pylist())
    _refuse_repeats(column, starts, names, source)
    labels = None if column["labels"].null_count else np.frombuffer(_bytes_in(column["labels"]), np.float64)
    return Queries(scores, starts, labels, _vectors(column, len(scores), source), names)


def _one(column: Column) -> Values:
    array = column.combine_chunks()
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array


def _ends(values: Values) -> Integers:
    """Where each binary value ends in the bytes of all, from 0 on."""
    _, offsets, _ = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return ends - ends[0]


def _bytes_in(values: Values) -> npt.NDArray[np.uint8]:
    """The bytes of all binary values, one after the other."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    held = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.empty(0, np.uint8)
    return held if held.ctypes.data % 8 == 0 else held.copy()


def _refuse_repeats(column: dict[str, Values], starts: Integers, names: Array, source: str) -> None:
    """Refuse two rows of one query and item, wherever in the frame they stood."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.texts import first_repeat

    if column["sizes"].null_count:
        return
    sizes, data = np.frombuffer(_bytes_in(column["sizes"]), np.int32), _bytes_in(column["items"])
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    look = partial(first_repeat, data, offsets, np.empty(0, np.int64), starts)
    for _, row in on_threads([partial(look, *span) for span in spans(len(names), least=512)]):
        if row >= 0:
            query = names[int(np.searchsorted(starts, row, side="right")) - 1]
            item = bytes(data[offsets[row] : offsets[row + 1]]).decode("utf-8", "replace")
            raise InputError(f"{source}: query {query!r}, item {item!r} appears twice; keep one row per pair")


def _vectors(column: dict[str, Values], n_items: int, source: str) -> Array | None:
    widths = column["width"]
    if widths.null_count:
        return None
    least, most = (cast(int, bound.as_py()) for bound in pc.min_max(widths).values())
    if least != most:
        raise InputError(of_two_widths(source, least, most))
    data = _bytes_in(column["vectors"])
    kind = np.float32 if len(data) == 4 * n_items * least else np.float64
    return np.frombuffer(data, kind).reshape(n_items, least)


def of_two_widths(source: str, least: int, most: int) -> str:
    """What is wrong with vectors of different lengths."""
    return f"{source}: vectors must be of one length, got {least:,} numbers and {most:,}; correct them"
