"""How every value class shows itself: aligned lines in a terminal, a small table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import cast

LONGEST_SHOWN = 120  # characters of a value in a message


def shown(value: object) -> str:
    """A value as a message shows it: on one line, and no more of it than a reader needs."""
    shape: object = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(cast("tuple[object, ...]", shape)) > 1:
        return f"{type(value).__name__} of shape {shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 40]}… ({len(text):,} characters)"


def text_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """The title, then one indented line per (name, value), the values aligned."""
    lines = [(name, str(value)) for name, value in rows]
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}".rstrip() for name, value in lines)])


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """The same as an HTML table. Every text is escaped, so an id or a column name cannot inject markup."""
    head = f'<thead><tr><th colspan="2" style="text-align:left">{html.escape(title)}</th></tr></thead>'
    body = "".join(
        f'<tr><td style="text-align:left">{html.escape(name)}</td>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"
