"""The same queries written in every form, and files that are wrong in one place."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

import cutline as cl

SMALL = """query_id,item_id,score,label,device
q1,a,0.9,3,phone
q1,b,0.5,0,phone
q2,a,0.7,1,desktop
q2,c,0.1,2,desktop
"""
RUN = """q1 Q0 a 1 0.9 bm25
q1 Q0 b 2 0.5 bm25
q2 Q0 a 1 0.7 bm25
q2 Q0 c 2 0.1 bm25
"""
QRELS = """q1 0 a 3
q1 0 b 0
q2 0 a 1
q2 0 c 2
"""
LETOR = """3 qid:q1 1:0.5 2:1 # a
0 qid:q1 1:0.25 # b
1 qid:q2 2:1 # a
2 qid:q2 1:0.125 # c
"""
PREDICTIONS = "0.9\n0.5\n0.7\n0.1\n"


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def in_every_form(queries: cl.Queries, folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """For each form the file of scores and the flags that go with it."""
    judged = ["--labels", str(folder / "judged.qrels")]
    cl.io.write_queries(queries, folder / "judged.qrels")
    forms: dict[str, tuple[Path, list[str]]] = {}
    for ending in ("parquet", "csv", "tsv", "jsonl", "parquet.gz", "csv.gz", "jsonl.gz"):
        cl.io.write_queries(queries, folder / f"scores.{ending}")
        forms[ending] = folder / f"scores.{ending}", []
    for ending in ("run", "res.gz"):
        cl.io.write_queries(queries, folder / f"scores.{ending}")
        forms[ending] = folder / f"scores.{ending}", judged
    forms["letor"] = write_letor(queries, folder), ["--predictions", str(folder / "predictions.txt")]
    return forms


def write_letor(queries: cl.Queries, folder: Path) -> Path:
    assert queries.labels is not None
    assert queries.query_ids is not None
    assert queries.item_ids is not None
    rows = zip(
        queries.labels.tolist(), queries.query_ids[queries.query_of_item()], queries.item_ids.tolist(), strict=True
    )
    write(folder / "scores.svm", "".join(f"{label:g} qid:{query} 1:0.5 7:1 # {item}\n" for label, query, item in rows))
    write(folder / "predictions.txt", "".join(f"{score!r}\n" for score in queries.scores.tolist()))
    return folder / "scores.svm"


def pairs_of(path: Path) -> set[tuple[str, str]]:
    """The (query, item) pairs that a file of cut lists holds."""
    if ".run" in path.name:
        lines = path.read_text().splitlines()
        return {(line.split()[0], line.split()[2]) for line in lines}
    queries = cl.io.read_queries(path)
    assert queries.query_ids is not None
    assert queries.item_ids is not None
    return set(zip(queries.query_ids[queries.query_of_item()].tolist(), queries.item_ids.tolist(), strict=True))


def same(one: cl.Queries, other: cl.Queries) -> bool:
    """Whether two tables hold the same queries, in the same order."""
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.query_ids, other.query_ids)
    np.testing.assert_array_equal(one.item_ids, other.item_ids)
    return True
