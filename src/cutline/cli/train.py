"""cutline train."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cutline.cli import options
from cutline.cli.console import epochs_shown, noted, say, say_json
from cutline.cli.features import features_of
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.rankers import LambdaRank

_HOW = "How it is trained"


def train(
    features: options.Features,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="MODEL", help="The folder that the model goes to.")],
    model: Annotated[Literal["lambdarank"], typer.Option("--model", help="The kind of ranker.")] = "lambdarank",
    hidden: Annotated[
        str,
        typer.Option("--hidden", metavar="SIZES", help="Sizes of the hidden layers, as 16,8.", rich_help_panel=_HOW),
    ] = "16,8",
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs", metavar="N", parser=options.whole, help="At most so many passes.", rich_help_panel=_HOW
        ),
    ] = 100,
    lr: Annotated[
        float,
        typer.Option("--lr", metavar="STEP", parser=options.number, help="The step of Adam.", rich_help_panel=_HOW),
    ] = 0.001,
    batch_queries: Annotated[
        int,
        typer.Option(
            "--batch-queries", metavar="N", parser=options.whole, help="Queries of one step.", rich_help_panel=_HOW
        ),
    ] = 32,
    truncation: Annotated[
        int | None,
        typer.Option(
            "--truncation",
            metavar="K",
            parser=options.whole,
            help="Only NDCG of the first K places counts.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    validation: Annotated[
        float,
        typer.Option(
            "--validation",
            metavar="SHARE",
            parser=options.number,
            help="Queries that tell when to stop.",
            rich_help_panel=_HOW,
        ),
    ] = 0.1,
    patience: Annotated[
        int,
        typer.Option(
            "--patience",
            metavar="N",
            parser=options.whole,
            help="Epochs without a gain before it stops.",
            rich_help_panel=_HOW,
        ),
    ] = 10,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="SEED", parser=options.whole, help="Of first weights and orders.", rich_help_panel=_HOW
        ),
    ] = 0,
    format: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="The form of FEATURES, whatever its name.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Example: cutline train train.svm --model lambdarank -o model

    Train a ranker on judged queries with features. Certify on other queries: those that it was trained on look better
    than new ones will.
    """
    from cutline.rankers import LambdaRank
    from cutline.rankers.storing import check_writable

    with noted() as notes:
        sizes = _sizes(hidden)
        check_writable(output)
        matrix, queries = features_of(features, format)
        with epochs_shown(epochs) as progress:
            found = LambdaRank.train(
                matrix, queries, hidden=sizes, epochs=epochs, lr=lr, batch_queries=batch_queries,
                truncation=truncation, validation=validation, patience=patience, seed=seed, progress=progress,
            )  # fmt: skip
        found.save(output)
        _tell(found, output, len(queries), notes, json=json)
    return 0


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise InputError(f"--hidden must be whole numbers between commas, as 16,8, got {text!r}") from None


def _tell(model: LambdaRank, output: Path, n_queries: int, notes: list[str], *, json: bool) -> None:
    if json:
        figures = {"queries": n_queries, "layers": list(model.network.sizes), "ndcg": model.ndcg}
        say_json({"saved": str(output), **figures, "epochs": len(model.history), "best": model.best}, notes)
        return
    say(repr(model), "", f"Saved to {output}. Score with it: cutline score {output} FEATURES -o SCORES")
