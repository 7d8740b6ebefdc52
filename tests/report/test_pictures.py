"""Charts as SVG and PNG."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

import cutline as cl
from cutline.errors import MissingExtraError

alt = pytest.importorskip("altair", reason="needs the extra `report`")
pytest.importorskip("vl_convert", reason="needs the extra `report`")

HOSTILE = "</text><script>alert('x')</script>"


def chart(title: str = "A title"):
    rows = alt.Data(values=[{"place": place, "value": place**2} for place in range(5)])
    return alt.Chart(rows, title=title).mark_line().encode(x="place:Q", y="value:Q")


def test_a_chart_is_drawn_as_one_svg_element():
    drawn = ET.fromstring(cl.report.svg_of(cl.report.themed(chart())))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert "A title" in "".join(drawn.itertext())
    assert [path for path in drawn.iter("{http://www.w3.org/2000/svg}path") if path.get("stroke-width") == "2.2"]


def test_text_in_a_picture_is_escaped():
    svg = cl.report.svg_of(cl.report.themed(chart(HOSTILE)))
    assert "<script" not in svg
    assert HOSTILE in "".join(ET.fromstring(svg).itertext())


def test_a_picture_has_as_many_pixels_as_it_is_scaled_to():
    one, two = (cl.report.png_of(cl.report.themed(chart(), width=300, height=100), scale=scale) for scale in (1, 2))
    assert one.startswith(b"\x89PNG")
    widths = [int.from_bytes(png[16:20], "big") for png in (one, two)]
    assert widths[1] == 2 * widths[0]
    assert widths[0] in (300, 308)


def test_the_same_chart_gives_the_same_bytes_in_another_process():
    code = (
        "import hashlib, altair as alt, cutline as cl;"
        "c = alt.Chart(alt.Data(values=[{'a': 1, 'b': 2}]), title='ab').mark_bar().encode(x='a:Q', y='b:Q');"
        "c = cl.report.themed(c, palette=cl.report.DARK);"
        "print(hashlib.sha256(cl.report.svg_of(c).encode() + cl.report.png_of(c)).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    here: dict[str, object] = {}
    exec(code.replace("print(", "found = (").replace("import hashlib,", "import hashlib,"), here)
    assert other.stdout.strip() == here["found"]


def test_the_same_chart_gives_the_same_bytes_again():
    clipped = chart().mark_bar(clip=True, cornerRadius=3)
    first, again = (cl.report.svg_of(clipped) for _ in range(2))
    assert 'clip-path="url(#clip0)"' in first
    assert 'id="clip0"' in first
    assert again == first


def test_a_chart_may_not_fetch_its_data():
    remote = alt.Chart(alt.UrlData("https://example.org/rows.json")).mark_line().encode(x="place:Q", y="value:Q")
    with pytest.raises(ValueError, match="not allowed"):
        cl.report.svg_of(remote)


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match="extra `report`"):
        cl.report.png_of(chart())
