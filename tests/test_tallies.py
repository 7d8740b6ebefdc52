"""Counts of cut lists add up, and the figures from them are those of the losses themselves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ragged import tables

import cutline as cl
from cutline import auditing, tallies
from cutline.cutting import scores_of
from cutline.evidence import EmpiricalBernstein
from cutline.tallies import Tally, interval_of_sums, quantiles, tally_of

LOSS = cl.FalseDiscovery(cl.Grade(1))


def certificate_at(threshold: float) -> cl.Certificate:
    queries = cl.Queries.from_arrays(np.full(60, threshold), np.ones(60), group=np.ones(60, np.int64))
    made = cl.calibrate(queries, loss=LOSS, alpha=0.3, delta=0.1, thresholds=[threshold])
    assert isinstance(made, cl.Certificate)
    return made


def counted(certificate: cl.Certificate, queries: cl.Queries) -> Tally:
    chosen = certificate.cut_quietly(queries).chosen
    return tally_of(certificate, queries, scores_of(queries, certificate.scoring), chosen)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_quantiles_from_counts_are_those_of_the_numbers(numbers, shares):
    values, counts = np.unique(numbers, return_counts=True)
    counted = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert quantiles(counted, shares) == np.quantile(numbers, shares).tolist()
    quarters = [0.25, 0.5, 0.75]
    assert quantiles(counted, quarters, lower=True) == np.quantile(numbers, quarters, method="inverted_cdf").tolist()


@pytest.mark.filterwarnings("ignore::cutline.errors.CutlineWarning")
@given(queries=tables(), data=st.data())
def test_chunks_add_up_to_the_tally_of_all(queries, data):
    certificate = certificate_at(0.5)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(queries) - 1)), max_size=3)) | {0, len(queries)})
    total = Tally()
    for start, stop in pairwise(cuts):
        total.add(counted(certificate, queries.select(slice(start, stop))))
    whole = Tally()
    whole.add(counted(certificate, queries))
    for name in (
        "cautions",
        "fingerprint",
        "lengths",
        "labels",
        "sizes",
        "squares",
        "bad",
        "judged",
        "good",
        "good_kept",
    ):
        assert getattr(total, name) == getattr(whole, name), name
    np.testing.assert_array_equal(np.concatenate(total.losses), np.concatenate(whole.losses))


def test_beyond_so_many_queries_the_interval_is_empirical_bernsteins(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_BET", 300)
    queries = cl.datasets.simulate(600, rng=0)
    loss = cl.FalseDiscovery(cl.Grade(at_least=3))
    certificate = cl.calibrate(cl.datasets.simulate(600, rng=1), loss=loss, alpha=0.4, delta=0.1)
    found = cl.audit(certificate, queries)
    chosen = certificate.cut(queries).chosen
    bad = queries.labels < 3  # type: ignore[operator]
    sizes = np.maximum(np.add.reduceat(chosen, queries.offsets[:-1]), 1)
    losses = np.add.reduceat(chosen & bad, queries.offsets[:-1]) / sizes
    bound = EmpiricalBernstein()
    assert found.risk == pytest.approx(losses.mean(), abs=1e-9)
    assert found.high == pytest.approx(bound.upper_bound(losses, delta=0.025), abs=1e-8)
    assert found.low == pytest.approx(1 - bound.upper_bound(1 - losses, delta=0.025), abs=1e-8)
    assert found.p_above == pytest.approx(bound.p_value(1 - losses, alpha=0.6), rel=1e-6)
    half = counted(certificate, queries.select(slice(0, 300)))
    half.add(counted(certificate, queries.select(slice(300, 600))))
    assert not half.losses
    assert interval_of_sums(half, alpha=0.4) == (found.low, found.high, found.p_above)
    assert auditing.audit_of(certificate, half, None).to_dict() == found.to_dict()
