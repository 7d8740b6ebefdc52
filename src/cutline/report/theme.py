"""How charts look: colours for light and dark that people with any colour vision tell apart, sizes, fonts, axes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cutline._extras import library

if TYPE_CHECKING:
    import altair as alt

    Chart = TypeVar("Chart", bound=alt.TopLevelMixin)

# Liberation Sans comes with vl-convert, so that pictures measure their text the same on every machine; Arial and
# Helvetica are as wide, letter by letter, where a browser has these.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Colours by what they stand for. No two are the same, so that a page can put its own in their place."""

    paper: str  # behind everything
    ink: str  # text
    muted: str  # axes, notes
    grid: str
    risk: str  # what calibration saw
    bound: str  # what the evidence allows
    held_out: str  # what other queries show
    level: str  # alpha
    bar: str
    bar_quiet: str
    good: str
    bad: str
    green: str
    gold: str

    @property
    def series(self) -> tuple[str, ...]:
        """Colours for lines or points of several kinds, in the order in which to use them."""
        return (self.risk, self.bound, self.held_out, self.green, self.gold)

    def by_name(self) -> dict[str, str]:
        """Each colour by its name."""
        return asdict(self)


LIGHT = Palette(
    paper="#ffffff", ink="#1b2430", muted="#5a6675", grid="#e2e6eb", risk="#0b6fb8", bound="#c04f06",
    held_out="#a02c80", level="#3b4653", bar="#7fb2d9", bar_quiet="#c9d3de", good="#00775b", bad="#b3400f",
    green="#1c7f4f", gold="#8f6a00",
)  # fmt: skip
DARK = Palette(
    paper="#161b22", ink="#e8edf3", muted="#9dabba", grid="#2d3641", risk="#5cb3ef", bound="#f49d55",
    held_out="#fa5f93", level="#c7d1dc", bar="#3b7096", bar_quiet="#46525f", good="#41c9a1", bad="#f58e6d",
    green="#52c48d", gold="#d9b44a",
)  # fmt: skip


def themed(chart: Chart, *, palette: Palette = LIGHT, width: int | None = None, height: int | None = None) -> Chart:
    """The chart with the sizes, fonts and axes of this house. `width` is that of the whole picture, `height` that of
    the plot."""
    sizes: dict[str, Any] = {} if height is None else {"height": height}
    if width is not None:
        sizes |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    dressed: Any = cast(Any, chart).properties(background=palette.paper, padding=4, config=config_of(palette), **sizes)
    return dressed


def config_of(palette: Palette) -> Any:
    """The configuration of Vega-Lite for a palette."""
    alt = library("altair", extra="report", what="a chart")
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": 12, "titleFontSize": 12}
    return alt.Config(
        font=FONT,
        axis=alt.AxisConfig(
            **text, labelColor=palette.muted, titleColor=palette.muted, titleFontWeight="normal", titlePadding=8,
            domainColor=palette.muted, tickColor=palette.muted, gridColor=palette.grid, labelLimit=190, tickSize=4,
        ),
        axisY=alt.AxisConfig(domain=False, ticks=False, labelPadding=6),
        axisX=alt.AxisConfig(grid=False, labelPadding=4),
        legend=alt.LegendConfig(
            **text, labelColor=palette.ink, titleColor=palette.muted, orient="top", title=None, symbolSize=90,
            labelLimit=260, offset=8,
        ),
        title=alt.TitleConfig(
            font=FONT, fontSize=14, fontWeight="bold", color=palette.ink, anchor="start", subtitleFont=FONT,
            subtitleColor=palette.muted, subtitleFontSize=12, offset=10,
        ),
        view=alt.ViewConfig(stroke=None, fill=None),
        text=alt.MarkConfig(font=FONT, fontSize=12, color=palette.ink),
        line=alt.LineConfig(strokeWidth=2.2, strokeJoin="round", strokeCap="round"),
        range=alt.RangeConfig(category=list(palette.series)),
    )  # fmt: skip
