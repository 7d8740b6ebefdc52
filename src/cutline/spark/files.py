"""Files that a user names as a DataFrame: parquet or CSV, one file, a folder of them, or a pattern."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import Any

from cutline._files import shortened
from cutline.errors import InputError
from cutline.io.delimited import header_of
from cutline.io.formats import suffix_of
from cutline.io.sources import source_of

PARQUET, CELLS = (".parquet", ".pq"), {".csv": ",;\t", ".tsv": "\t"}


def frame_of(spark: Any, path: Path, *, ordered: bool) -> tuple[Any, bool]:
    """The rows of the files, and whether their cells are text. `ordered` where the order of rows within a query
    matters: then file after file, by name, as Spark itself takes the largest first."""
    files = files_at(path)
    text = suffix_of(files[0]) in CELLS
    reader = _cells(spark, files) if text else spark.read.parquet
    names = [_literal(file) for file in files]
    if ordered and len(names) > 1:
        return reduce(lambda one, other: one.unionByName(other), [reader(name) for name in names]), text
    return reader(names) if text else reader(*names), text


def files_at(path: Path) -> list[Path]:
    """The files that a name stands for, in the order of their names, all of one form."""
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*") if each.is_file() and not _hidden(each.relative_to(path)))
        files = [each for each in inside if suffix_of(each) in (*PARQUET, *CELLS)]
    elif not path.exists() and re.search(r"[*?[]", str(path)):
        anchor = Path(path.anchor)
        files = sorted(each for each in anchor.glob(str(path.relative_to(anchor))) if each.is_file())
    else:
        files = [source_of(path).path]
    if not files:
        raise InputError(f"{shortened(path)}: no parquet and no CSV files there; check the path")
    for file in files:
        if suffix_of(file) not in (*PARQUET, *CELLS):
            raise InputError(f"{shortened(file)}: Spark reads .parquet, .csv and .tsv here; leave --engine spark out")
        if (suffix_of(file) in CELLS) != (suffix_of(files[0]) in CELLS):
            raise InputError(f"{shortened(path)} has parquet and CSV files; name those of one form")
    return files


def _hidden(path: Path) -> bool:
    """What Spark and others leave beside the data, as _SUCCESS and .crc files."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _literal(file: Path) -> str:
    """A path in which no mark is a pattern to Spark."""
    return "file:" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file.resolve()))


def _cells(spark: Any, files: list[Path]) -> Any:
    """A reader of cells as the text they are, named by the first line of each file."""
    first = header_of(source_of(files[0]), CELLS[suffix_of(files[0])])
    for file in files[1:]:
        if header_of(source_of(file), CELLS[suffix_of(file)]) != first:
            raise InputError(f"{shortened(file)} has other columns than {shortened(files[0])}; name files of one kind")
    names, mark = first
    schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in names)
    options = {"header": True, "sep": mark, "quote": '"', "escape": '"', "enforceSchema": False, "mode": "FAILFAST"}
    return spark.read.schema(schema).options(**options).csv
