"""A figure: its chart, the rows that it draws, what was decided, and a sentence on what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutline._files import whole_file

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """`panels` are the rows that each part of the chart draws. `n` says how many queries and splits it rests on."""

    name: str
    label: str
    chart: Any
    panels: dict[str, Rows]
    found: str
    n: str
    settings: tuple[tuple[str, str], ...]


def write_figure(figure: Figure, folder: Path) -> str:
    """Write the SVG, the PNG and the data, each whole or not at all; the SVG."""
    from cutline.io.arrow import pa, pq
    from cutline.report.pictures import png_of_svg, svg_of

    svg = svg_of(figure.chart)
    for ending, content in (("svg", svg.encode()), ("png", png_of_svg(svg))):
        with whole_file(folder / f"{figure.name}.{ending}") as file:
            file.write(content)
    with whole_file(folder / f"{figure.name}.parquet") as file:
        pq.write_table(pa.table(columns_of(figure.panels)), file, compression="zstd")
    return svg


def columns_of(panels: dict[str, Rows]) -> dict[str, list[Any]]:
    """All panels in one table, with a column that names the panel; what a panel does not have is missing there."""
    names = dict.fromkeys(name for rows in panels.values() for row in rows for name in row)
    columns: dict[str, list[Any]] = {"panel": [panel for panel, rows in panels.items() for _ in rows]}
    for name in names:
        columns[name] = [row.get(name) for rows in panels.values() for row in rows]
    return columns


def listed(parts: Sequence[str]) -> str:
    """«a», «a and b», «a, b and c»."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
