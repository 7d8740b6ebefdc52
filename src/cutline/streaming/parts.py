"""Files as parts that are decoded one by one: row groups of parquet, blocks of text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cutline.io.arrow import Table, pa
from cutline.io.sheets import Sheet
from cutline.io.sources import Source

ROWS = 1 << 20  # of a part at most, where memory allows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Some rows of a file that follow one another, as one or more tables in turn. One that is `alone` is a single
    table, and may be read beside others."""

    source: Source
    tables: Callable[[], Iterator[Table]]
    first: int = 0
    alone: bool = False
    place: Callable[[int], str]

    def pieces(self) -> Iterator[Piece]:
        """Its tables, each with the row it begins at."""
        first = self.first
        for table in self.tables():
            if table.num_rows:
                yield Piece(source=self.source, table=table, first=first, place=self.place)
            first += table.num_rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Piece:
    """A table, and where it stands in its file."""

    source: Source
    table: Table
    first: int
    place: Callable[[int], str]

    def cut(self, start: int, stop: int) -> Piece:
        """Rows start … stop-1; nothing is copied."""
        table = self.table.slice(start, stop - start)
        return Piece(source=self.source, table=table, first=self.first + start, place=self.place)

    def sheet(self, roles: dict[str, str], form: str) -> Sheet:
        """The rows with their roles."""
        return Sheet(source=self.source.name, table=self.table, roles=roles, format=form, place=self._place)

    def _place(self, row: int) -> str:
        return self.place(self.first + row)


def joined(pieces: list[Piece]) -> Piece:
    """Pieces that follow one another, as one; places are told from where the first one begins."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    edges: list[int] = [0]
    for piece in pieces:
        edges.append(edges[-1] + piece.table.num_rows)

    def place(row: int) -> str:
        which = max(each for each in range(len(pieces)) if edges[each] <= row)
        return pieces[which].place(pieces[which].first + row - edges[which])

    tables = [_alike(piece.table) for piece in pieces]
    return Piece(source=first.source, table=pa.concat_tables(tables).combine_chunks(), first=0, place=place)


def _alike(table: Table) -> Table:
    """Dictionaries as the values they stand for: two tables may have different ones."""
    from cutline.io.sheets import plain

    return pa.table([plain(column) for column in table.columns], names=table.column_names)


@dataclass(slots=True, eq=False)
class Share:
    """Bytes that may be used at once, and what they are shared out to."""

    total: int
    per_part: int = field(init=False)
    held: int = field(init=False)
    ids: int = field(init=False)

    def __post_init__(self) -> None:
        self.per_part = self.total // 16
        self.held = int(self.total * 0.45)
        self.ids = self.total // 8

    def rows(self, per_row: float) -> int:
        """How many rows of a part."""
        return int(min(ROWS, max(1 << 12, self.per_part / max(per_row, 1.0))))


def release() -> None:
    """Give memory that was freed back to the system, where it can be told to: many small tables leave holes."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def fixed_or_wide(kind: Any) -> int:
    """About how many bytes a value of this type takes beside what its file says."""
    if pa.types.is_primitive(kind):
        return 8
    return 24
