"""Charts of certificates, audits and frontiers, as Altair charts: in a notebook they show their numbers on hover."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cutline import statements
from cutline._display import shown
from cutline._extras import library
from cutline.auditing import Audit
from cutline.certificate import Abstention, Certificate
from cutline.errors import InputError
from cutline.frontiers import Frontier
from cutline.report.numbers import beside_rows, bound_name, cost_rows, curve_rows, group_rows, size_rows
from cutline.report.theme import LIGHT, Palette, themed
from cutline.slates import Slates

if TYPE_CHECKING:
    import altair as alt

    from cutline.queries import Queries

Row = Mapping[str, Any]

WIDTH = 640
HOVER = "hover"  # the name of the marks that answer to a pointer


def risk_curve(
    certificate: Certificate | Abstention,
    *,
    held_out: Queries | None = None,
    palette: Palette = LIGHT,
    width: int = WIDTH,
) -> alt.LayerChart:
    """The risk on the calibration queries along the walk, its upper bound, alpha, and where the walk ended.

    With `held_out` queries also their risk at the same thresholds; nobody chose by that, so no bound belongs to it.
    """
    rows = curve_rows(certificate, held_out)
    if not rows:
        raise InputError("no finite threshold was tested, so there is no curve to draw")
    alt = _altair()
    names = [("risk", "risk on calibration", palette.risk), ("bound", bound_name(certificate), palette.bound)]
    names += [("held_out", "risk on held-out queries", palette.held_out)] if held_out is not None else []
    x, y, colour = _curve_axes(certificate, rows, names, narrow=width < WIDTH / 1.5)
    long = [
        alt.Data(values=[{"threshold": row["threshold"], "share": row[key], "which": name} for row in rows])
        for key, name, _ in names
    ]
    every, own = alt.Data(values=rows), alt.Y("risk", type="quantitative")
    tips = [_tip("threshold", ".6g"), *(_tip(key, ".2%", name) for key, name, _ in names)]
    tips.append(_tip("mean_size", ".2f", "mean list size"))
    between = alt.Chart(every).mark_area(color=palette.risk, opacity=0.1, aria=False)
    seen = alt.Chart(every, name=HOVER).mark_point(size=50, filled=True, opacity=1, color=palette.risk)
    layers = [
        between.encode(x=x, y=own, y2="bound"),
        *(alt.Chart(line).mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour) for line in long[:2]),
        *(alt.Chart(points).mark_point(size=70).encode(x=x, y=y, color=colour) for points in long[2:]),
        *_level(certificate.alpha, palette, horizontal=True),
        *_cut(certificate, palette),
        seen.encode(x=x, y=own, description="said:N", tooltip=tips),
    ]
    return themed(alt.layer(*layers), palette=palette, width=width, height=280)


def _curve_axes(
    certificate: Certificate | Abstention, rows: Sequence[Row], names: Sequence[tuple[str, str, str]], *, narrow: bool
) -> tuple[Any, Any, Any]:
    """Thresholds in the order of the walk, shares, and a colour for each of the lines."""
    alt = _altair()
    falling = certificate.loss.safe_end == "high"
    x = alt.X(
        "threshold",
        type="quantitative",
        title=f"threshold, in the order of testing ({'falling' if falling else 'rising'})",
        scale=alt.Scale(zero=False, nice=False, reverse=falling, padding=6),
    )
    highest = max(certificate.alpha, *(row[key] for row in rows for key, _, _ in names))
    scale = alt.Scale(domain=[0, min(1.0, highest * 1.12)])
    y = alt.Y("share", type="quantitative", title=None, axis=_percent(alt), scale=scale)
    colour = alt.Color(
        "which",
        type="nominal",
        legend=alt.Legend(symbolType="circle", symbolStrokeWidth=2, columns=2 if narrow else 3),
        scale=alt.Scale(domain=[name for _, name, _ in names], range=[colour for *_, colour in names]),
    )
    return x, y, colour


def beside(
    certificate: Certificate | Abstention, audit: Audit, *, palette: Palette = LIGHT, width: int = WIDTH
) -> alt.LayerChart:
    """The risk on the calibration queries, up to its upper bound, beside that of the audit with its interval."""
    rows = beside_rows(certificate, audit)
    return _intervals(rows, alpha=certificate.alpha, palette=palette, width=width, close=True)


def strata(audit: Audit, *, palette: Palette = LIGHT, width: int = WIDTH) -> alt.LayerChart:
    """The risk of the audit by the size of the list, with intervals that hold together at 95 %."""
    return _intervals(group_rows(audit.strata), alpha=audit.alpha, palette=palette, width=width)


def groups(audit: Audit, by: str | None = None, *, palette: Palette = LIGHT, width: int = WIDTH) -> alt.LayerChart:
    """The risk of the audit by the values of one of its columns, with intervals that hold together at 95 %; of very
    many values those with the most queries."""
    name = next(iter(audit.by), None) if by is None else by
    if name is None or name not in audit.by:
        there = ", ".join(map(repr, audit.by)) or "none"
        raise InputError(f"by must be a column of the audit ({there}), got {shown(by)}; audit(…, by=…) names them")
    return _intervals(group_rows(audit.by[name]), alpha=audit.alpha, palette=palette, width=width)


def sizes(
    lists: Audit | Slates, *, beside: Audit | Slates | None = None, palette: Palette = LIGHT, width: int = WIDTH
) -> alt.LayerChart:
    """How many lists there are of each size, empty ones apart; `beside` marks the shares of other lists."""
    rows = size_rows(lists, beside)
    alt = _altair()
    order = [row["size"] for row in rows]
    x = alt.X(
        "size", type="nominal", sort=order, title="items in the list",
        axis=alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=8, ticks=False),
    )  # fmt: skip
    y = alt.Y("share", type="quantitative", title=None, axis=_percent(alt, tickCount=5))
    tips = [_tip("size", None, "items"), _tip("share", ".1%", "share of lists"), _tip("count", ",", "lists")]
    bars = alt.Chart(alt.Data(values=rows), name=HOVER).mark_bar(cornerRadiusEnd=2).encode(
        x=x, y=y, description="said:N", tooltip=tips,
        color=alt.Color("empty", type="nominal", legend=None,
                        scale=alt.Scale(domain=["no", "yes"], range=[palette.bar, palette.bar_quiet])),
    )  # fmt: skip
    layers = [bars]
    if beside is not None:
        mark = alt.Chart(alt.Data(values=rows)).mark_tick(color=palette.ink, thickness=2, aria=False)
        layers.append(mark.encode(x=x, y=alt.Y("beside", type="quantitative")))
    return themed(alt.layer(*layers), palette=palette, width=width, height=200)


def costs(
    frontier: Frontier, *, alpha: float | None = None, palette: Palette = LIGHT, width: int = WIDTH
) -> alt.LayerChart:
    """The mean list size that each choice of the frontier would give; `alpha` marks the one that was declared."""
    rows = cost_rows(frontier)
    alt = _altair()
    by_size = len({row["alpha"] for row in rows}) == 1 and len(rows) > 1
    axis = _percent(alt, values=sorted({row["alpha"] for row in rows}), labelOverlap=True)
    x = (
        alt.X("limit", type="nominal", sort=None, title="largest size", axis=alt.Axis(labelAngle=0)) if by_size
        else alt.X("alpha", type="quantitative", title="alpha", scale=alt.Scale(zero=False, padding=18), axis=axis)
    )  # fmt: skip
    y = alt.Y("mean_size", type="quantitative", title="items per list", axis=alt.Axis(tickCount=5))
    found = [row for row in rows if row["certified"]]
    limits = list(dict.fromkeys(row["limit"] for row in rows))
    several = len(limits) > 1 and not by_size
    series = [palette.series[place % len(palette.series)] for place in range(len(limits))]
    colour = (
        alt.Color("limit", type="nominal", scale=alt.Scale(domain=limits, range=series)) if several
        else alt.value(palette.risk)
    )  # fmt: skip
    tips = [_tip("alpha", ".4~g"), _tip("mean_size", ".2f", "mean list size"), _tip("said", None, "in words")]
    line = alt.Chart(alt.Data(values=found)).mark_line(opacity=0.5, aria=False).encode(x=x, y=y, color=colour)
    layers = [
        *([] if by_size else [line]),
        alt.Chart(alt.Data(values=rows), name=HOVER).mark_point(size=80, filled=True, opacity=1)
        .encode(
            x=x, y=y, color=colour, description="said:N", tooltip=tips,
            shape=alt.Shape("certified", type="nominal", legend=None,
                            scale=alt.Scale(domain=[True, False], range=["circle", "cross"])),
        ),
    ]  # fmt: skip
    if alpha is not None and not by_size:
        layers += _level(alpha, palette, horizontal=False, text="declared")
    return themed(alt.layer(*layers), palette=palette, width=width, height=220)


def _intervals(
    rows: Sequence[Row], *, alpha: float, palette: Palette, width: int, close: bool = False
) -> alt.LayerChart:
    """An estimate with an interval in each row, and alpha across; `close` leaves out what is far below."""
    alt = _altair()
    data = alt.Data(values=[dict(row) for row in rows])
    order = [row["name"] for row in rows]
    y = alt.Y(
        "name", type="nominal", sort=order, title=None, axis=alt.Axis(labelColor=palette.ink, labelLimit=width // 3)
    )
    low, high = min(alpha, *(row["low"] for row in rows)), max(alpha, *(row["high"] for row in rows))
    margin = (high - low if close else high) * 0.08
    scale = alt.Scale(domain=[max(0.0, low - margin) if close else 0.0, min(1.0, high + margin)], nice=False, padding=9)
    kinds = alt.Color(
        "kind", type="nominal", legend=None,
        scale=alt.Scale(domain=["calibration", "held out"], range=[palette.risk, palette.held_out]),
    )  # fmt: skip
    x = alt.X(
        "low",
        type="quantitative",
        title="risk",
        axis=_percent(alt, grid=True, tickCount=5 if width < WIDTH else 8),
        scale=scale,
    )
    estimate = alt.X("risk", type="quantitative", scale=scale)
    tips = [_tip("name", None, "group"), *(_tip(key, ".2%") for key in ("risk", "low", "high"))]
    layers = [
        alt.Chart(data).mark_rule(strokeWidth=3, opacity=0.55, strokeCap="round", aria=False)
        .encode(y=y, x=x, x2="high", color=kinds),
        *_level(alpha, palette, horizontal=False),
        alt.Chart(data, name=HOVER).mark_point(size=90, filled=True, opacity=1)
        .encode(y=y, x=estimate, color=kinds, description="said:N", tooltip=tips),
    ]  # fmt: skip
    return themed(alt.layer(*layers), palette=palette, width=width, height=max(2, len(rows)) * 30)


def _level(alpha: float, palette: Palette, *, horizontal: bool, text: str = "α") -> list[Any]:
    """A dashed line at alpha, with its name."""
    alt = _altair()
    name = f"{text} = {statements.level(alpha)}" if text == "α" else f"{text}: {statements.level(alpha)}"
    data = alt.Data(values=[{"level": alpha, "name": name}])
    line = alt.Chart(data).mark_rule(color=palette.level, strokeDash=[4, 3], strokeWidth=1.4, aria=False)
    if horizontal:
        where = {"y": alt.Y("level", type="quantitative")}
        label = {"align": "left", "baseline": "bottom", "dx": 2, "dy": -4, "x": 0}
    else:
        where = {"x": alt.X("level", type="quantitative")}
        label = {"align": "center", "baseline": "bottom", "dy": -4, "y": 0}
    written = alt.Chart(data).mark_text(color=palette.level, aria=False, **label)
    return [line.encode(**where), written.encode(**where, text=alt.Text("name", type="nominal"))]


def _cut(certificate: Certificate | Abstention, palette: Palette) -> list[Any]:
    """A line where the walk ended, with the threshold."""
    if certificate.abstention is not None or not math.isfinite(certificate.threshold):
        return []
    alt = _altair()
    finite = certificate.curve.threshold
    late = abs(certificate.threshold - finite[0]) > abs(certificate.threshold - finite[-1])
    data = alt.Data(values=[{"cut": certificate.threshold, "name": f"cut at {certificate.threshold:.6g}"}])
    x = alt.X("cut", type="quantitative")
    side = {"align": "right", "dx": -6} if late else {"align": "left", "dx": 6}
    return [
        alt.Chart(data).mark_rule(color=palette.ink, strokeWidth=1.6, aria=False).encode(x=x),
        alt.Chart(data)
        .mark_text(color=palette.ink, fontWeight="bold", baseline="bottom", y="height", dy=-8, aria=False, **side)
        .encode(x=x, text=alt.Text("name", type="nominal")),
    ]


def _percent(alt: Any, **more: Any) -> Any:
    return alt.Axis(labelExpr="format(100 * datum.value, '.4~g') + ' %'", labelFlush=False, **more)


def _tip(field: str, format: str | None = None, title: str | None = None) -> Any:
    alt = _altair()
    if format is None:
        return alt.Tooltip(field, type="nominal", title=title or field)
    return alt.Tooltip(field, type="quantitative", format=format, title=title or field)


def _altair() -> Any:
    return library("altair", extra="report", what="a chart")
