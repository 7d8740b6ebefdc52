"""TREC judgments (qrels): query, iteration, item, label."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from cutline.errors import InputError
from cutline.io.arrow import pa, pc
from cutline.io.fields import read_fields
from cutline.io.sheets import Sheet, Wish
from cutline.io.sources import Source

FIELDS = ("query_id", "iter", "item_id", "label")


def read(source: Source, wish: Wish) -> Sheet:
    """Queries, items and labels."""
    return read_fields(source, FIELDS, ["query_id", "item_id", "label"], "label", "qrels")


def write(sheet: Sheet, file: BinaryIO) -> None:
    """One line for each row with a label; labels are whole numbers there."""
    labels = sheet.labels()
    rows = np.flatnonzero(~np.isnan(labels))
    for row in rows[labels[rows] != np.floor(labels[rows])][:1]:
        raise InputError(f"TREC judgments hold whole numbers, got the label {labels[row]!r}; write .csv")
    taken = pa.array(rows)
    texts = [sheet.texts(role).column.take(taken) for role in ("query_id", "item_id")]
    grades = pa.array(labels[rows].astype(np.int64)).cast(pa.string())
    lines = pc.binary_join_element_wise(texts[0], pa.scalar("0"), texts[1], grades, " ")
    file.write("\n".join([*lines.to_pylist(), ""]).encode())
