"""What each alpha, or each largest size, would cost in list length: certificates that hold together, or a look
around."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline import statements
from cutline._checks import check_delta, check_level, check_truth, check_whole
from cutline._display import html_table, shown, text_table
from cutline.auditing import diversity_at
from cutline.calibration import calibrate
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.cutting import cut_all, scores_of
from cutline.errors import CutlineWarning, InputError
from cutline.evidence import Evidence
from cutline.losses import Loss
from cutline.preferences import Scoring
from cutline.searching import MOST_BET
from cutline.sequence import TestingOrder
from cutline.sets import Diverse, SetRule, Threshold
from cutline.variety import Variety

if TYPE_CHECKING:
    from cutline.queries import Queries

RESAMPLES = 200  # of the bootstrap interval of a relative gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One choice of alpha and largest size, and what calibration showed there; None where nothing was certified.

    Of diverse lists: the share of lists that had more items to choose from than they may hold, and the mean relative
    gain in diversity of what was chosen over all there was, by pairs, over `n_modified` such lists.
    """

    alpha: float
    max_size: int | None
    threshold: float | None
    risk: float | None
    mean_size: float | None
    share_nonempty: float | None
    share_modified: float | None = None
    diversity: float | None = None
    n_modified: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Frontier:
    """Certificates for several declared choices of alpha, from the same queries.

    Unless it is `exploratory`, each was calibrated at `level` = delta / J for its J choices, so that with probability
    at least 1 - delta all of them hold together (Bonferroni), and any may be chosen after seeing them. An
    exploratory frontier tests each at delta: to choose among its points breaks the promise of every one.
    """

    delta: float
    level: float
    exploratory: bool
    certificates: tuple[Certificate | Abstention, ...]
    varieties: tuple[Variety | None, ...]

    def __len__(self) -> int:
        return len(self.certificates)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    @property
    def points(self) -> tuple[Point, ...]:
        """The figures, in the order of the choices."""
        return tuple(_point(*both) for both in zip(self.certificates, self.varieties, strict=True))

    def statement(self) -> str:
        """What holds of all the points together."""
        count, sure = len(self), statements.confidence(self.delta)
        if count == 1:
            return f"One point, tested at delta = {self.delta:g}: it holds with probability at least {sure}."
        if self.exploratory:
            return (
                f"Exploratory: each of the {count} points was tested at delta = {self.delta:g} by itself. Choosing one "
                "after seeing them breaks its promise: declare an alpha and calibrate on new queries, or leave "
                "exploratory out."
            )
        return (
            f"With probability at least {sure} all {count} points hold together: each was tested at delta / {count} = "
            f"{self.level:.4g}. Any of them may be chosen after seeing them, and those that were not declared may not."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON."""
        return {
            "delta": self.delta,
            "level": self.level,
            "exploratory": self.exploratory,
            "points": [{name: getattr(point, name) for name in point.__dataclass_fields__} for point in self.points],
        }

    def _rows(self) -> list[tuple[str, object]]:
        return [(_choice(point), _figures(point)) for point in self.points]

    def __repr__(self) -> str:
        return text_table(self.statement(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self.statement(), self._rows())


def frontier(
    queries: Queries | RiskCurve,
    *,
    alphas: float | Iterable[float],
    delta: float,
    max_sizes: Iterable[int | None] | None = None,
    exploratory: bool = False,
    loss: Loss | None = None,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
) -> Frontier:
    """A certificate for each of the declared `alphas`, and for each of the `max_sizes` of the rule if there are any.

    All hold together with probability at least 1 - delta, as each spends delta / J. With `exploratory=True` each
    spends delta, and none may be chosen for what it shows here. The other arguments are those of `calibrate`.
    """
    delta, levels = check_delta(delta), _levels(alphas)
    check_truth("exploratory", exploratory)
    rules = _rules(queries, sets, max_sizes)
    count = len(levels) * len(rules)
    level = delta if exploratory else delta / count
    certificates: list[Certificate | Abstention] = []
    for rule in rules:
        for alpha in levels:
            with warnings.catch_warnings():
                if certificates:  # what is odd about the queries was said at the first point
                    warnings.simplefilter("ignore", CutlineWarning)
                certificates.append(
                    calibrate(
                        queries, alpha=alpha, delta=level, loss=loss, scoring=scoring, sets=rule, evidence=evidence,
                        thresholds=thresholds, sequence=sequence, seed=seed, most_queries=most_queries,
                    )
                )  # fmt: skip
    return Frontier(
        delta=delta,
        level=level,
        exploratory=exploratory,
        certificates=tuple(certificates),
        varieties=tuple(_variety(certificate, queries) for certificate in certificates),
    )


def _levels(alphas: Any) -> list[float]:
    listed = list(cast("Iterable[Any]", alphas)) if isinstance(alphas, Iterable) else [alphas]
    if isinstance(alphas, str | bytes) or not listed:
        raise InputError(
            f"alphas must be one or more levels, such as [0.1, 0.2, 0.3], got {shown(cast(object, alphas))}"
        )
    levels = [check_level("alphas", alpha) for alpha in listed]
    _refuse_twice("alphas", levels)
    return levels


def _rules(queries: object, sets: SetRule | None, max_sizes: Any) -> Sequence[SetRule | None]:
    if max_sizes is None:
        return [sets]
    if isinstance(queries, RiskCurve):
        raise InputError("max_sizes needs the queries: a RiskCurve was summed for one rule")
    rule: Any = Threshold() if sets is None else sets
    if not hasattr(rule, "max_size") or not is_dataclass(rule):
        raise InputError(f"max_sizes needs a rule with a max_size, such as cl.Threshold(), got {shown(rule)}")
    listed = list(cast("Iterable[Any]", max_sizes)) if isinstance(max_sizes, Iterable) else [max_sizes]
    sizes = [None if size is None else check_whole("max_sizes", size, least=1) for size in listed]
    if not sizes:
        raise InputError("max_sizes must name at least one size, got none; leave it out for that of the rule")
    _refuse_twice("max_sizes", sizes)
    return [cast(SetRule, replace(cast(Any, rule), max_size=size)) for size in sizes]


def _refuse_twice(name: str, values: Sequence[object]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"{name} must differ, got {value!r} twice; each one costs a share of delta")


def _variety(certificate: Certificate | Abstention, queries: Queries | RiskCurve) -> Variety | None:
    """What choosing diverse items did to the lists; None where nothing is chosen, or single lists are not known."""
    if isinstance(certificate, Abstention) or isinstance(queries, RiskCurve) or type(certificate.sets) is not Diverse:
        return None
    scores = scores_of(queries, certificate.scoring)
    chosen, _ = cut_all(
        certificate.sets, scores, queries.offsets, queries.vectors, certificate.threshold, queries.vector_rows
    )
    calibrating, sample = np.arange(len(queries)), certificate.sample
    if certificate.n_queries < len(queries):  # others drew the thresholds, or came too late to be looked at
        order = queries.hash_order(certificate.seed, certificate.calibration_fingerprint)
        calibrating = np.sort(order[sample : sample + certificate.n_queries])
    return diversity_at(certificate, queries, scores, chosen, calibrating, resamples=RESAMPLES)


def _point(certificate: Certificate | Abstention, variety: Variety | None) -> Point:
    found = isinstance(certificate, Certificate)
    limit = getattr(certificate.sets, "max_size", None)
    return Point(
        alpha=certificate.alpha,
        max_size=limit,
        threshold=certificate.threshold if found and math.isfinite(certificate.threshold) else None,
        risk=certificate.risk if found else None,
        mean_size=certificate.mean_size if found else None,
        share_nonempty=certificate.share_nonempty if found else None,
        share_modified=None if variety is None else variety.share_modified,
        diversity=None
        if variety is None or variety.over_before["pairs"] is None
        else variety.over_before["pairs"].mean,
        n_modified=None if variety is None else variety.n_modified,
    )


def _choice(point: Point) -> str:
    size = "" if point.max_size is None else f", at most {point.max_size}"
    return f"alpha {point.alpha:g}{size}"


def _figures(point: Point) -> str:
    if point.threshold is None:
        return "nothing certified"
    more = "" if point.share_modified is None else f", {statements.percent(point.share_modified)} modified"
    if point.diversity is not None:
        more += f", diversity {100 * point.diversity:+.1f} %"
    return (
        f"threshold {point.threshold:.6g}, mean size {point.mean_size:.2f}, "
        f"{statements.percent(point.share_nonempty)} non-empty{more}"
    )
