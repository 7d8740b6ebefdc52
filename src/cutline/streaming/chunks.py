"""From parts of files to chunks of whole queries. Parts are decoded on threads, ahead of whoever works on the chunks;
at the seams between parts the rows of a query are put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cutline.io.arrow import Values, pa
from cutline.io.sheets import Sheet, Texts, texts_of
from cutline.streaming.ids import Hashes, Met, hashes_of
from cutline.streaming.parts import Part, Piece, joined

Integers = npt.NDArray[np.int64]
Item = TypeVar("Item")
Answer = TypeVar("Answer")
AHEAD = 2  # parts decoded, and chunks worked on, before they are wanted


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chunk:
    """Rows of whole queries: those of query q are starts[q] … starts[q + 1] - 1, and its id is ids[q]."""

    piece: Piece
    starts: Integers
    ids: Values

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Runs:
    """A piece with its runs of rows of one query: where they start, their ids, and hashes of these."""

    piece: Piece
    starts: Integers
    ids: Values
    hashes: Hashes

    def chunk(self, first: int, last: int) -> Chunk:
        """Runs first … last-1."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        starts = self.starts[first : last + 1] - begin
        return Chunk(piece=self.piece.cut(begin, end), starts=starts, ids=self.ids.slice(first, last - first))


def runs_of(piece: Piece, roles: dict[str, str], form: str) -> Runs:
    """Look where the query changes from row to row."""
    sheet = piece.sheet(roles, form)
    heads = np.flatnonzero(_changes(sheet))
    few = _at(piece, heads, roles["query_id"]).sheet(roles, form).texts("query_id")
    starts = np.append(heads, len(sheet)).astype(np.int64)
    merged = few.changes()
    if not merged.all():  # two dictionaries had the same text under different numbers
        kept = np.flatnonzero(merged)
        starts, few = np.append(starts[:-1][kept], len(sheet)), texts_of(few.column.take(pa.array(kept)))
    return Runs(piece=piece, starts=starts, ids=few.column, hashes=_hashed(few))


def _hashed(texts: Texts) -> Hashes:
    return hashes_of(texts.data, texts.offsets, len(texts))


def _changes(sheet: Sheet) -> npt.NDArray[np.bool_]:
    """Whether the query id differs from that of the row before; ids themselves are looked at where they do."""
    column = sheet.column("query_id")
    if column.null_count or not (pa.types.is_dictionary(column.type) or pa.types.is_integer(column.type)):
        return sheet.texts("query_id").changes()
    changed: list[npt.NDArray[np.bool_]] = []
    for values in column.chunks:
        numbers: Any = (values.indices if pa.types.is_dictionary(column.type) else values).to_numpy()
        differs = np.ones(len(numbers), np.bool_)
        np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
        changed.append(differs)
    return np.concatenate(changed)


def _at(piece: Piece, rows: Integers, name: str) -> Piece:
    """One column of some rows, each of which knows its place."""
    table = pa.table({name: piece.table.column(name).take(pa.array(rows))})
    return Piece(source=piece.source, table=table, first=0, place=lambda row: piece.place(piece.first + int(rows[row])))


def decoded(parts: Iterable[Part], roles: dict[str, str], form: str, pool: ThreadPoolExecutor) -> Generator[Runs]:
    """The pieces of all parts in their order: parts that are alone side by side, the tables of others in turn."""
    waiting: deque[Future[list[Runs]]] = deque()
    for part in parts:
        if part.alone:
            waiting.append(pool.submit(_all_of, part, roles, form))
            if len(waiting) > AHEAD:
                yield from waiting.popleft().result()
            continue
        while waiting:
            yield from waiting.popleft().result()
        pieces = part.pieces()
        coming = pool.submit(_next_of, pieces, roles, form)
        while (runs := coming.result()) is not None:
            coming = pool.submit(_next_of, pieces, roles, form)
            yield runs
    while waiting:
        yield from waiting.popleft().result()


def _all_of(part: Part, roles: dict[str, str], form: str) -> list[Runs]:
    return [runs_of(piece, roles, form) for piece in part.pieces()]


def _next_of(pieces: Iterator[Piece], roles: dict[str, str], form: str) -> Runs | None:
    piece = next(pieces, None)
    return None if piece is None else runs_of(piece, roles, form)


def chunks_of(pieces: Iterable[Runs], met: Met | None) -> Iterator[Chunk]:
    """Whole queries: the last one of a piece may go on in the next. ScatteredError where one comes back later."""
    carried: list[Piece] = []
    name: Values = None
    for runs in pieces:
        first = 0
        goes_on = bool(carried) and runs.ids[0] == name
        if met is not None:
            met.add(runs.hashes[1:] if goes_on else runs.hashes)
        if goes_on:
            carried.append(runs.piece.cut(0, int(runs.starts[1])))
            first = 1
        count = len(runs.ids)
        if first == count:
            continue
        if carried:
            yield _seam(carried, name)
        if count - first > 1:
            yield runs.chunk(first, count - 1)
        carried, name = [runs.piece.cut(int(runs.starts[count - 1]), int(runs.starts[count]))], runs.ids[count - 1]
    if carried:
        yield _seam(carried, name)
    if met is not None:
        met.finish()


def _seam(carried: list[Piece], name: Values) -> Chunk:
    piece = joined(carried)
    starts = np.array([0, piece.table.num_rows], np.int64)
    return Chunk(piece=piece, starts=starts, ids=pa.array([name.as_py()], pa.large_string()))


def worked(items: Iterable[Item], work: Callable[[Item], Answer], pool: ThreadPoolExecutor) -> Iterator[Answer]:
    """What becomes of each item, in their order; a few are worked on at a time."""
    waiting: deque[Future[Answer]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        while len(waiting) > AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
