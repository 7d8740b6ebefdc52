"""Loops over single lists: ranking, cutting, win rates, badness. Each list is handled alone, whatever stands beside
it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.int8]

STRICT, LENIENT, EXPECTED = 0, 1, 2
RUN = 32  # rows that insertion sorts faster than merging does


@compiled
def sort_best_first(scores: Floats, rows: Integers, count: int) -> None:
    """Sort the first `count` rows, which come in ascending order, by falling score; among equals the lower row leads.

    A stable merge sort over runs sorted by insertion, as most lists are short.
    """
    for begin in range(0, count, RUN):
        for i in range(begin + 1, min(begin + RUN, count)):
            row = rows[i]
            score = scores[row]
            j = i - 1
            while j >= begin and scores[rows[j]] < score:
                rows[j + 1] = rows[j]
                j -= 1
            rows[j + 1] = row
    width = RUN
    merged = np.empty(count if count > RUN else 0, np.int64)
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                if right >= end or (left < middle and scores[rows[left]] >= scores[rows[right]]):
                    merged[place] = rows[left]
                    left += 1
                else:
                    merged[place] = rows[right]
                    right += 1
        rows[:count] = merged
        width *= 2


@compiled
def cut_list(scores: Floats, threshold: float, min_size: int, max_size: int, rows: Integers) -> int:
    """Write the rows of the chosen items, best first, and return how many: score >= threshold, within the sizes
    allowed."""
    reached = 0
    for i in range(scores.shape[0]):
        if scores[i] >= threshold:
            rows[reached] = i
            reached += 1
    if reached < min(min_size, scores.shape[0]):
        reached = min(min_size, scores.shape[0])
        rows[: scores.shape[0]] = np.arange(scores.shape[0])
        sort_best_first(scores, rows, scores.shape[0])
    else:
        sort_best_first(scores, rows, reached)
    return min(reached, max_size)


@compiled
def cut_lists(
    scores: Floats, offsets: Integers, threshold: float, min_size: int, max_size: int, first: int, last: int,
    rows: Integers, sizes: Integers,
) -> None:  # fmt: skip
    """`cut_list` for many lists: the rows of query q are written from offsets[q] on."""
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        count = cut_list(scores[begin:end], threshold, min_size, max_size, rows[begin:end])
        sizes[query] = count
        for i in range(begin, begin + count):
            rows[i] += begin


@compiled
def bound_lists(
    scores: Floats, offsets: Integers, min_size: int, max_size: int, first: int, last: int, bounded: Floats
) -> None:
    """Scores that say the same with a plain threshold: the first min_size of a list never leave, those after
    max_size never enter."""
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        rows = np.arange(end - begin, dtype=np.int64)
        sort_best_first(scores[begin:end], rows, end - begin)
        for rank in range(end - begin):
            row = begin + rows[rank]
            if rank >= max_size:
                bounded[row] = -np.inf
            elif rank < min_size:
                bounded[row] = np.inf
            else:
                bounded[row] = scores[row]


@compiled
def gap_between(one: float, other: float, scale: float) -> float:
    """(one - other)/scale, where the difference may be too large for a float."""
    difference = one - other
    return difference / scale if abs(difference) < np.inf else one / scale - other / scale


@compiled
def win_rates_of_list(outputs: Floats, scale: float, rates: Floats) -> None:
    """s_i = 1/(K-1) Σ_{j≠i} σ((f_i - f_j)/scale), once per distinct output, summed from the lowest output up."""
    count = outputs.shape[0]
    if count == 1:
        rates[0] = 0.5
        return
    order = np.arange(count, dtype=np.int64)
    sort_best_first(-outputs, order, count)
    values, copies = np.empty(count, np.float64), np.zeros(count, np.float64)
    group = np.empty(count, np.int64)
    distinct = 0
    for rank in range(count):
        value = outputs[order[rank]] + 0.0
        if distinct == 0 or value != values[distinct - 1]:
            values[distinct] = value
            distinct += 1
        copies[distinct - 1] += 1.0
        group[order[rank]] = distinct - 1
    values, copies = values[:distinct], copies[:distinct]
    totals = np.zeros(distinct, np.float64)
    highest = values[distinct - 1]
    if gap_between(highest, values[0], scale) <= 700.0:
        weights = np.empty(distinct, np.float64)
        for i in range(distinct):
            weights[i] = math.exp(gap_between(values[i], highest, scale))
        for j in range(distinct):
            weight, times, before = weights[j], copies[j], totals[j]
            for i in range(distinct):
                totals[i] += times * (weights[i] / (weights[i] + weight))
            totals[j] = before + 0.5 * (times - 1.0)  # no item meets itself; taken off at the end, it costs digits
    else:
        for j in range(distinct):
            for i in range(distinct):
                gap = gap_between(values[i], values[j], scale)
                fade = math.exp(-abs(gap))
                others = copies[j] - (1.0 if i == j else 0.0)
                totals[i] += others * ((1.0 if gap >= 0.0 else fade) / (1.0 + fade))
    for i in range(count):
        rates[i] = min(1.0, totals[group[i]] / (count - 1))


@compiled
def win_rates_of_lists(outputs: Floats, offsets: Integers, scale: float, first: int, last: int, rates: Floats) -> None:
    """`win_rates_of_list` for many lists."""
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        win_rates_of_list(outputs[begin:end], scale, rates[begin:end])


@compiled
def grade_badness(labels: Floats, at_least: float, unjudged: int, start: int, stop: int, codes: Bytes) -> int:
    """1 where the label is below `at_least`, else 0; `unjudged` where there is no label. Returns how many have
    none."""
    missing = 0
    seen, found = labels[start:stop], codes[start:stop]
    for i in range(seen.shape[0]):
        none = seen[i] != seen[i]
        missing += 1 if none else 0
        found[i] = np.int8(unjudged) if none else (np.int8(0) if seen[i] >= at_least else np.int8(1))
    return missing


@compiled
def top_badness(
    labels: Floats,
    offsets: Integers,
    wanted: Integers,
    ties: int,
    unjudged: int,
    one: int,
    first: int,
    last: int,
    units: Integers,
) -> None:
    """Badness in 1/one: 0 for the `wanted[query]` best labels of each list, 1 for the rest. Unjudged items that count
    as bad might be better than any judged one, and so take a place each; those passed over take none.

    Items tied across the last place are all bad, all good, or share what is left of the places.
    """
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        rows = np.empty(end - begin, np.int64)
        judged = 0
        for i in range(begin, end):
            if labels[i] == labels[i]:
                rows[judged] = i
                judged += 1
        sort_best_first(labels, rows, judged)
        taken = end - begin - judged if unjudged > 0 else 0
        places = min(max(wanted[query] - taken, 0), judged)
        last_good = labels[rows[places - 1]] if places > 0 else np.inf
        above, level = 0, 0
        for rank in range(judged):
            above += 1 if labels[rows[rank]] > last_good else 0
            level += 1 if labels[rows[rank]] == last_good else 0
        tied = np.int64(0)
        if above + level > places:
            if ties == STRICT:
                tied = np.int64(one)
            elif ties == EXPECTED:
                tied = np.int64(math.ceil(float(above + level - places) * one / level))
        for i in range(begin, end):
            if labels[i] != labels[i]:
                units[i] = unjudged * one if unjudged > 0 else unjudged
            elif labels[i] > last_good:
                units[i] = 0
            elif labels[i] == last_good:
                units[i] = tied
            else:
                units[i] = one


@compiled
def rank_lists(scores: Floats, offsets: Integers, first: int, last: int, ranked: Integers) -> None:
    """The rows of each list, best first; among equals the lower row leads."""
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        rows = np.arange(end - begin, dtype=np.int64)
        sort_best_first(scores[begin:end], rows, end - begin)
        for rank in range(end - begin):
            ranked[begin + rank] = begin + rows[rank]
