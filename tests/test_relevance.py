"""Labels to badness: against the definition, item by item, and what each refusal says."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ragged import UNITS, badness_by_hand, lists_of, places_by_hand, relevances, tables

import cutline as cl
from cutline.errors import InputError
from cutline.kernels import walk
from cutline.relevance import RELEVANCES, Badness

pytestmark = [  # meant here
    pytest.mark.filterwarnings(f"ignore:.*{words}:cutline.errors.CutlineWarning")
    for words in ("no judged item", "among judged items only", "a chunk added twice")
]

NAN = math.nan


def one_list(*labels: float) -> cl.Queries:
    return cl.Queries.from_arrays(np.arange(len(labels), dtype=float), labels, group=[len(labels)])


def badness_of(relevance: object, *labels: float) -> list[float | None]:
    shares = relevance.badness(one_list(*labels)).shares()  # type: ignore[attr-defined]
    return [None if math.isnan(share) else share for share in shares.tolist()]


def test_a_unit_divides_into_every_share_of_up_to_24_items():
    assert walk.UNITS == UNITS
    assert 1_700_000_000 * UNITS < 2**63


@given(queries=tables(), relevance=relevances())
def test_badness_is_the_definition_rounded_up_to_a_whole_unit(queries, relevance):
    badness = relevance.badness(queries)
    by_hand = [
        share for labels in lists_of(queries.labels, queries.offsets) for share in badness_by_hand(labels, relevance)
    ]
    units = [-1 if share is None else math.ceil(share * UNITS) for share in by_hand]
    assert [max(-1, int(code) * badness.unit) for code in badness.codes] == units


@given(queries=tables(), relevance=relevances())
def test_shares_are_the_units_as_numbers_and_nan_where_passed_over(queries, relevance):
    badness = relevance.badness(queries)
    for code, share in zip(badness.codes.tolist(), badness.shares().tolist(), strict=True):
        assert math.isnan(share) if code < 0 else share == float(Fraction(code * badness.unit, UNITS))


@pytest.mark.parametrize("parts", range(1, 25))
def test_a_share_of_up_to_24_items_reads_as_the_same_number_as_the_plain_quotient(parts):
    codes = np.array([UNITS // parts * part for part in range(parts + 1)])
    assert Badness(codes, 1).shares().tolist() == [part / parts for part in range(parts + 1)]


# Grade --------------------------------------------------------------------------------------------------------------


def test_an_item_at_the_grade_is_good_and_one_just_below_is_bad():
    assert badness_of(cl.Grade(2), 2.0, np.nextafter(2.0, 0), 3.0, -1.0) == [0, 1, 0, 1]


def test_an_unjudged_item_is_bad_or_passed_over():
    assert badness_of(cl.Grade(1), 1, NAN, 0) == [0, 1, 1]
    assert badness_of(cl.Grade(1, unjudged="drop"), 1, NAN, 0) == [0, None, 1]
    assert badness_of(cl.Grade(1, unjudged="error"), 1, 0) == [0, 1]


# TopM ---------------------------------------------------------------------------------------------------------------


def test_seven_percent_of_a_hundred_items_are_seven_not_eight():
    assert math.ceil(0.07 * 100) == 8  # which is what plain floats say
    assert cl.TopM(fraction=0.07).places(np.array([100])).tolist() == [7]


@given(percent=st.integers(1, 100), length=st.integers(1, 3000))
def test_a_fraction_is_read_as_the_decimal_it_is_written_as(percent, length):
    relevance = cl.TopM(fraction=percent / 100)
    assert relevance.places(np.array([length])).tolist() == [max(1, -(-percent * length // 100))]


@given(fraction=st.floats(1e-9, 1.0), lengths=st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_places_are_at_least_one_and_at_most_the_list(fraction, lengths):
    relevance = cl.TopM(fraction=fraction)
    places = relevance.places(np.array(lengths)).tolist()
    assert places == [places_by_hand(relevance, length) for length in lengths]
    assert all(1 <= place <= length for place, length in zip(places, lengths, strict=True))


def test_m_beyond_the_list_takes_the_whole_list():
    assert cl.TopM(m=5).places(np.array([3, 5, 9])).tolist() == [3, 5, 5]
    assert badness_of(cl.TopM(m=5), 0, 1, 0) == [0, 0, 0]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("strict", [0, 1, 1, 1, 1]), ("lenient", [0, 0, 0, 0, 1]), ("expected", [0, 2 / 3, 2 / 3, 2 / 3, 1])],
)
def test_items_tied_across_the_last_place_are_bad_good_or_share(ties, expected):
    assert badness_of(cl.TopM(m=2, ties=ties), 9, 5, 5, 5, 1) == expected


@pytest.mark.parametrize(("ties", "share"), [("strict", 1), ("lenient", 0), ("expected", 3 / 5)])
def test_a_list_of_equal_labels_is_one_tie(ties, share):
    assert badness_of(cl.TopM(m=2, ties=ties), 4, 4, 4, 4, 4) == [share] * 5


@pytest.mark.parametrize("ties", ["strict", "lenient", "expected"])
def test_a_tie_that_ends_at_the_last_place_is_no_tie_across_it(ties):
    assert badness_of(cl.TopM(m=3, ties=ties), 7, 5, 5, 1) == [0, 0, 0, 1]


def test_unjudged_items_count_in_the_length_and_might_be_better_than_any_judged_one():
    half = cl.TopM(fraction=0.5)
    assert badness_of(half, 3, NAN, 1, NAN) == [1, 1, 1, 1]
    assert badness_of(half, NAN, 3, 1, 2) == [1, 0, 1, 1]
    assert badness_of(cl.TopM(fraction=0.5, unjudged="drop"), 3, NAN, 1, NAN) == [0, None, 0, None]


@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=7), data=st.data())
def test_no_label_that_an_unjudged_item_may_have_makes_an_item_worse_than_counted(labels, data):
    """So "bad" is on the safe side for false discoveries: hidden labels can only lower the badness."""
    hidden = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    m, ties = data.draw(st.integers(1, 5)), data.draw(st.sampled_from(["strict", "expected"]))
    seen = [NAN if hide else float(label) for label, hide in zip(labels, hidden, strict=True)]
    counted, true = badness_of(cl.TopM(m=m, ties=ties), *seen), badness_of(cl.TopM(m=m, ties=ties), *labels)
    assert all(bad >= true_bad - 1e-9 for bad, true_bad in zip(counted, true, strict=True))


def test_a_list_nobody_judged_is_bad_or_passed_over_beside_one_that_was():
    queries = cl.Queries.from_arrays([1.0, 2.0, 3.0], [NAN, NAN, 1.0], group=[2, 1])
    for relevance in (cl.TopM(m=1, ties="expected"), cl.Grade(1)):
        assert relevance.badness(queries).shares().tolist() == [1, 1, 0]
    for relevance in (cl.TopM(m=1, unjudged="drop"), cl.Grade(1, unjudged="drop")):
        assert np.isnan(relevance.badness(queries).shares()).tolist() == [True, True, False]


def test_a_long_tie_shares_to_within_one_unit_and_never_below():
    code = int(cl.TopM(m=1, ties="expected").badness(one_list(*[1.0] * 4999)).codes[0])
    assert 0 <= code - Fraction(4998, 4999) * UNITS < 1


# What a certificate keeps, and what is refused --------------------------------------------------------------------


def test_settings_say_what_was_asked_for():
    assert cl.Grade(3).settings() == {"name": "grade", "at_least": 3.0}
    assert cl.TopM(m=5).settings() == {"name": "top-m", "m": 5, "ties": "strict"}
    assert cl.TopM(fraction=0.2, ties="expected").settings() == {"name": "top-m", "fraction": 0.2, "ties": "expected"}
    assert {"grade": cl.Grade, "top-m": cl.TopM} == RELEVANCES


@pytest.mark.parametrize("relevance", [cl.Grade(1, unjudged="error"), cl.TopM(m=1, unjudged="error")])
def test_a_missing_label_is_refused_by_query_and_position(relevance):
    queries = cl.Queries.from_arrays([1, 2, 3, 4], [1, 0, 2, NAN], qid=["a", "a", "b", "b"])
    with pytest.raises(
        InputError, match=r"labels are missing for 1 of 4 items, first in query 'b' at position 1; judge"
    ):
        relevance.badness(queries)


@pytest.mark.parametrize("relevance", [cl.Grade(1, unjudged="error"), cl.TopM(m=1, unjudged="error")])
def test_an_error_for_unjudged_items_also_holds_where_every_label_is_missing(relevance):
    with pytest.raises(InputError, match=r'missing for 2 of 2 items.*choose unjudged="bad" or unjudged="drop"'):
        relevance.badness(one_list(NAN, NAN))


@pytest.mark.parametrize("unjudged", ["bad", "drop"])
@pytest.mark.parametrize("kind", [lambda u: cl.Grade(1, unjudged=u), lambda u: cl.TopM(m=1, unjudged=u)])
def test_a_chunk_that_nobody_judged_is_one_and_a_whole_table_is_refused(kind, unjudged):
    nothing, some = one_list(NAN, NAN, NAN), one_list(0.0, 1.0)
    loss = cl.FalseDiscovery(kind(unjudged))
    convex = {"alpha": 0.3, "delta": 0.1, "evidence": cl.evidence.Convex()}
    curve = cl.RiskCurve.empty(loss=loss, thresholds=[0.5]).add(nothing)
    refused = r"no labels at all: every label is missing; is the column of labels filled, and do the ids of scores and labels match"
    with pytest.raises(InputError, match=refused):
        cl.calibrate(curve.add(nothing), **convex)
    assert cl.calibrate(curve.add(some), **convex).n_queries == 2
    unjudged_queries = cl.Queries.from_arrays([1.0, 2.0], [NAN, NAN], group=[1, 1])
    with pytest.raises(InputError, match=refused):
        cl.calibrate(unjudged_queries, loss=loss, **convex)


def test_a_fraction_of_any_kind_of_number_is_the_decimal_it_shows_and_can_be_saved(tmp_path):
    for fraction in (0.2, np.float64(0.2), np.float32(0.2), Fraction(1, 5), Decimal("0.2")):
        relevance = cl.TopM(fraction=fraction)
        assert (type(relevance.fraction), relevance.fraction) == (float, 0.2)
        assert relevance.places(np.array([10])).tolist() == [2]
    with pytest.raises(InputError, match=r"m must be a whole number of at least 1, got 0.2; write fraction=0.2"):
        cl.TopM(0.2)


@pytest.mark.parametrize("unjudged", ["bad", "drop", "error"])
@pytest.mark.parametrize("kind", [lambda u: cl.Grade(1, unjudged=u), lambda u: cl.TopM(m=1, unjudged=u)])
def test_a_table_without_labels_is_refused(kind, unjudged):
    with pytest.raises(InputError, match=r"queries have no labels at all.*pass labels= or name the column"):
        kind(unjudged).badness(cl.Queries.from_arrays([1.0], group=[1]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cl.Grade(NAN), r"at_least must be finite, got nan"),
        (lambda: cl.Grade("3"), r"at_least must be a number, got '3'"),
        (lambda: cl.Grade(True), r"at_least must be a number, got True"),
        (lambda: cl.Grade(3, unjudged="dropp"), r"unjudged must be one of.*got 'dropp'; did you mean 'drop'"),
        (lambda: cl.TopM(), r"TopM needs m or fraction, one of the two, got m=None, fraction=None"),
        (lambda: cl.TopM(m=2, fraction=0.2), r"one of the two, got m=2, fraction=0.2"),
        (lambda: cl.TopM(m=0), r"m must be a whole number of at least 1, got 0"),
        (lambda: cl.TopM(m=2.5), r"m must be a whole number of at least 1, got 2.5"),
        (lambda: cl.TopM(fraction=0), r"fraction must be in \(0, 1\], got 0"),
        (lambda: cl.TopM(fraction=20), r"fraction must be in \(0, 1\], got 20; did you mean 0.2\?"),
        (lambda: cl.TopM(fraction=-0.1), r"fraction must be in \(0, 1\], got -0.1"),
        (lambda: cl.TopM(fraction="0.2"), r"fraction must be a number, got '0.2'"),
        (lambda: cl.TopM(m=1, ties="lenien"), r"ties must be one of 'strict', .*did you mean 'lenient'"),
        (lambda: cl.TopM(m=1, unjudged="no"), r"unjudged must be one of 'bad', 'drop', 'error', got 'no'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()
