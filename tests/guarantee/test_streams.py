"""The promise for files of many queries: betting on those of smallest hash keeps delta, also where a file drifts and ids
are its row numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.streaming.worlds import parquet, streamed

import cutline as cl
from cutline.errors import CutlineWarning

pytestmark = pytest.mark.guarantee
ALPHA, DELTA, QUERIES, MOST, DRAWS = 0.3, 0.1, 300, 100, 250
ALLOWED = int(stats.binom.ppf(0.9999, DRAWS, DELTA))
LOSS = cl.FalseDiscovery(cl.Grade(at_least=1))


def drawn(rng: np.random.Generator) -> pa.Table:
    """Lists of one item, bad with a chance that rises from 0.05 to 0.56 along the file: just above alpha on average."""
    bad = rng.random(QUERIES) < np.linspace(0.05, 0.56, QUERIES)
    rows = np.arange(QUERIES)
    return pa.table({"query_id": rows, "score": np.full(QUERIES, 0.5) + rows / 1e9, "label": 1 - bad.astype(float)})


@pytest.mark.filterwarnings("ignore:betting evidence looks at")
@pytest.mark.parametrize("evidence", [cl.evidence.Betting(), None], ids=["betting on some", "sums of all"])
def test_a_stream_keeps_delta_on_a_drifting_file(tmp_path, evidence):
    rng = np.random.default_rng(3)
    violations = 0
    for _ in range(DRAWS):
        path = parquet(tmp_path / "rows.parquet", drawn(rng))
        found = streamed(path, alpha=ALPHA, delta=DELTA, loss=LOSS, evidence=evidence, thresholds=[0.5], most=MOST)
        violations += not isinstance(found.certificate, cl.Abstention)
    assert violations <= ALLOWED, violations


def test_this_harness_catches_the_first_queries_of_the_file():
    rng = np.random.default_rng(3)
    violations = 0
    for _ in range(50):
        first = cl.Queries.from_frame(drawn(rng).slice(0, MOST))
        found = cl.calibrate(first, alpha=ALPHA, delta=DELTA, loss=LOSS, thresholds=[0.5])
        violations += not isinstance(found, cl.Abstention)
    assert violations > 40


def test_a_stream_certifies_where_the_risk_is_well_below_alpha(tmp_path: Path):
    rows = drawn(np.random.default_rng(0))
    good = rows.set_column(2, "label", pa.array((np.random.default_rng(1).random(QUERIES) < 0.9).astype(float)))
    path = parquet(tmp_path / "rows.parquet", good)
    with pytest.warns(CutlineWarning, match="looks at 100 of 300"):
        found = streamed(
            path, alpha=ALPHA, delta=DELTA, loss=LOSS, evidence=cl.evidence.Betting(), thresholds=[0.5], most=MOST
        )
    assert isinstance(found.certificate, cl.Certificate)
