"""Lists to look at: how far scores are apart in easy and in hard queries, and what diverse items replace."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline.cutting import badness_of, chosen_rows
from cutline.evidence import Hoeffding
from cutline.paper import charts
from cutline.paper.figures import Figure, Rows
from cutline.paper.run import DELTA, Run
from cutline.paper.spreads import Spreads
from cutline.preferences import WinRate
from cutline.queries import Queries
from cutline.sets import Diverse

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SPREADS = (0.02, 0.25, 0.5, 0.75, 0.98)  # quantiles of the spread of scores, hard to easy
HIGH = 0.8  # a win rate
SHORTEST = 10  # items of a query that is drawn
HALF = 0.42  # of a violin's width
SLICES = 80  # that a violin is drawn in
COLUMNS = ((0, "by_score"), (290, "diverse"))
SHOWN = (0.25, 0.5, 0.75)  # quantiles of the gain of lists that are shown
ROOM = 12  # items above the threshold at most, for a list to be one of these


def teaser(run: Run) -> Figure:
    """Scores of five queries, by how far they spread."""
    queries = run.ranked.queries
    scores = WinRate().item_scores(queries.scores, queries.offsets)
    good = badness_of(queries, run.loss.relevance).codes == 0
    chosen, spread = _by_spread(queries, scores)
    outlines: Rows = []
    items: Rows = []
    lines: Rows = []
    for place, query in enumerate(chosen.tolist(), start=1):
        rows = slice(int(queries.offsets[query]), int(queries.offsets[query + 1]))
        outlines += [{"place": place, **row} for row in _outline(scores[rows], place)]
        items += [
            {"place": place, "x": place, "score": score, "item": "good" if fine else "not good"}
            for fine, score in sorted(zip(good[rows].tolist(), scores[rows].tolist(), strict=True))  # good ones on top
        ]
        said = f"{place}   {_text_of(queries, query)}"
        lines.append({"line": place, "query": said, "spread": float(spread[query]), "items": rows.stop - rows.start})
    names = ["1, hard", "2", "3", "4", "5, easy"][: len(chosen)]
    parts = [
        charts.violins(outlines, items, names=names),
        charts.texts(lines, columns=[(0, "query", False)], height=18 * len(lines)),
    ]
    words = f"{run.label}; win rates of the items of five queries"
    first, last = float(spread[chosen[0]]), float(spread[chosen[-1]])
    return Figure(
        name=run.name, label=run.label, n=f"five of {len(queries):,} validation queries",
        chart=charts.stacked(parts, title="Hard and easy queries", subtitle=words),
        panels={"violin": outlines, "items": items, "queries": lines},
        found=f"On the {run.label}, win rates of the hardest of the five queries have a standard deviation of "
        f"{first:.2f}, those of the easiest {last:.2f}; {_reaching(items, 1)} of the first are at least {HIGH:g}, and "
        f"{_reaching(items, len(lines))} of the last.",
        settings=(
            *run.ranked.about, ("scores", "win rates by the logistic link, scale 1"),
            ("queries shown", f"of those with at least {SHORTEST} items, by the standard deviation of win rates"),
            ("quantiles", ", ".join(map(str, SPREADS))),
        ),
    )  # fmt: skip


def _reaching(items: Rows, place: int) -> str:
    """How many items of a query have a high score."""
    own = [row["score"] >= HIGH for row in items if row["place"] == place]
    return f"{sum(own)} of {len(own)}"


def _by_spread(queries: Queries, scores: Floats) -> tuple[Integers, Floats]:
    """Five queries by the standard deviation of their scores, and this of all."""
    means = np.add.reduceat(scores, queries.offsets[:-1]) / queries.sizes
    squares = np.add.reduceat(scores**2, queries.offsets[:-1]) / queries.sizes
    spread = np.sqrt(np.maximum(squares - means**2, 0.0))
    long = np.flatnonzero(queries.sizes >= min(SHORTEST, int(queries.sizes.max())))
    order = long[np.argsort(spread[long], kind="stable")]
    return order[np.rint(np.array(SPREADS) * (len(order) - 1)).astype(np.int64)], spread


def _outline(scores: Floats, place: int) -> Rows:
    """A violin: the density of the scores on both sides of a line, by a normal kernel with Silverman's width."""
    width = max(0.9 * float(scores.std()) * len(scores) ** -0.2, 0.004)
    low, high = max(0.0, float(scores.min()) - 2 * width), min(1.0, float(scores.max()) + 2 * width)
    edges = np.linspace(low, high, SLICES + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    density = np.exp(-0.5 * ((middle[:, np.newaxis] - scores) / width) ** 2).sum(axis=1)
    half, overlap = HALF * density / density.max(), 0.3 * (high - low) / SLICES  # no gap shows between two slices
    return [
        {
            "low": float(a),
            "high": float(min(b + overlap, high)),
            "left": place - float(side),
            "right": place + float(side),
        }
        for a, b, side in zip(edges[:-1], edges[1:], half, strict=True)
    ]


def _text_of(queries: Queries, query: int) -> str:
    """The words of a query where it has any, else how long its list is."""
    start = int(queries.offsets[query])
    if "question" in queries.columns:
        column = queries.columns["question"]
        return str(column[query if len(column) == len(queries) else start])
    return f"a list of {int(queries.sizes[query])} items"


def diverse_example(run: Run, *, alpha: float, max_size: int) -> Figure:
    """Lists before and after, by title."""
    rule, queries = Diverse(max_size), run.ranked.queries
    table = run.table(rule)
    everything = np.arange(run.ranked.counts.calibration)
    place = table.place(everything, evidence=Hoeffding(), alpha=alpha, delta=DELTA, seed=run.seed)
    rows: Rows = []
    found = f"On the {run.label}, nothing was certified at α = {alpha:g}, so that there is no list to show."
    if place is not None:
        threshold = float(table.thresholds[place])
        spreads = Spreads.of(queries, WinRate(), rule)
        gains = spreads.at(threshold).top.copy()
        gains[: len(everything)] = np.nan  # lists that calibrated are not shown
        reached = table.reached[:, place]
        shown = _typical(np.where((reached > max_size + 1) & (reached <= ROOM), gains, np.nan))
        rows = [line for query in shown for line in _before_and_after(run, rule, spreads.scores, query, threshold)]
        rows = [{"line": number, **row} for number, row in enumerate(rows[:-1])]
        found = _said_of_example(run, alpha, max_size, threshold, gains[shown], reached[shown])
    title = f"The best {max_size} by score, and {max_size} diverse ones"
    chart: Any = charts.nothing("nothing was certified")
    if rows:
        columns = [
            (0, "by_score", False),
            (0, "by_score_more", True),
            (290, "diverse", False),
            (290, "diverse_more", True),
        ]
        chart = charts.texts(rows, columns=columns, height=17 * len(rows))
    return Figure(
        name=run.name, label=run.label, n=run.n, panels={"titles": rows}, found=found,
        chart=charts.stacked([chart], title=title, subtitle=f"{run.label}; α = {alpha:g}, δ = {DELTA:g}"),
        settings=run.settings(
            f"{alpha:g}", "Hoeffding, the paper's test",
            ("choice", f"at most M = {max_size} by greedy elimination, euclidean distances"),
            ("lists shown", f"at the quantiles {', '.join(map(str, SHOWN))} of the gain over the best by score"),
            ("of those", f"that did not calibrate and have {max_size + 2} to {ROOM} items above the threshold"),
        ),
    )  # fmt: skip


def _typical(gains: Floats) -> list[int]:
    """Queries at the quantiles of the gain that are shown."""
    known = np.flatnonzero(~np.isnan(gains))
    order = known[np.argsort(gains[known], kind="stable")]
    if not len(order):
        return []
    places = np.unique(np.rint(np.array(SHOWN) * (len(order) - 1)).astype(np.int64))
    return order[places].tolist()


def _before_and_after(run: Run, rule: Diverse, scores: Floats, query: int, threshold: float) -> Rows:
    """Lines of text: a head, then each item with what it is about below its title."""
    queries = run.ranked.queries
    rows = slice(int(queries.offsets[query]), int(queries.offsets[query + 1]))
    own = cast(Any, queries.vectors)[rows]
    reached = int(np.count_nonzero(scores[rows] >= threshold))
    best = np.argsort(-scores[rows], kind="stable")[: rule.max_size]
    chosen = chosen_rows(rule, scores[rows], own, threshold)
    name = str(queries.id_of(query))
    head = {"by_score_more": f"query {name}: the best of {reached} by score", "diverse_more": "diverse ones"}
    lines: Rows = [{**_BLANK, **head, "query": name}]
    for one, other in zip(best.tolist(), chosen.tolist(), strict=True):
        words = {
            "by_score": _title(queries, rows.start + one), "diverse": _title(queries, rows.start + other),
            "query": name,
        }  # fmt: skip
        about = {"by_score_more": _kind(queries, rows.start + one), "diverse_more": _kind(queries, rows.start + other)}
        lines += [{**_BLANK, **words}, {**_BLANK, **about, "query": name}]
    return [*lines, {**_BLANK, "query": name}]


_BLANK: dict[str, Any] = {"by_score": "", "by_score_more": "", "diverse": "", "diverse_more": ""}


def _title(queries: Queries, item: int) -> str:
    return str(queries.columns["title"][item])


def _kind(queries: Queries, item: int) -> str:
    """Genres, where items have them."""
    return str(queries.columns["genres"][item]).replace("|", ", ") if "genres" in queries.columns else ""


def _said_of_example(
    run: Run, alpha: float, max_size: int, threshold: float, gains: Floats, reached: npt.NDArray[Any]
) -> str:
    if not len(gains):
        return f"On the {run.label}, no list has enough items above λ = {threshold:g} to choose from."
    each = [f"{count} items and {gain:+.0%}" for count, gain in zip(reached.tolist(), gains.tolist(), strict=True)]
    return (
        f"On the {run.label}, λ = {threshold:g} is certified at α = {alpha:g} for at most {max_size} diverse items. "
        f"The lists shown have {'; '.join(each)} in mean distance over the best by score.".replace("%", " %")
    )
