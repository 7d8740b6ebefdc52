"""Cut lists and queries, out: whole files or none, in the form that the name asks for."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from cutline._checks import check_truth
from cutline._files import shortened, whole_file, writable
from cutline._tables import check_is_queries
from cutline.errors import InputError
from cutline.io.arrow import pa
from cutline.io.formats import Format, format_named, format_to_write
from cutline.io.gathering import Gathered
from cutline.io.sheets import Sheet, plain, taken
from cutline.queries import Queries
from cutline.slates import Slates

Floats = npt.NDArray[np.float64]


def write_slates(
    slates: Slates, path: str | PathLike[str], *, keep_all: bool = False, format: str | None = None
) -> None:
    """The chosen items, query by query and best first, with their ranks; with `keep_all` every item, and whether it
    was chosen. The name's ending tells the form: parquet, CSV, TSV, JSON lines or a TREC run, each also gzipped."""
    if not isinstance(cast(Any, slates), Slates):
        raise InputError(f"slates must be cl.Slates, as certificate.apply gives them, got {type(slates).__name__}")
    check_truth("keep_all", keep_all)
    form = _form_of_cut(writable(path), format, keep_all=keep_all)
    write_sheet(_sheet_of(slates.to_frame("pyarrow", keep_all=keep_all)), path, form)


def write_queries(queries: Queries, path: str | PathLike[str], *, format: str | None = None) -> None:
    """The items as they are, query by query. A TREC run holds their scores, best first, and TREC judgments
    (`.qrels`) hold their labels; tables hold everything."""
    check_is_queries(queries)
    target = writable(path)
    form = format_to_write(target) if format is None else format_named(format)
    if form.name == "qrels" and queries.labels is None:
        raise InputError("queries have no labels, and a file of judgments holds nothing else; write .run or .parquet")
    if form.name == "trec":
        order = np.lexsort((-queries.scores, queries.query_of_item()))
        everything = Slates(queries=queries, chosen=np.ones(queries.n_items, np.bool_), order=order)
        write_slates(everything, path, format=format)
        return
    write_sheet(_sheet_of(queries.to_frame("pyarrow")), path, form)


def cut_rows(gathered: Gathered, slates: Slates, *, keep_all: bool, win_rates: Floats | None) -> Sheet:
    """The rows of a file that were chosen, best first, with rank; or all of them, with `chosen` too. Every column of
    the file comes along as it was."""
    order = np.arange(len(gathered.rows)) if keep_all else slates.order
    sheet = gathered.sheet
    cut = replace(sheet, table=taken(sheet.table, gathered.rows[order]))
    if win_rates is not None:
        cut = cut.with_column("win_rate", "win_rate", pa.array(win_rates[order]))
    starts = np.cumsum(slates.sizes) - slates.sizes
    ranks = np.arange(1, len(slates.order) + 1) - np.repeat(starts, slates.sizes)
    if not keep_all:
        return cut.with_column("rank", "rank", pa.array(ranks))
    placed = np.zeros(len(order), np.int64)
    placed[slates.order] = ranks
    cut = cut.with_column("chosen", "chosen", pa.array(slates.chosen))
    return cut.with_column("rank", "rank", pa.array(placed, mask=~slates.chosen))


def write_sheet(sheet: Sheet, path: str | PathLike[str], form: Format | None = None) -> None:
    """Write a sheet in the form that the name asks for, whole or not at all."""
    form = format_to_write(Path(path)) if form is None else form
    if sheet.has("line") and form.name != "letor":
        sheet = replace(sheet, table=sheet.table.drop_columns([sheet.roles["line"]]))
    columns = [plain(column) for column in sheet.table.columns]
    sheet = replace(sheet, table=pa.table(columns, names=sheet.table.column_names))
    with binary(path) as file:
        try:
            form.write(sheet, file)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise InputError(f"{shortened(path)}: cannot be written as {form.name}: {problem}") from None


def format_for_output(path: Path, inputs: list[Path], *, keep_all: bool = False) -> Format:
    """The form of the output, if it can be written, and is none of the inputs."""
    return _form_of_cut(check_writable(path, inputs), None, keep_all=keep_all)


def check_writable(path: Path, inputs: list[Path]) -> Path:
    """A path that can be written, and is none of the inputs."""
    target = writable(path)
    for source in inputs:
        if target.exists() and source.exists() and target.samefile(source):
            raise InputError(f"{shortened(path)} is the input; write to another file")
    return target


def _form_of_cut(path: Path, name: str | None, *, keep_all: bool) -> Format:
    form = format_to_write(path) if name is None else format_named(name)
    if form.name == "qrels":
        raise InputError(f"{shortened(path)}: a file of judgments holds no scores; write .run or a table")
    if keep_all and not form.named_columns:
        raise InputError(
            f"{shortened(path)}: {form.name} has no place to say what was chosen; write a table, as .parquet or .csv"
        )
    return form


def _sheet_of(table: Any) -> Sheet:
    roles = {
        name: name for name in table.column_names if name in ("query_id", "item_id", "score", "label", "vector", "rank")
    }
    return Sheet(source="the table", table=table, roles=roles, format="frame")


@contextmanager
def binary(path: str | PathLike[str]) -> Generator[BinaryIO]:
    """A file to write whole or not at all, gzipped where its name says so."""
    with whole_file(path) as file:
        if Path(path).suffix.lower() != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
            yield cast(BinaryIO, packed)
