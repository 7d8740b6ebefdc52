"""What was chosen from each query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._arrays import frozen_view, plain_array, whole_numbers
from cutline._checks import check_truth
from cutline._display import html_table, text_table
from cutline._rows import offsets_of_sizes, position_of
from cutline._tables import check_is_queries, frame_columns
from cutline.errors import InputError
from cutline.queries import Queries

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Slates:
    """What was chosen from each query: the mask `chosen` (n_items,), and `order`, the rows chosen, query by query, best
    first. A slate may be empty."""

    queries: Queries
    chosen: Bools
    order: Ints
    _bounds: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_is_queries(self.queries)
        chosen, order = plain_array("chosen", self.chosen), plain_array("order", self.order)
        if chosen.dtype != np.bool_ or chosen.shape != (self.queries.n_items,):
            raise InputError(
                f"chosen must be {self.queries.n_items:,} truth values, one per item, got {chosen.dtype} "
                f"of shape {chosen.shape}"
            )
        order = whole_numbers("order", order)
        bounds = _bounds_of_chosen(chosen, self.queries.offsets)
        _check_order(self.queries, chosen, order, bounds)
        for name, array in (("chosen", chosen), ("order", order), ("_bounds", bounds)):
            object.__setattr__(self, name, frozen_view(array))

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
        return self._slate(position_of(query, len(self), self.queries.query_ids, "slates.queries"))

    def _slate(self, i: int) -> Ints:
        return self.order[self._bounds[i] : self._bounds[i + 1]] - self.offsets[i]

    def to_frame(self, backend: str | None = None, *, keep_all: bool = False) -> Any:
        """The chosen items, query by query and best first, with a column `rank` that counts from 1.

        `backend` is "pandas", "polars" or "pyarrow" (default: the kind the queries came in, else pyarrow). With
        `keep_all` every item in the order of the queries, a truth value `chosen`, and null ranks where not
        chosen. Columns of the queries with these names are kept as `rank_input` and `chosen_input`.
        """
        from cutline import _frames

        check_truth("keep_all", keep_all)
        rank = np.arange(len(self.order), dtype=np.int64) - np.repeat(self._bounds[:-1], self.sizes) + 1
        if backend is None:
            backend = self.queries.backend or "pyarrow"
        if not keep_all:
            roles, extra = frame_columns(self.queries, self.order)
            return _frames.write_frame(roles, extra, backend, {"rank": rank})
        roles, extra = frame_columns(self.queries)
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


def _rebuilt_slates(queries: Queries, chosen: Bools, order: Ints) -> Slates:
    return Slates(queries=queries, chosen=chosen, order=order)


def _bounds_of_chosen(chosen: Bools, offsets: Ints) -> Ints:
    return offsets_of_sizes(chosen.astype(np.int64))[offsets]


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


def _summary_of_slates(slates: Slates) -> Iterator[tuple[str, object]]:
    yield "queries", f"{len(slates):,}"
    yield "items chosen", f"{len(slates.order):,} of {slates.queries.n_items:,}"
    yield "mean size", f"{slates.mean_size:.4g}"
    yield "not empty", f"{100 * slates.share_nonempty:.4g} %"
