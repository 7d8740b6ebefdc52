"""Which rows belong to which query, and which queries are meant: grouping, selecting, splitting, ordering."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import differs, is_missing, is_whole, one_dimensional, plain_array, whole_numbers
from cutline._checks import check_number
from cutline.errors import CutlineWarning, InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def offsets_of_sizes(sizes: Ints) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


def grouping(qid: Array) -> tuple[Ints, Array, Ints | None]:
    """Offsets and ids of the queries in order of first appearance, and the order of rows, or None where it is theirs.

    Looks at runs of equal ids, so that rows that are adjacent already cost one comparison each.
    """
    if len(qid) == 0:
        return np.zeros(1, dtype=np.int64), qid, None
    one_dimensional("qid", qid)
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(differs(qid[1:], qid[:-1])) + 1))
    lengths = np.diff(np.append(first, len(qid)))
    codes: dict[Any, int] = {}
    try:
        of_run = np.array([codes.setdefault(value, len(codes)) for value in qid[first].tolist()], dtype=np.int64)
    except TypeError:
        raise InputError("qid must be text or whole numbers, got values that cannot be an id") from None
    heads = first[np.diff(np.maximum.accumulate(of_run), prepend=-1) > 0]
    for row in heads if qid.dtype.kind in "Of" else heads[:0]:
        if is_missing(qid[row]):
            raise InputError(f"qid must not be missing, got {qid[row]!r} in row {row}; drop the row or give it an id")
    if len(codes) == len(first):
        return offsets_of_sizes(lengths), qid[first], None
    of_item = np.repeat(of_run, lengths)
    return offsets_of_sizes(np.bincount(of_item)), qid[heads], _stable_order(of_item)


def _stable_order(codes: Ints) -> Ints:
    """A stable argsort of codes from 0 to below 2^32, by 16 bits at a time: numpy sorts those by radix."""
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    if codes.max() < 1 << 16:
        return order
    return order[np.argsort((codes >> 16).astype(np.uint16)[order], kind="stable")]


def check_nested(name: str, nested: Any) -> None:
    if isinstance(nested, Mapping):
        odd = [key for key, listed in cast("Mapping[Any, Any]", nested).items() if not isinstance(listed, Mapping)]
        if not odd:
            return
        raise InputError(f"{name} must be {{query: {{item: number}}}}, but query {odd[0]!r} does not hold a mapping")
    raise InputError(f"{name} must be {{query: {{item: number}}}}, got {type(nested).__name__}")


def check_shared(run: Mapping[Any, Any], qrels: Mapping[Any, Any]) -> None:
    lost = sum(query not in run for query in qrels)
    if run and lost == len(qrels):
        judged = f"such as {next(iter(qrels))!r}" if qrels else "none"
        raise InputError(
            f"run and qrels share no query: run has ids such as {next(iter(run))!r}, qrels {judged}; write them alike"
        )
    if lost:
        message = f"{lost} of {len(qrels)} judged queries are not in the run: they have no list to cut and do not count"
        warnings.warn(message, CutlineWarning, stacklevel=3)


def checked_offsets(values: Any, n_items: int) -> Ints:
    offsets = whole_numbers("offsets", values)
    if len(offsets) == 0 or offsets[0] != 0:
        raise InputError(f"offsets must start at 0, got {offsets[:1].tolist() or 'none'}; put a 0 first")
    if offsets[-1] != n_items:
        raise InputError(
            f"offsets must end at the number of items, {n_items:,}, got {int(offsets[-1]):,}; "
            "the sizes of all queries must add up to the number of scores"
        )
    for i in np.flatnonzero(np.diff(offsets) < 0)[:1]:
        low, high = int(offsets[i + 1]), int(offsets[i])
        raise InputError(f"offsets must not decrease, got {high:,} and then {low:,} at {i + 1}; sort the queries")
    return offsets


def checked_group(values: Any, n_items: int) -> Ints:
    sizes = whole_numbers("group", values)
    for i in np.flatnonzero(sizes < 1)[:1]:
        raise InputError(
            f"group must hold sizes of at least 1, got {int(sizes[i])} for query {int(i)}; "
            "drop it: a query without items has no list to cut"
        )
    if sizes.sum() != n_items:
        raise InputError(
            f"group must add up to the number of scores, {n_items:,}, got {int(sizes.sum()):,}; "
            "it holds the number of items of each query, in order"
        )
    return sizes


def position_of(query: Any, n: int) -> int:
    if not is_whole(query):
        raise InputError(f"a query is found by its row number, got {query!r}; select() takes many, or a mask")
    if not -n <= query < n:
        raise IndexError(f"there is no query {int(query)}: the table has {n}, from 0 to {n - 1}")
    return int(query) % n


def selected_rows(which: Any, n: int) -> Ints:
    if isinstance(which, slice):
        return np.arange(n, dtype=np.int64)[which]
    array = plain_array("which", which)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(f"a mask must have one truth value per query, {n:,} in all, got shape {array.shape}")
        return np.flatnonzero(array)
    index = whole_numbers("which", array)
    for i in index[(index < -n) | (index >= n)][:1]:
        raise InputError(f"which must be row numbers of queries, from 0 to {n - 1}, got {int(i)}")
    index = np.where(index < 0, index + n, index)
    for i in np.flatnonzero(np.bincount(index, minlength=n) > 1)[:1]:
        raise InputError(f"query {int(i)} is selected twice; a copy is no new evidence: select each query once")
    return index


def count_of(share_or_count: Any, n: int) -> int:
    """How many queries go to the first part of a split."""
    if is_whole(share_or_count):
        count = int(share_or_count)
    else:
        share = check_number("share_or_count", share_or_count)
        if not 0.0 < share < 1.0:
            hint = f"; a count of queries is written {int(share)}" if share >= 1.0 and share == share // 1 else ""
            raise InputError(f"a share must be in (0, 1), got {share!r}{hint}")
        count = round(share * n)
    if not 0 < count < n:
        raise InputError(f"split must leave queries on both sides, got {share_or_count!r} of {n:,} queries")
    return count


def generator_of(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if not is_whole(rng) or rng < 0:
        raise InputError(f"rng must be a whole number of at least 0 or a numpy Generator, got {rng!r}")
    return np.random.default_rng(int(rng))


def keyed_hash(seed: Any) -> hashlib.blake2b:
    """BLAKE2b of 16 bytes whose key is the seed in decimal, padded with zero bytes to 16."""
    if not is_whole(seed):
        raise InputError(f"seed must be a whole number, got {seed!r}")
    key = str(int(seed)).encode()
    if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
        raise InputError(f"seed must have at most {hashlib.blake2b.MAX_KEY_SIZE} digits, got {len(key)}")
    return hashlib.blake2b(key=key.ljust(16, b"\0"), digest_size=16)
