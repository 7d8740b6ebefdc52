"""What choosing diverse items gains, along α and along M."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.evidence import Hoeffding
from cutline.paper import charts
from cutline.paper.figures import Figure, Rows
from cutline.paper.run import DELTA, Run, mean_of
from cutline.paper.splits import Split, outcomes_of
from cutline.paper.spreads import Spreads
from cutline.paper.tables import LossTable
from cutline.preferences import WinRate
from cutline.sets import Diverse

Floats = npt.NDArray[np.float64]

BAND = (0.05, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Diverse lists of one M: their losses, and their gains by threshold."""

    table: LossTable
    spreads: Spreads

    @classmethod
    def of(cls, run: Run, max_size: int) -> Sweep:
        """Every list chosen from at every threshold."""
        rule = Diverse(max_size)
        return cls(run.table(rule), Spreads.of(run.ranked.queries, WinRate(), rule))

    def point(self, splits: list[Split], *, alpha: float, seed: int) -> dict[str, Floats]:
        """Of each split: the mean gains over modified test lists, the share of these, and the risk; NaN where it
        abstained."""
        found = outcomes_of(self.table, splits, evidence=Hoeffding(), alpha=alpha, delta=DELTA, seed=seed)
        names = ("improvement", "improvement_paper", "improvement_over_top", "modified")
        figures = {name: np.full(len(splits), np.nan) for name in names}
        for number in np.flatnonzero(found.certified).tolist():
            place, test = int(found.place[number]), splits[number].test
            gains = self.spreads.at(float(self.table.thresholds[place]))
            for name, each in zip(names, (gains.pairs, gains.paper, gains.top), strict=False):
                figures[name][number] = mean_of(each[test])
            figures["modified"][number] = float(self.table.modified(place)[test].mean())
        return {**figures, "risk": found.risk, "mean_size": found.mean_size}


def along_alpha(run: Run, *, alphas: Sequence[float], max_size: int) -> Figure:
    """Improvement and share modified as α grows."""
    sweep, splits = Sweep.of(run, max_size), run.splits()
    run.say("calibrating at each α")
    points = {alpha: sweep.point(splits, alpha=alpha, seed=run.seed) for alpha in alphas}
    rows = _rows(points, "alpha")
    here = min(alphas, key=lambda alpha: abs(alpha - 0.3))
    return _figure(
        run, rows, x=("alpha", "α, the level of risk"), points=alphas,
        title=f"Diverse lists of at most {max_size} items, by α",
        alpha=f"{alphas[0]:g} to {alphas[-1]:g}", choice=f"at most M = {max_size}",
        found=_said(run, rows, "alpha", f"At α = {here:g} and M = {max_size}", here),
    )  # fmt: skip


def along_size(run: Run, *, alpha: float, max_sizes: Sequence[int]) -> Figure:
    """Improvement and share modified as M grows."""
    splits, points = run.splits(), dict[float, dict[str, Floats]]()
    for max_size in max_sizes:
        run.say(f"at most {max_size} items")
        points[max_size] = Sweep.of(run, max_size).point(splits, alpha=alpha, seed=run.seed)
    rows = _rows(points, "M")
    return _figure(
        run, rows, x=("M", "M, the most items in a list"), points=max_sizes,
        title="Diverse lists by their largest size M",
        alpha=f"{alpha:g}", choice=f"at most M = {max_sizes[0]} … {max_sizes[-1]}",
        found=_said(run, rows, "M", f"At M = 3 and α = {alpha:g}", 3),
    )  # fmt: skip


def _figure(
    run: Run, rows: Rows, *, x: tuple[str, str], points: Sequence[float], title: str, alpha: str, choice: str,
    found: str,
) -> Figure:  # fmt: skip
    panels: dict[str, Rows] = {}
    parts: list[Any] = []
    for name, what, head in (
        ("improvement", "mean gain", "gain in mean distance between items: chosen, over all that reach the threshold"),
        ("modified", "share of lists", "lists with more than M items at or above the threshold, which are chosen from"),
    ):
        panels[name] = [row for row in rows if row["panel_of"] == name]
        if shown := [row for row in panels[name] if row["mean"] is not None]:
            parts.append(charts.curve(shown, x=x, points=points, y=("mean", what), title=head))
    panels["more"] = [row for row in rows if row["panel_of"] not in panels]
    words = f"{run.label}; δ = {DELTA:g}, means of {run.repeats} splits, bands hold nine in ten"
    return Figure(
        name=run.name, label=run.label, n=run.n, panels=panels, found=found,
        chart=charts.stacked(parts or [charts.nothing("every split abstained")], title=title, subtitle=words),
        settings=run.settings(
            alpha, "Hoeffding, the paper's test", ("choice", f"{choice} by greedy elimination, euclidean distances"),
            ("gain", "Div(D)/Div(T) - 1 by the number of pairs, mean over modified test lists"),
            ("in the data too", "the gain by the paper's denominator, and that over the best M by score"),
        ),
    )  # fmt: skip


def _rows(points: dict[float, dict[str, Floats]], name: str) -> Rows:
    """Mean and band over the splits, for each point and figure."""
    rows: Rows = []
    for at, figures in points.items():
        for what, values in figures.items():
            known = values[~np.isnan(values)]
            low, high = np.quantile(known, BAND).tolist() if len(known) else (None, None)
            mean = float(known.mean()) if len(known) else None
            rows.append({"panel_of": what, name: at, "mean": mean, "low": low, "high": high, "splits": len(known)})
    return rows


def _said(run: Run, rows: Rows, name: str, where: str, at: float) -> str:
    here = {row["panel_of"]: row["mean"] for row in rows if row[name] == at}
    if here["modified"] is None:
        return f"{where}, every split on the {run.label} abstained."
    said = f"{where} on the {run.label}, {here['modified']:.0%} of the lists are modified"
    if here["improvement"] is not None:
        said += (
            f", and these become {here['improvement']:+.0%} more diverse in mean distance than all items that reach "
            f"the threshold, {here['improvement_over_top']:+.0%} more than the best by score "
            f"({here['improvement_paper']:+.0%} by the paper's denominator, which punishes short lists)"
        )
    return said.replace("%", " %") + "." + _slope(rows, name)


def _slope(rows: Rows, name: str) -> str:
    """From where to where the two curves run."""
    ends: list[str] = []
    for what, word in (("improvement", "The gain"), ("modified", "The share modified")):
        known = [row for row in rows if row["panel_of"] == what and row["mean"] is not None]
        if len(known) > 1:
            first, last = known[0], known[-1]
            ends.append(
                f" {word} runs from {first['mean']:.0%} at {_symbol(name)} = {first[name]:g} to {last['mean']:.0%} at "
                f"{last[name]:g}."
            )
    return "".join(ends).replace("%", " %")


def _symbol(name: str) -> str:
    return "α" if name == "alpha" else name
