"""Matrices of features: moments beside NumPy's, and every message about one that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from tests.rankers.worlds import ragged

import cutline as cl
from cutline.errors import InputError
from cutline.rankers import matrices
from cutline.rankers.matrices import check_finite, check_rows, check_width, checked_features, inverse_of, moments


def test_moments_are_those_of_numpy_over_the_rows_kept(monkeypatch):
    monkeypatch.setattr(matrices, "BLOCK", 12)
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(50, 4)) * [1, 10, 0.1, 1] + [0, 1000, 5, -3]).astype(np.float32)
    keep = rng.random(50) < 0.6
    keep[:9] = False  # whole blocks without a row
    mean, deviation = moments(features, keep)
    np.testing.assert_allclose(mean, features[keep].mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(deviation, features[keep].std(axis=0, dtype=np.float64), rtol=1e-9)


def test_a_column_that_does_not_vary_counts_for_nothing():
    features = np.full((40, 3), [0.1, 1e6, 0.0], np.float32)
    features[7, 1] += 4.0
    mean, deviation = moments(features, np.ones(40, bool))
    assert (inverse_of(deviation, mean) > 0).tolist() == [False, True, False]


def test_a_matrix_that_is_one_is_not_copied(tmp_path):
    features = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (3, 2))
    assert np.shares_memory(checked_features(features), features)
    assert checked_features([[1, 2], [3, 4]]).dtype == np.float32
    assert checked_features(np.ones((2, 2))).dtype == np.float64


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (
            np.ones(3),
            r"features must be numbers of shape \(n_items, d\) with d at least 1, got float64 of shape \(3,\)",
        ),
        (np.ones((3, 0)), "got float64 of shape"),
        ([["a", "b"]], "got object of shape"),
        ([[1.0], [1.0, 2.0]], "features must be an array"),
        (scipy.sparse.csr_array(np.eye(3)), r"features must be a dense array .*pass features.toarray\(\)"),
        (None, "features must be an array"),
    ],
)
def test_what_is_no_matrix_is_refused(features, words):
    with pytest.raises(InputError, match=words):
        checked_features(features)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_found(value, monkeypatch):
    monkeypatch.setattr(matrices, "BLOCK", 4)
    features = np.ones((9, 2), np.float32)
    features[7, 1] = value
    with pytest.raises(InputError, match=f"features must be finite, got {value} in row 7, column 1; fill in"):
        check_finite(features)


def test_another_width_or_number_of_rows_is_refused():
    features, queries = ragged([2, 3])
    with pytest.raises(InputError, match="must have the 5 columns that the model was trained on, got 3; pass the same"):
        check_width(3, 5)
    with pytest.raises(InputError, match="features must have one value per item, 5 in all, got 4"):
        check_rows(features[:4], queries, None)
    with pytest.raises(InputError, match="queries must be"):
        check_rows(features, [2, 3], None)


def test_rows_in_another_order_than_the_queries_are_found_by_their_ids():
    qid = ["b", "a", "b", "a"]
    features = np.arange(4.0)[:, None]
    queries = cl.Queries.from_arrays(np.zeros(4), np.zeros(4), qid=qid, vectors=features)
    with pytest.raises(
        InputError, match=r"row 1 is of query 'a' by qid, and of query 'b' in queries.*vectors=features"
    ):
        check_rows(features, queries, qid)
    check_rows(queries.vectors, queries, ["b", "b", "a", "a"])
    assert queries.vectors.ravel().tolist() == [0, 2, 1, 3]
    from_files = replace(queries, query_ids=["7", "8"])
    check_rows(queries.vectors, from_files, [7, 7, 8, 8])
    with pytest.raises(InputError, match="qid must have one value per item, 4 in all, got 3"):
        check_rows(features, queries, qid[:3])
