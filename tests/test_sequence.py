"""Grids to the last bit, and the two ways of spending delta along a walk."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cutline as cl
from cutline import sequence as sequence_module
from cutline.errors import InputError
from cutline.sequence import SEQUENCES, Walked, describe, grid

ORACLES = Path(__file__).parents[1].parent / "shared" / "oracles.json"

# one row, copied from the reference values
P_VALUES, DELTA, FIXED, FALLBACK = [0.001, 0.02, 0.2, 0.001], 0.1, [0, 1], [0, 1, 3]


# Grids --------------------------------------------------------------------------------------------------------------


def test_weights_that_are_no_list_are_refused():
    with pytest.raises(InputError, match=r"weights must be one share of delta per threshold, got 0.5"):
        cl.Fallback(0.5)


def test_a_grid_holds_the_numbers_that_its_decimals_are_read_as():
    assert grid(0.99, 0.01, 0.01).tolist() == [float(f"0.{k:02}") for k in range(99, 0, -1)]
    assert grid(0.999, 0.001, 0.001).tolist() == [float(f"0.{k:03}") for k in range(999, 0, -1)]
    assert grid(0.001, 0.999, 1e-3).tolist() == [float(f"0.{k:03}") for k in range(1, 1000)]


def test_repeated_subtraction_would_have_missed():
    walked, value = [], 0.99
    for _ in range(99):
        walked.append(value)
        value -= 0.01
    assert walked != grid(0.99, 0.01, 0.01).tolist()


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((1.0, 0.0, 0.25), [1.0, 0.75, 0.5, 0.25, 0.0]),
        ((100, 0, 25), [100.0, 75.0, 50.0, 25.0, 0.0]),
        ((-7, 8, 5), [-7.0, -2.0, 3.0, 8.0]),
        ((1.0, 0.0, 0.1), [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]),
        ((0.05, 0.35, 0.1), [0.05, 0.15, 0.25, 0.35]),
        ((1, 0, 0.3), [1.0, 0.7, 0.4, 0.1]),
        ((0.5, 0.5, 0.1), [0.5]),
        ((0.5, 0.45, 0.1), [0.5]),
        ((0.1, -0.1, 0.1), [0.1, 0.0, -0.1]),
        ((1e300, 0, 5e299), [1e300, 5e299, 0.0]),
        ((3e-7, 0, 1e-7), [3e-7, 2e-7, 1e-7, 0.0]),
        ((5e-324, 2e-323, 5e-324), [5e-324, 1e-323, 1.5e-323, 2e-323]),
        ((0.1 + 0.2, 0.1, 0.1), [0.30000000000000004, 0.20000000000000004, 0.10000000000000003]),
    ],
)
def test_a_grid_is_what_the_decimals_say(bounds, expected):
    values = grid(*bounds)
    assert values.dtype == np.float64
    assert values.tolist() == pytest.approx(expected, rel=2e-16, abs=0)
    if bounds[0] != 0.1 + 0.2:
        assert values.tolist() == expected
    assert not np.signbit(values[values == 0]).any()


@given(
    start=st.decimals(-50, 50, places=3), steps=st.integers(0, 60), step=st.decimals("0.001", 5, places=3),
    down=st.booleans(), beyond=st.decimals(0, "0.99", places=2),
)  # fmt: skip
def test_each_threshold_is_the_float_nearest_to_the_decimal(start, steps, step, down, beyond):
    """Also where stop lies between two steps: the walk ends before it."""
    sign = -1 if down else 1
    stop = start + sign * step * (steps + beyond)
    values = grid(float(start), float(stop), float(step))
    exact = [float(start + sign * k * step) + 0.0 for k in range(steps + 1)]
    assert values.tolist() == (exact if stop != start else exact[:1])


@given(start=st.integers(-999, 999), count=st.integers(1, 200), step=st.integers(1, 50), places=st.integers(0, 4))
def test_a_description_gives_the_grid_back(start, count, step, places):
    values = grid(start / 10**places, (start - step * (count - 1)) / 10**places, step / 10**places)
    assert len(values) == count
    described = json.loads(json.dumps(describe(values)))
    if count > 2:
        assert described.pop("count") == count
        assert np.array_equal(grid(**described), values)
    else:
        assert described == {"values": values.tolist()}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6, unique=True))
def test_any_thresholds_can_be_described_and_given_back(values):
    ascending = np.array(sorted(values))
    described = json.loads(json.dumps(describe(ascending)))
    if "values" in described:
        assert described["values"] == ascending.tolist()
    else:
        assert described.pop("count") == len(ascending)
        assert grid(**described).tolist() == ascending.tolist()


def test_a_grid_that_is_almost_even_is_described_by_its_values():
    values = grid(0.9, 0.1, 0.1)
    values[4] = np.nextafter(values[4], 1)
    assert describe(values) == {"values": values.tolist()}


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0.9, 0.1, 0), r"step must be above 0, got 0; the direction follows from start and stop"),
        ((0.9, 0.1, -0.1), r"step must be above 0, got -0.1"),
        ((float("nan"), 0.1, 0.1), r"start must be finite, got nan"),
        ((0.9, float("-inf"), 0.1), r"stop must be finite, got -inf"),
        ((0.9, 0.1, "0.1"), r"step must be a number, got '0.1'"),
        ((None, 0.1, 0.1), r"start must be a number, got None"),
        ((1, 0, 1e-9), r"grid\(1, 0, 1e-09\) has 1000000001 thresholds; at most 10000000 are allowed"),
    ],
)
def test_a_grid_of_something_else_is_refused(bounds, message):
    with pytest.raises(InputError, match=message):
        grid(*bounds)


# Fixed sequence and fallback ----------------------------------------------------------------------------------------


class Blocks:
    """P-values in blocks, which remembers how many blocks were asked for."""

    def __init__(self, p_values: list[float], length: int) -> None:
        self.p_values, self.length, self.asked = np.array(p_values), length, 0

    def __iter__(self):
        for start in range(0, len(self.p_values), self.length):
            self.asked += 1
            yield Block(self.p_values[start : start + self.length])


class Block:
    def __init__(self, p_values: np.ndarray) -> None:
        self.p_values = p_values

    def __len__(self) -> int:
        return len(self.p_values)

    def certified(self, level, first, last):
        return self.p_values[first:last] <= level


def fixed_by_hand(p_values: list[float], delta: float) -> list[int]:
    passed: list[int] = []
    for position, p in enumerate(p_values):
        if p > delta:
            break
        passed.append(position)
    return passed


def fallback_by_hand(p_values: list[float], delta: float, weights: list[float]) -> list[int]:
    passed: list[int] = []
    carried = Decimal(0)
    for position, p in enumerate(p_values):
        level = Decimal(weights[position]) * Decimal(delta) + carried
        certified = Decimal(p) <= level
        carried = level if certified else Decimal(0)
        passed += [position] if certified else []
    return passed


# p-values a little beside every level that can arise, so that rounding of levels cannot decide
P = st.sampled_from([0.0, 0.001, 0.011, 0.021, 0.031, 0.049, 0.07, 0.099, 0.101, 0.5, 1.0])


def test_the_reference_row_is_met():
    assert cl.FixedSequence().certified(P_VALUES, delta=DELTA) == FIXED
    assert cl.Fallback().certified(P_VALUES, delta=DELTA) == FALLBACK


def test_the_reference_file_says_the_same_as_the_constants_here():
    if not ORACLES.exists():
        pytest.skip("the shared reference values are not part of this checkout")
    (row,) = json.loads(ORACLES.read_text())["multiplicity"]
    assert row == {"p_values": P_VALUES, "delta": DELTA, "fixed_sequence": FIXED, "fallback_equal_weights": FALLBACK}


@given(p_values=st.lists(P, min_size=1, max_size=12), length=st.integers(1, 5))
def test_a_fixed_sequence_stops_at_the_first_failure(p_values, length):
    passed = fixed_by_hand(p_values, 0.1)
    assert cl.FixedSequence().certified(p_values, delta=0.1) == passed
    blocks = Blocks(p_values, length)
    tested = min(len(passed) + 1, len(p_values))
    walked = cl.FixedSequence().walk(blocks, delta=0.1)
    assert walked == Walked(len(passed) - 1 if passed else None, tested)
    assert blocks.asked == -(-tested // length)  # none beyond the block of the stop


@given(p_values=st.lists(P, min_size=1, max_size=12), length=st.integers(1, 5))
def test_fallback_passes_on_all_it_holds(p_values, length):
    count = len(p_values)
    passed = fallback_by_hand(p_values, 0.1, [1 / count] * count)
    assume(all(abs(p - 0.1 * k / count) > 1e-9 for p in p_values for k in range(1, count + 1)))
    assert cl.Fallback().certified(p_values, delta=0.1) == passed
    walked = cl.Fallback().walk(Blocks(p_values, length), delta=0.1, count=count)
    assert walked == Walked(passed[-1] if passed else None, count)


@given(pairs=st.lists(st.tuples(P, st.integers(0, 8)), min_size=1, max_size=8).filter(lambda ps: any(w for _, w in ps)))
def test_fallback_obeys_its_weights(pairs):
    p_values, shares = [p for p, _ in pairs], [share for _, share in pairs]
    weights = [share / sum(shares) for share in shares]
    levels = [0.1 * sum(weights[i : j + 1]) for i in range(len(weights)) for j in range(i, len(weights))]
    assume(all(abs(p - level) > 1e-9 for p in p_values for level in levels if level > 0))
    passed = fallback_by_hand(p_values, 0.1, weights)
    # a share of nothing certifies nothing, not even p = 0
    held, expected = 0.0, []
    for i, weight in enumerate(weights):
        held += weight
        certified = held > 0 and i in passed
        held = held if certified else 0.0
        expected += [i] if certified else []
    assert cl.Fallback(tuple(weights)).certified(p_values, delta=0.1) == expected


def test_all_the_weight_on_the_first_is_the_fixed_sequence():
    for p_values in ([0.05, 0.1, 0.2, 0.0], [0.2, 0.0], [0.1, 0.1]):
        weights = (1.0, *[0.0] * (len(p_values) - 1))
        assert cl.Fallback(weights).certified(p_values, delta=0.1) == cl.FixedSequence().certified(p_values, delta=0.1)


def test_a_level_never_exceeds_delta():
    """Ten tenths add up to a little more or less than one; the last test is at delta at most, all the same."""
    for count in (3, 7, 10, 49, 1000):
        certain = [0.0] * (count - 1)
        assert cl.Fallback().certified([*certain, np.nextafter(0.1, 1)], delta=0.1) == list(range(count - 1))


def test_a_failure_does_not_end_a_fallback():
    assert cl.Fallback().certified([1.0, 1.0, 0.01], delta=0.1) == [2]
    assert cl.FixedSequence().certified([1.0, 1.0, 0.01], delta=0.1) == []


def test_p_equal_to_delta_certifies():
    assert cl.FixedSequence().certified([0.1], delta=0.1) == [0]
    assert cl.Fallback().certified([0.1], delta=0.1) == [0]
    assert cl.FixedSequence().certified([np.nextafter(0.1, 1)], delta=0.1) == []


def test_nothing_to_test_certifies_nothing():
    assert cl.FixedSequence().walk([], delta=0.1) == Walked(None, 0)
    assert cl.Fallback().walk([], delta=0.1, count=0) == Walked(None, 0)
    assert cl.FixedSequence().certified([], delta=0.1) == cl.Fallback().certified([], delta=0.1) == []


@pytest.mark.parametrize("true_alternatives", [[], [0, 2], [1, 3, 5]])
@pytest.mark.parametrize("dependence", ["independent", "one for all", "opposed"])
@pytest.mark.parametrize("sequence", [cl.FixedSequence(), cl.Fallback(), cl.Fallback((0.5, 0.1, 0.1, 0.1, 0.1, 0.1))])
def test_a_false_certificate_has_a_chance_of_delta_at_most(sequence, dependence, true_alternatives):
    """Uniform p-values under six hypotheses; those that are not null have p = 0 and pass on all they hold."""
    delta, draws = 0.2, 2000
    rng = np.random.default_rng(5)
    uniform = rng.random((draws, 6))
    if dependence != "independent":
        uniform[:] = uniform[:, :1]
    if dependence == "opposed":
        uniform[:, 1::2] = 1 - uniform[:, 1::2]
    uniform[:, true_alternatives] = 0.0
    wrong = sum(bool(set(sequence.certified(p.tolist(), delta=delta)) - set(true_alternatives)) for p in uniform)
    margin = 3 * np.sqrt(delta * (1 - delta) / draws)
    assert wrong / draws <= delta + margin
    assert wrong / draws > delta / 10  # it does certify
    nulls = np.unique(np.delete(uniform, true_alternatives, axis=1), axis=1)
    if nulls.shape[1] > 1:
        assert (nulls <= delta).any(axis=1).mean() > delta + margin  # delta spent on each test would be found out


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((0.5, 0.6), r"weights must be at least 0 and sum to 1, got a sum of 1.1"),
        ((0.5, 0.4), r"weights must be at least 0 and sum to 1, got a sum of 0.9"),
        ((1.5, -0.5), r"weights must be at least 0 and sum to 1"),
        ((), r"weights must be at least 0 and sum to 1"),
        ((0.5, "0.5"), r"weights must be a number, got '0.5'"),
        ((0.5, float("nan")), r"weights must be finite, got nan"),
    ],
)
def test_weights_that_are_no_shares_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        cl.Fallback(weights)


def test_weights_may_be_off_by_dust_and_never_sum_to_more_than_one():
    assert sum(cl.Fallback(tuple([0.1] * 10)).weights or ()) == pytest.approx(1)
    assert sum(cl.Fallback((0.5, 0.5 + 1e-10)).weights or ()) <= 1


def test_weights_of_another_number_than_the_thresholds_are_refused():
    with pytest.raises(InputError, match=r"weights must name one share per threshold, got 2 for 3 thresholds"):
        cl.Fallback((0.5, 0.5)).certified([0.1, 0.1, 0.1], delta=0.1)


def test_fallback_refuses_a_walk_whose_length_is_not_known():
    with pytest.raises(
        InputError, match=r'Fallback needs a finite grid of thresholds; pass thresholds=cl.grid\(…\), not "exact"'
    ):
        cl.Fallback().walk(Blocks([0.1], 1), delta=0.1, count=None)


def test_a_delta_outside_is_refused():
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\), got 10; did you mean 0.10\?"):
        cl.FixedSequence().certified([0.1], delta=10)


def test_sequences_say_what_they_are():
    assert cl.FixedSequence().settings() == {"name": "fixed"}
    assert cl.Fallback().settings() == {"name": "fallback", "weights": None}
    assert cl.Fallback((0.25, 0.75)).settings() == {"name": "fallback", "weights": [0.25, 0.75]}
    assert {"fixed": cl.FixedSequence, "fallback": cl.Fallback} == SEQUENCES
    assert all(isinstance(kind(), sequence_module.TestingOrder) for kind in SEQUENCES.values())
