"""Rows for diverse lists: every threshold of a walk, a whole calibration, one list when serving, and pyversity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import cycle
from typing import Any

import numpy as np
import peers
from clock import Timing, interleaved, once
from lists import Lists
from measures import ALPHA, DELTA, LOSS, DisagreementError, Row, long, walked

import cutline as cl
from cutline.diversity import diversity_of

WIDTH, MOST = 64, 10
RULE = cl.Diverse(MOST)
SAMPLED = 20  # queries that the slow versions are run on
EVERY = 10  # the pseudocode looks at every tenth set of these
SERVED = 200  # queries that are served one by one
TRADE_OFF = 0.5


@cache
def vectors() -> np.ndarray:
    """A vector of 64 numbers in single precision for each item of the 8,000 × 100: a query's own place, one of five
    topics of it, and noise."""
    n_queries, length = long().outputs.shape
    rng = np.random.default_rng([20_220_704, WIDTH])
    topics = rng.normal(size=(n_queries, 5, WIDTH)).astype(np.float32)
    which = rng.integers(0, 5, (n_queries, length))
    noise = rng.normal(0, 0.7, (n_queries, length, WIDTH)).astype(np.float32)
    return (topics[np.arange(n_queries)[:, None], which] + noise).reshape(-1, WIDTH)


@cache
def queries() -> cl.Queries:
    """The 8,000 × 100 with these vectors."""
    lists: Lists = long()
    n_queries, length = lists.labels.shape
    return cl.Queries.from_arrays(
        lists.scores.ravel(), lists.labels.ravel(), group=np.full(n_queries, length), vectors=vectors()
    )


def calibration() -> Callable[[], Any]:
    """A call of calibrate with every default but the rule."""
    return partial(cl.calibrate, queries(), loss=LOSS, alpha=ALPHA, delta=DELTA, sets=RULE)


def walk(_: bool) -> list[Row]:
    """2,000 × 100 at every threshold of the default grid, beside NumPy on a few of these queries."""
    certificate = calibration()()
    thresholds = np.array(certificate.thresholds["values"])
    few = queries()[:2_000]
    empty = cl.RiskCurve.empty(loss=LOSS, sets=RULE, thresholds=thresholds)
    (ours,) = interleaved({"every threshold": partial(empty.add, few)}, rounds=15)
    sampled = [(query.scores, query.vectors) for query in few[:SAMPLED]]
    check_agreement(sampled, thresholds)
    sums = Timing(
        name=f"row sums in NumPy, extrapolated from {SAMPLED} queries",
        samples=[_for_all(partial(peers.all_sets, one, thresholds, MOST, peers.by_row_sums)) for one in sampled],
    )
    literal = Timing(
        name=f"the pseudocode, extrapolated from {SAMPLED} queries, every {EVERY}th set",
        samples=[
            EVERY * _for_all(partial(peers.all_sets, one, thresholds, MOST, peers.by_the_pseudocode, EVERY))
            for one in sampled
        ],
    )
    what = f"Diverse(10), 2,000 × 100 × {WIDTH}, {len(thresholds)} thresholds"
    remark = f"NumPy beside Diverse: the median of {SAMPLED} queries, times 2,000; each set is made once"
    return [
        Row(what=what, ours=ours, most=0.6, target="≤ 0.6 s", remark=remark),
        Row(what=what, ours=ours, peer=sums, least_ratio=40, target="≥ 40×"),
        Row(what=what, ours=ours, peer=literal, least_ratio=1e4, target="≥ 10,000×"),
    ]


def _for_all(job: Callable[[], object]) -> float:
    """Seconds that 2,000 such queries would take."""
    return 2_000 * once(job)


def check_agreement(sampled: list[tuple[np.ndarray, np.ndarray]], thresholds: np.ndarray) -> None:
    """cutline and row sums in NumPy must choose the same at every threshold."""
    for scores, own in sampled:
        theirs = peers.all_sets((scores, own), thresholds, MOST, peers.by_row_sums)
        for threshold in thresholds:
            count = int((scores >= threshold).sum())
            ours = sorted(RULE.choose(scores, own, float(threshold)).tolist())
            if count and ours != theirs[count]:
                raise DisagreementError(f"at {threshold:g} cutline keeps {ours}, row sums in NumPy {theirs[count]}")


def end_to_end(_: bool) -> list[Row]:
    """8,000 × 100, with every default: betting, thresholds from a sample."""
    job = calibration()
    (ours,) = interleaved({"calibrate": job}, rounds=7)
    what = f"Diverse(10), Betting, 8,000 × 100 × {WIDTH}"
    return [Row(what=what, ours=ours, most=3, target="≤ 3 s", walk=walked(job()))]


def serving(_: bool) -> list[Row]:
    """choose() of one query at a time; then the ten of all hundred, beside strategies of pyversity."""
    certificate = calibration()()
    one_by_one = [(query.scores.copy(), query.vectors.copy()) for query in queries()[:SERVED]]
    served = cycle(one_by_one)
    (ours,) = interleaved({"choose": lambda: certificate.choose(*next(served))}, rounds=15, calls=1_000)
    what = f"choose() of 100 × {WIDTH}, Diverse(10)"
    rows = [Row(what=what, ours=ours, most=0.4e-3, target="≤ 0.4 ms", walk=walked(certificate))]
    return [*rows, *(_beside_pyversity(name, one_by_one) for name in ("mmr", "msd", "dpp"))]


def _beside_pyversity(name: str, one_by_one: list[tuple[np.ndarray, np.ndarray]]) -> Row:
    """One set of ten out of all hundred, by each: seconds, the diversity reached, and the other's own objective."""
    theirs_of = partial(peers.by_pyversity, name=name, most=MOST, trade_off=TRADE_OFF)
    ours_of = partial(RULE.choose, threshold=-np.inf)
    turns, other_turns = cycle(one_by_one), cycle(one_by_one)
    jobs = {"eliminate": lambda: ours_of(*next(turns)), f"pyversity {name}": lambda: theirs_of(*next(other_turns))}
    ours, theirs = interleaved(jobs, rounds=9, calls=SERVED)
    figures = []
    for scores, own in one_by_one:
        sets = ours_of(scores, own), theirs_of(scores, own)
        spread = [diversity_of(own, rows, max_size=MOST, denominator="pairs") for rows in sets]
        figures.append([*spread, *(peers.objective(name, scores, own, rows, TRADE_OFF) for rows in sets)])
    spread, other, mine, its = np.mean(figures, axis=0)
    remark = (
        f"{name}: mean distance within the ten {spread:.3f} by eliminate and {other:.3f} by pyversity; {name}'s own "
        f"objective {mine:.3f} and {its:.3f}"
    )
    return Row(what=f"10 of 100 × {WIDTH}, eliminate", ours=ours, peer=theirs, remark=remark)


GROUPS: dict[str, Callable[[bool], list[Row]]] = {
    "diverse-walk": walk,
    "diverse": end_to_end,
    "diverse-choose": serving,
}
