"""What weakens a promise without making it wrong: counted list by list, added up over chunks, told once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cutline.errors import warn
from cutline.losses import Loss, Miss, sums_by_list
from cutline.relevance import Badness
from cutline.sets import SetRule, Threshold

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

POSITIONS = (
    "a size cuts through items of equal score that are not equally good: the order of the rows decides there, and must "
    "mean the same for new queries; shuffle them, or break ties in the scores"
)


@dataclass(frozen=True, slots=True)
class Cautions:
    """How many queries and items there are; how many items have no label, how many queries none at all; and in how
    many lists a size cuts through ties of unequal items."""

    queries: int = 0
    items: int = 0
    unjudged: int = 0
    blank: int = 0
    tied: int = 0

    def __add__(self, other: Cautions) -> Cautions:
        return Cautions(
            self.queries + other.queries, self.items + other.items, self.unjudged + other.unjudged,
            self.blank + other.blank, self.tied + other.tied,
        )  # fmt: skip

    def say(self, loss: Loss) -> None:
        """A CutlineWarning for each that matters."""
        if self.unjudged:
            self._say_unjudged(loss)
        say_positions(self.tied, self.queries)

    def _say_unjudged(self, loss: Loss) -> None:
        """Where items without a label make a risk look smaller than it is."""
        dropped = loss.relevance.unjudged == "drop"
        share = self.unjudged / self.items
        unknown = f"{self.blank:,} of {self.queries:,} queries have no judged item"
        if type(loss) is Miss:
            also = f", and {unknown}" if self.blank else ""
            warn(
                f"{share:.1%} of the items have no label{also}: misses are counted among judged items only, "
                "so good items that nobody judged may be missed unseen"
            )
        elif not dropped and 0.01 * self.queries < self.blank < self.queries:
            warn(
                f"{unknown}: each of their items counts as not good, which is on the safe side; if nobody judged these "
                "queries, leave them out"
            )
        elif dropped and self.blank:
            warn(
                f'{unknown}: with unjudged="drop" their lists cost nothing, which makes the risk look smaller than it '
                "is"
            )


def cautions_of(queries: Queries, badness: Badness, scores: Floats | None, sets: SetRule) -> Cautions:
    """Those of some queries; ties are looked at where there are scores."""
    unjudged = badness.unjudged if queries.labels is not None else 0
    blank = 0
    if unjudged and queries.labels is not None:
        blank = int(np.count_nonzero(sums_by_list(~np.isnan(queries.labels), queries.offsets) == 0))
    tied = 0 if scores is None else tied_lists(scores, queries.offsets, badness, sets)
    return Cautions(len(queries), queries.n_items, unjudged, blank, tied)


def say_positions(tied: int, lists: int) -> None:
    """Where many lists leave to the order of the rows what is not equal."""
    if tied > 0.05 * lists:
        warn(f"in {tied / lists:.1%} of the lists {POSITIONS}")


def tied_lists(scores: Floats, offsets: Integers, badness: Badness, sets: SetRule) -> int:
    """In how many lists a size cuts through equal scores of items that differ in badness, so that the order of the rows
    decides: rows that stand best first, as a join with judgments may leave them, would look better than new ones."""
    sizes = [size for size in (getattr(sets, "min_size", 0), getattr(sets, "max_size", None)) if size]
    if type(sets) is not Threshold or not sizes:
        return 0
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    falling = scores[np.lexsort((-scores, lists))]
    touched = np.zeros(len(offsets) - 1, np.bool_)
    for size in sizes:
        long = np.flatnonzero(np.diff(offsets) > size)
        last = falling[offsets[long] + size - 1]
        cut = last == falling[offsets[long] + size]
        at = np.full(len(touched), np.nan)
        at[long[cut]] = last[cut]
        tied = np.flatnonzero(scores == at[lists])
        least, most = np.full(len(touched), np.iinfo(np.int64).max), np.full(len(touched), -2)
        np.minimum.at(least, lists[tied], badness.codes[tied].astype(np.int64))
        np.maximum.at(most, lists[tied], badness.codes[tied].astype(np.int64))
        touched |= most > least
    return int(np.count_nonzero(touched))
