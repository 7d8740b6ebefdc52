"""Histograms have alpha as an edge, and charts draw what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from cutline.paper import charts
from cutline.paper.figures import columns_of, listed

pytest.importorskip("altair", reason="needs the extra `report`")


@pytest.mark.parametrize("values", [[0.28, 0.291, 0.305], [0.1], [0.3, 0.3], [0.9, 0.01], []])
def test_alpha_is_an_edge_of_the_bins_which_hold_all_risks(values):
    edges = charts.risk_edges([np.array(values)], 0.3)
    assert np.abs(edges - 0.3).min() < 1e-12
    assert (np.diff(edges) > 0).all()
    assert all(edges[0] <= value <= edges[-1] for value in values)
    assert (0.3 - edges[0]) / (edges[-1] - edges[0]) > 0.6 or edges[0] < 0.02


def test_a_risk_of_alpha_itself_is_not_counted_above_it():
    edges = charts.risk_edges([np.array([0.28, 0.31])], 0.3)
    rows = charts.in_bins(np.array([0.3, 0.3001, np.nan, 0.29]), edges)
    assert sum(row["count"] for row in rows) == 3
    assert sum(row["count"] for row in rows if row["low"] >= 0.3 - 1e-12) == 1


def test_each_panel_of_risks_has_alpha_as_a_line():
    panels, rows = charts.risks({"one": np.array([0.2]), "two": np.array([0.25])}, 0.3, what="risk")
    assert {row["series"] for row in rows} == {"one", "two"}
    for panel in panels:
        kinds = [layer["mark"]["type"] for layer in panel.to_dict()["layer"]]
        assert kinds == ["rect", "rule", "text"]
        rule = panel.to_dict()["layer"][1]
        assert rule["data"]["values"] == [{"alpha": 0.3}]


def test_sizes_are_in_percent_of_their_lists():
    _, rows = charts.sizes({"few": np.array([0, 1, 1, 3]), "many": np.arange(200)})
    for name in ("few", "many"):
        assert sum(row["percent"] for row in rows if row["series"] == name) == pytest.approx(100)
    assert max(row["to"] for row in rows) >= 199


def test_panels_become_one_table_with_gaps():
    columns = columns_of({"a": [{"x": 1}, {"x": 2}], "b": [{"y": "z"}]})
    assert columns == {"panel": ["a", "a", "b"], "x": [1, 2, None], "y": [None, None, "z"]}


def test_parts_are_listed_in_words():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"
