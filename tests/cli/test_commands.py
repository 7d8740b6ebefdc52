"""The commands work on every form of file, and give the same threshold and the same pairs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import shell
from tests.io import files

import cutline as cl

CALIBRATION, NEW = cl.datasets.simulate(8_000, rng=0).split(0.5, rng=0)
PROMISE = ("--alpha", "0.3", "--delta", "0.1")
GOOD = ("--good-at-least", "3")


@pytest.fixture(scope="module")
def forms(tmp_path_factory) -> dict[str, tuple[Path, list[str], Path, list[str]]]:
    """For each form: calibration file and flags, file of new queries and flags."""
    old, new = tmp_path_factory.mktemp("old"), tmp_path_factory.mktemp("new")
    one, other = files.in_every_form(CALIBRATION, old), files.in_every_form(NEW, new)
    return {form: (*one[form], *other[form]) for form in one}


FORMS = ["parquet", "csv", "tsv", "jsonl", "parquet.gz", "csv.gz", "jsonl.gz", "run", "res.gz", "letor"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_certificate_that_python_gives(forms, form, tmp_path):
    scores, flags, _, _ = forms[form]
    ended = shell("calibrate", scores, *flags, *PROMISE, *GOOD, "-o", tmp_path / "cert.json")
    assert ended.code == 0, ended.err
    expected = cl.calibrate(CALIBRATION, loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.3, delta=0.1)
    assert cl.load(tmp_path / "cert.json").seal == expected.seal
    assert "keep items scoring" in ended.out


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_cut_to_the_same_pairs_and_audited_to_the_same_figures(forms, form, tmp_path, certificate):
    _, _, scores, flags = forms[form]
    unlabelled = [flag for flag in flags if "judged" not in flag and flag != "--labels"]
    ending = "csv" if form == "letor" else form
    ended = shell("apply", certificate, scores, *unlabelled, "-o", tmp_path / f"cut.{ending}")
    assert ended.code == 0, ended.err
    slates = cl.load(certificate).apply(NEW)
    assert f"Kept {len(slates.order):,} of {NEW.n_items:,} items in {len(NEW):,} lists" in ended.out
    if "res" not in ending:
        queries, items = NEW.query_ids[NEW.query_of_item()], NEW.item_ids
        expected = {(queries[row], items[row]) for row in slates.order.tolist()}
        assert files.pairs_of(tmp_path / f"cut.{ending}") == expected
    audited = shell("audit", certificate, scores, *flags, "--json")
    assert audited.json["risk"] == cl.audit(cl.load(certificate), NEW).risk
    assert audited.json["verdict"] == cl.audit(cl.load(certificate), NEW).verdict


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_frontier(forms, form):
    scores, flags, _, _ = forms[form]
    flags = [*flags, *GOOD, "--evidence", "convex"]
    ended = shell("frontier", scores, *flags, "--alphas", "0.2,0.3", "--delta", "0.1", "--json")
    loss = cl.FalseDiscovery(cl.Grade(at_least=3))
    found = cl.frontier(CALIBRATION, alphas=[0.2, 0.3], delta=0.1, loss=loss, evidence=cl.evidence.Convex())
    assert [point["threshold"] for point in ended.json["points"]] == [point.threshold for point in found]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("certificate") / "cert.json"
    cl.calibrate(CALIBRATION, loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.3, delta=0.1).save(path)
    return path


def test_calibrate_takes_every_flag(forms, tmp_path):
    scores, flags, _, _ = forms["parquet"]
    ended = shell(
        "calibrate", scores, *flags, *PROMISE, "--good-top", "20%", "--ties", "expected", "--scoring", "win-rate", "--scale", "0.1",
        "--evidence", "convex", "--thresholds", "0.99:0.01:0.01", "--max-size", "8", "--unjudged", "error", "--seed", "3",
        "-o", tmp_path / "cert.json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    expected = cl.calibrate(
        CALIBRATION, loss=cl.FalseDiscovery(cl.TopM(fraction=0.2, ties="expected", unjudged="error")), alpha=0.3, delta=0.1,
        scoring=cl.WinRate(scale=0.1), evidence=cl.evidence.Convex(), thresholds=cl.grid(0.99, 0.01, 0.01),
        sets=cl.Threshold(max_size=8), seed=3,
    )  # fmt: skip
    assert cl.load(tmp_path / "cert.json").seal == expected.seal


@pytest.mark.parametrize(
    ("flags", "evidence"),
    [
        ("wsr", cl.evidence.Betting(strategy="wsr")),
        ("hoeffding", cl.evidence.Hoeffding()),
        ("hoeffding-bentkus", cl.evidence.HoeffdingBentkus()),
        ("empirical-bernstein", cl.evidence.EmpiricalBernstein()),
    ],
)
def test_evidence_is_called_by_name(forms, flags, evidence):
    scores, _, _, _ = forms["parquet"]
    ended = shell("calibrate", scores, *PROMISE, *GOOD, "--evidence", flags, "--thresholds", "0.99:0.01:0.01", "--json")
    loss = cl.FalseDiscovery(cl.Grade(at_least=3))
    expected = cl.calibrate(
        CALIBRATION, loss=loss, alpha=0.3, delta=0.1, evidence=evidence, thresholds=cl.grid(0.99, 0.01, 0.01)
    )
    assert ended.json["threshold"] == expected.threshold
    assert ended.json["evidence"] == expected.evidence.settings()


def test_miss_and_fallback_are_flags_too(forms):
    scores, _, _, _ = forms["parquet"]
    ended = shell("calibrate", scores, *PROMISE, *GOOD, "--loss", "miss", "--json")
    assert ended.json["loss"]["name"] == "miss"
    ended = shell(
        "calibrate", scores, *PROMISE, *GOOD, "--min-size", "2", "--sequence", "fallback", "--thresholds", "0.99:0.5:0.01", "--json"
    )  # fmt: skip
    assert ended.json["sequence"]["name"] == "fallback"


def test_an_abstention_leaves_with_3_and_writes_nothing(tmp_path):
    path = files.write(tmp_path / "s.csv", files.SMALL)
    grid = ("--thresholds", "0.9,0.5")
    ended = shell(
        "calibrate", path, "--alpha", "0.3", "--delta", "0.1", "--good-at-least", "9", *grid, "-o", tmp_path / "c.json"
    )
    assert ended.code == 3
    assert ended.out == ""
    assert "No threshold was certified" in ended.err
    assert "Nothing was written" in ended.err
    assert "cl." not in ended.err
    assert not (tmp_path / "c.json").exists()
    ended = shell("calibrate", path, "--alpha", "0.3", "--delta", "0.1", "--good-at-least", "9", *grid, "--json")
    assert ended.code == 3
    assert ended.json["abstention"]["reason"]
    assert ended.json["threshold"] is None


def test_nothing_but_empty_lists_leaves_with_3(tmp_path):
    rows = "".join(f"q{i},a,0.5,0\n" for i in range(200))
    path = files.write(tmp_path / "s.csv", "query_id,item_id,score,label\n" + rows)
    ended = shell(
        "calibrate", path, *PROMISE, "--good-at-least", "1", "--thresholds", "0.9,0.1", "-o", tmp_path / "c.json"
    )
    assert ended.code == 3
    assert "Every list is empty" in ended.err
    assert not (tmp_path / "c.json").exists()


def test_an_audit_above_alpha_leaves_with_4(tmp_path, certificate):
    rows = "".join(f"q{i},a,0.99,0\n" for i in range(200))
    path = files.write(tmp_path / "s.csv", "query_id,item_id,score,label\n" + rows)
    ended = shell("audit", certificate, path, "-o", tmp_path / "audit.json")
    assert ended.code == 4
    assert "above" in ended.out
    assert json.loads((tmp_path / "audit.json").read_text())["verdict"] == "above"


def test_an_audit_by_columns_shows_their_groups(forms, certificate):
    _, _, scores, _ = forms["parquet"]
    ended = shell("audit", certificate, scores, "--by", "device", "--json")
    assert {group["name"] for group in ended.json["by"]["device"]} == {"phone", "desktop", "tablet"}
    assert "device: phone" in shell("audit", certificate, scores, "--by", "device").out


def test_queries_that_nobody_judged_are_left_out_with_a_note(tmp_path, forms):
    scores, flags, _, _ = forms["run"]
    lines = Path(flags[1]).read_text().splitlines(keepends=True)
    some = {line.split()[0] for line in lines[: len(lines) // 2]}
    judged = files.write(tmp_path / "half.qrels", "".join(line for line in lines if line.split()[0] in some))
    ended = shell("calibrate", scores, "--labels", judged, *PROMISE, *GOOD, "--json")
    known = np.isin(CALIBRATION.query_ids, list(some))
    expected = cl.calibrate(
        CALIBRATION.select(known), loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.3, delta=0.1
    )
    assert ended.json["threshold"] == expected.threshold
    assert f"{np.count_nonzero(~known):,} of 4,000 queries" in ended.err
    assert ended.json["notes"] == [ended.err.removeprefix("cutline: note: ").rstrip("\n")]


def test_apply_keeps_every_column_and_its_kind(tmp_path, forms, certificate):
    _, _, scores, _ = forms["parquet"]
    shell("apply", certificate, scores, "-o", tmp_path / "cut.parquet")
    before, after = pq.read_table(scores), pq.read_table(tmp_path / "cut.parquet")
    assert after.column_names == [*before.column_names, "rank"]
    assert [after.schema.field(name).type for name in before.column_names] == [field.type for field in before.schema]
    expected = cl.load(certificate).apply(NEW).to_frame("pyarrow")
    for name in expected.column_names:
        assert after.column(name).to_pylist() == expected.column(name).to_pylist()


def test_keep_all_marks_what_was_chosen(tmp_path, forms, certificate):
    _, _, scores, _ = forms["parquet"]
    shell("apply", certificate, scores, "-o", tmp_path / "all.parquet", "--keep-all")
    table = pq.read_table(tmp_path / "all.parquet")
    slates = cl.load(certificate).apply(NEW)
    assert table.column("chosen").to_pylist() == slates.chosen.tolist()
    assert table.column("rank").to_pylist() == slates.to_frame("pyarrow", keep_all=True).column("rank").to_pylist()


def test_what_apply_wrote_can_be_cut_again(tmp_path, certificate, forms):
    _, _, scores, _ = forms["csv"]
    shell("apply", certificate, scores, "-o", tmp_path / "one.csv")
    ended = shell("apply", certificate, tmp_path / "one.csv", "-o", tmp_path / "two.csv")
    assert ended.code == 0, ended.err
    header = (tmp_path / "two.csv").read_text().splitlines()[0].split(",")
    assert header[-2:] == ["rank_input", "rank"]


def test_win_rates_are_a_column_of_their_own_and_scores_stay_the_models(tmp_path, forms):
    scores, _, new, _ = forms["parquet"]
    flags = ("--scoring", "win-rate", "--scale", "0.1")
    assert shell("calibrate", scores, *PROMISE, *GOOD, *flags, "-o", tmp_path / "w.json").code == 0
    assert shell("apply", tmp_path / "w.json", new, "-o", tmp_path / "w.parquet").code == 0
    table = pq.read_table(tmp_path / "w.parquet")
    slates = cl.load(tmp_path / "w.json").apply(NEW)
    assert table.column("score").to_pylist() == NEW.scores[slates.order].tolist()
    rates = cl.WinRate(scale=0.1).item_scores(NEW.scores, NEW.offsets)
    assert table.column("win_rate").to_pylist() == rates[slates.order].tolist()
    assert shell("apply", tmp_path / "w.json", new, "-o", tmp_path / "w.run").code == 0
    written = [float(line.split()[4]) for line in (tmp_path / "w.run").read_text().splitlines()]
    assert written == NEW.scores[slates.order].tolist()


def test_a_run_keeps_its_tag_and_is_ranked_from_1(tmp_path, certificate):
    run = files.write(tmp_path / "a.run", "q Q0 low 1 0.1 my-tag\nq Q0 top 2 0.999 my-tag\nq Q0 next 3 0.99 my-tag\n")
    shell("apply", certificate, run, "-o", tmp_path / "cut.run")
    assert (tmp_path / "cut.run").read_text() == "q Q0 top 1 0.999 my-tag\nq Q0 next 2 0.99 my-tag\n"


def test_letor_lines_can_be_cut_as_they_are(tmp_path, certificate):
    path = files.write(tmp_path / "a.svm", files.LETOR)
    files.write(tmp_path / "p.txt", "0.1\n0.99\n0.999\n0.2\n")
    shell("apply", certificate, path, "--predictions", tmp_path / "p.txt", "-o", tmp_path / "cut.svm.gz")
    import gzip

    kept = gzip.decompress((tmp_path / "cut.svm.gz").read_bytes()).decode()
    assert kept.splitlines() == [files.LETOR.splitlines()[1], files.LETOR.splitlines()[2]]


def test_show_prints_the_promise_what_is_not_promised_and_a_drawing(certificate):
    ended = shell("show", certificate)
    assert cl.load(certificate).statement() in ended.out
    assert "Not promised:" in ended.out
    assert "upper bound" in ended.out
    assert shell("show", certificate, "--json").json["seal"] == cl.load(certificate).seal


def test_the_drawing_falls_back_to_plain_characters(certificate):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(
        [sys.executable, "-m", "cutline", "show", certificate], capture_output=True, env=environment, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert b"o risk here  ^ upper bound" in ended.stdout


def test_frontier_holds_jointly_or_says_that_it_explores(forms):
    scores, _, _, _ = forms["parquet"]
    flags = (*GOOD, "--alphas", "0.2,0.3", "--delta", "0.1")
    together = shell("frontier", scores, *flags)
    assert "all 2 points hold together" in together.out
    around = shell("frontier", scores, *flags, "--exploratory")
    assert around.out.count("Exploratory") == 1
    sized = shell("frontier", scores, *flags, "--max-sizes", "3,5", "--json")
    assert [(point["alpha"], point["max_size"]) for point in sized.json["points"]] == [
        (0.2, 3), (0.3, 3), (0.2, 5), (0.3, 5)
    ]  # fmt: skip
    assert sized.json["level"] == 0.1 / 4


def test_plan_counts_queries():
    ended = shell(
        "plan", "--alpha", "0.3", "--delta", "0.1", "--expected-risk", "0.25", "--evidence", "convex", "--json"
    )
    needed = cl.queries_needed(alpha=0.3, delta=0.1, expected_risk=0.25, evidence=cl.evidence.Convex()).needed
    assert ended.json["needed"] == needed
    assert (
        f"{needed['convex']:,}"
        in shell("plan", "--alpha", "0.3", "--delta", "0.1", "--expected-risk", "0.25", "--evidence", "convex").out
    )


def test_the_same_input_gives_the_same_bytes(tmp_path, forms, certificate):
    _, _, scores, _ = forms["parquet"]
    for ending in ("parquet", "csv.gz", "jsonl", "run.gz"):
        for name in ("one", "two"):
            shell("apply", certificate, scores, "-o", tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_a_command_killed_while_it_writes_leaves_nothing_under_the_final_name(tmp_path, forms, certificate):
    _, _, scores, _ = forms["parquet"]
    slow = (
        "import sys, time, pathlib, cutline.io.jsonl as jsonl\n"
        "started = pathlib.Path(sys.argv.pop())\n"
        "import cutline.io.formats as formats, dataclasses\n"
        "def write(sheet, file):\n"
        "    file.write(b'half a line'); file.flush(); started.touch(); time.sleep(60)\n"
        "formats.FORMATS['jsonl'] = dataclasses.replace(formats.FORMATS['jsonl'], write=write)\n"
        "formats.KNOWN['.jsonl'] = formats.FORMATS['jsonl']\n"
        "from cutline.cli import main; main(sys.argv[1:])\n"
    )
    started, out = tmp_path / "started", tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-c", slow, "apply", certificate, scores, "-o", out / "cut.jsonl", started]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "cut.jsonl").exists()


def test_an_interrupt_leaves_nothing_at_all(tmp_path, monkeypatch, forms, certificate):
    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr("cutline._files.os.fsync", interrupted)
    _, _, scores, _ = forms["parquet"]
    assert shell("apply", certificate, scores, "-o", tmp_path / "cut.csv").code == 130
    assert list(tmp_path.iterdir()) == []


def test_the_column_of_scores_and_the_share_judged_are_told(tmp_path, forms, certificate):
    scores, _, new, _ = forms["csv"]
    assert "Read " in (out := shell("calibrate", scores, *PROMISE, *GOOD).out)
    assert "scores in 'score', 100 % of items judged." in out
    assert (
        shell("apply", certificate, new, "-o", tmp_path / "cut.csv", "--json")
        .json["read"]
        .endswith("scores in 'score'.")
    )
    run, flags, _, _ = forms["run"]
    assert "scores in" not in shell("calibrate", run, *flags, *PROMISE, *GOOD).out


def run_in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.parametrize("flags", ["", "--json"])
def test_whoever_stops_reading_changes_no_exit_code(tmp_path, certificate, flags):
    rows = "".join(f"q{i},a,0.99,0\n" for i in range(200))
    files.write(tmp_path / "s.csv", "query_id,item_id,score,label\n" + rows)
    ended = run_in_shell(f"cutline audit {certificate} s.csv {flags} | true", tmp_path)
    assert ended.returncode == 4
    assert "Traceback" not in ended.stderr
    assert run_in_shell(f"cutline show {certificate} {flags} | true", tmp_path).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the /dev/full of Linux")
def test_output_that_cannot_be_written_is_one_line(tmp_path, certificate):
    for flags in ("", "--json"):
        ended = run_in_shell(f"cutline show {certificate} {flags} > /dev/full", tmp_path)
        assert ended.returncode == 2, ended
        assert len(ended.stderr.splitlines()) == 1
        assert "No space left" in ended.stderr
    assert run_in_shell(f"cutline show {certificate} >&-", tmp_path).returncode == 0


def test_a_frontier_where_nothing_is_certified_leaves_with_3(forms):
    scores, flags, _, _ = forms["parquet"]
    nothing = ("--alphas", "0.01,0.02", "--delta", "0.1", "--good-at-least", "4", "--thresholds", "0.2")
    assert shell("frontier", scores, *flags, *nothing).code == 3


def test_frontiers_check_their_levels_before_files_are_read(tmp_path):
    from tests.cli.shell import refused

    flags = ("--delta", "0.1", *GOOD)
    assert refused(shell("frontier", tmp_path / "none.csv", "--alphas", "0.1,30", *flags), "--alphas", "got 30")
    both = ("--alphas", "0.1", "--max-size", "3", "--max-sizes", "3,5")
    assert refused(shell("frontier", tmp_path / "none.csv", *both, *flags), "leave --max-size out")
    assert refused(shell("frontier", tmp_path / "none.csv", "--alphas", "a", *flags), "--alphas must be numbers")


def test_control_characters_of_a_file_never_reach_the_terminal(tmp_path, certificate):
    rows = "".join(f"q{i},a,0.99,4,\x1b[31mred\n" for i in range(50))
    path = files.write(tmp_path / "s.csv", "query_id,item_id,score,label,g\n" + rows)
    ended = shell("audit", certificate, path, "--by", "g")
    assert "\x1b" not in ended.out
    assert "\\x1b[31mred" in ended.out
