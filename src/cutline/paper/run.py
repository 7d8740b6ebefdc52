"""What an experiment is handed: ranked lists, how often to repeat, and the sentences that all of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.losses import FalseDiscovery
from cutline.paper.ranked import Ranked
from cutline.paper.sources import Size
from cutline.paper.splits import Outcomes, Split, splits_of
from cutline.paper.tables import LossTable
from cutline.paper.truth import Stream, Truth, truth_of
from cutline.preferences import WinRate
from cutline.sequence import grid
from cutline.sets import SetRule

Floats = npt.NDArray[np.float64]

DELTA = 0.1
GRID = grid(0.99, 0.01, 0.01)
POOL: dict[Size, int] = {"small": 600_000, "full": 12_000_000}  # items of new lists that tell the true risk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One experiment on one source."""

    experiment: str
    ranked: Ranked
    size: Size
    repeats: int
    seed: int
    say: Callable[[str], None]

    @property
    def name(self) -> str:
        """What the files of its figure are called."""
        return f"{self.experiment}.{self.ranked.source.name}"

    @property
    def label(self) -> str:
        """What its lists are."""
        return self.ranked.source.label

    @property
    def loss(self) -> FalseDiscovery:
        """The share of a list that is not good."""
        return self.ranked.loss

    @property
    def n(self) -> str:
        """What the figure rests on."""
        counts = self.ranked.counts
        return (
            f"{len(self.ranked.queries):,} validation queries; in each of {self.repeats} splits "
            f"{counts.calibration:,} calibrate and {counts.test:,} test"
        )

    def splits(self) -> list[Split]:
        """The same for every experiment on this source."""
        self.say("splitting")
        return splits_of(
            len(self.ranked.queries), n_calibration=self.ranked.counts.calibration, repeats=self.repeats, seed=self.seed
        )

    def table(self, sets: SetRule) -> LossTable:
        """Losses under win rates on the paper's grid."""
        self.say("cutting every list at every threshold")
        return LossTable.of(self.ranked.queries, loss=self.loss, scoring=WinRate(), sets=sets, thresholds=GRID)

    def truth(self, sets: SetRule, **other: Any) -> Truth | None:
        """The true risk along the grid, where the world is known."""
        stream = self.stream(sets)
        if stream is None:
            return None
        pieces: dict[str, Any] = {"loss": self.loss, "scoring": WinRate(), "sets": sets, "thresholds": GRID, **other}
        key = f"{pieces['scoring']!r}, {sets!r}"
        if key not in self.ranked.truths:
            self.say("drawing new lists for the true risk")
            low, high = stream.world.lengths
            pool = 2 * POOL[self.size] // (low + high)
            self.ranked.truths[key] = truth_of(stream, **pieces, n_queries=pool, seed=self.seed)
        return self.ranked.truths[key]

    def stream(self, sets: SetRule) -> Stream | None:
        """New lists, where the world is known; with vectors where the rule looks at them."""
        return self.ranked.stream if sets.needs_vectors else self.ranked.plain

    def settings(self, alpha: str, evidence: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """What was decided: of the lists, and of the protocol."""
        return (
            *self.ranked.about,
            ("α and δ", f"{alpha} and {DELTA:g}"),
            ("scores", "win rates by the logistic link, scale 1"),
            ("thresholds", "0.99, 0.98 … 0.01, tested in this order, none skipped"),
            ("evidence", evidence),
            ("repeats", f"{self.repeats} splits of the same validation queries, seed {self.seed}"),
            *more,
        )


def true_settings(*truths: Truth | None) -> tuple[tuple[str, str], ...]:
    """How the true risk was worked out: from as many new queries for each of these."""
    known = [truth for truth in truths if truth is not None]
    if not known:
        return (("true risk", "not known: these are real lists"),)
    error = max(float(truth.error.max()) for truth in known)
    said = f"mean over {known[0].n_queries:,} new queries of the same simulation, standard error {error:.2g} at most"
    return (("true risk", said),)


def above(outcomes: Outcomes, alpha: float) -> str:
    """How many splits have a test risk above alpha."""
    return f"{int(np.sum(outcomes.risk > alpha))} of {len(outcomes)} splits"


def mean_of(values: Floats) -> float:
    """The mean of what is known; NaN of nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def abstentions(outcomes: Outcomes) -> str:
    """Said where some splits came to no threshold."""
    count = int(np.sum(~outcomes.certified))
    return f" {count} of {len(outcomes)} splits abstained, which is no violation." if count else ""
