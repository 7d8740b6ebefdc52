"""Ratings as ranked lists: half of what each person rated is a history that is known, the other half a list to rank.

The features of a list come from its person's own history and from what is known of the items without any rating.
Queries are then independent of each other, as calibration wants them. How others rated an item would tell more; it
may come only from people who are no queries themselves (`reference`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, generator_of
from cutline._rows import offsets_of_sizes
from cutline.errors import InputError

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

OWN = ("ratings in history", "mean rating", "spread of ratings", "liking of its kind", "least liking", "most liking")
OTHERS = ("ratings by others", "liking by others")
_PRIOR = 2.0  # ratings at the mean that a kind or an item is given beforehand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """Who rated what and how: whole numbers for persons and items, and the kinds that each rated item is of."""

    person: Integers
    item: Integers
    rating: Floats
    kinds: Bools  # (n_ratings, n_kinds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """The ratings that are lists to rank, person by person, and the features of each."""

    rows: Integers
    persons: Integers
    offsets: Integers
    features: Floats


def candidates_of(ratings: Ratings, *, reference: float, rng: int | np.random.Generator) -> Candidates:
    """Divide the ratings of each person by a draw: the smaller half is history, the rest candidates. A share
    `reference` of the persons, drawn before, become no queries; all they rated tells of the items."""
    share = check_number("reference", reference)
    if not 0.0 <= share < 1.0:
        raise InputError(f"reference must be a share of the persons in [0, 1), got {reference!r}")
    generator = generator_of(rng)
    n_persons = int(ratings.person.max()) + 1
    refers = np.zeros(n_persons, np.bool_)
    refers[generator.permutation(n_persons)[: round(share * n_persons)]] = True
    place = _drawn_places(ratings.person, generator)
    counts = np.bincount(ratings.person, minlength=n_persons)
    asked = ~refers[ratings.person]
    history = asked & (place < counts[ratings.person] // 2)
    rows = np.flatnonzero(asked & ~history)
    rows = rows[np.argsort(ratings.person[rows], kind="stable")]
    persons, sizes = np.unique(ratings.person[rows], return_counts=True)
    parts = [_own(ratings, history, rows, n_persons)]
    if share:
        parts.append(_others(ratings, ~asked, rows))
    return Candidates(
        rows=rows, persons=persons, offsets=offsets_of_sizes(sizes), features=np.concatenate(parts, axis=1)
    )


def _drawn_places(person: Integers, generator: np.random.Generator) -> Integers:
    """For each rating its place among those of its person, in a random order."""
    order = np.lexsort((generator.random(len(person)), person))
    starts = np.concatenate(([0], np.cumsum(np.bincount(person))))
    place = np.empty(len(person), np.int64)
    place[order] = np.arange(len(person)) - starts[person[order]]
    return place


def _own(ratings: Ratings, history: Bools, rows: Integers, n_persons: int) -> Floats:
    """What a person's history says: how many, how high, how spread, and how much they like the kinds of an item,
    beyond their mean."""
    known = np.flatnonzero(history)
    person, rating, kinds = ratings.person[known], ratings.rating[known], ratings.kinds[known]
    count = np.bincount(person, minlength=n_persons)
    mean = _over(np.bincount(person, rating, minlength=n_persons), count)
    centred = rating - mean[person]
    spread = np.sqrt(_over(np.bincount(person, centred**2, minlength=n_persons), count))
    liking = np.empty((n_persons, kinds.shape[1]))
    for kind in range(kinds.shape[1]):
        of_kind = kinds[:, kind]
        summed = np.bincount(person[of_kind], centred[of_kind], minlength=n_persons)
        liking[:, kind] = summed / (np.bincount(person[of_kind], minlength=n_persons) + _PRIOR)
    asked, has = ratings.person[rows], ratings.kinds[rows]
    of_item = np.where(has, liking[asked], np.nan)
    some = has.any(axis=1)
    extremes = np.zeros((3, len(rows)))
    extremes[0, some] = np.nanmean(of_item[some], axis=1)
    extremes[1, some] = np.nanmin(of_item[some], axis=1)
    extremes[2, some] = np.nanmax(of_item[some], axis=1)
    return np.column_stack([np.log1p(count[asked]), mean[asked], spread[asked], *extremes])


def _others(ratings: Ratings, reference: Bools, rows: Integers) -> Floats:
    """How often the reference persons rated an item, and how far above their own means."""
    known, n_items = np.flatnonzero(reference), int(ratings.item.max()) + 1
    person, item, rating = ratings.person[known], ratings.item[known], ratings.rating[known]
    mean = _over(np.bincount(person, rating), np.bincount(person))
    count = np.bincount(item, minlength=n_items)
    liking = np.bincount(item, rating - mean[person], minlength=n_items) / (count + _PRIOR)
    return np.column_stack([np.log1p(count[ratings.item[rows]]), liking[ratings.item[rows]]])


def _over(total: Array, count: Array) -> Floats:
    """total / count, and 0 where there is nothing."""
    return np.divide(total, count, out=np.zeros(len(count)), where=count > 0)
