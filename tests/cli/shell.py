"""Commands as a shell runs them: exit code, what went to stdout, what went to stderr."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from cutline.cli.app import run


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def shell(*arguments: object) -> Ended:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Ended(code, out.getvalue(), err.getvalue())


def refused(ended: Ended, *words: str, folder: Path | None = None, had: set[str] | None = None) -> bool:
    """Whether a command ended with 2 and one line on stderr that holds these words; and left no new file."""
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.startswith("cutline: ")
    lines = [line for line in ended.err.splitlines() if not line.startswith("cutline: note:")]
    assert len(lines) == 1, ended.err
    for word in words:
        assert word in lines[0], (word, lines[0])
    if folder is not None:
        assert names_in(folder) == (had or set())
    return True
