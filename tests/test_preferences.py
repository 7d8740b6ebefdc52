"""Win rates against the formula in sixty digits, and what each refusal says."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cutline as cl
from cutline.errors import InputError
from cutline.preferences import SCORINGS, Scoring, win_rates, win_rates_from_matrix

EXACT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
LARGEST = 1.7976931348623157e308

NEAR = st.floats(-5, 5)
FAR = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([-1e6, 1e6, 0.0, 1.0]))
TINY = st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.3e-308])
ANY = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([LARGEST, -LARGEST]))
OUTPUTS = st.sampled_from([NEAR, FAR, TINY, ANY, st.one_of(NEAR, FAR, TINY), st.sampled_from([0.5, 1.5])]).flatmap(
    lambda values: st.lists(values, min_size=1, max_size=7)
)
SCALES = st.sampled_from([1.0, 0.1, 0.3, 3.0, 1e-3, 1e6])


def rates_of(outputs: list[float], scale: float = 1.0) -> list[float]:
    return win_rates(np.array(outputs), np.array([0, len(outputs)]), scale=scale).tolist()


def rates_by_hand(outputs: list[float], scale: float) -> list[float]:
    """s_i = 1/(K-1) Σ_{j≠i} 1/(1 + exp((f_j - f_i)/scale)) in sixty digits."""
    if len(outputs) == 1:
        return [0.5]
    with localcontext(EXACT):
        values, width = [Decimal(value) for value in outputs], Decimal(scale)
        totals = [
            sum((1 / (1 + ((other - own) / width).exp()) for j, other in enumerate(values) if j != i), Decimal(0))
            for i, own in enumerate(values)
        ]
        return [float(total / (len(values) - 1)) for total in totals]


# Win rates ----------------------------------------------------------------------------------------------------------


@given(outputs=OUTPUTS, scale=SCALES)
@example(outputs=[0.0, 30.0, 31.0], scale=1.0)  # a rate of 1e-13, whose digits are lost if the item meets itself first
@example(outputs=[0.0, 700.0], scale=1.0)
@example(outputs=[0.0, np.nextafter(700.0, 701)], scale=1.0)
@example(outputs=[999_999.1, 999_998.7, 0.0], scale=0.3)  # outputs divided before they are subtracted lose digits
@example(outputs=[1e308, -1e308, 0.0], scale=1e306)  # the difference is too large for a float, the gap is 200
@example(outputs=[5.0, 3.0, 3.0], scale=1e-310)  # outputs divided by the scale are too large
def test_win_rates_are_right_to_twelve_digits(outputs, scale):
    assert rates_of(outputs, scale) == pytest.approx(rates_by_hand(outputs, scale), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("count", [64, 65, 150])
def test_win_rates_of_long_lists_are_right_to_twelve_digits(count):
    outputs = np.random.default_rng(count).normal(0, 8, count).round(2).tolist()
    assert rates_of(outputs) == pytest.approx(rates_by_hand(outputs, 1.0), rel=1e-12)


@given(outputs=OUTPUTS, scale=SCALES, shuffled=st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter_to_the_last_bit(outputs, scale, shuffled):
    order = list(range(len(outputs)))
    shuffled.shuffle(order)
    rates = rates_of(outputs, scale)
    assert rates_of([outputs[i] for i in order], scale) == [rates[i] for i in order]


@pytest.mark.parametrize("count", [64, 65, 300])
@pytest.mark.parametrize("spread", [1.0, 1e6])
def test_the_order_of_items_does_not_matter_in_long_lists_either(count, spread):
    rng = np.random.default_rng(count)
    outputs = rng.normal(0, spread, count).round(1)
    order = rng.permutation(count)
    rates = np.array(rates_of(outputs.tolist()))
    assert rates_of(outputs[order].tolist()) == rates[order].tolist()


@given(outputs=OUTPUTS, scale=SCALES)
def test_equal_outputs_have_equal_rates_and_higher_ones_no_lower_rates(outputs, scale):
    rates = rates_of(outputs, scale)
    for one, rate in zip(outputs, rates, strict=True):
        for other, beside in zip(outputs, rates, strict=True):
            if one == other:
                assert rate == beside
            elif one < other:
                assert rate <= beside * (1 + 1e-15)


@given(outputs=OUTPUTS, scale=SCALES)
def test_rates_are_shares_and_every_comparison_is_won_once(outputs, scale):
    rates = rates_of(outputs, scale)
    assert all(0 <= rate <= 1 for rate in rates)
    assert sum(rates) == pytest.approx(len(outputs) / 2, rel=1e-12)


@given(output=ANY, scale=SCALES)
def test_a_single_item_wins_half(output, scale):
    assert rates_of([output], scale) == [0.5]


@given(output=ANY, count=st.integers(1, 100), scale=SCALES)
def test_items_that_are_all_tied_win_half(output, count, scale):
    assert rates_of([output] * count, scale) == [0.5] * count


def test_minus_zero_is_tied_with_zero():
    assert rates_of([-0.0, 0.0, 5.0])[0] == rates_of([-0.0, 0.0, 5.0])[1]


def test_each_list_is_handled_alone_on_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 300)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    outputs = rng.normal(0, 3, offsets[-1]).round(1)
    alone = [rate for begin, end in pairwise(offsets) for rate in rates_of(outputs[begin:end])]
    for threads in "123":
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        assert win_rates(outputs, offsets).tolist() == alone
        assert cl.WinRate().item_scores(outputs, offsets).tolist() == alone


def test_the_scale_divides_the_gaps():
    assert rates_of([1.0, 2.0, 4.0], 4.0) == rates_of([0.25, 0.5, 1.0], 1.0)
    halves = cl.WinRate(scale=2).item_scores(np.array([2.0, 0.0]), np.array([0, 2]))
    assert halves.tolist() == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))], rel=1e-14)


# A preference matrix --------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=8, max_size=8))
def test_half_credit_is_exact_whether_a_tie_counts_for_both_or_for_neither(draws):
    """Counted in eight draws of four values: binary fractions, of which nothing is rounded before the last step."""
    strict = np.array([[sum(d[i] > d[j] for d in draws) / 8 for j in range(4)] for i in range(4)])
    weak = np.array([[sum(d[i] >= d[j] for d in draws) / 8 for j in range(4)] for i in range(4)])
    exact = []
    for i in range(4):
        halves = sum(2 * (d[i] > d[j]) + (d[i] == d[j]) for d in draws for j in range(4) if j != i)
        exact.append(float(Fraction(halves, 2 * 8 * 3)))
    assert win_rates_from_matrix(strict).tolist() == exact
    assert win_rates_from_matrix(weak).tolist() == exact


def test_a_matrix_without_ties_means_the_same_either_way():
    matrix = [[0.5, 0.75, 1.0], [0.25, 0.5, 0.5], [0.0, 0.5, 0.5]]
    for ties in ("half", "as-given"):
        assert win_rates_from_matrix(matrix, ties=ties).tolist() == [0.875, 0.375, 0.25]


def test_as_given_takes_ties_as_they_are():
    assert win_rates_from_matrix([[1, 1], [1, 1]], ties="as-given").tolist() == [1, 1]
    assert win_rates_from_matrix([[0, 0], [0, 0]], ties="as-given").tolist() == [0, 0]
    assert win_rates_from_matrix([[1, 1], [1, 1]]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("diagonal", [0.0, 1.0, np.nan, 7.0])
def test_the_diagonal_says_nothing_and_the_matrix_is_not_written_to(diagonal):
    matrix = np.array([[diagonal, 0.25], [0.75, diagonal]])
    before = matrix.copy()
    for ties in ("half", "as-given"):
        assert win_rates_from_matrix(matrix, ties=ties).tolist() == [0.25, 0.75]
    assert np.array_equal(matrix, before, equal_nan=True)


def test_the_matrix_of_one_item_gives_half():
    assert win_rates_from_matrix([[0.9]]).tolist() == [0.5]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([0.5, 0.5], r"preferences must be a square matrix, got shape \(2,\)"),
        ([[0.5, 0.5]], r"preferences must be a square matrix, got shape \(1, 2\)"),
        (np.empty((0, 0)), r"preferences must be a square matrix, got shape \(0, 0\)"),
        ([[0, 1.5], [0, 0]], r"preferences must be probabilities in \[0, 1\] off the diagonal; apply a sigmoid first"),
        ([[0, -0.1], [0, 0]], r"probabilities in \[0, 1\]"),
        ([[0, np.nan], [0, 0]], r"probabilities in \[0, 1\]"),
    ],
)
def test_a_matrix_of_something_else_is_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        win_rates_from_matrix(matrix)


def test_an_unknown_way_with_ties_is_refused():
    with pytest.raises(InputError, match=r"ties must be one of 'half', 'as-given', got 'halve'; did you mean 'half'"):
        win_rates_from_matrix([[0.5]], ties="halve")


# As given -----------------------------------------------------------------------------------------------------------


def test_scores_as_given_are_the_outputs_themselves():
    outputs = np.array([3.0, -1.0])
    assert cl.AsGiven().item_scores(outputs, np.array([0, 2])) is outputs


def test_scorings_say_what_they_are():
    assert cl.AsGiven().settings() == {"name": "as-given"}
    assert cl.WinRate(scale=2).settings() == {"name": "win-rate", "scale": 2.0}
    assert (cl.AsGiven.depends_on_length, cl.WinRate.depends_on_length) == (False, True)
    assert {"as-given": cl.AsGiven, "win-rate": cl.WinRate} == SCORINGS
    assert all(isinstance(kind(), Scoring) for kind in SCORINGS.values())


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0, r"scale must be above 0, got 0"),
        (-1.0, r"scale must be above 0, got -1.0"),
        (float("inf"), r"scale must be finite, got inf"),
        (float("nan"), r"scale must be finite, got nan"),
        ("1", r"scale must be a number, got '1'"),
    ],
)
def test_a_wrong_scale_is_refused(scale, message):
    with pytest.raises(InputError, match=message):
        cl.WinRate(scale=scale)
