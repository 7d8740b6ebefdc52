"""Files that a user names, read by the workers: parquet or CSV, one file, a folder of them, or a pattern.

Parquet is read with Arrow, a row group at a time, as on one machine. So every worker must see the files under the same
path, and no row passes through Java before it is packed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cutline._columns import Wording
from cutline._files import shortened
from cutline.errors import InputError
from cutline.io.arrow import pa, pq
from cutline.io.delimited import header_of
from cutline.io.formats import suffix_of
from cutline.io.sources import Source, reading, source_of
from cutline.spark import packing
from cutline.spark.frames import RUNS, Frame, FrameRows, Rows, Task, mapped, reading_of, roles_in
from cutline.spark.packing import Batches, Reading
from cutline.streaming.files import files_of

PARQUET, CELLS = (".parquet", ".pq"), {".csv": ",;\t", ".tsv": "\t"}
TASKS = 8  # per core, at most


def rows_of(
    spark: Any, files: list[Path], columns: dict[str, str], *, name: str, vectors: bool, by_position: bool
) -> Rows:
    """The rows of files of one form. `by_position` where the order of rows within a query matters."""
    wording = Wording(name, flags=True)
    if suffix_of(files[0]) in CELLS:
        frame = _cells(spark, files, by_position=by_position)
        return FrameRows(frame, reading_of(frame, columns, vectors=vectors, wording=wording, cells=True))
    names = list(_parquet(source_of(files[0])).schema_arrow.names)
    roles = roles_in(names, columns, vectors=vectors, labels=True, wording=wording)
    parts = [part for file in files for part in _parts_of(file)]
    if not parts:
        raise InputError(f"{name} has columns and no rows")
    return ParquetRows(spark, parts, Reading(source=name, roles=roles))


def files_at(path: Path) -> list[Path]:
    """The files that a name stands for, in the order of their names, all of one form."""
    files = files_of(path)
    for file in files:
        if suffix_of(file) not in (*PARQUET, *CELLS) or (suffix_of(file) in PARQUET and file.suffix == ".gz"):
            raise InputError(f"{shortened(file)}: Spark reads .parquet, .csv and .tsv here; leave --engine spark out")
        if (suffix_of(file) in CELLS) != (suffix_of(files[0]) in CELLS):
            raise InputError(f"{shortened(path)} has parquet and CSV files; name those of one form")
        source_of(file)
    return files


@dataclass(frozen=True, slots=True)
class _Part:
    """A row group: where it begins in its file, and the file as it was when it was first looked at."""

    source: Source
    group: int
    first: int
    size: int
    changed: int

    def check(self) -> None:
        """Refuse a file that is another one by now."""
        if _stamp(self.source) != (self.size, self.changed):
            raise InputError(f"{self.source.name} changed while it was read; wait until it is written, and start again")


def _stamp(source: Source) -> tuple[int, int]:
    known = source.path.stat()
    return known.st_size, known.st_mtime_ns


def _parquet(source: Source) -> Any:
    with reading(source):
        return pq.ParquetFile(str(source.path), pre_buffer=False)


def _parts_of(path: Path) -> Iterator[_Part]:
    source = source_of(path.resolve())
    size, changed = _stamp(source)
    meta, first = _parquet(source).metadata, 0
    for group in range(meta.num_row_groups):
        yield _Part(source, group, first, size, changed)
        first += meta.row_group(group).num_rows


@dataclass(frozen=True, slots=True, eq=False)
class ParquetRows:
    """The rows of parquet files."""

    spark: Any
    parts: list[_Part]
    reading: Reading

    def runs(self, work: Task | None = None, schema: str = RUNS) -> Frame:
        """Row group by row group."""
        return self._of_parts(partial(_packed, self.reading, work), schema)

    def count(self) -> int:
        """By the column of query ids alone."""
        few = replace(self.reading, roles={"query_id": self.reading.roles["query_id"]})
        return self._of_parts(partial(_ids, few), "query string").distinct().count()

    def _of_parts(self, work: Callable[[int, _Part], Batches], schema: str) -> Frame:
        """What becomes of each row group. Tasks are told the numbers of theirs."""
        parts = self.parts

        def task(numbers: Batches) -> Batches:
            for batch in numbers:
                numbered: list[int] = batch.column(0).to_pylist()
                for number in numbered:
                    yield from work(number, parts[number])

        most = TASKS * int(self.spark.sparkContext.defaultParallelism)
        return mapped(self.spark.range(0, len(parts), 1, min(len(parts), most)), task, schema)


def _packed(reading_: Reading, work: Task | None, number: int, part: _Part) -> Batches:
    rows = replace(reading_, source=part.source.name)
    runs = packing.packed(_batches(part, rows), rows, number << packing.ROW_BITS, partial(_row, part.first))
    return runs if work is None else work(runs)


def _row(first: int, row: int) -> str:
    return f"row {first + row + 1}"


def _ids(reading_: Reading, number: int, part: _Part) -> Batches:
    """Each query id that a row group has, once a batch; what is wrong with one is told by whoever reads all columns."""
    for batch in _batches(part, reading_):
        ids = batch.column(0).unique()
        texts = ids.cast(pa.string()) if not pa.types.is_dictionary(ids.type) else ids.cast(ids.type.value_type)
        yield pa.record_batch([texts], names=["query"])


def _batches(part: _Part, rows: Reading) -> Batches:
    """The rows of a row group, some at a time."""
    with reading(part.source):
        part.check()
        file = _parquet(part.source)
        names = list(rows.roles.values())
        missing = [name for name in names if name not in file.schema_arrow.names]
        if missing:
            raise InputError(f"{part.source.name} has no column {missing[0]!r}, which other files have")
        yield from file.iter_batches(packing.PACKED_ROWS, row_groups=[part.group], columns=names, use_threads=False)
        part.check()


def _cells(spark: Any, files: list[Path], *, by_position: bool) -> Frame:
    """The cells of text files as the text they are, named by the first line of each. Spark takes the largest file
    first, and so, where positions matter, one file after the other is asked for."""
    first = header_of(source_of(files[0]), CELLS[suffix_of(files[0])])
    for file in files[1:]:
        if header_of(source_of(file), CELLS[suffix_of(file)]) != first:
            raise InputError(f"{shortened(file)} has other columns than {shortened(files[0])}; name files of one kind")
    names, mark = first
    schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in names)
    options = {"header": True, "sep": mark, "quote": '"', "escape": '"', "enforceSchema": False, "mode": "FAILFAST"}
    reader = spark.read.schema(schema).options(**options)
    paths = [_literal(file) for file in files]
    if not by_position:
        return reader.csv(paths)
    frames: list[Frame] = [reader.csv(path) for path in paths]
    joined = frames[0]
    for frame in frames[1:]:
        joined = joined.unionAll(frame)
    return joined


def _literal(file: Path) -> str:
    """A path in which no mark is a pattern to Spark."""
    return "file:" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file.resolve()))
