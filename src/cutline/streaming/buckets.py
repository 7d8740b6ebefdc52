"""Queries whose rows lie scattered over a file: each row goes to a bucket on disk by a hash of its query, and a bucket
is then small enough to be sorted out in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._rows import grouping
from cutline.errors import InputError
from cutline.io.arrow import Stream, Table, pa
from cutline.io.gathering import codes_of
from cutline.io.sheets import free_name, in_one_piece, plain, taken
from cutline.io.sources import Source
from cutline.streaming.chunks import Chunk, Runs, worked
from cutline.streaming.parts import Part, Piece

Integers = npt.NDArray[np.int64]
MOST, DEEPEST = 64, 4  # buckets of a pass; passes until a bucket that stays large is taken for one query


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bucket:
    """A file of rows, how many bytes they take in memory, and how often they were divided."""

    path: Path
    size: int
    depth: int
    row: str  # the column that says where a row stood
    source: Source


def bucketed(
    pieces: Iterable[Runs],
    folder: Path,
    *,
    pool: ThreadPoolExecutor,
    source: Source,
    count: int,
    depth: int = 0,
    row: str | None = None,
) -> list[Bucket]:
    """Write the rows to buckets; the rows of a query go to the same one, in their order."""
    folder.mkdir()
    sizes = np.zeros(count, np.int64)
    writers: list[Any] = [None] * count
    try:
        with ExitStack() as files:
            for parts, name in worked(pieces, partial(_divided, count=count, depth=depth, row=row), pool):
                row = name
                for place, table in parts:
                    if writers[place] is None:
                        sink = files.enter_context(pa.OSFile(str(folder / str(place)), "wb"))
                        writers[place] = files.enter_context(_writer(sink, table.schema))
                    writers[place].write_table(table)
                    sizes[place] += table.nbytes
    except OSError as error:
        raise InputError(
            f"{folder.parent}: rows cannot be sorted there ({error.strerror or error}); set TMPDIR"
        ) from None
    name = row or ""
    return [
        Bucket(path=folder / str(place), size=int(sizes[place]), depth=depth, row=name, source=source)
        for place in np.flatnonzero(sizes).tolist()
    ]


def _writer(sink: Stream, schema: Any) -> Any:
    return pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def _divided(runs: Runs, *, count: int, depth: int, row: str | None) -> tuple[list[tuple[int, Table]], str]:
    """The rows of a piece by bucket, each with where it stood."""
    table = runs.piece.table
    if row is None:
        row = free_name("row", table.column_names)
        table = table.append_column(row, pa.array(np.arange(len(table)) + runs.piece.first))
    table = pa.table([plain(column) for column in table.columns], names=table.column_names)
    of_run = (runs.hashes >> np.uint64(6 * depth)) % np.uint64(count)
    of_row = np.repeat(of_run.astype(np.uint16), np.diff(runs.starts))
    sorted_rows = taken(table, np.argsort(of_row, kind="stable").astype(np.int64))
    edges = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=count))]).tolist()
    pieces = [(place, sorted_rows.slice(edges[place], edges[place + 1] - edges[place])) for place in range(count)]
    return [(place, piece) for place, piece in pieces if piece.num_rows], row


def chunk_of_bucket(bucket: Bucket, roles: dict[str, str], form: str) -> Chunk:
    """A bucket with the rows of each query brought together, first appearance first."""
    with pa.memory_map(str(bucket.path)) as stored:
        table = in_one_piece(pa.ipc.open_stream(stored).read_all())
    texts = Piece(source=bucket.source, table=table, first=0, place=str).sheet(roles, form).texts("query_id")
    codes, ids = codes_of(texts)
    starts, _, order = grouping(codes)
    if order is not None:
        table = taken(table, order)
    rows = table.column(bucket.row).to_numpy()
    piece = Piece(
        source=bucket.source, table=table.drop_columns([bucket.row]), first=0, place=lambda at: f"row {rows[at] + 1}"
    )
    return Chunk(piece=piece, starts=starts, ids=ids)


def parts_of_bucket(bucket: Bucket) -> Iterator[Part]:
    """A bucket that is too large, to be divided again."""

    def tables() -> Iterator[Table]:
        with pa.memory_map(str(bucket.path)) as stored:
            for batch in pa.ipc.open_stream(stored):
                yield pa.Table.from_batches([batch])

    yield Part(source=bucket.source, tables=tables, place=lambda row: f"row {row + 1}")
