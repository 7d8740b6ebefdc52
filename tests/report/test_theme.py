"""Colours that can be read and told apart, and charts that carry them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cutline.report import DARK, LIGHT, themed
from cutline.report.theme import FONT

PALETTES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
SIMULATED = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    shares = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@PALETTES
def test_no_two_colours_are_the_same(palette):
    colours = list(palette.by_name().values())
    assert len(set(colours)) == len(colours)
    assert all(len(colour) == 7 and colour == colour.lower() for colour in colours)


def test_no_colour_of_one_palette_is_another_colour_of_the_other():
    light, dark = LIGHT.by_name(), DARK.by_name()
    assert not set(light.values()) & set(dark.values())


@PALETTES
@pytest.mark.parametrize("name", ["ink", "muted", "risk", "bound", "held_out", "level", "good", "bad", "green", "gold"])
def test_what_is_written_in_a_colour_can_be_read(palette, name):
    assert contrast(getattr(palette, name), palette.paper) >= 4.5


@PALETTES
@pytest.mark.parametrize("seen", ["all", *SIMULATED])
def test_lines_are_told_apart_by_people_of_any_colour_vision(palette, seen):
    matrix = np.eye(3) if seen == "all" else np.array(SIMULATED[seen])
    for one, other in combinations((palette.risk, palette.bound, palette.held_out), 2):
        assert np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other))) > 15, (one, other)


@PALETTES
def test_a_themed_chart_carries_the_colours_and_the_font(palette):
    alt = pytest.importorskip("altair", reason="needs the extra `report`")
    spec = themed(alt.Chart(alt.Data(values=[])).mark_point(), palette=palette, width=300, height=120).to_dict()
    assert spec["background"] == palette.paper
    assert spec["config"]["font"] == FONT
    assert spec["config"]["range"]["category"] == list(palette.series)
    assert (spec["width"], spec["height"], spec["autosize"]["type"]) == (300, 120, "fit-x")
