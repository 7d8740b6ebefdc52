"""The risk curve of a certificate in a terminal: the mean loss along the walk, its upper bound, and alpha."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate

ROWS, WIDTH = 11, 60
MARKS = {"risk": "●", "bound": "△", "alpha": "┄", "axis": "│", "corner": "└", "floor": "─", "cut": "▲"}
PLAIN = {"risk": "o", "bound": "^", "alpha": "-", "axis": "|", "corner": "+", "floor": "-", "cut": "A"}


def risk_curve(certificate: Certificate | Abstention) -> Any:
    """Rows of text: the walk goes from left to right, thresholds stand below."""
    from rich.console import Console
    from rich.text import Text

    width = Console().width if sys.stdout.isatty() else WIDTH + 20
    return Text("\n".join(line[:width] for line in lines_of(certificate, _marks())), no_wrap=True, overflow="crop")


def lines_of(certificate: Certificate | Abstention, marks: dict[str, str]) -> list[str]:
    """The drawing, line by line."""
    curve = certificate.curve
    if not curve.threshold:
        return ["No finite threshold was tested, so there is no curve to draw."]
    top = min(1.0, max([certificate.alpha, *curve.risk, *curve.bound]) * 1.05)
    canvas = [[" "] * WIDTH for _ in range(ROWS)]
    canvas[_row(certificate.alpha, top)] = [marks["alpha"]] * WIDTH
    places = _places(len(curve.threshold))
    for name, values in (("bound", curve.bound), ("risk", curve.risk)):
        for place, value in zip(places, values, strict=True):
            canvas[_row(value, top)][place] = marks[name]
    lines = [f"{_scale(row, top):>7} {marks['axis']}{''.join(cells).rstrip()}" for row, cells in enumerate(canvas)]
    floor = [marks["floor"]] * WIDTH
    cut = _place_of_cut(certificate, places)
    if cut is not None:
        floor[cut] = marks["cut"]
    lines.append(f"{'':>7} {marks['corner']}{''.join(floor)}")
    first, last = f"{curve.threshold[0]:.4g}", f"{curve.threshold[-1]:.4g}"
    lines.append(f"{'':>9}{first}{'thresholds, as tested':^{max(23, WIDTH - len(first) - len(last))}}{last}")
    said = f"{marks['risk']} risk here  {marks['bound']} upper bound  {marks['alpha']} alpha {certificate.alpha:g}"
    found = "nothing was certified" if cut is None else f"{marks['cut']} certified {certificate.threshold:.6g}"
    lines.append(f"{'':>9}{said}  {found}")
    return lines


def _place_of_cut(certificate: Certificate | Abstention, places: list[int]) -> int | None:
    """Below which column the certified threshold stands: the nearest of those drawn."""
    if certificate.abstention is not None:
        return None
    nearest = min(
        zip(certificate.curve.threshold, places, strict=True), key=lambda p: abs(p[0] - certificate.threshold)
    )
    return nearest[1]


def _places(count: int) -> list[int]:
    return [round(place * (WIDTH - 1) / max(1, count - 1)) for place in range(count)]


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
