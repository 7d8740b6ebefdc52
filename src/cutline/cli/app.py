"""The commands, and what becomes of errors: one line on stderr, never a traceback."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from cutline._version import __version__
from cutline.cli import apply, audit, calibrate, demo, frontier, paper, plan, score, show, train
from cutline.cli.console import complain, to_nowhere
from cutline.cli.flags import with_groups
from cutline.errors import CutlineError

BAD_INPUT, INTERRUPTED = 2, 130


def _paragraphs(function: Callable[..., Any]) -> str:
    """The docstring with one line a paragraph, for whoever prints it to wrap."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


app = typer.Typer(
    name="cutline",
    help="Where should a ranked list stop? Cut lists at a score threshold that carries a finite-sample guarantee.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: cutline calibrate scores.parquet --alpha 0.3 --delta 0.1 --good-at-least 3 -o cert.json",
)
for name, function, summary in (
    ("calibrate", calibrate.calibrate, "Find the threshold: scores and judgments in, a certificate out."),
    ("apply", apply.apply, "Cut lists with a certificate."),
    ("audit", audit.audit, "See what a certificate does on queries that were held out."),
    ("show", show.show, "Print what a certificate promises, and what it does not."),
    ("frontier", frontier.frontier, "See what several levels of alpha would cost in list length."),
    ("plan", plan.plan, "How many judged queries it takes."),
    ("train", train.train, "Train a ranker on judged queries with features."),
    ("score", score.score, "Score items with a trained ranker."),
    ("demo", demo.demo, "From a ranker to cut, audited and diverse lists, on films."),
    ("paper", paper.paper, "Rerun the experiments of the paper."),
):
    app.command(name, short_help=summary, help=_paragraphs(function))(with_groups(function))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cutline {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def _usage(problem: typer.TyperException) -> str:
    """What is wrong with the words of a command, and where they are explained."""
    said = problem.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(problem, "ctx", None)
    return f"{said}; see {context.command_path} --help" if context is not None else said


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=given, prog_name="cutline", standalone_mode=False)
    except typer.TyperException as problem:
        said = problem.format_message()  # none where help was printed, as there were no arguments
        return complain(_usage(problem), BAD_INPUT) if said else BAD_INPUT
    except CutlineError as problem:
        return complain(str(problem), BAD_INPUT)
    except (typer.Abort, KeyboardInterrupt):
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        to_nowhere()
        return 0
    except OSError as problem:  # files have their own messages: this is stdout
        return complain(f"the output cannot be written ({problem.strerror})", BAD_INPUT)
    if code == INTERRUPTED:  # Typer makes this of a KeyboardInterrupt, and says nothing
        return complain("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0
