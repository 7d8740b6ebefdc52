"""cutline audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutline.cli import options
from cutline.cli.calibrate import check_output
from cutline.cli.console import noted, say, say_json, working
from cutline.cli.inputs import Inputs

ABOVE = 4


def audit(
    certificate: options.CertificateFile,
    scores: options.Scores,
    labels: options.Labels = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Risk by the values of a column of SCORES; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="JSON", help="Where the audit goes, as JSON.")
    ] = None,
    vectors: options.Vectors = None,
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
    """Example: cutline audit cert.json held_out.run --labels qrels.txt

    See what a certificate does on judged queries that calibration never saw. Leaves with 4 where the risk is above
    alpha.
    """
    from cutline._files import write_whole
    from cutline.auditing import audit as look
    from cutline.certificate import load

    with noted() as notes:
        found = load(certificate)
        inputs = Inputs(
            scores=scores, labels=labels, format=format, labels_format=labels_format, predictions=predictions,
            groups=groups, vectors=vectors,
            columns=options.columns_of(query_column, item_column, score_column, label_column),
        )  # fmt: skip
        if output is not None:
            check_output(output, Inputs(scores=certificate))
            check_output(output, inputs)
        gathered = inputs.judged(by=by or (), vectors=found.sets.needs_vectors)
        with working("Auditing"):
            verdict = look(found, gathered.queries, by=by)
        content = {**verdict.to_dict(), "statement": verdict.statement()}
        if output is not None:
            import msgspec

            write_whole(output, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
        if json:
            say_json({**content, "saved": None if output is None else str(output)}, notes)
        else:
            say(repr(verdict))
            if output is not None:
                say("", f"Saved to {output}.")
    return ABOVE if verdict.verdict == "above" else 0
