"""What a terminal shows of prose and lists: wrapped to its width, never wider than reads well."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutline.io.sheets import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

    from cutline.queries import Query

WIDEST = 100
HEAD, TAIL, AFTER = 5, 2, 3  # rows of a long list: its first and last items kept, the first left out
MARKS = {True: "✓", False: "✗", "more": "…", "cut": "─", "unlike": "·"}
PLAIN = {True: "+", False: "-", "more": "...", "cut": "-", "unlike": "|"}


def marks() -> dict[Any, str]:
    """Signs that this stdout can show."""
    try:
        "".join(MARKS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return PLAIN
    return MARKS


@dataclass(frozen=True, slots=True, eq=False)
class Wrapped:
    """Lines that are wrapped at words, each with what stands before its first line and before the others."""

    lines: tuple[tuple[str, str, str], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.text import Text

        width = min(options.max_width, WIDEST)
        for first, later, text in self.lines:
            whole = visible(text).replace(" %", "\N{NO-BREAK SPACE}%")
            for line in wrap(whole, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False) or [
                ""
            ]:
                yield Text(line.replace("\N{NO-BREAK SPACE}%", " %"), no_wrap=True)


def prose(text: str) -> Wrapped:
    """Paragraphs; a line that begins with a dash hangs from it."""
    lines = text.split("\n")
    return Wrapped(
        tuple(("    - ", "      ", line[4:]) if line.startswith("  - ") else ("  ", "  ", line) for line in lines)
    )


def facts(rows: Iterable[tuple[str, str]]) -> Wrapped:
    """Names and what is said of each, the latter aligned."""
    known = list(rows)
    width = 4 + max(len(name) for name, _ in known)
    return Wrapped(tuple((f"  {name}".ljust(width), " " * width, said) for name, said in known))


def heading(text: str) -> Any:
    """A line that stands out, with room around it."""
    from rich.text import Text

    return Text(f"\n{text}\n", style="bold")


def figures(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A small table: the first column is names, the others are numbers."""
    lines = [list(names), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(["", first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))])
        for first, *rest in lines
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListDrawing:
    """One scored list with its cut: what is kept, best first, a line, and the best of what is left out; or all that is
    kept (`whole`)."""

    query: Query
    kept: npt.NDArray[np.int64]
    threshold: float
    at_least: float
    title: str | None
    kinds: str | None
    whole: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.text import Text

        width, signs = min(options.max_width, WIDEST), marks()
        kept = self.kept.tolist()
        long = len(kept) > HEAD + TAIL + 1 and not self.whole
        for row in kept[:HEAD] if long else kept:
            yield self._line(row, width, signs)
        if long:
            yield self._more(kept[HEAD:-TAIL], "kept", signs)
            for row in kept[-TAIL:]:
                yield self._line(row, width, signs)
        if self.whole:
            return
        said = f" the list stops here: cut at {self.threshold:.3f} "
        yield Text(f"  {signs['cut'] * 3}{said}".ljust(width, signs["cut"]), style="bold cyan", no_wrap=True)
        chosen = set(kept)
        others = [row for row in np.argsort(-self.query.scores, kind="stable").tolist() if row not in chosen]
        for row in others[:AFTER]:
            yield self._line(row, width, signs, style="dim")
        if len(others) > AFTER:
            yield self._more(others[AFTER:], "left out", signs)

    def _line(self, row: int, width: int, signs: dict[Any, str], style: str = "") -> Any:
        """Mark, score, title and kinds, as wide as there is room, and the label."""
        from rich.text import Text

        good = self._good(row)
        room = width - 17
        half = room if self.kinds is None else room * 3 // 5
        text = Text(no_wrap=True)
        text.append(f"  {signs[good]} ", style="green" if good else "red")
        title = self._said(self.title, row) if self.title else ""
        shown = title or (str(self.query.item_ids[row]) if self.query.item_ids is not None else f"item {row}")
        text.append(f"{self.query.scores[row]:.3f}  {fitted(shown, half, signs)}", style=style)
        if self.kinds is not None:
            kinds = self._said(self.kinds, row).replace("|", ", ")
            text.append(f"  {fitted(kinds, room - half - 2, signs)}", style=f"{style} italic".strip())
        text.append(f"  {'' if self.query.labels is None else f'{self.query.labels[row]:>4g}'}", style=style)
        return text

    def _more(self, rows: list[int], what: str, signs: dict[Any, str]) -> Any:
        from rich.text import Text

        good = sum(map(self._good, rows))
        return Text(f"  {signs['more']} {len(rows):,} more {what}, {good:,} of them good", style="dim")

    def _said(self, column: str, row: int) -> str:
        return visible(str(self.query.columns[column][row]))

    def _good(self, row: int) -> bool:
        return self.query.labels is not None and bool(self.query.labels[row] >= self.at_least)


def fitted(text: str, width: int, signs: dict[Any, str]) -> str:
    """Text cut or filled up to a width in cells."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    more = signs["more"]
    return set_cell_size(set_cell_size(text, width - len(more)).rstrip() + more, width)
