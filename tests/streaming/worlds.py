"""Files that are read in chunks, and what is done with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

import cutline as cl
from cutline.streaming.calibrating import Streamed, Terms, calibrate_stream
from cutline.streaming.lots import Reader
from cutline.streaming.stream import opened

LOSS = cl.FalseDiscovery(cl.Grade(at_least=3))
SMALL = 1 << 20  # bytes: parts and chunks are then as small as they get


def table(queries: int = 400, *, seed: int = 0, longest: int = 16) -> pa.Table:
    """Lists of different lengths; some labels are missing, and ids are text of different lengths."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest, queries)
    of_query = np.repeat(rng.permutation(queries) * 7, sizes)
    n = len(of_query)
    scores = rng.random(n)
    labels = np.where(rng.random(n) < 0.1 + 0.85 * scores, 3, 0) + rng.integers(0, 2, n)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return pa.table(
        {
            "query_id": [f"q{query}" for query in of_query],
            "item_id": [f"é{place}" for place in np.arange(n) - starts],
            "score": scores,
            "label": pa.array(labels.astype(float), mask=rng.random(n) < 0.05),
            "device": [("phone", "desk")[query % 2] for query in of_query],
        }
    )


def scattered(rows: pa.Table, *, seed: int = 1) -> pa.Table:
    """The same rows in any order."""
    return rows.take(np.random.default_rng(seed).permutation(len(rows)))


def parquet(path: Path, rows: pa.Table, *, group: int = 700) -> Path:
    pq.write_table(rows, path, row_group_size=group)
    return path


def csv(path: Path, rows: pa.Table) -> Path:
    pacsv.write_csv(rows, path)
    return path


def streamed(path: Path, *, memory: int = 64 << 20, **terms: Any) -> Streamed:
    """What calibrating it in chunks gives."""
    given = {"alpha": 0.3, "delta": 0.1, "loss": LOSS, **terms}
    with opened(path, memory=memory) as stream:
        return calibrate_stream(stream, Terms(**given), Reader(roles=stream.roles, form=stream.form.name))


def in_memory(path: Path, *, most: int = 200_000, **terms: Any) -> cl.Certificate | cl.Abstention:
    """What calibrating it whole gives."""
    given = {"alpha": 0.3, "delta": 0.1, "loss": LOSS, **terms}
    return cl.calibrate(cl.io.read_queries(path), most_queries=most, **given)
