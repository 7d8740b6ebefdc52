"""Diverse lists on the command line: vectors in a column or in a file of their own, and the same as in Python."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import refused, shell
from tests.io import files

import cutline as cl

PROMISE = ("--alpha", "0.3", "--delta", "0.1", "--good-at-least", "3")
LOSS = cl.FalseDiscovery(cl.Grade(at_least=3))


def with_vectors(queries: cl.Queries, seed: int) -> cl.Queries:
    vectors = np.random.default_rng(seed).normal(size=(queries.n_items, 6))
    return replace(queries, vectors=vectors, columns=dict(queries.columns))


CALIBRATION, NEW = (
    with_vectors(part, seed) for seed, part in enumerate(cl.datasets.simulate(3_000, rng=0).split(0.5, rng=0))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Tables with a column of lists, one of fixed-size lists, without vectors; and vectors by item id."""
    made = tmp_path_factory.mktemp("diverse")
    for name, queries in (("old", CALIBRATION), ("new", NEW)):
        table = queries.to_frame("pyarrow").rename_columns({"vector": "embedding"})
        pq.write_table(table, made / f"{name}-fixed.parquet")
        column = table.schema.get_field_index("embedding")
        lists = table.column("embedding").cast(pa.list_(pa.float64()))
        pq.write_table(table.set_column(column, "embedding", lists), made / f"{name}-lists.parquet")
        files.write(made / f"{name}-lists.jsonl", "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        plain = replace(queries, vectors=None, columns=dict(queries.columns))
        cl.io.write_queries(plain, made / f"{name}-plain.csv")
        own = pa.table({"item_id": queries.item_ids, "embedding": lists})
        pq.write_table(own.take(np.random.default_rng(3).permutation(len(own))), made / f"{name}-vectors.parquet")
    return made


FORMS = {"fixed.parquet": "embedding", "lists.parquet": "embedding", "lists.jsonl": "embedding", "plain.csv": None}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_from_a_column_or_a_file_give_what_python_gives(folder, form, tmp_path):
    old = FORMS[form] or folder / "old-vectors.parquet"
    new = FORMS[form] or folder / "new-vectors.parquet"
    ended = shell(
        "calibrate", folder / f"old-{form}", *PROMISE, "--diverse", "3", "--vectors", old, "-o", tmp_path / "cert.json"
    )
    assert ended.code == 0, ended.err
    expected = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, sets=cl.Diverse(max_size=3))
    assert cl.load(tmp_path / "cert.json").seal == expected.seal
    ended = shell(
        "apply", tmp_path / "cert.json", folder / f"new-{form}", "--vectors", new, "-o", tmp_path / "cut.jsonl"
    )
    assert ended.code == 0, ended.err
    slates = expected.apply(NEW)
    assert slates.sizes.max() == 3
    queries = NEW.query_ids[NEW.query_of_item()]
    wanted = {(queries[row], NEW.item_ids[row]) for row in slates.order.tolist()}
    assert files.pairs_of(tmp_path / "cut.jsonl") == wanted
    audited = shell("audit", tmp_path / "cert.json", folder / f"new-{form}", "--vectors", new, "--json")
    assert audited.json["risk"] == cl.audit(expected, NEW).risk
    assert audited.json["diversity"]["n_modified"] == cl.audit(expected, NEW).diversity.n_modified


def test_distance_and_strategy_are_flags(folder):
    scores = folder / "old-fixed.parquet"
    flags = ("--diverse", "2", "--vectors", "embedding", "--distance", "cosine", "--strategy", "mmr", "--json")
    ended = shell("calibrate", scores, *PROMISE, *flags)
    expected = cl.calibrate(
        CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, sets=cl.Diverse(max_size=2, distance="cosine", strategy="mmr")
    )
    assert ended.json["seal"] == expected.seal


def test_show_says_what_the_promise_is_about(folder, tmp_path):
    shell(
        "calibrate",
        folder / "old-fixed.parquet",
        *PROMISE,
        "--diverse",
        "3",
        "--vectors",
        "embedding",
        "-o",
        tmp_path / "c.json",
    )
    out = shell("show", tmp_path / "c.json").out
    assert "at most 3" in out
    assert "eliminate" in out


def test_the_frontier_shows_what_diverse_lists_gain(folder):
    flags = (
        "--alphas",
        "0.3,0.4",
        "--delta",
        "0.1",
        "--good-at-least",
        "3",
        "--diverse",
        "3",
        "--vectors",
        "embedding",
    )
    ended = shell("frontier", folder / "old-fixed.parquet", *flags, "--max-sizes", "2,3", "--json")
    assert len(ended.json["points"]) == 4
    for point in ended.json["points"]:
        assert 0 < point["share_modified"] < 1
        assert point["diversity"] > 0
        assert point["n_modified"] > 0
    assert "modified" in shell("frontier", folder / "old-fixed.parquet", *flags).out


def test_a_certificate_that_needs_vectors_is_not_applied_without(folder, tmp_path):
    shell(
        "calibrate",
        folder / "old-fixed.parquet",
        *PROMISE,
        "--diverse",
        "3",
        "--vectors",
        "embedding",
        "-o",
        tmp_path / "c.json",
    )
    had = {"c.json"}
    plain = folder / "new-plain.csv"
    ended = shell("apply", tmp_path / "c.json", plain, "-o", tmp_path / "cut.csv")
    assert refused(ended, "new-plain.csv has no vectors", "--vectors", folder=tmp_path, had=had)
    ended = shell(
        "apply", tmp_path / "c.json", folder / "new-fixed.parquet", "-o", tmp_path / "cut.csv", "--vectors", "embeding"
    )
    assert refused(ended, "--vectors names a column that is not there", "did you mean 'embedding'?")
    ended = shell("audit", tmp_path / "c.json", folder / "new-fixed.parquet")
    assert refused(ended, "has no vectors", "--vectors")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--vectors", "embedding"), ("--vectors belongs to --diverse M",)),
        (("--distance", "cosine"), ("--distance belongs to --diverse M",)),
        (("--diverse", "3", "--vectors", "embedding", "--max-size", "5"), ("--diverse M says how long",)),
        (("--diverse", "0", "--vectors", "embedding"), ("at least 1, got 0",)),
        (("--diverse", "3"), ("has no vectors", "--vectors")),
        (("--diverse", "3", "--vectors", "device"), ("'device' must hold lists of numbers",)),
        (("--diverse", "3", "--vectors", "embedding", "--distance", "jaccard"), ("0 and 1 only",)),
        (("--diverse", "3", "--vectors", "embedding", "--thresholds", "exact"), ("exact", "Threshold")),
    ],
)
def test_flags_of_diverse_lists_that_make_no_sense_are_refused(folder, flags, words):
    assert refused(shell("calibrate", folder / "old-fixed.parquet", *PROMISE, *flags), *words)


def test_files_of_vectors_are_checked(folder, tmp_path):
    plain = folder / "old-plain.csv"
    ids = CALIBRATION.item_ids[:-1]
    pq.write_table(pa.table({"item_id": ids, "vector": [[1.0, 2.0]] * len(ids)}), tmp_path / "few.parquet")
    ended = shell("calibrate", plain, *PROMISE, "--diverse", "3", "--vectors", tmp_path / "few.parquet")
    assert refused(ended, f"item {CALIBRATION.item_ids[-1]!r} has no vector in", "few.parquet")
    twice = [*CALIBRATION.item_ids, CALIBRATION.item_ids[0]]
    pq.write_table(pa.table({"item_id": twice, "vector": [[1.0, 2.0]] * len(twice)}), tmp_path / "twice.parquet")
    ended = shell("calibrate", plain, *PROMISE, "--diverse", "3", "--vectors", tmp_path / "twice.parquet")
    assert refused(ended, "twice.parquet", "appears twice", "one vector per item")
    ended = shell("calibrate", plain, *PROMISE, "--diverse", "3", "--vectors", plain)
    assert refused(ended, "vectors come from parquet or JSONL")
    ragged = [[1.0, 2.0]] * (len(ids) - 1) + [[1.0]]
    pq.write_table(pa.table({"item_id": ids, "vector": ragged}), tmp_path / "ragged.parquet")
    ended = shell("calibrate", plain, *PROMISE, "--diverse", "3", "--vectors", tmp_path / "ragged.parquet")
    assert refused(ended, "vectors of one length")
