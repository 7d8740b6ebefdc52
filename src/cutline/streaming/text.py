"""Text in parts: CSV and TSV as Arrow parses them on the go, TREC runs in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cutline.io import trec_run
from cutline.io.arrow import ArrowError, Table, pa, pacsv
from cutline.io.delimited import (
    LINE_END,
    Layout,
    diagnose,
    layout_of,
    parsing,
    place_of_record,
    says_truth,
    tell_of_long_cells,
    unquoted,
)
from cutline.io.fields import delimiter_of, evenly_parsed, unevenly_parsed
from cutline.io.fields import diagnose as diagnose_fields
from cutline.io.sheets import Wish
from cutline.io.sources import BLOCK, Source, reading
from cutline.streaming.parts import Part

LINES = 1 << 24  # bytes of lines parsed at a time


class ReparseError(Exception):
    """Quotation marks hold cells together here, after all: the file has to be read again, so."""


@dataclass(slots=True, eq=False)
class Cells:
    """A file of cells and how it is laid out, which may turn out as it is read."""

    source: Source
    layout: Layout

    def tables(self, kept: list[str], roles: dict[str, str]) -> Iterator[Table]:
        """The rows, some at a time."""
        layout, rows = self.layout, 0
        try:
            with self.source.open() as file:
                for batch in pacsv.open_csv(file, **parsing(layout, kept, roles)):
                    table = pa.Table.from_batches([batch])
                    rows += table.num_rows
                    yield unquoted(table) if layout.delimiter == "\t" and not layout.quoted else table
        except ArrowError as error:
            if says_truth(error, layout, roles):
                self.layout = replace(layout, truths=True)
                raise ReparseError from None
            if layout.quoted:
                diagnose(self.source, layout, roles, error)
            self.layout = replace(layout, quoted=True)
            raise ReparseError from None
        if layout.quoted and _lines_of(self.source) > rows + layout.header:
            tell_of_long_cells(self.source, layout, roles)


def cells_of(source: Source, delimiters: str, wish: Wish) -> Cells:
    """A file of cells; between tabs quotation marks mean themselves until they cannot."""
    layout = layout_of(source, delimiters, wish)
    return Cells(source, replace(layout, quoted=layout.delimiter != "\t"))


def cell_parts(cells: Cells, kept: list[str], roles: dict[str, str]) -> Iterator[Part]:
    """The file as one part of many tables."""
    tables = partial(cells.tables, kept, roles)
    yield Part(source=cells.source, tables=tables, place=partial(place_of_record, cells.source, cells.layout))


def run_parts(source: Source, kept: list[str]) -> Iterator[Part]:
    """Blocks of whole lines of a TREC run, which are parsed one beside the other."""
    delimiter = delimiter_of(source)
    before = 0
    for lines in _blocks(source):
        parsed = partial(_parsed, source, lines, kept, delimiter)
        yield Part(source=source, tables=parsed, alone=True, place=partial(_place, lines, before))
        before += _ends(lines)


def _parsed(source: Source, lines: bytes, kept: list[str], delimiter: bytes) -> Iterator[Table]:
    opened: Callable[[], object] = partial(pa.BufferReader, lines)
    table = evenly_parsed(opened, trec_run.FIELDS, kept, "score", delimiter)
    if table is None:
        try:
            table = unevenly_parsed(lines, trec_run.FIELDS, kept, "score")
        except ArrowError as error:
            if not lines.strip():
                return
            diagnose_fields(source, trec_run.FIELDS, "score", error)
    yield table


def _blocks(source: Source) -> Iterator[bytes]:
    """The bytes of a file, cut after line ends."""
    rest = b""
    with reading(source), source.open() as file:
        while block := file.read(LINES):
            whole, end, rest_of = (rest + block).rpartition(b"\n")
            rest = rest_of
            if end:
                yield whole + end
    if rest.strip():
        yield rest


def _place(lines: bytes, before: int, row: int) -> str:
    filled = (number for number, line in enumerate(lines.split(b"\n"), start=1) if line.strip())
    return next((f"line {before + number}" for place, number in enumerate(filled) if place == row), f"row {row + 1}")


def _ends(lines: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(lines, np.uint8) == LINE_END))


def _lines_of(source: Source) -> int:
    """How many lines a file has."""
    count, last = 0, LINE_END
    with reading(source), source.open() as file:
        while block := file.read(BLOCK):
            count, last = count + _ends(block), block[-1]
    return count + (last != LINE_END)
