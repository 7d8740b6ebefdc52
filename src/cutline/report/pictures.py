"""Charts as SVG and PNG, drawn by vl-convert: offline, and the same bytes for the same chart."""

from __future__ import annotations

import re
from typing import Any, Protocol

from cutline._extras import library

# Vega counts the ids that it gives away from one chart to the next; here each picture has a count of its own.
NAMED = re.compile(r'\bid="((clip|gradient)[_\d]+)"')
REFERRED = re.compile(r'(\bid="|="url\(#)((?:clip|gradient)[_\d]+)')
NOWHERE: list[str] = []  # addresses that a chart may fetch data from


class Drawable(Protocol):
    """A chart of Altair."""

    def to_dict(self) -> dict[str, Any]:
        """Its Vega-Lite specification."""
        ...


def svg_of(chart: Drawable) -> str:
    """The chart as one SVG element. Text in it is escaped, and it refers to nothing outside."""
    svg: str = _converter().vegalite_to_svg(chart.to_dict(), allowed_base_urls=NOWHERE)
    names = {name: f"{kind}{place}" for place, (name, kind) in enumerate(NAMED.findall(svg))}
    return REFERRED.sub(lambda found: f"{found[1]}{names.get(found[2], found[2])}", svg)


def png_of(chart: Drawable, *, scale: float = 2) -> bytes:
    """The chart as a PNG, `scale` pixels for each of its own."""
    png: bytes = _converter().vegalite_to_png(chart.to_dict(), scale=scale, allowed_base_urls=NOWHERE)
    return png


def png_of_svg(svg: str, *, scale: float = 2) -> bytes:
    """What `png_of` gives, from the SVG of the same chart, in less time."""
    png: bytes = _converter().svg_to_png(svg, scale=scale)
    return png


def _converter() -> Any:
    return library("vl_convert", extra="report", what="a picture of a chart")
