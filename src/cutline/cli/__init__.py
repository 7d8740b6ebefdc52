"""The command line: parse, call, print. What the commands do is done by the rooms below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code: 0 done, 2 bad usage or input, 3 abstained, 4 risk above alpha."""
    import io
    import os
    import sys

    if sys.stdout is None or sys.stderr is None:  # closed by the shell
        nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ≥ shows a question mark
    from cutline.cli.app import run

    sys.exit(run(arguments))
