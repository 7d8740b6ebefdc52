"""Drawings for a page: shapes and text only, in the colours of the page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from tests.report.cases import HOSTILE, audit, certificate

from cutline.report import LIGHT, charts
from cutline.report.drawings import DRAWN, KEPT, SVG, drawing_of, page_svg
from cutline.report.pictures import svg_of

pytest.importorskip("altair", reason="needs the extra `report`")
pytest.importorskip("vl_convert", reason="needs the extra `report`")


@pytest.fixture(scope="module")
def drawings():
    return {
        "walk": drawing_of("walk", lambda width: charts.risk_curve(certificate(), width=width), says="the walk"),
        "size": drawing_of("size", lambda width: charts.strata(audit(), width=width), says="the strata"),
    }


def elements(svg: str) -> list[ET.Element]:
    return list(ET.fromstring(svg).iter())


def test_a_drawing_holds_shapes_and_text_and_nothing_else(drawings):
    for drawing in drawings.values():
        for element in elements(drawing.wide) + elements(drawing.narrow):
            assert element.tag.removeprefix(f"{{{SVG}}}") in DRAWN
            assert set(element.attrib) <= KEPT | {"data-says", "aria-hidden", "focusable"}


def test_colours_are_those_of_the_page(drawings):
    known = {f"var(--{name.replace('_', '-')})" for name in LIGHT.by_name()} | {"none", "transparent"}
    for drawing in drawings.values():
        for element in elements(drawing.wide):
            for key in {"fill", "stroke"} & set(element.attrib):
                assert element.get(key) in known, ET.tostring(element)


def test_ids_differ_between_drawings(drawings):
    every = [re.findall(r'\bid="([^"]+)"', svg) for each in drawings.values() for svg in (each.wide, each.narrow)]
    named = [name for names in every for name in names]
    assert len(set(named)) == len(named)
    for each in drawings.values():
        for name in re.findall(r"url\(#([^)]+)\)", each.wide):
            assert f'id="{name}"' in each.wide


def test_every_point_says_its_numbers(drawings):
    said = [element.get("data-says") for element in elements(drawings["walk"].wide) if element.get("data-says")]
    assert len(said) == len(certificate().curve.threshold)
    assert said[0].startswith(f"threshold {certificate().curve.threshold[0]:.6g}; risk on calibration")


def test_text_of_others_is_text_and_stays_what_it_is():
    alt = pytest.importorskip("altair")
    rows = alt.Data(values=[{"name": HOSTILE.replace("\x07", ""), "value": 1}])
    chart = alt.Chart(rows, name=charts.HOVER).mark_bar().encode(x="value:Q", y="name:N", description="name:N")
    svg = page_svg(svg_of(chart), name="it")
    assert "<script" not in svg
    assert "<img" not in svg
    assert any("</script>" in (element.get("data-says") or "") for element in elements(svg))


def test_what_refers_elsewhere_is_left_out():
    svg = (
        f'<svg xmlns="{SVG}" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 1 1" onload="alert(1)">'
        '<a xlink:href="https://example.org"><text>link</text></a><image href="https://example.org/a.png"/>'
        '<script>alert(1)</script><text onclick="alert(1)" style="fill: red">kept</text></svg>'
    )
    found = page_svg(svg, name="it")
    assert "example.org" not in found
    assert "alert" not in found
    assert "kept" in found
