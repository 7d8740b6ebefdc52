"""Sums of losses at every threshold of a walk, from one pass over ragged lists.

A walk visits thresholds in a declared order. High to low, an item *enters* its list at the first threshold it
reaches; low to high, it *leaves* at the first threshold it falls short of. Either way an item has one step, and
between its steps a list does not change. So: find each item's step, sort the items by step, and let them change the
loss of their query one by one.

Losses are whole numbers of 1/UNITS, rounded up, and so are their sums: addition is exact, so the order of queries,
threads and chunks cannot matter, and rounding up can only make a certificate harder to get (but for Miss with places
that items share: there badness is rounded up, so goodness down, by less than 1e-9 an item). UNITS is a multiple of
every number up to 24, so that shares of up to 24 items carry no rounding at all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled

UNITS = 5_354_228_880  # lcm(1 … 24); 1.7e9 losses of 1 still fit a signed 64-bit sum

FALSE_DISCOVERY, MISS = 0, 1

# columns of a table of sums
LOSS, SQUARED, LOSS_NONEMPTY, CHOSEN, BAD, NONEMPTY, JUDGED, COLUMNS = range(8)

# A change is one integer: the slot of its query, then the badness of the item plus 1 (0: passed over by the loss).
SHORT_SHIFT, LONG_SHIFT = 2, 34

SHORT_LIST = 64  # a table of all losses of lists up to this length fits the nearest cache
PART_BITS, SIZE_SHIFT = 7, 14  # a word: the part in 7 bits, the whole in 7, then the size

MINUS_ZERO = np.uint64(1 << 63)  # the bits of -0.0, which is the same score as 0.0

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Steps = npt.NDArray[Any]  # int16 or int32
Codes = npt.NDArray[np.int8] | npt.NDArray[np.int64]
Changes = npt.NDArray[Any]  # int32 or int64


@compiled
def locate_evenly(
    scores: Floats,
    ascending: Floats,
    inverse: float,
    near: float,
    entering: bool,
    start: int,
    stop: int,
    steps: Steps,
) -> None:
    """The step of each item on an evenly spaced grid, where thresholds stand at whole places (score - low)/step.

    The place of a score is a rising function of it, and thresholds stand within `near`/2 of whole places. So a score
    farther than `near` from whole places is settled by rounding; a run of scores with any nearer one is compared with
    the nearest thresholds themselves: score >= threshold has the final word.
    """
    count = ascending.shape[0]
    low, top = ascending[0], float(count)
    base = count if entering else 0
    sign = -1 if entering else 1
    for begin in range(start, stop, 1024):
        end = min(begin + 1024, stop)
        seen, found = scores[begin:end], steps[begin:end]  # loops over whole arrays become vector instructions
        unsettled = 0
        for i in range(seen.shape[0]):
            place = (seen[i] - low) * inverse
            below = math.floor(place)
            unsettled += 1 if abs(place - below - 0.5) > 0.5 - near else 0
            found[i] = base + sign * np.int32(min(max(below + 1.0, 0.0), top))
        if unsettled > 0:
            for i in range(seen.shape[0]):
                guess = np.uint32(min(max((seen[i] - low) * inverse + 0.5, 0.0), top - 1.0))
                found[i] = base + sign * (np.int32(guess) + np.int32(seen[i] >= ascending[guess]))


@compiled
def locate(scores: Floats, ascending: Floats, entering: bool, start: int, stop: int, steps: Steps) -> None:
    """The step of each item on any grid, by bisection."""
    count = ascending.shape[0]
    for i in range(start, stop):
        score = scores[i]
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            if score >= ascending[middle]:
                low = middle + 1
            else:
                high = middle
        steps[i] = count - low if entering else low


@compiled
def count_steps(
    steps: Steps, order: Integers, offsets: Integers, first: int, last: int, even: Integers, odd: Integers
) -> None:
    """How many items have each step. Two tables take turns: equal neighbours then do not wait for each other."""
    for slot in range(first, last):
        query = order[slot]
        begin, end = offsets[query], offsets[query + 1]
        for i in range(begin, end - 1, 2):
            even[np.uint32(steps[i])] += 1
            odd[np.uint32(steps[i + 1])] += 1
        if (end - begin) & 1:
            even[np.uint32(steps[end - 1])] += 1


@compiled
def scatter_changes(
    steps: Steps,
    codes: Codes,
    order: Integers,
    offsets: Integers,
    first: int,
    last: int,
    shift: int,
    cursors: Integers,
    changes: Changes,
) -> None:
    """Sort the items of slots first … last-1 by step, as changes. `cursors` holds where each step begins, and is
    used up."""
    for slot in range(first, last):
        query = order[slot]
        head = np.int64(slot) << shift
        for i in range(np.uint64(offsets[query]), np.uint64(offsets[query + 1])):
            step = np.uint32(steps[i])
            place = cursors[step]
            cursors[step] = place + 1
            changes[np.uint64(place)] = head | (np.int64(codes[i]) + 1)


@compiled
def scatter_rows(steps: Steps, cursors: Integers, rows: Integers) -> None:
    """Sort the row numbers of all items by step, keeping their order within a step."""
    for i in range(steps.shape[0]):
        step = np.uint32(steps[i])
        rows[cursors[step]] = i
        cursors[step] += 1


@compiled
def loss_units(kind: int, judged: int, bad: int, good_all: int) -> int:
    """The loss of one list in 1/UNITS, rounded up. `bad` and `good_all` are sums of badness and goodness in
    1/UNITS."""
    if kind == FALSE_DISCOVERY:
        return int(math.ceil(float(bad) / float(max(judged, 1))))
    if good_all == 0:
        return 0
    missed = good_all - (judged * UNITS - bad)
    loss = np.int64(math.ceil(float(missed) / (float(good_all) / UNITS)))
    rest = missed * UNITS - loss * good_all  # exact, as it wraps around and back: what float rounding left over
    if rest > 0:
        loss += 1
    elif rest <= -good_all:
        loss -= 1
    return int(min(UNITS, loss))


@compiled
def squared_units(loss: int) -> int:
    """The square of a loss in 1/UNITS, rounded up."""
    return int(math.ceil(float(loss) * float(loss) / UNITS))


@compiled
def open_lists(
    codes: Codes,
    unit: int,
    order: Integers,
    offsets: Integers,
    first: int,
    last: int,
    entering: bool,
    kind: int,
    state: Integers,
    good_all: Integers,
    current: Integers,
    sums: Integers,
) -> None:
    """The lists before the walk: empty if items will enter, full if they will leave. Fills the state and one row of
    sums."""
    for slot in range(first, last):
        query = order[slot]
        begin, end = offsets[query], offsets[query + 1]
        size, judged, bad = 0, 0, 0
        if kind == MISS or not entering:
            for i in range(begin, end):
                known = 1 if codes[i] >= 0 else 0
                judged += known
                bad += known * codes[i] * unit
            good_all[slot] = judged * UNITS - bad
            size = end - begin
        if entering:
            size, judged, bad = 0, 0, 0
        loss = loss_units(kind, judged, bad, good_all[slot])
        state[slot, 0] = bad
        state[slot, 1] = (size << 32) | judged
        current[slot] = loss
        sums[LOSS] += loss
        sums[SQUARED] += squared_units(loss)
        sums[CHOSEN] += size
        sums[BAD] += bad
        sums[JUDGED] += judged
        if size > 0:
            sums[LOSS_NONEMPTY] += loss
            sums[NONEMPTY] += 1


@compiled
def advance(
    changes: Changes,
    edges: Integers,
    start: int,
    stop: int,
    shift: int,
    unit: int,
    entering: bool,
    kind: int,
    squares: bool,
    state: Integers,
    good_all: Integers,
    current: Integers,
    first: int,
    last: int,
    sums: Integers,
    losses: Floats,
) -> None:
    """Take steps start … stop-1: add to sums[j] the change at step start + j, and write each loss at that step.

    State and losses belong to slots first … last-1. Where `losses` has no rows they are not written, and `current`
    is not kept.
    """
    mask = (np.int64(1) << shift) - 1
    sign = 1 if entering else -1
    keep = losses.shape[0] > 0
    for step in range(start, stop):
        total, squared, nonempty_loss, size_change, bad_change, nonempty, judged_change = 0, 0, 0, 0, 0, 0, 0
        here = changes[edges[step] : edges[step + 1]]
        for position in range(here.shape[0]):
            change = np.int64(here[position])
            slot = np.uint64(change >> shift)
            code = (change & mask) - 1
            known = sign if code >= 0 else 0
            bad, packed = state[slot, 0], state[slot, 1]
            size, judged = packed >> 32, packed & 0xFFFFFFFF
            new_bad, new_size, new_judged = bad + known * code * unit, size + sign, judged + known
            good = good_all[slot] if kind == MISS else 0
            loss = loss_units(kind, judged, bad, good)
            new_loss = loss_units(kind, new_judged, new_bad, good)
            state[slot, 0] = new_bad
            state[slot, 1] = (new_size << 32) | new_judged
            if keep:
                current[slot] = new_loss
            if squares:
                squared += squared_units(new_loss) - squared_units(loss)
            total += new_loss - loss
            nonempty_loss += (new_loss if new_size > 0 else 0) - (loss if size > 0 else 0)
            nonempty += (1 if new_size > 0 else 0) - (1 if size > 0 else 0)
            size_change += sign
            bad_change += new_bad - bad
            judged_change += known
        row = step - start
        sums[row, LOSS] += total
        sums[row, SQUARED] += squared
        sums[row, LOSS_NONEMPTY] += nonempty_loss
        sums[row, CHOSEN] += size_change
        sums[row, BAD] += bad_change
        sums[row, NONEMPTY] += nonempty
        sums[row, JUDGED] += judged_change
        if keep:
            for slot_written in range(first, last):
                losses[row, slot_written] = float(current[slot_written]) / UNITS


@compiled
def shares_in_units(largest: int) -> Integers:
    """part/whole in 1/UNITS, rounded up, at [whole << PART_BITS | part], for whole numbers up to `largest`."""
    table = np.zeros((largest + 1) << PART_BITS, np.int64)
    for whole in range(1, largest + 1):
        for part in range(largest + 1):
            table[(whole << PART_BITS) | part] = min(UNITS, -(-part * UNITS // whole))
    return table


@compiled
def advance_short(
    changes: Changes,
    edges: Integers,
    start: int,
    stop: int,
    entering: bool,
    kind: int,
    squares: bool,
    table: Integers,
    words: npt.NDArray[np.int32],
    current: Integers,
    first: int,
    last: int,
    sums: Integers,
    losses: Floats,
) -> None:
    """`advance` for badness of 0 or 1 and lists of at most SHORT_LIST items, several times as fast.

    The state of a list is one word: its size, and the whole and the part that its loss is the share of (the judged
    items in it and the bad ones among them, or all its good items and those left out). What an item changes is then
    one number to add, by its code, and the loss is looked up.
    """
    sign = 1 if entering else -1
    one, keep = 1 << SIZE_SHIFT, losses.shape[0] > 0
    if kind == FALSE_DISCOVERY:
        good, bad = one + (1 << PART_BITS), one + (1 << PART_BITS) + 1
    else:
        good, bad = one - 1, one
    added = np.array([sign * one, sign * good, sign * bad, 0], np.int32)  # passed over, good, bad
    share = np.uint32((1 << SIZE_SHIFT) - 1)
    for step in range(start, stop):
        total, squared, empty_loss, ends, bad_items, judged = 0, 0, 0, 0, 0, 0
        for position in range(np.uint64(edges[step]), np.uint64(edges[step + 1])):
            change = changes[position]
            slot, code = np.uint32(change >> SHORT_SHIFT), np.uint32(change & 3)
            word = words[slot]
            new_word = np.int32(word + added[code])
            words[slot] = new_word
            loss, new_loss = table[np.uint32(word) & share], table[np.uint32(new_word) & share]
            total += new_loss - loss
            bad_items += code >> np.uint32(1)
            judged += (code + np.uint32(1)) >> np.uint32(1)
            if word < one or new_word < one:  # the list begins empty, or ends so
                ends += 1
                empty_loss += new_loss if new_word < one else -loss
            if squares:
                squared += squared_units(new_loss) - squared_units(loss)
            if keep:
                current[slot] = new_loss
        row = step - start
        sums[row, LOSS] += total
        sums[row, SQUARED] += squared
        sums[row, LOSS_NONEMPTY] += total - empty_loss
        sums[row, CHOSEN] += sign * (edges[step + 1] - edges[step])
        sums[row, BAD] += sign * np.int64(bad_items) * UNITS
        sums[row, NONEMPTY] += sign * ends
        sums[row, JUDGED] += sign * np.int64(judged)
        if keep:
            for slot_written in range(first, last):
                losses[row, slot_written] = float(current[slot_written]) / UNITS


@compiled
def fingerprint_lists(
    scores: Floats, codes: Codes, unit: int, offsets: Integers, first: int, last: int
) -> tuple[Any, Any]:
    """Two 64-bit sums over lists of a mix of their scores and badness: the same lists give the same sums in whatever
    order, of lists and within lists."""
    bits = scores.view(np.uint64)
    low, high = np.uint64(0), np.uint64(0)
    badness = np.uint64(unit) * np.uint64(0x9E3779B97F4A7C15)
    for query in range(first, last):
        list_bits, list_codes = bits[offsets[query] : offsets[query + 1]], codes[offsets[query] : offsets[query + 1]]
        items = np.uint64(list_bits.shape[0])
        for i in range(list_bits.shape[0]):
            score = list_bits[i] if list_bits[i] != MINUS_ZERO else np.uint64(0)
            mixed = score ^ (np.uint64(list_codes[i] + 2) * badness)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xA5CB9243F1A3B1C5)
            items += mixed ^ (mixed >> np.uint64(32))
        items = (items ^ (items >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        items ^= items >> np.uint64(29)
        low += items
        high += items * (items >> np.uint64(33) | np.uint64(1))
    return low, high


@compiled
def tally(
    counts: Integers, unit: int, good_all: Integers, kind: int, first: int, sums: Integers, losses: Floats
) -> None:
    """Sums, and losses where these are kept, of slots first, first + 1 … from what is chosen of each:
    counts[row, slot] = items, judged items, sum of their codes. `good_all` is the goodness of each slot's items."""
    keep = losses.shape[0] > 0
    for row in range(counts.shape[0]):
        for here in range(counts.shape[1]):
            size, judged, bad = counts[row, here, 0], counts[row, here, 1], counts[row, here, 2] * unit
            loss = loss_units(kind, judged, bad, good_all[here])
            sums[row, LOSS] += loss
            sums[row, SQUARED] += squared_units(loss)
            sums[row, LOSS_NONEMPTY] += loss if size > 0 else 0
            sums[row, CHOSEN] += size
            sums[row, BAD] += bad
            sums[row, NONEMPTY] += 1 if size > 0 else 0
            sums[row, JUDGED] += judged
            if keep:
                losses[row, first + here] = float(loss) / UNITS


@compiled
def goodness(codes: Codes, unit: int, offsets: Integers, queries: Integers, good_all: Integers) -> None:
    """The goodness of all judged items of each query, in 1/UNITS."""
    for here in range(queries.shape[0]):
        for i in range(offsets[queries[here]], offsets[queries[here] + 1]):
            good_all[here] += UNITS - np.int64(codes[i]) * unit if codes[i] >= 0 else 0
