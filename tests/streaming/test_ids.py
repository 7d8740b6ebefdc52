"""A query that comes back is found, however many there are and wherever their hashes are kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.io.sheets import texts_of
from cutline.streaming.ids import Met, ScatteredError, hashes_of


@pytest.mark.parametrize("most", [0, 100, 1 << 20])
@given(sizes=st.lists(st.integers(1, 30), min_size=2, max_size=12), repeated=st.booleans(), seed=st.integers(0, 99))
def test_a_hash_that_was_met_before_is_found_by_the_end(tmp_path_factory, most, sizes, repeated, seed):
    hashes = np.random.default_rng(seed).permutation(400)[: sum(sizes)].astype(np.uint64) << np.uint64(55)
    if repeated:
        hashes[-1] = hashes[0]
    met = Met(most, tmp_path_factory.mktemp("ids"))

    def meet() -> None:
        for part in np.split(hashes, np.cumsum(sizes)[:-1]):
            met.add(part)
        met.finish()

    if repeated:
        with pytest.raises(ScatteredError):
            meet()
    else:
        meet()


@given(st.lists(st.text(max_size=40), max_size=50, unique=True))
def test_different_texts_have_different_hashes_and_equal_texts_the_same(listed):
    texts = texts_of(pa.chunked_array([pa.array(listed + listed, pa.large_string())]))
    hashes = hashes_of(texts.data, texts.offsets, len(texts))
    assert hashes[: len(listed)].tolist() == hashes[len(listed) :].tolist()
    assert len(set(hashes.tolist())) == len(listed)
