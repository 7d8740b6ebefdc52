"""cutline train."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cutline.cli import options
from cutline.cli.console import epochs_shown, noted, say, say_json
from cutline.cli.features import features_of
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.rankers import LambdaRank


def _how(flag: str, metavar: str, help: str, parser: Any = None) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, parser=parser, rich_help_panel="How it is trained")


Output = Annotated[Path, typer.Option("-o", "--output", metavar="MODEL", help="The folder that the model goes to.")]
Model = Annotated[Literal["lambdarank"], typer.Option("--model", help="The kind of ranker.")]
Hidden = Annotated[str, _how("--hidden", "SIZES", "Sizes of the hidden layers, as 16,8.")]
Epochs = Annotated[int, _how("--epochs", "N", "At most so many passes.", options.whole)]
Step = Annotated[float, _how("--lr", "STEP", "The step of Adam.", options.number)]
BatchQueries = Annotated[int, _how("--batch-queries", "N", "Queries of one step.", options.whole)]
Truncation = Annotated[int | None, _how("--truncation", "K", "Only NDCG of the first K places counts.", options.whole)]
Validation = Annotated[float, _how("--validation", "SHARE", "Queries that tell when to stop.", options.number)]
Patience = Annotated[int, _how("--patience", "N", "Epochs without a gain before it stops.", options.whole)]
Seed = Annotated[int, _how("--seed", "SEED", "Of first weights and orders.", options.whole)]
Width = Annotated[
    int | None,
    typer.Option(
        "--n-features", metavar="N", parser=options.whole, help="How many features LETOR lines have, at the most."
    ),
]
Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="The form of FEATURES, whatever its name.")
]


def train(
    features: options.Features,
    output: Output,
    model: Model = "lambdarank",
    hidden: Hidden = "16,8",
    epochs: Epochs = 100,
    lr: Step = 0.001,
    batch_queries: BatchQueries = 32,
    truncation: Truncation = None,
    validation: Validation = 0.1,
    patience: Patience = 10,
    seed: Seed = 0,
    format: Format = None,
    groups: options.Groups = None,
    n_features: Width = None,
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
        matrix, queries = features_of(features, format, width=n_features, groups=groups)
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
