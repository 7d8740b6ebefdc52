"""What a certificate does on held-out queries: its risk with an interval, its lists, and where the risk sits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from cutline import statements
from cutline._arrays import counted
from cutline._display import html_table, text_table
from cutline._tables import check_is_queries
from cutline.certificate import Abstention, Certificate, Findings
from cutline.cutting import (
    check_judged,
    fingerprint_text,
    scores_of,
    unit_losses,
    units_of,
)
from cutline.errors import InputError, warn
from cutline.evidence import Convex
from cutline.losses import sums_by_list
from cutline.sets import Diverse
from cutline.tallies import (
    SIDE,
    Cell,
    Tally,
    in_units,
    interval,
    interval_of_sums,
    named_cells,
    ones,
    quantiles,
    tally_of,
)
from cutline.variety import Variety, variety_of

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Verdict = Literal["confirmed", "holds", "inconclusive", "above"]

SUSPICION = 0.01  # one-sided p-value at or below which the risk counts as above alpha
MOST_SHOWN = 12  # groups of a column that are printed
STRATA = ("Short", "Short-Medium", "Medium-Long", "Long")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The risk of some of the queries, with an interval that holds for all groups of its table together at 95 %."""

    name: str
    n_queries: int
    risk: float
    low: float
    high: float
    mean_size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """List lengths: their mean, quartiles, extremes, and how many lists there are of each length."""

    mean: float
    quartiles: tuple[float, float, float]
    smallest: int
    largest: int
    histogram: dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Audit:
    """A verdict on held-out queries, and the figures behind it.

    `verdict`: "confirmed" if even the upper end of the interval is at most alpha; "holds" if the estimate is; "above"
    if one-sided p ≤ 0.01 against "the risk is at most alpha"; else "inconclusive", as is usual for a risk near alpha.
    `diversity` says, for lists cut by `Diverse`, what the choosing did to them.
    Up to a share delta of honest calibrations are above alpha, and 1 % of audits of the others say so by chance: so
    "above" proves no defect; or the queries have changed.
    """

    verdict: Verdict
    alpha: float
    delta: float
    threshold: float
    n_queries: int
    n_items: int
    risk: float
    low: float
    high: float
    p_above: float
    share_nonempty: float
    sizes: Sizes
    risk_given_nonempty: float | None
    item_rate: float | None
    recall: float | None
    strata: tuple[Group, ...]
    by: dict[str, tuple[Group, ...]]
    loss: str
    calibration_data: bool
    diversity: Variety | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON; an infinite threshold is None, as JSON has no infinity."""
        return {**asdict(self), "threshold": self.threshold if math.isfinite(self.threshold) else None}

    def statement(self) -> str:
        """The verdict in words."""
        queries = counted(self.n_queries, "query", "queries")
        span = f"{self.risk:.4f} (95 % interval {self.low:.4f} to {self.high:.4f}) on {queries}"
        meaning = {
            "confirmed": "even the upper end of the interval is at most alpha",
            "holds": "the estimate is at most alpha, though the interval reaches above it",
            "inconclusive": "the estimate is above alpha, no further than chance explains; usual for a risk near alpha",
            "above": (
                f"the risk is above alpha (p = {self.p_above:.2g}); up to a share delta + 0.01 = "
                f"{self.delta + SUSPICION:g} of honest calibrations end so, or the queries, scores or labels have "
                "changed since"
            ),
        }[self.verdict]
        caution = statements.emptiness(self.share_nonempty, self.risk_given_nonempty, self.loss)
        if not math.isfinite(self.threshold):
            caution = f"This is an abstention: every list is {'empty' if self.threshold > 0 else 'full'}."
        empty = f" {caution}" if caution else ""
        return f"Verdict: {self.verdict}. The {self.loss} risk is {span}; alpha = {self.alpha:g}: {meaning}.{empty}"

    def _rows(self) -> list[tuple[str, object]]:
        low, middle, high = self.sizes.quartiles
        given = "n/a" if self.risk_given_nonempty is None else f"{self.risk_given_nonempty:.4f}"
        rows: list[tuple[str, object]] = [
            ("risk", f"{self.risk:.4f}  (95 % interval {self.low:.4f} … {self.high:.4f}; alpha {self.alpha:g})"),
            ("queries", f"{self.n_queries:,}, {self.n_items:,} items"),
            ("list size", f"mean {self.sizes.mean:.2f}, quartiles {low:g} / {middle:g} / {high:g}"),
            ("non-empty lists", f"{statements.percent(self.share_nonempty)}, risk {given}"),
            ("pooled item rate", "n/a" if self.item_rate is None else f"{self.item_rate:.4f}"),
            ("good items kept", statements.percent(self.recall)),
        ]
        rows += [] if self.diversity is None else self.diversity.rows()
        for title, groups in (("size", self.strata), *self.by.items()):
            shown = sorted(groups, key=lambda group: -group.n_queries)[:MOST_SHOWN]
            for group in (group for group in groups if group in shown):
                figures = f"{group.risk:.4f}  ({group.low:.4f} … {group.high:.4f}; n {group.n_queries:,})"
                rows.append((f"{title}: {group.name}", figures))
            if len(groups) > MOST_SHOWN:
                rows.append((f"{title}: others", f"{len(groups) - MOST_SHOWN:,} smaller groups: see by[{title!r}]"))
        return rows

    def __repr__(self) -> str:
        return text_table(self.statement(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self.statement(), self._rows())


def audit(certificate: Certificate | Abstention, queries: Queries, *, by: str | Sequence[str] | None = None) -> Audit:
    """Cut the lists of judged queries that calibration never saw, and see whether the promise stands.

    `by` names columns that hold one value per query. The groups' intervals are Convex bounds, Bonferroni-wide over
    the groups of their table; strata by list size are cut at quartiles of the sizes seen, empty lists apart. The
    calibration queries are recognised, with a warning, where they are exactly the ones audited; parts of them are not.
    """
    _check_given(certificate, queries)
    if not len(queries):
        raise InputError("queries must be at least 1 to audit on, got 0")
    slates = certificate.cut(queries)
    scores = scores_of(queries, certificate.scoring)
    tally = tally_of(certificate, queries, scores, slates.chosen, by=names_of(by))
    every = np.arange(len(queries))
    diversity = diversity_at(certificate, queries, scores, slates.chosen, every, resamples=1000)
    return audit_of(certificate, tally, queries, diversity=diversity)


def audit_of(
    certificate: Certificate | Abstention, tally: Tally, queries: Queries | None, *, diversity: Variety | None = None
) -> Audit:
    """The verdict on what was counted. `queries` have the ids of those whose losses the tally has one by one, in the
    same order; beyond 200,000 of them sums do."""
    check_judged(tally.labels)
    tally.cautions.say(certificate.loss)
    own = fingerprint_text(tally.fingerprint, tally.lengths)
    known = own == certificate.calibration_fingerprint
    if known:
        warn(
            "these are the calibration queries: the threshold was chosen on them, so this audit proves nothing; "
            "audit on queries that were held out"
        )
    if tally.losses and queries is not None:
        order = queries.hash_order(certificate.seed, own)
        losses = np.concatenate(tally.losses)[order] / unit_losses(1)
        low, high, p_above = interval(losses, alpha=certificate.alpha)
    else:
        low, high, p_above = interval_of_sums(tally, alpha=certificate.alpha)
    n, total, filled = tally.n_queries, tally.total, Cell()
    for size, cell in tally.sizes.items():
        if size:
            filled.add(cell)
    risk = total.loss / unit_losses(n)
    return Audit(
        verdict=_verdict(risk, high, p_above, certificate.alpha),
        alpha=certificate.alpha,
        delta=certificate.delta,
        threshold=certificate.threshold,
        n_queries=n,
        n_items=tally.cautions.items,
        risk=risk,
        low=low,
        high=high,
        p_above=p_above,
        sizes=_sizes(tally.sizes),
        share_nonempty=filled.n / n,
        risk_given_nonempty=filled.loss / unit_losses(filled.n) if filled.n else None,
        item_rate=tally.bad / unit_losses(tally.judged) if tally.judged else None,
        recall=tally.good_kept / tally.good if tally.good else None,
        strata=groups_of(strata_of(tally.sizes)),
        by={name: groups_of(named_cells(cells)) for name, cells in tally.groups.items()},
        loss=certificate.loss.name,
        calibration_data=known,
        diversity=diversity,
    )


def diversity_at(
    certificate: Certificate | Abstention, queries: Queries, scores: Floats, chosen: Flags, which: Integers, *,
    resamples: int,
) -> Variety | None:  # fmt: skip
    """Diversities before and after choosing, over some of the queries; None where the rule chooses by score alone."""
    rule = certificate.sets
    if type(rule) is not Diverse or queries.vectors is None:
        return None
    return variety_of(
        rule, scores=scores, offsets=queries.offsets, vectors=queries.vectors, vector_rows=queries.vector_rows,
        threshold=certificate.threshold, chosen=chosen, queries=which, seed=certificate.seed, resamples=resamples,
    )  # fmt: skip


def losses_of(certificate: Certificate | Abstention, chosen: Flags, badness: Floats, offsets: Integers) -> Floats:
    """One loss per query, in the units that calibration counts in."""
    from cutline.kernels.walk import UNITS

    return units_of(certificate.loss, chosen, badness, offsets) / UNITS


def mean_of(shares: Floats) -> float:
    """The mean as calibrate takes it: added up in whole units, so that no order of queries and no float dust shows."""
    from cutline.kernels.walk import UNITS

    return in_units(shares) / (len(shares) * UNITS)


def figures_of(losses: Floats, chosen: Flags, badness: Floats, offsets: Integers) -> dict[str, Any]:
    """Share non-empty, risk given non-empty, pooled rate of not-good items, and share of the good items kept."""
    sizes = sums_by_list(chosen, offsets)
    judged = chosen & ~np.isnan(badness)
    good = np.where(np.isnan(badness), 0.0, 1.0 - badness)
    return {
        "share_nonempty": float(np.mean(sizes > 0)),
        "risk_given_nonempty": mean_of(losses[sizes > 0]) if bool((sizes > 0).any()) else None,
        "item_rate": mean_of(badness[judged]) if bool(judged.any()) else None,
        "recall": in_units(good[chosen]) / in_units(good) if in_units(good) else None,
    }


def _sizes(cells: dict[int, Cell]) -> Sizes:
    """A summary of list lengths."""
    counts = {size: cells[size].n for size in sorted(cells)}
    low, middle, high = quantiles(counts, [0.25, 0.5, 0.75])
    n = sum(counts.values())
    return Sizes(
        mean=sum(size * count for size, count in counts.items()) / n,
        quartiles=(low, middle, high),
        smallest=min(counts),
        largest=max(counts),
        histogram=counts,
    )


def _check_given(certificate: object, queries: object) -> None:
    if not isinstance(certificate, Findings):
        swapped = "; were the two arguments swapped?" if isinstance(queries, Findings) else ""
        came = type(certificate).__name__
        raise InputError(f"certificate must be what calibrate or load gave, got {came}{swapped}")
    check_is_queries(queries)


def names_of(by: object) -> list[str]:
    """The columns that `by` names."""
    if by is None:
        return []
    names: list[Any] = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(cast(Iterable[Any], by))
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"by must name columns that hold one value per query, got {name!r}")
    return names


def _verdict(risk: float, high: float, p_above: float, alpha: float) -> Verdict:
    if risk <= alpha:
        return "confirmed" if high <= alpha else "holds"
    return "above" if p_above <= SUSPICION else "inconclusive"


def strata_of(cells: dict[int, Cell]) -> list[tuple[str, Cell]]:
    """Half-open bins on the unique quartiles of the non-empty sizes; empty lists are a stratum of their own."""
    empty = [("Empty", cells[0])] if 0 in cells else []
    filled = {size: cell.n for size, cell in sorted(cells.items()) if size}
    if not filled:
        return empty
    edges = np.unique(quantiles(filled, [0.25, 0.5, 0.75], lower=True))
    bins: dict[int, Cell] = {}
    for size in filled:
        bins.setdefault(int(np.searchsorted(edges, size, side="left")), Cell()).add(cells[size])
    names = {1: ["All"], 2: ["Short", "Long"], 3: ["Short", "Short-Medium", "Long"], 4: list(STRATA)}[len(bins)]
    return [*empty, *zip(names, (bins[place] for place in sorted(bins)), strict=True)]


def groups_of(named: list[tuple[str, Cell]]) -> tuple[Group, ...]:
    """The risk of each group; the level 0.05 is shared by both ends of all intervals."""
    level = 2 * SIDE / (2 * max(1, len(named)))
    convex, one = Convex(), unit_losses(1)
    return tuple(
        Group(
            name=name,
            n_queries=cell.n,
            risk=cell.loss / unit_losses(cell.n),
            low=max(0.0, 1.0 - convex.upper_bound_from_sums(ones(cell.n * one - cell.loss), cell.n, delta=level)),
            high=convex.upper_bound_from_sums(ones(cell.loss), cell.n, delta=level),
            mean_size=cell.size / cell.n,
        )
        for name, cell in named
    )
