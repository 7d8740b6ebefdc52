"""Large files of scored and judged lists, written in chunks: memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

LENGTH, AT_ONCE = 100, 10_000  # items of a list; lists drawn at once
ITEMS = 99_999_989  # a prime: the items of a list are steps through all of them, and differ
GOOD = 3


def write_big(path: str | Path, *, queries: int, length: int = LENGTH, seed: int = 0, scattered: bool = False) -> Path:
    """Lists of `length` items as parquet: query_id, item_id (plain text), score in [0, 1), label 0 to 4.

    An item is good (a label of 3 or 4) with a chance that rises with its score. Rows of a query are adjacent, or with
    `scattered` spread over the file.
    """
    with pq.ParquetWriter(str(path), SCHEMA) as writer:
        for table in tables(queries=queries, length=length, seed=seed, scattered=scattered):
            writer.write_table(table)
    return Path(path)


SCHEMA: Any = pa.schema(
    [("query_id", pa.string()), ("item_id", pa.string()), ("score", pa.float64()), ("label", pa.int8())]
)


def tables(*, queries: int, length: int = LENGTH, seed: int = 0, scattered: bool = False) -> Iterator[Any]:
    """The rows of `write_big`, a million at a time. Scattered ones come in rounds: one item of every query, then the
    next of each."""
    rng = np.random.default_rng(seed)
    if not scattered:
        for start in range(0, queries, AT_ONCE):
            here = np.arange(start, min(start + AT_ONCE, queries))
            yield _table(rng, np.repeat(here, length), np.tile(np.arange(length), len(here)))
        return
    for place in range(length):
        for start in range(0, queries, AT_ONCE * LENGTH):
            here = np.arange(start, min(start + AT_ONCE * LENGTH, queries))
            yield _table(rng, here, np.full(len(here), place))


def _table(rng: np.random.Generator, of_query: npt.NDArray[np.int64], place: npt.NDArray[np.int64]) -> Any:
    scores = rng.random(len(place))
    good = rng.random(len(place)) < 0.15 + 0.8 * scores
    labels = np.where(good, GOOD, 0) + rng.integers(0, 2, len(place))
    items = (of_query * 7_919 + place * (1 + of_query % 999_983)) % ITEMS
    return pa.table(
        [_ids("session-", of_query), _ids("item", items), scores, labels.astype(np.int8)], schema=SCHEMA
    )  # fmt: skip


def _ids(head: str, numbers: npt.NDArray[np.int64]) -> Any:
    return pc.binary_join_element_wise(head, pa.array(numbers).cast(pa.string()), "")
