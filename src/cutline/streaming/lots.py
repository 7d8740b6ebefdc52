"""A chunk as queries: checked as a file that is read whole is, and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._frames import values_of_column, vectors_of_column
from cutline.errors import InputError
from cutline.io.gathering import FEW, NOWHERE, say_single_precision
from cutline.io.sheets import Sheet, Texts
from cutline.io.vectors import VectorTable
from cutline.queries import Queries
from cutline.streaming.chunks import Chunk
from cutline.streaming.judgments import Judgments

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lot:
    """The queries of a chunk, without ids of items. Where there are judgments, those that nobody judged are left out;
    `met` says which of the judgments' queries came."""

    queries: Queries
    left_out: int = 0
    met: Integers | None = None
    example: str = ""

    @property
    def judged(self) -> int:
        """How many items have a label."""
        labels = self.queries.labels
        return 0 if labels is None else len(labels) - int(np.count_nonzero(np.isnan(labels)))

    def without_rows(self) -> Lot:
        """What there is to tell of it, without what takes memory."""
        return replace(self, queries=NO_QUERIES)


class Singles:
    """The different scores of single precision, as long as they are few: beside text files ties with a threshold are
    then no accident."""

    def __init__(self) -> None:
        self.rows, self.values = 0, set[float]()

    def see(self, sheet: Sheet, scores: npt.NDArray[np.float64]) -> None:
        """Look at the scores of some rows."""
        if len(self.values) <= FEW and sheet.single_precision("score"):
            self.rows += len(scores)
            self.values.update(np.unique(scores)[: FEW + 1].tolist())

    def tell(self, source: str) -> None:
        """Say so where they stayed few."""
        if self.rows > FEW and len(self.values) <= FEW:
            say_single_precision(source)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reader:
    """How chunks become lots: the roles of the columns, where labels and vectors come from, and which columns are kept,
    one value per item."""

    roles: dict[str, str]
    form: str
    judgments: Judgments | None = None
    vectors: bool | VectorTable = False
    columns: Sequence[str] = ()
    singles: Singles = field(default_factory=Singles)

    def __call__(self, chunk: Chunk) -> Lot:
        """The queries of a chunk."""
        sheet = chunk.piece.sheet(self._roles(chunk), self.form)
        scores = sheet.finite("score")
        self.singles.see(sheet, scores)
        items = sheet.texts("item_id") if sheet.has("item_id") else None
        if items is not None:
            _refuse_repeats(sheet, chunk.starts, items)
        labels, met = sheet.labels() if sheet.has("label") and self.judgments is None else None, None
        if self.judgments is not None:
            if items is None:
                raise InputError(
                    f"{sheet.source} has no column for the item_id, and judgments in a file of their own need one"
                )
            labels, met = self.judgments.of(chunk.ids, chunk.starts, items)
        vectors, rows = self._vectors(sheet)
        ids: npt.NDArray[Any] = np.array(chunk.ids.to_pylist(), dtype=object)
        columns = {name: values_of_column(sheet.table.column(name)) for name in self.columns}
        queries = Queries(scores, chunk.starts, labels, vectors, ids, None, columns, vector_rows=rows)
        if met is None or bool((met >= 0).all()):
            return Lot(queries=queries, met=met, example=str(ids[0]))
        few = queries.select(met >= 0)
        return Lot(queries=few, left_out=len(queries) - len(few), met=met, example=str(ids[0]))

    def _roles(self, chunk: Chunk) -> dict[str, str]:
        names = chunk.piece.table.column_names
        return {role: name for role, name in self.roles.items() if name in names}

    def _vectors(self, sheet: Sheet) -> tuple[Any, Integers | None]:
        if isinstance(self.vectors, VectorTable):
            return self.vectors.vectors, self.vectors.rows_for(sheet)
        if not self.vectors:
            return None, None
        if not sheet.has("vector"):
            raise InputError(
                f"{sheet.source} has no vectors, which diverse lists need; pass vectors=, a column of lists or a file"
            )
        return vectors_of_column(sheet.roles["vector"], sheet.column("vector")), None


def _refuse_repeats(sheet: Sheet, starts: Integers, items: Texts) -> None:
    from cutline.kernels.texts import first_repeat

    one, other = first_repeat(items.data, items.offsets, NOWHERE, starts, 0, len(starts) - 1)
    if one >= 0:
        sheet.refuse_repeat(one, other)


NO_QUERIES = Queries(np.empty(0), np.zeros(1, np.int64), np.empty(0), None, np.empty(0, object))
