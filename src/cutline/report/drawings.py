"""Pictures for a page: each chart as SVG in two widths, its colours named, so that the page chooses light or dark."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutline.report.charts import HOVER
from cutline.report.pictures import Drawable, svg_of
from cutline.report.theme import LIGHT

WIDE, NARROW = 720, 340
SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
DRAWN = frozenset("svg g path rect line text tspan defs clipPath circle linearGradient stop".split())
KEPT = frozenset(
    "viewBox transform d x y x1 y1 x2 y2 width height cx cy r rx ry fill stroke stroke-width stroke-dasharray "
    "stroke-linecap stroke-linejoin stroke-miterlimit opacity fill-opacity stroke-opacity text-anchor font-family "
    "font-size font-weight font-style clip-path id offset stop-color dominant-baseline display".split()
)
NUMBER = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A chart as a page shows it: SVG elements for a wide and a narrow screen, what they show in words, and the numbers
    as a table."""

    wide: str
    narrow: str
    says: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def drawing_of(
    name: str,
    chart: Callable[[int], Drawable],
    *,
    says: str,
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
) -> Drawing:
    """The drawing of a chart, which is given its width. `name` keeps ids in one page apart."""
    wide, narrow = (page_svg(svg_of(chart(width)), name=f"{name}-{width}") for width in (WIDE, NARROW))
    return Drawing(wide=wide, narrow=narrow, says=says, head=tuple(head), rows=tuple(map(tuple, rows)))


def page_svg(svg: str, *, name: str) -> str:
    """An SVG element for a page: nothing but shapes and text, colours as variables, ids that no other drawing has, and
    on what answers to a pointer what it says."""
    root = ET.fromstring(svg)
    _strip(root, name=name, hover=False, colours={colour: key for key, colour in LIGHT.by_name().items()})
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode")


def _strip(element: ET.Element, *, name: str, hover: bool, colours: dict[str, str]) -> None:
    hover = hover or f"{HOVER}_marks" in element.get("class", "").split()
    said = element.get("aria-label") if hover else None
    for key, value in list(element.attrib.items()):
        if key not in KEPT:
            del element.attrib[key]
        elif key == "id":
            element.set(key, f"{name}-{value}")
        elif key in ("fill", "stroke", "stop-color"):
            known = "paper" if value == "white" else colours.get(value)
            element.set(key, f"var(--{known.replace('_', '-')})" if known else value)
        elif key == "clip-path":
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        elif key in ("d", "transform"):
            element.set(key, NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value))
    if said:
        element.set("data-says", said)
    for child in list(element):
        if _drawn(child):
            _strip(child, name=name, hover=hover, colours=colours)
        else:
            element.remove(child)


def _drawn(element: ET.Element) -> bool:
    """Whether anything of an element can be seen; Vega leaves empty backgrounds and foregrounds."""
    kind = element.tag.removeprefix(f"{{{SVG}}}")
    empty = kind == "path" and element.get("d", "") in ("", "M0,0h0v0h0Z")
    return kind in DRAWN and not empty and element.get("display") != "none"
