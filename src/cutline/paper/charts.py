"""The panels that figures are made of, each 600 pixels wide with its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._extras import library
from cutline.paper.figures import Rows
from cutline.report import LIGHT, themed

Floats = npt.NDArray[np.float64]

WIDTH = 500  # of a plot, axes apart
BINS = 40
RIGHT = 0.72  # how far to the right alpha stands at least


def altair() -> Any:
    """The library that draws."""
    return library("altair", extra="report", what="cutline paper")


def values_of(rows: Rows) -> Any:
    """Rows as data of a chart."""
    return altair().Data(values=rows)


def stacked(panels: Sequence[Any], *, title: str, subtitle: str) -> Any:
    """Panels one below the other, under a title that says what they show and of what."""
    alt = altair()
    chart = alt.vconcat(*panels, spacing=14).properties(title=alt.TitleParams(text=title, subtitle=subtitle))
    return themed(chart)


def nothing(why: str) -> Any:
    """A line of text where there is nothing to draw."""
    alt = altair()
    text = alt.Chart(values_of([{}])).mark_text(text=why, align="left", x=0, y=10)
    return text.properties(width=WIDTH, height=24)


def small_title(text: str) -> Any:
    """The title of a panel."""
    return altair().TitleParams(
        text=text, fontSize=12, fontWeight="normal", color=LIGHT.muted, offset=6, frame="group"
    )  # fmt: skip


# Histograms ---------------------------------------------------------------------------------------------------------


def risk_edges(values: Sequence[Floats], alpha: float) -> Floats:
    """Edges of bins that hold all risks, with alpha among them and well to the right."""
    pooled = np.concatenate([each[~np.isnan(each)] for each in values] or [np.array([alpha])])
    low, high = min(float(pooled.min(initial=alpha)), alpha), max(float(pooled.max(initial=alpha)), alpha)
    pad = max(0.06 * (high - low), 0.004)
    high = high + pad
    low = min(low - pad, alpha - RIGHT / (1 - RIGHT) * (high - alpha))
    step = (high - max(low, 0.0)) / BINS
    below, above = int(np.ceil((alpha - max(low, 0.0)) / step)), int(np.ceil((high - alpha) / step))
    edges: Floats = alpha + step * np.arange(-below, above + 1, dtype=np.float64)
    return edges


def in_bins(values: Floats, edges: Floats) -> Rows:
    """How many values lie in each bin, its upper edge included: alpha itself is not above alpha."""
    known = values[~np.isnan(values)]
    bins = np.clip(np.searchsorted(edges, known, side="left") - 1, 0, len(edges) - 2)
    counts = np.bincount(bins.astype(np.int64), minlength=len(edges) - 1)
    return [
        {"low": float(low), "high": float(high), "count": int(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]


def risks(series: Mapping[str, Floats], alpha: float, *, what: str) -> tuple[list[Any], Rows]:
    """One histogram of risks for each series, below each other on one axis, with alpha as a line."""
    edges = risk_edges(list(series.values()), alpha)
    rows = [{"series": name, **row} for name, values in series.items() for row in in_bins(values, edges)]
    span = (float(edges[0]), float(edges[-1]))
    names = list(series)
    panels = [
        _risk_panel([row for row in rows if row["series"] == name], name, alpha, span, what, last=name == names[-1])
        for name in names
    ]
    return panels, rows


def _risk_panel(rows: Rows, name: str, alpha: float, span: tuple[float, float], what: str, *, last: bool) -> Any:
    alt = altair()
    axis = alt.Axis(format=".3~f", title=what if last else None, labels=last, ticks=last, tickCount=8)
    x = alt.X("low:Q", scale=alt.Scale(domain=list(span), nice=False), axis=axis)
    bars = alt.Chart(values_of(rows)).mark_rect(color=LIGHT.green if "true" in name else LIGHT.risk)
    counted = "calibrations" if "true" in name else "splits"
    up = alt.Y("count:Q", title=counted, axis=alt.Axis(tickCount=3, format="d"), scale=alt.Scale(zero=True))
    layers = [bars.encode(x=x, x2="high:Q", y=up, y2=alt.datum(0)), *_level_across(alpha, x=True)]
    return alt.layer(*layers).properties(width=WIDTH, height=62, title=small_title(name))


def _level_across(alpha: float, *, x: bool, width: int = WIDTH) -> list[Any]:
    """Alpha as a line across a panel, named where nothing else stands."""
    alt = altair()
    channel = "x" if x else "y"
    one = alt.Chart(values_of([{"alpha": alpha}]))
    rule = one.mark_rule(color=LIGHT.level, strokeDash=[5, 3], strokeWidth=1.6).encode(**{channel: "alpha:Q"})
    place = {"y": alt.value(-5)} if x else {"x": alt.value(width + 4)}
    text = one.mark_text(
        text=f"α = {alpha:g}", align="center" if x else "left", baseline="bottom" if x else "middle", color=LIGHT.level
    ).encode(**{channel: "alpha:Q"}, **place)
    return [rule, text]


def sizes(series: Mapping[str, npt.NDArray[Any]]) -> tuple[list[Any], Rows]:
    """One histogram of list sizes for each series, in percent of its lists, on one axis."""
    alt = altair()
    most = max(int(each.max(initial=0)) for each in series.values())
    step = max(1, -(-(most + 1) // 50))
    rows: Rows = []
    for name, values in series.items():
        counts = np.bincount((values // step).astype(np.int64))
        share = 100.0 / max(1, len(values))
        rows += [
            {"series": name, "from": place * step - 0.5, "to": (place + 1) * step - 0.5, "percent": share * int(count)}
            for place, count in enumerate(counts)
            if count
        ]
    domain = [-0.5, (most // step + 1) * step - 0.5]
    names, panels = list(series), list[Any]()
    for name in names:
        last = name == names[-1]
        axis = alt.Axis(title="items in the list" if last else None, labels=last, ticks=last, format="d", tickMinStep=1)
        chart = alt.Chart(values_of([row for row in rows if row["series"] == name])).mark_rect(color=LIGHT.bar)
        chart = chart.encode(
            x=alt.X("from:Q", scale=alt.Scale(domain=domain, nice=False), axis=axis), x2="to:Q",
            y=alt.Y("percent:Q", title="% of lists", axis=alt.Axis(tickCount=3), scale=alt.Scale(zero=True)),
            y2=alt.datum(0),
        )  # fmt: skip
        panels.append(chart.properties(width=WIDTH, height=62, title=small_title(name)))
    return panels, rows


# Bars, lines and dots ------------------------------------------------------------------------------------------------


def strata(rows: Rows, alpha: float, *, title: str) -> Any:
    """The risk of each stratum with its interval, and how many lists it has."""
    alt = altair()
    data, order = values_of(rows), [row["stratum"] for row in rows]
    x = alt.X("stratum:N", sort=order, title=None, axis=alt.Axis(labelAngle=0, labelExpr="split(datum.label, '|')"))
    y = alt.Y("risk:Q", title="share not good", scale=alt.Scale(domainMin=0))
    bars = alt.Chart(data).mark_bar(color=LIGHT.bar, size=70).encode(x=x, y=y)
    spans = alt.Chart(data).mark_rule(color=LIGHT.ink, strokeWidth=1.5).encode(x=x, y="low:Q", y2="high:Q")
    width = WIDTH - 40
    layers = [bars, spans, *_level_across(alpha, x=False, width=width)]
    return alt.layer(*layers).properties(width=width, height=130, title=small_title(title))


def curve(rows: Rows, *, x: tuple[str, str], points: Sequence[float], y: tuple[str, str], title: str) -> Any:
    """A line through the means of the splits at some points, with a band that holds nine in ten of them."""
    alt = altair()
    data = values_of(rows)
    axis = alt.Axis(format=".2~f", values=list(points), grid=False)
    across = alt.X(f"{x[0]}:Q", title=x[1], scale=alt.Scale(domain=[points[0], points[-1]], nice=False), axis=axis)
    up = alt.Y(f"{y[0]}:Q", title=y[1], axis=alt.Axis(format=".0%", tickCount=5))
    band = alt.Chart(data).mark_area(opacity=0.2, color=LIGHT.risk).encode(x=across, y="low:Q", y2="high:Q")
    line = alt.Chart(data).mark_line(color=LIGHT.risk, point={"color": LIGHT.risk, "size": 34}).encode(x=across, y=up)
    return alt.layer(band, line).properties(width=WIDTH, height=150, title=small_title(title))


def dots(
    rows: Rows, *, x: tuple[str, str], order: Sequence[str], title: str, level: float | None = None, legend: bool
) -> Any:
    """One line of dots for each kind of evidence, coloured by scoring."""
    alt = altair()
    kinds = list(dict.fromkeys(row["scores"] for row in rows))
    colour = alt.Color(
        "scores:N", scale=alt.Scale(domain=kinds, range=list(LIGHT.series[: len(kinds)])),
        legend=alt.Legend(title=None, orient="top", direction="horizontal") if legend else None,
    )  # fmt: skip
    shape = alt.Shape("scores:N", scale=alt.Scale(domain=kinds), legend=None)
    chart = alt.Chart(values_of(rows)).mark_point(filled=True, size=70, opacity=0.95)
    far = max(row[x[0]] for row in rows) if level is None else max(1.3 * level, *(row[x[0]] for row in rows))
    chart = chart.encode(
        x=alt.X(
            f"{x[0]}:Q", title=x[1], axis=alt.Axis(grid=True, format=".2~f", tickCount=7),
            scale=alt.Scale(domain=[0, 1.05 * far], nice=False),
        ),
        y=alt.Y("evidence:N", sort=list(order), title=None), yOffset=alt.YOffset("scores:N", sort=kinds),
        color=colour, shape=shape,
    )  # fmt: skip
    layers = [chart]
    if level is not None:
        one = alt.Chart(values_of([{"level": level}])).mark_rule(color=LIGHT.level, strokeDash=[5, 3])
        layers.append(one.encode(x="level:Q"))
    return alt.layer(*layers).properties(width=WIDTH - 110, height=34 * len(order), title=small_title(title))


# Violins and texts ---------------------------------------------------------------------------------------------------


def violins(outlines: Rows, items: Rows, *, names: Sequence[str]) -> Any:
    """The distribution of scores of each query, hard to easy, with its items as points."""
    alt = altair()
    count = len(names)
    domain = alt.Scale(domain=[0.4, count + 0.6], nice=False)
    labels = alt.Axis(
        values=list(range(1, count + 1)), grid=False, title=None, labelAngle=0,
        labelExpr=f"{list(names)!r}[datum.value - 1]",
    )  # fmt: skip
    up = alt.Y("score:Q", title="score of an item: its win rate", scale=alt.Scale(domain=[0, 1]))
    shape = alt.Chart(values_of(outlines)).mark_rect(color=LIGHT.bar, strokeWidth=0)
    shape = shape.encode(x=alt.X("left:Q", scale=domain, axis=labels), x2="right:Q", y=alt.Y("low:Q"), y2="high:Q")
    kinds = ["good", "not good"]
    colour = alt.Color(
        "item:N", scale=alt.Scale(domain=kinds, range=[LIGHT.good, LIGHT.bad]), legend=alt.Legend(title=None)
    )
    points = alt.Chart(values_of(items)).mark_point(filled=True, strokeWidth=0)
    points = points.encode(
        y=up, x=alt.X("x:Q", scale=domain, axis=labels), color=colour,
        size=alt.Size("item:N", scale=alt.Scale(domain=kinds, range=[46, 14]), legend=None),
        opacity=alt.Opacity("item:N", scale=alt.Scale(domain=kinds, range=[1, 0.55]), legend=None),
    )  # fmt: skip
    return alt.layer(shape, points).properties(width=WIDTH, height=250)


def texts(rows: Rows, *, columns: Sequence[tuple[int, str, bool]], height: int) -> Any:
    """Lines of text in columns: each is where it begins, the name of what it shows, and whether that is muted."""
    alt = altair()
    data = values_of(rows)
    lines = [
        alt.Chart(data)
        .mark_text(align="left", baseline="middle", limit=limit, color=LIGHT.muted if muted else LIGHT.ink)
        .encode(text=f"{name}:N", y=alt.Y("line:O", axis=None), x=alt.value(start))
        for (start, name, muted), limit in zip(columns, _limits(columns), strict=True)
    ]
    return alt.layer(*lines).properties(width=WIDTH + 60, height=height)


def _limits(columns: Sequence[tuple[int, str, bool]]) -> list[int]:
    """How wide each column may be: up to where the next one begins that is farther right."""
    starts = sorted({start for start, _, _ in columns})
    ends = dict(zip(starts, [*starts[1:], WIDTH + 60], strict=True))
    return [ends[start] - start - 8 for start, _, _ in columns]
