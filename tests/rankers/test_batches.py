"""Batches hold every query once and queries of about one length."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutline.rankers.batches import batches, places_of, rows_of

sizes_of_lists = st.lists(st.integers(1, 9), min_size=1, max_size=40).map(np.array)


@given(sizes=sizes_of_lists, batch_queries=st.integers(1, 12))
def test_every_query_is_in_one_batch(sizes, batch_queries):
    found = list(batches(sizes, batch_queries=batch_queries, rng=np.random.default_rng(0)))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(sizes)))
    assert max(map(len, found)) <= batch_queries


@given(sizes=sizes_of_lists)
def test_rows_and_places_are_those_of_a_loop(sizes):
    starts = np.cumsum(sizes) - sizes
    which = np.random.default_rng(0).permutation(len(sizes))[: len(sizes) // 2 + 1]
    rows = [row for query in which for row in range(starts[query], starts[query] + sizes[query])]
    assert rows_of(which, starts, sizes).tolist() == rows
    longest = sizes.max()
    places = [row * longest + place for row, size in enumerate(sizes) for place in range(size)]
    assert places_of(sizes).tolist() == places


def test_lists_of_a_batch_are_about_equally_long_and_batches_come_in_no_order():
    sizes = np.random.default_rng(0).integers(1, 200, size=2_000)
    found = list(batches(sizes, batch_queries=20, rng=np.random.default_rng(1)))
    padded = sum(len(batch) * int(sizes[batch].max()) for batch in found)
    assert padded < 1.05 * sizes.sum()
    longest = [int(sizes[batch].max()) for batch in found]
    assert longest != sorted(longest)
    again = list(batches(sizes, batch_queries=20, rng=np.random.default_rng(2)))
    assert any(sorted(one) != sorted(other) for one, other in zip(found, again, strict=True))
