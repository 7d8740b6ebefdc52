"""Cutting a stream: chunks are cut side by side, and their rows written in the order of the chunks. The output is whole
or not there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from cutline._files import shortened
from cutline.certificate import Abstention, Certificate, Fit
from cutline.cutting import scores_of
from cutline.errors import InputError, warn
from cutline.io.arrow import Table, pa, pq
from cutline.io.delimited import write_cells
from cutline.io.formats import Format
from cutline.io.gathering import Gathered
from cutline.io.sheets import Sheet, plain
from cutline.io.writing import binary, cut_rows
from cutline.preferences import WinRate
from cutline.streaming.chunks import Chunk
from cutline.streaming.lots import Lot, Reader, Telling
from cutline.streaming.stream import Stream

GROUP = 1 << 20  # rows of a row group of parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What became of the lists: how many, their items, how many of these are kept, and how many lists are empty."""

    queries: int = 0
    items: int = 0
    chosen: int = 0
    empty: int = 0


def apply_stream(
    stream: Stream, certificate: Certificate | Abstention, reader: Reader, output: Path, form: Format, *, keep_all: bool
) -> Cut:
    """Cut every list and write the chosen rows, best first; with `keep_all` all rows, and which were chosen. Queries
    come in the order of the file; where their rows lie scattered, in that of the buckets they were sorted into."""
    return stream.settled(partial(_applied, stream, certificate, reader, output, form, keep_all))


def _applied(
    stream: Stream, certificate: Certificate | Abstention, reader: Reader, output: Path, form: Format, keep_all: bool
) -> Cut:
    fit, empty, telling = Fit(), 0, Telling(reader, stream.name)
    rated = isinstance(certificate.scoring, WinRate) and form.named_columns
    work = partial(_cut, certificate, reader, keep_all, rated)
    with binary(output) as file, _writing(form, file, stream.share.per_part) as writer:
        for sheet, here, without, lot in stream.results(work):
            fit, empty = fit + here, empty + without
            telling.add(lot)
            try:
                writer.write(sheet)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
                raise InputError(f"{shortened(output)}: cannot be written as {form.name}: {problem}") from None
    telling.say()
    certificate.tell(fit)
    if certificate.abstention is not None:
        kept = "empty" if certificate.threshold > 0 else "full"
        warn(f"nothing was certified: every list comes out {kept}; see statement()")
    return Cut(queries=fit.lists, items=fit.items, chosen=fit.kept, empty=empty)


def _cut(
    certificate: Certificate | Abstention, reader: Reader, keep_all: bool, rated: bool, chunk: Chunk
) -> tuple[Sheet, Fit, int, Lot]:
    """The rows of a chunk that are written, and what there is to count and to tell."""
    lot, sheet = reader(chunk), chunk.piece.sheet(reader.roles, reader.form)
    scores = scores_of(lot.queries, certificate.scoring)
    slates = certificate.cut_quietly(lot.queries, scores)
    rows = np.arange(len(sheet))
    gathered = Gathered(queries=lot.queries, rows=rows, sheet=sheet)
    cut = cut_rows(gathered, slates, keep_all=keep_all, win_rates=scores if rated else None)
    columns = [plain(column) for column in cut.table.columns]
    cut = Sheet(
        source=cut.source, table=pa.table(columns, names=cut.table.column_names), roles=cut.roles, format=cut.format
    )
    fit = Fit(len(lot.queries), certificate.outside(lot.queries), lot.queries.n_items, len(slates.order))
    return cut, fit, int(np.count_nonzero(slates.sizes == 0)), lot.without_rows()


class _Writer(Protocol):
    def write(self, sheet: Sheet) -> None: ...


@contextmanager
def _writing(form: Format, file: BinaryIO, most: int) -> Generator[_Writer]:
    """A writer of one sheet after the other, in this form."""
    if form.name == "parquet":
        writer = _Parquet(file, most)
        yield writer
        writer.finish()
    elif form.name in ("csv", "tsv"):
        yield _Cells(file, "," if form.name == "csv" else "\t")
    else:
        yield _Lines(file, form)


class _Parquet:
    """Row groups of a million rows, as when a file is written at once; smaller ones where rows are wide."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file, self.most = file, most
        self.writer: Any = None
        self.waiting: list[Table] = []

    def write(self, sheet: Sheet) -> None:
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.file, sheet.table.schema, compression="zstd")
        self.waiting.append(sheet.table.cast(self.writer.schema))
        rows = sum(table.num_rows for table in self.waiting)
        if rows >= GROUP or sum(table.nbytes for table in self.waiting) > self.most:
            self._flush(rows - rows % GROUP if rows >= GROUP else rows)

    def _flush(self, count: int) -> None:
        table = pa.concat_tables(self.waiting)
        self.writer.write_table(table.slice(0, count), row_group_size=GROUP)
        self.waiting = [table.slice(count)]

    def finish(self) -> None:
        """Write what is left, and the end of the file."""
        if self.writer is not None:
            self._flush(sum(table.num_rows for table in self.waiting))
            self.writer.close()


class _Cells:
    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self.file, self.delimiter, self.begun = file, delimiter, False

    def write(self, sheet: Sheet) -> None:
        write_cells(sheet, self.file, self.delimiter, header=not self.begun)
        self.begun = True


class _Lines:
    def __init__(self, file: BinaryIO, form: Format) -> None:
        self.file, self.form = file, form

    def write(self, sheet: Sheet) -> None:
        if len(sheet):
            self.form.write(sheet, self.file)
