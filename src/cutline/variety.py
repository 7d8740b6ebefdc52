"""What choosing diverse items does to lists: their diversity before and after, beside that of the best few by score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline import statements
from cutline._arrays import frozen_view
from cutline.diversity import DENOMINATORS, NO_ROWS, denominators, ranked
from cutline.sets import Diverse

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
LEAST = 1e-3  # of a diversity: less beside it is none to compare with
FEW = 50  # lists, below which a bootstrap covers too little
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """By how much lists become more diverse, relative to others: the mean of Div(D)/Div(other) - 1 over the `n` lists
    whose other diversity is at least a thousandth of theirs (one near 0 would make the mean its own), and a bootstrap
    interval of that mean, roughly at 95 %; None for fewer than fifty lists."""

    n: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """Diversities of modified lists, those with more than `max_size` items at or above the threshold.

    `before`: mean diversity of these items; `after`: of the items chosen from them; `top`: of the best `max_size` by
    score; each by the paper's denominator and by the number of pairs. `over_before` and `over_top` are the mean
    relative gains, None where no list has one. Ratios want "pairs": by the paper's denominator a long list is diverse
    because it is long, and even the most diverse choice loses most of that.
    """

    max_size: int
    n_queries: int
    n_modified: int
    before: dict[str, float | None]
    after: dict[str, float | None]
    top: dict[str, float | None]
    over_before: dict[str, Gain | None]
    over_top: dict[str, Gain | None]

    @property
    def share_modified(self) -> float:
        """The share of all lists that were chosen from."""
        return self.n_modified / self.n_queries

    def rows(self) -> Iterator[tuple[str, object]]:
        """Lines for a table."""
        yield "modified lists", f"{statements.percent(self.share_modified)}, {self.n_modified:,} of {self.n_queries:,}"
        for denominator in reversed(DENOMINATORS):
            means = [of[denominator] for of in (self.before, self.after, self.top)]
            if None not in means:
                before, after, top = (f"{mean:.4g}" for mean in means)
                yield f"diversity, {denominator}", f"{before} before, {after} after, {top} of the best by score"
        for name, gains in (("gain over all reached", self.over_before), ("gain over best by score", self.over_top)):
            if (gain := gains["pairs"]) is not None:
                span = "" if gain.low is None or gain.high is None else f"{gain.low:+.1%} … {gain.high:+.1%}; "
                yield name, f"{gain.mean:+.1%}  ({span}n {gain.n:,})".replace("%", " %")


def variety_of(
    rule: Diverse, *, scores: Floats, offsets: Integers, vectors: npt.NDArray[Any], vector_rows: Integers | None,
    threshold: float, chosen: Flags, queries: Integers, seed: int, resamples: int,
) -> Variety:  # fmt: skip
    """The figures of some of the queries of a table, whose lists were cut at a threshold."""
    sizes, sums = spreads_of(
        rule, scores=scores, offsets=offsets, vectors=vectors, vector_rows=vector_rows, threshold=threshold,
        chosen=chosen, queries=queries,
    )  # fmt: skip
    modified = sizes[:, 0] > rule.max_size
    sizes, sums = sizes[modified], sums[modified]
    powers = sizes[:, 2]
    divisors = [denominators(size, rule.max_size) for size in (*sizes.T[:2], np.full(len(sizes), rule.max_size))]
    named: list[dict[str, Any]] = [{}, {}, {}]
    gains: list[dict[str, Any]] = [{}, {}]
    for place, denominator in enumerate(DENOMINATORS):
        values = [_divided(sums[:, i], divisors[i][place]) for i in range(3)]
        for mean, each in zip(named, values, strict=True):
            mean[denominator] = _mean(each, powers) if len(each) else None
        for gain, other in zip(gains, (values[0], values[2]), strict=True):
            gain[denominator] = _gain(values[1], other, seed=seed, resamples=resamples)
    return Variety(
        max_size=rule.max_size, n_queries=len(queries), n_modified=int(modified.sum()),
        before=named[0], after=named[1], top=named[2], over_before=gains[0], over_top=gains[1],
    )  # fmt: skip


def spreads_of(
    rule: Diverse, *, scores: Floats, offsets: Integers, vectors: npt.NDArray[Any], vector_rows: Integers | None,
    threshold: float, chosen: Flags, queries: Integers,
) -> tuple[Integers, Floats]:  # fmt: skip
    """Of each of these queries, three sums of distances over ordered pairs: in all items at or above the threshold, in
    those chosen, in the best few by score; in units of 2^e. Before them how many items the first two hold, and e. The
    sums are 0 where a list is not chosen from."""
    from cutline.kernels._compile import on_threads, spans
    from cutline.kernels.diversity import spread_of_lists

    sizes, sums = np.zeros((len(queries), 3), np.int64), np.zeros((len(queries), 3))
    one = partial(
        spread_of_lists, frozen_view(vectors), NO_ROWS if vector_rows is None else vector_rows, rule.kind,
        rule.max_size, scores, ranked(scores, offsets), offsets, threshold, chosen, queries,
    )  # fmt: skip
    on_threads([partial(one, *span, sizes, sums) for span in spans(len(queries), least=32)])
    return sizes, sums


def _mean(units: Floats, powers: Integers) -> float:
    """The mean of numbers in units of 2^power each."""
    with np.errstate(over="ignore"):
        return float(min(np.sort(np.ldexp(units, powers)).mean(), LARGEST))


def _divided(sums: Floats, divisors: npt.NDArray[Any]) -> Floats:
    """Diversities; 0 where a list has no pair."""
    return np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)


def _gain(after: Floats, other: Floats, *, seed: int, resamples: int) -> Gain | None:
    """The mean relative gain, with a percentile bootstrap over lists; sorted first, so that their order is no
    matter."""
    known = other > LEAST * after
    ratios = np.sort(after[known] / other[known] - 1.0)
    if not len(ratios):
        return None
    if len(ratios) < FEW:
        return Gain(n=len(ratios), mean=float(ratios.mean()), low=None, high=None)
    rng = np.random.default_rng([abs(seed), int(seed < 0)])
    means = [ratios[rng.integers(0, len(ratios), len(ratios))].mean() for _ in range(resamples)]
    low, high = np.quantile(means, [0.025, 0.975])
    return Gain(n=len(ratios), mean=float(ratios.mean()), low=float(low), high=float(high))
