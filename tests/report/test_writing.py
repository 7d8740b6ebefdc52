"""The report as a file: what it says, what it refuses, and that nothing in it comes from elsewhere."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from tests.report import cases
from tests.report.cases import CALIBRATION, HELD_OUT, HOSTILE, LOSS, abstention, audit, certificate, page

import cutline as cl
from cutline import statements
from cutline._record import write_record
from cutline.errors import InputError, MissingExtraError
from cutline.report.writing import explored, levels_around

for library in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(library, reason="needs the extra `report`")


def text_of(source: str) -> str:
    """What a reader sees, but for drawings."""
    body = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", source.split("<body>")[1], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\xa0", " ").split())


def test_every_word_of_the_promise_is_in_the_report():
    seen = text_of(page())
    for line in statements.promise(certificate()).split("\n"):
        assert line in seen
    for line in statements.not_promised(certificate()):
        assert line in seen
    assert f"Keep items scoring ≥ {certificate().threshold:g} In at least 90 %" in seen


def test_the_report_names_every_setting_and_both_fingerprints():
    seen = text_of(page())
    for value in (certificate().calibration_fingerprint, certificate().seal, "betting (strategy star)", cl.__version__):
        assert value in seen
    assert "held-out fingerprint" in seen


def test_the_audit_stands_beside_the_calibration():
    seen = text_of(page())
    assert audit().statement().removeprefix(f"Verdict: {audit().verdict}. ") in seen
    assert f"risk {statements.percent(certificate().risk, 2)} {statements.percent(audit().risk, 2)}" in seen


def test_held_out_queries_are_audited_where_no_audit_is_given():
    audited = cl.report.page(certificate(), held_out=HELD_OUT, by="device")
    assert f"{audit().risk:.4f} (95 % interval" in text_of(audited)
    assert "By device" in text_of(audited)


def test_a_certificate_alone_is_reported_without_audit_lists_or_frontier():
    seen = text_of(cl.report.page(certificate()))
    assert "Not audited" in seen
    assert "Example lists" not in seen
    assert "another alpha" not in seen


def test_lists_say_where_they_come_from():
    assert "held-out queries, which took no part in the choice" in text_of(page())
    alone = text_of(cl.report.page(certificate(), calibration=CALIBRATION))
    assert "the calibration queries, on which the threshold was chosen" in alone


def test_a_frontier_that_is_explored_says_so_and_one_that_holds_says_so():
    assert "Exploratory: 5 points, each tested at delta = 0.1 by itself." in text_of(page())
    together = cl.frontier(CALIBRATION, alphas=[0.2, 0.3], delta=0.1, loss=LOSS)
    seen = text_of(cl.report.page(certificate(), frontier=together))
    assert together.statement() in seen
    assert "Exploratory" not in seen


def test_what_is_explored_has_the_certificate_at_its_own_alpha():
    quantiles = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1)
    exact = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())
    for found in (certificate(), quantiles, exact):
        points = explored(found, CALIBRATION)
        assert points.exploratory
        own = next(each for each in points.certificates if each.alpha == 0.3)
        assert own.seal == found.seal


@pytest.mark.filterwarnings("ignore:betting evidence looks at:cutline.errors.CutlineWarning")
@pytest.mark.parametrize(
    "given",
    [
        {"evidence": cl.evidence.Betting(), "most_queries": 60},
        {"evidence": cl.evidence.Betting(), "most_queries": 120, "thresholds": cl.grid(0.99, 0.01, 0.01)},
        {"most_queries": 60},
        {"evidence": cl.evidence.Convex(), "most_queries": 60},
    ],
)
def test_what_is_explored_looks_at_as_many_queries_as_the_certificate(given):
    found = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.4, delta=0.1, **given)
    own = next(each for each in explored(found, CALIBRATION).certificates if each.alpha == 0.4)
    assert (own.threshold, own.n_queries, own.seal) == (found.threshold, found.n_queries, found.seal)
    assert "The point at 40 % was declared before." in text_of(cl.report.page(found, calibration=CALIBRATION))


def test_another_calibration_at_the_same_alpha_is_not_called_declared():
    alike = cl.frontier(CALIBRATION, alphas=[0.3, 0.4], delta=0.1, loss=LOSS, exploratory=True)
    found = alike.certificates[1]
    fewer = cl.calibrate(CALIBRATION[:400], loss=LOSS, alpha=0.4, delta=0.1)
    assert "was declared before" in text_of(cl.report.page(found, frontier=alike))
    assert "declared before" not in text_of(cl.report.page(fewer, frontier=alike))


@pytest.mark.parametrize(
    ("alpha", "levels"),
    [(0.3, [0.18, 0.24, 0.3, 0.36, 0.42]), (0.05, [0.03, 0.04, 0.05, 0.06, 0.07]), (0.9, [0.5, 0.7, 0.9])],
)
def test_levels_are_looked_at_on_both_sides_in_round_steps(alpha, levels):
    found = cl.calibrate(CALIBRATION, loss=LOSS, alpha=alpha, delta=0.1)
    assert levels_around(found) == levels


def test_an_abstention_says_why_and_what_would_help():
    source = cl.report.page(abstention(), calibration=CALIBRATION, held_out=HELD_OUT)
    seen = text_of(source)
    refusal = abstention().refusal
    assert "No threshold was certified" in seen
    assert refusal.reason in seen
    for line in statements.would_help(
        abstention(), smallest_alpha=refusal.smallest_alpha, needed=refusal.queries_needed
    ):
        assert line in seen
    assert "Example lists" not in seen
    assert min(levels_around(abstention())) == 0.3
    assert max(levels_around(abstention())) > refusal.smallest_alpha


def test_an_abstention_says_all_of_its_statement_however_long():
    found = cl.calibrate(
        CALIBRATION, loss=LOSS, alpha=0.05, delta=0.1, sets=cl.Threshold(min_size=5), sequence=cl.Fallback(),
        thresholds=cl.grid(0.9, 0.1, 0.1),
    )  # fmt: skip
    seen = text_of(cl.report.page(found))
    for line in found.statement().split("\n"):
        assert line.removeprefix("  - ").removesuffix(":") in seen


@pytest.mark.parametrize(
    ("alpha", "thresholds", "words"),
    [
        (0.3, cl.grid(0.99, 0.01, 0.01), "The walk stopped at the first threshold that failed"),
        (0.3, [0.95, 0.9], "Every threshold passed; the cut is the last of them."),
    ],
)
def test_the_page_says_how_the_walk_ended(alpha, thresholds, words):
    assert words in text_of(
        cl.report.page(cl.calibrate(CALIBRATION, loss=LOSS, alpha=alpha, delta=0.1, thresholds=thresholds))
    )


def test_an_approximate_certificate_is_marked_first():
    found = cl.calibrate(
        CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Normal(), thresholds=cl.grid(0.8, 0.3, 0.01)
    )
    source = cl.report.page(found)
    assert statements.APPROXIMATE in text_of(source.split("<main")[0])
    assert "approximate upper bound" in source


def test_the_same_input_gives_the_same_bytes(tmp_path):
    cl.report.write(
        tmp_path / "r.html", certificate(), calibration=CALIBRATION, held_out=HELD_OUT, audit=audit(),
        title="Simulated queries",
    )  # fmt: skip
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page()


def test_no_address_is_in_the_report_but_names_of_formats():
    addresses = set(re.findall(r"\b(?:https?|ftp|data|file):[^\s\"'<>;)]*", page()))
    assert addresses <= {"http://www.w3.org/2000/svg", "data:,", "data:"}
    assert not re.search(r"\b(src|href)=\"(?!#|data:,)", page())


def test_text_of_others_is_escaped_wherever_it_comes_from():
    source = cases.hostile_page()
    assert source.count("<script") == 1
    assert "<img" not in source
    assert source.count("&lt;script&gt;") > 10


def test_a_certificate_of_someone_else_cannot_bring_markup(tmp_path):
    source = cl.report.page(cl.load(hostile_certificate(tmp_path)))
    assert source.count("<script") == 1
    assert "<img" not in source


def test_a_curve_that_was_tampered_with_is_not_drawn(tmp_path):
    record = certificate()._record()
    for broken in ({"bound": []}, {"risk": [0.1]}, {"threshold": [], "mean_size": []}):
        curve = msgspec.structs.replace(record.curve, **broken)
        path = tmp_path / "cert.json"
        path.write_text(write_record(msgspec.structs.replace(record, curve=curve)), encoding="utf-8")
        assert 'id="walk"' not in cl.report.page(cl.load(path), audit=audit())


def hostile_certificate(folder):
    """A file with a right seal and wrong intentions."""
    record = abstention()._record()
    refusal = msgspec.structs.replace(record.abstention, reason=HOSTILE)
    curve = msgspec.structs.replace(record.curve, threshold=[1e308, -1e308, 0.5], risk=[5.0, -1.0], bound=[2.0, 3.0])
    record = msgspec.structs.replace(
        record, cutline=HOSTILE, calibration_fingerprint=HOSTILE * 50, abstention=refusal, curve=curve,
        thresholds={HOSTILE: [HOSTILE] * 9},
    )  # fmt: skip
    path = folder / "hostile.json"
    path.write_text(write_record(record), encoding="utf-8")
    return path


def test_an_audit_of_another_certificate_is_refused():
    other = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.2, delta=0.1)
    with pytest.raises(InputError, match="audit must be of this certificate"):
        cl.report.page(other, audit=audit())


def test_an_audit_of_other_queries_is_refused():
    with pytest.raises(InputError, match="audit must be of the held_out queries, 10 of them, got one of 800"):
        cl.report.page(certificate(), audit=audit(), held_out=HELD_OUT[:10])


def test_importing_the_report_loads_no_library_that_draws():
    code = "import sys, cutline.report; print({'altair', 'vl_convert', 'jinja2'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def test_queries_that_did_not_calibrate_are_refused_as_calibration():
    with pytest.raises(InputError, match="pass new ones as held_out"):
        cl.report.page(certificate(), calibration=HELD_OUT)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"audit": 3}, r"audit must be what audit\(\) gave, got 3"),
        ({"frontier": 3}, r"frontier must be what frontier\(\) gave, got 3"),
        ({"held_out": 3}, "queries"),
    ],
)
def test_arguments_of_another_kind_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        cl.report.page(certificate(), **wrong)


def test_what_is_no_certificate_is_refused():
    with pytest.raises(InputError, match="certificate must be what calibrate or load gave"):
        cl.report.page(audit())


def test_an_audit_on_the_calibration_queries_is_marked():
    with pytest.warns(cl.report.writing.CutlineWarning, match="these are the calibration queries"):
        source = cl.report.page(certificate(), held_out=CALIBRATION)
    assert "These are the calibration queries themselves" in text_of(source)


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        cl.report.write(tmp_path / "nowhere" / "r.html", certificate())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["altair", "vl_convert", "jinja2"])
def test_a_missing_library_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cutline\[report\]'"):
        cl.report.page(certificate())


def test_a_hundred_thousand_queries_are_reported_in_less_than_three_megabytes():
    rng = np.random.default_rng(0)
    count = 100_000
    scores = rng.random(3 * count)
    labels = (rng.random(3 * count) < scores).astype(float)
    groups = np.array([f"group {n}" for n in range(500)], dtype=object)[rng.integers(0, 500, count)]
    queries = cl.Queries(scores, np.arange(0, 3 * count + 1, 3), labels, columns={"group": groups})
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(cl.Grade(at_least=1)), alpha=0.2, delta=0.1, evidence=cl.evidence.Convex()
    )
    new = cl.Queries(1 - scores, queries.offsets, 1 - labels, columns={"group": groups})
    source = cl.report.page(found, calibration=queries, held_out=new, by="group")
    assert len(source.encode()) < 3_000_000
    assert "488 more are left out" in text_of(source)
