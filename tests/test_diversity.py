"""Distances, Diversity(S) and greedy elimination against loops written from the text."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.points import (
    distances_by_hand,
    diversity_by_hand,
    eliminated_by_hand,
    one_list,
    reaching,
    whole_by_hand,
)

import cutline as cl
from cutline.diversity import distances_of, diversity_of, eliminate
from cutline.errors import InputError
from cutline.kernels import diversity as kernel

NUMBERS = np.array([[0.0], [1.0], [3.0], [7.0]])


def chosen(scores, vectors, threshold, most, distance):
    return cl.Diverse(most, distance=distance).choose(np.array(scores), vectors, threshold).tolist()


def printed_rule(apart, rows, most):
    """The paper's pseudocode: of all sets with one item less, keep the least diverse one."""
    left = list(rows)
    while len(left) > most:
        left = list(
            min(combinations(left, len(left) - 1), key=lambda rest: diversity_by_hand(apart, rest, most, "paper"))
        )
    return left


def prose_rule(apart, rows, most):
    """The paper's prose: remove the item whose removal leaves the most diverse set."""
    left = list(rows)
    while len(left) > most:
        left = list(
            max(combinations(left, len(left) - 1), key=lambda rest: diversity_by_hand(apart, rest, most, "paper"))
        )
    return left


# Elimination --------------------------------------------------------------------------------------------------------


@given(one_list(), st.integers(1, 13))
def test_elimination_is_the_definition_at_every_threshold(drawn, most):
    scores, vectors, distance = drawn
    whole = whole_by_hand(distances_by_hand(vectors, distance))
    for threshold in [-np.inf, *sorted(set(scores)), np.inf]:
        assert chosen(scores, vectors, threshold, most, distance) == eliminated_by_hand(scores, whole, threshold, most)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_without_ties_elimination_is_the_prose_of_the_paper(distance):
    rng = np.random.default_rng(0)
    for _ in range(25):
        scores, vectors = rng.random(9), rng.normal(size=(9, 3))
        apart = distances_by_hand(vectors, distance)
        for most in (1, 2, 4, 8):
            kept = chosen(scores, vectors, -np.inf, most, distance)
            if most > 1:  # of the last two items either leaves a set without distances: that tie the scores decide
                assert sorted(kept) == prose_rule(apart, range(9), most)


def test_points_0_1_3_7_keep_0_and_7_and_the_printed_rule_keeps_worse():
    scores = np.array([0.9, 0.8, 0.7, 0.6])
    assert chosen(scores, NUMBERS, 0.5, 2, "euclidean") == [0, 3]
    apart = distances_by_hand(NUMBERS, "euclidean")
    assert printed_rule(apart, range(4), 2) == [0, 1]
    assert diversity_of(NUMBERS, [0, 3], max_size=2) == 7.0
    assert diversity_of(NUMBERS, [0, 1], max_size=2) == 1.0


def test_the_printed_rule_gives_the_less_diverse_sets():
    rng = np.random.default_rng(1)
    for _ in range(20):
        vectors = rng.normal(size=(10, 4))
        apart = distances_by_hand(vectors, "euclidean")
        ours = diversity_of(vectors, chosen(np.ones(10), vectors, 0.0, 4, "euclidean"), max_size=4)
        best = max(diversity_of(vectors, rows, max_size=4) for rows in combinations(range(10), 4))
        assert diversity_of(vectors, printed_rule(apart, range(10), 4), max_size=4) < 0.8 * ours
        assert 0.9 * best < ours <= best


def test_among_equal_sums_the_lowest_score_goes_first_then_the_highest_position():
    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert chosen([0.5, 0.9, 0.5, 0.7], corners, 0.0, 3, "euclidean") == [1, 3, 0]
    assert chosen([0.5, 0.5, 0.5, 0.5], corners, 0.0, 3, "euclidean") == [0, 1, 2]
    same = np.ones((5, 2))
    assert chosen([0.1, 0.5, 0.3, 0.5, 0.3], same, 0.0, 3, "euclidean") == [1, 3, 2]


@given(one_list(), st.integers(1, 13), st.randoms(use_true_random=False))
def test_the_order_of_the_items_matters_to_no_more_than_the_tie_rule(drawn, most, shuffled):
    scores, vectors, distance = drawn
    count = len(scores)
    places = list(range(count))
    shuffled.shuffle(places)
    moved = vectors[places][:, places] if distance == "precomputed" else vectors[places]
    again = chosen([scores[i] for i in places], moved, -np.inf, most, distance)
    whole = whole_by_hand(distances_by_hand(vectors, distance))
    if len(set(scores)) == count:  # no two items are alike to the tie rule
        assert [places[i] for i in again] == chosen(scores, vectors, -np.inf, most, distance)
    # else: positions as they came count in ties; in the new order they are those of the new order
    remade = [[whole[i][j] for j in places] for i in places]
    assert again == eliminated_by_hand([scores[i] for i in places], remade, -np.inf, most)


@given(one_list(), st.integers(1, 13))
def test_what_is_chosen_is_a_part_of_what_reaches_the_threshold_and_all_of_it_where_that_is_little(drawn, most):
    scores, vectors, distance = drawn
    for threshold in sorted(set(scores)):
        kept, reached = chosen(scores, vectors, threshold, most, distance), reaching(scores, threshold)
        assert len(kept) == min(most, len(reached))
        assert set(kept) <= set(reached)
        assert [scores[i] for i in kept] == sorted((scores[i] for i in kept), reverse=True)


def test_a_list_of_one_item_and_a_threshold_that_none_reaches():
    assert chosen([0.5], [[1.0, 2.0]] @ np.eye(2), 0.5, 1, "euclidean") == [0]
    assert chosen([0.5], np.ones((1, 2)), 0.6, 1, "euclidean") == []
    assert chosen([0.5, 0.4], np.ones((2, 2)), 0.6, 1, "cosine") == []


@given(one_list(), st.integers(1, 6))
def test_elimination_as_a_strategy_takes_distances_for_what_they_are(drawn, most):
    scores, vectors, distance = drawn
    apart = distances_of(vectors, distance=distance)
    assert eliminate(np.array(scores), apart, most).tolist() == chosen(scores, vectors, -np.inf, most, distance)


def test_more_items_than_places_fit_beside_40_bits_leave_distances_fewer():
    """3,000 items: 12 bits for the place, so 38 for a distance."""
    rng = np.random.default_rng(0)
    vectors, scores = rng.normal(size=(3_000, 2)), rng.random(3_000)
    apart = distances_of(vectors)
    assert kernel.room_for(3_000) == 12
    power = 38 - math.frexp(float(apart.max()))[1]
    assert float(apart.max()) * 2.0**power <= 2**38
    assert np.array_equal(np.ldexp(apart, power), np.rint(np.ldexp(apart, power)))
    top = np.sort(scores)[-60]
    rows = reaching(scores, top)
    naive = rows.copy()
    while len(naive) > 7:
        sums = apart[np.ix_(naive, naive)].sum(axis=1)
        naive.remove(min(zip(sums, scores[naive], (-i for i in naive), strict=True))[2] * -1)
    assert sorted(chosen(scores, vectors, top, 7, "euclidean")) == naive


# Distances ----------------------------------------------------------------------------------------------------------


@given(one_list())
def test_distances_are_those_of_the_definition_in_whole_units(drawn):
    _, vectors, distance = drawn
    by_hand = distances_by_hand(vectors, distance)
    largest = max(max(row) for row in by_hand)
    unit = Fraction(2) ** (math.frexp(largest)[1] - 40)
    wanted = [[float(units * unit) for units in row] for row in whole_by_hand(by_hand)]
    found = distances_of(vectors, distance=distance)
    assert found.tolist() == wanted
    assert np.array_equal(found, found.T)
    assert np.abs(found - np.array(by_hand)).max() <= largest * 2.0**-39


def test_known_distances():
    assert distances_of([[0.0, 0], [3, 4]]).tolist() == [[0, 5], [5, 0]]
    cosine = distances_of([[1.0, 0], [0, 2], [-3, 0], [5, 0]], distance="cosine")
    assert cosine[0].tolist() == [0, 1, 2, 0]
    tags = distances_of([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], distance="jaccard")
    assert tags[0].tolist() == pytest.approx([0, 2 / 3, 1, 1])
    assert tags[2, 3] == 0
    assert distances_of([[0, 1.0], [3, 0]], distance="precomputed").tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-160, 1.0, 1e160, 1e200, 1e307])
@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_huge_and_tiny_vectors_neither_overflow_nor_vanish(size, distance):
    rng = np.random.default_rng(2)
    plain = rng.integers(-8, 9, (12, 3)) / 8.0 + 0.0625
    power = 2.0 ** round(math.log2(size))
    if power < 1e-300:
        plain = np.rint(plain * 16)  # denormals have few digits
    lifted = plain * power
    apart = distances_of(lifted, distance=distance)
    assert np.isfinite(apart).all()
    wanted = distances_of(plain, distance=distance)
    assert np.allclose(apart / power if distance == "euclidean" else apart, wanted, rtol=1e-9)
    scores = rng.random(12)
    assert chosen(scores, lifted, -1.0, 4, distance) == chosen(scores, plain, -1.0, 4, distance)


def test_single_precision_means_the_numbers_it_holds():
    rng = np.random.default_rng(3)
    single = rng.normal(size=(20, 6)).astype(np.float32)
    assert np.array_equal(distances_of(single), distances_of(single.astype(np.float64)))


# Diversity ----------------------------------------------------------------------------------------------------------


@given(one_list(), st.integers(1, 14), st.sampled_from(["paper", "pairs"]), st.randoms(use_true_random=False))
def test_diversity_is_a_double_loop_over_ordered_pairs(drawn, most, denominator, random):
    _, vectors, distance = drawn
    rows = random.sample(range(len(vectors)), random.randint(0, len(vectors)))
    found = diversity_of(vectors, rows, max_size=most, distance=distance, denominator=denominator)
    by_hand = diversity_by_hand(distances_by_hand(vectors, distance), rows, most, denominator)
    assert found == pytest.approx(by_hand, rel=1e-9, abs=1e-300)


def test_the_two_denominators():
    assert diversity_of(NUMBERS, max_size=2) == 46 / 4
    assert diversity_of(NUMBERS, max_size=2, denominator="pairs") == 46 / 12
    assert diversity_of(NUMBERS, [0, 3], max_size=5) == 14 / 5
    assert diversity_of(NUMBERS, [0, 3], max_size=5, denominator="pairs") == 14 / 20
    assert diversity_of(NUMBERS, [2], max_size=1, denominator="pairs") == 0.0
    assert diversity_of(NUMBERS, [], max_size=3) == 0.0
    assert diversity_of(NUMBERS, np.array([True, False, False, True]), max_size=2) == 7.0


def test_the_most_diverse_set_is_the_same_by_both_denominators_and_the_ratio_is_not():
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(30, 5))
    few = list(combinations(range(8), 3))
    best = [
        max(few, key=lambda rows: diversity_of(vectors, rows, max_size=3, denominator=by)) for by in ("paper", "pairs")
    ]
    assert best[0] == best[1]
    kept = chosen(np.ones(30), vectors, 0.0, 10, "euclidean")
    ratios = [
        diversity_of(vectors, kept, max_size=10, denominator=by) / diversity_of(vectors, max_size=10, denominator=by)
        for by in ("paper", "pairs")
    ]
    assert ratios[0] < 0.5 < 1.0 < ratios[1]


# Bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "how", "message"),
    [
        ([1.0, 2.0], {}, r"vectors must be numbers of shape \(n_items, d\) with d at least 1, got float64 of shape \(2,\)"),
        (np.empty((2, 0)), {}, r"with d at least 1, got float64 of shape \(2, 0\)"),
        ([["a"], ["b"]], {}, "vectors must be numbers of shape"),
        ([[1.0], [math.nan]], {}, "vectors must be finite, got NaN or infinity for the item at position 1"),
        ([[1.0], [math.inf]], {}, "vectors must be finite, got NaN or infinity for the item at position 1"),
        (
            [[1.0, 0.0], [0.0, 0.0]], {"distance": "cosine"},
            r'vectors must not be all zero, for cosine .* position 1; drop the item, or choose distance="euclidean"',
        ),
        (
            [[1.0, 0.5]], {"distance": "jaccard"},
            "vectors must hold 0 and 1 only, one place for each tag, for jaccard distances, got .* position 0; write 1",
        ),
        (
            [[0.0, 1.0]], {"distance": "precomputed"},
            r"precomputed distances must be a square matrix, .* for each of 1 items, got shape \(1, 2\)",
        ),
        (
            [[0.0, -1.0], [1.0, 0.0]], {"distance": "precomputed"},
            r"precomputed distances must not be negative, got -1.0 for the item at position 0, to position 1; are they",
        ),
        (
            [[1.0, 0.2], [0.2, 1.0]], {"distance": "precomputed"},
            r"precomputed distances must be 0 from an item to itself, got 1.0 for .* pass 1 - similarity",
        ),
        ([[1.0]], {"distance": "manhattan"}, "distance must be one of 'euclidean', .* got 'manhattan'"),
        ([[1.0]], {"denominator": "mean"}, "denominator must be one of 'paper', 'pairs', got 'mean'"),
        ([[1.0]], {"max_size": 0}, "max_size must be a whole number of at least 1, got 0"),
        ([[1.0]], {"rows": [1]}, r"rows must name items from 0 to 0, each once, got \[1\]"),
        ([[1.0], [2.0]], {"rows": [0, 0]}, "rows must name items from 0 to 1, each once"),
        ([[1.0], [2.0]], {"rows": [0.5]}, "rows must name items from 0 to 1, each once"),
    ],
)  # fmt: skip
def test_what_has_no_diversity_is_refused(vectors, how, message):
    with pytest.raises(InputError, match=message):
        diversity_of(vectors, **{"max_size": 2, **how})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0.1, 0.2], [[0.0, 1.0]], 1), "vectors must have one row per item, 2 in all, got 1"),
        (([0.1, 0.2], np.zeros((2, 3)), 1), r"must be a square matrix, .* got shape \(2, 3\)"),
        (([0.1, 0.2], [[0.0, -1.0], [1.0, 0.0]], 1), "must not be negative, got -1.0"),
        (([0.1, "x"], np.zeros((2, 2)), 1), "scores must be numbers"),
        (([0.1, 0.2], np.zeros((2, 2)), 0), "max_size must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_eliminated_from_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        eliminate(*given)
