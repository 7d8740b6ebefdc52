"""The command line: parse, call, print. What the commands do is done by the rooms below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code: 0 done, 2 bad usage or input, 3 abstained, 4 risk above alpha."""
    import io
    import os
    import sys

    from cutline.cli.encoding import PLAINLY

    if sys.stdout is None or sys.stderr is None:  # closed by the shell
        nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAINLY)  # a terminal that knows no ≥ shows >=
    try:
        from cutline.cli.app import run

        code = run(arguments)
    except KeyboardInterrupt:  # before there was a command
        sys.stderr.write("cutline: interrupted\n")
        code = 130
    sys.exit(code)
