"""The page that people read, and its charts, which work in notebooks too."""

from __future__ import annotations

from cutline.report.charts import beside, costs, groups, risk_curve, sizes, strata
from cutline.report.pictures import png_of, svg_of
from cutline.report.theme import DARK, LIGHT, Palette, themed
from cutline.report.writing import page, write

__all__ = [
    "DARK",
    "LIGHT",
    "Palette",
    "beside",
    "costs",
    "groups",
    "page",
    "png_of",
    "risk_curve",
    "sizes",
    "strata",
    "svg_of",
    "themed",
    "write",
]
