"""The features of LETOR text as a dense matrix: a look over all lines first, then every value into its place."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._rows import grouping, offsets_of_sizes
from cutline.errors import InputError
from cutline.io import letor
from cutline.io.delimited import NUMBER
from cutline.io.sheets import visible
from cutline.io.sources import Source, reading, source_of
from cutline.kernels import letor as loops
from cutline.kernels import texts
from cutline.kernels._compile import on_threads
from cutline.queries import Queries

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]

Release = Callable[[int, int], None]
NOWHERE = np.empty(0, np.int64)
_AT_ONCE = 1 << 24  # bytes that are read at a time
_LARGEST = 1 << 42  # bytes of a matrix that cannot be meant
_HARD = 1 << 12  # values that wait to be decided
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text:
    """The bytes of a file, where the parts of its lines stand, and which rows its lines become."""

    source: Source
    data: Bytes
    parts: Integers  # (n_items, loops.PARTS)
    offsets: Integers
    query_ids: Array
    item_ids: Array
    rows: Integers  # the row of each line; empty where lines are in the order of the queries
    width: int
    release: Release  # gives back what was read between two places

    def __len__(self) -> int:
        return len(self.parts)

    def queries(self, labels: Floats) -> Queries:
        """The queries of these rows, nothing scored yet."""
        return Queries(np.zeros(len(self)), self.offsets, labels, None, self.query_ids, self.item_ids)

    def line_at(self, place: int) -> str:
        """The file and the number of the line that holds this byte."""
        return f"{self.source.name}, line {loops.count_lines(self.data, 0, place + 1)}"

    def word_at(self, place: int, behind: int | None = None) -> str:
        """What stands at a place, for messages."""
        return _word(self.data[place : place + 200 if behind is None else behind])


def surveyed(source: Source, groups: Source | None, n_features: int | None) -> Text:
    """A file before its values are read: how many rows and features, and the ids of queries and items."""
    with reading(source):
        data, release = _bytes_of(source)
    parts, widest = _parts(data, release)
    if not len(parts):
        raise InputError(f"{source.name} holds no rows")
    width = max(1, widest) if n_features is None else n_features
    if 4 * width * len(parts) > _LARGEST:
        raise InputError(
            f"{source.name} names a feature {width:,}: a dense matrix of {len(parts):,} rows would not fit; number "
            "features from 1, without gaps"
        )
    sizes = _sizes(source, groups, parts)
    offsets, query_ids, order = _queries(source, data, parts) if sizes is None else _numbered(sizes)
    item_ids = _items(source, data, parts, offsets, order, named=sizes is None)
    rows = NOWHERE
    if order is not None:
        rows = np.empty(len(parts), np.int64)
        rows[order] = np.arange(len(parts))
    return Text(
        source=source, data=data, parts=parts, offsets=offsets, query_ids=query_ids, item_ids=item_ids, rows=rows,
        width=width, release=release,
    )  # fmt: skip


def read_values(text: Text, features: Features) -> Floats:
    """Fill a matrix of zeros with the features of the rows; their labels."""
    labels = np.empty(len(text))
    step = max(1, _AT_ONCE * len(text) // len(text.data))
    edges = [*range(0, len(text), step), len(text)]
    pieces = [partial(_filled, text, first, last, features, labels) for first, last in pairwise(edges)]
    for problem in on_threads(pieces):  # in the order of the file: the first line that is wrong is named
        if problem is not None:
            problem()
    return labels


def _bytes_of(source: Source) -> tuple[Bytes, Release]:
    """The bytes of a file, mapped where they are plain, and what gives their pages back once they have been read."""
    if source.gzipped:
        return _unmarked(np.frombuffer(source.whole(), np.uint8)), _keep
    with source.path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if source.progress is not None:
        source.progress(len(mapped))
    whole = np.frombuffer(mapped, np.uint8)
    data = _unmarked(whole)
    return data, partial(_give_back, mapped, len(whole) - len(data)) if hasattr(mapped, "madvise") else _keep


def _unmarked(data: Bytes) -> Bytes:
    return data[len(_MARK) :] if data[: len(_MARK)].tobytes() == _MARK else data


def _keep(begin: int, end: int) -> None:
    """Nothing to give back."""


def _give_back(mapped: mmap.mmap, before: int, begin: int, end: int) -> None:
    """Whole pages between two places: they are read again from the file if they are wanted."""
    first = -(-(begin + before) // mmap.PAGESIZE) * mmap.PAGESIZE
    last = (end + before) // mmap.PAGESIZE * mmap.PAGESIZE
    if last > first:
        mapped.madvise(mmap.MADV_DONTNEED, first, last - first)


def _parts(data: Bytes, release: Release) -> tuple[Integers, int]:
    """The parts of all lines with something in them, and the largest number of a feature that ends a line."""
    edges = [loops.next_line(data, begin) for begin in range(0, len(data), _AT_ONCE)] + [len(data)]
    pieces = list(pairwise(edges))
    before = 1
    found: list[Integers] = []
    numbers: list[int] = []
    for count in on_threads([partial(loops.count_lines, data, *piece) for piece in pieces]):
        numbers.append(before)
        found.append(np.empty((count, loops.PARTS), np.int64))
        before += count
    each = zip(pieces, numbers, found, strict=True)
    answers = on_threads([partial(_surveyed, data, release, *piece, number, parts) for piece, number, parts in each])
    kept = [part[:rows] for part, (rows, _) in zip(found, answers, strict=True)]
    return (kept[0] if len(kept) == 1 else np.concatenate(kept)), max(widest for _, widest in answers)


def _surveyed(data: Bytes, release: Release, begin: int, end: int, number: int, parts: Integers) -> tuple[int, int]:
    rows, widest = loops.survey(data, begin, end, number, parts)
    release(begin, end)
    return rows, int(widest)


def _sizes(source: Source, groups: Source | None, parts: Integers) -> Integers | None:
    """The sizes of queries, where they come from a file of their own and not from each line."""
    without = np.flatnonzero(parts[:, loops.QID] == parts[:, loops.QID_END])
    if 0 < len(without) < len(parts):
        raise InputError(f"{source.name}, line {parts[without[0], loops.NUMBER]}: no qid:, and other lines have one")
    if len(without) and groups is None and (beside := letor.beside(source)) is not None:
        groups = source_of(beside)
    return letor.group_sizes(source, groups, len(parts), has_qid=not len(without))


def _numbered(sizes: Integers) -> tuple[Integers, Array, None]:
    return offsets_of_sizes(sizes), objects_of([str(place) for place in range(1, len(sizes) + 1)]), None


def _queries(source: Source, data: Bytes, parts: Integers) -> tuple[Integers, Array, Integers | None]:
    """Offsets and ids of the queries, first appearance first; the order of lines, or None where it is theirs."""
    changed = np.empty(len(parts), np.bool_)
    loops.changes_of_query(data, parts, changed)
    heads = np.flatnonzero(changed)
    ids = _texts(source, data, parts[heads][:, [loops.QID, loops.QID_END]], parts[heads])
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in ids], dtype=np.int64)
    offsets, _, order = grouping(np.repeat(codes, np.diff(np.append(heads, len(parts)))))
    return offsets, objects_of(list(numbers)), order


def _items(
    source: Source, data: Bytes, parts: Integers, offsets: Integers, order: Integers | None, *, named: bool
) -> Array:
    """Items by what their comments say, where every line has a name that no other line of its query has; else by the
    numbers of their lines."""
    found = np.empty((len(parts), 2), np.int64)
    for documents in (True, False) if named else ():
        if loops.names_in_comments(data, parts, documents, found):
            spans_of_rows = found if order is None else found[order]
            packed, ends = _packed(data, spans_of_rows)
            if texts.first_repeat(packed, ends, NOWHERE, offsets, 0, len(offsets) - 1)[0] < 0:
                return objects_of(_texts(source, data, spans_of_rows, parts if order is None else parts[order]))
    numbers = parts[:, loops.NUMBER] if order is None else parts[order, loops.NUMBER]
    return objects_of([str(number) for number in numbers.tolist()])


def _packed(data: Bytes, places: Integers) -> tuple[Bytes, Integers]:
    ends = offsets_of_sizes(places[:, 1] - places[:, 0])
    packed = np.empty(int(ends[-1]) + 1, np.uint8)
    loops.gather_texts(data, places, ends, packed)
    return packed, ends


def _texts(source: Source, data: Bytes, places: Integers, parts: Integers) -> list[str]:
    packed, ends = _packed(data, places)
    raw, cuts = packed.tobytes(), ends.tolist()
    texts_found = [raw[begin:end] for begin, end in pairwise(cuts)]
    for row, text in enumerate(texts_found):
        try:
            text.decode()
        except UnicodeDecodeError:
            number = parts[row, loops.NUMBER]
            raise InputError(f"{source.name}, line {number}: not UTF-8 text; convert the file to UTF-8") from None
    return [text.decode() for text in texts_found]


def _filled(text: Text, first: int, last: int, features: Features, labels: Floats) -> Callable[[], NoReturn] | None:
    """Fill the rows of some lines; what is wrong with the first line that is, to be raised later."""
    start = int(text.parts[first, loops.START])
    hard = np.empty((max(_HARD, 2 * (text.width + 1)), 4), np.int64)
    while True:
        code, place, first, count = loops.fill(text.data, text.parts, first, last, text.rows, features, labels, hard)
        for begin, behind, row, column in hard[:count].tolist():
            value = _decided(text, begin, behind, column)
            if callable(value):
                return value
            if column < 0:
                labels[row] = value
            else:
                features[row, column] = value
        if code == loops.FINE:
            text.release(start, int(text.parts[last - 1, loops.END]))
            return None
        if code != loops.FULL:
            return partial(_refuse_pair, text, code, place)


def _decided(text: Text, begin: int, behind: int, column: int) -> float | Callable[[], NoReturn]:
    """The number that a text stands for, or the error it is."""
    word = text.data[begin:behind].tobytes().decode("ascii", "replace")
    if not NUMBER.fullmatch(word):
        return partial(_refuse_value, text, begin, behind, column, "not a number")
    value = float(word)
    with np.errstate(over="ignore"):
        short = np.float32(value)
    if column < 0:
        return partial(_refuse_value, text, begin, behind, column, "not finite") if np.isinf(value) else value
    if np.isfinite(short):
        return float(short)
    why = "more than a float32 holds" if np.isfinite(value) else "not finite"
    return partial(_refuse_value, text, begin, behind, column, why)


def _refuse_value(text: Text, begin: int, behind: int, column: int, why: str) -> NoReturn:
    what, wanted = ("label", "labels are") if column < 0 else (f"value of feature {column + 1}", "features are")
    raise InputError(
        f"{text.line_at(begin)}: the {what} is {text.word_at(begin, behind)}, {why}; {wanted} finite numbers"
    )


def _refuse_pair(text: Text, code: int, place: int) -> NoReturn:
    came = text.word_at(place)
    wanted = {
        loops.NOT_A_PAIR: f"wanted `index:value`, as in 3:0.5, got {came}",
        loops.ZERO: f"feature 0 in {came}; features are numbered from 1: add 1 to every index",
        loops.NOT_RISING: f"{came} stands behind a feature of the same or a higher number; sort the features of a "
        "line by their numbers, each once",
        loops.TOO_WIDE: f"{came} is beyond the last of {text.width:,} features; are there more, or are the features of "
        "a line not sorted?",
    }
    raise InputError(f"{text.line_at(place)}: {wanted[code]}")


def _word(raw: Bytes) -> str:
    words = raw.tobytes().split(maxsplit=1)
    word = visible(words[0].decode("utf-8", "replace")) if words else ""
    return repr(word if len(word) <= 40 else f"{word[:40]}…")
