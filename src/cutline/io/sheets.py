"""What a file holds: an Arrow table, which column plays which role, and where each row stands in the file."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import decimals_of
from cutline._columns import Wording
from cutline._display import shown
from cutline.errors import InputError
from cutline.io.arrow import Column, Kind, Table, Values, pa, pc

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST = 2**31 - 1  # bytes of a column of text that 32-bit offsets reach
WORDS = {"query_id": "query id", "item_id": "item id", "score": "score", "label": "label", "vector": "vector"}


class Wish(NamedTuple):
    """What a reader is asked for: columns by role, which roles must be there, and which other columns are kept."""

    columns: Mapping[str, str]
    required: tuple[str, ...]
    wording: Wording
    keep: tuple[str, ...] | None = ()  # None: every column
    positional: tuple[str, ...] = ()  # roles of the first columns where names do not tell
    only: tuple[str, ...] | None = None  # roles that are read at all

    def reads(self, role: str) -> bool:
        """Whether the column of a role is wanted."""
        return self.only is None or role in self.only


def _nowhere(row: int) -> str:
    return f"row {row + 1}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sheet:
    """Rows of (query, item) as a file holds them, in its order. `place` says where a row stands, for messages."""

    source: str
    table: Table
    roles: dict[str, str]
    format: str
    place: Callable[[int], str] = field(default=_nowhere)

    def __len__(self) -> int:
        return cast(int, self.table.num_rows)

    def has(self, role: str) -> bool:
        """Whether a column plays this role."""
        return role in self.roles

    def column(self, role: str) -> Column:
        """The column of a role, as the file holds it."""
        return self.table.column(self.roles[role])

    def refuse(self, row: int, what: str) -> NoReturn:
        """Refuse a row: what came and what is wanted, after where it stands."""
        raise InputError(f"{self.source}, {self.place(row)}: {what}")

    def single_precision(self, role: str) -> bool:
        """Whether the column of a role holds floats of fewer than 64 bits."""
        kind = plain(self.column(role)).type
        return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind))

    def texts(self, role: str) -> Texts:
        """Ids as text, none of them missing."""
        column = plain(self.column(role))
        if column.null_count:
            self.refuse(_first(column.is_null()), f"the {WORDS[role]} is missing; drop the row or give it one")
        if pa.types.is_floating(column.type):
            column = self._whole(role, column)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column = self._decoded(role, column)
        if not (_is_text(column.type) or pa.types.is_integer(column.type)):
            raise InputError(
                f"{self.source}: column {self.roles[role]!r} must hold ids, as text or whole numbers, got {column.type}"
            )
        texts = texts_of(column)
        for row in np.flatnonzero(np.diff(texts.offsets) == 0)[:1]:
            self.refuse(int(row), f"the {WORDS[role]} is empty; drop the row or give it one")
        return texts

    def _decoded(self, role: str, column: Column) -> Column:
        """Bytes as the text they are in UTF-8."""
        try:
            return column.cast(pa.large_string())
        except pa.ArrowInvalid:
            raise InputError(
                f"{self.source}: column {self.roles[role]!r} holds bytes that are not UTF-8 text"
            ) from None

    def _whole(self, role: str, column: Column) -> Column:
        """Whole numbers that are written as 1.0 are ids still."""
        values = column.to_numpy()
        for row in np.flatnonzero((values != np.floor(values)) | (np.abs(values) > 2.0**53) | ~np.isfinite(values))[:1]:
            self.refuse(int(row), f"the {WORDS[role]} is {float(values[row])!r}; ids are text or whole numbers")
        return pa.chunked_array([values.astype(np.int64)])

    def numbers(self, role: str) -> Floats:
        """A column as numbers; NaN where there is none."""
        column = plain(self.column(role))
        if _is_text(column.type):
            row = _first(column.is_valid())
            self.refuse(row, f"the {WORDS[role]} is the text {shown(column[row].as_py())}; {_numbers_wanted(role)}")
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        if not (_is_number(column.type) or pa.types.is_boolean(column.type)):
            raise InputError(f"{self.source}: column {self.roles[role]!r} must hold numbers, got {column.type}")
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if role == "label" and self.single_precision(role):
            return decimals_of(column.to_numpy())
        numbers = cast(Floats, column.cast(pa.float64(), safe=False).to_numpy())
        return np.ascontiguousarray(numbers)

    def finite(self, role: str) -> Floats:
        """Numbers, all of them there and finite."""
        numbers = self.numbers(role)
        for row in np.flatnonzero(~np.isfinite(numbers))[:1]:
            came = "missing or NaN" if np.isnan(numbers[row]) else f"{numbers[row]}"
            self.refuse(int(row), f"the {WORDS[role]} of {self._pair(int(row))} is {came}; {_numbers_wanted(role)}")
        return numbers

    def labels(self) -> Floats:
        """Labels, NaN where an item is unjudged."""
        labels = self.numbers("label")
        for row in np.flatnonzero(np.isinf(labels))[:1]:
            self.refuse(int(row), f"the label of {self._pair(int(row))} is {labels[row]}; {_numbers_wanted('label')}")
        return labels

    def _pair(self, row: int) -> str:
        """A row by its ids."""
        ids = [
            f"{role.removesuffix('_id')} {str(self.column(role)[row].as_py())!r}"
            for role in ("query_id", "item_id")
            if self.has(role)
        ]
        return ", ".join(ids)

    def refuse_repeat(self, one: int, other: int) -> NoReturn:
        """Refuse two rows of one pair."""
        first = self.place(min(one, other))
        self.refuse(max(one, other), f"{self._pair(other)} appears twice, first in {first}; keep one row per pair")

    def with_column(self, role: str, name: str, values: Any) -> Sheet:
        """The same sheet with one more column in a role; a column of that name gives way to `<name>_input`."""
        table = self.table
        roles = dict(self.roles)
        if name in table.column_names:
            other = free_name(f"{name}_input", table.column_names)
            table = table.rename_columns([other if held == name else held for held in table.column_names])
            roles = {key: other if held == name else held for key, held in roles.items()}
        return replace(self, table=table.append_column(name, values), roles={**roles, role: name})


def free_name(name: str, taken: list[str]) -> str:
    """The name, lengthened until no column bears it."""
    while name in taken:
        name += "_input"
    return name


class Texts(NamedTuple):
    """A column of text as its bytes: text i is data[offsets[i]:offsets[i + 1]]. `column` is the same for Arrow."""

    data: npt.NDArray[np.uint8]
    offsets: Any  # int32, or int64 for large text
    column: Values

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def changes(self) -> npt.NDArray[np.bool_]:
        """Whether each text differs from the one before it."""
        from cutline.kernels import texts
        from cutline.kernels._compile import on_threads, spans

        changed = np.empty(len(self), np.bool_)
        one = partial(texts.changes_of_text, self.data, self.offsets)
        on_threads([partial(one, *span, changed) for span in spans(len(self), least=16_384)])
        return changed


def in_one_piece(table: Table) -> Table:
    """Each column in one chunk, one column after the other, so that none is copied again and again later."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if column.num_chunks > 1 and column.nbytes < LARGEST:
            table = table.set_column(place, name, column.combine_chunks())
    return table


def texts_of(column: Column) -> Texts:
    """Text, or whole numbers written out, in one piece."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) and column.nbytes >= LARGEST:
        column = column.cast(pa.large_string())
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    wide = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return Texts(np.zeros(1, np.uint8), np.zeros(len(array) + 1, np.int64), array)
    ends = np.frombuffer(offsets, wide)[array.offset : array.offset + len(array) + 1]
    held = np.zeros(1, np.uint8) if data is None or not data.size else np.frombuffer(data, np.uint8)
    return Texts(held, ends, array)


def taken(table: Table, rows: Integers) -> Table:
    """Some rows of a table, in this order. Text beyond what 32-bit offsets reach, and views, are made large text
    first, as Arrow cannot take rows of them otherwise."""
    for place, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_string_view(kind) or (pa.types.is_string(kind) and column.nbytes >= LARGEST):
            table = table.set_column(place, table.column_names[place], column.cast(pa.large_string()))
        elif pa.types.is_binary_view(kind):
            table = table.set_column(place, table.column_names[place], column.cast(pa.large_binary()))
    return table.take(pa.array(rows))


def plain(column: Column) -> Column:
    """A dictionary column as the values it stands for."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def visible(text: str) -> str:
    """Text on one line, with no control characters in it, as a terminal may show it."""
    return "".join(ch if unicodedata.category(ch)[0] != "C" else repr(ch)[1:-1] for ch in text)


def _first(mask: Any) -> int:
    return int(pc.index(mask, pa.scalar(True)).as_py())


def _is_text(kind: Kind) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: Kind) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _numbers_wanted(role: str) -> str:
    return "labels are finite numbers" if role == "label" else "scores are finite numbers"
