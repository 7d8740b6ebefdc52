"""Lines of fields between white space, without a header: what TREC runs and judgments are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NoReturn

from cutline.errors import InputError
from cutline.io.arrow import ArrowError, Stream, Table, pa, pacsv, pc
from cutline.io.delimited import NUMBER, refuse_text
from cutline.io.sheets import Sheet, in_one_piece
from cutline.io.sources import BLOCK, Source, reading, told

_EDGES = re.compile(rb"^[ \t]+|[ \t\r]+$", re.MULTILINE)
_GAPS = re.compile(rb"[ \t]+")


def read_fields(source: Source, fields: Sequence[str], kept: Sequence[str], number: str, name: str) -> Sheet:
    """Columns `kept` of lines with these fields, of which `number` is one; fields are named after their roles."""
    delimiter = delimiter_of(source)
    with ExitStack() as held:
        table = evenly_parsed(lambda: held.enter_context(source.open()), fields, kept, number, delimiter)
    if table is None:
        with reading(source):
            lines = source.whole().to_pybytes()
        try:
            table = unevenly_parsed(lines, fields, kept, number)
        except ArrowError as error:
            diagnose(source, fields, number, error)
    if not table.num_rows:
        raise InputError(f"{source.name} holds no lines of {len(fields)} fields")
    roles = {field: field for field in kept}
    return Sheet(
        source=source.name, table=in_one_piece(table), roles=roles, format=name, place=partial(place_of_line, source)
    )


def delimiter_of(source: Source) -> bytes:
    """What stands between fields, by the first line."""
    with reading(source):
        head = source.head()
    first = next((line for line in head.splitlines() if line.strip()), b"")
    return b"\t" if b"\t" in first else b" "


def evenly_parsed(
    opened: Callable[[], Stream], fields: Sequence[str], kept: Sequence[str], number: str, delimiter: bytes
) -> Table | None:
    """Lines with one and the same mark between fields; None where there is more than one, or both kinds, or a line that
    is wrong."""
    try:
        table = _table(opened(), fields, kept, number, delimiter)
    except ArrowError:
        return None
    if any(pc.any(pc.match_substring(table.column(field), " ")).as_py() for field in kept if field.endswith("_id")):
        return None  # blanks beside tabs belong to the gaps
    return table


def unevenly_parsed(lines: bytes, fields: Sequence[str], kept: Sequence[str], number: str) -> Table:
    """Lines with any white space between fields."""
    even = _GAPS.sub(b"\t", _EDGES.sub(b"", lines))
    return _table(pa.BufferReader(even), fields, kept, number, b"\t")


def _table(file: Stream, fields: Sequence[str], kept: Sequence[str], number: str, delimiter: bytes) -> Table:
    types = {field: pa.float64() if field == number else pa.string() for field in kept}
    types |= {"tag": pa.dictionary(pa.int32(), pa.string())} if "tag" in kept else {}
    return pacsv.read_csv(
        file,
        read_options=pacsv.ReadOptions(column_names=list(fields), block_size=BLOCK),
        parse_options=pacsv.ParseOptions(delimiter=delimiter.decode(), quote_char=False),
        convert_options=pacsv.ConvertOptions(
            include_columns=list(kept), column_types=types, strings_can_be_null=False, null_values=[]
        ),
    )


def place_of_line(source: Source, row: int) -> str:
    """Where a row stands, lines without anything in them passed over."""
    filled = (number for number, line in enumerate(source.lines(), start=1) if line.strip())
    for place, number in enumerate(filled):
        if place == row:
            return f"line {number}"
    return f"row {row + 1}"


def diagnose(source: Source, fields: Sequence[str], number: str, error: Exception) -> NoReturn:
    """Find the line that could not be read, the slow way."""
    with reading(source):
        for place, line in enumerate(source.lines(), start=1):
            where = f"{source.name}, line {place}"
            try:
                found = line.decode("utf-8-sig" if place == 1 else "utf-8").split()
            except UnicodeDecodeError:
                raise InputError(f"{where}: not UTF-8 text; convert the file to UTF-8") from None
            if found and len(found) != len(fields):
                counted = "1 field" if len(found) == 1 else f"{len(found)} fields"
                raise InputError(f"{where}: {counted}, and {len(fields)} are wanted: {' '.join(fields)}")
            if found:
                refuse_text(where, number, found[fields.index(number)])
    raise InputError(f"{source.name} cannot be read: {told(error)}") from None


def looks_like(head: bytes, fields: Sequence[str], number: str) -> bool:
    """Whether the first line has these fields."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "").split()
    return len(first) == len(fields) and bool(NUMBER.fullmatch(first[fields.index(number)]))
