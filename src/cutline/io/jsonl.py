"""JSON lines: one object a line, one line a row."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, BinaryIO, NoReturn, cast

from cutline._display import shown
from cutline.errors import InputError
from cutline.io.arrow import ArrowError, Table, pa, pajson
from cutline.io.delimited import widened
from cutline.io.fields import place_of_line
from cutline.io.sheets import Sheet, Wish, in_one_piece
from cutline.io.sources import Source, reading, told
from cutline.io.tables import kept_columns, roles_of

BLOCK = 1 << 24  # bytes, and so the longest line


def read(source: Source, wish: Wish) -> Sheet:
    """Names are those of all lines; a line without one has none there."""
    try:
        table = _table(source, BLOCK)
    except ArrowError as error:
        if "straddling" not in str(error):
            _diagnose(source, error)
        with reading(source):  # a line longer than a block
            table = _table(source, source.whole().size + 1)
    if not table.num_rows:
        raise InputError(f"{source.name} holds no rows")
    names: list[str] = table.column_names
    roles = roles_of(source, names, wish)
    kept = table.select(kept_columns(names, roles, wish))
    return Sheet(
        source=source.name, table=in_one_piece(kept), roles=roles, format="jsonl", place=partial(place_of_line, source)
    )


def names(source: Source) -> list[str]:
    """The keys of the first line."""
    with reading(source):
        first = next((line for line in source.lines() if line.strip()), b"{}")
    return list(_kinds(f"{source.name}, line 1", first))


def write(sheet: Sheet, file: BinaryIO) -> None:
    """One object a line, keys in the order of the columns; what is missing is null."""
    import msgspec

    encoder = msgspec.json.Encoder(enc_hook=str)
    table = widened(sheet.table)
    file.writelines(encoder.encode_lines(batch.to_pylist()) for batch in table.to_batches(max_chunksize=1 << 14))


def _table(source: Source, block: int) -> Table:
    table = _inferred(source, block, None)
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if times:  # text that looks like a time stays the text it is
        table = _inferred(source, block, pa.schema([(name, pa.string()) for name in times]))
    table.validate(full=True)  # the parser lets through text that is not UTF-8
    return table


def _inferred(source: Source, block: int, schema: Any) -> Table:
    with source.open() as file:
        return pajson.read_json(
            file,
            read_options=pajson.ReadOptions(block_size=block),
            parse_options=pajson.ParseOptions(explicit_schema=schema),
        )


def _diagnose(source: Source, error: Exception) -> NoReturn:
    """Find the line that could not be read, the slow way."""
    kinds: dict[str, tuple[str, int]] = {}
    with reading(source):
        for number, line in enumerate(source.lines(), start=1):
            if not line.strip():
                continue
            where = f"{source.name}, line {number}"
            for name, kind in _kinds(where, line).items():
                held, first = kinds.setdefault(name, (kind, number))
                if kind != held:
                    raise InputError(f"{where}: {name!r} is {kind}, and in line {first} it is {held}; write them alike")
    raise InputError(f"{source.name} cannot be read: {told(error)}") from None


def _kinds(where: str, line: bytes) -> dict[str, str]:
    """What kind of value each key of a line has."""
    try:
        row: Any = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8 text; convert the file to UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{where}: not JSON ({told(problem)}); each line is one object") from None
    if not isinstance(row, dict):
        raise InputError(f'{where}: each line is one object such as {{"score": 0.5}}, got {shown(row)}')
    known = {bool: "a truth value", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    items = cast(dict[str, Any], row)
    return {name: known[type(value)] for name, value in items.items() if value is not None}
