"""The report in a headless Chromium: drawn, quiet, offline, light and dark, wide and narrow, with scripts and without."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.report import cases
from tests.report.browser import CHROMIUM, Browser
from tests.report.cases import abstention, certificate
from tests.report.test_writing import hostile_certificate

import cutline as cl

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
for library in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(library, reason="needs the extra `report`")

VISIBLE = "[...document.querySelectorAll('.plot svg')].filter(svg => svg.getClientRects().length)"
WIDER = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(cases.page(), encoding="utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1100, 400])
def test_the_report_is_drawn_without_a_complaint_or_a_request(browser, report, dark, width):
    tab = browser.open(report, dark=dark, width=width)
    assert tab.value(f"{VISIBLE}.length") == tab.value("document.querySelectorAll('.plot').length") >= 6
    boxes = tab.value(f"{VISIBLE}.map(svg => [svg.clientWidth, svg.clientHeight])")
    assert all(wide > 300 and high > 40 for wide, high in boxes)
    assert tab.complaints == []
    assert tab.requests == [report.resolve().as_uri()]


@pytest.mark.parametrize("width", [320, 400, 700, 1100])
def test_nothing_is_wider_than_the_screen(browser, report, width):
    tab = browser.open(report, width=width)
    tab.value("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert tab.value(WIDER) == [width, width]


@pytest.mark.parametrize("width", [400, 1100])
def test_places_of_three_digits_and_labels_with_halves_fit_their_columns(browser, tmp_path, width):
    lengths = np.array([150, 151, 152, 153, 8, 12])
    scores = np.concatenate([np.linspace(0.99, 0.6, length) for length in lengths])
    labels = np.where(np.arange(len(scores)) % 3, 4.5, 1.5)
    queries = cl.Queries(scores, np.concatenate([[0], np.cumsum(lengths)]), labels)
    path = tmp_path / "long.html"
    cl.report.write(path, certificate(), held_out=queries)
    tab = browser.open(path, width=width)
    cells = "[...document.querySelectorAll('.items td:not([colspan])')]"
    texts = tab.value(f"{cells}.map(cell => cell.textContent.trim())")
    assert any(len(text) == 3 and text.isdigit() for text in texts)
    assert any(text.endswith("label 4.5") for text in texts)
    inner = f"{cells}.filter(cell => cell.className != 'item').map(cell => {{ const range = document.createRange(); "
    inner += "range.selectNodeContents(cell); return range.getBoundingClientRect().right - "
    assert max(tab.value(inner + "cell.getBoundingClientRect().right; })")) <= 0.5
    lines = "cell => cell.className == 'place' && cell.textContent.length == 3"
    assert tab.value(
        f"{cells}.filter({lines}).every(cell => {{ const range = document.createRange(); "
        "range.selectNodeContents(cell); return range.getClientRects().length == 1; })"
    )


def test_dark_pages_have_dark_charts(browser, report):
    ask = (
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.plot svg rect')).fill,"
        " getComputedStyle(document.querySelector('.plot svg text')).fill]"
    )
    light, dark = (browser.open(report, dark=dark).value(ask) for dark in (False, True))
    assert light == ["rgb(255, 255, 255)", "rgb(255, 255, 255)", "rgb(90, 102, 117)"]
    assert dark == ["rgb(22, 27, 34)", "rgb(22, 27, 34)", "rgb(157, 171, 186)"]


def test_a_pointer_shows_the_numbers_of_the_point_it_is_near(browser, report):
    tab = browser.open(report)
    tab.value("document.querySelector('#walk').scrollIntoView({behavior: 'instant'})")
    x, y, says = tab.value(
        "(() => { const mark = document.querySelectorAll('#walk .wide [data-says]')[12];"
        "const box = mark.getBoundingClientRect(); return [box.left + 1, box.top - 30, mark.dataset.says]; })()"
    )
    tab.move(x, y)
    assert tab.value("document.querySelector('#walk .tip').innerText").split("\n") == says.split("; ")
    tab.move(2, 2)
    assert tab.value("document.querySelector('#walk .tip').hidden")


def test_a_finger_shows_them_too_until_it_touches_something_else(browser, report):
    tab = browser.open(report, width=400)
    tab.call("Emulation.setTouchEmulationEnabled", enabled=True)
    tab.value("document.querySelector('#walk').scrollIntoView({behavior: 'instant'})")
    x, y = tab.value(
        "(() => { const box = document.querySelectorAll('#walk .narrow [data-says]')[12].getBoundingClientRect();"
        "return [box.left + 2, box.top + 2]; })()"
    )
    for spot in ((x, y), (5, 5)):
        tab.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": spot[0], "y": spot[1]}])
        tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        if spot == (x, y):
            assert tab.value("document.querySelector('#walk .tip').innerText").startswith("threshold ")
    assert tab.value("document.querySelector('#walk .tip').hidden")


def test_arrow_keys_go_from_point_to_point(browser, report):
    tab = browser.open(report)
    tab.value("document.querySelector('#walk .plot').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "End", "Home"):
        tab.press(key)
        seen.append(tab.value("document.querySelector('#walk .tip span').textContent"))
    curve = certificate().curve.threshold
    assert seen == [f"threshold {curve[place]:.6g}" for place in (0, 1, -1, 0)]
    tab.press("Escape")
    assert tab.value("document.querySelector('#walk .tip').hidden")


def test_everything_is_there_without_scripts(browser, report):
    tab = browser.open(report, scripts=False, width=400)
    root = tab.call("DOM.getDocument")["root"]["nodeId"]
    drawn = tab.call("DOM.querySelectorAll", nodeId=root, selector=".narrow svg")["nodeIds"]
    boxes = [tab.call("DOM.getBoxModel", nodeId=node)["model"] for node in drawn]
    assert len(boxes) >= 6
    assert all(box["width"] > 300 and box["height"] > 40 for box in boxes)
    assert not tab.call("DOM.querySelectorAll", nodeId=root, selector=".tip")["nodeIds"]
    assert tab.complaints == []


def test_what_can_be_reached_by_keyboard_has_a_name(browser, report):
    tab = browser.open(report)
    unnamed = tab.value(
        "[...document.querySelectorAll('[tabindex=\"0\"], a, summary')]"
        ".filter(each => !(each.getAttribute('aria-label') || each.textContent.trim())).length"
    )
    assert unnamed == 0
    assert tab.value("[...document.querySelectorAll('.plot')].every(each => each.ariaLabel.length > 40)")


def test_the_report_prints_on_light_paper(browser, report):
    tab = browser.open(report, dark=True)
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    pages = len(re.findall(rb"/Type\s*/Page\b", tab.printed()))
    assert 4 <= pages <= 12


def test_text_of_others_runs_nothing(browser, tmp_path):
    (tmp_path / "titles.html").write_text(cases.hostile_page(), encoding="utf-8")
    cl.report.write(tmp_path / "certificate.html", cl.load(hostile_certificate(tmp_path)))
    for name in ("titles.html", "certificate.html"):
        tab = browser.open(tmp_path / name, width=400)
        assert tab.value("document.title") != "taken"
        assert tab.value("document.scripts.length") == 1
        assert tab.value("document.images.length") == 0
        assert tab.value(WIDER) == [400, 400]
        assert tab.complaints == []
        assert len(tab.requests) == 1


def test_a_script_that_came_in_anyway_would_not_run(browser, report, tmp_path):
    broken = tmp_path / "broken.html"
    intruder = "<script>document.title='taken'</script><img src='https://example.org/a.png' onerror=\"document.title='taken'\">"
    broken.write_text(report.read_text(encoding="utf-8").replace("<header>", f"{intruder}<header>"), encoding="utf-8")
    tab = browser.open(broken)
    assert tab.value("document.title") != "taken"
    assert len(tab.complaints) >= 2  # the browser says what it refused
    assert not [event for event in tab.of("Network.responseReceived") if "example.org" in event["response"]["url"]]


def test_an_abstention_is_drawn_too(browser, tmp_path):
    cl.report.write(tmp_path / "abstention.html", abstention(), calibration=cases.CALIBRATION)
    tab = browser.open(tmp_path / "abstention.html", width=400)
    assert tab.value("document.querySelector('h1').textContent") == "No threshold was certified"
    assert tab.value(f"{VISIBLE}.length") == 1
    assert tab.value(WIDER) == [400, 400]
    assert tab.complaints == []
