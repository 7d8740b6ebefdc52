"""What terminals of any width and any encoding are shown, and what an interrupt leaves."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.shell import shell

import cutline as cl
from cutline.cli.app import run
from cutline.cli.console import wrapped
from cutline.cli.drawing import MARKS, PLAIN, WIDTH, interval_lines, lines_of, size_lines

QUERIES, NEW = cl.datasets.simulate(800, rng=0).split(0.5, rng=0)
CERTIFICATE = cl.calibrate(QUERIES, loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.4, delta=0.1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    CERTIFICATE.save(tmp_path / "c.json")
    return tmp_path / "c.json"


def on_terminal(*arguments: object) -> tuple[str, str]:
    with contextlib.redirect_stdout(Terminal()) as out, contextlib.redirect_stderr(Terminal()) as err:
        run([str(argument) for argument in arguments])
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("columns", [44, 60, 72, 90])
def test_a_terminal_is_never_too_narrow_and_no_word_is_broken(path, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    out, _ = on_terminal("show", path)
    assert max(map(len, out.splitlines())) <= columns
    plain = shell("show", path).out
    assert max(map(len, plain.splitlines())) > 90
    statement = CERTIFICATE.statement()
    assert " ".join(out.split()).startswith(" ".join(statement.split()))
    _, err = on_terminal("show", path.parent / "none.json")
    assert max(map(len, err.splitlines())) <= max(columns, len(str(path.parent / "none.json")) + 2)
    assert " ".join(err.split()).endswith("cannot be read (No such file or directory); check the path")
    assert len(shell("show", path.parent / "none.json").err.splitlines()) == 1


def test_what_goes_on_stands_below_what_is_said():
    assert wrapped("  risk of lists      0.2848  (log evidence 2.3)", 40) == [
        "  risk of lists      0.2848  (log",
        "                     evidence 2.3)",
    ]
    assert wrapped("  - any single list, or group", 20) == ["  - any single list,", "    or group"]
    assert wrapped("a line that is short", None) == ["a line that is short"]


@pytest.mark.parametrize("width", [24, 30, 40, 59])
@pytest.mark.parametrize("marks", [MARKS, PLAIN], ids=["marks", "plain"])
def test_drawings_fit_narrow_terminals_and_lose_no_mark(width, marks):
    curve = lines_of(CERTIFICATE, marks, width)
    assert max(map(len, curve)) <= width + 20
    assert sum(line.count(marks["cut"]) for line in curve if marks["corner"] in line) == 1
    audit = cl.audit(CERTIFICATE, NEW, by="device")
    lines = interval_lines(audit, marks, width)
    assert max(map(len, lines)) <= width + 20
    groups = 1 + len(audit.strata) + len(audit.by["device"])
    assert all(marks["risk"] in line for line in lines[:groups])
    assert max(map(len, size_lines(audit, marks, width))) <= width + 20
    assert lines_of(CERTIFICATE, marks) == lines_of(CERTIFICATE, marks, WIDTH)


def test_signs_that_an_encoding_lacks_are_written_in_plain_letters(path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "cutline", "show", str(path)]
    ended = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"Keep items scoring >= " in ended.stdout
    assert b"false-discovery risk <= 0.4 with confidence 90 %" in ended.stdout
    assert b"?" not in ended.stdout
    command = [sys.executable, "-m", "cutline", "plan", "--alpha", "0.3", "--delta", "\u2026"]
    ended = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert b"'...' is not a number" in ended.stderr


def test_an_interrupt_before_there_is_a_command_leaves_no_traceback():
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'cutline.cli.app': os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from cutline.cli import main\n"
        "main(['--version'])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "cutline: interrupted\n")
