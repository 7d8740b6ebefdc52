"""Loops over ids held as text: UTF-8 bytes in one array, the text of row i at offsets[i] … offsets[i + 1]. Items are
looked up query by query, in a small hash table; texts are equal only if all their bytes are.

The rows of query q are rows[starts[q]:starts[q + 1]], or, where `rows` is empty, those numbers themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled

Integers = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_HALF = np.uint64(32)
_WORD = np.uint64(8)


@compiled
def changes_of_text(data: Bytes, offsets: Offsets, first: int, last: int, changed: npt.NDArray[np.bool_]) -> None:
    """Whether each text differs from the one before it. The first one of all does."""
    for row in range(first, last):
        changed[row] = row == 0 or not _same(data, offsets, row, data, offsets, row - 1)


@compiled
def _hash(data: Bytes, offsets: Offsets, row: int) -> np.uint64:
    """FNV-1a of a text, eight bytes at a time while there are as many, its upper half mixed into the lower one."""
    at, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
    mixed = _BASIS
    while at + _WORD <= end:
        word = np.uint64(0)
        for place in range(np.uint64(8)):
            word |= np.uint64(data[at + place]) << (place * _WORD)
        mixed = (mixed ^ word) * _PRIME
        mixed ^= mixed >> _HALF
        at += _WORD
    while at < end:
        mixed = (mixed ^ np.uint64(data[at])) * _PRIME
        at += np.uint64(1)
    return mixed ^ (mixed >> _HALF)


@compiled
def _same(data: Bytes, offsets: Offsets, row: int, data_: Bytes, offsets_: Offsets, row_: int) -> bool:
    begin, begin_ = offsets[row], offsets_[row_]
    length = offsets[row + 1] - begin
    if length != offsets_[row_ + 1] - begin_:
        return False
    for at in range(length - 1, -1, -1):  # noqa: SIM110 (ids tend to differ at their ends)
        if data[begin + at] != data_[begin_ + at]:
            return False
    return True


@compiled
def _fill(
    table: Integers, marks: Hashes, size: int, data: Bytes, offsets: Offsets, rows: Integers, begin: int, end: int
) -> tuple[int, int]:
    """Put the rows of one query into an empty table of `size` places, a power of two; two rows with the same text
    are returned, else -1, -1."""
    table[:size] = -1
    mask = size - 1
    for place in range(begin, end):
        row = rows[place] if rows.size else place
        mark = _hash(data, offsets, row)
        slot = np.int64(mark & np.uint64(mask))
        while table[slot] >= 0:
            held = table[slot]
            if marks[slot] == mark and _same(data, offsets, held, data, offsets, row):
                return held, row
            slot = (slot + 1) & mask
        table[slot], marks[slot] = row, mark
    return -1, -1


@compiled
def _size_for(count: int) -> int:
    size = 8
    while size < 2 * count:
        size *= 2
    return size


@compiled
def _largest(starts: Integers, first: int, last: int) -> int:
    most = 0
    for query in range(first, last):
        most = max(most, starts[query + 1] - starts[query])
    return most


@compiled
def first_repeat(
    data: Bytes, offsets: Offsets, rows: Integers, starts: Integers, first: int, last: int
) -> tuple[int, int]:
    """Two rows of one query with the same text, or -1, -1."""
    places = _size_for(_largest(starts, first, last))
    table, marks = np.empty(places, np.int64), np.empty(places, np.uint64)
    for query in range(first, last):
        begin, end = starts[query], starts[query + 1]
        one, other = _fill(table, marks, _size_for(end - begin), data, offsets, rows, begin, end)
        if one >= 0:
            return one, other
    return -1, -1


@compiled
def match_texts(
    data: Bytes, offsets: Offsets, rows: Integers, starts: Integers,
    data_: Bytes, offsets_: Offsets, rows_: Integers, starts_: Integers,
    first: int, last: int, found: Integers,
) -> tuple[int, int]:  # fmt: skip
    """For each row of these queries the row of the other table (names with _) with the same query and text, or -1.

    Two rows of one query of the other table with the same text are returned, else -1, -1.
    """
    places = _size_for(_largest(starts_, first, last))
    table, marks = np.empty(places, np.int64), np.empty(places, np.uint64)
    for query in range(first, last):
        size = _size_for(starts_[query + 1] - starts_[query])
        one, other = _fill(table, marks, size, data_, offsets_, rows_, starts_[query], starts_[query + 1])
        if one >= 0:
            return one, other
        mask = size - 1
        for place in range(starts[query], starts[query + 1]):
            row = rows[place] if rows.size else place
            mark = _hash(data, offsets, row)
            slot = np.int64(mark & np.uint64(mask))
            match = np.int64(-1)
            while table[slot] >= 0:
                if marks[slot] == mark and _same(data_, offsets_, table[slot], data, offsets, row):
                    match = table[slot]
                    break
                slot = (slot + 1) & mask
            found[row] = match
    return -1, -1


@compiled
def hash_texts(data: Bytes, offsets: Offsets, key: np.uint64, hashes: Hashes) -> None:
    """A keyed 64-bit hash of each text: for telling texts apart, not for chance."""
    for row in range(hashes.shape[0]):
        mixed = _hash(data, offsets, row) ^ key
        mixed = (mixed ^ (mixed >> _HALF)) * np.uint64(0xD6E8FEB86659FD93)
        mixed = (mixed ^ (mixed >> _HALF)) * np.uint64(0xD6E8FEB86659FD93)
        hashes[row] = mixed ^ (mixed >> _HALF)
