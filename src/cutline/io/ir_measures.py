"""Runs and judgments as ir_measures has them: iterables of ScoredDoc and of Qrel (extra `ir`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from cutline._tables import check_is_queries
from cutline.errors import InputError, MissingExtraError
from cutline.queries import Queries


def from_scored_docs(run: Iterable[Any], qrels: Iterable[Any] | None = None) -> Queries:
    """Queries from ScoredDoc(query_id, doc_id, score) and, where given, Qrel(query_id, doc_id, relevance). Documents
    without a Qrel are unjudged."""
    scores = _nested("run", run, "score")
    return Queries.from_dicts(scores, None if qrels is None else _nested("qrels", qrels, "relevance"))


def to_scored_docs(queries: Queries) -> Iterator[Any]:
    """A ScoredDoc for each item."""
    scored_doc = _library().ScoredDoc
    return (scored_doc(*row) for row in rows_of(queries, queries.scores.tolist()))


def to_qrels(queries: Queries) -> Iterator[Any]:
    """A Qrel for each judged item. Grades are whole numbers, as ir_measures wants them."""
    qrel = _library().Qrel
    return (
        qrel(query, item, grade) for query, item, grade in rows_of(queries, grades_of(queries)) if grade is not None
    )


def grades_of(queries: Queries) -> list[int | None]:
    """Labels as whole numbers, None where an item is unjudged."""
    check_is_queries(queries)
    if queries.labels is None:
        raise InputError("queries have no labels, and judgments are wanted; give them labels")
    labels = queries.labels
    for row in np.flatnonzero(~np.isnan(labels) & (labels != np.floor(labels)))[:1]:
        raise InputError(
            f"judgments are whole numbers, got the label {labels[row]:g} in row {row}; say what is good first, as in "
            "(labels >= 3).astype(int)"
        )
    return [None if np.isnan(label) else int(label) for label in labels.tolist()]


def rows_of(queries: Queries, values: list[Any]) -> Iterator[tuple[str, str, Any]]:
    """The query, the item and a value of each row, ids as text."""
    check_is_queries(queries)
    if queries.item_ids is None:
        raise InputError("queries have no item ids, by which runs and judgments name items; give them item_ids")
    return zip(
        (str(queries.id_of(query)) for query in queries.query_of_item().tolist()),
        map(str, queries.item_ids.tolist()),
        values,
        strict=True,
    )


def _nested(name: str, rows: Iterable[Any], value: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for place, row in enumerate(rows):
        try:
            query, item, number = str(row.query_id), str(row.doc_id), getattr(row, value)
        except AttributeError:
            raise InputError(
                f"{name} must be rows with query_id, doc_id and {value}, as ir_measures has them, got "
                f"{type(row).__name__} in place {place}"
            ) from None
        listed = found.setdefault(query, {})
        if item in listed:
            raise InputError(f"{name} has query {query!r}, document {item!r} twice; keep one row per pair")
        listed[item] = number
    if not found:
        raise InputError(f"{name} holds no rows")
    return found


def _library() -> Any:
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError(
            "ScoredDoc and Qrel are of ir_measures, which the extra `ir` installs: pip install 'cutline[ir]'"
        ) from None
    return ir_measures
