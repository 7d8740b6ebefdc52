"""cutline plan."""

from __future__ import annotations

from typing import Annotated

import typer

from cutline.cli import options
from cutline.cli.console import noted, say, say_json, working


def plan(
    alpha: options.Alpha,
    delta: options.Delta,
    expected_risk: Annotated[
        float,
        typer.Option(
            "--expected-risk",
            metavar="RISK",
            parser=options.number,
            help="The risk you expect at the threshold you hope for.",
        ),
    ],
    spread: Annotated[
        float | None,
        typer.Option(
            "--spread",
            metavar="SD",
            parser=options.number,
            help="Standard deviation of one query's loss; by default the largest.",
        ),
    ] = None,
    power: Annotated[
        float,
        typer.Option(
            "--power", metavar="CHANCE", parser=options.number, help="The chance of certifying that you want."
        ),
    ] = 0.8,
    evidence: Annotated[
        options.EvidenceName | None, typer.Option("--evidence", help="One test; by default all of them.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Example: cutline plan --alpha 0.3 --delta 0.1 --expected-risk 0.25

    About how many judged queries it takes to certify alpha, by each test.
    """
    from cutline.planning import queries_needed

    with noted() as notes:
        chosen = None if evidence is None else options.evidence_of(evidence)
        with working("Working it out"):
            found = queries_needed(
                alpha=alpha, delta=delta, expected_risk=expected_risk, spread=spread, power=power, evidence=chosen
            )
        if json:
            say_json(found.to_dict(), notes)
        else:
            say(repr(found))
    return 0
