"""Learn then Test: walk the thresholds from the safe end, stop where the evidence stops (Angelopoulos et al., 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline._checks import SMALLEST_LEVEL, check_delta, check_level, check_piece, check_seed, check_whole
from cutline._record import CurvePoints, Refusal, check_settings
from cutline._tables import check_is_queries
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve, check_pieces, length_quantiles
from cutline.cutting import MOST_SUMMED, Lists, unit_losses, warn_of_positions
from cutline.errors import InputError
from cutline.evidence import Convex, Evidence
from cutline.judging import Judge, judge_of
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.searching import (
    MOST_BET,
    SAMPLE_LEAST,
    SAMPLE_SHARE,
    Search,
    default_evidence,
    sample_size,
    search_of_curve,
    search_of_queries,
)
from cutline.sequence import Fallback, FixedSequence, TestingOrder
from cutline.sets import SetRule, Threshold

if TYPE_CHECKING:
    from cutline.cutting import Stretch
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SHOWN = 24  # points of the risk curve that a certificate keeps


def calibrate(
    queries: Queries | RiskCurve,
    *,
    alpha: float,
    delta: float,
    loss: Loss | None = None,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
) -> Certificate | Abstention:
    """The threshold at which lists of new queries should stop, or an abstention.

    With probability at least 1 - delta over the draw of the calibration queries, the procedure abstains or returns a
    threshold whose risk (the expected loss of a new query from the same source) is at most alpha. Nothing is promised
    for a single list, for groups of queries, or if any argument was chosen after seeing the calibration queries, their
    scores included.

    `queries` may be a RiskCurve; loss, scoring, sets and thresholds are then those of the curve.

    With more than `most_queries` of them the default evidence is EmpiricalBernstein, on all; betting, asked for, looks
    at the first `most_queries` in the order of their hashes.
    """
    alpha, delta = check_level("alpha", alpha), check_delta(delta)
    most = check_whole("most_queries", most_queries, least=SAMPLE_LEAST + 2)
    sequence = FixedSequence() if sequence is None else sequence
    evidence = _default_evidence(queries, most) if evidence is None else evidence
    check_piece("evidence", evidence, Evidence, "cl.evidence.Convex()")
    check_piece("sequence", sequence, TestingOrder, "cl.FixedSequence() or cl.Fallback()")
    check_settings("evidence", evidence)
    check_settings("sequence", sequence)
    seed = check_seed(seed)
    if isinstance(queries, RiskCurve):
        _refuse_second_choice({"loss": loss, "scoring": scoring, "sets": sets, "thresholds": thresholds})
        search = search_of_curve(queries, evidence)
    else:
        if loss is None:
            raise InputError("loss is wanted: such as loss=cl.FalseDiscovery(cl.Grade(at_least=3))")
        scoring, sets = AsGiven() if scoring is None else scoring, Threshold() if sets is None else sets
        check_pieces(loss=loss, scoring=scoring, sets=sets)
        check_is_queries(queries)
        if len(queries) < 2:
            _refuse_few(len(queries))
        search = search_of_queries(
            queries,
            loss=loss,
            scoring=scoring,
            sets=sets,
            evidence=evidence,
            thresholds=thresholds,
            sequence=sequence,
            seed=seed,
            most=most,
        )
    return certify(search, alpha=alpha, delta=delta, evidence=evidence, sequence=sequence, seed=seed)


def certify(
    search: Search, *, alpha: float, delta: float, evidence: Evidence, sequence: TestingOrder, seed: int
) -> Certificate | Abstention:
    """Walk and test what a search lays out."""
    if search.n_queries < 2:
        _refuse_few(search.n_queries)
    trail = _Trail(search, judge_of(evidence, n=search.n_queries, alpha=alpha, delta=delta))
    walked = sequence.walk(trail.blocks(), delta=delta, count=search.count)
    close = cast(Any, getattr(search.stretches, "close", None))
    if close is not None:
        close()  # what a walk has sorted is as large as the lists
    last = -1 if walked.farthest is None else walked.farthest
    if not last < walked.tested <= trail.length or not walked.tested:
        raise InputError(f"sequence {sequence.name!r} walked to what it did not test: {walked!r} of {trail.length}")
    settings = {"alpha": alpha, "delta": delta, "evidence": evidence, "sequence": sequence, "seed": seed}
    return _conclude(trail, settings, walked.farthest, walked.tested)


@dataclass(slots=True, eq=False)
class _Trail:
    """The walk as it is tested: the thresholds passed and the sums there. Long exact walks are thinned behind."""

    search: Search
    judge: Judge
    kept: list[tuple[Integers, Floats, Integers]] = field(default_factory=list[tuple[Integers, Floats, Integers]])
    length: int = 0

    def blocks(self) -> Iterator[_Tested]:
        for stretch in self.search.stretches:
            if self.kept and self.search.exact:
                positions, thresholds, sums = self.kept[-1]
                few = _spread(len(positions), 64)
                self.kept[-1] = positions[few], thresholds[few], sums[few]
            positions = np.arange(self.length, self.length + len(stretch))
            self.kept.append((positions, stretch.thresholds, stretch.sums))
            self.length += len(stretch)
            yield _Tested(stretch, self.judge)

    def row(self, position: int) -> tuple[float, Integers]:
        """The threshold and the sums at a position of the walk."""
        positions, thresholds, sums = next(part for part in reversed(self.kept) if part[0][0] <= position)
        place = int(np.searchsorted(positions, position))
        return float(thresholds[place]), sums[place]

    def shown(self, last: int, also: int) -> tuple[Floats, Integers]:
        """Thresholds and sums at about SHOWN positions up to `last`, and at `also`."""
        positions, thresholds, sums = (np.concatenate(part) for part in zip(*self.kept, strict=True))
        finite = np.isfinite(thresholds)
        passed = np.flatnonzero((positions <= last) & finite)
        picked = np.union1d(passed[_spread(len(passed), SHOWN - 1)], np.flatnonzero((positions == also) & finite))
        return thresholds[picked], sums[picked]


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    """A stretch of hypotheses «the risk at this threshold is above alpha»."""

    stretch: Stretch
    judge: Judge

    def __len__(self) -> int:
        return len(self.stretch)

    def certified(self, level: float, first: int, last: int) -> Flags:
        """Which of the thresholds first … last-1 are certified at this level."""
        return self.judge.certified(self.stretch.sums[first:last], self.stretch.losses[first:last], level=level)


def _conclude(trail: _Trail, settings: dict[str, Any], farthest: int | None, tested: int) -> Certificate | Abstention:
    from cutline.kernels import walk

    search, delta, n = trail.search, settings["delta"], trail.search.n_queries
    here = 0 if farthest is None else farthest
    threshold, sums = trail.row(here)
    ordered = settings["evidence"].needs == "order"
    thresholds, rows = trail.shown(tested - 1, here)
    losses = search.losses_at(np.append(thresholds, threshold)) if ordered else np.empty((len(rows) + 1, 0))
    bounds = trail.judge.bounds(np.concatenate([rows, sums[None, :]]), losses, delta=delta)
    nonempty, judged = int(sums[walk.NONEMPTY]), int(sums[walk.JUDGED])
    found: dict[str, Any] = {
        **settings,
        "n_queries": n,
        "n_items": sum(length * count for length, count in search.lengths.items()),
        "loss": search.loss,
        "scoring": search.scoring,
        "sets": search.sets,
        "sample": search.sample,
        "thresholds": search.thresholds,
        "tested": tested,
        "risk": int(sums[walk.LOSS]) / unit_losses(n),
        "log_evidence": trail.judge.log_evidence(sums[None, :], losses[-1:], delta=delta),
        "share_nonempty": nonempty / n,
        "mean_size": int(sums[walk.CHOSEN]) / n,
        "risk_given_nonempty": int(sums[walk.LOSS_NONEMPTY]) / unit_losses(nonempty) if nonempty else None,
        "item_rate": int(sums[walk.BAD]) / unit_losses(judged) if 0 < judged <= MOST_SUMMED else None,
        "list_lengths": length_quantiles(search.lengths),
        "curve": CurvePoints(
            threshold=thresholds.tolist(),
            risk=(rows[:, walk.LOSS] / np.float64(unit_losses(n))).tolist(),
            bound=bounds[:-1].tolist(),
            mean_size=(rows[:, walk.CHOSEN] / n).tolist(),
        ),
        "calibration_fingerprint": search.fingerprint(),
        "vector_width": search.vector_width,
    }
    everything = search.falling and not search.exact and int(sums[walk.CHOSEN]) == found["n_items"]
    if farthest is not None:
        if type(settings["sequence"]) is FixedSequence and not found["log_evidence"] >= _bar(delta):
            raise InputError(
                f"evidence {settings['evidence'].name!r} contradicts itself: it certifies threshold {threshold:g}, and "
                f"its log evidence there is {found['log_evidence']:.4g}"
            )
        certified = _answer(trail, threshold, farthest, tested)
        if search.lists is not None:
            warn_of_positions(search.lists, certified)
        return Certificate(**found, certified_threshold=certified)
    if isinstance(settings["sequence"], Fallback):
        return Abstention(**found, refusal=_refusal_of_shares(trail, settings))
    first_losses = losses[-1] if ordered else None
    turned = _turned_around(search, found["risk_given_nonempty"] or 0.0, settings["alpha"])
    refusal = _refusal(settings, found["risk"], float(bounds[-1]), first_losses, everything, search, turned)
    return Abstention(**found, refusal=refusal)


def _bar(delta: float) -> float:
    """The log evidence that certifies, by either way of writing it."""
    return min(math.log(1.0 / delta), -math.log(delta))


def _answer(trail: _Trail, threshold: float, farthest: int, tested: int) -> float:
    """The certified threshold itself; of an exact walk, the farthest one before the score that failed."""
    if not trail.search.exact:
        return threshold
    if tested > farthest + 1:
        failing = trail.row(farthest + 1)[0]
        return _beyond(failing) if trail.search.falling else failing
    if np.isinf(threshold):  # the sizes allowed fix every list, whatever the threshold: any is certified
        scores = cast(Lists, trail.search.lists).scores
        return float(scores.min() if trail.search.falling else scores.max())
    return threshold if trail.search.falling else _beyond(threshold)


def _beyond(score: float) -> float:
    """The next number above a score."""
    above = math.nextafter(score, math.inf)
    if math.isinf(above):
        raise InputError(f"scores must be below {score!r}, the largest number there is; rescale them")
    return above


def _refusal(
    settings: dict[str, Any],
    risk: float,
    bound: float,
    losses: Floats | None,
    everything: bool,
    search: Search,
    turned: bool,
) -> Refusal:
    """Why the walk never began, and what would help."""
    alpha = settings["alpha"]
    if risk < alpha:
        reason = f"At the very first threshold the upper bound on the risk is {bound:.4g}, above alpha = {alpha:g}."
    else:
        reason = f"The very first threshold has a risk of {risk:.4g} on these queries, not below alpha = {alpha:g}."
    if _all_equal(search):
        reason += " All scores are equal; were the items scored?"
    elif everything:
        reason += (
            " Every item is kept there already: let the thresholds begin higher, within the range of the scores, and "
            "calibrate on new queries."
        )
    if turned:
        reason += " Kept whole, the lists would be better than that: is a higher score a better item?"
    needed = _needed(settings, risk, losses, delta=settings["delta"], sample=search.sample)
    return Refusal(reason=reason, smallest_alpha=bound if bound < 1 else None, queries_needed=needed)


def _all_equal(search: Search) -> bool:
    """Whether no item scores above another."""
    return search.lists is not None and bool(search.lists.scores.min() == search.lists.scores.max())


def _turned_around(search: Search, risk: float, alpha: float) -> bool:
    """Whether the items that are kept first are far worse than all of them, as where ranks are taken for scores."""
    if search.whole is None or not search.falling or risk < alpha:
        return False
    return risk > search.whole() / unit_losses(search.n_queries) + 0.1


def _refusal_of_shares(trail: _Trail, settings: dict[str, Any]) -> Refusal:
    """The same for Fallback, where every threshold failed at its own share of delta; the nearest miss is told."""
    from cutline.kernels.walk import LOSS

    search, alpha = trail.search, settings["alpha"]
    thresholds, sums = (np.concatenate(part) for part in list(zip(*trail.kept, strict=True))[1:])
    shares = np.array(settings["sequence"].shares(len(thresholds)))
    held = np.flatnonzero(shares > 0)
    ordered = settings["evidence"].needs == "order"
    levels = np.maximum(shares * settings["delta"], SMALLEST_LEVEL)
    if ordered:  # bounds by betting are dear: those at the thresholds where Convex has the smallest will do
        rough = _bounds_at(
            judge_of(Convex(), n=search.n_queries, alpha=settings["alpha"], delta=settings["delta"]),
            sums[held],
            np.empty((len(held), 0)),
            levels[held],
        )
        held = np.sort(held[np.argsort(rough, kind="stable")[:SHOWN]])
    losses = search.losses_at(thresholds[held]) if ordered else np.empty((len(held), 0))
    bounds = _bounds_at(trail.judge, sums[held], losses, levels[held])
    best = int(np.argmin(bounds))
    bound, level = float(bounds[best]), float(levels[held[best]])
    risk = int(sums[held[best], LOSS]) / unit_losses(search.n_queries)
    reason = (
        f"Each of the {len(thresholds):,} thresholds had its own share of delta, and none was certified at alpha = "
        f"{alpha:g}; about the nearest, {thresholds[held[best]]:.6g}, "
        f"has the upper bound {bound:.4g} at level {level:.3g}."
    )
    needed = _needed(settings, risk, losses[best] if ordered else None, delta=level, sample=search.sample)
    return Refusal(reason=reason, smallest_alpha=bound if bound < 1 else None, queries_needed=needed)


def _bounds_at(judge: Judge, sums: Integers, losses: Floats, levels: Floats) -> Floats:
    """Upper bounds on the risks, each at a level of its own."""
    bounds = np.ones(len(sums))
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        bounds[rows] = judge.bounds(sums[rows], losses[rows], delta=float(level))
    return bounds


def _needed(settings: dict[str, Any], risk: float, losses: Floats | None, *, delta: float, sample: int) -> int | None:
    """About how many queries like these would be enough, by formulas alone. Where some draw the thresholds, these come
    on top."""
    from cutline.evidence.needed import queries_for

    if risk >= settings["alpha"]:
        return None
    evidence, alpha = settings["evidence"], settings["alpha"]
    spread = None if losses is None else float(losses.std())
    needed = queries_for(evidence, alpha=alpha, delta=delta, expected_risk=risk, spread=spread, simulate=False)
    return needed + sample_size(round(needed / (1 - SAMPLE_SHARE))) if needed and sample else needed


def _default_evidence(queries: object, most: int) -> Evidence:
    """By the number of queries alone."""
    if isinstance(queries, RiskCurve):
        return default_evidence(queries.n_queries, most)
    check_is_queries(queries)
    return default_evidence(len(cast("Queries", queries)), most)


def _spread(length: int, wanted: int) -> Integers:
    """At most `wanted` positions of 0 … length-1, evenly, both ends included."""
    return np.unique(np.linspace(0, length - 1, min(wanted, length)).astype(np.int64))


def _refuse_few(count: int) -> None:
    raise InputError(f"queries must be at least 2 to calibrate on, got {count}; judge more queries")


def _refuse_second_choice(own: dict[str, Any]) -> None:
    given = [name for name, value in own.items() if value is not None]
    if given:
        raise InputError(
            f"a RiskCurve has its own {', '.join(given)}; set them in RiskCurve.empty and leave them out here"
        )
