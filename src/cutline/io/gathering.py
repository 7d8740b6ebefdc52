"""From rows to queries: rows of a query brought together, labels looked up by (query, item), repeated pairs refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._arrays import counted, objects_of
from cutline._display import shown
from cutline._frames import values_of_column, vectors_of_column
from cutline._rows import grouping
from cutline.errors import InputError, warn
from cutline.io.arrow import Values, pa, pc
from cutline.io.sheets import Sheet, Texts
from cutline.io.vectors import VectorTable
from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
FEW = 1000  # different scores, up to which ties with a threshold are no accident
NOWHERE = np.empty(0, np.int64)  # no row moves: each stands at its own number


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Gathered:
    """The queries of a sheet, without ids of items, and the row of the sheet that each of their items stands in."""

    queries: Queries
    rows: Integers
    sheet: Sheet
    unjudged: int = 0  # queries of the sheet that nobody judged, and that were left out

    @property
    def judged(self) -> float | None:
        """The share of items with a label; None where there are no labels."""
        labels = self.queries.labels
        return None if labels is None else float(np.mean(~np.isnan(labels)))


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """Rows by query: those of query q are rows[starts[q]:starts[q + 1]], in the order of the file; where `rows` is
    empty, they are the numbers starts[q] … starts[q + 1] - 1 themselves."""

    ids: Values
    starts: Integers
    rows: Integers


def gather(
    sheet: Sheet, judgments: Sheet | None = None, *, columns: Sequence[str] = (), vectors: bool | VectorTable = False
) -> Gathered:
    """The queries of a sheet of scores. Labels are its own, or those of `judgments`; then queries that nobody judged
    are left out. `columns` are kept, one value per item."""
    scores = sheet.finite("score")
    _note_single_precision(sheet, scores)
    groups = _grouped(sheet)
    own = sheet.labels() if judgments is None and sheet.has("label") else None
    left_out = 0
    if sheet.has("item_id"):
        texts = sheet.texts("item_id")
        _refuse_repeats(sheet, groups, texts)
        if judgments is not None:
            own, groups, left_out = _joined(sheet, groups, texts, judgments)
    elif judgments is not None:
        raise InputError(f"{sheet.source} has no column for the item_id, and judgments in a file of their own need one")
    if left_out and judgments is not None:
        warn(
            f"{left_out:,} of {left_out + len(groups.ids):,} queries of {sheet.source} are not in {judgments.source}: "
            "nobody judged them, and they are left out"
        )
    every = groups.rows if len(groups.rows) else slice(None)  # a view, not a copy, where nothing moves
    vectors_of_items, vector_rows = _vectors(sheet, vectors, every)
    queries = Queries(
        scores[every],
        groups.starts,
        None if own is None else own[every],
        vectors_of_items,
        objects_of(groups.ids.to_pylist()),
        None,
        {name: values_of_column(sheet.table.column(name))[every] for name in columns},
        vector_rows=vector_rows,
    )
    rows = groups.rows if len(groups.rows) else np.arange(len(sheet))
    return Gathered(queries=queries, rows=rows, sheet=sheet, unjudged=left_out)


def _note_single_precision(sheet: Sheet, scores: Floats) -> None:
    """A float32 of 0.7 is a little less than 0.7, as a text file of the same scores has it. Where scores are few and
    far between, that is a question of which lists an item is in."""
    if sheet.single_precision("score") and len(scores) > FEW and len(np.unique(scores)) <= FEW:
        say_single_precision(sheet.source)


def say_single_precision(source: str) -> None:
    """Scores of single precision are few and far between."""
    here = float(np.float32(0.7))
    warn(
        f"{source}: scores are of single precision with few different values, so 0.7 is {here!r} here, and 0.7 in a "
        "text file; calibrate and cut from files of one kind, or write double precision"
    )


def _vectors(sheet: Sheet, vectors: bool | VectorTable, every: Any) -> tuple[Any, Integers | None]:
    """The vector of each item; or a table of vectors, and the row that each item has there."""
    if isinstance(vectors, VectorTable):
        return vectors.vectors, vectors.rows_for(sheet)[every]
    if not vectors:
        return None, None
    if not sheet.has("vector"):
        raise InputError(
            f"{sheet.source} has no vectors, which diverse lists need; pass vectors=, a column of lists or a file"
        )
    return vectors_of_column(sheet.roles["vector"], sheet.column("vector"))[every], None


def _grouped(sheet: Sheet) -> _Grouped:
    codes, ids = codes_of(sheet.texts("query_id"))
    starts, _, order = grouping(codes)
    return _Grouped(ids, starts, NOWHERE if order is None else order)


def codes_of(texts: Texts) -> tuple[npt.NDArray[np.int32], Values]:
    """For each row the number of its text, and the texts, in order of first appearance."""
    heads = np.flatnonzero(texts.changes())
    encoded = texts.column.take(pa.array(heads)).dictionary_encode()
    of_run = encoded.indices.to_numpy()
    return np.repeat(of_run, np.diff(np.append(heads, len(texts)))), encoded.dictionary


def _refuse_repeats(sheet: Sheet, groups: _Grouped, texts: Texts) -> None:
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.texts import first_repeat

    look = partial(first_repeat, texts.data, texts.offsets, groups.rows, groups.starts)
    for one, other in on_threads([partial(look, *span) for span in spans(len(groups.ids), least=512)]):
        if one >= 0:
            sheet.refuse_repeat(one, other)


def _joined(sheet: Sheet, groups: _Grouped, texts: Texts, judgments: Sheet) -> tuple[Floats, _Grouped, int]:
    """A label for each row, NaN where its pair was not judged; the queries that were judged; how many were not."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.texts import match_texts

    labels = judgments.labels()
    codes, ids = codes_of(judgments.texts("query_id"))
    known = pc.index_in(ids, value_set=groups.ids)
    _check_shared(sheet, judgments, groups.ids, ids, known.null_count)
    place = known.fill_null(-1).to_numpy().astype(np.int32)[codes]
    sizes = np.bincount(place[place >= 0], minlength=len(groups.ids))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order = _by_place(place)
    del place, codes
    others = judgments.texts("item_id")
    found = np.empty(len(sheet), np.int32 if len(judgments) < 2**31 else np.int64)
    match = partial(
        match_texts, texts.data, texts.offsets, groups.rows, groups.starts,
        others.data, others.offsets, order, starts,
    )  # fmt: skip
    for one, other in on_threads([partial(match, *span, found) for span in spans(len(sizes), least=512)]):
        if one >= 0:
            judgments.refuse_repeat(one, other)
    joined = labels[found]
    joined[found < 0] = np.nan
    judged = sizes > 0
    if judged.all():
        return joined, groups, 0
    lengths = np.diff(groups.starts)
    mask = np.repeat(judged, lengths)
    rows = groups.rows[mask] if len(groups.rows) else np.flatnonzero(mask)
    few = _Grouped(
        groups.ids.filter(pa.array(judged)),
        np.concatenate([[0], np.cumsum(lengths[judged])]).astype(np.int64),
        rows,
    )
    return joined, few, int(np.count_nonzero(~judged))


def _by_place(place: npt.NDArray[np.int32]) -> Integers:
    """The rows with a place, in the order of their places, each in the order of the file."""
    if len(place) and place[0] >= 0 and bool((np.diff(place) >= 0).all()):
        return NOWHERE
    kept = np.flatnonzero(place >= 0)
    return kept[np.argsort(place[kept], kind="stable")]


def _check_shared(sheet: Sheet, judgments: Sheet, ids: Values, judged: Values, lost: int) -> None:
    if lost == len(judged):
        raise InputError(
            f"{sheet.source} and {judgments.source} share no query: the one has ids such as {shown(ids[0].as_py())}, "
            f"the other {shown(judged[0].as_py())}; write them alike"
        )
    if lost:
        have = "has no list" if lost == 1 else "have no lists"
        warn(
            f"{lost:,} of {counted(len(judged), 'query', 'queries')} of {judgments.source} {have} in {sheet.source} "
            "to cut, and will not count"
        )
