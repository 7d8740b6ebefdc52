"""The rows of the table, group by group: what is measured, beside what, and what is wanted of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import clusters
import diverse
import numpy as np
import peers
from clock import Timing, first_calls, imports, interleaved, once, plain_sort
from features import features
from files import files
from learning import rankers
from lists import Lists
from measures import ALPHA, COARSE, DELTA, Row, algorithm, calibration, check_agreement, large, long, small, walked
from streams import streams

import cutline as cl

QUICK_QUERIES = 400


def as_given(_: bool) -> list[Row]:
    """100,000 × 24 beside the literal version and np.sort; the other rows say what those two ratios do not."""
    lists = large()
    scores = lists.scores
    queries, flat = lists.queries(scores), scores.ravel()
    check_agreement(lists, queries)
    convex = calibration(queries, cl.evidence.Convex())
    beside, literal = interleaved({"Convex": convex, "literal Algorithm 1": algorithm(peers.literal, lists)}, rounds=7)
    ours, sort = interleaved({"Convex": convex, "np.sort": partial(np.sort, flat)}, rounds=31)
    again, careful = interleaved({"Convex": convex, "tuned Algorithm 1": algorithm(peers.careful, lists)}, rounds=7)
    once_more, counted = interleaved({"Convex": convex, "NumPy histogram": algorithm(peers.histogram, lists)}, rounds=3)
    (steady,) = interleaved({"Convex": convex}, rounds=31)
    (anew,) = interleaved({"Convex": lambda: calibration(lists.queries(scores), cl.evidence.Convex())()}, rounds=31)
    what, walk = "Convex, 100,000 × 24", walked(convex())
    return [
        Row(what=what, ours=beside, peer=literal, least_ratio=60, target="≥ 60×", walk=walk),
        Row(what=what, ours=ours, peer=sort, least_ratio=2, target="≥ 2× (half its time)", walk=walk),
        Row(what=what, ours=again, peer=careful, walk=walk),
        Row(what=what, ours=once_more, peer=counted, least_ratio=1, target="> 1×", walk=walk),
        Row(what=what, ours=ours, peer=plain_sort(flat, rounds=7), walk=walk),
        Row(what=what + ", back to back", ours=steady, walk=walk),
        Row(what=what + ", from arrays, back to back", ours=anew, walk=walk),
        _far(lists, queries),
    ]


def _far(lists: Lists, queries: cl.Queries) -> Row:
    """The same lists at an α that keeps nearly everything, so that the whole grid is walked."""
    far = calibration(queries, cl.evidence.Convex(), alpha=0.60)
    jobs = {"Convex": far, "literal Algorithm 1": algorithm(peers.literal, lists, alpha=0.60)}
    ours, literal = interleaved(jobs, rounds=3)
    return Row(what="Convex, 100,000 × 24, α = 0.60", ours=ours, peer=literal, walk=walked(far()))


def beside_mapie(quick: bool) -> list[Row]:
    """MAPIE once, on 8,000 × 24 and 99 thresholds; cutline before and after it, on 100,000 × 24 and the same lists."""
    lists, big = small(), large()
    n_queries = QUICK_QUERIES if quick else len(lists.labels)
    scores, good = lists.scores[:n_queries], (~lists.bad[:n_queries]).astype(np.int64)
    mapie = partial(peers.mapie, alpha=ALPHA, delta=DELTA, thresholds=COARSE[::-1].copy())
    mapie(scores[:20], good[:20])
    same = lists.queries(lists.scores).select(np.arange(n_queries))
    jobs = {
        "100,000 × 24, 999 thresholds": calibration(big.queries(big.scores), cl.evidence.Convex()),
        f"{n_queries:,} × 24, 999 thresholds": calibration(same, cl.evidence.Convex()),
        f"{n_queries:,} × 24, 99 thresholds": calibration(same, cl.evidence.Convex(), thresholds=COARSE),
    }
    before = interleaved(jobs, rounds=8)
    found: list[float] = []
    seconds = once(lambda: found.append(mapie(scores, good)))
    after = interleaved(jobs, rounds=8)
    peer = Timing(name=f"MAPIE, {n_queries:,} × 24, 99 thresholds", samples=[seconds])
    remark = f"MAPIE: one run; its threshold is {found[0]:g}" + (
        "; --quick: fewer queries, not judged" if quick else ""
    )
    target = {"least_ratio": None if quick else 1000, "target": "≥ 1,000×"}
    judged = {0: target, 1: target}
    return [
        Row(
            what=f"Convex, {shape}", ours=Timing(name="Convex", samples=[*early.samples, *late.samples]), peer=peer,
            walk=walked(job()), remark=remark, **judged.get(place, {}),
        )
        for place, ((shape, job), early, late) in enumerate(zip(jobs.items(), before, after, strict=True))
    ]  # fmt: skip


def betting(_: bool) -> list[Row]:
    """8,000 × 24 with the default evidence, beside the literal version with Hoeffding."""
    lists = small()
    queries = lists.queries(lists.scores)
    check_agreement(lists, queries)
    ours_at = calibration(queries, cl.evidence.Betting())
    jobs = {
        "Betting": ours_at,
        "literal Algorithm 1": algorithm(peers.literal, lists),
        "tuned Algorithm 1": algorithm(peers.careful, lists),
    }
    ours, literal, careful = interleaved(jobs, rounds=21)
    what, walk = "Betting, 8,000 × 24", walked(ours_at())
    each = len(queries) * walk["tested"] / 1e9
    step = Timing(name="Betting", samples=[sample / each for sample in ours.samples])
    coarse = calibration(queries, cl.evidence.Betting(), thresholds=COARSE)
    beside = {"Betting": coarse, "Hoeffding-Bentkus in NumPy": algorithm(peers.bentkus, lists, thresholds=COARSE)}
    few, bentkus = interleaved(beside, rounds=21)
    return [
        Row(what=what, ours=ours, most=0.15, target="≤ 0.15 s", walk=walk),
        Row(what=what, ours=ours, peer=literal, least_ratio=1, target="> 1×", walk=walk),
        Row(what=what, ours=ours, peer=careful, walk=walk),
        Row(what=what + ", 99 thresholds", ours=few, peer=bentkus, walk=walked(coarse())),
        Row(what=what + ", per query and threshold", ours=step, unit="ns", most=28, target="≤ 28 ns", walk=walk),
    ]


def win_rate(_: bool) -> list[Row]:
    """8,000 × 100, win rates worked out in each run."""
    lists = long()
    job = _win_rate_calibration(lists)
    (ours,) = interleaved({"WinRate": job}, rounds=21)
    return [Row(what="WinRate, Convex, 8,000 × 100", ours=ours, most=0.1, target="≤ 0.1 s", walk=walked(job()))]


def _win_rate_calibration(lists: Lists) -> Callable[[], Any]:
    return calibration(lists.queries(lists.outputs), cl.evidence.Convex(), thresholds=None, scoring=cl.WinRate())


def choose(_: bool) -> list[Row]:
    """One query of 100 items at a time, as when serving: a thousand different queries in turn, each run their mean."""
    lists = long()
    by_rate = _win_rate_calibration(lists)()
    as_is = calibration(lists.queries(lists.scores), cl.evidence.Convex())()
    rows: list[Row] = []
    for what, certificate, outputs in (("as given", as_is, lists.scores), ("win rates", by_rate, lists.outputs)):
        served = cycle([np.ascontiguousarray(one) for one in outputs[:1000]])
        job = partial(_choose_next, certificate, served)
        (ours,) = interleaved({"choose": job}, rounds=15, calls=5000)
        walk = walked(certificate)
        rows.append(Row(what=f"choose() of 100, {what}", ours=ours, most=25e-6, target="< 25 µs", walk=walk))
    return rows


def _choose_next(certificate: cl.Certificate, served: Any) -> object:
    return certificate.choose(next(served))


def first_use(_: bool) -> list[Row]:
    """A whole script of its own, from the start of Python to the end of its first calibration; and the import alone."""
    cold, warm = first_calls(cold=3, warm=7)
    return [
        Row(what="first calibrate, empty kernel cache", ours=cold, most=6, target="< 6 s"),
        Row(what="first calibrate, warm kernel cache", ours=warm, most=1.5, target="< 1.5 s"),
        Row(what="import cutline", ours=imports(rounds=9), most=0.3, target="< 0.3 s"),
    ]


GROUPS: dict[str, Callable[[bool], list[Row]]] = {
    "as-given": as_given,
    "mapie": beside_mapie,
    "betting": betting,
    "win-rate": win_rate,
    "choose": choose,
    **diverse.GROUPS,
    "first-use": first_use,
    "files": files,
    "rankers": rankers,
    "features": features,
    "stream": streams,
    "spark": clusters.spark,
}
