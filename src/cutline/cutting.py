"""Scored and judged lists, cut at one threshold: what is chosen, what it costs, and sums of that in whole units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import frozen_view, is_whole
from cutline._display import shown
from cutline._tables import place_of
from cutline._vectors import vectors_at
from cutline.cautions import Cautions, cautions_of, say_positions
from cutline.diversity import check_measurable
from cutline.errors import InputError
from cutline.losses import FalseDiscovery, Loss, Miss
from cutline.preferences import SCORINGS, Scoring
from cutline.relevance import RELEVANCES, Badness, Relevance
from cutline.sets import RULES, Diverse, SetRule, Threshold

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST_BLOCK = 4_000_000  # losses of a stretch held at once
MOST_IN_ONE = 2**29 - 1  # queries of one table
MOST_SUMMED = 1_700_000_000  # losses of 1, or bad items, whose sum in 1/UNITS fits 64 bits


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Scored and judged lists in the order in which they are to be tested; `order` may name some of the queries
    only."""

    scores: Floats
    offsets: Integers
    badness: Badness
    loss: Loss
    rule: SetRule
    order: Integers
    vectors: npt.NDArray[Any] | None = None
    vector_rows: Integers | None = None

    def reordered(self, order: Integers) -> Lists:
        """The same lists with another order of the queries, or with fewer of them."""
        return replace(self, order=order)

    @property
    def entering(self) -> bool:
        """Whether the walk goes from high to low, so that items enter their lists."""
        return self.loss.safe_end == "high"

    @property
    def plain(self) -> bool:
        """Whether each item has one step: a built-in loss, cut at a plain threshold."""
        return type(self.loss) in (FalseDiscovery, Miss) and type(self.rule) is Threshold


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Consecutive thresholds of a walk, with the table of sums at each, and the losses (thresholds × queries) if
    kept."""

    thresholds: Floats
    sums: Integers
    losses: Floats

    def __len__(self) -> int:
        return len(self.thresholds)


def prepared(queries: Queries, *, loss: Loss, scoring: Scoring, sets: SetRule) -> Lists:
    """The queries scored and judged, all of them in their own order, ready to be walked; cautions are told."""
    lists, cautions = prepared_quietly(queries, loss=loss, scoring=scoring, sets=sets)
    cautions.say(loss)
    return lists


def prepared_quietly(queries: Queries, *, loss: Loss, scoring: Scoring, sets: SetRule) -> tuple[Lists, Cautions]:
    """The same, with what is to be told of them: of a chunk it is not told, but added up."""
    check_vectors(queries, sets)
    check_countable(len(queries))
    badness = badness_of(queries, loss.relevance)
    scores = scores_of(queries, scoring)
    lists = Lists(
        scores=scores,
        offsets=queries.offsets,
        badness=badness,
        loss=loss,
        rule=sets,
        order=np.arange(len(queries)),
        vectors=queries.vectors,
        vector_rows=queries.vector_rows,
    )
    return lists, cautions_of(queries, badness, scores, sets)


def check_vectors(queries: Queries, sets: SetRule) -> None:
    """Vectors, where the rule needs them, and such as its distance can measure."""
    if sets.needs_vectors and queries.vectors is None:
        raise InputError(
            f"queries have no vectors, and {sets.name} needs them: pass vectors=, name their column in from_frame by "
            'columns={"vector": ...}, or add them by item id: queries.with_vectors(...)'
        )
    if type(sets) is Diverse and queries.vectors is not None:
        where = partial(place_of, queries)
        check_measurable(queries.vectors, queries.vector_rows, queries.offsets, sets.distance, where)


def scores_of(queries: Queries, scoring: Scoring) -> Floats:
    """One finite score per item, which no rule can write to."""
    return frozen_view(item_scores(scoring, queries.scores, queries.offsets))


def item_scores(scoring: Scoring, outputs: Floats, offsets: Integers) -> Floats:
    """Scores from outputs; what a scoring of one's own gives is checked, as compiled loops trust it."""
    scores = scoring.item_scores(outputs, offsets)
    if type(scoring) in SCORINGS.values():
        return scores
    try:
        scores = np.ascontiguousarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{scoring.name}: item_scores must give numbers, got {shown(scores)}") from None
    if scores.shape != outputs.shape or not np.isfinite(scores).all():
        raise InputError(
            f"{scoring.name}: item_scores must give one finite score per item, {len(outputs):,} of them, "
            f"got shape {scores.shape}{'' if np.isfinite(scores).all() else ' with NaN or infinity'}"
        )
    return scores


def badness_of(queries: Queries, relevance: Relevance) -> Badness:
    """Badness of every item; what a relevance of one's own gives is checked."""
    badness = relevance.badness(queries)
    if type(relevance) in RELEVANCES.values() and not isinstance(badness, np.ndarray):
        return badness
    found = _checked_badness(badness, relevance, queries)
    if len(queries) < 2:
        return found
    few = queries.select(slice(0, len(queries) // 2))
    alone = _checked_badness(relevance.badness(few), relevance, few)
    _check_by_list(f"{relevance.name}: badness", found.shares()[: few.n_items], alone.shares())
    return found


def _checked_badness(badness: Any, relevance: Relevance, queries: Queries) -> Badness:
    from cutline.kernels.walk import UNITS

    if isinstance(badness, np.ndarray):
        return _badness_of_shares(cast("npt.NDArray[Any]", badness), relevance, queries)
    if not hasattr(badness, "codes"):
        raise InputError(f"{relevance.name}: badness must be an array of numbers, one per item, got {shown(badness)}")
    codes: npt.NDArray[Any] = np.ascontiguousarray(badness.codes)
    unit = badness.unit
    typed = codes.shape == (queries.n_items,) and codes.dtype.char in "bql" and codes.dtype.itemsize in (1, 8)
    fits = typed and is_whole(unit) and 0 < unit <= UNITS and int(codes.max(initial=0)) * int(unit) <= UNITS
    if not fits or int(codes.min(initial=0)) < -1:
        raise InputError(
            f"{relevance.name}: badness must be int8 or int64 codes, one per item, -1 where an item is passed over, "
            f"and code * unit at most {UNITS}; got {codes.dtype} codes of shape {codes.shape} and unit {unit!r}"
        )
    return Badness(codes, unit, badness.unjudged)


def _badness_of_shares(given: npt.NDArray[Any], relevance: Relevance, queries: Queries) -> Badness:
    """Badness given as numbers in [0, 1], NaN where the loss passes over an item; in whole units it is rounded up."""
    from cutline.kernels.walk import UNITS

    shares = given.astype(np.float64) if given.dtype.kind in "biuf" else np.full(given.shape, -1.0)
    passed_over = np.isnan(shares)
    if shares.shape != (queries.n_items,) or not bool(np.all(passed_over | ((shares >= 0) & (shares <= 1)))):
        raise InputError(
            f"{relevance.name}: badness must be one number in [0, 1] per item, {queries.n_items:,} of them, or NaN "
            f"where the loss passes over it, got {shown(given)}"
        )
    units = np.ceil(np.where(passed_over, 0.0, shares) * UNITS - 1e-5)
    return Badness(np.where(passed_over, -1, units).astype(np.int64), 1, int(np.count_nonzero(passed_over)))


def check_judged(n_judged: int) -> None:
    """At least one label, or the ids of scores and labels did not match."""
    if not n_judged:
        raise InputError(
            "queries have no labels at all: every label is missing; is the column of labels filled, and do the ids "
            "of scores and labels match?"
        )


def warn_of_positions(lists: Lists, threshold: float) -> None:
    """Ties that the order of the rows decides, in diverse lists, whose last rule among ties is the position too: cut
    once more with each list turned around, which changes nothing where no tie is left to positions."""
    if type(lists.rule) is not Diverse or lists.vectors is None or lists.rule.distance == "precomputed":
        return
    offsets = lists.offsets
    turned = np.repeat(offsets[:-1] + offsets[1:] - 1, np.diff(offsets)) - np.arange(len(lists.scores))
    vectors, rows = lists.vectors, lists.vector_rows
    there = (vectors[turned], None) if rows is None else (vectors, rows[turned])
    shares = lists.badness.shares()
    here = cut_all(lists.rule, lists.scores, offsets, vectors, threshold, rows)[0]
    other = cut_all(lists.rule, lists.scores[turned], offsets, there[0], threshold, there[1])[0]
    differ = units_of(lists.loss, here, shares, offsets) != units_of(lists.loss, other, shares[turned], offsets)
    say_positions(int(np.count_nonzero(differ[lists.order])), len(lists.order))


def judged_labels(queries: Queries) -> int:
    """How many items have a label."""
    return 0 if queries.labels is None else len(queries.labels) - int(np.count_nonzero(np.isnan(queries.labels)))


def chosen_rows(rule: SetRule, scores: Floats, vectors: npt.NDArray[Any] | None, threshold: float) -> Integers:
    """The rows that a rule chooses of one list, after a check of what a rule of one's own gives."""
    if type(rule) in RULES.values():
        return rule.choose(scores, vectors, threshold)
    rows = rule.choose(frozen_view(scores), None if vectors is None else frozen_view(vectors), threshold)
    rows = np.asarray(rows)
    if rows.ndim != 1 or (len(rows) and not np.issubdtype(rows.dtype, np.integer)):
        raise InputError(f"{rule.name}: choose must give the rows of the chosen items, got {shown(rows)}")
    if len(rows) and (rows.min() < 0 or rows.max() >= len(scores) or len(np.unique(rows)) < len(rows)):
        raise InputError(f"{rule.name}: choose must give each row once, from 0 to {len(scores) - 1}, got {shown(rows)}")
    return rows.astype(np.int64)


def cut_all(
    rule: SetRule,
    scores: Floats,
    offsets: Integers,
    vectors: npt.NDArray[Any] | None,
    threshold: float,
    vector_rows: Integers | None = None,
) -> tuple[npt.NDArray[np.bool_], Integers]:
    """Cut every list with any rule: the mask of chosen items, and their rows, best first and list after list."""
    if isinstance(rule, Threshold) and type(rule) is Threshold:  # a subclass may choose otherwise
        order, _ = rule.choose_all(scores, offsets, threshold)
    elif isinstance(rule, Diverse) and type(rule) is Diverse and vectors is not None:
        order, _ = rule.choose_all(scores, offsets, vectors, vector_rows, threshold)
    else:
        lists: list[Integers] = []
        for begin, end in pairwise(offsets.tolist()):
            own = None if vectors is None else vectors_at(vectors, vector_rows, slice(begin, end))
            lists.append(begin + chosen_rows(rule, scores[begin:end], own, threshold))
        order = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
    chosen = np.zeros(len(scores), np.bool_)
    chosen[order] = True
    return chosen, order


def whole_losses(lists: Lists) -> int:
    """The sum of the losses of these lists, each kept whole, in 1/UNITS."""
    everything = np.ones(len(lists.scores), np.bool_)
    return int(units_of(lists.loss, everything, lists.badness.shares(), lists.offsets)[lists.order].sum())


def width_of(lists: Lists) -> int | None:
    """How many numbers a vector has; None where vectors are not looked at, or hold the distances within a list."""
    if lists.vectors is None or not lists.rule.needs_vectors:
        return None
    return None if getattr(lists.rule, "distance", "") == "precomputed" else int(lists.vectors.shape[1])


def units_of(loss: Loss, chosen: npt.NDArray[np.bool_], badness: Floats, offsets: Integers) -> Integers:
    """Losses in 1/UNITS, rounded up but for float dust of 2e-15, after a check that they are losses at all."""
    from cutline.kernels.walk import UNITS

    given = loss.of_lists(frozen_view(chosen), frozen_view(badness), frozen_view(offsets))
    try:
        losses = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{loss.name}: of_lists must give numbers, got {shown(given)}") from None
    if losses.shape != (len(offsets) - 1,):
        raise InputError(f"{loss.name}: of_lists must give one loss per query, got shape {losses.shape}")
    if not bool(np.all((losses >= 0) & (losses <= 1))):
        wrong = losses[~((losses >= 0) & (losses <= 1))][0]
        raise InputError(f"{loss.name}: losses must lie in [0, 1], got {wrong!r}; scale the loss, or clip it")
    few = (len(offsets) - 1) // 2
    if few and type(loss) not in (FalseDiscovery, Miss):
        alone = loss.of_lists(
            frozen_view(chosen[: offsets[few]]), frozen_view(badness[: offsets[few]]), frozen_view(offsets[: few + 1])
        )
        _check_by_list(f"{loss.name}: of_lists", losses[:few], np.asarray(alone, dtype=np.float64))
    return np.minimum(np.ceil(losses * UNITS - 1e-5), UNITS).astype(np.int64)


def _check_by_list(what: str, together: Floats, alone: Floats) -> None:
    """Some lists by themselves must give what they gave among all: nothing is promised about what pools queries."""
    if together.shape != alone.shape or not np.allclose(together, alone, rtol=0.0, atol=1e-9, equal_nan=True):
        raise InputError(
            f"{what} must look at each list by itself, and gives other numbers where other lists are left out; queries "
            "are the independent draws that the promise is about"
        )


def sums_of(losses: Integers, sizes: Integers, bad: Integers, judged: Integers) -> Integers:
    """One row of the table of sums, from one number per query each."""
    from cutline.kernels import walk

    sums = np.zeros(walk.COLUMNS, np.int64)
    shares = losses.astype(np.float64)
    sums[walk.LOSS] = losses.sum()
    sums[walk.SQUARED] = np.ceil(shares * shares / walk.UNITS).astype(np.int64).sum()
    sums[walk.LOSS_NONEMPTY] = losses[sizes > 0].sum()
    sums[walk.CHOSEN], sums[walk.BAD] = sizes.sum(), bad.sum()
    sums[walk.NONEMPTY], sums[walk.JUDGED] = np.count_nonzero(sizes), judged.sum()
    return sums


def fingerprint(scores: Floats, badness: Badness, offsets: Integers) -> tuple[int, int]:
    """Two 64-bit sums that tell whether two tables hold the same lists, in whatever order. They add up over
    chunks."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.walk import fingerprint_lists

    one = partial(fingerprint_lists, np.ascontiguousarray(scores), badness.codes, badness.unit, offsets)
    parts = on_threads([partial(one, *span) for span in spans(len(offsets) - 1, least=4096)])
    low, high = (sum(int(part[i]) for part in parts) for i in (0, 1))
    return low % 2**64, high % 2**64


def fingerprint_text(sums: tuple[int, int], lengths: dict[int, int]) -> str:
    """A fingerprint of lists as text; the order of the queries does not enter it."""
    words = [*sums, *(part for pair in sorted(lengths.items()) for part in pair)]
    return sha256(",".join(map(str, words)).encode()).hexdigest()[:32]


def fingerprint_of(lists: Lists, lengths: dict[int, int]) -> str:
    """The fingerprint of all lists, those that do not calibrate included, as text."""
    return fingerprint_text(fingerprint(lists.scores, lists.badness, lists.offsets), lengths)


def lengths_of(sizes: Integers) -> dict[int, int]:
    """How many lists there are of each length."""
    if int(sizes.max(initial=0)) <= len(sizes):  # counting is quicker than sorting
        counts = np.bincount(sizes)
        lengths = np.flatnonzero(counts)
        return dict(zip(lengths.tolist(), counts[lengths].tolist(), strict=True))
    lengths, counts = np.unique(sizes, return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist(), strict=True))


def unit_losses(n_queries: int) -> int:
    """The sum of n losses of 1, in units."""
    from cutline.kernels.walk import UNITS

    return n_queries * UNITS


def check_countable(n_queries: int) -> None:
    """The number of a query and the badness of an item share one 64-bit integer."""
    if n_queries > MOST_IN_ONE:
        raise InputError(f"queries of one table must be at most {MOST_IN_ONE:,}, got {n_queries:,}; see RiskCurve.add")


def check_summable(n_queries: int) -> None:
    """Sums are 64-bit whole numbers: so many losses of 1 still fit."""
    if n_queries > MOST_SUMMED:
        raise InputError(f"queries must be at most {MOST_SUMMED:,} to be summed, got {n_queries:,}; take fewer")
