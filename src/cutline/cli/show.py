"""cutline show."""

from __future__ import annotations

from cutline.cli import options
from cutline.cli.console import noted, say, say_json


def show(certificate: options.CertificateFile, json: options.Json = False) -> int:
    """Example: cutline show cert.json

    Print what a certificate promises, what it does not promise, its numbers, and a small drawing of its risk curve.
    """
    from cutline.certificate import load
    from cutline.cli.drawing import risk_curve

    with noted() as notes:
        found = load(certificate)
        if json:
            say_json({**found.to_dict(), "statement": found.statement()}, notes)
        else:
            say(found.statement(), "", repr(found), "", risk_curve(found))
    return 0
