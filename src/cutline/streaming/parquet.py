"""Parquet in parts: a row group at a time, or, where these are large, some rows of one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from cutline.errors import InputError
from cutline.io.arrow import Table, pa, pq
from cutline.io.sources import Source, reading
from cutline.streaming.parts import Part, Share, fixed_or_wide

CODED = 4  # bytes a value up to which a text column is coded by its dictionary, whatever its texts


def schema_of(source: Source) -> Any:
    """Names and types of the columns."""
    with reading(source), source.open() as stream:
        return pq.read_schema(pa.BufferReader(stream.read_buffer()) if source.gzipped else stream)


def uncompressed(source: Source, columns: Sequence[str]) -> int:
    """About how many bytes these columns take in memory."""
    with reading(source), _opened(source) as file:
        return int(file.metadata.num_rows * _per_row(file, columns))


def parts_of(source: Source, columns: Sequence[str], texts: Sequence[str], share: Share) -> Iterator[Part]:
    """The parts of a file. `texts` are columns that may come as dictionaries."""
    with reading(source), _opened(source) as file:
        meta = file.metadata
        rows = share.rows(_per_row(file, columns))
        coded = [name for name in texts if _is_coded(file, name)]
        groups = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
    first = 0
    for group, count in enumerate(groups):
        few = count <= 2 * rows
        tables = partial(_tables, source, group, list(columns), coded, None if few else rows)
        yield Part(source=source, tables=tables, first=first, alone=few, place=_place)
        first += count


def _opened(source: Source, **how: Any) -> Any:
    if source.gzipped:
        with source.open() as stream:
            return pq.ParquetFile(pa.BufferReader(stream.read_buffer()), **how)
    return pq.ParquetFile(str(source.path), **how)


def _tables(source: Source, group: int, columns: list[str], coded: list[str], rows: int | None) -> Iterator[Table]:
    """A row group whole, or so many rows of it at a time."""
    how: dict[str, Any] = {"read_dictionary": coded}
    if rows is not None:
        how |= {"pre_buffer": False, "buffer_size": 1 << 20}
    with reading(source), _opened(source, **how) as file:
        if rows is None:
            yield file.read_row_group(group, columns=columns, use_threads=False)
            return
        for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
            yield pa.Table.from_batches([batch])


def _place(row: int) -> str:
    return f"row {row + 1}"


def _per_row(file: Any, columns: Sequence[str]) -> float:
    """Bytes of a row of these columns in memory, from what the file says of them without compression."""
    meta, schema = file.metadata, file.schema_arrow
    held = sum(fixed_or_wide(schema.field(name).type) for name in columns)
    written = 0
    for group in range(min(meta.num_row_groups, 4)):
        for place in range(meta.num_columns):
            column = meta.row_group(group).column(place)
            if column.path_in_schema.split(".")[0] in columns:
                written += column.total_uncompressed_size
    counted = sum(meta.row_group(group).num_rows for group in range(min(meta.num_row_groups, 4)))
    return held + written / max(1, counted)


def _is_coded(file: Any, name: str) -> bool:
    """Whether a column of text is written as numbers into a dictionary, and so is quicker to read as that."""
    schema, meta = file.schema_arrow, file.metadata
    kind = schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            column = meta.row_group(group).column(place)
            if column.path_in_schema == name and column.total_uncompressed_size > CODED * column.num_values:
                return False
    return True


def check_alike(source: Source, schema: Any, columns: Sequence[str], first: Source, wanted: Any) -> None:
    """Refuse a file whose columns are not those of the first one."""
    for name in columns:
        if name not in schema.names:
            raise InputError(f"{source.name} has no column {name!r}, which {first.name} has; files must be alike")
        here, there = schema.field(name).type, wanted.field(name).type
        if here != there:
            raise InputError(
                f"{source.name} has {here} in column {name!r}, and {first.name} has {there}; files must be alike"
            )
