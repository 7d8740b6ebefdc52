"""The numbers behind the charts: one row for each point, with what it says when it is pointed at."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cutline import statements
from cutline.auditing import Audit, Group
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.errors import CutlineWarning
from cutline.frontiers import Frontier, Point
from cutline.slates import Slates

if TYPE_CHECKING:
    from cutline.queries import Queries

BARS = 30  # of a histogram at most, the one of empty lists apart
MOST_GROUPS = 12
MOST_POINTS = 200
LONGEST = 160  # characters of a name
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def readable(value: object, *, longest: int = LONGEST) -> str:
    """Someone's text as a page may show it: on one line, nothing in it that cannot be seen or turns the line around."""
    text = " ".join(UNSEEN.sub("\ufffd", " ".join(str(value).split())).split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def curve_rows(certificate: Certificate | Abstention, held_out: Queries | None = None) -> list[dict[str, Any]]:
    """The points of the curve; of very many, those that a picture can show."""
    curve = certificate.curve
    points = list(zip(curve.threshold, curve.risk, curve.bound, curve.mean_size, strict=False))
    picked: list[int] = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(int).tolist()
    names = ("threshold", "risk", "bound", "mean_size")
    rows: list[dict[str, Any]] = [dict(zip(names, points[place], strict=True)) for place in sorted({*picked})]
    if held_out is not None and rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CutlineWarning)  # said where the queries were audited
            seen = RiskCurve.empty(
                loss=certificate.loss, scoring=certificate.scoring, sets=certificate.sets,
                thresholds=[row["threshold"] for row in rows],
            ).add(held_out)  # fmt: skip
        for row, risk in zip(rows, seen.risk.tolist(), strict=True):
            row["held_out"] = risk
    bound = bound_name(certificate)
    for row in rows:
        other = f"; held-out risk {share(row['held_out'])}" if "held_out" in row else ""
        row["said"] = (
            f"threshold {row['threshold']:.6g}; risk on calibration {share(row['risk'])}; "
            f"{bound} {share(row['bound'])}{other}; mean list size {row['mean_size']:.2f}"
        )
    return rows


def beside_rows(certificate: Certificate | Abstention, audit: Audit) -> list[dict[str, Any]]:
    """Calibration and audit: an estimate each, and what is around it."""
    bound = bound_at_cut(certificate)
    sure = statements.confidence(certificate.delta)
    first = {
        "name": "calibration", "risk": certificate.risk, "low": certificate.risk, "high": bound,
        "said": f"calibration, {certificate.n_queries:,} queries; risk {share(certificate.risk)}; "
        f"upper bound {share(bound)} at confidence {sure}",
    }  # fmt: skip
    second = {
        "name": "held out", "risk": audit.risk, "low": audit.low, "high": audit.high,
        "said": f"held out, {audit.n_queries:,} queries; risk {share(audit.risk)}; "
        f"95 % interval {share(audit.low)} to {share(audit.high)}",
    }  # fmt: skip
    return [{**first, "kind": "calibration"}, {**second, "kind": "held out"}]


def bound_at_cut(certificate: Certificate | Abstention) -> float:
    """The upper bound on the risk where the walk ended; for a certificate it is at most alpha."""
    curve = certificate.curve
    points = list(zip(curve.threshold, curve.bound, strict=False))
    if not points:
        return certificate.alpha
    if certificate.abstention is not None:
        return points[0][1]
    if certificate.thresholds == "exact" and len(points) > 1 and ended_by_failure(certificate):
        points.pop()  # the cut stands right beside the score that failed
    bound = min(points, key=lambda point: abs(point[0] - certificate.threshold))[1]
    return min(bound, certificate.alpha)


def ended_by_failure(certificate: Certificate | Abstention) -> bool:
    """Whether a fixed sequence met a threshold that failed, which is then the last point of the curve."""
    curve = certificate.curve
    if certificate.thresholds == "exact":
        return curve.bound[-1] > certificate.alpha
    return curve.threshold[-1] != certificate.threshold


def group_rows(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """One row for each group; of very many those with the most queries, in their order."""
    most = sorted(groups, key=lambda group: -group.n_queries)[:MOST_GROUPS]
    return [
        {
            "name": readable(group.name), "risk": group.risk, "low": group.low, "high": group.high, "kind": "held out",
            "n": group.n_queries, "mean_size": group.mean_size,
            "said": f"{readable(group.name)}; risk {share(group.risk)}; "
            f"interval {share(group.low)} to {share(group.high)}; {group.n_queries:,} queries; "
            f"mean list size {group.mean_size:.2f}",
        }
        for group in groups
        if group in most
    ]  # fmt: skip


def size_rows(lists: Audit | Slates, beside: Audit | Slates | None = None) -> list[dict[str, Any]]:
    """The bars of the histogram: empty lists, and ranges of sizes of equal width."""
    here, there = _histogram(lists), {} if beside is None else _histogram(beside)
    largest = max([*here, *there, 1])
    step = max(1, _rounded_up(largest / BARS))
    rows: list[dict[str, Any]] = []
    for low in (0, *range(1, largest + 1, step)):
        high = low if not low else min(largest, low + step - 1)
        count = sum(n for size, n in here.items() if low <= size <= high)
        name = "0" if not low else str(low) if high == low else f"{low}–{high}"
        part = count / sum(here.values())
        said = f"{'empty lists' if not low else f'lists of {name}'}; {statements.percent(part)}; {count:,} lists"
        row = {"size": name, "count": count, "share": part, "empty": "no" if low else "yes"}
        if there:
            row["beside"] = sum(n for size, n in there.items() if low <= size <= high) / sum(there.values())
            said += f"; calibration {statements.percent(row['beside'])}"
        rows.append({**row, "said": said})
    return rows


def cost_rows(frontier: Frontier) -> list[dict[str, Any]]:
    """One row for each choice; where nothing was certified nothing is kept."""
    return [
        {
            "alpha": point.alpha, "limit": "any size" if point.max_size is None else f"at most {point.max_size}",
            "certified": point.mean_size is not None, "mean_size": point.mean_size or 0.0, "said": _said(point),
        }
        for point in frontier
    ]  # fmt: skip


def _said(point: Point) -> str:
    choice = f"alpha {statements.level(point.alpha)}"
    choice += "" if point.max_size is None else f"; at most {point.max_size} items"
    if point.mean_size is None:
        return f"{choice}; nothing certified"
    cut = "any" if point.threshold is None else statements.number(round(point.threshold, 6))
    return (
        f"{choice}; mean list size {point.mean_size:.2f}; "
        f"non-empty {statements.percent(point.share_nonempty)}; risk {share(point.risk)}; threshold {cut}"
    )


def _histogram(lists: Audit | Slates) -> dict[int, int]:
    if isinstance(lists, Audit):
        return lists.sizes.histogram
    values, counts = np.unique(lists.sizes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _rounded_up(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, … that is at least so large."""
    if least <= 1:
        return 1
    power = 10 ** math.floor(math.log10(least))
    return next(int(step * power) for step in (1, 2, 5, 10) if step * power >= least)


def bound_name(certificate: Certificate | Abstention) -> str:
    """What the upper bound is called."""
    about = "approximate upper bound" if certificate.asymptotic else "upper bound"
    return f"{about} at {statements.confidence(certificate.delta)}"


def share(value: float | None) -> str:
    """A risk, as a percentage with two decimals."""
    return statements.percent(value, 2)
