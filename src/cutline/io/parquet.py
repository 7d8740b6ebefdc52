"""Parquet in and out."""

from __future__ import annotations

from typing import BinaryIO

from cutline.errors import InputError
from cutline.io.arrow import pa, pq
from cutline.io.sheets import Sheet, Wish, in_one_piece
from cutline.io.sources import Source, reading
from cutline.io.tables import kept_columns, roles_of


def read(source: Source, wish: Wish) -> Sheet:
    """The columns asked for; the others stay on disk."""
    with reading(source), source.open() as stream:
        file = pq.ParquetFile(pa.BufferReader(stream.read_buffer()) if source.gzipped else stream)
        names: list[str] = list(file.schema_arrow.names)
        roles = roles_of(source, names, wish)
        table = file.read(columns=kept_columns(names, roles, wish))
        table.validate(full=True)
    if not table.num_rows:
        raise InputError(f"{source.name} has columns and no rows")
    return Sheet(source=source.name, table=in_one_piece(table), roles=roles, format="parquet")


def names(source: Source) -> list[str]:
    """The names of the columns."""
    with reading(source), source.open() as stream:
        return list(pq.read_schema(pa.BufferReader(stream.read_buffer()) if source.gzipped else stream).names)


def write(sheet: Sheet, file: BinaryIO) -> None:
    """Every column of the sheet."""
    pq.write_table(sheet.table, file, compression="zstd")
