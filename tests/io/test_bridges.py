"""What other libraries hold of runs and judgments comes in and goes out unchanged."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import cutline as cl
from cutline.errors import CannotApplyError, InputError, MissingExtraError
from cutline.io import ir_measures as by_measures

SIMULATED = cl.datasets.simulate(50, rng=0, share_unjudged=0.3)
RUN = {"q1": {"a": 0.9, "b": 0.5}, "q2": {"a": 0.7}}


def by_pair(queries: cl.Queries) -> dict[tuple[str, str], tuple[float, str]]:
    ids = queries.query_ids[queries.query_of_item()]
    return {
        (query, item): (score, repr(label))
        for query, item, score, label in zip(
            ids.tolist(), queries.item_ids.tolist(), queries.scores.tolist(), queries.labels.tolist(), strict=True
        )
    }


# ir_measures ------------------------------------------------------------------------------------------------------------


def test_scored_docs_and_qrels_go_out_and_come_back():
    run, judged = list(by_measures.to_scored_docs(SIMULATED)), list(by_measures.to_qrels(SIMULATED))
    back = by_measures.from_scored_docs(iter(run), iter(judged))
    assert by_pair(back) == by_pair(SIMULATED)
    assert len(judged) == np.count_nonzero(~np.isnan(SIMULATED.labels)) < len(run)


def test_ir_measures_measures_what_goes_out():
    library = pytest.importorskip("ir_measures")
    queries = cl.Queries.from_dicts(RUN, {"q1": {"a": 0, "b": 2}, "q2": {"a": 1}})
    found = library.calc_aggregate(
        [library.P @ 1, library.RR], by_measures.to_qrels(queries), by_measures.to_scored_docs(queries)
    )
    assert found[library.P @ 1] == 0.5
    assert found[library.RR] == 0.75


def test_what_ir_measures_could_not_have_meant_is_refused():
    library = pytest.importorskip("ir_measures")
    pair = library.ScoredDoc("q", "d", 1.0)
    with pytest.raises(InputError, match=r"run has query 'q', document 'd' twice; keep one row per pair"):
        by_measures.from_scored_docs([pair, pair])
    with pytest.raises(InputError, match=r"qrels must be rows with query_id, doc_id and relevance.*got ScoredDoc in"):
        by_measures.from_scored_docs([pair], [pair])
    with pytest.raises(InputError, match=r"run holds no rows"):
        by_measures.from_scored_docs([])
    with pytest.raises(InputError, match=r"judgments are whole numbers, got the label 0\.5 in row 0"):
        by_measures.to_qrels(cl.Queries.from_arrays([1.0], [0.5], qid=["q"], item_ids=["d"]))
    with pytest.raises(InputError, match=r"queries have no labels, and judgments are wanted"):
        by_measures.to_qrels(cl.Queries.from_arrays([1.0], qid=["q"], item_ids=["d"]))
    with pytest.raises(InputError, match=r"queries have no item ids, by which runs and judgments name items"):
        by_measures.to_scored_docs(cl.Queries.from_arrays([1.0], qid=["q"]))


# ranx -------------------------------------------------------------------------------------------------------------------


def test_runs_and_qrels_of_ranx_go_out_and_come_back():
    pytest.importorskip("ranx")
    from cutline.io import ranx as by_ranx

    back = by_ranx.from_ranx(by_ranx.to_run(SIMULATED, name="mine"), by_ranx.to_qrels(SIMULATED))
    assert by_pair(back) == by_pair(SIMULATED)
    assert by_ranx.to_run(SIMULATED, name="mine").name == "mine"
    without = by_ranx.from_ranx(by_ranx.to_run(SIMULATED))
    assert without.labels is None


@pytest.mark.filterwarnings("ignore:unsafe cast")  # ranx compiles its measures on first use
def test_ranx_measures_what_goes_out():
    library = pytest.importorskip("ranx")
    from cutline.io import ranx as by_ranx

    queries = cl.Queries.from_dicts(RUN, {"q1": {"a": 0, "b": 2}, "q2": {"a": 1}})
    assert library.evaluate(by_ranx.to_qrels(queries), by_ranx.to_run(queries), "mrr") == 0.75


def test_what_ranx_cannot_hold_is_refused():
    pytest.importorskip("ranx")
    from cutline.io import ranx as by_ranx

    with pytest.raises(InputError, match=r"run must be a ranx Run, got dict; Queries\.from_dicts takes dictionaries"):
        by_ranx.from_ranx(RUN)
    with pytest.raises(InputError, match=r"qrels must be ranx Qrels, got Run"):
        by_ranx.from_ranx(by_ranx.to_run(SIMULATED), by_ranx.to_run(SIMULATED))
    negative = cl.Queries.from_arrays([1.0], [-1.0], qid=["q"], item_ids=["d"])
    with pytest.raises(InputError, match=r"ranx knows no grades below 0, got -1 in row 0; make it 0"):
        by_ranx.to_qrels(negative)
    unjudged = cl.Queries.from_arrays([1.0], [np.nan], qid=["q"], item_ids=["d"])
    with pytest.raises(InputError, match=r"queries have no judged item, and ranx knows no empty judgments"):
        by_ranx.to_qrels(unjudged)


# PyTerrier --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def terrier():
    return pytest.importorskip("pyterrier")


@pytest.fixture
def results():
    pd = pytest.importorskip("pandas")
    rows = [
        ("q2", "d", 0.1),
        ("q1", "a", 0.2),
        ("q1", "b", 0.99),
        ("q3", "x", 0.01),
        ("q1", "c", 0.95),
        ("q2", "e", 1.0),
    ]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    return frame.assign(query="words", rank=9, text=[f"text of {row[1]}" for row in rows])


def calibrated(**choices) -> cl.Certificate:
    queries = cl.datasets.simulate(2000, rng=0, vectors=2)
    certificate = cl.calibrate(
        queries, loss=cl.FalseDiscovery(cl.Grade(at_least=2)), alpha=0.3, delta=0.1, thresholds=[0.9, 0.8], **choices
    )
    assert isinstance(certificate, cl.Certificate)
    return certificate


def test_cut_is_a_step_of_a_pipeline_and_counts_ranks_from_0(terrier, results):
    from cutline.io.pyterrier import Cut

    pipeline = terrier.Transformer.from_df(results, uniform=True) >> Cut(calibrated())
    cut = pipeline(results[["qid", "query"]].drop_duplicates())
    assert cut[["qid", "docno", "rank", "text"]].to_numpy().tolist() == [
        ["q2", "e", 0, "text of e"], ["q1", "b", 0, "text of b"], ["q1", "c", 1, "text of c"],
    ]  # fmt: skip
    assert cut["query"].tolist() == ["words"] * 3
    assert not terrier.java.started()


def test_cut_chooses_what_the_certificate_chooses(terrier):
    from cutline.io.pyterrier import Cut

    certificate = calibrated()
    frame = SIMULATED.to_frame("pandas").rename(columns={"query_id": "qid", "item_id": "docno"})
    cut = Cut(certificate)(frame.sample(frac=1, random_state=0))
    wanted = certificate.apply(SIMULATED).to_frame("pandas")
    pairs = zip(wanted["query_id"], wanted["item_id"], wanted["rank"] - 1, strict=True)
    assert set(zip(cut["qid"], cut["docno"], cut["rank"], strict=True)) == set(pairs)


def test_diverse_lists_take_the_vectors_of_a_column(terrier, results):
    from cutline.io.pyterrier import Cut

    certificate = calibrated(sets=cl.Diverse(max_size=1, distance="euclidean"))
    with pytest.raises(InputError, match=r"results must have a column 'doc_vec', got 'qid', 'docno'"):
        Cut(certificate)(results)
    frame = results.assign(where=[np.array([place, 1.0]) for place in range(len(results))])
    assert Cut(certificate, vectors="where")(frame).groupby("qid").size().max() == 1


def test_no_results_stay_no_results(terrier, results):
    from cutline.io.pyterrier import Cut

    cut = Cut(calibrated())(results.iloc[:0])
    assert len(cut) == 0
    assert "rank" in cut.columns


def test_what_cannot_be_cut_is_refused(terrier, results):
    from cutline.io.pyterrier import Cut

    with pytest.raises(InputError, match=r"certificate must be a cl\.Certificate, got str; cl\.load reads one"):
        Cut("cert.json")
    with pytest.raises(InputError, match=r"results must have a column 'score', got 'qid', 'docno'"):
        Cut(calibrated())(results.drop(columns="score"))
    abstained = cl.calibrate(
        cl.datasets.simulate(20, rng=0), loss=cl.FalseDiscovery(cl.Grade(at_least=4)), alpha=0.01, delta=0.1,
        sets=cl.Threshold(min_size=1),
    )  # fmt: skip
    with pytest.raises(CannotApplyError, match=r"nothing was certified"):
        Cut(abstained)(results)
    assert repr(Cut(calibrated())) == f"Cut(Certificate at {calibrated().threshold:g})"


# All of them ------------------------------------------------------------------------------------------------------------


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    from cutline.io import ranx as by_ranx

    for name in ("ir_measures", "ranx", "pyterrier"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"of ir_measures, which the extra `ir` installs: pip install 'cutline"):
        list(by_measures.to_scored_docs(SIMULATED))
    with pytest.raises(MissingExtraError, match=r"of ranx, which the extra `ir` installs"):
        by_ranx.to_run(SIMULATED)
    monkeypatch.delitem(sys.modules, "cutline.io.pyterrier", raising=False)
    with pytest.raises(MissingExtraError, match=r"PyTerrier, which the extra `ir` installs"):
        __import__("cutline.io.pyterrier")


def test_io_imports_none_of_them():
    program = (
        "import sys, cutline.io, cutline.io.ir_measures, cutline.io.ranx\n"
        "print(sorted({'ir_measures', 'ranx', 'pyterrier'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
