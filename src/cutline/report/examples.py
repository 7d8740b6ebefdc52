"""A few lists to look at: short, typical, long, empty and wrong ones, with the cut drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from cutline import statements
from cutline._display import shown
from cutline.auditing import losses_of
from cutline.certificate import Abstention, Certificate
from cutline.cutting import badness_of, scores_of
from cutline.errors import InputError
from cutline.report.numbers import readable

if TYPE_CHECKING:
    from cutline.queries import Queries
    from cutline.slates import Slates

Titles = str | Mapping[Any, Any] | None
Mark = Literal["good", "bad", "partly", "unjudged"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

HEAD, TAIL, BELOW = 8, 2, 4  # kept items shown at the top and the bottom of a long list, and items below the cut
KINDS = {
    "Short": "one of the shorter lists",
    "Typical": "about the median size, and an average loss for its size",
    "Long": "one of the longer lists",
    "Empty": "no item reached the threshold",
    "Wrong": "the largest loss there is, and the longest of those",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One item of an example: its place among all items of its query, by score."""

    place: int
    title: str
    item: str | None
    score: str
    width: float  # of a bar, in [0, 1]
    mark: Mark
    judged: str
    passed_over: bool = False  # at or above the threshold, and not chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One list: what was kept, how many kept items are left out of the picture, and what comes below the cut."""

    kind: str
    why: str
    query: str
    loss: str
    n_kept: int
    n_items: int
    n_good_kept: int
    n_good: int
    first: tuple[Shown, ...]
    hidden: int
    last: tuple[Shown, ...]
    below: tuple[Shown, ...]
    more_below: int
    bounded: bool  # the list ends by its size or a choice, and not by the threshold alone


def examples_of(certificate: Certificate | Abstention, slates: Slates, *, titles: Titles = None) -> tuple[Example, ...]:
    """At most five lists. They are chosen by size and loss, not at random, and prove nothing."""
    queries = slates.queries
    badness = badness_of(queries, certificate.loss.relevance).shares()
    losses = losses_of(certificate, slates.chosen, badness, queries.offsets)
    names = _Names(queries, titles)
    scores = scores_of(queries, certificate.scoring)
    picked = pick(slates.sizes, losses, queries.sizes)
    known: dict[str, Any] = {"scores": scores, "badness": badness, "losses": losses, "names": names}
    return tuple(_example(kind, query, certificate, slates, **known) for kind, query in picked.items())


def pick(sizes: Integers, losses: Floats, lengths: Integers) -> dict[str, int]:
    """Which query shows what; the same for the same lists. No query is shown twice."""
    taken: dict[str, int] = {}
    filled = np.flatnonzero(sizes > 0)
    if len(filled):
        wrong = max(filled.tolist(), key=lambda query: (losses[query], sizes[query], -query))
        if losses[wrong] > 0:
            taken["Wrong"] = wrong
        for kind, share in (("Typical", 0.5), ("Short", 0.1), ("Long", 0.95)):
            wanted = float(np.quantile(sizes[filled], share, method="inverted_cdf"))
            near = np.array([query for query in filled.tolist() if query not in taken.values()], dtype=np.int64)
            if len(near):
                distance = np.abs(sizes[near] - wanted)
                near = near[distance == distance.min()]
                usual = float(losses[near].mean())
                taken[kind] = int(near[np.argmin(np.abs(losses[near] - usual))])
    blank = np.flatnonzero(sizes == 0)
    if len(blank):
        middle = np.quantile(lengths[blank], 0.5, method="inverted_cdf")
        taken["Empty"] = int(blank[np.argmin(np.abs(lengths[blank] - middle))])
    return {kind: taken[kind] for kind in KINDS if kind in taken}


@dataclass(frozen=True, slots=True)
class _Names:
    """What items are called: by a column of the queries, or by item id."""

    queries: Queries
    titles: Titles

    def __post_init__(self) -> None:
        titles, queries = self.titles, self.queries
        if titles is None or (isinstance(titles, str) and titles in queries.columns):
            return
        if isinstance(titles, str):
            there = ", ".join(map(repr, queries.columns)) or "none"
            raise InputError(f"titles must be a column of the queries ({there}), or {{item id: title}}, got {titles!r}")
        if not hasattr(titles, "get"):
            raise InputError(f"titles must be the name of a column, or {{item id: title}}, got {shown(titles)}")
        if queries.item_ids is None:
            raise InputError("titles by item id need item ids, and the queries have none; name a column of titles")

    def of(self, row: int, query: int) -> tuple[str, str | None]:
        """Title and id of an item; the one alone where there is no other."""
        queries, titles = self.queries, self.titles
        item = None if queries.item_ids is None else readable(queries.item_ids[row])
        title: object = None
        if isinstance(titles, str):
            column = queries.columns[titles]
            title = column[row if len(column) == queries.n_items else query]
        elif titles is not None and queries.item_ids is not None:
            title = titles.get(_plain(queries.item_ids[row]))
        if title is None or str(title) in ("", "nan", "None"):
            return (item, None) if item is not None else (f"item {row - int(queries.offsets[query]) + 1}", None)
        return readable(title), item


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _example(
    kind: str, query: int, certificate: Certificate | Abstention, slates: Slates, *,
    scores: Floats, badness: Floats, losses: Floats, names: _Names,
) -> Example:  # fmt: skip
    queries = slates.queries
    begin, end = int(queries.offsets[query]), int(queries.offsets[query + 1])
    kept = (begin + slates[query]).tolist()
    falling = begin + np.argsort(-scores[begin:end], kind="stable")
    places = {int(row): place for place, row in enumerate(falling.tolist(), start=1)}
    below = [row for row in falling.tolist() if not slates.chosen[row]]
    low, high = float(scores[begin:end].min()), float(scores[begin:end].max())
    good = np.nan_to_num(1.0 - badness[begin:end], nan=0.0)

    def show(rows: Iterable[int]) -> tuple[Shown, ...]:
        return tuple(
            _shown(row, query, names, badness=float(badness[row]), place=places[row], score=float(scores[row]),
                   span=(low, high), over=not slates.chosen[row] and scores[row] >= certificate.threshold)
            for row in rows
        )  # fmt: skip

    whole = len(kept) <= HEAD + TAIL + 1
    return Example(
        kind=kind,
        why=KINDS[kind],
        query=readable(queries.id_of(query)),
        loss=statements.percent(float(losses[query])),
        n_kept=len(kept),
        n_items=end - begin,
        n_good_kept=round(float(good[np.array(kept, dtype=np.int64) - begin].sum())),
        n_good=round(float(good.sum())),
        first=show(kept if whole else kept[:HEAD]),
        hidden=0 if whole else len(kept) - HEAD - TAIL,
        last=() if whole else show(kept[-TAIL:]),
        below=show(below[:BELOW]),
        more_below=max(0, len(below) - BELOW),
        bounded=bool((slates.chosen[begin:end] != (scores[begin:end] >= certificate.threshold)).any()),
    )


def _shown(
    row: int, query: int, names: _Names, *,
    badness: float, place: int, score: float, span: tuple[float, float], over: bool,
) -> Shown:  # fmt: skip
    title, item = names.of(row, query)
    labels = names.queries.labels
    label = None if labels is None or np.isnan(labels[row]) else f"label {labels[row]:g}"
    low, high = span
    mark: Mark = "unjudged" if np.isnan(badness) else "good" if badness == 0 else "bad" if badness == 1 else "partly"
    return Shown(
        place=place,
        title=title,
        item=item,
        score=_written(score, max(abs(low), abs(high))),
        width=(score - low) / (high - low) if high > low and np.isfinite(high - low) else 1.0,
        mark=mark,
        judged=label or "not judged",
        passed_over=over,
    )


def _written(score: float, largest: float) -> str:
    """A score with as many decimals as the others of its list."""
    if not 1e-3 <= largest < 1e6:
        return f"{score:.4g}"
    return f"{score:.{min(5, max(0, 3 - math.floor(math.log10(largest))))}f}"
