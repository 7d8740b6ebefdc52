"""Which rows belong to which query, and which queries are meant: grouping, selecting, splitting, ordering."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import (
    counted,
    differs,
    is_missing,
    is_whole,
    one_dimensional,
    plain_array,
    plain_scalar,
    same_length,
    whole_numbers,
)
from cutline._checks import check_number
from cutline._display import shown
from cutline.errors import InputError, warn

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
        so = "is not in the run: it has no list" if lost == 1 else "are not in the run: they have no lists"
        message = f"{lost} of {counted(len(qrels), 'judged query', 'judged queries')} {so} to cut and will not count"
        warn(message)
    if unjudged := sum(query not in qrels for query in run):
        warn(
            f"{unjudged:,} of {counted(len(run), 'query', 'queries')} of the run are not in the qrels: nobody judged "
            "them, and they are left out"
        )
    if _looks_swapped(run, qrels):
        message = (
            "run holds few whole numbers, often tied, and qrels fractions, as if one were the other; "
            "Queries.from_dicts(run, qrels) takes the scores first, then the labels"
        )
        warn(message)


def _looks_swapped(run: Mapping[Any, Mapping[Any, Any]], qrels: Mapping[Any, Mapping[Any, Any]]) -> bool:
    """Scores that look like labels beside labels that look like scores. Either alone is nothing odd: a run of ranks
    holds whole numbers too, clicks give fractions for labels, and pools judge items that a run lacks."""
    values: set[Any] = set()
    tied = False
    for listed in run.values():
        of_list = list(listed.values())
        if not all(is_whole(value) or (isinstance(value, float) and value.is_integer()) for value in of_list):
            return False
        distinct = set(of_list)
        tied = tied or len(distinct) < len(of_list)
        values |= distinct
        if len(values) > 10:
            return False
    if not tied and len(values) > 1:
        return False
    labels = [label for judged in qrels.values() for label in judged.values()]
    fractions = sum(isinstance(label, float) and math.isfinite(label) and not label.is_integer() for label in labels)
    return 2 * fractions > len(labels)


def checked_offsets(values: Any, n_items: int) -> Ints:
    offsets = whole_numbers("offsets", values).copy()  # a user's array may be written to later
    if len(offsets) == 0 or offsets[0] != 0:
        raise InputError(f"offsets must start at 0, got {offsets[:1].tolist() or 'none'}; put a 0 first")
    if offsets[-1] != n_items:
        raise InputError(
            f"offsets must end at the number of items, {n_items:,}, got {int(offsets[-1]):,}; "
            "the sizes of all queries must add up to the number of scores"
        )
    for i in np.flatnonzero(offsets[1:] < offsets[:-1])[:1]:
        low, high = int(offsets[i + 1]), int(offsets[i])
        raise InputError(f"offsets must not decrease, got {high:,} and then {low:,} at {i + 1}; sort the queries")
    return offsets


def checked_group(values: Any, n_items: int) -> Ints:
    given = plain_array("group", values)
    try:
        return _checked_sizes(given, n_items)
    except InputError as problem:
        if len(given) == n_items:
            raise InputError(f"{problem}; it has one value per item: did you mean qid=?") from None
        raise


def _checked_sizes(given: Array, n_items: int) -> Ints:
    sizes = whole_numbers("group", given)
    for i in np.flatnonzero(sizes < 1)[:1]:
        raise InputError(
            f"group must hold sizes of at least 1, got {int(sizes[i])} for query {int(i)}; "
            "drop it: a query without items has no list to cut"
        )
    total = int(sizes.sum()) if int(sizes.max(initial=0)) <= n_items else sum(sizes.tolist())  # which does not wrap
    if total != n_items:
        raise InputError(
            f"group must add up to the number of scores, {n_items:,}, got {total:,}; "
            "it holds the number of items of each query, in order"
        )
    return sizes


def check_qid(qid: Array, n_items: int) -> None:
    """One id per item; sizes of queries, handed over as ids, are recognised by their sum."""
    if len(qid) != n_items and qid.dtype.kind in "iu" and qid.ndim == 1 and int(qid.sum()) == n_items:
        raise InputError(
            f"qid must have one value per item, {n_items:,} in all, got {len(qid):,} that add up to it; "
            "did you mean group=?"
        )
    same_length("qid", len(qid), n_items, "item")


def position_of(query: Any, n: int, ids: Array | None, table: str = "queries") -> int:
    if not is_whole(query):
        many = "; select() takes many, or a mask" if table == "queries" else "; iterate over all, or see to_frame()"
        hint = _by_id(query, ids, table) or many
        raise InputError(f"a query is found by its row number, got {shown(query)}{hint}")
    if not -n <= query < n:
        there = f"the table has {n}, from 0 to {n - 1}" if n > 1 else f"the table has {('none', 'only query 0')[n]}"
        raise IndexError(f"there is no query {int(query)}: {there}{_by_id(query, ids, table)}")
    return int(query) % n


def _by_id(query: Any, ids: Array | None, table: str = "queries") -> str:
    """What to write where an id is at hand and not a row number; nothing where what came cannot be an id."""
    if not isinstance(query, str) and not (is_whole(query) and ids is not None and query in ids.tolist()):
        return ""
    if ids is None:
        return "; there are no query ids"
    if table == "queries":
        return f"; to choose by id: queries.select(np.isin(queries.query_ids, [{plain_scalar(query)!r}]))"
    return f"; the row of an id: int(np.flatnonzero({table}.query_ids == {plain_scalar(query)!r})[0])"


def selected_rows(which: Any, n: int, ids: Array | None) -> Ints:
    if isinstance(which, slice):
        return np.arange(n, dtype=np.int64)[which]
    if is_whole(which):
        raise InputError(f"which must be several row numbers or a mask, got {which!r}; write queries[{which}] for one")
    array = plain_array("which", [which] if isinstance(which, str) else which)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(f"a mask must have one truth value per query, {n:,} in all, got shape {array.shape}")
        return np.flatnonzero(array)
    for value in array.ravel() if array.dtype == object else ():
        if isinstance(value, str):
            raise InputError(f"which must be row numbers or a mask, got the text {value!r}{_by_id(value, ids)}")
    index = whole_numbers("which", array)
    for i in index[(index < -n) | (index >= n)][:1]:
        raise InputError(f"which must be row numbers of queries, from 0 to {n - 1}, got {int(i)}{_by_id(i, ids)}")
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
        raise InputError(
            f"split must leave queries on both sides, got {share_or_count!r} of {counted(n, 'query', 'queries')}"
        )
    return count


def keyed_hash(seed: Any, fingerprint: str = "") -> hashlib.blake2b:
    """BLAKE2b of 16 bytes whose key is the seed in decimal, padded with zero bytes to 16, and whose salt is the
    fingerprint (16 bytes as hexadecimal digits)."""
    if not is_whole(seed):
        raise InputError(f"seed must be a whole number, got {seed!r}")
    key = str(int(seed)).encode()
    if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
        raise InputError(f"seed must have at most {hashlib.blake2b.MAX_KEY_SIZE} digits, got {len(key)}")
    return hashlib.blake2b(key=key.ljust(16, b"\0"), salt=bytes.fromhex(fingerprint), digest_size=16)
