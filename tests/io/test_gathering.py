"""Grouping rows and looking up labels, beside plain dictionaries."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.errors import CutlineWarning, InputError
from cutline.io.gathering import gather
from cutline.io.sheets import Sheet

IDS = st.text(st.sampled_from("ab0é\U0001f600 "), min_size=1, max_size=3)


def sheet(rows, **columns) -> Sheet:
    """A sheet of (query, item) rows, in chunks as files come."""
    names = ("query_id", "item_id")
    values = {name: [row[place] for row in rows] for place, name in enumerate(names)} | columns
    chunked = {
        name: pa.chunked_array([pa.array(value[:3]), pa.array(value[3:], pa.array(value).type)])
        for name, value in values.items()
    }
    return Sheet(source="file", table=pa.table(chunked), roles={name: name for name in values}, format="csv")


@settings(deadline=None, max_examples=200)
@given(
    scored=st.lists(st.tuples(IDS, IDS), min_size=1, max_size=30, unique=True),
    judged=st.dictionaries(st.tuples(IDS, IDS), st.integers(0, 4), min_size=1, max_size=30),
)
def test_labels_are_those_of_a_dictionary(scored, judged):
    scores = [float(place) for place in range(len(scored))]
    labels = sheet(list(judged), label=[float(label) for label in judged.values()])
    known = {query for query, _ in judged}
    if not known & {query for query, _ in scored}:
        with pytest.raises(InputError, match="share no query"):
            gather(sheet(scored, score=scores), labels)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutlineWarning)
        found = gather(sheet(scored, score=scores), labels)
    expected: dict[str, list[int]] = {}
    for row, (query, _) in enumerate(scored):
        if query in known:
            expected.setdefault(query, []).append(row)
    assert found.queries.query_ids.tolist() == list(expected)
    assert found.rows.tolist() == [row for rows in expected.values() for row in rows]
    assert found.unjudged == len({query for query, _ in scored} - known)
    for label, row in zip(found.queries.labels.tolist(), found.rows.tolist(), strict=True):
        wanted = judged.get(scored[row], math.nan)
        assert label == wanted or (math.isnan(label) and math.isnan(wanted))
    assert found.queries.scores.tolist() == [scores[row] for row in found.rows]


@settings(deadline=None, max_examples=100)
@given(rows=st.lists(st.tuples(IDS, IDS), min_size=2, max_size=12))
def test_a_repeated_pair_is_found_wherever_it_is_and_no_other_is(rows):
    scored = sheet(rows, score=[0.5] * len(rows))
    if len(set(rows)) == len(rows):
        assert gather(scored).queries.n_items == len(rows)
        return
    with pytest.raises(InputError, match="appears twice") as refused:
        gather(scored)
    assert any(
        f"query {query!r}, item {item!r}" in str(refused.value) for query, item in rows if rows.count((query, item)) > 1
    )


@settings(deadline=None, max_examples=100)
@given(rows=st.lists(st.tuples(IDS, IDS), min_size=2, max_size=12))
def test_a_pair_judged_twice_is_found_where_it_matters(rows):
    queries = sorted({query for query, _ in rows})
    scored = sheet([(query, "any") for query in queries], score=[0.5] * len(queries))
    judged = sheet(rows, label=[1.0] * len(rows))
    if len(set(rows)) == len(rows):
        gather(scored, judged)
        return
    with pytest.raises(InputError, match="appears twice"):
        gather(scored, judged)


def test_texts_with_the_same_hash_are_told_apart(monkeypatch):
    from cutline.kernels import texts

    for name in ("match_texts", "first_repeat", "_fill", "_same"):  # uncompiled, for the hash to be another
        monkeypatch.setattr(texts, name, getattr(texts, name).py_func)
    monkeypatch.setattr(texts, "_hash", lambda data, offsets, row: np.uint64(7))
    rows = [("q", str(item)) for item in range(20)]
    judged = sheet([("q", str(item)) for item in range(19, 9, -1)], label=[float(item) for item in range(10)])
    found = gather(sheet(rows, score=[0.5] * 20), judged)
    np.testing.assert_array_equal(found.queries.labels, [np.nan] * 10 + [float(9 - item) for item in range(10)])


def test_texts_of_sliced_chunks_and_of_large_offsets_are_the_same():
    from cutline.io.sheets import texts_of

    plain = pa.chunked_array([pa.array(["x", "ab", "", "é"]).slice(1), pa.array(["q"])])
    for column in (plain, plain.cast(pa.large_string())):
        texts = texts_of(column)
        data = texts.data.tobytes()
        found = [data[one:other].decode() for one, other in zip(texts.offsets, texts.offsets[1:], strict=False)]
        assert found == ["ab", "", "é", "q"]
    assert len(texts_of(pa.chunked_array([pa.array([], pa.string())]))) == 0
