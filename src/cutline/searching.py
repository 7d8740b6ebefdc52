"""What a calibration walks through: which thresholds, over which queries, and where its sums of losses come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline.curve import RiskCurve, check_thresholds
from cutline.cutting import (
    MOST_SUMMED,
    Lists,
    Stretch,
    check_judged,
    fingerprint_of,
    fingerprint_text,
    judged_labels,
    lengths_of,
    prepared_quietly,
    unit_losses,
    whole_losses,
    width_of,
)
from cutline.errors import InputError, warn
from cutline.evidence import Betting, EmpiricalBernstein, Evidence
from cutline.losses import Loss
from cutline.preferences import Scoring
from cutline.relevance import TopM
from cutline.sequence import FixedSequence, TestingOrder, describe
from cutline.sets import SetRule
from cutline.statements import goodness
from cutline.walks import ExactWalk, walk_of

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SAMPLE_SHARE, SAMPLE_LEAST, SAMPLE_MOST = 0.05, 10, 200
MOST_BET = 200_000  # queries that betting looks at; with more of them sums are the default


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """A walk to be tested. `lists` is absent where only sums are known, `count` where every score is a threshold."""

    stretches: Iterable[Stretch]
    lists: Lists | None
    loss: Loss
    scoring: Scoring
    sets: SetRule
    n_queries: int
    lengths: dict[int, int]
    fingerprint: Callable[[], str]
    thresholds: dict[str, Any] | str
    count: int | None
    sample: int = 0
    whole: Callable[[], int] | None = None  # the sum of the losses of all lists kept whole, in 1/UNITS
    vector_width: int | None = None

    @property
    def exact(self) -> bool:
        """Whether every score is a threshold."""
        return self.count is None

    @property
    def falling(self) -> bool:
        """Whether thresholds fall along the walk."""
        return self.loss.safe_end == "high"

    def losses_at(self, thresholds: Floats) -> Floats:
        """Losses at a few thresholds (thresholds × queries, in testing order), where the lists are known."""
        lists = cast(Lists, self.lists)
        ascending, place = np.unique(thresholds, return_inverse=True)
        ordered = ascending[::-1].copy() if self.falling else ascending
        walk = walk_of(lists, ordered, squares=False, losses=True, entire=True)
        losses = np.concatenate([stretch.losses for stretch in walk.stretches()])
        return np.ascontiguousarray((losses[::-1] if self.falling else losses)[place])


@dataclass(frozen=True, slots=True)
class Whole:
    """All queries of a file of which some are at hand: how many, and their fingerprint as text."""

    n_queries: int
    fingerprint: str


def default_evidence(n_queries: int, most: int = MOST_BET) -> Evidence:
    """Betting for up to `most` queries; beyond, empirical Bernstein on all of them, which is tighter than betting on
    `most` from about log(2/delta) / log(1/delta) times as many on, and needs sums only."""
    return Betting() if n_queries <= most else EmpiricalBernstein()


def search_of_curve(
    curve: RiskCurve,
    evidence: Evidence,
    *,
    fingerprint: str | None = None,
    sample: int = 0,
    whole: Callable[[], int] | None = None,
) -> Search:
    """The thresholds and sums of a curve. Where `sample` more queries drew the thresholds, `fingerprint` is that of
    all."""
    if evidence.needs == "order":
        raise InputError(
            f"evidence {evidence.name!r} reads losses one by one, and a RiskCurve keeps sums only; "
            "pass evidence=cl.evidence.Convex(), or calibrate from the queries"
        )
    if curve.n_queries:
        check_judged(curve.n_judged)
        _warn_of_no_good_in(curve)
    return Search(
        stretches=[Stretch(curve.thresholds, curve.sums, np.empty((0, 0)))],
        lists=None,
        loss=curve.loss,
        scoring=curve.scoring,
        sets=curve.sets,
        n_queries=curve.n_queries,
        lengths=curve.lengths,
        fingerprint=lambda: fingerprint or fingerprint_text(curve.fingerprint, curve.lengths),
        thresholds=describe(curve.thresholds),
        count=len(curve),
        sample=sample,
        whole=whole,
        vector_width=curve.vector_width,
    )


def search_of_queries(
    queries: Queries,
    *,
    loss: Loss,
    scoring: Scoring,
    sets: SetRule,
    evidence: Evidence,
    thresholds: npt.ArrayLike | str | None,
    sequence: TestingOrder,
    seed: int,
    most: int = MOST_BET,
    whole: Whole | None = None,
) -> Search:
    """The thresholds asked for, or the default ones, over these queries; over the first `most` in testing order where
    the evidence reads losses in order. With `whole` these are the first ones of a larger table already, of which
    cautions were told."""
    lists, cautions = prepared_quietly(queries, loss=loss, scoring=scoring, sets=sets)
    if whole is None:
        cautions.say(loss)
    labels = queries.labels
    check_judged(1 if labels is not None and not np.isnan(labels[0]) else judged_labels(queries))
    _warn_of_no_good(lists)
    count = len(queries) if whole is None else whole.n_queries
    if evidence.needs == "order" and count > most:
        warn(f"{evidence.name} evidence looks at {most:,} of {count:,} queries: those of smallest keyed hash")
    if thresholds is None and getattr(evidence, "refuses_equal_losses", False):
        raise InputError(
            f"thresholds are wanted: {evidence.name} evidence refuses losses that are all equal, as those of empty "
            "lists are, where every default walk begins; pass thresholds=cl.grid(…) from where lists are not empty"
        )
    if thresholds is None:
        thresholds = _default_thresholds(lists, scoring, evidence, sequence, many=count > most)
    sample, lengths = 0, lengths_of(queries.sizes)
    known = partial(fingerprint_of, lists, lengths) if whole is None else partial(str, whole.fingerprint)
    if isinstance(thresholds, str):
        _check_exact(thresholds, lists, evidence, sequence)
    else:
        if evidence.needs == "order" or thresholds is None:
            order = queries.hash_order(seed, known())
            lists = lists.reordered(order[:most] if evidence.needs == "order" else order)
        if thresholds is None:
            sample = checked_sample(len(lists.order))
            thresholds = quantile_grid(lists, sample)
            lists = lists.reordered(lists.order[sample:])
        thresholds = check_thresholds(thresholds, loss=loss, scoring=scoring)
    squares = evidence.needs == "moments" or getattr(evidence, "binary_only", False)
    if isinstance(thresholds, str):
        walk, count, described = ExactWalk(lists, squares=squares), None, "exact"
    else:
        walk = walk_of(lists, thresholds, squares=squares, losses=evidence.needs == "order")
        count, described = len(thresholds), describe(thresholds)
    return Search(
        stretches=walk.stretches(),
        lists=lists,
        loss=loss,
        scoring=scoring,
        sets=sets,
        n_queries=len(lists.order),
        lengths=lengths if len(lists.order) == len(queries) else lengths_of(queries.sizes[lists.order]),
        fingerprint=known,
        thresholds=described,
        count=count,
        sample=sample,
        whole=partial(whole_losses, lists),
        vector_width=width_of(lists),
    )


def _default_thresholds(
    lists: Lists, scoring: Scoring, evidence: Evidence, sequence: TestingOrder, *, many: bool
) -> Floats | str | None:
    """The fixed grid for win rates; else every score where sums suffice and queries are not many; else None: quantiles
    of a sample."""
    if scoring.name == "win-rate":
        return check_thresholds(None, loss=lists.loss, scoring=scoring)
    plain = lists.plain and isinstance(sequence, FixedSequence)
    return "exact" if evidence.needs == "sum" and plain and not many else None


def _check_exact(word: str, lists: Lists, evidence: Evidence, sequence: TestingOrder) -> None:
    if word != "exact":
        raise InputError(f'thresholds must be numbers or "exact", got {word!r}')
    refused = [
        (evidence.needs == "order", f"evidence from sums, such as cl.evidence.Convex(), not {evidence.name}"),
        (not isinstance(sequence, FixedSequence), f"FixedSequence, not {sequence.name}"),
        (not lists.plain, f"a built-in loss with Threshold, not {lists.loss.name} with {lists.rule.name}"),
    ]
    needed = [words for wrong, words in refused if wrong]
    if needed:
        raise InputError(
            f'thresholds="exact" tests every score, which needs {" and ".join(needed)}; '
            "else pass a grid: thresholds=cl.grid(…)"
        )


def _warn_of_no_good(lists: Lists) -> None:
    codes = lists.badness.codes
    if len(codes) and not (bool((codes[:4096] == 0).any()) or bool((codes == 0).any())):
        _say_no_good("no item", lists.loss, unjudged=lists.badness.unjudged > 0)


def _say_no_good(none: str, loss: Loss, *, unjudged: bool) -> None:
    relevance = loss.relevance
    if type(relevance) is TopM and unjudged and relevance.unjudged == "bad":
        why = (
            "items without a label are taken to be better than all judged ones, and take the places: "
            'unjudged="drop" asks for the best among judged items.'
        )
    else:
        why = "is that the scale of the labels?"
    warn(f"{none} is wholly good ({goodness(relevance)}); {why} What is certified will be lists that are empty or bad")


def _warn_of_no_good_in(curve: RiskCurve) -> None:
    """The same where only sums are known: from those at the longest lists."""
    from cutline.kernels.walk import BAD, CHOSEN, JUDGED

    row = curve.sums[int(np.argmax(curve.sums[:, CHOSEN]))]
    if 0 < row[JUDGED] <= MOST_SUMMED and int(row[BAD]) == unit_losses(int(row[JUDGED])):
        _say_no_good("no item that any threshold keeps", curve.loss, unjudged=curve.n_judged < curve.n_items)


def sample_size(n_queries: int) -> int:
    """How many of so many queries draw the thresholds."""
    return min(max(round(SAMPLE_SHARE * n_queries), SAMPLE_LEAST), SAMPLE_MOST)


def checked_sample(n_queries: int) -> int:
    """The same, where enough are left to calibrate on."""
    sample = sample_size(n_queries)
    if n_queries - sample < 2:
        raise InputError(
            f"queries must be at least {SAMPLE_LEAST + 2} where {SAMPLE_LEAST} of them draw the thresholds, "
            f"got {n_queries}; judge more, or pass thresholds=cl.grid(…)"
        )
    return sample


def quantile_grid(lists: Lists, sample: int) -> Floats:
    """Scores of the first `sample` queries, at 250 even and 250 geometric ranks: fine for short lists and long."""
    offsets = lists.offsets
    pooled = [lists.scores[offsets[query] : offsets[query + 1]] for query in lists.order[:sample]]
    falling = np.sort(np.concatenate(pooled))[::-1]
    ranks = np.concatenate([np.linspace(0, len(falling) - 1, 250), np.geomspace(1, len(falling), 250) - 1])
    ascending = np.unique(falling[np.unique(np.rint(ranks).astype(np.int64))])
    return ascending[::-1].copy() if lists.entering else ascending
