"""Tables as text: CSV and TSV. The first line names the columns; what is no score and no label stays the text it is."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, NoReturn

from cutline._display import shown
from cutline.errors import InputError
from cutline.io.arrow import ArrowError, Column, Table, pa, pacsv, pc
from cutline.io.sheets import WORDS, Sheet, Wish, in_one_piece
from cutline.io.sources import Source, reading, told
from cutline.io.tables import kept_columns, roles_of

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
BLOCK = 1 << 22  # bytes that one thread parses at a time
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
LIMIT = 1 << 30  # bytes of one cell, for finding what is wrong


def read_csv(source: Source, wish: Wish) -> Sheet:
    """Cells between commas; or between semicolons or tabs, where the first line has those and no comma."""
    return _read(source, wish, ",;\t", "csv")


def read_tsv(source: Source, wish: Wish) -> Sheet:
    """Cells between tabs."""
    return _read(source, wish, "\t", "tsv")


def write_csv(sheet: Sheet, file: BinaryIO) -> None:
    """Quoted only where a text holds what would end its cell."""
    _write(sheet, file, ",")


def write_tsv(sheet: Sheet, file: BinaryIO) -> None:
    """The same between tabs."""
    _write(sheet, file, "\t")


def _read(source: Source, wish: Wish, delimiters: str, name: str) -> Sheet:
    names, delimiter = _header(source, delimiters)
    found = roles_of(source, names, wish)
    roles = {role: column for role, column in found.items() if role != "vector"}
    if "vector" in wish.columns and wish.reads("vector"):
        raise InputError(f"{source.name}: vectors cannot be read from text cells; use parquet or JSONL")
    kept = kept_columns(names, roles, wish)
    numbers = {roles[role] for role in ("score", "label") if role in roles}
    try:
        with source.open() as file:
            table = pacsv.read_csv(
                file,
                read_options=pacsv.ReadOptions(block_size=BLOCK),
                parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pacsv.ConvertOptions(
                    include_columns=kept,
                    column_types={column: pa.float64() if column in numbers else pa.string() for column in kept},
                    null_values=list(NOTHING),
                    strings_can_be_null=False,
                ),
            )
    except ArrowError as error:
        _diagnose(source, names, roles, delimiter, error)
    if not table.num_rows:
        raise InputError(f"{source.name} has a header and no rows")
    for extra in kept:
        if extra not in roles.values():
            place_of = table.column_names.index(extra)
            table = table.set_column(place_of, extra, _typed(table.column(extra)))
    place = partial(_place, source, delimiter)
    return Sheet(source=source.name, table=in_one_piece(table), roles=roles, format=name, place=place)


def _typed(column: Column) -> Column:
    """A column besides the roles as numbers, where every cell is one and none begins with a zero that means something;
    otherwise as the text it is."""
    filled = column.filter(pc.not_equal(column, ""))
    for pattern, kind in ((_WHOLE, pa.int64()), (_DECIMAL, pa.float64())):
        if len(filled) and pc.all(pc.match_substring_regex(filled, pattern)).as_py():
            return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column).cast(kind)
    return column


def _header(source: Source, delimiters: str) -> tuple[list[str], str]:
    """The names in the first line, and what stands between them."""
    with reading(source):
        head = source.head()
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = head[: error.start].decode("utf-8-sig")
        if len(head) - error.start > 3 and "\n" not in text:
            raise InputError(f"{source.name}, line 1: not UTF-8 text; convert the file to UTF-8") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in delimiters if mark in first), delimiters[0])
    try:
        names = next((record for record in csv.reader(text.splitlines(True), delimiter=delimiter) if record), None)
    except csv.Error as error:
        raise InputError(f"{source.name}, line 1: {error}") from None
    if names is None:
        raise InputError(f"{source.name} has no header; its first line should name the columns")
    return names, delimiter


def records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each record after the header, one by one: for finding what is wrong."""
    limit = csv.field_size_limit(LIMIT)
    try:
        reader = csv.reader(_decoded(source), delimiter=delimiter)
        filled = ((reader.line_num, record) for record in reader if record)
        next(filled, None)
        yield from filled
    finally:
        csv.field_size_limit(limit)


def _decoded(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.lines(), start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8") + "\n"
        except UnicodeDecodeError:
            raise InputError(f"{source.name}, line {number}: not UTF-8 text; convert the file to UTF-8") from None


def _place(source: Source, delimiter: str, row: int) -> str:
    for place, (line, _) in enumerate(records(source, delimiter)):
        if place == row:
            return f"line {line}"
    return f"row {row + 1}"


def _diagnose(source: Source, names: list[str], roles: dict[str, str], delimiter: str, error: Exception) -> NoReturn:
    """Find the line that could not be read, the slow way."""
    numeric = [(role, names.index(roles[role])) for role in ("score", "label") if role in roles]
    with reading(source):
        try:
            for line, cells in records(source, delimiter):
                if len(cells) != len(names):
                    raise InputError(
                        f"{source.name}, line {line}: {_counted(len(cells))}, and the first line names {len(names)}"
                    )
                for role, place in numeric:
                    refuse_text(f"{source.name}, line {line}", role, cells[place])
        except csv.Error as problem:
            raise InputError(f"{source.name} cannot be read: {problem}") from None
    raise InputError(f"{source.name} cannot be read: {told(error)}") from None


def _counted(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


def refuse_text(where: str, role: str, cell: str) -> None:
    """Refuse a cell that should hold a number and does not."""
    if cell in NOTHING or NUMBER.fullmatch(cell.strip()):
        return
    raise InputError(f"{where}: the {WORDS[role]} is the text {shown(cell)}; {WORDS[role]}s are finite numbers")


def _write(sheet: Sheet, file: BinaryIO, delimiter: str) -> None:
    nested = [field.name for field in sheet.table.schema if pa.types.is_nested(field.type)]
    if nested:
        raise InputError(f"column {nested[0]!r} holds lists, which text cells cannot; write .parquet or .jsonl")
    plain: Any = "none" if _is_plain(sheet.table, delimiter) else "needed"
    options = pacsv.WriteOptions(delimiter=delimiter, quoting_style=plain, quoting_header=plain)
    pacsv.write_csv(sheet.table, file, options)


def _is_plain(table: Table, delimiter: str) -> bool:
    """Whether no text holds a mark that would have to be quoted."""
    marks = f'["\r\n{delimiter}]'
    if any(re.search(marks, name) for name in table.column_names):
        return False
    texts = [
        column for column in table.columns if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    return not any(pc.any(pc.match_substring_regex(column, marks)).as_py() for column in texts)
