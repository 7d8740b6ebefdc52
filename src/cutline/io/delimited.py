"""Tables as text: CSV and TSV. The first line names the columns; what is no score and no label stays the text it is."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO, NoReturn

import numpy as np

from cutline._display import shown
from cutline.errors import InputError, warn
from cutline.io.arrow import ArrowError, Buffer, Column, Stream, Table, pa, pacsv, pc
from cutline.io.sheets import WORDS, Sheet, Wish, in_one_piece
from cutline.io.sources import BLOCK, Source, reading, told
from cutline.io.tables import kept_columns, roles_of

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
TRUE, FALSE = ("True", "true", "TRUE"), ("False", "false", "FALSE")
LINE_END = 10
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
LIMIT = 1 << 30  # bytes of one cell, for finding what is wrong


def read_csv(source: Source, wish: Wish) -> Sheet:
    """Cells between commas; or between semicolons or tabs, where the first line has those and no comma."""
    return _read(source, wish, ",;\t", "csv")


def read_tsv(source: Source, wish: Wish) -> Sheet:
    """Cells between tabs."""
    return _read(source, wish, "\t", "tsv")


def csv_names(source: Source) -> list[str]:
    """The names of the columns."""
    return header_of(source, ",;\t")[0]


def tsv_names(source: Source) -> list[str]:
    """The names of the columns."""
    return header_of(source, "\t")[0]


def write_csv(sheet: Sheet, file: BinaryIO) -> None:
    """Quoted only where a text holds what would end its cell."""
    write_cells(sheet, file, ",")


def write_tsv(sheet: Sheet, file: BinaryIO) -> None:
    """The same between tabs."""
    write_cells(sheet, file, "\t")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file of cells is laid out: its columns, what stands between cells, whether a first line names them, and
    whether quotation marks hold a cell together."""

    names: list[str]
    delimiter: str
    header: bool = True
    quoted: bool = True
    truths: bool = False  # labels are True and False


def _read(source: Source, wish: Wish, delimiters: str, name: str) -> Sheet:
    layout = layout_of(source, delimiters, wish)
    found = roles_of(source, layout.names, wish)
    roles = {role: column for role, column in found.items() if role != "vector"}
    if "vector" in wish.columns and wish.reads("vector"):
        raise InputError(f"{source.name}: vectors cannot be read from text cells; use parquet or JSONL")
    kept = kept_columns(layout.names, roles, wish)
    table, layout = _parsed(source, layout, kept, roles)
    if not table.num_rows:
        raise InputError(f"{source.name} has a header and no rows")
    for extra in kept:
        if extra not in roles.values():
            table = table.set_column(table.column_names.index(extra), extra, _typed(table.column(extra)))
    place = partial(place_of_record, source, layout)
    return Sheet(source=source.name, table=in_one_piece(table), roles=roles, format=name, place=place)


def _parsed(source: Source, layout: Layout, kept: list[str], roles: dict[str, str]) -> tuple[Table, Layout]:
    """The table, and the layout that was right, which is that of truth values where labels are these."""
    try:
        return _parsed_as(source, layout, kept, roles)
    except ArrowError as error:
        if not says_truth(error, layout, roles):
            diagnose(source, layout, roles, error)
        return _parsed(source, replace(layout, truths=True), kept, roles)


def says_truth(error: Exception, layout: Layout, roles: dict[str, str]) -> bool:
    """Whether what is no number is True or False, in a file where labels might be these."""
    return (
        not layout.truths and "label" in roles and re.search(r"'(true|false)'", str(error), re.IGNORECASE) is not None
    )


def _parsed_as(source: Source, layout: Layout, kept: list[str], roles: dict[str, str]) -> tuple[Table, Layout]:
    """The table, and the layout that was right. Between tabs quotation marks mean themselves, as long as every line
    then has its cells; anywhere else one that is missing would swallow lines, and so these are counted."""
    if layout.delimiter == "\t":
        literal = replace(layout, quoted=False)
        try:
            with source.open() as file:
                table = _table(file, literal, kept, roles)
        except ArrowError:
            pass
        else:
            return unquoted(table), literal
    text = source.whole()
    table = _table(pa.BufferReader(text), layout, kept, roles)
    if lines_in(text) > table.num_rows + layout.header:
        tell_of_long_cells(source, layout, roles)
    return table, layout


def _table(file: Stream, layout: Layout, kept: list[str], roles: dict[str, str]) -> Table:
    """The table as Arrow parses it."""
    return pacsv.read_csv(file, **parsing(layout, kept, roles))


def parsing(layout: Layout, kept: list[str], roles: dict[str, str]) -> dict[str, Any]:
    """How Arrow is to parse: scores and labels as numbers, everything else as text."""
    kinds = {"score": pa.float64(), "label": pa.bool_() if layout.truths else pa.float64()}
    told = {roles[role]: kind for role, kind in kinds.items() if role in roles}
    return {
        "read_options": pacsv.ReadOptions(block_size=BLOCK, column_names=None if layout.header else layout.names),
        "parse_options": pacsv.ParseOptions(
            delimiter=layout.delimiter, quote_char='"' if layout.quoted else False, newlines_in_values=layout.quoted
        ),
        "convert_options": pacsv.ConvertOptions(
            include_columns=kept,
            column_types={column: told.get(column, pa.string()) for column in kept},
            null_values=list(NOTHING),
            true_values=[*TRUE, "1"],
            false_values=[*FALSE, "0"],
            strings_can_be_null=False,
        ),
    }


def lines_in(text: Buffer) -> int:
    held = memoryview(text)
    blocks = (held[start : start + BLOCK] for start in range(0, len(held), BLOCK))
    ends = sum(int(np.count_nonzero(np.frombuffer(block, np.uint8) == LINE_END)) for block in blocks)
    return ends + (len(held) > 0 and held[-1] != LINE_END)


def unquoted(table: Table) -> Table:
    """Cells that are quoted as a whole, as some programs write all text, without their quotation marks."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if not pa.types.is_string(column.type):
            continue
        quoted = pc.match_substring_regex(column, r'^".*"$')
        if pc.any(quoted).as_py():
            inner = pc.replace_substring(pc.utf8_slice_codeunits(column, 1, -1), '""', '"')
            table = table.set_column(place, name, pc.if_else(quoted, inner, column))
    return table


def tell_of_long_cells(source: Source, layout: Layout, roles: dict[str, str]) -> None:
    """A cell may run over several lines. One that does so for want of a quotation mark takes rows with it: so it is
    told, and refused where it is an id."""
    ids = [layout.names.index(roles[role]) for role in ("query_id", "item_id") if role in roles]
    try:
        for line, cells in _records(source, layout):
            for place in (place for place, cell in enumerate(cells) if "\n" in cell):
                where = f"{source.name}, line {line}: the cell of {layout.names[place]!r} runs over several lines"
                if place in ids:
                    raise InputError(f"{where}, and is an id; is a quotation mark missing?")
                warn(f"{where}; if a quotation mark is missing, rows are lost")
                return
    except csv.Error as problem:
        raise InputError(f"{source.name}: {problem}; is a quotation mark missing?") from None


def _typed(column: Column) -> Column:
    """A column besides the roles as numbers, where every cell is one and none begins with a zero that means something;
    otherwise as the text it is."""
    filled = column.filter(pc.not_equal(column, ""))
    for pattern, kind in ((_WHOLE, pa.int64()), (_DECIMAL, pa.float64())):
        if len(filled) and pc.all(pc.match_substring_regex(filled, pattern)).as_py():
            numbers = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column).cast(kind)
            return column if pc.any(pc.is_inf(numbers)).as_py() else numbers
    return column


def layout_of(source: Source, delimiters: str, wish: Wish) -> Layout:
    """The columns, as the first line names them; judgments in three columns may do without."""
    names, delimiter = header_of(source, delimiters)
    if len(wish.positional) == len(names) == 3 and NUMBER.fullmatch(names[2].strip()):
        return Layout(list(wish.positional), delimiter, header=False)
    return Layout(names, delimiter)


def header_of(source: Source, delimiters: str) -> tuple[list[str], str]:
    """The cells of the first line, and what stands between them."""
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


def _records(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each record, one by one: for finding what is wrong."""
    limit = csv.field_size_limit(LIMIT)
    try:
        quoting = csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE
        reader = csv.reader(_decoded(source), delimiter=layout.delimiter, quoting=quoting, strict=True)
        filled = ((reader.line_num, record) for record in reader if record)
        if layout.header:
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


def place_of_record(source: Source, layout: Layout, row: int) -> str:
    for place, (line, _) in enumerate(_records(source, layout)):
        if place == row:
            return f"line {line}"
    return f"row {row + 1}"


def diagnose(source: Source, layout: Layout, roles: dict[str, str], error: Exception) -> NoReturn:
    """Find the line that could not be read, the slow way."""
    names = layout.names
    numeric = [(role, names.index(roles[role])) for role in ("score", "label") if role in roles]
    truth: tuple[int, str] | None = None
    numbers = False
    with reading(source):
        try:
            for line, cells in _records(source, layout):
                if len(cells) != len(names):
                    raise InputError(
                        f"{source.name}, line {line}: {_counted(len(cells))}, and the first line has {len(names)}"
                    )
                for role, place in numeric:
                    cell = cells[place]
                    if role == "label" and cell in (*TRUE, *FALSE):
                        truth = truth or (line, cell)
                        continue
                    refuse_text(f"{source.name}, line {line}", role, cell)
                    numbers = numbers or (role == "label" and cell not in (*NOTHING, "0", "1"))
                if truth and numbers:  # one or the other
                    refuse_text(f"{source.name}, line {truth[0]}", "label", truth[1])
        except csv.Error as problem:
            raise InputError(f"{source.name} cannot be read: {problem}; is a quotation mark missing?") from None
    raise InputError(f"{source.name} cannot be read: {told(error)}") from None


def _counted(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


def refuse_text(where: str, role: str, cell: str) -> None:
    """Refuse a cell that should hold a number and does not."""
    if cell in NOTHING or NUMBER.fullmatch(cell.strip()):
        return
    fix = f"{WORDS[role]}s are finite numbers"
    if NUMBER.fullmatch(cell.strip().replace(",", ".", 1)):
        fix = "write a decimal point"
    elif cell.strip().lower() in ("true", "false"):
        fix = "write 1 and 0"
    raise InputError(f"{where}: the {WORDS[role]} is the text {shown(cell)}; {fix}")


def write_cells(sheet: Sheet, file: BinaryIO, delimiter: str, *, header: bool = True) -> None:
    """The rows as cells, below a line that names the columns."""
    nested = [field.name for field in sheet.table.schema if pa.types.is_nested(field.type)]
    if nested:
        raise InputError(f"column {nested[0]!r} holds lists, which text cells cannot; write .parquet or .jsonl")
    table = widened(sheet.table)
    plain: Any = "none" if _is_plain(table, delimiter) else "needed"
    options = pacsv.WriteOptions(include_header=header, delimiter=delimiter, quoting_style=plain, quoting_header=plain)
    pacsv.write_csv(table, file, options)


def widened(table: Table) -> Table:
    """Single precision as double, so that text says exactly the numbers that were compared with a threshold."""
    for place, field in enumerate(table.schema):
        if pa.types.is_float32(field.type) or pa.types.is_float16(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.float64()))
    return table


def _is_plain(table: Table, delimiter: str) -> bool:
    """Whether no text holds a mark that would have to be quoted."""
    marks = f'["\r\n{delimiter}]'
    if any(re.search(marks, name) for name in table.column_names):
        return False
    texts = [
        column for column in table.columns if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    return not any(pc.any(pc.match_substring_regex(column, marks)).as_py() for column in texts)
