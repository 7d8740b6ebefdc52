"""Real files go through: a TREC run with judgments, a LETOR file with predictions; and a cut run can be measured."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.cli.shell import shell
from tests.io import files

import cutline as cl

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
RUNS, RANKS = SHARED / "setrank_s2cs", SHARED / "lightgbm_lambdarank"
needs_runs = pytest.mark.skipif(not RUNS.is_dir(), reason=f"the data set {RUNS.name} is not beside the project")
needs_ranks = pytest.mark.skipif(not RANKS.is_dir(), reason=f"the data set {RANKS.name} is not beside the project")


@needs_runs
@pytest.mark.parametrize("run", ["setRank.run.gz", "bm25_both.run.gz"])
def test_the_runs_of_setrank_go_through(run, tmp_path):
    judged = ("--labels", RUNS / "s2.qrel", "--good-at-least", "1")
    flags = ("--alpha", "0.7", "--delta", "0.2", "--scoring", "win-rate", "--evidence", "convex")
    ended = shell("calibrate", RUNS / run, *judged, *flags, "-o", tmp_path / "cert.json")
    assert ended.code == 0, ended.err
    ended = shell("apply", tmp_path / "cert.json", RUNS / run, "-o", tmp_path / "cut.run")
    assert ended.code == 0, ended.err
    with gzip.open(RUNS / run, "rt") as file:
        tags = {line.split()[5] for line in file}
    kept = [line.split() for line in (tmp_path / "cut.run").read_text().splitlines()]
    assert kept
    assert {fields[5] for fields in kept} == tags
    assert "calibration queries" in shell("audit", tmp_path / "cert.json", RUNS / run, *judged[:2]).err
    assert shell("frontier", RUNS / run, *judged, "--alphas", "0.6,0.8", "--delta", "0.2").code == 0


@needs_ranks
def test_the_lightgbm_example_goes_through_with_its_group_sizes(tmp_path):
    n_rows = int(np.loadtxt(RANKS / "rank.train.query").sum())
    predictions = np.random.default_rng(0).normal(size=n_rows)
    files.write(tmp_path / "predictions.txt", "".join(f"{score!r}\n" for score in predictions.tolist()))
    letor = ("--format", "letor", "--predictions", tmp_path / "predictions.txt")
    flags = ("--alpha", "0.9", "--delta", "0.2", "--good-at-least", "2", "--evidence", "convex", "--json")
    beside = shell("calibrate", RANKS / "rank.train.gz", *letor, *flags)
    told = shell("calibrate", RANKS / "rank.train.gz", *letor, "--groups", RANKS / "rank.train.query", *flags)
    assert beside.code == told.code == 0, beside.err
    assert beside.json["n_queries"] == told.json["n_queries"] == 201
    assert beside.json["n_items"] == n_rows
    assert beside.json["seal"] == told.json["seal"]


def test_a_cut_run_is_measured_by_ir_measures_without_complaint(tmp_path):
    import ir_measures

    queries = cl.datasets.simulate(400, rng=0)
    cl.io.write_queries(queries, tmp_path / "all.run")
    cl.io.write_queries(queries, tmp_path / "judged.qrels")
    flags = ("--alpha", "0.4", "--delta", "0.1", "--good-at-least", "3")
    shell(
        "calibrate", tmp_path / "all.run", "--labels", tmp_path / "judged.qrels", *flags, "-o", tmp_path / "cert.json"
    )
    assert shell("apply", tmp_path / "cert.json", tmp_path / "all.run", "-o", tmp_path / "cut.run").code == 0
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "judged.qrels")))
    cut = list(ir_measures.read_trec_run(str(tmp_path / "cut.run")))
    precision, gain = ir_measures.P(rel=3) @ 1, ir_measures.nDCG @ 10
    found = ir_measures.calc_aggregate([precision, gain], qrels, cut)
    slates = cl.load(tmp_path / "cert.json").apply(
        cl.io.read_queries(tmp_path / "all.run", labels=tmp_path / "judged.qrels")
    )
    first = [
        labels[rows[0]] >= 3 if len(rows) else False
        for rows, labels in zip(slates, (query.labels for query in slates.queries), strict=True)
    ]
    assert found[precision] == pytest.approx(np.mean(first))
    assert 0 < found[gain] <= 1
