"""What the charts show is what certificates, audits and frontiers hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.cases import CALIBRATION, HELD_OUT, LOSS, abstention, audit, certificate

import cutline as cl
from cutline.auditing import Sizes
from cutline.report import numbers

pytest.importorskip("altair", reason="needs the extra `report`")


def rows_of(chart, *keys: str) -> list[dict]:
    """The rows of the first data of a chart that have these fields."""
    spec = chart.to_dict()
    tables = [*spec.get("datasets", {}).values()]
    tables += [layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})]
    return next(rows for rows in tables if rows and all(key in rows[0] for key in keys))


def encoding_of(chart, channel: str) -> list[dict]:
    return [layer["encoding"][channel] for layer in chart.to_dict()["layer"] if channel in layer.get("encoding", {})]


def test_the_risk_curve_is_that_of_the_certificate():
    rows = rows_of(cl.report.risk_curve(certificate()), "threshold", "risk", "bound")
    for name in ("threshold", "risk", "bound", "mean_size"):
        assert [row[name] for row in rows] == getattr(certificate().curve, name)


def test_the_risk_curve_marks_alpha_and_the_cut():
    chart = cl.report.risk_curve(certificate())
    assert rows_of(chart, "level")[0]["level"] == 0.3
    assert rows_of(chart, "cut")[0]["cut"] == certificate().threshold


def test_held_out_queries_have_the_risk_of_the_audit_at_the_cut():
    rows = rows_of(cl.report.risk_curve(certificate(), held_out=HELD_OUT), "held_out")
    assert next(row["held_out"] for row in rows if row["threshold"] == certificate().threshold) == audit().risk


def test_thresholds_go_in_the_order_of_the_walk():
    rising = cl.calibrate(CALIBRATION, loss=cl.Miss(cl.Grade(at_least=3)), alpha=0.2, delta=0.1)
    scales = [encoding_of(cl.report.risk_curve(each), "x")[0]["scale"] for each in (certificate(), rising)]
    assert [scale["reverse"] for scale in scales] == [True, False]


def test_a_certificate_without_a_finite_threshold_has_no_curve():
    everything = cl.calibrate(
        CALIBRATION, loss=LOSS, alpha=0.9, delta=0.1, sets=cl.Threshold(min_size=50), evidence=cl.evidence.Convex()
    )
    assert not everything.curve.threshold
    with pytest.raises(cl.report.writing.InputError, match="no finite threshold"):
        cl.report.risk_curve(everything)
    assert "no finite" not in cl.report.page(everything)


def test_calibration_reaches_to_its_bound_and_the_audit_over_its_interval():
    first, second = numbers.beside_rows(certificate(), audit())
    assert first["risk"] == first["low"] == certificate().risk
    place = certificate().curve.threshold.index(certificate().threshold)
    assert first["high"] == certificate().curve.bound[place] <= 0.3
    assert (second["low"], second["risk"], second["high"]) == (audit().low, audit().risk, audit().high)


@pytest.mark.parametrize("loss", [LOSS, cl.Miss(cl.Grade(at_least=3))], ids=["falling", "rising"])
def test_the_bound_of_an_exact_walk_is_that_of_the_last_score_that_passed(loss):
    found = cl.calibrate(CALIBRATION, loss=loss, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())
    assert found.thresholds == "exact"
    assert found.curve.bound[-1] > 0.3 >= found.curve.bound[-2] == numbers.bound_at_cut(found)


def test_strata_and_groups_are_those_of_the_audit():
    for chart, groups in (
        (cl.report.strata(audit()), audit().strata),
        (cl.report.groups(audit()), audit().by["device"]),
    ):
        rows = rows_of(chart, "name", "risk")
        assert [(row["name"], row["risk"], row["low"], row["high"]) for row in rows] == [
            (group.name, group.risk, group.low, group.high) for group in groups
        ]


def test_a_column_that_was_not_audited_is_refused_by_name():
    with pytest.raises(ValueError, match=r"by must be a column of the audit \('device'\), got 'country'"):
        cl.report.groups(audit(), "country")


def test_of_many_groups_those_with_the_most_queries_are_shown():
    many = cl.audit(certificate(), HELD_OUT, by="device").by["device"]
    crowd = [type(many[0])(name=str(n), n_queries=n, risk=0.1, low=0.0, high=0.2, mean_size=1.0) for n in range(40)]
    assert [row["name"] for row in numbers.group_rows(crowd)] == [str(n) for n in range(28, 40)]


@given(st.dictionaries(st.integers(0, 3000), st.integers(1, 50), min_size=1, max_size=40))
def test_every_list_is_in_one_bar(histogram):
    lists = cl.Slates(queries=CALIBRATION, chosen=np.zeros(CALIBRATION.n_items, bool), order=np.empty(0, np.int64))
    shown = object.__new__(type(audit()))
    object.__setattr__(shown, "sizes", Sizes(mean=0, quartiles=(0, 0, 0), smallest=0, largest=0, histogram=histogram))
    rows = numbers.size_rows(shown, lists)
    assert sum(row["count"] for row in rows) == sum(histogram.values())
    assert rows[0]["count"] == histogram.get(0, 0)
    assert rows[0]["beside"] == 1.0
    assert len(rows) <= numbers.BARS + 1
    assert len({row["size"] for row in rows}) == len(rows)


def test_what_another_alpha_would_cost_is_what_the_frontier_says():
    frontier = cl.frontier(CALIBRATION, alphas=[0.001, 0.2, 0.3], delta=0.1, loss=LOSS)
    rows = numbers.cost_rows(frontier)
    drawn = rows_of(cl.report.costs(frontier, alpha=0.3), "limit")
    assert drawn == [row for row in rows if row["certified"]]  # the line; crosses stand apart from it
    sizes = [point.mean_size for point in frontier]
    assert sizes[0] is None
    assert [row["mean_size"] for row in rows] == [0.0, *sizes[1:]]
    assert [row["certified"] for row in rows] == [False, True, True]
    assert "nothing certified" in rows[0]["said"]


def test_one_alpha_with_several_sizes_is_drawn_by_size():
    frontier = cl.frontier(CALIBRATION, alphas=0.3, delta=0.1, loss=LOSS, max_sizes=[2, 4])
    assert encoding_of(cl.report.costs(frontier), "x")[0]["field"] == "limit"


@pytest.mark.parametrize("palette", [cl.report.LIGHT, cl.report.DARK], ids=["light", "dark"])
def test_no_chart_has_a_colour_of_another_palette(palette):
    other = cl.report.DARK if palette is cl.report.LIGHT else cl.report.LIGHT
    slates = certificate().apply(CALIBRATION)
    frontier = cl.frontier(CALIBRATION, alphas=[0.2, 0.3], delta=0.1, loss=LOSS)
    for chart in (
        cl.report.risk_curve(certificate(), held_out=HELD_OUT, palette=palette),
        cl.report.beside(certificate(), audit(), palette=palette),
        cl.report.strata(audit(), palette=palette),
        cl.report.groups(audit(), palette=palette),
        cl.report.sizes(audit(), beside=slates, palette=palette),
        cl.report.costs(frontier, palette=palette),
    ):
        text = json.dumps(chart.to_dict())
        assert palette.paper in text
        assert not [colour for colour in other.by_name().values() if colour in text]


def test_the_bound_of_an_abstention_is_that_of_the_first_threshold():
    assert numbers.bound_at_cut(abstention()) == abstention().curve.bound[0]


def test_what_cannot_be_shown_is_not():
    assert numbers.readable("a\x00b\u202ec\n d\ud800") == "a�b�c d�"
    assert len(numbers.readable("x" * 1000)) == numbers.LONGEST
