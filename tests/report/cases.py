"""Certificates, abstentions and audits to report on, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

import cutline as cl

LOSS = cl.FalseDiscovery(cl.Grade(at_least=3))
CALIBRATION, HELD_OUT = cl.datasets.simulate(1600, rng=0).split(0.5, rng=0)
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\x07"


@cache
def certificate() -> cl.Certificate:
    found = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, thresholds=cl.grid(0.99, 0.01, 0.01))
    assert isinstance(found, cl.Certificate)
    return found


@cache
def audit():
    return cl.audit(certificate(), HELD_OUT, by="device")


@cache
def abstention() -> cl.Abstention:
    found = cl.calibrate(CALIBRATION, loss=LOSS, alpha=0.3, delta=0.1, sets=cl.Threshold(min_size=3))
    assert isinstance(found, cl.Abstention)
    return found


@cache
def page() -> str:
    return cl.report.page(
        certificate(), calibration=CALIBRATION, held_out=HELD_OUT, audit=audit(), title="Simulated queries"
    )


@cache
def hostile_page() -> str:
    """Someone else's markup as title, column, group and item."""
    queries = with_column(HELD_OUT, HOSTILE, [HOSTILE] * len(HELD_OUT))
    queries = with_column(queries, "title", [HOSTILE] * queries.n_items)
    return cl.report.page(certificate(), held_out=queries, by=HOSTILE, titles="title", title=HOSTILE)


def with_column(queries: cl.Queries, name: str, values) -> cl.Queries:
    """The same queries with one more column."""
    return cl.Queries(
        queries.scores, queries.offsets, queries.labels, None, queries.query_ids, queries.item_ids,
        {**queries.columns, name: np.asarray(values, dtype=object)},
    )  # fmt: skip
