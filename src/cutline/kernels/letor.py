"""Loops over the bytes of `label qid:ID 1:value 2:value … # comment`: where lines and their parts stand, and the values
as float32.

A value is read as `float32(float(text))` would have it. Where whole-number arithmetic cannot be sure of that, and where
a text may be no number at all, the place goes into `hard`, and the caller decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cutline.kernels._compile import compiled

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Shorts = npt.NDArray[np.float32]

# The parts of a line: its first byte, the first behind label and qid, the first of the comment (or the end), the end of
# the line, the qid, and the number of the line.
START, BODY, COMMENT, END, QID, QID_END, NUMBER = range(7)
PARTS = 7
FINE, FULL, NOT_A_PAIR, ZERO, NOT_RISING, TOO_WIDE = range(6)
PLACE, PLACE_END, ROW, COLUMN = range(4)  # of what stands in `hard`; the label is column -1

_NEWLINE, _TAB, _RETURN, _SPACE, _HASH, _PLUS, _MINUS, _POINT, _NINE, _COLON = 10, 9, 13, 32, 35, 43, 45, 46, 57, 58
_ZERO, _EXPONENT = 48, 101
_QID = np.frombuffer(b"qid:", np.uint8)
_DOCID = np.frombuffer(b"docid", np.uint8)
_TENS = np.array([float(f"1e{power}") for power in range(309)])
_MOST = np.uint64(10**18)  # a mantissa below it takes one more digit within 64 bits
_EXACT = np.uint64(2**53)
_NEAR = 2.0**-50  # more than a mantissa, a power of ten and their product are off together


@compiled
def next_line(data: Bytes, place: int) -> int:
    """The first byte of the line that begins at or behind a place."""
    while 0 < place < data.size and data[place - 1] != _NEWLINE:
        place += 1
    return place


@compiled
def count_lines(data: Bytes, begin: int, end: int) -> int:
    """How many lines begin here, the last one with or without its end."""
    count = 0
    for place in range(begin, end):
        count += data[place] == _NEWLINE
    return count + (end > begin and data[end - 1] != _NEWLINE)


@compiled
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB, _RETURN)


@compiled
def _past_blanks(data: Bytes, place: int, end: int) -> int:
    while place < end and _is_blank(data[place]):
        place += 1
    return place


@compiled
def _past_word(data: Bytes, place: int, end: int) -> int:
    while place < end and not _is_blank(data[place]):
        place += 1
    return place


@compiled
def _starts_with(data: Bytes, place: int, end: int, word: Bytes) -> bool:
    if place + word.size > end:
        return False
    for at in range(word.size):  # noqa: SIM110 (compiled)
        if data[place + at] != word[at]:
            return False
    return True


@compiled
def survey(data: Bytes, begin: int, end: int, number: int, parts: Integers) -> tuple[int, np.int64]:
    """The parts of the lines from `begin` to `end`, the first of which has this number; lines without anything, or with
    a comment alone, are passed over. Returns how many there are, and the largest number before a last colon."""
    row, widest = 0, np.int64(0)
    while begin < end:
        stop, comment, colon = begin, -1, -1
        while stop < end and data[stop] != _NEWLINE:
            if comment < 0:
                if data[stop] == _COLON:
                    colon = stop
                elif data[stop] == _HASH:
                    comment = stop
            stop += 1
        body = stop if comment < 0 else comment
        start = _past_blanks(data, begin, body)
        if start < body:
            behind = _past_word(data, start, body)
            qid = _past_blanks(data, behind, body)
            has_qid = _starts_with(data, qid, body, _QID)
            qid_end = _past_word(data, qid, body) if has_qid else qid
            parts[row, START], parts[row, COMMENT], parts[row, END] = start, body, stop
            parts[row, BODY] = qid_end if has_qid else behind
            parts[row, QID], parts[row, QID_END] = qid + 4 if has_qid else qid, qid_end
            parts[row, NUMBER] = number
            row += 1
            widest = max(widest, _number_before(data, behind, colon))
        begin, number = stop + 1, number + 1
    return row, widest


@compiled
def _number_before(data: Bytes, least: int, colon: int) -> np.int64:
    index, power, place = np.int64(0), 1, colon - 1
    while place >= least and _ZERO <= data[place] <= _NINE and power < 10**15:
        index += power * (np.int64(data[place]) - _ZERO)
        power, place = power * 10, place - 1
    return index


@compiled
def changes_of_query(data: Bytes, parts: Integers, changed: npt.NDArray[np.bool_]) -> None:
    """Whether the qid of each row differs from that of the row before it."""
    for row in range(len(parts)):
        length = parts[row, QID_END] - parts[row, QID]
        changed[row] = row == 0 or parts[row - 1, QID_END] - parts[row - 1, QID] != length
        if not changed[row]:
            one, other = parts[row, QID], parts[row - 1, QID]
            for at in range(length):
                if data[one + at] != data[other + at]:
                    changed[row] = True
                    break


@compiled
def names_in_comments(data: Bytes, parts: Integers, documents: bool, spans: Integers) -> bool:
    """Where each comment names its item: what stands behind `docid =`, or its only word. False if one does not."""
    for row in range(len(parts)):
        place, end = parts[row, COMMENT], parts[row, END]
        if place == end:
            return False
        begin = _past_blanks(data, place + 1, end)
        if documents:
            if not _starts_with(data, begin, end, _DOCID):
                return False
            begin = _past_blanks(data, begin + _DOCID.size, end)
            if begin == end or data[begin] != 61:  # =
                return False
            begin = _past_blanks(data, begin + 1, end)
        behind = _past_word(data, begin, end)
        if begin == behind or (not documents and _past_blanks(data, behind, end) < end):
            return False
        spans[row, 0], spans[row, 1] = begin, behind
    return True


@compiled
def gather_texts(data: Bytes, spans: Integers, offsets: Integers, out: Bytes) -> None:
    """The texts at these places, one behind the other."""
    for row in range(len(spans)):
        for at in range(offsets[row + 1] - offsets[row]):
            out[offsets[row] + at] = data[spans[row, 0] + at]


@compiled
def _number(data: Bytes, place: int, end: int) -> tuple[int, bool, float, bool]:
    """Of the decimal number that begins here: the byte behind it, whether a number it is, its value as a double, and
    whether that is exactly what the text says, rounded once."""
    negative = place < end and data[place] == _MINUS
    if place < end and (data[place] == _MINUS or data[place] == _PLUS):
        place += 1
    mantissa, exponent, digits, fraction, lost = np.uint64(0), 0, 0, False, False
    while place < end:
        byte = np.int64(data[place])
        if _ZERO <= byte <= _NINE:
            digits += 1
            if mantissa < _MOST:
                mantissa = mantissa * np.uint64(10) + np.uint64(byte - _ZERO)
                exponent -= fraction
            else:
                lost = lost or byte != _ZERO
                exponent += not fraction
        elif byte == _POINT and not fraction:
            fraction = True
        else:
            break
        place += 1
    if digits and place < end and data[place] | 32 == _EXPONENT:
        place, power = _exponent(data, place + 1, end)
        exponent += power
        digits = 0 if place < 0 else digits
    if not digits or (place < end and not _is_blank(data[place])):
        return place, False, 0.0, False
    value, exact = _scaled(mantissa, exponent)
    return place, True, -value if negative else value, exact and not lost


@compiled
def _exponent(data: Bytes, place: int, end: int) -> tuple[int, np.int64]:
    """The byte behind an exponent, -1 where there is none; and the exponent."""
    below = place < end and data[place] == _MINUS
    if place < end and (data[place] == _MINUS or data[place] == _PLUS):
        place += 1
    power, begin = np.int64(0), place
    while place < end and _ZERO <= data[place] <= _NINE:
        power = min(10 * power + np.int64(data[place]) - _ZERO, np.int64(100_000))
        place += 1
    return (-1 if place == begin else place), (-power if below else power)


@compiled
def _scaled(mantissa: np.uint64, exponent: np.int64 | int) -> tuple[float, bool]:
    """mantissa · 10^exponent, and whether it is rounded once only: both factors doubles without error."""
    if mantissa == 0:
        return 0.0, True
    value = np.float64(mantissa)
    if exponent < -308 or exponent > 308:
        return np.nan, False
    value = value / _TENS[-exponent] if exponent < 0 else value * _TENS[exponent]
    return value, bool(mantissa <= _EXACT and -22 <= exponent <= 22)


@compiled
def fill(
    data: Bytes, parts: Integers, first: int, last: int, rows: Integers,
    features: Shorts, labels: Floats, hard: Integers,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Labels and features of these lines, line i to row rows[i] (i itself, where `rows` is empty). Returns how it
    ended, where, in which line, and how many places stand in `hard`; FULL when the next line may not fit there."""
    count, width = 0, features.shape[1]
    for line in range(first, last):
        if count + width + 1 > len(hard):
            return FULL, parts[line, START], line, count
        row = rows[line] if rows.size else line
        start, end = parts[line, START], parts[line, COMMENT]
        place, known, value, exact = _number(data, start, end)
        labels[row] = value
        if not (known and exact):
            hard[count, PLACE], hard[count, PLACE_END] = start, _past_word(data, start, end)
            hard[count, ROW], hard[count, COLUMN] = row, -1
            count += 1
        place, previous = _past_blanks(data, parts[line, BODY], end), 0
        while place < end:
            begin, index = place, 0
            while place < end and _ZERO <= data[place] <= _NINE and index <= 10**15:
                index = 10 * index + np.int64(data[place]) - _ZERO
                place += 1
            if place in (begin, end) or data[place] != _COLON:
                return NOT_A_PAIR, begin, line, count
            if index == 0 or index <= previous or index > width:
                code = ZERO if index == 0 else NOT_RISING if index <= previous else TOO_WIDE
                return code, begin, line, count
            previous, begin = index, place + 1
            place, known, value, exact = _number(data, begin, end)
            short = np.float32(value)
            features[row, index - 1] = short
            sure = exact or np.float32(value * (1.0 - _NEAR)) == np.float32(value * (1.0 + _NEAR))
            if not (known and sure and np.isfinite(short)):
                place = _past_word(data, begin, end)
                hard[count, PLACE], hard[count, PLACE_END] = begin, place
                hard[count, ROW], hard[count, COLUMN] = row, index - 1
                count += 1
            place = _past_blanks(data, place, end)
    return FINE, 0, last, count
