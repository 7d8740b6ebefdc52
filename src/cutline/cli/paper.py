"""cutline paper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cutline.cli import options
from cutline.cli.console import noted, say, say_json

if TYPE_CHECKING:
    from cutline.paper import Reproduction

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help="teaser, yahoo, msmarco, diversity-alpha, diversity-example, diversity-size, diversity-risk, tests; all "
        "of them where none is named.",
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder that figures and paper.html go to.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="PATH", help="A folder with the files of Yahoo or MS MARCO, as they are published."),
]
SizeFlag = Annotated[Literal["small", "full"], typer.Option("--size", help="How many queries: a look, or the paper's.")]
Repeats = Annotated[
    int, typer.Option("--repeats", metavar="N", help="Splits of each experiment.", parser=options.whole)
]
Seed = Annotated[int, typer.Option("--seed", metavar="SEED", help="Of draws and splits.", parser=options.whole)]


def paper(
    out: Out,
    experiments: Names = None,
    data: Data = None,
    size: SizeFlag = "full",
    repeats: Repeats = 100,
    seed: Seed = 0,
    json: options.Json = False,
) -> int:
    """Example: cutline paper diversity-example --out figures --size small --repeats 10

    Rerun the experiments of the paper, arXiv 2207.01609: figures as SVG, PNG and parquet, and one page that sets each
    beside what the paper claims.
    """
    from cutline.paper import reproduce

    with noted() as notes:
        with _steps_shown() as progress:
            found = reproduce(
                experiments or (), out=out, data=data, size=size, repeats=repeats, seed=seed, progress=progress
            )
        _tell(found, notes, json=json)
    return 0


@contextmanager
def _steps_shown() -> Generator[Callable[[str, int, int], None] | None]:
    """A line on a terminal: how many figures are done, and what is being done."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
    from rich.table import Column

    steps = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
    columns = (SpinnerColumn(), MofNCompleteColumn(), steps)
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step, done, total: bars.update(task, completed=done, total=total, description=step)


def _tell(found: Reproduction, notes: list[str], *, json: bool) -> None:
    if json:
        figures = [
            {"experiment": each.experiment, "on": each.figure.label, "figure": each.figure.name,
             "found": each.figure.found}
            for each in found.shown
        ]  # fmt: skip
        say_json({"page": str(found.page), "figures": figures, "missing": list(found.missing)}, notes)
        return
    for each in found.shown:
        say(f"{each.figure.name}: {each.figure.found}", "")
    for reason in found.missing:
        say(f"Left out: {reason}", "")
    say(f"{len(found.shown)} figures. Open {found.page}")
