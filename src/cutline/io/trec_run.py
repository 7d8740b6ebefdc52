"""TREC runs: query, Q0, item, rank, score, tag. The rank is not read: lists are in the order of their scores."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from cutline._version import __version__
from cutline.errors import InputError
from cutline.io.arrow import Column, Values, pa, pc
from cutline.io.fields import read_fields
from cutline.io.sheets import Sheet, Wish
from cutline.io.sources import Source

FIELDS = ("query_id", "iter", "item_id", "rank", "score", "tag")
BATCH = 1 << 17  # lines written at a time


def read(source: Source, wish: Wish) -> Sheet:
    """Queries, items and scores; the tag where all columns are kept."""
    kept = [field for field in ("query_id", "item_id", "score") if wish.reads(field)]
    return read_fields(source, FIELDS, [*kept, "tag"] if wish.keep is None else kept, "score", "trec")


def write(sheet: Sheet, file: BinaryIO) -> None:
    """One line a row, best first within a query, ranks from 1; the tag of the run that came in, else cutline's."""
    for role in ("item_id", "rank"):
        if not sheet.has(role):
            raise InputError(f"a TREC run needs a column for the {role}, and {sheet.source} has none; write .parquet")
    texts = {role: _checked(sheet, role) for role in ("query_id", "item_id")}
    tags = sheet.column("tag").cast(pa.string()) if sheet.has("tag") else pa.scalar(f"cutline-{__version__}")
    for start in range(0, len(sheet), BATCH):
        part = slice(start, start + BATCH)
        count = len(range(len(sheet))[part])
        ranks = sheet.column("rank").slice(start, count).cast(pa.string())
        scores = pa.array(score_texts(sheet.column("score").slice(start, count)))
        tag = tags.slice(start, count) if sheet.has("tag") else tags
        columns = [texts["query_id"].slice(start, count), pa.scalar("Q0"), texts["item_id"].slice(start, count)]
        lines = pc.binary_join_element_wise(*columns, ranks, scores, tag, " ")
        file.write("\n".join([*lines.to_pylist(), ""]).encode())


def score_texts(scores: Column) -> list[str]:
    """The shortest decimals that read back as the same numbers."""
    return [repr(score) for score in np.asarray(scores.cast(pa.float64())).tolist()]


def _checked(sheet: Sheet, role: str) -> Values:
    """Ids as text; white space would end a field in the middle of one."""
    column = sheet.texts(role).column
    broken = pc.match_substring_regex(column, r"\s")
    if pc.any(broken).as_py():
        row = int(pc.index(broken, pa.scalar(True)).as_py())
        raise InputError(
            f"the {role} {column[row].as_py()!r} has white space in it, which a TREC run cannot hold; write .parquet"
        )
    return column.cast(pa.string())
