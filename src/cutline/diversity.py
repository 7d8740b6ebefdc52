"""How diverse a list is, and which few items of it to keep: distances, Diversity(S), and greedy elimination.

Distances are rounded to whole numbers of a power of two that follows from the largest of them over the whole list
(at most 2^40 of it), so that sums of distances, and ties between them, are exact: in whatever order items come.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import frozen_view, numbers_of, plain_array, vectors_of
from cutline._checks import check_one_of, check_whole
from cutline._display import shown
from cutline.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]
Distance = Literal["euclidean", "cosine", "jaccard", "precomputed"]
Denominator = Literal["paper", "pairs"]

DISTANCES = ("euclidean", "cosine", "jaccard", "precomputed")  # in the order of the constants of kernels.diversity
DENOMINATORS = ("paper", "pairs")
NO_ROWS: Integers = frozen_view(np.empty(0, np.int64))


# Diversity ----------------------------------------------------------------------------------------------------------


def diversity_of(
    vectors: npt.ArrayLike,
    rows: npt.ArrayLike | None = None,
    *,
    max_size: int,
    distance: Distance = "euclidean",
    denominator: Denominator = "paper",
) -> float:
    """How diverse the items in `rows` (default: all of them) are: Σ_{j,j'∈S} d(E_j, E_j') / max(M, |S|).

    The sum goes over ordered pairs, and M is `max_size`: the paper's definition, whose argmax over |S| ≤ M is that of
    an average. An average it is with `denominator="pairs"`, max(M(M-1), |S|(|S|-1)), which is 0 for M = 1; ratios of
    diversities want that one. With `distance="precomputed"` the vectors are a square matrix of distances.
    """
    max_size = check_whole("max_size", max_size, least=1)
    check_one_of("denominator", denominator, DENOMINATORS)
    apart = distances_of(vectors, distance=distance)
    places = np.arange(len(apart)) if rows is None else _checked_rows(rows, len(apart))
    divisor = denominators(np.array(len(places)), max_size)[DENOMINATORS.index(denominator)]
    return float(apart[np.ix_(places, places)].sum() / divisor) if divisor else 0.0


def denominators(sizes: npt.NDArray[Any], max_size: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """What sums of distances over ordered pairs of lists of these sizes are divided by: the paper's, and pairs."""
    most, counts = float(max_size), np.asarray(sizes, dtype=np.float64)
    return np.maximum(most, counts), np.maximum(most * (most - 1.0), counts * (counts - 1.0))


def distances_of(vectors: npt.ArrayLike, *, distance: Distance = "euclidean") -> Floats:
    """Distances between the items of one list (K, K), rounded as everything here rounds them: sums of them are exact.

    euclidean: √Σ(x - y)². cosine: 1 - Σxy/√(Σx²Σy²). jaccard: 1 - |A∩B|/|A∪B| of sets of tags, written as vectors of
    0 and 1; two empty sets are at 0. precomputed: the matrix itself; of its two directions the mean is taken.
    """
    check_one_of("distance", distance, DISTANCES)
    given = vectors_of(vectors, None)
    check_one_list(given, len(given), distance)
    return whole_distances(given, np.arange(len(given)), np.arange(len(given)), distance)


def whole_distances(vectors: Vectors, rows: Integers, places: Integers, distance: str) -> Floats:
    """The same without checks, for the items whose vectors stand at `rows`, and they at `places` of their list."""
    from cutline.kernels import diversity as kernel

    vectors, whole = frozen_view(vectors), np.empty((len(rows), len(rows)), np.int64)
    room = kernel.room_for(len(rows))
    power = kernel.whole_distances(vectors, rows, places, DISTANCES.index(distance), room, whole)
    return np.ldexp((whole >> room).astype(np.float64), power)


# What vectors must be -----------------------------------------------------------------------------------------------


def check_one_list(vectors: Vectors, count: int, distance: str) -> None:
    """The vectors of one list, for a distance."""
    if len(vectors) != count:
        raise InputError(f"vectors must have one row per item, {count:,} in all, got {len(vectors):,}")
    for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1))[:1]:
        raise InputError(f"vectors must be finite, got NaN or infinity for the item at position {int(row)}")
    if distance == "precomputed" and vectors.shape[1] != count:
        raise InputError(
            f"precomputed distances must be a square matrix, one row and one column for each of {count:,} items, got "
            f"shape {vectors.shape}"
        )
    check_measurable(vectors, None, np.array([0, count]), distance, "the item at position {}".format)


def check_measurable(
    vectors: Vectors, vector_rows: Integers | None, offsets: Integers, distance: str, where: Callable[[int], str]
) -> None:
    """What a distance needs of finite vectors; `where` names an item in words."""
    if distance == "precomputed":
        _check_matrices(vectors, vector_rows, offsets, where)
        return
    if distance == "euclidean":
        return
    wanted, fix = {
        "cosine": ("not be all zero", 'drop the item, or choose distance="euclidean"'),
        "jaccard": ("hold 0 and 1 only, one place for each tag", "write 1 where an item has the tag"),
    }[distance]
    wrong = np.zeros(len(vectors), np.bool_)
    step = max(1, (1 << 20) // vectors.shape[1])  # block by block, for what is compared to stay in cache
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        odd = ~block.any(axis=1) if distance == "cosine" else ((block != 0) & (block != 1)).any(axis=1)
        wrong[start : start + step] = odd
    for item in np.flatnonzero(wrong if vector_rows is None else wrong[vector_rows])[:1]:
        own = vectors[item if vector_rows is None else vector_rows[item]]
        raise InputError(f"vectors must {wanted}, for {distance} distances, got {shown(own)} for {where(item)}; {fix}")


def _check_matrices(
    vectors: Vectors, vector_rows: Integers | None, offsets: Integers, where: Callable[[int], str]
) -> None:
    """For each list a square matrix: the row of an item holds its distances to the items of its list, in order."""
    if vector_rows is not None:
        raise InputError(
            "precomputed distances are between the items of one list, so a table of vectors cannot hold them; pass "
            "vectors= with one row per item, or let cutline measure: distance='euclidean'"
        )
    sizes = np.diff(offsets)
    for query in np.flatnonzero(sizes > vectors.shape[1])[:1]:
        raise InputError(
            f"precomputed distances must be square: {where(int(offsets[query]))} stands in a list of "
            f"{int(sizes[query]):,} items, and vectors hold {vectors.shape[1]:,} distances each; pad shorter lists"
        )
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        matrix = vectors[begin:end, : end - begin]
        for item, other in np.argwhere((matrix < 0) & ~np.eye(end - begin, dtype=np.bool_))[:1]:
            raise InputError(
                f"precomputed distances must not be negative, got {float(matrix[item, other])!r} for "
                f"{where(begin + int(item))}, to position {int(other)}; are they similarities? pass 1 - similarity"
            )
        own = np.abs(np.diagonal(matrix))
        for item in np.flatnonzero(own > 1e-6 * matrix.max(initial=0.0))[:1]:
            raise InputError(
                f"precomputed distances must be 0 from an item to itself, got {float(own[item])!r} for "
                f"{where(begin + int(item))}; are they similarities? pass 1 - similarity. Each list has a block of its "
                "own, from the first column on, padded with zeros"
            )


def _checked_rows(rows: npt.ArrayLike, count: int) -> Integers:
    places = plain_array("rows", rows)
    if places.dtype == np.bool_ and places.shape == (count,):
        return np.flatnonzero(places)
    whole = places.ndim == 1 and (places.dtype.kind in "iu" or not len(places))
    if not whole or any(not 0 <= place < count for place in places.tolist()) or len(set(places.tolist())) < len(places):
        raise InputError(f"rows must name items from 0 to {count - 1}, each once, got {shown(cast('object', rows))}")
    return places.astype(np.int64)


# Elimination ------------------------------------------------------------------------------------------------------


def eliminate(scores: npt.ArrayLike, distances: npt.ArrayLike, max_size: int) -> Integers:
    """While more than `max_size` items are left, remove the one with the smallest sum of distances over what is left:
    what remains is then the most diverse set that one removal can leave. Among equals the one with the lowest score
    goes first, then the one at the highest position. The prose of the paper; its pseudocode removes the largest sum.
    """
    from cutline.kernels.diversity import PRECOMPUTED

    scores, apart = numbers_of("scores", scores), vectors_of(distances, None)
    check_one_list(apart, len(scores), "precomputed")
    most = check_whole("max_size", max_size, least=1)
    return eliminated(scores, apart, None, np.array([0, len(scores)]), -np.inf, most, PRECOMPUTED)[0]


def eliminated(
    scores: Floats, vectors: Vectors, vector_rows: Integers | None, offsets: Integers, threshold: float, most: int,
    kind: int,
) -> tuple[Integers, Integers]:  # fmt: skip
    """Many lists cut at a threshold, and down to `most` items: the chosen rows, best first and list after list, and how
    many of each."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.diversity import eliminate_lists

    # read-only views, whatever came: for each kind of array the loops would be compiled anew
    scores, vectors, offsets = frozen_view(scores), frozen_view(vectors), frozen_view(offsets)
    of_items = NO_ROWS if vector_rows is None else frozen_view(vector_rows)
    rows, sizes = np.empty(len(scores), np.int64), np.empty(len(offsets) - 1, np.int64)
    cut = partial(eliminate_lists, vectors, of_items, kind, most, scores, ranked(scores, offsets), offsets, threshold)
    on_threads([partial(cut, *span, rows, sizes) for span in spans(len(sizes), least=32)])
    starts = np.repeat(offsets[:-1] - (np.cumsum(sizes) - sizes), sizes)
    return rows[np.arange(len(starts)) + starts], sizes


def ranked(scores: Floats, offsets: Integers) -> Integers:
    """The rows of each list, best first; among equals the lower row leads."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.lists import rank_lists

    scores, offsets, rows = frozen_view(scores), frozen_view(offsets), np.empty(len(scores), np.int64)
    on_threads([partial(rank_lists, scores, offsets, *span, rows) for span in spans(len(offsets) - 1, least=1024)])
    return rows
