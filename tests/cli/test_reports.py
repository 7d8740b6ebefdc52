"""`--report` of calibrate and audit, and what an audit draws in a terminal."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pytest
from tests.cli.shell import names_in, refused, shell

import cutline as cl
from cutline.cli import drawing
from cutline.cli.app import run
from cutline.cli.drawing import MARKS, PLAIN, interval_lines, of_audit, size_lines

for library in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(library, reason="needs the extra `report`")

OLD, NEW = cl.datasets.simulate(1_000, rng=0).split(0.5, rng=0)
PROMISE = ("--alpha", "0.3", "--delta", "0.1", "--good-at-least", "3")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path, Path]:
    """Scores to calibrate on, scores to audit on, and a certificate."""
    folder = tmp_path_factory.mktemp("made")
    old, new, certificate = folder / "old.parquet", folder / "new.parquet", folder / "cert.json"
    cl.io.write_queries(OLD, old)
    cl.io.write_queries(NEW, new)
    assert shell("calibrate", old, *PROMISE, "-o", certificate).code == 0
    return old, new, certificate


def test_calibrate_writes_a_report_beside_the_certificate(made, tmp_path):
    ended = shell("calibrate", made[0], *PROMISE, "-o", tmp_path / "cert.json", "--report", tmp_path / "report.html")
    assert ended.code == 0, ended.err
    assert f"Report: {tmp_path / 'report.html'}" in ended.out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert cl.load(tmp_path / "cert.json").seal in page
    assert "Exploratory: 5 points" in page
    assert any(f"<bdi>{item}</bdi>" in page for item in OLD.item_ids.tolist())  # lists name items by their ids


def test_audit_writes_a_report_with_its_groups_and_titles(made, tmp_path):
    ended = shell("audit", made[2], made[1], "--by", "device", "--titles", "device", "--report", tmp_path / "r.html")
    assert ended.code == 0, ended.err
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "By device" in page
    assert '<td class="item"><bdi>phone</bdi>' in page
    assert f"Report: {tmp_path / 'r.html'}" in ended.out


def test_an_abstention_has_a_report_too_and_leaves_with_3(made, tmp_path):
    ended = shell(
        "calibrate", made[0], *PROMISE, "--min-size", "5", "-o", tmp_path / "c.json", "--report", tmp_path / "r.html"
    )
    assert ended.code == 3
    assert names_in(tmp_path) == {"r.html"}
    assert "What would help" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Report:" in ended.err


def test_json_says_where_the_report_is(made, tmp_path):
    page = tmp_path / "r.html"
    assert shell("calibrate", made[0], *PROMISE, "--report", page, "--json").json["report"] == str(page)
    assert shell("audit", made[2], made[1], "--report", page, "--json").json["report"] == str(page)
    assert shell("audit", made[2], made[1], "--json").json["report"] is None


def test_a_report_over_a_file_that_is_read_or_written_is_refused(made, tmp_path):
    page = tmp_path / "r.html"
    assert refused(shell("calibrate", made[0], *PROMISE, "--report", made[0]), "is the input")
    assert refused(shell("audit", made[2], made[1], "--report", made[2]), "is the input")
    assert refused(shell("calibrate", made[0], *PROMISE, "-o", page, "--report", page), "named twice", folder=tmp_path)


def test_titles_without_a_report_are_refused(made):
    assert refused(shell("audit", made[2], made[1], "--titles", "device"), "--titles belongs to --report")


def test_a_column_of_titles_that_is_not_there_is_refused_by_name(made, tmp_path):
    ended = shell("audit", made[2], made[1], "--titles", "name", "--report", tmp_path / "r.html")
    assert refused(ended, "'name'", folder=tmp_path)


def test_what_draws_is_asked_for_before_files_are_read(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    ended = shell("audit", made[2], tmp_path / "missing.parquet", "--report", tmp_path / "r.html")
    assert refused(ended, "cutline[report]", folder=tmp_path)


@pytest.fixture(scope="module")
def audit(made):
    return cl.audit(cl.load(made[2]), NEW, by="device")


@pytest.mark.parametrize("marks", [MARKS, PLAIN], ids=["marks", "plain"])
def test_an_audit_is_drawn_with_each_interval_in_its_place(audit, marks):
    lines = interval_lines(audit, marks)
    assert len(lines) == 1 + len(audit.strata) + len(audit.by["device"]) + 2
    names = [
        "all queries",
        *(f"size: {g.name}" for g in audit.strata),
        *(f"device: {g.name}" for g in audit.by["device"]),
    ]
    assert [line.split("  ")[1].strip() for line in lines[:-2]] == names
    risks = [audit.risk, *(g.risk for g in audit.strata), *(g.risk for g in audit.by["device"])]
    columns = [line.rindex(marks["risk"], 24, 62) for line in lines[:-2]]
    assert sorted(columns) == [columns[i] for i in sorted(range(len(risks)), key=risks.__getitem__)]


def test_every_size_of_an_audit_has_a_block(audit):
    drawn, said = size_lines(audit, MARKS)
    assert "█" in drawn
    assert said.strip().startswith("0, 1")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_audit_is_drawn_on_a_terminal_and_not_in_a_pipe(made):
    arguments = ["audit", str(made[2]), str(made[1])]
    assert "all queries" not in shell(*arguments).out
    with contextlib.redirect_stdout(Terminal()) as terminal, contextlib.redirect_stderr(io.StringIO()):
        assert run(arguments) == 0
    assert "all queries" in terminal.getvalue()
    assert "list sizes" in terminal.getvalue()


def test_drawings_have_colours_where_their_marks_are_not_letters(audit, monkeypatch):
    monkeypatch.setattr(drawing, "_marks", lambda: MARKS)
    assert any("cyan" in str(span.style) for span in of_audit(audit).spans)
    monkeypatch.setattr(drawing, "_marks", lambda: PLAIN)
    assert not of_audit(audit).spans
