"""The forms that files may have: one line each in FORMATS. A name's ending tells the form; of `.txt`, the content."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cutline._columns import ALIASES
from cutline._files import shortened
from cutline.errors import InputError
from cutline.io import delimited, fields, jsonl, letor, parquet, trec_qrels, trec_run
from cutline.io.sheets import Sheet, Wish
from cutline.io.sources import Source, reading


@dataclass(frozen=True, slots=True)
class Format:
    """How files of a form are read and written, and the endings of their names."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Wish], Sheet]
    write: Callable[[Sheet, BinaryIO], None]
    names: Callable[[Source], list[str]] | None = None

    @property
    def named_columns(self) -> bool:
        """Whether columns have names, by which they can be asked for."""
        return self.names is not None


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("parquet", (".parquet", ".pq"), parquet.read, parquet.write, parquet.names),
        Format("csv", (".csv",), delimited.read_csv, delimited.write_csv, delimited.csv_names),
        Format("tsv", (".tsv",), delimited.read_tsv, delimited.write_tsv, delimited.tsv_names),
        Format("jsonl", (".jsonl", ".ndjson"), jsonl.read, jsonl.write, jsonl.names),
        Format("trec", (".run", ".trec", ".res"), trec_run.read, trec_run.write),
        Format("qrels", (".qrels", ".qrel"), trec_qrels.read, trec_qrels.write),
        Format("letor", (".svm", ".letor", ".svmlight", ".libsvm"), letor.read, letor.write),
    )
}
KNOWN = {suffix: each for each in FORMATS.values() for suffix in each.suffixes}
SNIFFED = ".txt"


DICTIONARIES = "; a dictionary {query: {item: score}} goes through Queries.from_dicts in Python"


def format_named(name: str) -> Format:
    """The form with this name."""
    if name not in FORMATS:
        near = difflib.get_close_matches(name, list(FORMATS), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}{hint}")
    return FORMATS[name]


def suffix_of(path: Path) -> str:
    """The ending that tells the form: that before .gz."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def format_to_read(source: Source, name: str | None, *, flag: str, judgments: bool = False) -> Format:
    """The form of a file: as told, by its name, or of `.txt` by its content."""
    if name is not None:
        return format_named(name)
    suffix = suffix_of(source.path)
    known = KNOWN.get(suffix)
    if known is None and suffix != SNIFFED:
        raise InputError(
            f"{source.name}: {_unknown(suffix)}; known are {' '.join(KNOWN)} and {SNIFFED}, each also with .gz; "
            f"or say {flag}, one of {', '.join(FORMATS)}{DICTIONARIES if suffix == '.json' else ''}"
        )
    if known is None or (judgments and known.name in ("csv", "tsv")):
        with reading(source):
            head = source.head()
        sniffed = _sniffed(head, known)
        if sniffed is None:
            raise InputError(
                f"{source.name}: its first line does not tell what it holds; say {flag}, one of {', '.join(FORMATS)}"
            )
        return sniffed
    return known


def format_to_write(path: Path) -> Format:
    """The form that a name asks for."""
    known = KNOWN.get(suffix_of(path))
    if known is None:
        raise InputError(f"{shortened(path)}: {_unknown(suffix_of(path))}; write {' '.join(KNOWN)}, each also with .gz")
    return known


def _unknown(suffix: str) -> str:
    return f"unknown ending {suffix!r}" if suffix else "a name without an ending"


def _sniffed(head: bytes, known: Format | None) -> Format | None:
    """What the first line looks like; judgments may be headerless in a table's clothes."""
    if fields.looks_like(head, trec_qrels.FIELDS, "label"):
        return FORMATS["qrels"]
    if known is not None:
        return known
    if fields.looks_like(head, trec_run.FIELDS, "score"):
        return FORMATS["trec"]
    if letor.looks_like(head):
        return FORMATS["letor"]
    first = head.decode("utf-8", "replace").lstrip("\ufeff").split("\n", 1)[0].strip()
    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        if {cell.strip('"').lower() for cell in first.split(delimiter)} & set(ALIASES["query_id"]):
            return FORMATS[name]
    return FORMATS["jsonl"] if first.startswith("{") else None
