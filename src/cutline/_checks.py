"""Checks of arguments, made once at the edge. Inner functions trust what passed here."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

from cutline.errors import InputError


def check_level(name: str, value: float) -> float:
    """A level such as alpha or delta: a number strictly between 0 and 1."""
    number = check_number(name, value)
    if 0.0 < number < 1.0:
        return number
    hint = f"; did you mean {number / 100:.2f}?" if 1.0 < number < 100.0 else ""
    raise InputError(f"{name} must be in (0, 1), got {value!r}{hint}")


def check_number(name: str, value: float) -> float:
    """A finite real number, not text and not a truth value."""
    if isinstance(value, bool | str | bytes):
        raise InputError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite, got {value!r}")
    return number


def check_whole(name: str, value: int, *, least: int) -> int:
    """A whole number of at least `least`; 3.0 counts as 3."""
    number = check_number(name, value)
    if number != int(number) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)  # a whole number beyond 2^53 is kept as it is


def check_one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """One of a few words; the nearest one is suggested."""
    options = list(allowed)
    if value in options:
        return value
    near = difflib.get_close_matches(str(value), options, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}{hint}")
