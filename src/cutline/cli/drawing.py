"""Drawings in a terminal: the risk of a certificate along the walk, the intervals and the list sizes of an audit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cutline.cli.console import width_of

if TYPE_CHECKING:
    from cutline.auditing import Audit
    from cutline.certificate import Abstention, Certificate

ROWS, WIDTH = 11, 60
NAME = 22  # columns for the name of a group
LEAST = 24  # columns of a drawing, however narrow the terminal
MARKS = {
    "risk": "●", "bound": "△", "alpha": "┄", "axis": "│", "corner": "└", "floor": "─", "cut": "▲", "level": "┊",
    "low": "├", "high": "┤", "blocks": " ▁▂▃▄▅▆▇█",
}  # fmt: skip
PLAIN = {
    "risk": "o", "bound": "^", "alpha": "-", "axis": "|", "corner": "+", "floor": "-", "cut": "A", "level": ":",
    "low": "[", "high": "]", "blocks": " .:-=+*%#",
}  # fmt: skip
STYLES = {"risk": "bold cyan", "bound": "yellow", "alpha": "dim", "cut": "bold green", "level": "bold yellow"}


def risk_curve(certificate: Certificate | Abstention) -> Any:
    """Rows of text: the walk goes from left to right, thresholds stand below."""
    return _text(lines_of(certificate, _marks(), _width(20)), "risk", "bound", "alpha", "cut")


def of_audit(audit: Audit) -> Any:
    """Rows of text: the risk of all queries and of each group with its interval beside alpha, and the sizes."""
    width = _width(20)
    return _text([*interval_lines(audit, _marks(), width), "", *size_lines(audit, _marks(), width)], "risk", "level")


def _width(margin: int) -> int:
    """How wide a drawing is, so that it and what stands beside it have room in the terminal."""
    found = width_of(sys.stdout)
    return WIDTH if found is None else min(WIDTH, max(LEAST, found - margin))


def _text(lines: list[str], *coloured: str) -> Any:
    """Lines as rich prints them: cropped to the terminal, some of the marks in colour."""
    from rich.text import Text

    width = width_of(sys.stdout) or WIDTH + 20
    text = Text("\n".join(line[:width] for line in lines), no_wrap=True, overflow="crop")
    marks = _marks()
    if marks is MARKS:  # plain marks are letters and signs that words have too
        for name in coloured:
            text.highlight_words([marks[name]], STYLES[name])
    return text


def _named(width: int) -> int:
    """How many columns the names of groups have: the drawing comes first."""
    return min(NAME, width // 2)


def interval_lines(audit: Audit, marks: dict[str, str], width: int = WIDTH) -> list[str]:
    """One line for each interval; of very many groups those with the most queries."""
    from cutline.report.numbers import group_rows, readable, share

    groups = [("all queries", audit.risk, audit.low, audit.high)]
    for title, found in (("size", audit.strata), *audit.by.items()):
        rows = group_rows(found)
        groups += [(f"{readable(title)}: {row['name']}", row["risk"], row["low"], row["high"]) for row in rows]
    top = min(1.0, max(audit.alpha, *(high for *_, high in groups)) * 1.05)
    beside = _named(width)
    cells = width - beside
    lines: list[str] = []
    for name, risk, low, high in groups:
        canvas = [" "] * cells
        canvas[_cell(audit.alpha, top, cells)] = marks["level"]
        first, last = _cell(low, top, cells), _cell(high, top, cells)
        for place in range(first, last + 1):
            canvas[place] = marks["floor"] if canvas[place] == " " else canvas[place]
        canvas[first], canvas[last] = marks["low"], marks["high"]
        canvas[_cell(risk, top, cells)] = marks["risk"]
        lines.append(f"  {name[: beside - 1]:<{beside}}{''.join(canvas)}  {share(risk):>8}")
    lines.append(f"  {'':<{beside}}{marks['corner']}{marks['floor'] * (cells - 1)}")
    scale, level = f"  {'':<{beside}}{'0 %':<{cells - 8}}{share(top):>8}", f"{marks['level']} alpha {audit.alpha:g}"
    return [*lines, *([f"{scale}   {level}"] if width == WIDTH else [scale, f"  {'':<{beside}}{level}"])]


def size_lines(audit: Audit, marks: dict[str, str], width: int = WIDTH) -> list[str]:
    """The share of lists of each size, as one row of blocks."""
    from cutline.report.numbers import size_rows
    from cutline.statements import percent

    rows = size_rows(audit)
    most = max(row["share"] for row in rows)
    blocks, full = marks["blocks"], len(marks["blocks"]) - 1
    beside = _named(width)
    each = 2 if 2 * len(rows) <= width - beside + 10 or width == WIDTH else 1
    bars = "".join(blocks[max(round(full * row["share"] / most), row["count"] > 0)] * each for row in rows)
    said = [f"{rows[0]['size']}, {rows[1]['size']} … {rows[-1]['size']} items", f"tallest {percent(most)} of lists"]
    said = ["; ".join(said)] if width == WIDTH else said
    return [f"  {'list sizes':<{beside}}{bars}", *(f"  {'':<{beside}}{line}" for line in said)]


def _cell(value: float, top: float, cells: int) -> int:
    return min(cells - 1, max(0, round(value / top * (cells - 1))))


def lines_of(certificate: Certificate | Abstention, marks: dict[str, str], width: int = WIDTH) -> list[str]:
    """The drawing, line by line."""
    curve = certificate.curve
    if not curve.threshold:
        return ["No finite threshold was tested, so there is no curve to draw."]
    top = min(1.0, max([certificate.alpha, *curve.risk, *curve.bound]) * 1.05)
    canvas = [[" "] * width for _ in range(ROWS)]
    canvas[_row(certificate.alpha, top)] = [marks["alpha"]] * width
    places = _places(len(curve.threshold), width)
    for name, values in (("bound", curve.bound), ("risk", curve.risk)):
        for place, value in zip(places, values, strict=True):
            canvas[_row(value, top)][place] = marks[name]
    lines = [f"{_scale(row, top):>7} {marks['axis']}{''.join(cells).rstrip()}" for row, cells in enumerate(canvas)]
    floor = [marks["floor"]] * width
    cut = _place_of_cut(certificate, places)
    if cut is not None:
        floor[cut] = marks["cut"]
    lines.append(f"{'':>7} {marks['corner']}{''.join(floor)}")
    title = "thresholds, as tested" if width == WIDTH else "thresholds"
    first, last = f"{curve.threshold[0]:.4g}", f"{curve.threshold[-1]:.4g}"
    lines.append(f"{'':>9}{first}{title:^{max(len(title) + 2, width - len(first) - len(last))}}{last}")
    alpha = f"{marks['alpha']} alpha {certificate.alpha:g}"
    found = "nothing was certified" if cut is None else f"{marks['cut']} certified {certificate.threshold:.6g}"
    said = [f"{marks['risk']} risk here", f"{marks['bound']} upper bound", alpha, found]
    return [*lines, *(f"{'':>9}{line}" for line in (["  ".join(said)] if width == WIDTH else said))]


def _place_of_cut(certificate: Certificate | Abstention, places: list[int]) -> int | None:
    """Below which column the certified threshold stands: the nearest of those drawn."""
    if certificate.abstention is not None:
        return None
    nearest = min(
        zip(certificate.curve.threshold, places, strict=True), key=lambda p: abs(p[0] - certificate.threshold)
    )
    return nearest[1]


def _places(count: int, width: int) -> list[int]:
    return [round(place * (width - 1) / max(1, count - 1)) for place in range(count)]


def _row(value: float, top: float) -> int:
    return min(ROWS - 1, max(0, round((1 - value / top) * (ROWS - 1))))


def _scale(row: int, top: float) -> str:
    return f"{top * (1 - row / (ROWS - 1)):.3f}" if row % 2 == 0 else ""


def _marks() -> dict[str, str]:
    try:
        "".join(MARKS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return PLAIN
    return MARKS
