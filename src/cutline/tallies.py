"""What an audit counts of cut lists: whole numbers by list length and by group, which add up over chunks; and the
losses one by one, as long as they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutline.cautions import Cautions, cautions_of
from cutline.certificate import Abstention, Certificate
from cutline.cutting import badness_of, fingerprint, judged_labels, lengths_of, units_of
from cutline.evidence import Betting, EmpiricalBernstein
from cutline.losses import sums_by_list
from cutline.searching import MOST_BET

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SIDE = 0.025  # level of each side of the interval


@dataclass(slots=True)
class Cell:
    """Queries that have something in common: how many, the sum of their losses in 1/UNITS, and of their sizes."""

    n: int = 0
    loss: int = 0
    size: int = 0

    def add(self, other: Cell) -> None:
        """Add those of other queries."""
        self.n, self.loss, self.size = self.n + other.n, self.loss + other.loss, self.size + other.size


@dataclass(slots=True, eq=False)
class Tally:
    """Counts over cut lists. `sizes` has a cell for each length of what was chosen, `groups` for each value of a column
    by its name."""

    cautions: Cautions = field(default_factory=Cautions)
    fingerprint: tuple[int, int] = (0, 0)
    lengths: dict[int, int] = field(default_factory=dict[int, int])
    labels: int = 0
    sizes: dict[int, Cell] = field(default_factory=dict[int, Cell])
    groups: dict[str, dict[Any, Cell]] = field(default_factory=dict[str, dict[Any, Cell]])
    squares: int = 0
    bad: int = 0
    judged: int = 0
    good: int = 0
    good_kept: int = 0
    losses: list[Integers] = field(default_factory=list[Integers])
    ids: list[npt.NDArray[Any]] = field(default_factory=list[npt.NDArray[Any]])

    @property
    def n_queries(self) -> int:
        """How many lists there were."""
        return self.cautions.queries

    def add(self, other: Tally) -> None:
        """Add the counts of other lists; single losses are let go of where they become many."""
        self.cautions += other.cautions
        self.fingerprint = (
            (self.fingerprint[0] + other.fingerprint[0]) % 2**64,
            (self.fingerprint[1] + other.fingerprint[1]) % 2**64,
        )
        for length, count in other.lengths.items():
            self.lengths[length] = self.lengths.get(length, 0) + count
        _add_cells(self.sizes, other.sizes)
        for name, cells in other.groups.items():
            _add_cells(self.groups.setdefault(name, {}), cells)
        for name in ("labels", "squares", "bad", "judged", "good", "good_kept"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.losses += other.losses
        self.ids += other.ids
        if self.n_queries > MOST_BET:
            self.losses, self.ids = [], []

    @property
    def total(self) -> Cell:
        """All queries."""
        total = Cell()
        for cell in self.sizes.values():
            total.add(cell)
        return total


def _add_cells(cells: dict[Any, Cell], others: dict[Any, Cell]) -> None:
    for key, cell in others.items():
        cells.setdefault(key, Cell()).add(cell)


def tally_of(
    certificate: Certificate | Abstention, queries: Queries, scores: Floats, chosen: Flags, *, by: Sequence[str] = ()
) -> Tally:
    """The counts of these queries, whose items were chosen so."""
    from cutline.kernels.walk import UNITS

    badness = badness_of(queries, certificate.loss.relevance)
    shares = badness.shares()
    losses = units_of(certificate.loss, chosen, shares, queries.offsets)
    sizes = sums_by_list(chosen, queries.offsets).astype(np.int64)
    known = ~np.isnan(shares)
    good = np.where(known, 1.0 - shares, 0.0)
    ratios = losses.astype(np.float64)
    tally = Tally(
        cautions=cautions_of(queries, badness, None, certificate.sets),
        fingerprint=fingerprint(scores, badness, queries.offsets),
        lengths=lengths_of(queries.sizes),
        labels=judged_labels(queries),
        squares=int(np.ceil(ratios * ratios / UNITS).astype(np.int64).sum()),
        bad=in_units(shares[chosen & known]),
        judged=int(np.count_nonzero(chosen & known)),
        good=in_units(good),
        good_kept=in_units(good[chosen]),
    )
    if len(queries) <= MOST_BET:
        tally.losses = [losses]
        tally.ids = [] if queries.query_ids is None else [queries.query_ids]
    tally.sizes = cells_of(sizes, losses, sizes)
    tally.groups = {name: cells_of(_keys(queries.per_query(name)), losses, sizes) for name in by}
    return tally


def in_units(shares: Floats) -> int:
    """The sum of shares, in 1/UNITS."""
    from cutline.kernels.walk import UNITS

    return int(np.rint(shares * UNITS).astype(np.int64).sum())


def cells_of(keys: npt.NDArray[Any], losses: Integers, sizes: Integers) -> dict[Any, Cell]:
    """A cell for each key, from the losses in 1/UNITS and the sizes of its queries."""
    values, which = np.unique(keys, return_inverse=True)
    order = np.argsort(which, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(values)))]).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(losses[order])]), np.concatenate([[0], np.cumsum(sizes[order])])
    return {
        value: Cell(
            int(edges[place + 1] - edges[place]),
            int(ends[0][edges[place + 1]] - ends[0][edges[place]]),
            int(ends[1][edges[place + 1]] - ends[1][edges[place]]),
        )
        for place, value in enumerate(_plain(values))
    }


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    return [math.nan if isinstance(value, float) and math.isnan(value) else value for value in values.tolist()]


def _keys(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers are sorted as numbers, everything else as text."""
    return column if column.dtype.kind in "biuf" else np.asarray([str(value) for value in column], dtype=object)


def named_cells(cells: dict[Any, Cell]) -> list[tuple[str, Cell]]:
    """The groups of a column in order, by name."""
    return [(str(value), cells[value]) for value in sorted(cells, key=lambda value: (value != value, value))]


def interval(losses: Floats, *, alpha: float) -> tuple[float, float, float]:
    """Two one-sided betting bounds at 0.025 each, and the one-sided p-value against «the risk is at most alpha»."""
    star = Betting()
    high = star.upper_bound(losses, delta=SIDE)
    low = 1.0 - star.upper_bound(1.0 - losses, delta=SIDE)
    return max(0.0, low), high, star.p_value(1.0 - losses, alpha=1.0 - alpha)


def interval_of_sums(tally: Tally, *, alpha: float) -> tuple[float, float, float]:
    """The same by empirical Bernstein, from sums over many queries."""
    from cutline.kernels.walk import UNITS

    n, bound = tally.n_queries, EmpiricalBernstein()
    total, squares = ones(tally.total.loss), ones(tally.squares)
    turned = ones(n * UNITS - tally.total.loss), max(0.0, n - 2 * total + squares)
    high = float(bound.bounds_from_moments(np.array([total]), np.array([squares]), n, delta=SIDE)[0])
    low = 1.0 - float(bound.bounds_from_moments(np.array([turned[0]]), np.array([turned[1]]), n, delta=SIDE)[0])
    p = float(bound.p_value_from_moments(turned[0], turned[1], n, alpha=1.0 - alpha))
    return max(0.0, low), high, p


def ones(units: int) -> float:
    """A sum in 1/UNITS as a number."""
    from cutline.kernels.walk import UNITS

    return units // UNITS + (units % UNITS) / UNITS


def quantiles(counts: dict[int, int], shares: Sequence[float], *, lower: bool = False) -> list[float]:
    """Quantiles of whole numbers of which there are so many each: between neighbours as np.quantile has it, or, with
    `lower`, the smallest that reaches its share."""
    values = np.array(sorted(counts), np.int64)
    upto = np.cumsum([counts[value] for value in values.tolist()])
    total = int(upto[-1])
    found: list[float] = []
    for share in shares:
        if lower:
            found.append(float(values[np.searchsorted(upto, max(1, math.ceil(share * total)))]))
            continue
        place = share * (total - 1)
        below = math.floor(place)
        part = place - below
        one, two = (float(values[np.searchsorted(upto, at, side="right")]) for at in (below, min(below + 1, total - 1)))
        found.append(two - (two - one) * (1 - part) if part >= 0.5 else one + (two - one) * part)
    return found
