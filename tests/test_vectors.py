"""Vectors that items of many queries share: found by item id, kept once, and gathered where they are wanted."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cutline as cl
from cutline.errors import InputError

ITEMS = ["b", "a", "c", "a", "c", "d"]
TABLE = {"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0], "d": [7.0, 8.0], "unused": [9.0, 9.0]}
OWN = np.array([TABLE[item] for item in ITEMS])


def made(items=ITEMS, **changed):
    how = {"scores": np.arange(6) / 6, "labels": [1, 0, 1, 0, 1, 0], "group": [1, 2, 3], "item_ids": items} | changed
    return cl.Queries.from_arrays(**how)


def test_each_item_gets_the_vector_of_its_id():
    queries = made().with_vectors(TABLE)
    assert len(queries.vectors) == 4  # one for each item there is, however often it appears
    assert np.array_equal(queries.vectors[queries.vector_rows], OWN)
    assert [query.vectors.tolist() for query in queries] == [OWN[:1].tolist(), OWN[1:3].tolist(), OWN[3:].tolist()]
    assert np.array_equal(queries.labels, made().labels)


def test_an_array_with_ids_serves_as_a_table_and_is_not_copied():
    array = np.array(list(TABLE.values()), dtype=np.float32)
    queries = made().with_vectors(array, item_ids=list(TABLE))
    assert np.shares_memory(queries.vectors, array)
    assert queries.vectors.dtype == np.float32
    assert np.array_equal(queries.vectors[queries.vector_rows], OWN)
    numbered = made(items=[2, 1, 3, 1, 3, 4]).with_vectors(array, item_ids=np.array([1, 2, 3, 4, 5]))
    assert np.array_equal(numbered.vectors[numbered.vector_rows], OWN)
    assert np.array_equal(
        made(items=[2, 1, 3, 1, 3, 4]).with_vectors({1: [1], 2: [2], 3: [3], 4: [4]})[1].vectors, [[1], [3]]
    )


def test_some_of_the_queries_share_the_same_table():
    queries = made().with_vectors(TABLE)
    for some in (queries[1:], queries.select([2, 0]), queries.split(2, rng=0)[0], pickle.loads(pickle.dumps(queries))):
        for query in some:
            assert query.vectors.tolist() == [TABLE[item] for item in query.item_ids]
    assert np.shares_memory(queries[1:].vectors, queries.vectors)
    assert np.shares_memory(queries.select([2, 0]).vectors, queries.vectors)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_vector_in_every_row(backend):
    queries = made().with_vectors(TABLE)
    frame = queries.to_frame(backend)
    again = cl.Queries.from_frame(frame)
    assert np.array_equal(again.vectors, OWN)
    chosen = np.array([True, False, True, True, False, False])
    slates = cl.Slates(queries=queries, chosen=chosen, order=np.array([0, 2, 3]))
    assert np.array_equal(cl.Queries.from_frame(slates.to_frame(backend)).vectors, OWN[[0, 2, 3]])


@pytest.mark.parametrize("kind", ["list", "fixed-size list"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_lists_and_lists_of_fixed_size_in_a_parquet_file_are_vectors(tmp_path, library, kind):
    """The whole way: a file with a column of embeddings, diverse lists, their calibration and their application."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(400, 3)).astype(np.float32)
    flat = pa.array(vectors.ravel())
    column = (
        pa.ListArray.from_arrays(np.arange(0, 1201, 3, dtype=np.int32), flat)
        if kind == "list"
        else pa.FixedSizeListArray.from_arrays(flat, 3)
    )
    table = pa.table(
        {
            "query_id": np.repeat(np.arange(50), 8), "item_id": np.arange(400), "score": rng.random(400),
            "label": rng.integers(0, 2, 400), "embedding": column,
        }
    )  # fmt: skip
    parquet.write_table(table, tmp_path / "scores.parquet")
    path = tmp_path / "scores.parquet"
    read = {"pandas": pd.read_parquet, "polars": pl.read_parquet, "pyarrow": parquet.read_table}[library]
    queries = cl.Queries.from_frame(read(path), columns={"vector": "embedding"})
    assert np.array_equal(queries.vectors, vectors)
    certificate = cl.calibrate(
        queries,
        loss=cl.FalseDiscovery(cl.Grade(1)),
        alpha=0.7,
        delta=0.1,
        sets=cl.Diverse(3),
        thresholds=[0.9, 0.5, 0.1],
    )
    slates = certificate.apply(queries)
    assert slates.sizes.max() == 3
    assert len(slates.to_frame()) == len(slates.order)


def test_a_table_says_that_it_is_shared():
    assert "2 x float64, 4 shared by the items" in repr(made().with_vectors(TABLE))
    assert "shared" not in repr(made(vectors=OWN))


def test_vectors_of_items_that_no_query_holds_may_be_anything():
    array = np.array([*TABLE.values()])
    array[-1] = np.nan
    assert len(made().with_vectors(array, item_ids=list(TABLE)).vectors) == 5
    assert len(made().with_vectors({**TABLE, "unused": "text"}).vectors) == 4


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (
            {"a": [1.0], "b": [2.0], "c": [3.0]}, None,
            "1 item has no vector, first query 2 at position 2 .*, item 'd'; give 'd' a vector, or drop the item.",
        ),
        ({"a": [1.0]}, None, "3 items have no vector, first query 0 at position 0 .*, item 'b'; give 'b' a vector"),
        ({1: [1.0], 2: [2.0]}, None, "4 items have no vector, .* Ids of vectors are such as 1: write them alike."),
        ({}, None, "4 items have no vector"),
        ({**TABLE, "d": [1.0]}, None, r"one length, got shape \(2,\) for item 'b' and \(1,\) for item 'd'; correct it"),
        ({**TABLE, "d": 1.0}, None, r"got shape \(2,\) for item 'b' and \(\) for item 'd'"),
        ({**TABLE, "d": [1.0, np.nan]}, None, "vectors must be finite, got NaN or infinity for query 2 at position 2"),
        ({item: ["x", "y"] for item in TABLE}, None, "vectors must be numbers of shape"),
        (OWN, None, r"vectors must be {item id: vector}, or an array with item_ids=, got ndarray of shape \(6, 2\)"),
        (OWN, ["a", "b"], "vectors must have one value per item, 2 in all, got 6"),
        (OWN[:4], ["a", "b", "c", "c"], "item_ids must name each item once, got 'c' in rows 2 and 3"),
        (OWN[:3], ["a", "b", "c"], "1 item has no vector, .*, item 'd'"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(vectors, ids, message):
    with pytest.raises(InputError, match=message):
        made().with_vectors(vectors, item_ids=ids)


def test_items_without_ids_cannot_be_looked_up():
    with pytest.raises(InputError, match="queries have no item ids, by which their vectors could be found"):
        made(items=None).with_vectors(TABLE)


@pytest.mark.parametrize(
    ("rows", "vectors", "message"),
    [
        ([0, 0, 0, 0, 0, 2], [[1.0], [2.0]], "vector_rows must be rows of vectors, from 0 to 1, got 2 for item row 5"),
        ([0, -1, 0, 0, 0, 0], [[1.0]], "vector_rows must be rows of vectors, from 0 to 0, got -1 for item row 1"),
        ([0, 0], [[1.0]], "vector_rows must have one value per item, 6 in all, got 2"),
        ([0.5] * 6, [[1.0]], "vector_rows must be whole numbers"),
        ([0] * 6, None, "vector_rows say which vector each item has, and vectors are missing; pass both"),
    ],
)
def test_rows_that_lead_to_no_vector_are_refused(rows, vectors, message):
    with pytest.raises(InputError, match=message):
        cl.Queries(np.arange(6.0), [0, 6], vectors=vectors, vector_rows=rows)


def test_vectors_of_a_table_that_cannot_be_measured_are_named_by_an_item_that_has_them():
    queries = made().with_vectors({**TABLE, "c": [0.0, 0.0], "unused": [0.0, 0.0]})
    with pytest.raises(
        InputError, match=r"not be all zero, for cosine distances, got .* query 1 at position 1 .* item 'c'"
    ):
        cl.calibrate(
            queries, loss=cl.FalseDiscovery(cl.Grade(1)), alpha=0.3, delta=0.1, sets=cl.Diverse(1, distance="cosine"),
            thresholds=[0.5],
        )  # fmt: skip
