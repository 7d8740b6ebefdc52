"""cutline frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutline.cli import options
from cutline.cli.calibrate import ABSTAINED
from cutline.cli.console import noted, say, say_json, working
from cutline.cli.flags import JudgedFiles, Promise, check_levels
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.frontiers import Frontier


def frontier(
    files: JudgedFiles,
    alphas: Annotated[
        str, typer.Option("--alphas", metavar="LEVELS", help="The levels to try, declared now, as 0.1,0.2,0.3.")
    ],
    delta: options.Delta,
    promise: Promise,
    max_sizes: Annotated[
        str | None, typer.Option("--max-sizes", metavar="SIZES", help="Largest sizes to try too, as 3,5,10.")
    ] = None,
    exploratory: Annotated[
        bool, typer.Option("--exploratory", help="Spend delta on each level: a look around that promises nothing.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Example: cutline frontier bm25.run --labels qrels.txt --alphas 0.2,0.3,0.4 --delta 0.1 --good-at-least 2

    See what several levels of alpha would cost in list length. All hold together with confidence 1 - delta, so that
    one of them may be chosen afterwards.
    """
    from cutline.frontiers import frontier as explore

    with noted() as notes:
        settings: dict[str, Any] = {
            "alphas": options.numbers_of("--alphas", alphas),
            "max_sizes": None if max_sizes is None else options.numbers_of("--max-sizes", max_sizes),
            "delta": delta,
            "exploratory": exploratory,
            **promise.settings(files.vectors),
        }
        check_levels(alphas=settings["alphas"], delta=delta)
        if max_sizes is not None and promise.max_size is not None:
            raise InputError("--max-sizes says how long lists may be; leave --max-size out")
        queries = files.inputs().judged(vectors=promise.diverse is not None).queries
        with working("Calibrating"):
            found = explore(queries, **settings)
        if json:
            say_json({**found.to_dict(), "statement": found.statement()}, notes)
        else:
            say(_table(found), "", found.statement())
    return 0 if any(point.mean_size is not None for point in found) else ABSTAINED


def _table(found: Frontier) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    sized = any(point.max_size is not None for point in found)
    diverse = any(point.share_modified is not None for point in found)
    more = ["modified", "diversity"] if diverse else []
    for name in ("alpha", *(["max size"] if sized else []), "threshold", "mean size", "non-empty", "risk here", *more):
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    for point in found:
        row = [f"{point.alpha:g}", *([f"{point.max_size or 'any'}"] if sized else [])]
        if point.mean_size is None or point.share_nonempty is None or point.risk is None:
            table.add_row(*row, "none", "", "", "", *("" for _ in more))
            continue
        threshold = "any" if point.threshold is None else f"{point.threshold:.6g}"
        figures = [f"{point.mean_size:.2f}", f"{100 * point.share_nonempty:.1f} %", f"{point.risk:.4f}"]
        if diverse:
            figures.append("" if point.share_modified is None else f"{100 * point.share_modified:.1f} %")
            figures.append("" if point.diversity is None else f"{100 * point.diversity:+.1f} %")
        table.add_row(*row, threshold, *figures)
    return table
