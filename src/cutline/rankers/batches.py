"""Batches of queries of about one length, so that little of a padded batch is padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

BUCKET = 50  # batches that are sorted by length together: few enough to stay random, many enough to be alike


def batches(sizes: Integers, *, batch_queries: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Every query once, `batch_queries` at a time, in a random order: shuffled, cut into buckets of `BUCKET` batches,
    sorted by length within each, cut into batches, and these shuffled again."""
    shuffled: Integers = rng.permutation(len(sizes))
    step = BUCKET * batch_queries
    buckets = [shuffled[start : start + step] for start in range(0, len(shuffled), step)]
    alike = [bucket[np.argsort(sizes[bucket], kind="stable")] for bucket in buckets]
    found: list[Integers] = [
        b[start : start + batch_queries] for b in alike for start in range(0, len(b), batch_queries)
    ]
    order: list[int] = rng.permutation(len(found)).tolist()
    return (found[place] for place in order)


def rows_of(queries: Integers, starts: Integers, sizes: Integers) -> Integers:
    """The rows of these queries, one query after the other."""
    lengths = sizes[queries]
    return _counted_on(starts[queries], lengths)


def places_of(lengths: Integers) -> Integers:
    """Where each item stands in a flattened matrix (queries, longest list): query by query, padding at the ends."""
    return _counted_on(np.arange(len(lengths)) * int(lengths.max()), lengths)


def _counted_on(starts: Integers, lengths: Integers) -> Integers:
    """starts[0], starts[0] + 1, …, lengths[0] numbers of them; then the same from starts[1]; and so on."""
    before = np.cumsum(lengths) - lengths
    numbers: Integers = np.arange(int(lengths.sum()), dtype=np.int64)
    numbers += np.repeat(starts - before, lengths)
    return numbers
