"""From a data frame to a certificate, a file, cut lists and an audit, as a user writes it, on frames of every kind."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cutline as cl

WORLD = cl.datasets.simulate(3_000, rng=0)
NEW = cl.datasets.simulate(200, rng=1)


def as_duckdb(queries: cl.Queries) -> duckdb.DuckDBPyRelation:
    return duckdb.from_arrow(queries.to_frame("pyarrow"))


KINDS = {
    "pandas": (lambda queries: queries.to_frame("pandas"), pd.DataFrame),
    "polars": (lambda queries: queries.to_frame("polars"), pl.DataFrame),
    "lazy polars": (lambda queries: queries.to_frame("polars").lazy(), pl.DataFrame),
    "pyarrow": (lambda queries: queries.to_frame("pyarrow"), pa.Table),
    "duckdb": (as_duckdb, pa.Table),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_path_runs_on_frames_of_every_kind_and_gives_the_same(kind, tmp_path):
    to_frame, came_back = KINDS[kind]
    queries = cl.Queries.from_frame(to_frame(WORLD))
    calibration, held_out = queries.split(0.5, rng=0)
    loss = cl.FalseDiscovery(cl.Grade(at_least=3, unjudged="bad"))

    certificate = cl.calibrate(
        calibration,
        loss=loss,
        alpha=0.30,
        delta=0.10,
        scoring=cl.AsGiven(),
        sets=cl.Threshold(min_size=0, max_size=None),
        evidence=cl.evidence.Betting(),
        thresholds=None,
        sequence=cl.FixedSequence(),
        seed=0,
    )
    assert isinstance(certificate, cl.Certificate)
    assert (
        certificate.threshold == cl.calibrate(WORLD.split(0.5, rng=0)[0], loss=loss, alpha=0.30, delta=0.10).threshold
    )
    assert "Not promised" in certificate.statement()
    certificate.save(tmp_path / "cert.json")
    assert cl.load(tmp_path / "cert.json").seal == certificate.seal

    new_queries = cl.Queries.from_frame(to_frame(NEW))
    slates = certificate.apply(new_queries)
    assert isinstance(slates.to_frame(), came_back)
    for query, kept in zip(new_queries, slates, strict=True):
        np.testing.assert_array_equal(certificate.choose(query.scores, vectors=None), kept)

    audit = cl.audit(certificate, held_out, by="device")
    assert audit.verdict in ("confirmed", "holds", "inconclusive", "above")
    assert {group.name for group in audit.by["device"]} == {"phone", "desktop", "tablet"}
    splits = cl.resample(queries, loss=loss, alpha=0.30, delta=0.10, n_calibration=1_500, repeats=3, rng=0)
    assert len(splits) == 3

    curve = cl.RiskCurve.empty(
        loss=loss, scoring=cl.AsGiven(), sets=cl.Threshold(), thresholds=cl.grid(0.99, 0.01, 0.01)
    )
    other = curve.add(held_out)
    curve = curve.add(calibration)
    curve = curve.merge(other)
    from_sums = cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())
    assert from_sums.n_queries == 3_000
