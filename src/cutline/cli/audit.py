"""cutline audit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutline.cli import options
from cutline.cli.console import as_json, noted, say, say_json, working
from cutline.cli.flags import JudgedFiles, check_output
from cutline.cli.inputs import certificate_of
from cutline.cli.reporting import Reported

if TYPE_CHECKING:
    from cutline.auditing import Audit

ABOVE = 4


def audit(
    certificate: options.CertificateFile,
    files: JudgedFiles,
    reported: Reported,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Risk by the values of a column of SCORES; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="JSON", help="Where the audit goes, as JSON.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Example: cutline audit cert.json held_out.run --labels qrels.txt

    See what a certificate does on judged queries that calibration never saw. Leaves with 4 where the risk is above
    alpha.
    """
    from cutline._files import write_whole
    from cutline.auditing import audit as look

    with noted() as notes:
        found, inputs = certificate_of(certificate, files.scores), files.inputs()
        if output is not None:
            check_output(output, inputs, certificate)
        reported.check(inputs, certificate, output)
        if inputs.in_chunks:
            from cutline.cli import streams

            gathered, (verdict, told) = None, streams.audited(inputs, found, by or ())
        else:
            columns = list(dict.fromkeys([*(by or ()), *reported.columns]))
            gathered = inputs.judged(by=columns, vectors=found.sets.needs_vectors)
            with working("Auditing"):
                verdict = look(found, gathered.queries, by=by)
            told = inputs.told(gathered)
        drawn = reported.page(found, gathered, audit=verdict)
        content = {**verdict.to_dict(), "statement": verdict.statement()}
        if output is not None:
            write_whole(output, as_json(content))
        where = reported.write(drawn)
        if json:
            saved = None if output is None else str(output)
            say_json({**content, "saved": saved, **reported.as_json(), "read": told}, notes)
        else:
            say(
                repr(verdict),
                *_drawing(verdict),
                "",
                told,
                *([] if output is None else [f"Saved to {output}."]),
                *where,
            )
    return ABOVE if verdict.verdict == "above" else 0


def _drawing(verdict: Audit) -> list[Any]:
    """On a terminal, a picture; whatever reads a pipe has the figures."""
    from cutline.cli.drawing import of_audit

    return ["", of_audit(verdict)] if sys.stdout.isatty() else []
