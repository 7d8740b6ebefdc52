"""cutline calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutline.cli import options
from cutline.cli.console import explain, noted, say, say_json, working
from cutline.cli.inputs import Inputs

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate

ABSTAINED = 3


def calibrate(
    scores: options.Scores,
    alpha: options.Alpha,
    delta: options.Delta,
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
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="CERT", help="Where the certificate goes, as JSON.")
    ] = None,
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
    """Example: cutline calibrate bm25.run --labels qrels.txt --alpha 0.3 --delta 0.1 --good-at-least 2 -o cert.json

    Find the threshold at which lists should stop: with confidence 1 - delta, the expected share of not-good items per
    list is at most alpha. Leaves with 3 where nothing was certified, or nothing but empty lists.
    """
    from cutline.calibration import calibrate as certify

    with noted() as notes:
        inputs = Inputs(
            scores=scores, labels=labels, format=format, labels_format=labels_format, predictions=predictions,
            groups=groups, vectors=vectors,
            columns=options.columns_of(query_column, item_column, score_column, label_column),
        )  # fmt: skip
        relevance = options.relevance_of(good_at_least, good_top, ties, unjudged)
        settings: dict[str, Any] = {
            "alpha": alpha,
            "delta": delta,
            "loss": options.loss_of(loss, relevance),
            "scoring": options.scoring_of(scoring, scale),
            "sets": options.sets_of(min_size, max_size, diverse, distance, strategy, vectors),
            "evidence": options.evidence_of(evidence),
            "thresholds": options.thresholds_of(thresholds),
            "sequence": options.sequence_of(sequence),
            "seed": seed,
        }
        check_settings_early(settings)
        if output is not None:
            check_output(output, inputs)
        queries = inputs.judged(vectors=diverse is not None).queries
        with working("Calibrating"):
            certificate = certify(queries, **settings)
        return _conclude(certificate, output, notes, json=json)


def check_settings_early(settings: dict[str, Any]) -> None:
    """What is wrong with levels and thresholds is said before files are read."""
    from cutline._checks import check_level
    from cutline.curve import check_thresholds

    for name in ("alpha", "delta"):
        check_level(name, settings[name])
    if settings["thresholds"] is not None and not isinstance(settings["thresholds"], str):
        check_thresholds(settings["thresholds"], loss=settings["loss"], scoring=settings["scoring"])


def check_output(output: Path, inputs: Inputs) -> None:
    """Whether a file can be written there, and is none of those that are read."""
    from cutline.io.writing import check_writable

    check_writable(output, inputs.paths)


def _conclude(certificate: Certificate | Abstention, output: Path | None, notes: list[str], *, json: bool) -> int:
    from cutline.certificate import Abstention

    empty = not isinstance(certificate, Abstention) and certificate.share_nonempty == 0
    code = ABSTAINED if isinstance(certificate, Abstention) or empty else 0
    saved = output if output is not None and not code else None
    if saved is not None:
        certificate.save(saved)
    if json:
        say_json({**certificate.to_dict(), "saved": None if saved is None else str(saved)}, notes)
        return code
    if code:
        kept = "" if output is None else f"\nNothing was written to {output}."
        reason = certificate.statement() if not empty else "Every list is empty at the certified threshold."
        return explain(f"{reason}{kept}", code)
    say(repr(certificate))
    where = f"Saved to {saved}." if saved is not None else "Not saved: name a file with -o."
    say("", f"{where} The promise in full: cutline show {saved or 'CERT'}")
    return code
