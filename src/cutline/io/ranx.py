"""Runs and judgments as ranx has them: Run and Qrels, both ways (extra `ir`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from cutline.errors import InputError, MissingExtraError
from cutline.io.ir_measures import grades_of, rows_of
from cutline.queries import Queries


def from_ranx(run: Any, qrels: Any = None) -> Queries:
    """Queries from a ranx Run and, where given, Qrels. Documents without a judgment are unjudged."""
    return Queries.from_dicts(_plain("run", run), None if qrels is None else _plain("qrels", qrels))


def to_run(queries: Queries, *, name: str | None = None) -> Any:
    """A ranx Run of all items and their scores."""
    return _library().Run(_nested(queries, queries.scores.tolist()), name=name)


def to_qrels(queries: Queries, *, name: str | None = None) -> Any:
    """ranx Qrels of all judged items. Grades are whole numbers of at least 0, as ranx wants them."""
    grades = grades_of(queries)
    for row, grade in enumerate(grades):
        if grade is not None and grade < 0:
            raise InputError(f"ranx knows no grades below 0, got {grade} in row {row}; make it 0")
    judged = _nested(queries, grades)
    if not judged:
        raise InputError("queries have no judged item, and ranx knows no empty judgments")
    return _library().Qrels(judged, name=name)


def _nested(queries: Queries, values: list[Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, item, value in rows_of(queries, values):
        if value is not None:
            found.setdefault(query, {})[item] = value
    return found


def _plain(name: str, value: Any) -> dict[str, dict[str, float]]:
    """What a Run or Qrels holds, as dictionaries of its own."""
    held: Any = getattr(value, "run", None) if name == "run" else getattr(value, "qrels", None)
    if held is None or not hasattr(held, "items"):
        wanted = "a ranx Run" if name == "run" else "ranx Qrels"
        raise InputError(f"{name} must be {wanted}, got {type(value).__name__}; Queries.from_dicts takes dictionaries")
    mapping = cast("Mapping[str, Mapping[str, float]]", held)
    return {str(query): dict(listed.items()) for query, listed in mapping.items()}


def _library() -> Any:
    try:
        import ranx
    except ImportError:
        raise MissingExtraError(
            "Run and Qrels are of ranx, which the extra `ir` installs: pip install 'cutline[ir]'"
        ) from None
    return ranx
