"""Vectors of items in a file of their own: a table of item id and vector, each item once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._columns import Wording
from cutline._frames import vectors_of_column
from cutline.errors import InputError
from cutline.io.arrow import Values, pa, pc
from cutline.io.formats import FORMATS, format_to_read, suffix_of
from cutline.io.sheets import Sheet, Wish
from cutline.io.sources import Progress, source_of

Integers = npt.NDArray[np.int64]
ROLES = ("item_id", "vector")


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """Vectors by item id."""

    source: str
    ids: Values
    vectors: npt.NDArray[Any]

    def rows_for(self, sheet: Sheet) -> Integers:
        """For each row of a sheet the row of its item's vector."""
        if not sheet.has("item_id"):
            raise InputError(f"{sheet.source} has no column for the item_id, by which vectors could be found")
        items = sheet.texts("item_id").column
        found = pc.index_in(items.cast(self.ids.type), value_set=self.ids)
        if found.null_count:
            row = int(pc.index(pc.is_null(found), pa.scalar(True)).as_py())
            sheet.refuse(row, f"item {items[row].as_py()!r} has no vector in {self.source}; give it one or drop it")
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def read_vectors(path: Any, *, wording: Wording | None = None, progress: Progress | None = None) -> VectorTable:
    """The columns of item ids and of vectors, by their names, or by their places where names do not tell."""
    source = source_of(path, progress)
    if suffix_of(source.path) not in (*FORMATS["parquet"].suffixes, *FORMATS["jsonl"].suffixes):
        raise InputError(f"{source.name}: vectors come from parquet or JSONL, a table of item id and vector")
    form = format_to_read(source, None, flag="")
    wish = Wish({}, ROLES, Wording(source.name) if wording is None else wording, positional=ROLES, only=ROLES)
    sheet = form.read(source, wish)
    ids = sheet.texts("item_id").column
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        twice = pc.struct_field(counts, "values").filter(pc.greater(pc.struct_field(counts, "counts"), 1))
        raise InputError(f"{source.name}: item {twice[0].as_py()!r} appears twice; keep one vector per item")
    try:
        return VectorTable(source.name, ids, vectors_of_column(sheet.roles["vector"], sheet.column("vector")))
    except InputError as problem:
        raise InputError(f"{source.name}: {problem}") from None
