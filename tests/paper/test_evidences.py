"""What each kind of evidence comes to: one meaning of every column, whatever the lists are."""

from __future__ import annotations

import numpy as np
import pytest

from cutline.paper.evidences import row_of
from cutline.paper.run import true_settings
from cutline.paper.truth import Truth


def truth_with(error: float) -> Truth:
    return Truth(
        n_queries=1_200, risk=np.array([0.1, 0.3]), error=np.array([0.0, error]), mean_size=np.array([2.0, 6.0])
    )


def test_a_calibration_that_abstains_has_empty_lists_and_no_risk():
    truth, places = truth_with(0.01), np.array([1, -1, 0, -1])
    known = row_of("known", certified=places >= 0, sizes=truth.sizes(places), risks=truth.risks(places), alpha=0.2)
    missing = np.array([6.0, np.nan, 2.0, np.nan]), np.array([0.3, np.nan, 0.1, np.nan])
    real = row_of("known", certified=places >= 0, sizes=missing[0], risks=missing[1], alpha=0.2)
    assert known == real
    assert known["risk_where_certified"] == pytest.approx(0.2)
    assert (known["mean_size"], known["violations"], known["abstained"]) == (2.0, 25.0, 2)


def test_where_every_calibration_abstains_no_risk_is_shown():
    empty = np.zeros(3, np.bool_)
    row = row_of("none", certified=empty, sizes=np.zeros(3), risks=np.zeros(3), alpha=0.2)
    assert row["risk_where_certified"] is None
    assert (row["mean_size"], row["violations"], row["abstained"]) == (0.0, 0.0, 3)


def test_the_largest_standard_error_is_the_one_that_is_stated():
    for order in ((0.004, 0.02), (0.02, 0.004)):
        ((_, said),) = true_settings(*(truth_with(error) for error in order))
        assert said == "mean over 1,200 new queries of the same simulation, standard error 0.02 at most"
    assert true_settings(None, None) == true_settings(None)
