"""Labels from a file of judgments, chunk by chunk. The judgments themselves are held in memory, grouped by query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cutline._arrays import counted
from cutline._display import shown
from cutline._rows import grouping
from cutline.errors import InputError, warn
from cutline.io.arrow import Values, pa, pc
from cutline.io.gathering import NOWHERE, codes_of
from cutline.io.sheets import Sheet, Texts

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """A label for each row, NaN where its pair was not judged; and the number of each query in the judgments, or -1."""

    labels: Floats
    queries: Integers


class Judgments:
    """The judged pairs of a file, by query."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet, self.labels, self.items = sheet, sheet.labels(), sheet.texts("item_id")
        codes, ids = codes_of(sheet.texts("query_id"))
        self.ids = ids.cast(pa.large_string())
        self.starts, _, order = grouping(codes)
        self.order: Integers = np.arange(len(codes)) if order is None else order
        self.met: Flags = np.zeros(len(self.ids), np.bool_)
        self._refuse_repeats()

    def _refuse_repeats(self) -> None:
        from cutline.kernels._compile import on_threads, spans
        from cutline.kernels.texts import first_repeat

        items = self.items
        for first, last in spans(len(self.ids), least=512):
            for one, other in on_threads(
                [lambda a=first, b=last: first_repeat(items.data, items.offsets, self.order, self.starts, a, b)]
            ):
                if one >= 0:
                    self.sheet.refuse_repeat(one, other)

    def of(self, ids: Values, starts: Integers, items: Texts) -> Judged:
        """The labels of a chunk: those of the pairs with the same query and the same item."""
        from cutline.kernels.texts import match_texts

        queries = pc.index_in(ids.cast(pa.large_string()), value_set=self.ids).fill_null(-1).to_numpy().astype(np.int64)
        known = np.flatnonzero(queries >= 0)
        sizes = np.zeros(len(queries), np.int64)
        sizes[known] = np.diff(self.starts)[queries[known]]
        own = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        begins = np.zeros(len(queries), np.int64)
        begins[known] = self.starts[queries[known]]
        rows = self.order[np.arange(own[-1]) + np.repeat(begins - own[:-1], sizes)]
        found = np.empty(int(starts[-1]), np.int64)
        if len(rows):
            match_texts(
                items.data, items.offsets, NOWHERE, starts, self.items.data, self.items.offsets, rows, own,
                0, len(queries), found,
            )  # fmt: skip
        else:
            found[:] = -1
        labels = self.labels[found]
        labels[found < 0] = np.nan
        return Judged(labels, queries)

    def meet(self, queries: Integers) -> None:
        """Note which queries had a list."""
        self.met[queries[queries >= 0]] = True

    def tell(self, source: str, queries: int, left_out: int, example: str) -> None:
        """What the two files do not share, once all lists have been met."""
        lost = int(np.count_nonzero(~self.met))
        if lost == len(self.met):
            raise InputError(
                f"{source} and {self.sheet.source} share no query: the one has ids such as {shown(example)}, "
                f"the other {shown(self.ids[0].as_py())}; write them alike"
            )
        if lost:
            have = "has no list" if lost == 1 else "have no lists"
            warn(
                f"{lost:,} of {counted(len(self.met), 'query', 'queries')} of {self.sheet.source} {have} in {source} "
                "to cut, and will not count"
            )
        if left_out:
            warn(
                f"{left_out:,} of {queries:,} queries of {source} are not in {self.sheet.source}: "
                "nobody judged them, and they are left out"
            )
