"""The ragged table of queries and their items (`Queries`), and what was chosen from it (`Slates`).

Ragged means flat arrays plus `offsets`: the items of query i are rows offsets[i] to offsets[i + 1]. Everything is
checked once, when a table is made; whoever receives one may trust it. Arrays are kept as read-only views and are not
copied: do not write into an array after handing it over.
"""

from __future__ import annotations

import difflib
import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self, cast, overload

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number
from cutline._display import html_table, text_table
from cutline.errors import CutlineWarning, InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def _no_columns() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One query of a table: views of its rows. A column kept per query is a single value here."""

    id: str | int
    scores: Floats
    labels: Floats | None = None
    vectors: Array | None = None
    item_ids: Array | None = None
    columns: Mapping[str, Any] = field(default_factory=_no_columns)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return text_table(f"Query {self.id!r}", _summary_of_query(self))

    def _repr_html_(self) -> str:
        return html_table(f"Query {self.id!r}", _summary_of_query(self))


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries x items, each query with at least one item.

    `scores` (n_items,) finite; `offsets` (n_queries + 1,); `labels` (n_items,), NaN where an item is unjudged;
    `vectors` (n_items, d); `query_ids` (n_queries,) and `item_ids` (n_items,), whole numbers or text; `columns` by
    name, one value per item or one per query (where every query has one item: per item). `frame` remembers the kind
    of frame the table came from, for `to_frame`. Most tables come from `from_frame`, `from_arrays` or `from_dicts`.
    """

    scores: Floats
    offsets: Ints
    labels: Floats | None = None
    vectors: Array | None = None
    query_ids: Array | None = None
    item_ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=_no_columns)
    frame: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        scores = _numbers("scores", self.scores)
        offsets = _checked_offsets(self.offsets, len(scores))
        n_queries, n_items = len(offsets) - 1, len(scores)
        query_ids = None if self.query_ids is None else _checked_ids("query_ids", self.query_ids, n_queries)
        item_ids = None if self.item_ids is None else _checked_ids("item_ids", self.item_ids, n_items)
        labels = None if self.labels is None else _numbers("labels", self.labels, n_items)
        vectors = None if self.vectors is None else _vectors(self.vectors, n_items)
        columns = {str(name): _column(str(name), c, n_items, n_queries) for name, c in self.columns.items()}
        _fill(self, (scores, offsets, labels, vectors, query_ids, item_ids, columns, self.frame))
        _check_queries(self)
        _check_values(self)
        _check_items(self)

    # Making a table -------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        *,
        qid: npt.ArrayLike | None = None,
        group: npt.ArrayLike | None = None,
        vectors: npt.ArrayLike | None = None,
        item_ids: npt.ArrayLike | None = None,
        columns: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Self:
        """From one value per item, and either `qid` (the query id of each item) or `group` (items per query, in order).

        With `qid`, rows of one query need not be adjacent: they are regrouped, first appearance first, the items of a
        query in the order they came. With `group` there are no query ids. Columns are per item or per query.
        """
        if (qid is None) == (group is None):
            came = "neither" if qid is None else "both"
            raise InputError(f"give either qid (one id per item) or group (items per query), got {came}")
        extra = dict(columns or {})
        if group is not None:
            scores = _numbers("scores", scores)
            offsets = _offsets_of_sizes(_checked_group(group, len(scores)))
            return cls(*_any(scores, offsets, labels, vectors, None, item_ids, extra))
        return cls._regrouped(_any(scores, labels, vectors, item_ids), _plain("qid", qid), extra)

    @classmethod
    def _regrouped(
        cls, per_item: tuple[Any, Any, Any, Any], qid: Array, columns: Mapping[str, Any], frame: str | None = None
    ) -> Self:
        """From (scores, labels, vectors, item_ids) and the query of each item, in any order of rows."""
        scores, labels, vectors, items = per_item
        scores = _numbers("scores", scores)
        n_items = len(scores)
        _same_length("qid", len(qid), n_items, "item")
        offsets, ids, order = _grouping(qid)
        if order is not None:  # checked before the rows move, for a message to name the row as it came
            scores = scores[order]
            labels = None if labels is None else _numbers("labels", labels, n_items)[order]
            vectors = None if vectors is None else _vectors(vectors, n_items)[order]
            items = None if items is None else _checked_ids("item_ids", items, n_items)[order]
            plain = {str(name): _column(str(name), c, n_items, len(ids)) for name, c in columns.items()}
            columns = {name: c[order] if len(c) == n_items else c for name, c in plain.items()}
        return cls(*_any(scores, offsets, labels, vectors, ids, items, columns), frame=frame)

    @classmethod
    def from_frame(cls, frame: Any, *, columns: Mapping[str, str] | None = None) -> Self:
        """From a pandas, polars or pyarrow frame, a polars LazyFrame, a duckdb relation: one row per item.

        Columns are found by name: query_id, q_id, query-id, qid or user_id; score; and, where present, item_id,
        doc_id, docno, docid or corpus-id; label, relevance, rel or rating; vector. `columns` names them otherwise:
        `{"query_id": "session", "score": "model_score"}`. A null label is an unjudged item. Every other column is
        kept. Lazy frames are collected; SQL promises no order of rows, so the order of a relation is as it comes.
        """
        from cutline import _frames

        table = _frames.read_frame(frame, columns or {})
        per_item = (table.score, table.label, table.vector, table.item_id)
        return cls._regrouped(per_item, table.query_id, table.columns, table.backend)

    @classmethod
    def from_dicts(
        cls,
        run: Mapping[Any, Mapping[Any, float]],
        qrels: Mapping[Any, Mapping[Any, float]] | None = None,
    ) -> Self:
        """From a run {query: {item: score}} and judgements {query: {item: label}}.

        Items without a judgement are unjudged (NaN). A judged query that the run does not hold has no list to cut;
        such queries are counted in a CutlineWarning.
        """
        _check_nested("run", run)
        labels = None
        if qrels is not None:
            _check_nested("qrels", qrels)
            _check_shared(run, qrels)
            nothing: Mapping[Any, float] = {}
            labels = [
                float("nan") if (label := judged.get(item)) is None else label
                for query, listed in run.items()
                for judged in (qrels.get(query, nothing),)
                for item in listed
            ]
        scores = [score for listed in run.values() for score in listed.values()]
        offsets = _offsets_of_sizes(np.array([len(listed) for listed in run.values()], dtype=np.int64))
        item_ids = _objects([item for listed in run.values() for item in listed])
        return cls(*_any(scores, offsets, labels, None, _objects(list(run)), item_ids, {}))

    # What it holds --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_items(self) -> int:
        """The number of items over all queries."""
        return len(self.scores)

    @property
    def sizes(self) -> Ints:
        """The number of items of each query."""
        return np.diff(self.offsets)

    def query_of_item(self) -> Ints:
        """For each item the row number of its query."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    def id_of(self, query: int) -> str | int:
        """The id of a query; its row number where there are no ids."""
        if self.query_ids is None:
            return int(query)
        return _scalar(self.query_ids[query])

    def per_query(self, name: str) -> Array:
        """A column as one value per query. A column kept per item must not vary within any query."""
        if name not in self.columns:
            raise InputError(f"there is no column {name!r}{_nearest(name, self.columns)}")
        column = self.columns[name]
        if len(column) == len(self):
            return column
        first = np.repeat(self.offsets[:-1], self.sizes)
        for row in np.flatnonzero(_differs(column, column[first])):
            value, head = column[row], column[first[row]]
            if not (_is_missing(value) and _is_missing(head)):
                query = self.id_of(_query_at(self, int(row)))
                raise InputError(
                    f"column {name!r} must have one value per query, but query {query!r} has {_scalar(head)!r} and "
                    f"{_scalar(value)!r}; use a column that does not vary within a query"
                )
        return _frozen(column[self.offsets[:-1]])

    def __iter__(self) -> Iterator[Query]:
        return (self._query(i) for i in range(len(self)))

    @overload
    def __getitem__(self, which: int) -> Query: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | slice) -> Query | Self:
        return self.select(which) if isinstance(which, slice) else self._query(_position(which, len(self)))

    def _query(self, i: int) -> Query:
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        columns = {n: c[rows] if len(c) == self.n_items else _scalar(c[i]) for n, c in self.columns.items()}
        labels, vectors, items = (None if a is None else a[rows] for a in (self.labels, self.vectors, self.item_ids))
        return Query(self.id_of(i), self.scores[rows], labels, vectors, items, columns)

    # Fewer queries, other orders ------------------------------------------------------------------------------------

    def select(self, which: slice | npt.ArrayLike) -> Self:
        """Some of the queries: row numbers (in the order given, none twice), a boolean mask, or a slice."""
        index = _selected(which, len(self))
        start, stop = (int(index[0]), int(index[-1]) + 1) if len(index) else (0, 0)
        if len(index) == stop - start and bool((np.diff(index) == 1).all()):
            queries, items = slice(start, stop), slice(int(self.offsets[start]), int(self.offsets[stop]))
            return self._taken(queries, items, self.offsets[start : stop + 1] - self.offsets[start])
        offsets = _offsets_of_sizes(self.sizes[index])
        rows: Ints = np.arange(offsets[-1], dtype=np.int64)
        rows += np.repeat(self.offsets[index] - offsets[:-1], np.diff(offsets))
        return self._taken(index, rows, offsets)

    def _taken(self, queries: slice | Ints, items: slice | Ints, offsets: Ints) -> Self:
        columns = {n: c[items] if len(c) == self.n_items else c[queries] for n, c in self.columns.items()}
        labels, vectors, ids = (None if a is None else a[items] for a in (self.labels, self.vectors, self.item_ids))
        query_ids = None if self.query_ids is None else self.query_ids[queries]
        taken = object.__new__(type(self))  # the rows were checked when this table was made
        _fill(taken, (self.scores[items], offsets, labels, vectors, query_ids, ids, columns, self.frame))
        return taken

    def split(self, share_or_count: float, *, rng: int | np.random.Generator) -> tuple[Self, Self]:
        """Two tables, by query: a share (a float in (0, 1)) or a count (a whole number) at random, and the rest.

        Each part keeps the order the queries have here.
        """
        n = len(self)
        count = _count_of(share_or_count, n)
        shuffled = _generator(rng).permutation(n)
        return self.select(np.sort(shuffled[:count])), self.select(np.sort(shuffled[count:]))

    def hash_order(self, seed: int) -> Ints:
        """The queries in the order of BLAKE2b-128 of their ids (as text), keyed by the seed.

        The order depends on the ids and the seed alone, not on the order of rows; without ids the row number is the id.
        """
        texts = [str(i) for i in (range(len(self)) if self.query_ids is None else self.query_ids.tolist())]
        keyed = _keyed_hash(seed)
        digests: list[bytes] = []
        for text in texts:
            one = keyed.copy()
            one.update(text.encode("utf-8", "surrogatepass"))
            digests.append(one.digest())
        words = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)
        order = np.lexsort((words[:, 1], words[:, 0]))
        if (np.diff(words[order], axis=0) == 0).all(axis=1).any():  # one chance in 2^128 for each pair of queries
            order = np.array(sorted(range(len(texts)), key=lambda i: (digests[i], texts[i])), dtype=np.int64)
        return order.astype(np.int64, copy=False)

    # Out again ------------------------------------------------------------------------------------------------------

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per item, as a "pandas", "polars" or "pyarrow" frame (default: the kind that came in, else pyarrow).

        Columns query_id (the row number of the query where there are no ids), then item_id, score, label, vector where
        present, then the others; one of those that bears such a name is called `<name>_input`. Unjudged is null.
        """
        from cutline import _frames

        return _frames.write_frame(*_frame_columns(self), backend or self.frame or "pyarrow")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), tuple(_contents(self)))  # a MappingProxyType does not pickle

    def __repr__(self) -> str:
        return text_table("Queries", _summary(self))

    def _repr_html_(self) -> str:
        return html_table("Queries", _summary(self))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Slates:
    """What was chosen from each query: the mask `chosen` (n_items,), and `order`, the rows chosen, query by query, best
    first. A slate may be empty."""

    queries: Queries
    chosen: Bools
    order: Ints
    _bounds: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        chosen, order = _plain("chosen", self.chosen), _plain("order", self.order)
        if chosen.dtype != np.bool_ or chosen.shape != (self.queries.n_items,):
            raise InputError(
                f"chosen must be {self.queries.n_items:,} truth values, one per item, got {chosen.dtype} "
                f"of shape {chosen.shape}"
            )
        order = _whole("order", order)
        bounds = _bounds_of_chosen(chosen, self.queries.offsets)
        _check_order(self.queries, chosen, order, bounds)
        for name, array in (("chosen", chosen), ("order", order), ("_bounds", bounds)):
            object.__setattr__(self, name, _frozen(array))

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def offsets(self) -> Ints:
        """The offsets of the queries: where the mask of each begins."""
        return self.queries.offsets

    @property
    def sizes(self) -> Ints:
        """The number of items chosen from each query."""
        return np.diff(self._bounds)

    @property
    def share_nonempty(self) -> float:
        """The share of queries from which anything was chosen; 0 where there are no queries."""
        return float(np.mean(self.sizes > 0)) if len(self) else 0.0

    @property
    def mean_size(self) -> float:
        """The mean number of items chosen, empty slates included; 0 where there are no queries."""
        return len(self.order) / len(self) if len(self) else 0.0

    def __iter__(self) -> Iterator[Ints]:
        return (self._slate(i) for i in range(len(self)))

    def __getitem__(self, query: int) -> Ints:
        """The items chosen from one query, as positions within it, best first."""
        return self._slate(_position(query, len(self)))

    def _slate(self, i: int) -> Ints:
        return self.order[self._bounds[i] : self._bounds[i + 1]] - self.offsets[i]

    def to_frame(self, keep_all: bool = False, backend: str | None = None) -> Any:
        """The chosen items, query by query and best first, with a column `rank` that counts from 1.

        With `keep_all` every item in the order of the queries, a truth value `chosen`, and null ranks where not
        chosen. Columns of the queries with these names are kept as `rank_input` and `chosen_input`.
        """
        from cutline import _frames

        rank = np.arange(len(self.order), dtype=np.int64) - np.repeat(self._bounds[:-1], self.sizes) + 1
        backend = backend or self.queries.frame or "pyarrow"
        if not keep_all:
            roles, extra = _frame_columns(self.queries, self.order)
            return _frames.write_frame(roles, extra, backend, {"rank": rank})
        roles, extra = _frame_columns(self.queries)
        ranks = np.zeros(self.queries.n_items, dtype=np.int64)
        ranks[self.order] = rank
        added = {"chosen": self.chosen, "rank": np.ma.MaskedArray(ranks, mask=~self.chosen)}
        return _frames.write_frame(roles, extra, backend, added)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt_slates, (self.queries, self.chosen, self.order)

    def __repr__(self) -> str:
        return text_table("Slates", _summary_of_slates(self))

    def _repr_html_(self) -> str:
        return html_table("Slates", _summary_of_slates(self))


# Filling and rebuilding ---------------------------------------------------------------------------------------------


def _any(*values: Any) -> tuple[Any, ...]:
    """What need not be an array of the right type yet: the constructor makes it one."""
    return values


def _frozen(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _contents(queries: Queries) -> Iterator[Any]:
    for each in fields(queries):
        value = getattr(queries, each.name)
        yield dict(value) if each.name == "columns" else value


def _fill(queries: Queries, contents: Sequence[Any]) -> None:
    """Sets the fields of a table, arrays as read-only views."""
    for each, value in zip(fields(queries), contents, strict=True):
        if each.name == "columns":
            value = MappingProxyType({name: _frozen(column) for name, column in value.items()})
        elif isinstance(value, np.ndarray):
            value = _frozen(value)
        object.__setattr__(queries, each.name, value)


def _rebuilt(cls: type[Queries], contents: Sequence[Any]) -> Queries:
    queries = object.__new__(cls)
    _fill(queries, contents)
    return queries


def _rebuilt_slates(queries: Queries, chosen: Bools, order: Ints) -> Slates:
    return Slates(queries=queries, chosen=chosen, order=order)


# From whatever came to plain arrays ---------------------------------------------------------------------------------


def _plain(name: str, values: Any) -> Array:
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
        raise InputError(f"{name} must be an array with one value each, got {values!r}")
    return array


def _objects(values: list[Any]) -> Array:
    """A list as an array of objects, even where its elements have lengths."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _same_length(name: str, length: int, wanted: int, unit: str) -> None:
    if length != wanted:
        raise InputError(f"{name} must have one value per {unit}, {wanted:,} in all, got {length:,}")


def _one_dimensional(name: str, array: Array) -> None:
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}; pass one value per item, flat")


def _numbers(name: str, values: Any, length: int | None = None) -> Floats:
    array = _plain(name, values)
    _one_dimensional(name, array)
    if length is not None:
        _same_length(name, len(array), length, "item")
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
            out[row] = np.nan if _is_missing(value) else float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be numbers, got {value!r} in row {row}; correct it") from None
    return out


def _whole(name: str, values: Any) -> Ints:
    array = _plain(name, values)
    _one_dimensional(name, array)
    if array.dtype.kind not in "iu" and len(array):
        floats = _numbers(name, array)
        if array.dtype.kind == "b" or not bool((np.isfinite(floats) & (floats == np.floor(floats))).all()):
            raise InputError(f"{name} must be whole numbers, got {array.dtype} such as {_scalar(array[0])!r}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _vectors(values: Any, n_items: int) -> Array:
    array = _plain("vectors", values)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.shape[1] == 0:
        raise InputError(
            f"vectors must be numbers of shape (n_items, d) with d at least 1, got {array.dtype} of shape {array.shape}"
        )
    _same_length("vectors", len(array), n_items, "item")
    return np.ascontiguousarray(array, dtype=np.float32 if array.dtype.name in ("float16", "float32") else np.float64)


def _column(name: str, values: Any, n_items: int, n_queries: int) -> Array:
    array = _plain(f"columns[{name!r}]", values)
    if len(array) not in (n_items, n_queries):
        raise InputError(
            f"columns[{name!r}] must have one value per item ({n_items:,}) or per query ({n_queries:,}), "
            f"got {len(array):,}"
        )
    return array


def _is_missing(value: Any) -> bool:
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value is None or (isinstance(value, float | np.generic) and bool(value != value))


def _equal(one: Any, other: Any) -> bool:
    if _is_missing(one) or _is_missing(other):
        return _is_missing(one) and _is_missing(other)
    return bool(np.array_equal(one, other))


def _scalar(value: Any) -> Any:
    """A plain Python value; dates stay as they are."""
    of_numpy = isinstance(value, np.bool_ | np.number | np.str_)
    return cast("Any", value).item() if of_numpy else value


def _differs(left: Array, right: Array) -> Bools:
    """Where rows differ; one answer a row also for columns of lists."""
    try:
        differs = np.asarray(left != right, dtype=bool)
    except (TypeError, ValueError):  # elements without a plain answer: missing values of pandas, nested arrays
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([not _equal(one, other) for one, other in pairs], dtype=bool)
    if differs.ndim == 1:
        return differs
    return np.asarray(differs.reshape(len(differs), -1).any(axis=1))


# Ids ----------------------------------------------------------------------------------------------------------------


def _checked_ids(name: str, values: Any, length: int) -> Array:
    """Ids as whole numbers or as an object array of text. "007" stays "007"; a missing id is an error."""
    array = _plain(name, values)
    _one_dimensional(name, array)
    _same_length(name, len(array), length, "query" if name == "query_ids" else "item")
    if array.dtype.kind in "Mm":
        array = _objects([None if np.isnat(value) else str(value) for value in array])
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
        if _is_missing(value):
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
    return _objects([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in listed])


def _family(kind: type[Any]) -> type[Any]:
    """One type for all that are alike as ids: numpy's whole numbers count as int."""
    for base in (str, bytes, int, float):
        if issubclass(kind, base) or (base is int and issubclass(kind, np.integer)):
            return cast("type[Any]", base)
    return kind


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _ids_of_floats(name: str, array: Array) -> Ints:
    """Whole numbers that a missing neighbour turned into floats on their way."""
    for row in np.flatnonzero(np.isnan(array))[:1]:
        raise InputError(f"{name} must not be missing, got nan in row {row}; drop the row or give it an id")
    for row in np.flatnonzero((array != np.floor(array)) | (np.abs(array) > 2.0**53))[:1]:
        came = float(array[row])
        raise InputError(f"{name} must be text or whole numbers, got {came!r} in row {row}; give them as text")
    return array.astype(np.int64)


def _nearest(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"; there are {', '.join(map(repr, known)) or 'none'}{hint}"


# Grouping -----------------------------------------------------------------------------------------------------------


def _offsets_of_sizes(sizes: Ints) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


def _grouping(qid: Array) -> tuple[Ints, Array, Ints | None]:
    """Offsets and ids of the queries in order of first appearance, and the order of rows, or None where it is theirs.

    Looks at runs of equal ids, so that rows that are adjacent already cost one comparison each.
    """
    if len(qid) == 0:
        return np.zeros(1, dtype=np.int64), qid, None
    _one_dimensional("qid", qid)
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(_differs(qid[1:], qid[:-1])) + 1))
    lengths = np.diff(np.append(first, len(qid)))
    codes: dict[Any, int] = {}
    try:
        of_run = np.array([codes.setdefault(value, len(codes)) for value in qid[first].tolist()], dtype=np.int64)
    except TypeError:
        raise InputError("qid must be text or whole numbers, got values that cannot be an id") from None
    heads = first[np.diff(np.maximum.accumulate(of_run), prepend=-1) > 0]
    for row in heads if qid.dtype.kind in "Of" else heads[:0]:
        if _is_missing(qid[row]):
            raise InputError(f"qid must not be missing, got {qid[row]!r} in row {row}; drop the row or give it an id")
    if len(codes) == len(first):
        return _offsets_of_sizes(lengths), qid[first], None
    of_item = np.repeat(of_run, lengths)
    return _offsets_of_sizes(np.bincount(of_item)), qid[heads], _stable_order(of_item)


def _stable_order(codes: Ints) -> Ints:
    """A stable argsort of codes from 0 to below 2^32, by 16 bits at a time: numpy sorts those by radix."""
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    if codes.max() < 1 << 16:
        return order
    return order[np.argsort((codes >> 16).astype(np.uint16)[order], kind="stable")]


def _check_nested(name: str, nested: Any) -> None:
    if isinstance(nested, Mapping):
        odd = [key for key, listed in cast("Mapping[Any, Any]", nested).items() if not isinstance(listed, Mapping)]
        if not odd:
            return
        raise InputError(f"{name} must be {{query: {{item: number}}}}, but query {odd[0]!r} does not hold a mapping")
    raise InputError(f"{name} must be {{query: {{item: number}}}}, got {type(nested).__name__}")


def _check_shared(run: Mapping[Any, Any], qrels: Mapping[Any, Any]) -> None:
    lost = sum(query not in run for query in qrels)
    if run and lost == len(qrels):
        judged = f"such as {next(iter(qrels))!r}" if qrels else "none"
        raise InputError(
            f"run and qrels share no query: run has ids such as {next(iter(run))!r}, qrels {judged}; write them alike"
        )
    if lost:
        message = f"{lost} of {len(qrels)} judged queries are not in the run: they have no list to cut and do not count"
        warnings.warn(message, CutlineWarning, stacklevel=3)


# The checks of a table ----------------------------------------------------------------------------------------------


def _checked_offsets(values: Any, n_items: int) -> Ints:
    offsets = _whole("offsets", values)
    if len(offsets) == 0 or offsets[0] != 0:
        raise InputError(f"offsets must start at 0, got {offsets[:1].tolist() or 'none'}; put a 0 first")
    if offsets[-1] != n_items:
        raise InputError(
            f"offsets must end at the number of items, {n_items:,}, got {int(offsets[-1]):,}; "
            "the sizes of all queries must add up to the number of scores"
        )
    for i in np.flatnonzero(np.diff(offsets) < 0)[:1]:
        low, high = int(offsets[i + 1]), int(offsets[i])
        raise InputError(f"offsets must not decrease, got {high:,} and then {low:,} at {i + 1}; sort the queries")
    return offsets


def _checked_group(values: Any, n_items: int) -> Ints:
    sizes = _whole("group", values)
    for i in np.flatnonzero(sizes < 1)[:1]:
        raise InputError(
            f"group must hold sizes of at least 1, got {int(sizes[i])} for query {int(i)}; "
            "drop it: a query without items has no list to cut"
        )
    if sizes.sum() != n_items:
        raise InputError(
            f"group must add up to the number of scores, {n_items:,}, got {int(sizes.sum()):,}; "
            "it holds the number of items of each query, in order"
        )
    return sizes


def _query_at(queries: Queries, row: int) -> int:
    return int(np.searchsorted(queries.offsets, row, side="right")) - 1


def _place(queries: Queries, row: int) -> str:
    """Where a row is, in words a user can look up."""
    query = _query_at(queries, row)
    item = "" if queries.item_ids is None else f", item {_scalar(queries.item_ids[row])!r}"
    return f"query {queries.id_of(query)!r} at position {row - int(queries.offsets[query])} (from 0){item}"


def _check_queries(queries: Queries) -> None:
    for i in np.flatnonzero(queries.sizes == 0)[:1]:
        raise InputError(f"query {queries.id_of(int(i))!r} has no items; drop it: there is no list to cut")
    ids = queries.query_ids
    if ids is None or len(set(ids.tolist())) == len(ids):
        return
    seen: dict[Any, int] = {}
    for i, value in enumerate(ids.tolist()):
        if value in seen:
            raise InputError(
                f"query id {value!r} appears twice, as queries {seen[value]} and {i}; "
                "Queries.from_arrays(qid=...) brings the rows of one query together"
            )
        seen[value] = i


def _check_values(queries: Queries) -> None:
    for row in np.flatnonzero(~np.isfinite(queries.scores))[:1]:
        raise InputError(
            f"scores must be finite, got {float(queries.scores[row])!r} for {_place(queries, int(row))}; "
            "drop the item or give it a finite score"
        )
    if queries.labels is not None:
        for row in np.flatnonzero(np.isinf(queries.labels))[:1]:
            raise InputError(
                f"labels must be finite, or NaN where unjudged, got {float(queries.labels[row])!r} for "
                f"{_place(queries, int(row))}; give it a finite label or NaN"
            )
    if queries.vectors is not None:
        step = max(1, (1 << 20) // queries.vectors.shape[1])  # block by block, for the mask to stay in cache
        for start in range(0, len(queries.vectors), step):
            block = queries.vectors[start : start + step]
            for row in np.flatnonzero(~np.isfinite(block).all(axis=1))[:1]:
                place = _place(queries, start + int(row))
                raise InputError(f"vectors must be finite, got NaN or infinity for {place}; correct the vector")


def _check_items(queries: Queries) -> None:
    """No item twice in a query. Pairs are hashed to 64 bits and sorted; only those that collide are compared."""
    ids = queries.item_ids
    if ids is None:
        return
    of_item = queries.query_of_item()
    if ids.dtype.kind == "O":
        mixed = np.fromiter(map(hash, ids.tolist()), dtype=np.int64, count=len(ids)).view(np.uint64)
    else:
        mixed = ids.astype(np.uint64)
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed += of_item.view(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    ordered = np.sort(mixed)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated) == 0:
        return
    seen: set[tuple[int, Any]] = set()
    for row in np.flatnonzero(np.isin(mixed, repeated)).tolist():
        pair = (int(of_item[row]), _scalar(ids[row]))
        if pair in seen:
            query = queries.id_of(pair[0])
            raise InputError(f"item {pair[1]!r} appears twice in query {query!r}; keep one row per (query, item) pair")
        seen.add(pair)


# Selecting ----------------------------------------------------------------------------------------------------------


def _position(query: Any, n: int) -> int:
    if not _is_whole(query):
        raise InputError(f"a query is found by its row number, got {query!r}; select() takes many, or a mask")
    if not -n <= query < n:
        raise IndexError(f"there is no query {int(query)}: the table has {n}, from 0 to {n - 1}")
    return int(query) % n


def _selected(which: Any, n: int) -> Ints:
    if isinstance(which, slice):
        return np.arange(n, dtype=np.int64)[which]
    array = _plain("which", which)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(f"a mask must have one truth value per query, {n:,} in all, got shape {array.shape}")
        return np.flatnonzero(array)
    index = _whole("which", array)
    for i in index[(index < -n) | (index >= n)][:1]:
        raise InputError(f"which must be row numbers of queries, from 0 to {n - 1}, got {int(i)}")
    index = np.where(index < 0, index + n, index)
    for i in np.flatnonzero(np.bincount(index, minlength=n) > 1)[:1]:
        raise InputError(f"query {int(i)} is selected twice; a copy is no new evidence: select each query once")
    return index


def _count_of(share_or_count: Any, n: int) -> int:
    """How many queries go to the first part of a split."""
    if _is_whole(share_or_count):
        count = int(share_or_count)
    else:
        share = check_number("share_or_count", share_or_count)
        if not 0.0 < share < 1.0:
            hint = f"; a count of queries is written {int(share)}" if share >= 1.0 and share == share // 1 else ""
            raise InputError(f"a share must be in (0, 1), got {share!r}{hint}")
        count = round(share * n)
    if not 0 < count < n:
        raise InputError(f"split must leave queries on both sides, got {share_or_count!r} of {n:,} queries")
    return count


def _generator(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if not _is_whole(rng) or rng < 0:
        raise InputError(f"rng must be a whole number of at least 0 or a numpy Generator, got {rng!r}")
    return np.random.default_rng(int(rng))


def _keyed_hash(seed: Any) -> hashlib.blake2b:
    """BLAKE2b of 16 bytes whose key is the seed in decimal, padded with zero bytes to 16."""
    if not _is_whole(seed):
        raise InputError(f"seed must be a whole number, got {seed!r}")
    key = str(int(seed)).encode()
    if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
        raise InputError(f"seed must have at most {hashlib.blake2b.MAX_KEY_SIZE} digits, got {len(key)}")
    return hashlib.blake2b(key=key.ljust(16, b"\0"), digest_size=16)


# Slates -------------------------------------------------------------------------------------------------------------


def _bounds_of_chosen(chosen: Bools, offsets: Ints) -> Ints:
    return _offsets_of_sizes(chosen.astype(np.int64))[offsets]


def _check_order(queries: Queries, chosen: Bools, order: Ints, bounds: Ints) -> None:
    """`order` is a permutation of the chosen rows that keeps each query together, in the order of the queries."""
    inside = len(order) == bounds[-1] and bool(((order >= 0) & (order < queries.n_items)).all())
    if inside:
        seen = np.zeros(queries.n_items, dtype=bool)
        seen[order] = True
        low = np.repeat(queries.offsets[:-1], np.diff(bounds))
        high = np.repeat(queries.offsets[1:], np.diff(bounds))
        inside = bool((seen == chosen).all()) and bool(((order >= low) & (order < high)).all())
    if not inside:
        raise InputError("order must list each chosen row once, query by query; it does not fit chosen")


# Frames and displays ------------------------------------------------------------------------------------------------


def _frame_columns(queries: Queries, rows: Ints | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    """The columns with fixed names and the others, for the given rows (all: None)."""
    which: Any = slice(None) if rows is None else rows
    of_item = queries.query_of_item()[which]
    roles = {"query_id": of_item if queries.query_ids is None else queries.query_ids[of_item]}
    kept = {"item_id": queries.item_ids, "score": queries.scores, "label": queries.labels, "vector": queries.vectors}
    roles |= {name: values[which] for name, values in kept.items() if values is not None}
    n_items = queries.n_items
    extra = {n: c[which] if len(c) == n_items else c[of_item] for n, c in queries.columns.items()}
    return roles, extra


def _summary(queries: Queries) -> Iterator[tuple[str, object]]:
    yield "queries", f"{len(queries):,}"
    yield "items", f"{queries.n_items:,}"
    if len(queries):
        sizes = queries.sizes
        yield "list length", f"min {sizes.min():,}, median {np.median(sizes):,.4g}, max {sizes.max():,}"
    yield "labels", _summary_of_labels(queries.labels)
    if queries.vectors is not None:
        yield "vectors", f"{queries.vectors.shape[1]:,} x {queries.vectors.dtype}"
    if queries.columns:
        yield "columns", ", ".join(queries.columns)


def _summary_of_query(query: Query) -> Iterator[tuple[str, object]]:
    yield "items", f"{len(query):,}"
    if len(query):
        yield "scores", f"{query.scores.min():.4g} to {query.scores.max():.4g}"
    yield "labels", _summary_of_labels(query.labels)
    if query.columns:
        yield "columns", ", ".join(query.columns)


def _summary_of_labels(labels: Floats | None) -> str:
    if labels is None:
        return "none"
    judged = labels[~np.isnan(labels)]
    if len(judged) == 0:  # also a table without items
        return "0 % judged"
    values = np.unique(judged)
    few = ", ".join(f"{v:g}" for v in values) if len(values) <= 8 else f"{values[0]:g} to {values[-1]:g}"
    return f"{100 * len(judged) / len(labels):.4g} % judged: {few}"


def _summary_of_slates(slates: Slates) -> Iterator[tuple[str, object]]:
    yield "queries", f"{len(slates):,}"
    yield "items chosen", f"{len(slates.order):,} of {slates.queries.n_items:,}"
    yield "mean size", f"{slates.mean_size:.4g}"
    yield "not empty", f"{100 * slates.share_nonempty:.4g} %"
