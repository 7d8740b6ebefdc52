"""Charts as SVG and PNG, drawn by vl-convert: offline, and the same bytes for the same chart."""

from __future__ import annotations

from typing import Any, Protocol

from cutline._extras import library

NOWHERE: list[str] = []  # addresses that a chart may fetch data from


class Drawable(Protocol):
    """A chart of Altair."""

    def to_dict(self) -> dict[str, Any]:
        """Its Vega-Lite specification."""
        ...


def svg_of(chart: Drawable) -> str:
    """The chart as one SVG element. Text in it is escaped, and it refers to nothing outside."""
    svg: str = _converter().vegalite_to_svg(chart.to_dict(), allowed_base_urls=NOWHERE)
    return svg


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
