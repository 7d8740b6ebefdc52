"""Columns by name: a frame of features has those that the model was trained on, in that order, or is refused."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any, NamedTuple

import narwhals as nw

from cutline.errors import InputError

AUTOMATIC = re.compile(r"(Column_|column_|f|x)?\d+")  # as LightGBM, polars, XGBoost and CatBoost number columns


class Features(NamedTuple):
    """A frame of features as it came, and the names of its columns; none where they are numbers."""

    frame: Any
    names: list[str] | None


def frame_of(features: Any) -> Features | None:
    """The features as a frame of pandas or polars, or None where they are none."""
    if not (nw.dependencies.is_pandas_dataframe(features) or nw.dependencies.is_polars_dataframe(features)):
        return None
    names: list[Any] = list(features.columns)
    return Features(features, names if all(isinstance(name, str) for name in names) else None)


def check_names(came: list[str] | None, wanted: list[str] | None) -> None:
    """The columns of a frame are those that the model knows by name, in its order; names that a library made up for a
    matrix say nothing of other names."""
    if came is None or wanted is None or _joined(came) == _joined(wanted):
        return
    same = sorted(_joined(came)) == sorted(_joined(wanted))
    if not same and (_made_up(wanted) or _made_up(came)):
        return
    for place, (one, other) in enumerate(zip_longest(came, wanted)):
        if one is not None and other is not None and _joined([one]) == _joined([other]):
            continue
        here = f"got {one!r}" if place < len(came) else "got none"
        there = f"the model was trained with {other!r}" if place < len(wanted) else "the model was trained with none"
        kind = "the same columns in another order" if same else "other columns"
        raise InputError(
            f"features have {kind}: {here} at position {place}, where {there}; pass features[names], with names as the "
            f"model has them: {_few(wanted)}"
        )


def _joined(names: list[str]) -> list[str]:
    """LightGBM keeps spaces as underscores."""
    return [name.replace(" ", "_") for name in names]


def _made_up(names: list[str]) -> bool:
    return all(AUTOMATIC.fullmatch(name) for name in names)


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" … ({len(names):,} in all)" if len(names) > 3 else "")


def missing_in(frame: Any, row: int) -> bool:
    """Whether a row of a frame lacks a value."""
    cells: list[Any] = list(frame.iloc[row]) if hasattr(frame, "iloc") else list(frame.row(row))
    return any(cell is None or cell != cell for cell in cells)
