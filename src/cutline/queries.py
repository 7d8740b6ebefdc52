"""The ragged table of queries and their items.

Ragged means flat arrays plus `offsets`: the items of query i are rows offsets[i] to offsets[i + 1]. Everything is
checked once, when a table is made; whoever receives one may trust it. Arrays are kept as read-only views and are not
copied: do not write into an array after handing it over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from cutline._arrays import (
    check_same_index,
    checked_columns,
    checked_ids,
    column_of,
    differs,
    frozen_view,
    is_missing,
    numbers_of,
    objects_of,
    plain_array,
    plain_scalar,
    unchecked,
    vectors_of,
)
from cutline._checks import generator_of
from cutline._display import html_table, text_table
from cutline._rows import (
    check_nested,
    check_qid,
    check_shared,
    checked_group,
    checked_offsets,
    count_of,
    grouping,
    keyed_hash,
    offsets_of_sizes,
    position_of,
    selected_rows,
)
from cutline._tables import (
    check_column,
    check_items,
    check_queries,
    check_values,
    frame_columns,
    query_at,
    summary_of_query,
    summary_rows,
)
from cutline._vectors import checked_vector_rows, table_for, vectors_at
from cutline.errors import InputError

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
        return text_table(f"Query {self.id!r}", summary_of_query(self))

    def _repr_html_(self) -> str:
        return html_table(f"Query {self.id!r}", summary_of_query(self))


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries x items, each query with at least one item.

    `scores` (n_items,) finite; `offsets` (n_queries + 1,); `labels` (n_items,), NaN where an item is unjudged;
    `vectors` (n_items, d), or, with `vector_rows` (n_items,), a table that holds the vector of each item in that row
    (`with_vectors`); `query_ids` (n_queries,) and `item_ids` (n_items,), whole numbers or text; `columns` by name,
    one value per item or one per query (where every query has one item: per item). `backend` is the kind of
    frame the table came from, for `to_frame`. Most tables come from `from_frame`, `from_arrays` or `from_dicts`.
    """

    scores: Floats
    offsets: Ints
    labels: Floats | None = None
    vectors: Array | None = None
    query_ids: Array | None = None
    item_ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=_no_columns)
    backend: str | None = field(default=None, kw_only=True)
    vector_rows: Ints | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        scores = numbers_of("scores", self.scores)
        offsets = checked_offsets(self.offsets, len(scores))
        n_queries, n_items = len(offsets) - 1, len(scores)
        query_ids = None if self.query_ids is None else checked_ids("query_ids", self.query_ids, n_queries)
        item_ids = None if self.item_ids is None else checked_ids("item_ids", self.item_ids, n_items)
        labels = None if self.labels is None else numbers_of("labels", self.labels, n_items)
        shared = self.vector_rows is not None
        vectors = None if self.vectors is None else vectors_of(self.vectors, None if shared else n_items)
        rows = checked_vector_rows(self.vector_rows, n_items, vectors) if shared else None
        columns = {name: column_of(name, c, n_items, n_queries) for name, c in checked_columns(self.columns).items()}
        _fill(self, (scores, offsets, labels, vectors, query_ids, item_ids, columns, self.backend, rows))
        check_queries(self)
        check_values(self)
        check_items(self)

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
        extra = {} if columns is None else checked_columns(columns)
        check_same_index({"scores": scores, "labels": labels, "qid": qid, "item_ids": item_ids, **extra})
        if group is not None:
            scores = numbers_of("scores", scores)
            offsets = offsets_of_sizes(checked_group(group, len(scores)))
            return cls(*unchecked(scores, offsets, labels, vectors, None, item_ids, extra))
        return cls._regrouped(unchecked(scores, labels, vectors, item_ids), plain_array("qid", qid), extra)

    @classmethod
    def _regrouped(
        cls, per_item: tuple[Any, Any, Any, Any], qid: Array, columns: Mapping[str, Any], backend: str | None = None
    ) -> Self:
        """From (scores, labels, vectors, item_ids) and the query of each item, in any order of rows."""
        scores, labels, vectors, items = per_item
        scores = numbers_of("scores", scores)
        n_items = len(scores)
        check_qid(qid, n_items)
        offsets, ids, order = grouping(qid)
        if order is not None:  # checked before the rows move, for a message to name the row as it came
            scores = scores[order]
            labels = None if labels is None else numbers_of("labels", labels, n_items)[order]
            vectors = None if vectors is None else vectors_of(vectors, n_items)[order]
            items = None if items is None else checked_ids("item_ids", items, n_items)[order]
            plain = {name: column_of(name, c, n_items, len(ids)) for name, c in columns.items()}
            columns = {name: c[order] if len(c) == n_items else c for name, c in plain.items()}
        return cls(*unchecked(scores, offsets, labels, vectors, ids, items, columns), backend=backend)

    @classmethod
    def from_frame(cls, frame: Any, *, columns: Mapping[str, str] | None = None) -> Self:
        """From a pandas, polars or pyarrow frame, a polars LazyFrame, a duckdb relation: one row per item.

        Columns are found by name: query_id, q_id, query-id, qid or user_id; score; and, where present, item_id,
        doc_id, docno, docid or corpus-id; label, labels,
        relevance, rel, rating or grade; vector. `columns` names them otherwise:
        `{"query_id": "session", "score": "model_score"}`. A null label is an unjudged item. Every other column is
        kept. Lazy frames are collected; SQL promises no order of rows, so the order of a relation is as it comes.
        """
        from cutline import _frames

        table = _frames.read_frame(frame, {} if columns is None else columns)
        per_item = (table.score, table.label, table.vector, table.item_id)
        return cls._regrouped(per_item, table.query_id, table.columns, table.backend)

    @classmethod
    def from_dicts(
        cls,
        run: Mapping[Any, Mapping[Any, float]],
        qrels: Mapping[Any, Mapping[Any, float]] | None = None,
    ) -> Self:
        """From a run {query: {item: score}} and judgements {query: {item: label}}.

        Items without a judgement are unjudged (NaN). Queries that only one of the two names are left out: nobody judged
        them, or they have no list to cut. A CutlineWarning counts them.
        """
        check_nested("run", run)
        labels = None
        if qrels is not None:
            check_nested("qrels", qrels)
            check_shared(run, qrels)
            run = {query: listed for query, listed in run.items() if query in qrels}
            labels = [
                float("nan") if (label := qrels[query].get(item)) is None else label
                for query, listed in run.items()
                for item in listed
            ]
        scores = [score for listed in run.values() for score in listed.values()]
        offsets = offsets_of_sizes(np.array([len(listed) for listed in run.values()], dtype=np.int64))
        item_ids = objects_of([item for listed in run.values() for item in listed])
        return cls(*unchecked(scores, offsets, labels, None, objects_of(list(run)), item_ids, {}))

    def with_vectors(self, vectors: Any, *, item_ids: npt.ArrayLike | None = None) -> Self:
        """The same queries with vectors found by item id: in {item id: vector}, or in an array (n_vectors, d) whose
        rows belong to `item_ids`. Each vector is kept once, in however many queries its item stands.
        """
        table, rows = table_for(self, vectors, item_ids)
        return replace(self, vectors=table, vector_rows=rows, columns=dict(self.columns))

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
        return plain_scalar(self.query_ids[query])

    def per_query(self, name: str) -> Array:
        """A column as one value per query. A column kept per item must not vary within any query."""
        check_column(self, name)
        column = self.columns[name]
        if len(column) == len(self):
            return column
        first = np.repeat(self.offsets[:-1], self.sizes)
        for row in np.flatnonzero(differs(column, column[first])):
            value, head = column[row], column[first[row]]
            if not (is_missing(value) and is_missing(head)):
                query = self.id_of(query_at(self, int(row)))
                raise InputError(
                    f"column {name!r} must have one value per query, but query {query!r} has {plain_scalar(head)!r} "
                    f"and {plain_scalar(value)!r}; use a column that does not vary within a query"
                )
        return frozen_view(column[self.offsets[:-1]])

    def __iter__(self) -> Iterator[Query]:
        return (self._query(i) for i in range(len(self)))

    @overload
    def __getitem__(self, which: int) -> Query: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | slice) -> Query | Self:
        if isinstance(which, slice):
            return self.select(which)
        return self._query(position_of(which, len(self), self.query_ids))

    def _query(self, i: int) -> Query:
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        columns = {n: c[rows] if len(c) == self.n_items else plain_scalar(c[i]) for n, c in self.columns.items()}
        labels, items = (None if a is None else a[rows] for a in (self.labels, self.item_ids))
        vectors = None if self.vectors is None else vectors_at(self.vectors, self.vector_rows, rows)
        return Query(self.id_of(i), self.scores[rows], labels, vectors, items, columns)

    # Fewer queries, other orders ------------------------------------------------------------------------------------

    def select(self, which: slice | npt.ArrayLike) -> Self:
        """Some of the queries: row numbers (in the order given, none twice), a boolean mask, or a slice."""
        index = selected_rows(which, len(self), self.query_ids)
        start, stop = (int(index[0]), int(index[-1]) + 1) if len(index) else (0, 0)
        if len(index) == stop - start and bool((np.diff(index) == 1).all()):
            queries, items = slice(start, stop), slice(int(self.offsets[start]), int(self.offsets[stop]))
            return self._taken(queries, items, self.offsets[start : stop + 1] - self.offsets[start])
        offsets = offsets_of_sizes(self.sizes[index])
        rows: Ints = np.arange(offsets[-1], dtype=np.int64)
        rows += np.repeat(self.offsets[index] - offsets[:-1], np.diff(offsets))
        return self._taken(index, rows, offsets)

    def _taken(self, queries: slice | Ints, items: slice | Ints, offsets: Ints) -> Self:
        columns = {n: c[items] if len(c) == self.n_items else c[queries] for n, c in self.columns.items()}
        labels, ids, rows = (None if a is None else a[items] for a in (self.labels, self.item_ids, self.vector_rows))
        vectors = self.vectors if self.vectors is None or rows is not None else self.vectors[items]
        query_ids = None if self.query_ids is None else self.query_ids[queries]
        taken = object.__new__(type(self))  # the rows were checked when this table was made
        _fill(taken, (self.scores[items], offsets, labels, vectors, query_ids, ids, columns, self.backend, rows))
        return taken

    def split(self, share_or_count: float, *, rng: int | np.random.Generator) -> tuple[Self, Self]:
        """Two tables, by query: a share (a float in (0, 1)) or a count (a whole number) at random, and the rest.

        Each part keeps the order the queries have here.
        """
        n = len(self)
        count = count_of(share_or_count, n)
        shuffled = generator_of(rng).permutation(n)
        return self.select(np.sort(shuffled[:count])), self.select(np.sort(shuffled[count:]))

    def hash_order(self, seed: int, fingerprint: str = "") -> Ints:
        """The queries in the order of BLAKE2b-128 of their ids (as text), keyed by the seed and salted by a
        fingerprint.

        The order of rows does not enter it where queries have ids; without them the row number is the id. Row numbers,
        and ids given out in the order of a file, may say much about a query: that of the hardest may always be 1. A
        fingerprint of the lists themselves, as certificates have it, makes the order a new one for every table.
        """
        texts = [str(i) for i in (range(len(self)) if self.query_ids is None else self.query_ids.tolist())]
        keyed = keyed_hash(seed, fingerprint)
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

        backend = (self.backend or "pyarrow") if backend is None else backend
        return _frames.write_frame(*frame_columns(self), backend)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), tuple(_contents(self)))  # a MappingProxyType does not pickle

    def __repr__(self) -> str:
        return text_table("Queries", summary_rows(self))

    def _repr_html_(self) -> str:
        return html_table("Queries", summary_rows(self))


def _contents(queries: Queries) -> Iterator[Any]:
    for each in fields(queries):
        value = getattr(queries, each.name)
        yield dict(value) if each.name == "columns" else value


def _fill(queries: Queries, contents: Sequence[Any]) -> None:
    """Sets the fields of a table, arrays as read-only views."""
    for each, value in zip(fields(queries), contents, strict=True):
        if each.name == "columns":
            value = MappingProxyType({name: frozen_view(column) for name, column in value.items()})
        elif isinstance(value, np.ndarray):
            value = frozen_view(value)
        object.__setattr__(queries, each.name, value)


def _rebuilt(cls: type[Queries], contents: Sequence[Any]) -> Queries:
    queries = object.__new__(cls)
    _fill(queries, contents)
    return queries
