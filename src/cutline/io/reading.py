"""Files of scores and files of judgments, in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from cutline._columns import ALIASES, Wording
from cutline._display import shown
from cutline.errors import InputError
from cutline.io import letor
from cutline.io.arrow import pa
from cutline.io.formats import format_to_read
from cutline.io.gathering import Gathered, gather
from cutline.io.sheets import Sheet, Wish, taken
from cutline.io.sources import Progress, Source, source_of
from cutline.queries import Queries

File = str | PathLike[str]
JUDGMENTS = ("query_id", "item_id", "label")


def read_queries(
    scores: File,
    *,
    labels: File | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
    labels_format: str | None = None,
    predictions: File | None = None,
    groups: File | None = None,
) -> Queries:
    """Queries from a file of scores: parquet, CSV, TSV, JSON lines, a TREC run, or LETOR with `predictions`.

    `labels` is a file of judgments: TREC qrels, or a table of query, item and label. Queries of `scores` that it does
    not name are left out: nobody judged them. Items that it does not name are unjudged. `columns` names columns as
    `Queries.from_frame` has it. Any file may be gzipped. The endings of names tell the forms, and `format` and
    `labels_format` say them otherwise. `groups` holds the group sizes of a LETOR file without qid.
    """
    told = checked_columns(columns)
    sheet = read_scores(scores, columns=told, format=format, predictions=predictions, groups=groups, keep=None)
    judgments = None if labels is None else read_judgments(labels, columns=told, format=labels_format)
    gathered = gather(sheet, judgments)
    return queries_of(gathered)


def queries_of(gathered: Gathered) -> Queries:
    """The queries with the ids of their items, their vectors and every other column of the file."""
    sheet = gathered.sheet
    names = {role: sheet.roles[role] for role in ("query_id", "item_id", "vector") if sheet.has(role)}
    table = sheet.table.drop_columns([sheet.roles["line"]] if sheet.has("line") else [])
    table = taken(table, gathered.rows)
    for role in ("query_id", "item_id"):
        if role in names:
            place = table.column_names.index(names[role])
            table = table.set_column(place, names[role], sheet.texts(role).column.take(pa.array(gathered.rows)))
    made = Sheet(source=sheet.source, table=table, roles={**names, "score": sheet.roles["score"]}, format=sheet.format)
    if gathered.queries.labels is not None:
        own = sheet.roles.get("label")
        if own is not None:
            made = Sheet(
                source=sheet.source, table=made.table.drop_columns([own]), roles=made.roles, format=sheet.format
            )
        made = made.with_column("label", own or "label", pa.array(gathered.queries.labels, from_pandas=True))
    return Queries.from_frame(made.table, columns=made.roles)


def read_scores(
    path: File,
    *,
    columns: Mapping[str, str],
    wording: Wording | None = None,
    format: str | None = None,
    predictions: File | None = None,
    groups: File | None = None,
    keep: Sequence[str] | None = (),
    only: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Sheet:
    """The rows of a file of scores. `keep` names columns besides the roles (None: all); `only` the roles wanted."""
    source = source_of(path, progress)
    wording = Wording(source.name) if wording is None else wording
    form = format_to_read(source, format, flag="--format" if wording.flags else "format=")
    if form.name == "qrels":
        raise InputError(f"{source.name} holds judgments, and scores are wanted; judgments go to {_labels_at(wording)}")
    _check_columns(columns, keep or (), form.named_columns, source, wording)
    required = ("query_id", "score")
    roles = None if only is None else tuple(only)
    sheet = form.read(source, Wish(columns, required, wording, None if keep is None else tuple(keep), only=roles))
    if form.name == "letor":
        return _scored(sheet, source, predictions, groups, wording)
    for given, what in ((predictions, "predictions"), (groups, "group sizes")):
        if given is not None:
            raise InputError(
                f"{what} belong to LETOR files, and {source.name} is {form.name}; leave {shown(str(given))} out"
            )
    return sheet


def read_judgments(
    path: File,
    *,
    columns: Mapping[str, str],
    wording: Wording | None = None,
    format: str | None = None,
    progress: Progress | None = None,
) -> Sheet:
    """The rows of a file of judgments: query, item and label, by their names, or by their places where names do not
    tell."""
    source = source_of(path, progress)
    wording = Wording(source.name) if wording is None else wording
    form = format_to_read(source, format, flag="--labels-format" if wording.flags else "labels_format=", judgments=True)
    if form.name in ("trec", "letor"):
        raise InputError(f"{source.name} holds {form.name} rows, and judgments are wanted: TREC qrels, or a table")
    told = {role: name for role, name in columns.items() if role in JUDGMENTS}
    if form.names is not None and set(told) - {"label"}:  # those told for the scores need not be the judgments' too
        known = form.names(source)
        told = {role: name for role, name in told.items() if role == "label" or name in known}
    return form.read(source, Wish(told, JUDGMENTS, wording, positional=JUDGMENTS, only=JUDGMENTS))


def _scored(sheet: Sheet, source: Source, predictions: Any, groups: Any, wording: Wording) -> Sheet:
    if predictions is None:
        where = "--predictions FILE" if wording.flags else "predictions="
        raise InputError(f"{source.name} holds features and no scores; name the scores with {where}, one number a row")
    found = letor.beside(source) if groups is None and not sheet.has("query_id") else groups
    sheet = letor.with_groups(sheet, source, None if found is None else source_of(found))
    return letor.with_predictions(sheet, source, source_of(predictions))


def _check_columns(
    columns: Mapping[str, str], keep: Sequence[str], named: bool, source: Source, wording: Wording
) -> None:
    """Columns can be named only where they have names; that of the label may be one of the judgments'."""
    told = [(wording.given(role), name) for role, name in columns.items() if role != "label"]
    told += [("--by" if wording.flags else "by", name) for name in keep]
    if not named and told:
        raise InputError(f"{told[0][0]} names the column {told[0][1]!r}, and {source.name} is of a form without names")


def _labels_at(wording: Wording) -> str:
    return "--labels" if wording.flags else "labels="


def checked_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Names of columns by role."""
    if columns is None:
        return {}
    roles = (*ALIASES, "vectors")
    if not isinstance(cast(Any, columns), Mapping) or any(role not in roles for role in columns):
        raise InputError(f"columns must be {{role: name}} with roles {', '.join(ALIASES)}, got {shown(columns)}")
    return {"vector" if role == "vectors" else role: str(name) for role, name in columns.items()}
