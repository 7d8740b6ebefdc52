"""cutline audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutline.cli import options
from cutline.cli.console import as_json, noted, say, say_json, working
from cutline.cli.flags import JudgedFiles, check_output

ABOVE = 4


def audit(
    certificate: options.CertificateFile,
    files: JudgedFiles,
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
    from cutline.certificate import load

    with noted() as notes:
        found, inputs = load(certificate), files.inputs()
        if output is not None:
            check_output(output, inputs, certificate)
        if inputs.in_chunks:
            from cutline.cli import streams

            verdict, told = streams.audited(inputs, found, by or ())
        else:
            gathered = inputs.judged(by=by or (), vectors=found.sets.needs_vectors)
            with working("Auditing"):
                verdict = look(found, gathered.queries, by=by)
            told = inputs.told(gathered)
        content = {**verdict.to_dict(), "statement": verdict.statement()}
        if output is not None:
            write_whole(output, as_json(content))
        if json:
            say_json({**content, "saved": None if output is None else str(output), "read": told}, notes)
        else:
            say(repr(verdict), "", told, *([] if output is None else [f"Saved to {output}."]))
    return ABOVE if verdict.verdict == "above" else 0
