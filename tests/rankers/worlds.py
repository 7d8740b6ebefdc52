"""Small judged queries with features, which a ranker can learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import cutline as cl

Matrix = npt.NDArray[np.float32]


def world(n_queries: int, *, length: int = 12, width: int = 8, seed: int = 0) -> tuple[Matrix, cl.Queries]:
    """Features (n_items, width) and labels 0 to 4 that depend on them, with noise; scores 0."""
    rng = np.random.default_rng(seed)
    n_items = n_queries * length
    features = rng.normal(size=(n_items, width)).astype(np.float32)
    weights = np.random.default_rng(99).normal(size=width) / np.sqrt(width)  # the same in every world
    quality = features @ weights + np.tanh(features[:, 0] * features[:, 1]) + 0.7 * rng.normal(size=n_items)
    labels = np.searchsorted([0.0, 0.8, 1.4, 2.0], quality).astype(np.float64)
    ids = np.array([f"q{number}" for number in range(n_queries)], dtype=object)
    offsets = np.arange(n_queries + 1) * length
    return features, cl.Queries(np.zeros(n_items), offsets, labels, query_ids=ids)


def ragged(sizes: list[int], *, width: int = 3, seed: int = 0) -> tuple[Matrix, cl.Queries]:
    """Lists of these sizes with random features and labels."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(sum(sizes), width)).astype(np.float32)
    labels = rng.integers(0, 5, size=sum(sizes)).astype(np.float64)
    return features, cl.Queries.from_arrays(np.zeros(sum(sizes)), labels, group=sizes)


def write_letor(path: Path, features: Matrix, queries: cl.Queries) -> Path:
    """Features and labels as LETOR, query ids as numbers."""
    rows = zip(queries.labels.tolist(), queries.query_of_item().tolist(), features.tolist(), strict=True)
    lines = [
        f"{label:g} qid:{query + 1} " + " ".join(f"{n}:{value!r}" for n, value in enumerate(values, start=1))
        for label, query, values in rows
    ]
    path.write_text("\n".join([*lines, ""]))
    return path
