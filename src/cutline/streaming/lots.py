"""A chunk as queries: checked as a file that is read whole is, and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Singles:
    """How many scores are of single precision, and the different ones as long as they are few: beside text files ties
    with a threshold are then no accident."""

    rows: int = 0
    values: frozenset[float] = frozenset()

    def __add__(self, other: Singles) -> Singles:
        values = self.values if len(self.values) > FEW else self.values | other.values
        return Singles(self.rows + other.rows, values)

    def tell(self, source: str) -> None:
        """Say so where they stayed few."""
        if self.rows > FEW and len(self.values) <= FEW:
            say_single_precision(source)


def singles_in(sheet: Sheet, scores: npt.NDArray[np.float64]) -> Singles:
    """Those among the scores of some rows."""
    if not sheet.single_precision("score"):
        return Singles()
    values = np.unique(scores[: 4 * FEW])
    if len(values) <= FEW:
        values = np.unique(scores)
    return Singles(len(scores), frozenset(values[: FEW + 1].tolist()))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lot:
    """The queries of a chunk, without ids of items. Where there are judgments, those that nobody judged are left out;
    `met` says which of the judgments' queries came."""

    queries: Queries
    kept: int = 0  # queries
    left_out: int = 0
    met: Integers | None = None
    example: str = ""
    singles: Singles = Singles()

    @property
    def judged(self) -> int:
        """How many items have a label."""
        labels = self.queries.labels
        return 0 if labels is None else len(labels) - int(np.count_nonzero(np.isnan(labels)))

    def without_rows(self) -> Lot:
        """What there is to tell of it, without what takes memory."""
        return replace(self, queries=NO_QUERIES)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reader:
    """How chunks become lots: the roles of the columns, where labels and vectors come from, and which columns are kept,
    one value per item."""

    roles: dict[str, str]
    form: str
    judgments: Judgments | None = None
    vectors: bool | VectorTable = False
    columns: Sequence[str] = ()

    def __call__(self, chunk: Chunk) -> Lot:
        """The queries of a chunk."""
        sheet = chunk.piece.sheet(self._roles(chunk), self.form)
        scores = sheet.finite("score")
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
        few = queries if met is None or bool((met >= 0).all()) else queries.select(met >= 0)
        return Lot(
            queries=few, kept=len(few), left_out=len(queries) - len(few), met=met, example=str(ids[0]),
            singles=singles_in(sheet, scores),
        )  # fmt: skip

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


class Telling:
    """What there is to tell of a pass once all its lots have come. They are added up by whoever takes them in their
    order, on one thread."""

    def __init__(self, reader: Reader, source: str) -> None:
        self.judgments, self.source = reader.judgments, source
        self.kept, self.left_out, self.example, self.singles = 0, 0, "", Singles()

    def add(self, lot: Lot) -> None:
        """Note what came."""
        self.kept, self.left_out = self.kept + lot.kept, self.left_out + lot.left_out
        self.example, self.singles = self.example or lot.example, self.singles + lot.singles
        if self.judgments is not None and lot.met is not None:
            self.judgments.meet(lot.met)

    def say(self) -> None:
        """Scores of single precision, and what scores and judgments do not share."""
        self.singles.tell(self.source)
        if self.judgments is not None:
            self.judgments.tell(self.source, self.kept + self.left_out, self.left_out, self.example)


def _refuse_repeats(sheet: Sheet, starts: Integers, items: Texts) -> None:
    from cutline.kernels.texts import first_repeat

    one, other = first_repeat(items.data, items.offsets, NOWHERE, starts, 0, len(starts) - 1)
    if one >= 0:
        sheet.refuse_repeat(one, other)


NO_QUERIES = Queries(np.empty(0), np.zeros(1, np.int64), np.empty(0), None, np.empty(0, object))
