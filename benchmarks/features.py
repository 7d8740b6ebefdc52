"""Rows about features: how fast LETOR text becomes a dense matrix."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from clock import interleaved
from measures import DisagreementError, Row

import cutline as cl
from cutline.io.features import read_features

QUERIES, WIDTH, NAMED = 1000, 700, 220  # features in all, and those that a line names, as in the Yahoo! challenge


def features(_: bool) -> list[Row]:
    """24,000 lines of 220 features out of 700, beside scikit-learn's reader with a dense matrix at its end."""
    with tempfile.TemporaryDirectory(prefix="features-") as folder:
        path = _written(Path(folder) / "lines.svm")
        jobs = {"read_features": partial(read_features, path), "load_svmlight_file, dense": partial(_sklearn, path)}
        _check_agreement(path)
        ours, peer = interleaved(jobs, rounds=5)
        cached = partial(read_features, path, cache=Path(folder) / "cache")
        (again,) = interleaved({"from the cache": cached}, rounds=15)
        size = path.stat().st_size / 1e6
    remark = f"the LETOR text: {size:.0f} MB, {size / ours.seconds:.0f} MB/s"
    what = "read 24,000 lines of LETOR text"
    return [
        Row(what=what, ours=ours, peer=peer, least_ratio=1, target="≥ 1×", remark=remark),
        Row(what="the same, from the cache", ours=again),
    ]


def _written(path: Path) -> Path:
    rng = np.random.default_rng(0)
    drawn = cl.datasets.simulate(QUERIES, rng=0, n_items=24)
    queries = cl.Queries.from_arrays(drawn.scores, drawn.labels, qid=drawn.query_of_item())
    matrix = rng.random((queries.n_items, WIDTH)).round(6).astype(np.float32)
    matrix[rng.random(matrix.shape) > NAMED / WIDTH] = 0
    cl.io.features.write_features(matrix, queries, path)
    return path


def _sklearn(path: Path) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    matrix, labels, _ = load_svmlight_file(str(path), dtype=np.float32, query_id=True, n_features=WIDTH)
    return matrix.toarray(), labels


def _check_agreement(path: Path) -> None:
    matrix, queries = read_features(path, n_features=WIDTH)
    theirs, labels = _sklearn(path)
    if not (np.array_equal(matrix, theirs) and np.array_equal(queries.labels, labels)):
        raise DisagreementError("read_features and load_svmlight_file read different values")
