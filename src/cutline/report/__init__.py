"""Charts of certificates and audits, and the page that people read."""

from __future__ import annotations

from cutline.report.pictures import png_of, svg_of
from cutline.report.theme import DARK, LIGHT, Palette, themed

__all__ = ["DARK", "LIGHT", "Palette", "png_of", "svg_of", "themed"]
