"""SVMlight with query ids, the form of LETOR: `label qid:ID 1:value 2:value … # comment`. Scores come from a file of
predictions, one number a line; where lines carry no qid, group sizes come from a file of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cutline.errors import InputError
from cutline.io.arrow import pa, pacsv, pc
from cutline.io.delimited import NUMBER, refuse_text
from cutline.io.sheets import Sheet, Wish
from cutline.io.sources import BLOCK, Source, reading, told

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_NOTHING = r"^\s*(#|$)"
_ROW = r"^\s*(?P<label>[^\s#:]+)(?:\s+qid:(?P<query_id>[^\s#]+))?(?:\s+\d+:\S|\s*#|\s*$)"
_DOCUMENT = r"#\s*docid\s*=\s*(?P<item_id>\S+)"
_WORD = r"#\s*(?P<item_id>\S+)\s*$"
BATCH = 1 << 14  # lines written at a time
SIDECARS = (".query", ".group")  # as LightGBM and XGBoost look for group sizes beside the data


def read(source: Source, wish: Wish) -> Sheet:
    """Label, query and item of each line. An item is named by its comment (`#docid = X`, or one word), where every
    line has one that no other line of its query has; else by the number of its line."""
    lines = _lines(source)
    data = np.flatnonzero(~_flags(pc.match_substring_regex(lines, _NOTHING)))
    lines = lines.take(pa.array(data))
    if not len(lines):
        raise InputError(f"{source.name} holds no rows")
    found = pc.extract_regex(lines, _ROW)
    _check_rows(source, lines, data, found)
    texts = {name: pc.struct_field(found, name) for name in ("label", "query_id")}
    table = pa.table({"label": _labels(source, texts["label"], data)})
    if _flags(pc.equal(texts["query_id"], "")).any():
        queries = None
    else:
        queries = texts["query_id"]
        table = table.add_column(0, "query_id", queries)
    table = table.append_column("item_id", _items(lines, queries, data))
    if wish.keep is None:
        table = table.append_column("line", lines)
    roles = {name: name for name in table.column_names}

    def place(row: int) -> str:
        return f"line {data[row] + 1}"

    return Sheet(source=source.name, table=table, roles=roles, format="letor", place=place)


def write(sheet: Sheet, file: BinaryIO) -> None:
    """The lines as they came."""
    if not sheet.has("line"):
        raise InputError(f"LETOR holds features, and {sheet.source} has none; write .parquet")
    lines = sheet.column("line")
    file.writelines(
        "\n".join([*lines.slice(start, BATCH).to_pylist(), ""]).encode() for start in range(0, len(sheet), BATCH)
    )


def with_groups(sheet: Sheet, source: Source, groups: Source | None) -> Sheet:
    """The sheet with the queries that a file of group sizes makes, named 1, 2, … by their place."""
    sizes = group_sizes(source, groups, len(sheet), has_qid=sheet.has("query_id"))
    if sizes is None:
        return sheet
    places = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    return sheet.with_column("query_id", "query_id", pa.array(places).cast(pa.string()))


def group_sizes(source: Source, groups: Source | None, n_rows: int, *, has_qid: bool) -> Integers | None:
    """How many rows each query has, by a file of group sizes; None where each line has a qid."""
    if has_qid:
        if groups is not None:
            raise InputError(f"{source.name} has a qid in each line, so {groups.name} is not needed; leave it out")
        return None
    if groups is None:
        raise InputError(
            f"{source.name}: its lines have no qid:, and there is no {_stem(source.path).name}.query beside it; "
            "name a file of group sizes with --groups"
        )
    sizes = read_numbers(groups, "group sizes")
    for row in np.flatnonzero((sizes < 1) | (sizes != np.floor(sizes)))[:1]:
        raise InputError(
            f"{groups.name}, line {row + 1}: a group size is a whole number of at least 1, got {sizes[row]:g}"
        )
    if sizes.sum() != n_rows:
        raise InputError(
            f"{groups.name} has sizes that add up to {sizes.sum():,.0f}, and {source.name} has {n_rows:,} rows"
        )
    return sizes.astype(np.int64)


def beside(source: Source) -> Path | None:
    """The file of group sizes beside the data, if there is one."""
    stem = _stem(source.path)
    return next((path for mark in SIDECARS if (path := stem.with_name(stem.name + mark)).is_file()), None) or next(
        (path for mark in SIDECARS if stem.suffix and (path := stem.with_suffix(mark)).is_file()), None
    )


def with_predictions(sheet: Sheet, source: Source, predictions: Source) -> Sheet:
    """The sheet with a score for each row."""
    scores, queries = read_predictions(predictions)
    if len(scores) != len(sheet):
        raise InputError(
            f"{predictions.name} has {len(scores):,} predictions, and {source.name} has {len(sheet):,} rows; "
            "one number a row is wanted"
        )
    for row, (query, own) in enumerate(zip(queries, sheet.column("query_id").to_pylist(), strict=False)):
        if query != own:
            raise InputError(
                f"{predictions.name}, line {row + 1}: query {query!r}, and {source.name} has {own!r} in "
                f"{sheet.place(row)}; predictions must be in the order of the rows"
            )
    for row in np.flatnonzero(~np.isfinite(scores))[:1]:
        raise InputError(
            f"{predictions.name}, line {row + 1}: the prediction is {scores[row]}; scores are finite numbers"
        )
    return sheet.with_column("score", "score", pa.array(scores))


def read_predictions(source: Source) -> tuple[Floats, list[str]]:
    """One number a line; or three fields between tabs, as RankLib writes them: query, place and number. Then the
    queries too, for they tell which row a number is for."""
    with reading(source):
        head = source.head()
    first = head.decode("utf-8", "replace").lstrip("\ufeff").split("\n", 1)[0]
    if first.count("\t") != 2:
        return read_numbers(source, "predictions"), []
    lines = _text_lines(source, "predictions")
    for number, line in enumerate(lines, start=1):
        if line.count("\t") != 2:
            raise InputError(f"{source.name}, line {number}: wanted query, place and prediction, got {line[:40]!r}")
    fields = [line.split("\t") for line in lines]
    return _as_numbers(source, "predictions", [each[2] for each in fields]), [each[0].strip() for each in fields]


def read_numbers(source: Source, what: str) -> Floats:
    """One number a line."""
    return _as_numbers(source, what, _text_lines(source, what))


def _text_lines(source: Source, what: str) -> list[str]:
    """The lines, but for empty ones at the end."""
    with reading(source):
        text = source.whole().to_pybytes()
    try:
        lines = text.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise InputError(f"{source.name}, line {line}: not UTF-8 text; {what} are numbers, one a line") from None
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _as_numbers(source: Source, what: str, lines: list[str]) -> Floats:
    try:
        return np.array(lines, dtype=np.float64)
    except ValueError:
        for number, line in enumerate(lines, start=1):
            if not NUMBER.fullmatch(line.strip()):
                raise InputError(
                    f"{source.name}, line {number}: {what} are numbers, one a line, got {line.strip()[:40]!r}"
                ) from None
        raise InputError(f"{source.name} cannot be read as numbers, one a line") from None


def looks_like(head: bytes) -> bool:
    """Whether the first line has a label and a qid, or a label and numbered features."""
    lines = head.decode("utf-8", "replace").lstrip("\ufeff").splitlines()
    first = next((line for line in lines if not re.match(_NOTHING, line)), "")
    return bool(re.match(r"\s*[^\s#:]+\s+(qid:\S+|\d+:\S+)", first))


def _lines(source: Source) -> Any:
    with reading(source), source.open() as file:
        table = pacsv.read_csv(
            file,
            read_options=pacsv.ReadOptions(column_names=["line"], block_size=4 * BLOCK),
            parse_options=pacsv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types={"line": pa.string()}, strings_can_be_null=False, check_utf8=False
            ),
        )
    column = table.column("line")
    try:
        return column.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        for number, line in enumerate(source.lines(), start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                raise InputError(f"{source.name}, line {number}: not UTF-8 text; convert the file to UTF-8") from None
        raise InputError(f"{source.name}: not UTF-8 text; convert the file to UTF-8") from None


def _check_rows(source: Source, lines: Any, data: Any, found: Any) -> None:
    broken = np.flatnonzero(_flags(pc.is_null(found)))
    queries = pc.fill_null(pc.struct_field(found, "query_id"), "")
    without = np.flatnonzero(_flags(pc.equal(queries, "")))
    for row in broken[:1]:
        text = str(lines[int(row)].as_py())
        raise InputError(
            f"{source.name}, line {data[row] + 1}: wanted `label qid:ID 1:value 2:value`, got {text[:60]!r}"
        )
    if 0 < len(without) < len(lines):
        raise InputError(f"{source.name}, line {data[without[0]] + 1}: no qid:, and other lines have one")


def _labels(source: Source, texts: Any, data: Any) -> Any:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid as error:
        for row, text in enumerate(texts.to_pylist()):
            refuse_text(f"{source.name}, line {data[row] + 1}", "label", text)
        raise InputError(f"{source.name}: labels cannot be read: {told(error)}") from None


def _items(lines: Any, queries: Any, data: Any) -> Any:
    for pattern in (_DOCUMENT, _WORD):
        names = pc.struct_field(pc.extract_regex(lines, pattern), "item_id")
        if names.null_count == 0 and pattern == _DOCUMENT:
            return names
        if names.null_count == 0 and queries is not None:
            pairs = pc.binary_join_element_wise(queries, names, " ")
            if pc.count_distinct(pairs).as_py() == len(lines):
                return names
    return pa.array(data + 1).cast(pa.string())


def _stem(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _flags(mask: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(mask.to_numpy(zero_copy_only=False) if isinstance(mask, pa.Array) else mask.to_numpy(), np.bool_)
