"""Losses against the definition, their rounding to whole units, and what each refusal says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.ragged import UNITS, badness_by_hand, lists_of, loss_by_hand, relevances, tables

import cutline as cl
from cutline.cutting import sums_of, units_of
from cutline.errors import InputError
from cutline.kernels import walk
from cutline.losses import LOSSES, Loss, sums_by_list

GOOD, BAD, PASSED = 0.0, 1.0, math.nan
GRADE = cl.Grade(1)


def loss_of(kind: type, badness: list[float], chosen: list[int]) -> float:
    mask = np.isin(np.arange(len(badness)), chosen)
    (loss,) = kind(GRADE).of_lists(mask, np.array(badness), np.array([0, len(badness)]))
    return float(loss)


# The definitions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@given(queries=tables(), relevance=relevances(), bits=st.integers(0, 2**40 - 1))
def test_losses_are_the_definition(kind, queries, relevance, bits):
    chosen = np.array([bool(bits >> i & 1) for i in range(queries.n_items)])
    loss = kind(relevance)
    losses = loss.of_lists(chosen, relevance.badness(queries).shares(), queries.offsets)
    by_hand = [
        float(loss_by_hand(loss, np.flatnonzero(mask).tolist(), badness_by_hand(labels, relevance)))
        for mask, labels in zip(
            lists_of(chosen, queries.offsets), lists_of(queries.labels, queries.offsets), strict=True
        )
    ]
    assert losses.tolist() == pytest.approx(by_hand, abs=1e-9)
    if not isinstance(relevance, cl.TopM):
        assert losses.tolist() == pytest.approx(by_hand, rel=1e-15, abs=0)


def test_an_empty_set_has_no_false_discovery():
    assert loss_of(cl.FalseDiscovery, [BAD, BAD], []) == 0


def test_false_discovery_is_the_bad_share_of_what_is_kept():
    assert loss_of(cl.FalseDiscovery, [GOOD, BAD, BAD, GOOD], [0, 1, 2]) == 2 / 3
    assert loss_of(cl.FalseDiscovery, [0.25, 0.5], [0, 1]) == 0.375


def test_a_query_without_a_good_item_misses_nothing():
    assert loss_of(cl.Miss, [BAD, BAD], []) == 0
    assert loss_of(cl.Miss, [BAD, PASSED], [0]) == 0


def test_miss_is_the_share_of_good_items_left_out():
    assert loss_of(cl.Miss, [GOOD, GOOD, BAD, GOOD], [0, 2]) == 2 / 3
    assert loss_of(cl.Miss, [GOOD, GOOD, BAD], []) == 1
    assert loss_of(cl.Miss, [GOOD, 0.5], [0]) == 1 / 3


def test_items_passed_over_count_neither_above_nor_below_the_line():
    assert loss_of(cl.FalseDiscovery, [BAD, PASSED, GOOD], [0, 1, 2]) == 1 / 2
    assert loss_of(cl.FalseDiscovery, [PASSED, PASSED], [0, 1]) == 0
    assert loss_of(cl.Miss, [GOOD, PASSED, GOOD], [0, 1]) == 1 / 2


def test_each_loss_declares_its_safe_end_and_its_name():
    assert (cl.FalseDiscovery(GRADE).safe_end, cl.Miss(GRADE).safe_end) == ("high", "low")
    assert {"false-discovery": cl.FalseDiscovery, "miss": cl.Miss} == LOSSES
    assert all(isinstance(kind(GRADE), Loss) for kind in LOSSES.values())


def test_sums_by_list_give_zero_for_an_empty_list():
    assert sums_by_list(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2, 2, 3])).tolist() == [0, 3, 0, 4]


# Rounding to units ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 25))
def test_shares_of_up_to_24_whole_items_carry_no_rounding(count):
    for part in range(count + 1):
        share = Fraction(part, count) * UNITS
        assert walk.loss_units(walk.FALSE_DISCOVERY, count, part * UNITS, 0) == share
        kept = count - part
        assert walk.loss_units(walk.MISS, kept, 0, count * UNITS) == share


def test_the_table_of_shares_of_short_lists_is_rounded_up_as_all_losses_are():
    table = walk.shares_in_units(walk.SHORT_LIST).reshape(walk.SHORT_LIST + 1, 1 << walk.PART_BITS)
    assert not table[0].any()
    for whole in range(1, walk.SHORT_LIST + 1):
        for part in range(whole + 1):
            assert table[whole, part] == math.ceil(Fraction(part, whole) * UNITS)
            assert table[whole, part] == walk.loss_units(walk.FALSE_DISCOVERY, whole, part * UNITS, 0)


@given(judged=st.integers(0, 5000), share=st.fractions(0, 1))
@example(judged=4999, share=Fraction(1, 4999 * UNITS))
def test_a_false_discovery_is_rounded_up_by_less_than_a_unit(judged, share):
    bad = math.floor(judged * share * UNITS)
    assert walk.loss_units(walk.FALSE_DISCOVERY, judged, bad, 0) == math.ceil(Fraction(bad, max(judged, 1)))


@given(good=st.integers(0, 5000 * UNITS), share=st.fractions(0, 1), judged=st.integers(0, 5000))
@example(good=UNITS * 7 // 3, share=Fraction(1, 3), judged=2)
@example(good=3 * UNITS + 1, share=Fraction(1, 3), judged=2)
@example(good=1, share=Fraction(0), judged=1)
@example(good=1, share=Fraction(1), judged=1)
def test_a_miss_is_rounded_up_by_less_than_a_unit(good, share, judged):
    missed = math.floor(good * share)
    bad = judged * UNITS - (good - missed)  # the goodness kept is what is not bad among those kept
    expected = math.ceil(Fraction(missed, good) * UNITS) if good else 0
    assert walk.loss_units(walk.MISS, judged, bad, good) == expected


@given(wholes=st.lists(st.integers(1, 60), min_size=200, max_size=200), extra=st.integers(0, UNITS - 1))
def test_a_miss_of_fractional_goodness_is_never_below_the_true_share(wholes, extra):
    for whole in wholes:
        good = whole * UNITS + extra
        for missed in (good // 3, good // 2, good - 1, whole * UNITS):
            units = walk.loss_units(walk.MISS, 0, missed - good, good)
            assert units == math.ceil(Fraction(missed * UNITS, good))


@given(loss=st.integers(0, UNITS))
@example(loss=UNITS)
@example(loss=UNITS // 2)
def test_a_square_is_right_to_a_unit_and_that_of_0_or_1_exact(loss):
    exact = Fraction(loss, UNITS) ** 2 * UNITS
    assert -1e-5 < walk.squared_units(loss) - exact < 1
    if loss in (0, UNITS):
        assert walk.squared_units(loss) == loss


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@given(bits=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=200))
def test_losses_from_the_definition_are_never_below_the_true_share_nor_a_unit_above(kind, bits):
    badness, chosen = (np.array(side) for side in zip(*bits, strict=True))
    units = int(units_of(kind(GRADE), chosen, badness.astype(float), np.array([0, len(bits)]))[0])
    exact = loss_by_hand(kind(GRADE), np.flatnonzero(chosen).tolist(), [Fraction(int(b)) for b in badness])
    assert units == math.ceil(exact * UNITS)


def test_float_dust_is_not_rounded_up_to_a_unit_and_more_than_dust_is():
    class Fixed:
        name, safe_end, relevance = "fixed", "high", GRADE

        def __init__(self, *losses: float) -> None:
            self.losses = losses

        def of_lists(self, chosen, badness, offsets):
            return np.array(self.losses[: len(offsets) - 1])

    nothing = np.zeros(4), np.zeros(4), np.arange(5)
    above = 1 / 3 + 1e-12
    losses = Fixed(0.1 + 0.2, above, 1.0, 5e-324)
    assert units_of(losses, *nothing).tolist() == [
        math.ceil(Fraction(3, 10) * UNITS),
        math.ceil(Fraction(above) * UNITS),
        UNITS,
        0,
    ]
    for wrong in (1.5, -0.1, math.nan, math.inf):
        with pytest.raises(InputError, match=r"fixed: losses must lie in \[0, 1\], got .*; scale the loss, or clip it"):
            units_of(Fixed(0.0, wrong, 0.0, 0.0), *nothing)
    with pytest.raises(InputError, match=r"fixed: of_lists must give one loss per query, got shape \(3,\)"):
        units_of(Fixed(0.0, 0.0, 0.0), *nothing)


def test_one_row_of_sums_counts_what_its_columns_say():
    half = UNITS // 2
    row = sums_of(*(np.array(column) for column in ([half, 0, UNITS], [2, 0, 3], [half * 2, 0, 3 * UNITS], [2, 0, 3])))
    assert row[[walk.LOSS, walk.SQUARED, walk.LOSS_NONEMPTY]].tolist() == [
        UNITS + half,
        UNITS + UNITS // 4,
        UNITS + half,
    ]
    assert row[[walk.CHOSEN, walk.BAD, walk.NONEMPTY, walk.JUDGED]].tolist() == [5, 4 * UNITS, 2, 5]
    missed = sums_of(*(np.array(column) for column in ([UNITS, half], [0, 1], [0, 0], [0, 1])))
    assert missed[[walk.LOSS, walk.LOSS_NONEMPTY, walk.NONEMPTY]].tolist() == [UNITS + half, half, 1]


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss])
@pytest.mark.parametrize("relevance", [3, None, "grade", cl.Grade, cl.TopM])
def test_a_relevance_of_the_wrong_kind_is_refused(kind, relevance):
    wanted = rf"{kind.name}: relevance must say which items are good, such as Grade\(at_least=3\) or TopM\(m=5\), got"
    with pytest.raises(InputError, match=wanted):
        kind(relevance)


def test_a_loss_or_a_relevance_that_pools_queries_is_refused():
    class Pooled:
        name, safe_end, relevance = "pooled", "high", GRADE

        def of_lists(self, chosen, badness, offsets):
            return np.full(len(offsets) - 1, badness[chosen].mean() if chosen.any() else 0.0)

        def settings(self):
            return {"name": self.name}

    class Shared:
        name, unjudged = "shared", "error"

        def badness(self, queries):
            return queries.labels / queries.labels.sum()

        def settings(self):
            return {"name": self.name}

    queries = cl.datasets.simulate(200, rng=0)
    for loss, what in ((Pooled(), "pooled: of_lists"), (cl.FalseDiscovery(Shared()), "shared: badness")):
        with pytest.raises(InputError, match=f"{what} must look at each list by itself"):
            cl.calibrate(queries, loss=loss, alpha=0.3, delta=0.1, thresholds=cl.grid(0.99, 0.01, 0.01))
