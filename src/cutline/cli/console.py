"""Where commands write: answers to stdout, notes and progress to stderr, errors as one line."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

from cutline.cli.encoding import PLAINLY
from cutline.cli.wording import as_flags
from cutline.errors import CutlineWarning

if TYPE_CHECKING:
    from cutline.rankers import Epoch

Progress = Callable[[int], None]
USUAL = 80  # columns of a terminal that does not say how many it has
_HEAD = re.compile(r" *- | {2,}(?=\S)(?:\S+ )*\S+ {2,}| +")
PIPED = 100  # columns where no terminal says how many it has


def complain(message: str, code: int) -> int:
    """One line on stderr, and the exit code."""
    _to_stderr(f"cutline: {as_flags(' '.join(message.split()))}")
    return code


def explain(text: str, code: int) -> int:
    """Reasons on stderr, as many lines as they take, and the exit code."""
    for line in as_flags(text).split("\n"):
        _to_stderr(line)
    return code


def _to_stderr(line: str) -> None:
    from cutline.io.sheets import visible

    encoding = sys.stderr.encoding or "utf-8"
    said = visible(line).encode(encoding, PLAINLY).decode(encoding)
    sys.stderr.write("\n".join(wrapped(said, width_of(sys.stderr))) + "\n")


@contextmanager
def noted() -> Generator[list[str]]:
    """Warnings of cutline as lines on stderr, and in a list for JSON. Those of other libraries stay unsaid."""
    notes: list[str] = []

    def keep(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, CutlineWarning):
            notes.append(as_flags(str(message)))
            _to_stderr(f"cutline: note: {notes[-1]}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CutlineWarning)
        warnings.showwarning = keep
        yield notes


def say(*parts: Any) -> None:
    """Text or what rich can draw, to stdout."""
    from cutline.io.sheets import visible

    console = _console()
    for part in parts:
        if isinstance(part, str):
            width = width_of(sys.stdout)
            lines = [short for line in as_flags(part).split("\n") for short in wrapped(visible(line), width)]
            console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        else:
            console.print(part)


def width_of(stream: TextIO) -> int | None:
    """How many columns a terminal has; None for what is none."""
    if not stream.isatty():
        return None
    try:
        said = int(os.environ.get("COLUMNS", "0"))
        return said if said > 0 else os.get_terminal_size(stream.fileno()).columns or USUAL
    except (OSError, ValueError):
        return USUAL


def wrapped(line: str, width: int | None) -> list[str]:
    """A line as several that break between words; what goes on stands below what is said, not below its name."""
    if width is None or len(line) <= width:
        return [line]
    head = _HEAD.match(line)
    room = len(head[0]) if head is not None else 0
    later = " " * (room if room <= width * 3 // 5 else 2)
    return wrap(
        line, width, subsequent_indent=later, expand_tabs=False, replace_whitespace=False, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _console() -> Any:
    from rich.console import Console

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            """Whoever read the output has seen enough: the command goes on, and keeps its exit code."""
            to_nowhere()

    return Stdout() if sys.stdout.isatty() else Stdout(width=PIPED)


def to_nowhere() -> None:
    """From here on stdout goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(answer: Mapping[str, Any], notes: list[str]) -> None:
    """One JSON object, with the notes that went to stderr."""
    try:
        sys.stdout.write(as_json({**answer, "notes": notes}))
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere()


def as_json(answer: Mapping[str, Any]) -> str:
    """Indented JSON, with a line end."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n"


@contextmanager
def progress_of(path: Path) -> Generator[Progress | None]:
    """A bar on a terminal while a file is read."""
    if not sys.stderr.isatty() or not path.is_file():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(f"Reading {path.name}", total=path.stat().st_size)
        yield lambda count: bars.advance(task, count)


@contextmanager
def epochs_shown(most: int) -> Generator[Callable[[Epoch], None] | None]:
    """A bar on a terminal, epoch by epoch, with what each has reached."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("Training", total=most)
        yield lambda epoch: bars.update(task, completed=epoch.number, description=repr(epoch))


@contextmanager
def working(what: str) -> Generator[None]:
    """A moving line on a terminal while something takes its time."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
