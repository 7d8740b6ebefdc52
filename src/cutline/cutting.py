"""Scored and judged lists, cut at one threshold: what is chosen, what it costs, and sums of that in whole units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.errors import InputError
from cutline.losses import FalseDiscovery, Loss, Miss
from cutline.relevance import Badness
from cutline.sets import SetRule, Threshold

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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


def cut_all(
    rule: SetRule, scores: Floats, offsets: Integers, vectors: npt.NDArray[Any] | None, threshold: float
) -> tuple[npt.NDArray[np.bool_], Integers]:
    """Cut every list with any rule: the mask of chosen items, and their rows, best first and list after list."""
    if isinstance(rule, Threshold) and type(rule) is Threshold:  # a subclass may choose otherwise
        order, _ = rule.choose_all(scores, offsets, threshold)
    else:
        lists = [
            begin + rule.choose(scores[begin:end], None if vectors is None else vectors[begin:end], threshold)
            for begin, end in pairwise(offsets)
        ]
        order = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
    chosen = np.zeros(len(scores), np.bool_)
    chosen[order] = True
    return chosen, order


def units_of(loss: Loss, chosen: npt.NDArray[np.bool_], badness: Floats, offsets: Integers) -> Integers:
    """Losses in 1/UNITS, rounded up but for float dust of 2e-15, after a check that they are losses at all."""
    from cutline.kernels.walk import UNITS

    losses = np.asarray(loss.of_lists(chosen, badness, offsets), dtype=np.float64)
    if losses.shape != (len(offsets) - 1,):
        raise InputError(f"{loss.name}: of_lists must give one loss per query, got shape {losses.shape}")
    if not bool(np.all((losses >= 0) & (losses <= 1))):
        wrong = losses[~((losses >= 0) & (losses <= 1))][0]
        raise InputError(f"{loss.name}: losses must lie in [0, 1], got {wrong!r}; scale the loss, or clip it")
    return np.minimum(np.ceil(losses * UNITS - 1e-5), UNITS).astype(np.int64)


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
