"""cutline score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutline.cli import options
from cutline.cli.console import noted, say, say_json, working
from cutline.cli.features import features_of
from cutline.errors import warn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that train wrote.")],
    features: options.Features,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="SCORES", help="Where scores go: .parquet .csv .tsv .jsonl .run, also .gz."
        ),
    ],
    format: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="The form of FEATURES, whatever its name.")
    ] = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> int:
    """Example: cutline score model new.svm -o new.parquet

    Score items with a trained ranker. Labels come along, so that calibrate can go on from there; features do not.
    """
    from cutline import rankers
    from cutline.io.writing import format_for_output, write_queries

    with noted() as notes:
        ranker = rankers.LambdaRank.load(model)
        format_for_output(output, [features])
        matrix, queries = features_of(features, format, width=ranker.n_features, groups=groups)
        _note_narrow(matrix, features)
        with working("Scoring"):
            scored = rankers.score(ranker, matrix, queries)
        with working(f"Writing {output.name}"):
            write_queries(scored, output)
        if json:
            say_json({"written": str(output), "queries": len(scored), "items": scored.n_items}, notes)
        else:
            lists = f"{len(scored):,} list{'' if len(scored) == 1 else 's'}"
            say(f"Scored {scored.n_items:,} items in {lists}. Written to {output}.")
    return 0


def _note_narrow(matrix: npt.NDArray[np.float32], path: Path) -> None:
    """LETOR leaves zeros out, so a file of fewer features cannot be told from one whose last ones are 0."""
    import numpy as np

    used = np.flatnonzero(matrix.any(axis=0))
    widest = int(used[-1]) + 1 if len(used) else 0
    if widest < matrix.shape[1]:
        warn(f"{path} has no feature beyond {widest:,}, and the model has {matrix.shape[1]:,}: the others count as 0")
