"""The pictures of a page, each with what it shows in words and with its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutline import statements
from cutline.auditing import Audit
from cutline.certificate import Abstention, Certificate
from cutline.frontiers import Frontier, Point
from cutline.report import charts, numbers
from cutline.report.drawings import Drawing, drawing_of
from cutline.report.numbers import readable, share
from cutline.slates import Slates

if TYPE_CHECKING:
    from cutline.queries import Queries

LOOKED_AT = (
    "To choose one for what is seen here breaks its promise: declare it, and calibrate on new queries. A frontier that "
    "is not exploratory tests several so that all hold together."
)
DECLARED = "It keeps its promise, unless another is taken in its place."
TOGETHER = (
    "The intervals hold together at 95 %. The promise is about all queries together, not about any of these groups."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """One picture of the page. Pointers and arrow keys move `along` x or y."""

    name: str
    section: str
    heading: str
    drawing: Drawing
    caption: tuple[str, ...]
    along: str = "x"


def plates_of(
    certificate: Certificate | Abstention,
    *,
    audit: Audit | None,
    frontier: Frontier | None,
    calibrated: Slates | None,
    held_out: Queries | None,
) -> tuple[Plate, ...]:
    """Every picture there is something to draw for, in the order of the page."""
    plates: list[Plate] = []
    if len(numbers.curve_rows(certificate)) > 1:
        plates.append(_walk(certificate, held_out))
    if audit is not None:
        plates.append(_beside(certificate, audit))
    lists = calibrated if audit is None else audit
    if lists is not None:
        plates.append(_sizes(lists, other=None if audit is None else calibrated))
    if audit is not None:
        plates += _strata(audit)
    if frontier is not None:
        plates.append(_costs(certificate, frontier))
    return tuple(plates)


def _walk(certificate: Certificate | Abstention, held_out: Queries | None) -> Plate:
    rows = numbers.curve_rows(certificate, held_out)
    bound = numbers.bound_name(certificate)
    first, last = rows[0], rows[-1]
    cut = "nothing was certified"
    if certificate.abstention is None:
        cut = f"the cut is at {statements.number(certificate.threshold)}"
    says = (
        f"The risk on the calibration queries goes from {share(first['risk'])} at threshold {first['threshold']:.6g} "
        f"to {share(last['risk'])} at {last['threshold']:.6g}; alpha is {statements.level(certificate.alpha)}, "
        f"and {cut}."
    )
    start = "returning little" if certificate.loss.safe_end == "high" else "returning everything"
    order = f"Thresholds from left to right as they were tested, from {start} on."
    caption = [f"{order} The bound is what the evidence says at each threshold by itself. {_end_of_walk(certificate)}"]
    if held_out is not None:
        caption.append(
            "Circles: the risk of held-out queries at the same thresholds, which took no part in the choice."
        )
    more = ["held-out risk"] if held_out is not None else []
    table = [
        (f"{row['threshold']:.6g}", share(row["risk"]), share(row["bound"]),
         *([share(row["held_out"])] if held_out is not None else []), f"{row['mean_size']:.2f}")
        for row in rows
    ]  # fmt: skip
    return Plate(
        name="walk", section="walk", heading="", caption=tuple(caption),
        drawing=drawing_of(
            "walk", lambda width: charts.risk_curve(certificate, held_out=held_out, width=width), says=says,
            head=("threshold", "risk on calibration", bound, *more, "items per list"), rows=table,
        ),
    )  # fmt: skip


def _end_of_walk(certificate: Certificate | Abstention) -> str:
    if certificate.abstention is not None:
        return "No threshold passed."
    if certificate.sequence.name != "fixed":
        return "The cut is the farthest threshold that passed."
    if not numbers.ended_by_failure(certificate):
        return "Every threshold passed; the cut is the last of them."
    return "The walk stopped at the first threshold that failed; the cut is the last one before."


def _beside(certificate: Certificate | Abstention, audit: Audit) -> Plate:
    rows = numbers.beside_rows(certificate, audit)
    return Plate(
        name="beside", section="audit", heading="", along="y",
        caption=("Dots: the risk seen. Bars: up to the bound of calibration, and the 95 % interval of the audit.",),
        drawing=drawing_of(
            "beside", lambda width: charts.beside(certificate, audit, width=width),
            says=". ".join(row["said"].replace(";", ",") for row in rows)
            + f". Alpha is {statements.level(audit.alpha)}.",
        ),
    )  # fmt: skip


def _sizes(lists: Audit | Slates, *, other: Slates | None) -> Plate:
    rows = numbers.size_rows(lists, other)
    where = "held-out" if isinstance(lists, Audit) else "calibration"
    empty, most = rows[0], max(rows, key=lambda row: row["share"])
    says = (
        f"Sizes of the {where} lists: {statements.percent(empty['share'])} are empty; most often, "
        f"{statements.percent(most['share'])}, there are {most['size']} items."
    )
    caption = f"Bars: {where} lists, the empty ones in grey." + (
        " Lines: calibration lists." if other is not None else ""
    )
    table = [
        (row["size"], f"{row['count']:,}", statements.percent(row["share"]),
         *([statements.percent(row["beside"])] if other is not None else []))
        for row in rows
    ]  # fmt: skip
    return Plate(
        name="sizes", section="sizes", heading="", caption=(caption,),
        drawing=drawing_of(
            "sizes", lambda width: charts.sizes(lists, beside=other, width=width), says=says,
            head=("items", "lists", "share", *(["calibration"] if other is not None else [])), rows=table,
        ),
    )  # fmt: skip


def _strata(audit: Audit) -> Iterator[Plate]:
    tables: list[tuple[str, str, Any, Any]] = [("By size of the list", "size", audit.strata, charts.strata)]
    for place, (name, found) in enumerate(audit.by.items()):
        draw = _groups_of(name)
        tables.append((f"By {readable(name)}", f"group-{place}", found, draw))
    for heading, name, found, draw in tables:
        rows = numbers.group_rows(found)
        left = len(found) - len(rows)
        fewer = (
            (f"Shown are the {len(rows)} groups with the most queries; {left:,} more are left out.",) if left else ()
        )
        yield Plate(
            name=name, section="where", heading=heading, along="y", caption=(TOGETHER, *fewer),
            drawing=drawing_of(
                name, lambda width, draw=draw: draw(audit, width=width),
                says=". ".join(row["said"].replace(";", ",") for row in rows) + ".",
                head=("group", "risk", "interval", "queries", "items per list"),
                rows=[
                    (row["name"], share(row["risk"]), f"{share(row['low'])} to {share(row['high'])}", f"{row['n']:,}",
                     f"{row['mean_size']:.2f}")
                    for row in rows
                ],
            ),
        )  # fmt: skip


def _groups_of(name: str) -> Any:
    def draw(audit: Audit, *, width: int) -> Any:
        return charts.groups(audit, name, width=width)

    return draw


def _costs(certificate: Certificate | Abstention, frontier: Frontier) -> Plate:
    rows = numbers.cost_rows(frontier)
    sized = len({row["limit"] for row in rows}) > 1
    own = _has(frontier, certificate)
    marked = certificate.alpha in {row["alpha"] for row in rows} and (own or not frontier.exploratory)
    declared = certificate.alpha if marked else None
    table = [
        (statements.level(point.alpha), *([row["limit"]] if sized else []), *_figures(point))
        for point, row in zip(frontier, rows, strict=True)
    ]
    says = " ".join(f"{row['said'].replace(';', ',')}." for row in rows)
    caption = [frontier.statement()]
    if frontier.exploratory and len(rows) > 1:
        caption = [f"Exploratory: {len(rows)} points, each tested at delta = {frontier.level:g} by itself. {LOOKED_AT}"]
    if frontier.exploratory and own and certificate.abstention is None:
        caption.append(f"The point at {statements.level(certificate.alpha)} was declared before. {DECLARED}")
    if not all(row["certified"] for row in rows):
        caption.append("A cross: nothing was certified there.")
    return Plate(
        name="costs", section="costs", heading="", caption=tuple(caption),
        drawing=drawing_of(
            "costs", lambda width: charts.costs(frontier, alpha=declared, width=width), says=says,
            head=("alpha", *(["size"] if sized else []), "items per list", "non-empty", "risk", "threshold"),
            rows=table,
        ),
    )  # fmt: skip


def _has(frontier: Frontier, certificate: Certificate | Abstention) -> bool:
    """Whether one of its points is what was declared, and no other calibration at the same alpha."""
    return any(_outcome(each) == _outcome(certificate) for each in frontier.certificates)


def _outcome(found: Certificate | Abstention) -> tuple[object, ...]:
    refused = found.abstention is not None
    return found.alpha, found.delta, found.n_queries, found.sets.settings(), None if refused else found.threshold


def _figures(point: Point) -> tuple[str, ...]:
    if point.mean_size is None:
        return ("nothing certified", "", "", "")
    cut = "any" if point.threshold is None else f"{point.threshold:.6g}"
    return f"{point.mean_size:.2f}", statements.percent(point.share_nonempty), share(point.risk), cut
