"""Checks of arguments, made once at the edge. Inner functions trust what passed here."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from cutline._arrays import is_whole
from cutline._display import shown
from cutline.errors import InputError, warn

SHORT: tuple[type, ...] = (np.float16, np.float32)
SMALLEST_LEVEL = 1e-300  # below it, the logarithm of 1/level is not a number that can be compared with


def check_level(name: str, value: float) -> float:
    """A level such as alpha or delta: a number strictly between 0 and 1."""
    number = check_number(name, value)
    if SMALLEST_LEVEL <= number < 1.0:
        return number
    if 0.0 < number < 1.0:
        raise InputError(
            f"{name} must be at least {SMALLEST_LEVEL:g}, got {shown(value)}; nothing could tell it from 0"
        )
    hint = ""
    if name == "delta" and 50.0 <= number < 100.0:
        hint = f"; did you mean {1.0 - number / 100:.2g}, for a confidence of {number:g} %?"
    elif 1.0 < number < 100.0:
        hint = f"; did you mean {number / 100:.2f}?" if number == int(number) else f"; did you mean {number / 100:g}?"
    raise InputError(f"{name} must be in (0, 1), got {shown(value)}{hint}")


def check_delta(delta: float) -> float:
    """The chance of error, as a level. A confidence in its place is legal, and hardly ever meant."""
    level = check_level("delta", delta)
    if level > 0.5:
        sure = f"{1 - level:.2g}"
        warn(f"delta is the chance of error: {level:g} asks for a confidence of {sure}; did you mean {sure}?")
    return level


def check_number(name: str, value: float) -> float:
    """A finite real number, not text and not a truth value."""
    if isinstance(value, bool | str | bytes):
        raise InputError(f"{name} must be a number, got {shown(value)}")
    try:
        number = float(str(value)) if isinstance(value, SHORT) else float(value)  # a float32 of 0.3 is 0.3
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {shown(value)}") from None
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite, got {shown(value)}")
    return number


def check_whole(name: str, value: int, *, least: int) -> int:
    """A whole number of at least `least`; 3.0 counts as 3."""
    number = check_number(name, value)
    if number != int(number) or not least <= number < 2.0**63:
        most = " and at most 63 bits" if number >= 2.0**63 else ""
        raise InputError(f"{name} must be a whole number of at least {least}{most}, got {shown(value)}")
    return int(value)  # a whole number beyond 2^53 is kept as it is


def check_seed(seed: int) -> int:
    """A whole number that a signed 64-bit integer holds, as a file keeps it."""
    if not is_whole(seed) or not -(2**63) <= int(seed) < 2**63:
        raise InputError(f"seed must be a whole number of at most 63 bits, got {shown(seed)}")
    return int(seed)


def lacking(value: object, kind: type[Any]) -> list[str]:
    """What an object lacks to be of a protocol. Unlike isinstance, the same on every Python, and by name."""
    return [name for name in _wanted(kind) if not hasattr(value, name)]


@cache
def _wanted(kind: type[Any]) -> list[str]:
    names = {name for base in kind.__mro__ for name in {**vars(base), **vars(base).get("__annotations__", {})}}
    return sorted(name for name in names if not name.startswith("_"))


def check_piece(name: str, value: object, kind: type[Any], example: str) -> None:
    """An object of a protocol, not its class and not its name."""
    missing = lacking(value, kind)
    if not missing and not isinstance(value, type):
        return
    hint = ""
    if isinstance(value, type):
        hint = "; that is the class: call it"
    elif hasattr(value, "name"):
        hint = f"; it lacks {', '.join(missing)}"
    raise InputError(f"{name} must be an object such as {example}, got {shown(value)}{hint}")


def check_truth(name: str, value: Any) -> bool:
    """True or False: a word or a number would be true whatever it says."""
    if type(value) in (bool, np.bool_):
        return bool(value)
    raise InputError(f"{name} must be True or False, got {shown(value)}")


def check_one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """One of a few words; the nearest one is suggested."""
    options = list(allowed)
    if value in options:
        return value
    near = difflib.get_close_matches(str(value), options, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{name} must be one of {', '.join(map(repr, options))}, got {shown(value)}{hint}")


def generator_of(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if not is_whole(rng) or rng < 0:
        raise InputError(f"rng must be a whole number of at least 0 or a numpy Generator, got {shown(rng)}")
    return np.random.default_rng(int(rng))
