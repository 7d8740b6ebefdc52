"""Lists with vectors to draw from, and STATISTICS section 6 once more as plain loops over whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.ragged import LABELS, SCORES

import cutline as cl

MEASURES = ("euclidean", "cosine", "jaccard", "precomputed")
BITS = 40


# The definitions ----------------------------------------------------------------------------------------------------


def distance_by_hand(one: Sequence[float], other: Sequence[float], distance: str) -> float:
    pairs = list(zip(one, other, strict=True))
    if distance == "euclidean":
        total = 0.0
        for x, y in pairs:
            total += (x - y) * (x - y)
        return math.sqrt(total)
    product = mine = theirs = 0.0
    for x, y in pairs:
        product, mine, theirs = product + x * y, mine + x * x, theirs + y * y
    if distance == "cosine":
        apart = min(1.0 - product / (math.sqrt(mine) * math.sqrt(theirs)), 2.0)
        return apart if apart > 4 * len(pairs) * 2.0**-53 else 0.0  # below, it is rounding
    either = sum(1 for x, y in pairs if x or y)
    return 1.0 - sum(1 for x, y in pairs if x and y) / either if either else 0.0


def distances_by_hand(vectors: Any, distance: str) -> list[list[float]]:
    rows = [[float(x) for x in vector] for vector in vectors]
    count = len(rows)
    if distance == "precomputed":
        return [[0.5 * rows[i][j] + 0.5 * rows[j][i] if i != j else 0.0 for j in range(count)] for i in range(count)]
    return [
        [distance_by_hand(rows[max(i, j)], rows[min(i, j)], distance) if i != j else 0.0 for j in range(count)]
        for i in range(count)
    ]


def whole_by_hand(apart: list[list[float]]) -> list[list[int]]:
    """Distances as whole numbers: the power of two that brings the largest to at most 2^40, halves to the even one."""
    power = BITS - math.frexp(max(max(row) for row in apart))[1]
    return [[round(Fraction(each) * Fraction(2) ** power) for each in row] for row in apart]


def eliminated_by_hand(scores: Sequence[float], whole: list[list[int]], threshold: float, most: int) -> list[int]:
    """Every row sum is added up anew each time; among equals the lowest score goes, then the highest position."""
    left = [i for i, score in enumerate(scores) if score >= threshold]
    while len(left) > most:
        left.remove(min(left, key=lambda i: (sum(whole[i][j] for j in left), scores[i], -i)))
    return sorted(left, key=lambda i: (-scores[i], i))


def diversity_by_hand(apart: Any, rows: Sequence[int], most: int, denominator: str) -> float:
    total = math.fsum(apart[i][j] for i in rows for j in rows)
    size = len(rows)
    divisor = max(most, size) if denominator == "paper" else max(most * (most - 1), size * (size - 1))
    return total / divisor if divisor else 0.0


def reaching(scores: Sequence[float], threshold: float) -> list[int]:
    return [i for i, score in enumerate(scores) if score >= threshold]


def lists_with_vectors(queries: cl.Queries) -> list[tuple[list[float], np.ndarray]]:
    """Scores and vectors, list by list; of precomputed ones the columns beyond the list are kept."""
    return [
        (queries.scores[begin:end].tolist(), queries.vectors[begin:end])  # type: ignore[index]
        for begin, end in pairwise(queries.offsets.tolist())
    ]


# What to draw -------------------------------------------------------------------------------------------------------


@st.composite
def vectors_for(draw: st.DrawFn, count: int, distance: str) -> np.ndarray:
    """Vectors with what elimination could stumble over: duplicates, equal distances, points on a line, tags."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if distance == "jaccard":
        return (rng.random((count, 12)) < draw(st.sampled_from([0.1, 0.3, 0.6]))).astype(np.float64)
    if distance == "precomputed":
        matrix = rng.integers(0, draw(st.sampled_from([2, 4, 1000])), (count, count)) / 4.0
        return np.where(np.eye(count, dtype=bool), 0.0, matrix)
    kind = draw(st.sampled_from(["normal", "grid", "line", "same", "spread", "single"]))
    if kind == "grid":
        vectors = rng.integers(-1, 2, (count, 2)).astype(np.float64)
    elif kind == "line":
        vectors = np.outer(rng.integers(1, 6, count), rng.normal(size=3))
    elif kind == "same":
        vectors = np.tile(rng.normal(size=(1, 5)), (count, 1))
    elif kind == "spread":
        vectors = rng.normal(size=(count, 4)) * 10.0 ** rng.integers(-12, 12, (count, 1))
    elif kind == "single":
        vectors = rng.normal(size=(count, 7)).astype(np.float32)
    else:
        vectors = rng.normal(size=(count, draw(st.integers(1, 9))))
    if draw(st.booleans()) and count > 1:  # some items twice
        vectors[rng.integers(0, count, count // 2)] = vectors[0]
    if distance == "cosine":
        vectors[~vectors.any(axis=1), 0] = 1.0
    return vectors


@st.composite
def one_list(draw: st.DrawFn, *, longest: int = 12) -> tuple[list[float], np.ndarray, str]:
    """Scores, with ties and denormals, vectors, and the distance they are for."""
    count, distance = draw(st.integers(1, longest)), draw(st.sampled_from(MEASURES))
    scores = draw(st.lists(draw(SCORES), min_size=count, max_size=count))
    return scores, draw(vectors_for(count, distance)), distance


@st.composite
def tables_with_vectors(draw: st.DrawFn, *, longest: int = 9, most: int = 5) -> tuple[cl.Queries, str]:
    """A few ragged lists, of one kind of distance, with some unjudged items."""
    sizes = draw(st.lists(st.integers(1, longest), min_size=1, max_size=most))
    distance, count = draw(st.sampled_from(MEASURES)), sum(sizes)
    scores = draw(st.lists(draw(SCORES), min_size=count, max_size=count))
    labels = draw(st.lists(st.one_of(LABELS, st.just(math.nan)), min_size=count, max_size=count))
    if all(math.isnan(label) for label in labels):
        labels[0] = 2.0
    if distance == "precomputed":
        vectors = np.zeros((count, max(sizes) + draw(st.integers(0, 2))))
        for size, begin in zip(sizes, np.cumsum(sizes) - sizes, strict=True):
            vectors[begin : begin + size, :size] = draw(vectors_for(size, distance))
    else:
        vectors = draw(vectors_for(count, distance))
    return cl.Queries.from_arrays(scores, labels, group=sizes, vectors=vectors), distance
