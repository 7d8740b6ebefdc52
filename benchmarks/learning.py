"""Rows about rankers: what an epoch of the network costs on features as large as those of Yahoo's set 1, and memory."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from clock import Timing, once, peak_memory
from measures import Row

import cutline as cl

QUERIES, LENGTH, WIDTH = 13_045, 24, 700
EPOCHS = 5
SCORED = 5
MOST_MEMORY = 3 * 2**30

_TRAIN = """
import sys, numpy as np, cutline as cl
features = np.load(sys.argv[1], mmap_mode="r")
labels = np.load(sys.argv[2])
queries = cl.Queries.from_arrays(np.zeros(len(labels)), labels, group=np.full(len(labels) // {length}, {length}))
cl.rankers.LambdaRank.train(features, queries, epochs=2)
"""


def rankers(_: bool) -> list[Row]:
    """Features of single precision mapped from a file, labels depend on ten of the features."""
    with tempfile.TemporaryDirectory(prefix="rankers-") as folder:
        features, labels = _write(Path(folder))
        matrix, queries = _read(features, labels)
        epochs, model = _epochs(matrix, queries)
        scoring = Timing(name="score", samples=[once(lambda: model.score(matrix)) for _ in range(SCORED)])
        program = _TRAIN.format(length=LENGTH)
        peak = peak_memory(sys.executable, "-c", program, str(features), str(labels))
    shape = f"{QUERIES:,} × {LENGTH} × {WIDTH}"
    return [
        Row(what=f"one epoch of LambdaRank, {shape}", ours=epochs, most=8, target="≤ 8 s"),
        Row(what=f"LambdaRank.score, {shape}", ours=scoring),
        Row(
            what=f"peak memory of training, {shape}", ours=Timing(name="memory", samples=[peak / 2**30]), unit="GiB",
            most=MOST_MEMORY / 2**30, target="< 3 GiB", remark="peak memory of training counts the mapped file",
        ),
    ]  # fmt: skip


def _write(folder: Path) -> tuple[Path, Path]:
    """877 MB of features, and labels 0 to 4."""
    rng = np.random.default_rng(0)
    n_items = QUERIES * LENGTH
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (n_items, WIDTH))
    for start in range(0, n_items, 10_000):
        block = features[start : start + 10_000]
        block[:] = rng.random(block.shape, dtype=np.float32)
    relevance = features[:, :10].sum(axis=1) + rng.normal(size=n_items)
    features.flush()
    np.save(folder / "labels.npy", np.searchsorted(np.quantile(relevance, [0.26, 0.62, 0.9, 0.98]), relevance))
    return folder / "features.npy", folder / "labels.npy"


def _read(features: Path, labels: Path) -> tuple[np.ndarray, cl.Queries]:
    found = np.load(labels)
    queries = cl.Queries.from_arrays(np.zeros(len(found)), found, group=np.full(QUERIES, LENGTH))
    return np.load(features, mmap_mode="r"), queries


def _epochs(matrix: np.ndarray, queries: cl.Queries) -> tuple[Timing, cl.rankers.LambdaRank]:
    """Seconds between the ends of epochs: training and validation NDCG. What comes before the first is not counted."""
    ends: list[float] = []
    model = cl.rankers.LambdaRank.train(
        matrix, queries, epochs=EPOCHS + 1, progress=lambda _: ends.append(time.perf_counter())
    )
    return Timing(name="epoch", samples=np.diff(ends).tolist()), model
