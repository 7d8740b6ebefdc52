"""Data frames in and out, of any kind that narwhals knows. Frames of other libraries never go further than this."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from cutline._arrays import counted
from cutline._checks import check_one_of
from cutline._columns import check_told, match_columns
from cutline.errors import InputError, MissingExtraError

Array = npt.NDArray[Any]

BACKENDS = ("pandas", "polars", "pyarrow")


class Table(NamedTuple):
    """What a frame holds, as arrays, one row per item."""

    query_id: Array
    item_id: Array | None
    score: Array
    label: Array | None
    vector: Array | None
    columns: dict[str, Array]
    backend: str


# Reading ------------------------------------------------------------------------------------------------------------


def read_frame(frame: Any, columns: Any) -> Table:
    """The roles and the other columns of a frame; `columns` says which column plays a role where the name does not."""
    eager = _eager(frame)
    check_told(eager.columns, columns)
    found = match_columns(eager.columns, columns, index=_names_of_index(eager))
    held: dict[str, Array] = {}
    for role, name in found.items():
        series = eager.get_column(name)
        if role == "vector":
            held[role] = _vectors(name, series)
        elif role.endswith("_id"):
            held[role] = _ids(name, _plain(series))
        else:
            held[role] = _numeric(name, series)
    others = {name: _values(_plain(eager.get_column(name))) for name in eager.columns if name not in found.values()}
    came = str(eager.implementation.value)
    backend = came if came in BACKENDS else "pandas" if came == "modin" else "pyarrow"
    get = held.get
    return Table(held["query_id"], get("item_id"), held["score"], get("label"), get("vector"), others, backend)


def values_of_column(column: Any) -> Array:
    """A column of Arrow as one of the other columns of a table."""
    return _values(_plain(nw.from_native(column, series_only=True)))


def vectors_of_column(name: str, column: Any) -> Array:
    """A column of Arrow that holds lists of equal length, as one array (n_items, d)."""
    return _vectors(name, nw.from_native(column, series_only=True))


def _eager(frame: Any) -> nw.DataFrame[Any]:
    try:
        known = _known(frame)
        eager = known.collect() if isinstance(known, nw.LazyFrame) else known
        names = eager.columns
    except (TypeError, AttributeError):
        fix = "Queries.from_arrays takes arrays, Queries.from_dicts a run and its judgements"
        if isinstance(frame, str | PathLike):
            fix = "read the file first, as in pd.read_parquet(path)"
        elif isinstance(frame, Mapping | list):
            fix = "make a frame of it first, as in pd.DataFrame(...); Queries.from_dicts takes a run and its judgements"
        came = type(cast("object", frame)).__name__
        raise InputError(
            f"frame must be a pandas, polars or pyarrow frame or a duckdb relation, got {came}; {fix}"
        ) from None
    except ValueError as problem:
        raise InputError(f"frame cannot be read: {problem}") from None
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"frame has two columns named {name!r}; rename or drop one of them")
    return cast("nw.DataFrame[Any]", eager)


def _known(frame: Any) -> Any:
    """The frame as narwhals knows it; or what hands over rows as Arrow does, as a RecordBatchReader."""
    known: Any = nw.from_native(frame, pass_through=True)
    if known is frame and not isinstance(frame, nw.DataFrame | nw.LazyFrame) and hasattr(frame, "__arrow_c_stream__"):
        try:
            return cast("Any", nw).from_arrow(frame, backend="pyarrow")
        except ValueError:  # one column, and no rows of several
            raise TypeError from None
    return nw.from_native(known)


def _names_of_index(frame: nw.DataFrame[Any]) -> list[str]:
    """What pandas keeps beside the columns, which is nothing to anyone else."""
    if not frame.implementation.is_pandas_like():
        return []
    native: Any = frame.to_native()
    return [str(name) for name in native.index.names if name is not None]


def _ids(name: str, series: nw.Series[Any]) -> Array:
    if series.null_count():
        row = int(series.is_null().to_numpy().argmax())
        raise InputError(
            f"column {name!r} must not have missing ids, got one in row {row}; drop the row or give it an id"
        )
    return _objects_of_text(series.to_numpy())


def _plain(series: nw.Series[Any]) -> nw.Series[Any]:
    """A dictionary array of pyarrow as the values it stands for: on its way to numpy it would lose its nulls."""
    if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
        native: Any = series.to_native()
        return nw.from_native(native.cast(native.type.value_type), series_only=True)
    return series


def _numeric(name: str, given: nw.Series[Any]) -> Array:
    """Numbers, also those that a category stands for. A column of nothing but nulls has no kind: all is missing."""
    series = _plain(given)
    if not any(series.dtype == text for text in (nw.String, nw.Categorical, nw.Enum)):
        return series.to_numpy()
    present = series.drop_nulls()
    if len(present) == 0:
        return np.full(len(series), np.nan)
    came = present.head(1).to_list()[0]
    if not isinstance(came, str):
        return series.to_numpy()
    category, fix = "", "convert it to numbers first"
    if given.dtype != nw.String:
        category, fix = "a category of ", _conversion(name, came, given.implementation)
    raise InputError(f"column {name!r} must hold numbers, got {category}text such as {came!r}; {fix}")


def _conversion(name: str, came: str, library: nw.Implementation) -> str:
    """How a category of text becomes numbers: by reading the text, or by saying what each stands for."""
    is_number = came.strip().replace(".", "", 1).isdigit()
    if library.is_pandas_like():
        return f"convert it, as in df[{name!r}]" + (".astype(float)" if is_number else f".map({{{came!r}: 1, ...}})")
    if library.is_polars():
        step = "cast(pl.Float64)" if is_number else f"replace_strict({{{came!r}: 1, ...}})"
        return f"convert it, as in pl.col({name!r}).cast(pl.String).{step}"
    return "convert it to text and that to numbers first"


def _values(series: nw.Series[Any]) -> Array:
    """An extra column. Structs, times with a zone, and numbers or truth values with nulls stay what they are, as
    objects."""
    zoned = isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None
    gaps = series.dtype.is_integer() or series.dtype == nw.Boolean
    gaps = gaps or (series.dtype.is_float() and not series.implementation.is_pandas_like())  # null is not NaN there
    if series.dtype == nw.Struct or zoned or (gaps and series.null_count()):
        values = zip(series.to_list(), series.is_null().to_list(), strict=True)
        return np.array([None if null else value for value, null in values], dtype=object)
    return _objects_of_text(series.to_numpy())


def _objects_of_text(array: Array) -> Array:
    return array.astype(object) if array.dtype.kind in "UT" else array


def _vectors(name: str, series: nw.Series[Any]) -> Array:
    """A column of lists of equal length as one array (n_items, d)."""
    if series.null_count():
        row = int(series.is_null().to_numpy().argmax())
        raise InputError(
            f"column {name!r} must have a vector in every row, got none in row {row}; drop the row or fill it"
        )
    if (series.dtype == nw.List or series.dtype == nw.Array) and series.implementation.is_pyarrow():
        lists: Any = series.to_native().combine_chunks()  # flat already: no object for each row
        lists = lists.combine_chunks() if hasattr(lists, "combine_chunks") else lists
        flat = lists.flatten().to_numpy(zero_copy_only=False)
        sizes = np.diff(lists.offsets.to_numpy()) if hasattr(lists, "offsets") else np.array([lists.type.list_size])
        _check_sizes(name, sizes)
        return flat.reshape(len(series), -1) if len(series) else np.empty((0, 1))
    array = series.to_numpy()
    if array.ndim == 2:
        return array
    try:
        rows = [
            np.asarray(value, dtype=np.float64) if isinstance(value, list) else np.asarray(value) for value in array
        ]
        _check_sizes(name, np.array([row.size if row.ndim == 1 else -1 for row in rows], dtype=np.int64))
        return np.stack(rows) if rows else np.empty((0, 1))
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(
            f"column {name!r} must hold lists of numbers, got {array[0]!r}; name another with columns="
        ) from None


def _check_sizes(name: str, sizes: npt.NDArray[np.int64]) -> None:
    if len(sizes) and sizes.min() < 0:
        row = int((sizes < 0).argmax())
        raise InputError(f"column {name!r} must hold lists of numbers, got something else in row {row}")
    for row in np.flatnonzero(sizes != sizes[:1])[:1]:
        first = counted(int(sizes[0]), "number", "numbers")
        raise InputError(
            f"column {name!r} must hold vectors of one length, got {first} in row 0 and "
            f"{int(sizes[row]):,} in row {row}; correct the row"
        )


# Writing ------------------------------------------------------------------------------------------------------------


def write_frame(
    roles: Mapping[str, Array], extra: Mapping[str, Array], backend: str, added: Mapping[str, Array] | None = None
) -> Any:
    """A native frame of the fixed columns, those added, and the others; a masked value is null.

    An extra column whose name one of the fixed ones bears is called `<name>_input`.
    """
    check_one_of("backend", backend, BACKENDS)
    fixed = {**roles, **(added or {})}
    if "label" in fixed:
        fixed["label"] = np.ma.masked_invalid(fixed["label"])
    names = set(fixed) | set(extra)
    columns = dict(fixed)
    for given, values in extra.items():
        name = given
        while name in fixed or (name != given and name in names):
            name += "_input"
        columns[name] = values
        names.add(name)
    try:
        library: Any = nw.Implementation.from_backend(cast("Any", backend)).to_native_namespace()
    except ImportError:
        raise MissingExtraError(
            f"backend {backend!r} needs {backend} installed; install it or choose another"
        ) from None
    build = {"pandas": _pandas_column, "polars": _polars_column, "pyarrow": _pyarrow_column}[backend]
    built: dict[str, Any] = {}
    for name, values in columns.items():
        try:
            built[name] = build(library, values)
        except (TypeError, ValueError, NotImplementedError, OverflowError) as problem:  # or a subclass, from pyarrow
            raise InputError(f"column {name!r} cannot be written to {backend}: {problem}") from None
    return library.table(built) if backend == "pyarrow" else library.DataFrame(built)


def _pandas_column(pandas: Any, values: Array) -> Any:
    if isinstance(values, np.ma.MaskedArray):
        masked = cast("np.ma.MaskedArray[Any, Any]", values)
        if masked.dtype.kind == "f":
            return masked.filled(np.nan)
        return pandas.arrays.IntegerArray(np.array(masked.data), np.array(np.ma.getmaskarray(masked)))
    return list(values) if values.ndim > 1 else values


def _polars_column(polars: Any, values: Array) -> Any:
    if isinstance(values, np.ma.MaskedArray):
        masked = cast("np.ma.MaskedArray[Any, Any]", values)
        shown = polars.Series(~np.ma.getmaskarray(masked))
        return polars.select(polars.when(shown).then(polars.Series(np.array(masked.data)))).to_series()
    if values.dtype == object:
        listed: list[Any] = values.tolist()
        nested = [cast("Array", v).tolist() if isinstance(v, np.ndarray) else v for v in listed]
        return polars.Series(nested, strict=True)
    return polars.Series(values)


def _pyarrow_column(pyarrow: Any, values: Array) -> Any:
    if isinstance(values, np.ma.MaskedArray):
        masked = cast("np.ma.MaskedArray[Any, Any]", values)
        return pyarrow.array(np.array(masked.data), mask=np.ma.getmaskarray(masked))
    if values.ndim == 2 and values.dtype.kind in "biuf":
        flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
        return pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pyarrow.array(values.tolist() if values.ndim > 1 else values)
