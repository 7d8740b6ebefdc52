"""cutline frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutline.cli import options
from cutline.cli.console import noted, say, say_json, working
from cutline.cli.inputs import Inputs

if TYPE_CHECKING:
    from cutline.frontiers import Frontier


def frontier(
    scores: options.Scores,
    alphas: Annotated[
        str, typer.Option("--alphas", metavar="LEVELS", help="The levels to try, declared now, as 0.1,0.2,0.3.")
    ],
    delta: options.Delta,
    exploratory: Annotated[
        bool, typer.Option("--exploratory", help="Spend delta on each level: a look around that promises nothing.")
    ] = False,
    max_sizes: Annotated[
        str | None, typer.Option("--max-sizes", metavar="SIZES", help="Largest sizes to try too, as 3,5,10.")
    ] = None,
    labels: options.Labels = None,
    good_at_least: options.GoodAtLeast = None,
    good_top: options.GoodTop = None,
    ties: options.TiesFlag = "strict",
    unjudged: options.UnjudgedFlag = "bad",
    loss: options.LossFlag = "false-discovery",
    scoring: options.ScoringFlag = "as-given",
    scale: options.Scale = 1.0,
    min_size: options.MinSize = 0,
    max_size: options.MaxSize = None,
    diverse: options.Diverse = None,
    vectors: options.Vectors = None,
    distance: options.DistanceFlag = "euclidean",
    strategy: options.StrategyFlag = "eliminate",
    evidence: options.EvidenceFlag = "betting",
    thresholds: options.Thresholds = None,
    sequence: options.SequenceFlag = "fixed",
    seed: options.Seed = 0,
    format: options.Format = None,
    labels_format: options.LabelsFormat = None,
    query_column: options.QueryColumn = None,
    item_column: options.ItemColumn = None,
    score_column: options.ScoreColumn = None,
    label_column: options.LabelColumn = None,
    predictions: options.Predictions = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> int:
    """Example: cutline frontier bm25.run --labels qrels.txt --alphas 0.2,0.3,0.4 --delta 0.1 --good-at-least 2

    See what several levels of alpha would cost in list length. All hold together with confidence 1 - delta, so that
    one of them may be chosen afterwards.
    """
    from cutline.frontiers import frontier as explore

    with noted() as notes:
        inputs = Inputs(
            scores=scores, labels=labels, format=format, labels_format=labels_format, predictions=predictions,
            groups=groups, vectors=vectors,
            columns=options.columns_of(query_column, item_column, score_column, label_column),
        )  # fmt: skip
        relevance = options.relevance_of(good_at_least, good_top, ties, unjudged)
        sizes = None if max_sizes is None else options.numbers_of("--max-sizes", max_sizes)
        settings: dict[str, Any] = {
            "alphas": options.numbers_of("--alphas", alphas),
            "max_sizes": sizes,
            "delta": delta,
            "exploratory": exploratory,
            "loss": options.loss_of(loss, relevance),
            "scoring": options.scoring_of(scoring, scale),
            "sets": options.sets_of(min_size, max_size, diverse, distance, strategy, vectors),
            "evidence": options.evidence_of(evidence),
            "thresholds": options.thresholds_of(thresholds),
            "sequence": options.sequence_of(sequence),
            "seed": seed,
        }
        queries = inputs.judged(vectors=diverse is not None).queries
        with working("Calibrating"):
            found = explore(queries, **settings)
        if json:
            say_json({**found.to_dict(), "statement": found.statement()}, notes)
        else:
            say(_table(found), "", found.statement())
    return 0


def _table(found: Frontier) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    sized = any(point.max_size is not None for point in found)
    diverse = any(point.share_modified is not None for point in found)
    more = ["modified", "diversity"] if diverse else []
    for name in ("alpha", *(["max size"] if sized else []), "threshold", "mean size", "non-empty", "risk here", *more):
        table.add_column(name, justify="right")
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
