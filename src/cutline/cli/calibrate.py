"""cutline calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutline.cli import options
from cutline.cli.console import explain, noted, say, say_json, working
from cutline.cli.flags import JudgedFiles, Promise, check_levels, check_output
from cutline.cli.on_spark import calibrate_on_spark, check_engine
from cutline.cli.reporting import Reported

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate

ABSTAINED = 3


def calibrate(
    files: JudgedFiles,
    alpha: options.Alpha,
    delta: options.Delta,
    promise: Promise,
    reported: Reported,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="CERT", help="Where the certificate goes, as JSON.")
    ] = None,
    sample: options.Sample = 200_000,
    engine: options.EngineFlag = "local",
    master: options.Master = None,
    json: options.Json = False,
) -> int:
    """Example: cutline calibrate bm25.run --labels qrels.txt --alpha 0.3 --delta 0.1 --good-at-least 2 -o cert.json

    Find the threshold at which lists should stop: with confidence 1 - delta, the expected share of not-good items per
    list is at most alpha. Leaves with 3 where nothing was certified, or nothing but empty lists.
    """
    from cutline.calibration import calibrate as certify

    with noted() as notes:
        check_engine(engine, master)
        inputs = files.inputs()
        settings: dict[str, Any] = {"alpha": alpha, "delta": delta, **promise.settings(files.vectors)}
        check_levels(alpha=[alpha], delta=delta)
        if output is not None:
            check_output(output, inputs)
        reported.check(inputs, output)
        if engine == "spark":
            gathered = None
            certificate, told = calibrate_on_spark(inputs, master, {**settings, "most_queries": sample})
        elif inputs.in_chunks:
            from cutline.cli import streams

            gathered, (certificate, told) = None, streams.calibrated(inputs, settings, sample)
        else:
            gathered = inputs.judged(by=reported.columns, vectors=promise.diverse is not None)
            with working("Calibrating"):
                certificate = certify(gathered.queries, **settings, most_queries=sample)
            told = inputs.told(gathered)
        drawn = reported.page(certificate, gathered)
        return _conclude(certificate, output, reported, drawn, notes, told, json=json)


def _conclude(
    certificate: Certificate | Abstention,
    output: Path | None,
    reported: Reported,
    drawn: str | None,
    notes: list[str],
    told: str,
    *,
    json: bool,
) -> int:
    from cutline.certificate import Abstention

    empty = not isinstance(certificate, Abstention) and certificate.share_nonempty == 0
    code = ABSTAINED if isinstance(certificate, Abstention) or empty else 0
    saved = output if output is not None and not code else None
    if saved is not None:
        certificate.save(saved)
    where = reported.write(drawn)
    if json:
        paths = {"saved": None if saved is None else str(saved), **reported.as_json()}
        say_json({**certificate.to_dict(), **paths, "read": told}, notes)
        return code
    if code:
        kept = "" if output is None else f"\nNothing was written to {output}."
        reason = certificate.statement() if not empty else "Every list is empty at the certified threshold."
        return explain("\n".join([f"{reason}{kept}", *where]), code)
    say(repr(certificate))
    kept = f"Saved to {saved}." if saved is not None else "Not saved: name a file with -o."
    say("", told, f"{kept} The promise in full: cutline show {saved or 'CERT'}", *where)
    return code
