"""In Python the calls on a path give what the calls on queries give."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.streaming.worlds import LOSS, SMALL, parquet, table

import cutline as cl
from cutline import streaming
from cutline.errors import CutlineWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore::cutline.errors.CutlineWarning")


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return parquet(tmp_path_factory.mktemp("calls") / "rows.parquet", table(), group=500)


def test_calibrate_audit_and_risk_curve_are_those_of_the_queries(path):
    queries = cl.io.read_queries(path)
    wanted = cl.calibrate(queries, loss=LOSS, alpha=0.35, delta=0.1)
    found = streaming.calibrate(path, loss=LOSS, alpha=0.35, delta=0.1)
    assert found.to_dict() == wanted.to_dict()
    assert streaming.audit(found, path, by="device").to_dict() == cl.audit(wanted, queries, by="device").to_dict()
    grid = cl.grid(0.9, 0.1, 0.1)
    curve = streaming.risk_curve(path, loss=LOSS, thresholds=grid, memory=SMALL)
    assert curve.sums.tolist() == cl.RiskCurve.empty(loss=LOSS, thresholds=grid).add(queries).sums.tolist()


def test_apply_writes_what_the_certificate_chooses(path, tmp_path):
    queries = cl.io.read_queries(path)
    certificate = cl.calibrate(queries, loss=LOSS, alpha=0.35, delta=0.1)
    cut = streaming.apply(certificate, path, tmp_path / "cut.parquet", memory=SMALL)
    slates = certificate.apply(queries)
    assert (cut.queries, cut.items, cut.chosen) == (len(queries), queries.n_items, len(slates.order))
    assert cut.empty == int((slates.sizes == 0).sum())
    assert queries.item_ids is not None
    assert pq.read_table(tmp_path / "cut.parquet")["item_id"].to_pylist() == queries.item_ids[slates.order].tolist()


def test_diverse_lists_are_cut_and_calibrated_in_chunks(tmp_path):
    rows = table(120)
    vectors = np.random.default_rng(0).random((len(rows), 3)).astype(np.float32)
    path = parquet(tmp_path / "rows.parquet", rows.append_column("vector", pa.array(list(vectors))), group=200)
    terms = {"loss": LOSS, "alpha": 0.5, "delta": 0.1, "sets": cl.Diverse(max_size=3)}
    queries = cl.io.read_queries(path)
    for more in ({}, {"most_queries": 50}):
        found = streaming.calibrate(path, **terms, **more)
        assert found.to_dict() == cl.calibrate(queries, **terms, **more).to_dict()
    assert found.vector_width == 3
    cut = streaming.apply(found, path, tmp_path / "cut.parquet")
    assert cut.chosen == len(found.apply(queries).order)
    verdict = streaming.audit(found, path)
    assert verdict.diversity is None
    assert verdict.risk == cl.audit(found, queries).risk


def test_labels_of_their_own_leave_out_queries_that_nobody_judged(path, tmp_path):
    rows = pq.read_table(path)
    known = rows.filter(pa.compute.is_valid(rows["label"]))
    few = known.filter(pa.compute.not_equal(known["query_id"], known["query_id"][0]))
    pq.write_table(few.select(["query_id", "item_id", "label"]), tmp_path / "judged.parquet")
    parquet(tmp_path / "scores.parquet", rows.drop_columns(["label"]), group=300)
    scores, judged = tmp_path / "scores.parquet", tmp_path / "judged.parquet"
    wanted = cl.calibrate(cl.io.read_queries(scores, labels=judged), loss=LOSS, alpha=0.35, delta=0.1)
    found = streaming.calibrate(scores, labels=judged, loss=LOSS, alpha=0.35, delta=0.1, memory=8 * SMALL)
    assert found.to_dict() == wanted.to_dict()
    assert found.n_queries + found.sample < 400


def test_the_curve_tells_what_it_tells_in_memory_and_refuses_labels_of_other_queries(path, tmp_path):
    rows = pq.read_table(path)
    numbers = np.cumsum(np.append(True, np.asarray(rows["query_id"])[1:] != np.asarray(rows["query_id"])[:-1]))
    blank = pa.array(np.where(numbers % 10 == 0, np.nan, np.nan_to_num(rows["label"].to_numpy())))
    some = parquet(tmp_path / "blank.parquet", rows.set_column(3, "label", blank))
    parquet(tmp_path / "scores.parquet", rows.drop_columns(["label"]))
    judged = rows.slice(0, 900).select(["query_id", "item_id", "label"])
    pq.write_table(judged.filter(pa.compute.is_valid(judged["label"])), tmp_path / "judged.parquet")
    terms = {"loss": LOSS, "thresholds": cl.grid(0.9, 0.1, 0.1)}
    for scores, labels in ((some, None), (tmp_path / "scores.parquet", tmp_path / "judged.parquet")):
        with warnings.catch_warnings(record=True) as whole:
            warnings.simplefilter("always", CutlineWarning)
            wanted = cl.RiskCurve.empty(**terms).add(cl.io.read_queries(scores, labels=labels))
        with warnings.catch_warnings(record=True) as parts:
            warnings.simplefilter("always", CutlineWarning)
            found = streaming.risk_curve(scores, labels=labels, memory=SMALL, **terms)
        assert found.state() == wanted.state()
        assert [str(each.message) for each in parts] == [str(each.message) for each in whole]
        assert len(parts) == 1
    (tmp_path / "other.qrels").write_text("elsewhere 0 a 1\n")
    with pytest.raises(InputError, match="share no query"):
        streaming.risk_curve(tmp_path / "scores.parquet", labels=tmp_path / "other.qrels", **terms)


def test_few_scores_of_single_precision_are_told(tmp_path):
    rows = table()
    coarse = pa.array(np.round(rows["score"].to_numpy(), 1).astype(np.float32))
    path = parquet(tmp_path / "rows.parquet", rows.set_column(2, "score", coarse))
    with pytest.warns(CutlineWarning, match=r"rows\.parquet: scores are of single precision"):
        certificate = streaming.calibrate(path, loss=LOSS, alpha=0.35, delta=0.1)
    with pytest.warns(CutlineWarning, match=r"rows\.parquet: scores are of single precision"):
        streaming.apply(certificate, path, tmp_path / "cut.parquet")
    path = parquet(tmp_path / "rows.parquet", pq.read_table(path).slice(0, 600))
    with warnings.catch_warnings(record=True) as notes:  # too few rows to tell, however often they are read
        warnings.simplefilter("always", CutlineWarning)
        streaming.calibrate(path, loss=LOSS, alpha=0.35, delta=0.1, most_queries=20)
    assert not [each for each in notes if "single precision" in str(each.message)]


def test_what_makes_no_sense_is_refused(path, tmp_path):
    with pytest.raises(InputError, match="loss must be"):
        streaming.calibrate(path, loss=cl.Grade(3), alpha=0.3, delta=0.1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="memory must be"):
        streaming.calibrate(path, loss=LOSS, alpha=0.3, delta=0.1, memory=10)
    with pytest.raises(InputError, match="alpha must be"):
        streaming.calibrate(path, loss=LOSS, alpha=30, delta=0.1)
    with pytest.raises(InputError, match="names a column that is not there"):
        streaming.calibrate(path, loss=LOSS, alpha=0.3, delta=0.1, columns={"label": "rating"})
    certificate = streaming.calibrate(path, loss=LOSS, alpha=0.35, delta=0.1)
    with pytest.raises(InputError, match="is the input"):
        streaming.apply(certificate, path, path)
