"""Distances within a list as whole numbers, and greedy elimination from every prefix of it.

The items of a list come best first, so that the items at or above a threshold are a prefix. Distances are rounded to
whole numbers of a power of two that follows from the largest of them over the whole list; so row sums are exact,
whatever the order in which they are added up, and so are ties. A whole distance is kept shifted to the left by
`room` bits, which have space for the place of any item of the list: a row sum plus a place is one key, the smallest
key is the item to remove, and among equal row sums it is that of the worst place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled

EUCLIDEAN, COSINE, JACCARD, PRECOMPUTED = range(4)

BITS = 40  # of the largest whole distance, fewer in lists of more than 2^11 items
GONE, LEFT = (1 << 63) - 1, 1 << 62  # the key of an item removed; keys of those left are below LEFT
TAME = 2.0**400  # squares of numbers between 1/TAME and TAME neither overflow nor vanish

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]  # float32 or float64
Codes = npt.NDArray[np.int8] | npt.NDArray[np.int64]


# Distances of one list ----------------------------------------------------------------------------------------------


@compiled
def room_for(count: int) -> int:
    """Bits that have space for the places 0 … count-1."""
    room = 0
    while (1 << room) < count:
        room += 1
    return room


@compiled
def lay_across(vectors: Vectors, rows: Integers, kind: int, across: Floats) -> int:
    """The vectors of a list as columns, for loops to run over items. Returns e: euclidean vectors were divided by
    2^e, which is 0 unless their squares would overflow or vanish; so are cosine vectors, each by a power of its
    own."""
    largest = 0.0
    for i in range(rows.shape[0]):
        own = 0.0
        for k in range(vectors.shape[1]):
            value = np.float64(vectors[rows[i], k])
            across[k, i] = value
            own = max(own, abs(value))
        if kind == COSINE and (own > TAME or own < 1.0 / TAME):
            power = math.frexp(own)[1]
            for k in range(vectors.shape[1]):
                across[k, i] = math.ldexp(across[k, i], -power)
        largest = max(largest, own)
    if kind != EUCLIDEAN or largest == 0.0 or 1.0 / TAME <= largest <= TAME:
        return 0
    power = math.frexp(largest)[1]
    for k in range(vectors.shape[1]):
        for i in range(rows.shape[0]):
            across[k, i] = math.ldexp(across[k, i], -power)
    return power


@compiled
def add_squares(across: Floats, i: int, sums: Floats) -> None:
    """Σ_k (x_jk - x_ik)² for the items j < i, from the first coordinate to the last; four of them a pass."""
    count, width = sums.shape[0], across.shape[0]
    whole = width - width % 4
    for k in range(0, whole, 4):
        a, b, c, d = across[k], across[k + 1], across[k + 2], across[k + 3]
        own_a, own_b, own_c, own_d = a[i], b[i], c[i], d[i]
        for j in range(count):
            gap_a, gap_b, gap_c, gap_d = a[j] - own_a, b[j] - own_b, c[j] - own_c, d[j] - own_d
            sums[j] = (((sums[j] + gap_a * gap_a) + gap_b * gap_b) + gap_c * gap_c) + gap_d * gap_d
    for k in range(whole, width):
        a, own_a = across[k], across[k, i]
        for j in range(count):
            sums[j] += (a[j] - own_a) * (a[j] - own_a)


@compiled
def add_products(across: Floats, i: int, sums: Floats) -> None:
    """Σ_k x_jk x_ik for the items j < i, in the same order."""
    count, width = sums.shape[0], across.shape[0]
    whole = width - width % 4
    for k in range(0, whole, 4):
        a, b, c, d = across[k], across[k + 1], across[k + 2], across[k + 3]
        own_a, own_b, own_c, own_d = a[i], b[i], c[i], d[i]
        for j in range(count):
            sums[j] = (((sums[j] + a[j] * own_a) + b[j] * own_b) + c[j] * own_c) + d[j] * own_d
    for k in range(whole, width):
        a, own_a = across[k], across[k, i]
        for j in range(count):
            sums[j] += a[j] * own_a


@compiled
def measure(vectors: Vectors, rows: Integers, places: Integers, kind: int, apart: Floats) -> int:
    """Distances between the items of one list, below the diagonal of `apart`. Returns e: they are apart · 2^e.

    rows: where the vector of each item is. places: where each item stands in its list, which a precomputed matrix
    goes by; of its two directions the mean is taken.
    """
    count = rows.shape[0]
    if kind == PRECOMPUTED:
        for i in range(count):
            for j in range(i):
                apart[i, j] = 0.5 * vectors[rows[i], places[j]] + 0.5 * vectors[rows[j], places[i]]
        return 0
    across = np.empty((vectors.shape[1], count), np.float64)
    power = lay_across(vectors, rows, kind, across)
    own = np.zeros(count, np.float64)
    noise = 4.0 * vectors.shape[1] * 2.0**-53  # what rounding leaves of a distance of 0
    if kind != EUCLIDEAN:
        for k in range(across.shape[0]):
            for i in range(count):
                own[i] += across[k, i] * across[k, i]
    for i in range(count):
        here = apart[i, :i]
        here[:] = 0.0
        if kind == EUCLIDEAN:
            add_squares(across, i, here)
            for j in range(i):
                here[j] = math.sqrt(here[j])
        elif kind == COSINE:
            add_products(across, i, here)
            for j in range(i):
                gap = 1.0 - here[j] / (math.sqrt(own[i]) * math.sqrt(own[j]))
                here[j] = min(gap, 2.0) if gap > noise else 0.0
        else:
            add_products(across, i, here)
            for j in range(i):
                either = own[i] + own[j] - here[j]
                here[j] = 1.0 - here[j] / either if either > 0.0 else 0.0
    return power


@compiled
def quantise(apart: Floats, room: int, whole: Integers) -> int:
    """Distances as whole numbers of 2^e, both sides of the diagonal, shifted by `room`. Returns e. `whole` may be the
    memory that `apart` lies in: no distance is read after it was written over.

    The largest is at most 2^BITS; in lists so long that the sum of all distances, shifted twice, would not fit 62
    bits, it is smaller.
    """
    count = apart.shape[0]
    largest = 0.0
    for i in range(count):
        for j in range(i):
            largest = max(largest, apart[i, j])
    power = min(BITS, 62 - 2 * room) - math.frexp(largest)[1]
    once, again = math.ldexp(1.0, power // 2), math.ldexp(1.0, power - power // 2)  # 2^power may be too large a float
    for i in range(count):
        whole[i, i] = 0
        for j in range(i):
            units = np.int64(np.rint(apart[i, j] * once * again)) << room
            whole[i, j] = units
            whole[j, i] = units
    return -power


@compiled
def whole_distances(vectors: Vectors, rows: Integers, places: Integers, kind: int, room: int, whole: Integers) -> int:
    """Distances of one list as whole numbers of 2^e, shifted by `room`. Returns e."""
    apart = whole.view(np.float64)
    power = measure(vectors, rows, places, kind, apart)
    return power + quantise(apart, room, whole)


# Elimination --------------------------------------------------------------------------------------------------------


@compiled
def enter(whole: Integers, totals: Integers, place: int) -> None:
    """Row sums of the distances over the items 0 … place, from those over the items before."""
    row, total = whole[place], np.int64(0)
    for i in range(place):
        totals[i] += row[i]
        total += row[i]
    totals[place] = total


@compiled
def eliminate(whole: Integers, totals: Integers, count: int, most: int, room: int, keys: Integers) -> None:
    """While more than `most` of the first `count` items are left, remove the one with the smallest row sum of
    distances over what is left; among equals the last. `totals` are the row sums; keys[i] < LEFT says who stays."""
    best = np.int64(GONE)
    for i in range(count):
        keys[i] = totals[i] + (count - 1 - i)
        best = min(best, keys[i])
    for _ in range(count - most):
        removed = count - 1 - (best & ((1 << room) - 1))
        keys[removed] = GONE
        row = whole[removed]
        best = np.int64(GONE)
        for i in range(count):
            key = keys[i] - row[i]
            keys[i] = key
            best = min(best, key)


@compiled
def eliminate_lists(
    vectors: Vectors, vector_rows: Integers, kind: int, most: int, scores: Floats, ranked: Integers, offsets: Integers,
    threshold: float, first: int, last: int, rows: Integers, sizes: Integers,
) -> None:  # fmt: skip
    """Cut lists first … last-1 at one threshold: the rows of what stays, best first, are written from offsets[q] on."""
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        order = ranked[begin:end]
        count = 0
        while count < order.shape[0] and scores[order[count]] >= threshold:
            count += 1
        sizes[query] = min(count, most)
        if count <= most:
            rows[begin : begin + count] = order[:count]
            continue
        room = room_for(order.shape[0])
        whole = np.empty((order.shape[0], order.shape[0]), np.int64)
        places = vector_rows[order] if vector_rows.shape[0] > 0 else order
        whole_distances(vectors, places, order - begin, kind, room, whole)
        totals, keys = np.zeros(count, np.int64), np.empty(count, np.int64)
        for place in range(count):
            enter(whole, totals, place)
        eliminate(whole, totals, count, most, room, keys)
        kept = begin
        for i in range(count):
            if keys[i] < LEFT:
                rows[kept] = order[i]
                kept += 1


@compiled
def count_prefixes(
    vectors: Vectors, vector_rows: Integers, kind: int, most: int, codes: Codes, ranked: Integers,
    offsets: Integers, queries: Integers, reached: Integers, starts: Integers, matrices: Integers,
    known: npt.NDArray[np.bool_], first: int, counts: Integers,
) -> None:  # fmt: skip
    """What elimination leaves of each list at each of several thresholds: counts[row, query] = items, judged items,
    sum of their codes.

    reached[row, query]: how many items of the list are at or above the threshold. It rises along the rows, or falls.
    Lists with the same prefix share its answer, and all prefixes share the distances. Those of list `first` + query
    are kept at matrices[starts[…]:] from one call to the next; they are made anew where the start is negative.
    """
    steps = reached.shape[0]
    for here in range(queries.shape[0]):
        query, slot = queries[here], first + here
        begin, end = offsets[query], offsets[query + 1]
        order = ranked[begin:end]
        length = order.shape[0]
        least, furthest = min(reached[0, here], reached[-1, here]), max(reached[0, here], reached[-1, here])
        upwards = reached[0, here] <= reached[-1, here]
        room = room_for(length)
        if furthest > most:
            start = starts[slot]
            if start >= 0:
                whole = matrices[start : start + length * length].reshape((length, length))
            else:
                whole = np.empty((length, length), np.int64)
            if start < 0 or not known[slot]:
                places = vector_rows[order] if vector_rows.shape[0] > 0 else order
                whole_distances(vectors, places, order - begin, kind, room, whole)
                known[slot] = True
        else:
            whole = np.empty((0, 0), np.int64)
        totals, keys = np.zeros(furthest, np.int64), np.empty(furthest, np.int64)
        row = 0 if upwards else steps - 1
        judged, bad = np.int64(0), np.int64(0)  # of the prefix
        for count in range(furthest + 1):
            if count > 0:
                code = np.int64(codes[order[count - 1]])
                judged += 1 if code >= 0 else 0
                bad += max(code, 0)
                if furthest > most:
                    enter(whole, totals, count - 1)
            if count < least or reached[row, here] != count:
                continue
            left, known_left, bad_left = np.int64(count), judged, bad
            if count > most:
                eliminate(whole, totals, count, most, room, keys)
                left, known_left, bad_left = np.int64(most), np.int64(0), np.int64(0)
                for i in range(count):
                    if keys[i] < LEFT:
                        code = np.int64(codes[order[i]])
                        known_left += 1 if code >= 0 else 0
                        bad_left += max(code, 0)
            while 0 <= row < steps and reached[row, here] == count:
                counts[row, here, 0] = left
                counts[row, here, 1] = known_left
                counts[row, here, 2] = bad_left
                row += 1 if upwards else -1
            if row < 0 or row >= steps:
                break


@compiled
def reach_prefixes(
    scores: Floats, ranked: Integers, offsets: Integers, queries: Integers, thresholds: Floats, reached: Integers
) -> None:
    """How many items of each list are at or above each threshold; thresholds fall along the rows, or rise."""
    steps = thresholds.shape[0]
    falling = thresholds[0] >= thresholds[-1]
    for here in range(queries.shape[0]):
        order = ranked[offsets[queries[here]] : offsets[queries[here] + 1]]
        count = 0
        for step in range(steps):
            row = step if falling else steps - 1 - step
            while count < order.shape[0] and scores[order[count]] >= thresholds[row]:
                count += 1
            reached[row, here] = count


@compiled
def spread_of_lists(
    vectors: Vectors, vector_rows: Integers, kind: int, most: int, scores: Floats, ranked: Integers, offsets: Integers,
    threshold: float, chosen: npt.NDArray[np.bool_], queries: Integers, first: int, last: int, sizes: Integers,
    sums: Floats,
) -> None:  # fmt: skip
    """Sums of distances over ordered pairs in queries[first] … queries[last-1]: in all items at or above the
    threshold, in those chosen, and in the best `most`, in units of 2^e. sizes: how many items the first two hold,
    and e.

    Lists that are not too long are passed over: nothing is chosen from them.
    """
    for here in range(first, last):
        begin, end = offsets[queries[here]], offsets[queries[here] + 1]
        order = ranked[begin:end]
        count = 0
        while count < order.shape[0] and scores[order[count]] >= threshold:
            count += 1
        sizes[here, 0] = count
        if count <= most:
            continue
        room = room_for(order.shape[0])
        whole = np.empty((order.shape[0], order.shape[0]), np.int64)
        places = vector_rows[order] if vector_rows.shape[0] > 0 else order
        power = whole_distances(vectors, places, order - begin, kind, room, whole)
        reached, kept, best = np.int64(0), np.int64(0), np.int64(0)
        for i in range(count):
            sizes[here, 1] += 1 if chosen[order[i]] else 0
            for j in range(i):
                units = whole[i, j] >> room
                reached += units
                kept += units if chosen[order[i]] and chosen[order[j]] else 0
                best += units if i < most else 0
        sums[here, 0], sums[here, 1], sums[here, 2] = float(reached), float(kept), float(best)
        sizes[here, 2] = power + 1  # each pair twice
