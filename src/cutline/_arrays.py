"""Turning what users hand over into plain arrays of numbers and ids, or saying what is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._display import shown
from cutline.errors import InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def unchecked(*values: Any) -> tuple[Any, ...]:
    """What need not be an array of the right type yet: the constructor makes it one."""
    return values


def frozen_view(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def plain_array(name: str, values: Any) -> Array:
    """A numpy array. Text becomes objects, since a fixed-width text array would cut and mix what a list holds."""
    if isinstance(values, np.ma.MaskedArray):
        masked: Any = cast("Any", values)
        values = masked.filled(np.nan) if masked.dtype.kind == "f" else np.array(masked.tolist(), dtype=object)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "UT":
            array = array.astype(object) if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{name} must be an array with one value each, got what numpy refuses: {problem}") from None
    if array.ndim == 0:
        raise InputError(f"{name} must be an array with one value each, got {shown(cast('object', values))}")
    return array


def check_same_index(given: Mapping[str, Any]) -> None:
    """Series of pandas are taken by position: where their indexes differ, their rows do not belong together."""
    series = [(name, value) for name, value in given.items() if hasattr(value, "index") and hasattr(value, "iloc")]
    for name, value in series[1:]:
        first, held = series[0]
        if len(held) == len(value) and not held.index.equals(value.index):
            raise InputError(
                f"{first} and {name} have different indexes, and values are taken by position; pass one frame to "
                "Queries.from_frame, or arrays with .to_numpy()"
            )


def objects_of(values: list[Any]) -> Array:
    """A list as an array of objects, even where its elements have lengths."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def same_length(name: str, length: int, wanted: int, unit: str) -> None:
    if length != wanted:
        raise InputError(f"{name} must have one value per {unit}, {wanted:,} in all, got {length:,}")


def one_dimensional(name: str, array: Array) -> None:
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}; pass one value per item, flat")


def decimals_of(values: Array) -> Floats:
    """Short floats as the decimals they are shown as: a float32 of 0.7 is 0.7, and not a little less."""
    kinds, which = np.unique(values, return_inverse=True)
    return np.array([float(str(kind)) for kind in kinds], dtype=np.float64)[which]


def is_short(values: Array) -> bool:
    """Whether floats have fewer than 64 bits."""
    return values.dtype.kind == "f" and values.dtype.itemsize < 8


def numbers_of(name: str, values: Any, length: int | None = None) -> Floats:
    array = plain_array(name, values)
    if name == "labels" and array.ndim == 1 and is_short(array):
        array = decimals_of(array)
    one_dimensional(name, array)
    if length is not None:
        same_length(name, len(array), length, "item")
    if array.dtype.kind == "O":
        array = _numbers_of_objects(name, array)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be numbers, got {array.dtype}; convert them first, for instance to float64")
    return np.ascontiguousarray(array, dtype=np.float64)


def _numbers_of_objects(name: str, array: Array) -> Floats:
    """Decimals, fractions, None: element by element, since numpy would quietly read text as numbers."""
    out = np.empty(len(array), dtype=np.float64)
    for row, value in enumerate(array.tolist()):
        if isinstance(value, str | bytes):
            raise InputError(f"{name} must be numbers, got the text {value!r} in row {row}; convert or correct it")
        try:
            out[row] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be numbers, got {value!r} in row {row}; correct it") from None
    return out


def whole_numbers(name: str, values: Any) -> Ints:
    array = plain_array(name, values)
    one_dimensional(name, array)
    if array.dtype.kind not in "iu" and len(array):
        floats = numbers_of(name, array)
        if array.dtype.kind == "b" or not bool((np.isfinite(floats) & (floats == np.floor(floats))).all()):
            raise InputError(f"{name} must be whole numbers, got {array.dtype} such as {plain_scalar(array[0])!r}")
    if array.dtype.kind in "uf" and len(array) and not -(2.0**63) <= float(array.min()) <= float(array.max()) < 2.0**63:
        raise InputError(f"{name} must be whole numbers that fit 64 bits, got {plain_scalar(array.max())!r}")
    return np.ascontiguousarray(array, dtype=np.int64)


def vectors_of(values: Any, n_items: int | None) -> Array:
    array = plain_array("vectors", values)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.shape[1] == 0:
        raise InputError(
            f"vectors must be numbers of shape (n_items, d) with d at least 1, got {array.dtype} of shape {array.shape}"
            f"{'; write tags as 0 and 1, one place for each' if array.dtype.kind in 'OU' else ''}"
        )
    if n_items is not None:
        same_length("vectors", len(array), n_items, "item")
    return np.ascontiguousarray(array, dtype=np.float32 if array.dtype.name in ("float16", "float32") else np.float64)


def column_of(name: str, values: Any, n_items: int, n_queries: int) -> Array:
    array = plain_array(f"columns[{name!r}]", values)
    if len(array) not in (n_items, n_queries):
        raise InputError(
            f"columns[{name!r}] must have one value per item ({n_items:,}) or per query ({n_queries:,}), "
            f"got {len(array):,}"
        )
    return array


def is_missing(value: Any) -> bool:
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value is None or (isinstance(value, float | np.generic) and bool(value != value))


def _equal(one: Any, other: Any) -> bool:
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    return bool(np.array_equal(one, other))


def plain_scalar(value: Any) -> Any:
    """A plain Python value; dates stay as they are."""
    of_numpy = isinstance(value, np.bool_ | np.number | np.str_)
    return cast("Any", value).item() if of_numpy else value


def differs(left: Array, right: Array) -> Bools:
    """Where rows differ; one answer a row also for columns of lists."""
    try:
        differs = np.asarray(left != right, dtype=bool)
    except (TypeError, ValueError):  # elements without a plain answer: missing values of pandas, nested arrays
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([not _equal(one, other) for one, other in pairs], dtype=bool)
    if differs.ndim == 1:
        return differs
    return np.asarray(differs.reshape(len(differs), -1).any(axis=1))


def checked_ids(name: str, values: Any, length: int) -> Array:
    """Ids as whole numbers or as an object array of text. "007" stays "007"; a missing id is an error."""
    array = plain_array(name, values)
    one_dimensional(name, array)
    same_length(name, len(array), length, "query" if name == "query_ids" else "item")
    if array.dtype.kind in "Mm":
        array = objects_of([None if np.isnat(value) else str(value) for value in array])
    if array.dtype.kind == "S":
        array = array.astype(object)
    if array.dtype.kind == "O":
        array = _ids_of_objects(name, array)
    if array.dtype.kind == "f":
        array = _ids_of_floats(name, array)
    if array.dtype.kind not in "iuO":
        raise InputError(f"{name} must be text or whole numbers, got {array.dtype}")
    return np.ascontiguousarray(array)


def _ids_of_objects(name: str, array: Array) -> Array:
    listed: list[Any] = array.tolist()
    kinds: set[type[Any]] = set(map(type, listed))
    if kinds <= {str}:
        return array
    for row, value in enumerate(listed):
        if is_missing(value):
            raise InputError(f"{name} must not be missing, got {value!r} in row {row}; drop the row or give it an id")
    if bool in kinds or len({_family(kind) for kind in kinds}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"{name} must be all text or all whole numbers, got {names}; convert them to one kind")
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        try:
            return np.array(listed, dtype=np.int64)
        except OverflowError:
            pass  # beyond 64 bits: as text
    if all(issubclass(kind, float | np.floating) for kind in kinds):
        return np.array(listed, dtype=np.float64)
    return objects_of([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in listed])


def _family(kind: type[Any]) -> type[Any]:
    """One type for all that are alike as ids: numpy's whole numbers count as int."""
    for base in (str, bytes, int, float):
        if issubclass(kind, base) or (base is int and issubclass(kind, np.integer)):
            return cast("type[Any]", base)
    return kind


def is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _ids_of_floats(name: str, array: Array) -> Ints:
    """Whole numbers that a missing neighbour turned into floats on their way."""
    for row in np.flatnonzero(np.isnan(array))[:1]:
        raise InputError(f"{name} must not be missing, got nan in row {row}; drop the row or give it an id")
    for row in np.flatnonzero((array != np.floor(array)) | (np.abs(array) > 2.0**53))[:1]:
        came = float(array[row])
        raise InputError(f"{name} must be text or whole numbers, got {came!r} in row {row}; give them as text")
    return array.astype(np.int64)


def checked_columns(columns: Any) -> dict[str, Any]:
    try:
        return {str(name): values for name, values in dict(columns).items()}
    except (TypeError, ValueError):
        raise InputError(
            f"columns must be {{name: values}}, such as {{'device': devices}}, got {type(columns).__name__}"
        ) from None


def counted(number: int, one: str, many: str) -> str:
    """A number and what it counts: 1 query, 2 queries."""
    return f"{number:,} {one if number == 1 else many}"


def nearest_name(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"; there are: {', '.join(map(repr, known)) or 'none'}{hint}"
