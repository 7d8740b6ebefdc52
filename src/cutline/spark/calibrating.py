"""Calibration on Spark: the passes over the data that an evidence and its thresholds need, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline import calibration
from cutline._checks import check_delta, check_level, check_piece, check_seed, check_whole
from cutline._record import check_settings
from cutline.curve import RiskCurve, check_pieces
from cutline.cutting import check_judged, fingerprint_text, judged_labels, prepared_quietly, whole_losses
from cutline.errors import InputError
from cutline.evidence import Evidence
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.searching import (
    MOST_BET,
    SAMPLE_LEAST,
    Search,
    Whole,
    checked_sample,
    default_evidence,
    quantile_grid,
    search_of_curve,
    search_of_queries,
)
from cutline.sequence import FixedSequence, TestingOrder
from cutline.sets import SetRule, Threshold
from cutline.spark import packing, tasks
from cutline.spark.frames import ANSWER, Frame, FrameRows, Rows, answered, answers_in, reading_of, summed_up, together

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate
    from cutline.queries import Queries

HALF = np.array([0.5])  # a threshold, where what is counted does not depend on it


def calibrate(
    frame: Frame,
    *,
    alpha: float,
    delta: float,
    loss: Loss,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
    columns: Mapping[str, str] | None = None,
) -> Certificate | Abstention:
    """`cl.calibrate` on the queries of a DataFrame, with the same answer to the last bit.

    Where sums at given thresholds are all that it takes, only they leave the workers, after one pass. Otherwise queries
    are counted first. Up to `most_queries` of them are collected and calibrated here. With more, the default evidence
    takes sums of all; betting, asked for, looks at the `most_queries` of smallest keyed hash, which are collected.
    """
    reading = reading_of(frame, columns, vectors=getattr(sets, "needs_vectors", False))
    return calibrated(
        FrameRows(frame, reading), alpha=alpha, delta=delta, loss=loss,
        scoring=AsGiven() if scoring is None else scoring, sets=Threshold() if sets is None else sets,
        evidence=evidence, thresholds=thresholds, sequence=sequence, seed=seed, most_queries=most_queries,
    )  # fmt: skip


def calibrated(
    rows: Rows,
    *,
    alpha: float,
    delta: float,
    loss: Loss,
    scoring: Scoring,
    sets: SetRule,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
) -> Certificate | Abstention:
    """What `cl.calibrate` answers for the same queries. Sums are added up by the workers; losses that are read in
    order, and scores that are thresholds themselves, are those of queries that are collected here."""
    settings: dict[str, Any] = {"alpha": check_level("alpha", alpha), "delta": check_delta(delta)}
    settings |= {"sequence": FixedSequence() if sequence is None else sequence, "seed": check_seed(seed)}
    check_pieces(loss=loss, scoring=scoring, sets=sets)
    most = check_whole("most_queries", most_queries, least=SAMPLE_LEAST + 2)
    on_grid = thresholds is not None and not isinstance(thresholds, str)
    on_grid = on_grid or (thresholds is None and scoring.name == "win-rate" and not _refuses_empty(evidence))
    pieces: dict[str, Any] = {"loss": loss, "scoring": scoring, "sets": sets}
    if evidence is None or evidence.needs == "order" or not on_grid:
        count = _count(rows)
        if count <= most:
            queries = collected(rows)
            given = {"evidence": evidence, "thresholds": thresholds, "most_queries": most}
            return calibration.calibrate(queries, **pieces, **given, **settings)
        evidence = default_evidence(count, most) if evidence is None else evidence
    _check_evidence(evidence, settings["sequence"])
    if isinstance(thresholds, str) or (thresholds is None and _refuses_empty(evidence)):
        raise InputError(
            f"thresholds must be a grid where {rows.reading.source} has more than {most:,} queries, or {evidence.name} "
            "evidence is asked for; pass thresholds=cl.grid(…)"
        )
    plan = _Plan(evidence=evidence, pieces=pieces, seed=settings["seed"], most=most)
    passes = _Passes(rows)
    if evidence.needs == "order":
        search = _of_first(passes, plan, cast(Any, thresholds), settings["sequence"])
    else:
        search = _of_sums(passes, plan, cast(Any, thresholds), on_grid=on_grid)
    return calibration.certify(search, evidence=evidence, **settings)


def _check_evidence(evidence: Evidence, sequence: TestingOrder) -> None:
    check_piece("evidence", evidence, Evidence, "cl.evidence.Convex()")
    check_piece("sequence", sequence, TestingOrder, "cl.FixedSequence() or cl.Fallback()")
    check_settings("evidence", evidence)
    check_settings("sequence", sequence)


def _refuses_empty(evidence: Evidence | None) -> bool:
    return bool(getattr(evidence, "refuses_equal_losses", False))


def _count(rows: Rows) -> int:
    count = rows.count()
    if not count:
        raise InputError(f"{rows.reading.source} has columns and no rows")
    return count


def collected(rows: Rows) -> Queries:
    """All queries, here."""
    return _queries_in(rows.runs().toArrow(), rows.reading.source)


def _queries_in(runs: Any, source: str) -> Queries:
    for message in runs.column("refused").drop_null()[:1]:
        raise InputError(message.as_py())
    return packing.queries_of(runs.sort_by([("query", "ascending"), ("place", "ascending")]), source)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is calibrated, apart from thresholds."""

    evidence: Evidence
    pieces: dict[str, Any]  # loss, scoring and sets
    seed: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class _Passes:
    """Passes over the rows."""

    rows: Rows

    def curve(self, empty: RiskCurve, *, quietly: bool = False) -> RiskCurve:
        """The sums of all queries."""
        return summed_up(self.rows, empty, quietly=quietly)

    def whole(self, empty: RiskCurve) -> int:
        """The sum of the losses of all lists kept whole."""
        source = self.rows.reading.source
        runs = together(self.rows.runs(), "query", "place")
        return sum(int(answer) for answer in answered(runs, lambda runs: tasks.kept_whole(runs, empty, source)))

    def first(self, count: int, seed: int, fingerprint: str) -> Queries:
        """The `count` queries of smallest keyed hash, here."""
        found = self.rows.runs(lambda runs: tasks.smallest_hashes(runs, seed, fingerprint, count), ANSWER)
        last = reduce(lambda one, other: tasks.smallest(one + other, count), answers_in(found))[-tasks.DIGEST :]
        chosen = self.rows.runs(lambda runs: tasks.runs_up_to(runs, seed, fingerprint, last))
        return _queries_in(chosen.toArrow(), self.rows.reading.source)


def _surveyed(passes: _Passes, plan: _Plan, *, quietly: bool) -> Whole:
    """How many queries there are, and their fingerprint, which says in which order they are tested."""
    known = passes.curve(RiskCurve.empty(**plan.pieces, thresholds=HALF), quietly=quietly)
    check_judged(known.n_judged)
    return Whole(known.n_queries, fingerprint_text(known.fingerprint, known.lengths))


def _of_first(passes: _Passes, plan: _Plan, thresholds: npt.ArrayLike | None, sequence: TestingOrder) -> Search:
    """The walk over the first queries in testing order, of which the evidence reads loss after loss."""
    whole = _surveyed(passes, plan, quietly=False)
    queries = passes.first(plan.most, plan.seed, whole.fingerprint)
    return search_of_queries(
        queries, **plan.pieces, evidence=plan.evidence, thresholds=thresholds, sequence=sequence, seed=plan.seed,
        most=plan.most, whole=whole,
    )  # fmt: skip


def _of_sums(passes: _Passes, plan: _Plan, thresholds: npt.ArrayLike | None, *, on_grid: bool) -> Search:
    """The walk over all queries, of which sums are known; where a sample of them draws the thresholds, without it."""
    if on_grid:
        empty = RiskCurve.empty(**plan.pieces, thresholds=thresholds)
        return search_of_curve(passes.curve(empty), plan.evidence, whole=partial(passes.whole, empty))
    whole = _surveyed(passes, plan, quietly=True)
    sample = checked_sample(whole.n_queries)
    few = passes.first(sample, plan.seed, whole.fingerprint)
    lists = prepared_quietly(few, **plan.pieces)[0].reordered(few.hash_order(plan.seed, whole.fingerprint))
    empty = RiskCurve.empty(**plan.pieces, thresholds=quantile_grid(lists, sample))
    drawn = empty.of(lists.reordered(np.arange(len(few))), judged_labels(few))
    return search_of_curve(
        passes.curve(empty).without(drawn), plan.evidence, fingerprint=whole.fingerprint, sample=sample,
        whole=lambda: passes.whole(empty) - _whole(few, plan),
    )  # fmt: skip


def _whole(queries: Queries, plan: _Plan) -> int:
    return whole_losses(prepared_quietly(queries, **plan.pieces)[0])
