"""Commands on files that are read in chunks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutline._columns import Wording
from cutline.cli.console import working
from cutline.cli.inputs import Inputs, reading_told
from cutline.errors import InputError
from cutline.streaming.stream import MEMORY, Stream, opened

if TYPE_CHECKING:
    from cutline.auditing import Audit
    from cutline.certificate import Abstention, Certificate
    from cutline.io.formats import Format
    from cutline.streaming.applying import Cut
    from cutline.streaming.lots import Reader


def calibrated(inputs: Inputs, settings: dict[str, Any], sample: int) -> tuple[Certificate | Abstention, str]:
    """The certificate, and what was read."""
    from cutline.streaming.calibrating import Terms, calibrate_stream

    with _opened(inputs, judged=True, vectors=settings["sets"].needs_vectors) as (stream, reader):
        with working(f"Calibrating on {stream.name}"):
            found = calibrate_stream(stream, Terms(**settings, most=sample), reader)
        return found.certificate, _told(stream, found.judged)


def applied(
    inputs: Inputs, certificate: Certificate | Abstention, output: Path, form: Format, *, keep_all: bool
) -> tuple[Cut, str]:
    """How many lists and items there were, and what was read."""
    from cutline.streaming.applying import apply_stream

    with _opened(inputs, judged=False, vectors=certificate.sets.needs_vectors, keep=None) as (stream, reader):
        with working(f"Cutting the lists of {stream.name}"):
            cut = apply_stream(stream, certificate, reader, output, form, keep_all=keep_all)
        return cut, _told(stream, None)


def audited(inputs: Inputs, certificate: Certificate | Abstention, by: Sequence[str]) -> tuple[Audit, str]:
    """The verdict, and what was read."""
    from cutline.streaming.verdicts import audit_stream

    with _opened(inputs, judged=True, vectors=certificate.sets.needs_vectors, keep=by) as (stream, reader):
        with working(f"Auditing on {stream.name}"):
            found = audit_stream(stream, certificate, reader, by=by)
        return found.audit, _told(stream, found.judged)


@contextmanager
def _opened(
    inputs: Inputs, *, judged: bool, vectors: bool, keep: Sequence[str] | None = ()
) -> Generator[tuple[Stream, Reader]]:
    """The stream of the scores, and how its chunks become queries."""
    from cutline.streaming.judgments import Judgments
    from cutline.streaming.lots import Reader

    table = inputs.vectors_of(wanted=vectors)
    column = {"vector": inputs.vectors} if table is True and inputs.vectors is not None else {}
    roles = ["query_id", "item_id", "score", *(["label"] if judged and inputs.labels is None else [])]
    roles += ["vector"] if table is True else []
    told = {**inputs.columns, **column}
    judgments = None if inputs.labels is None or not judged else Judgments(inputs.judgments(inputs.labels))
    with opened(
        inputs.scores, columns=told, format=inputs.format, roles=roles, keep=keep,
        memory=MEMORY if inputs.memory is None else inputs.memory, wording=Wording(str(inputs.scores), flags=True),
    ) as stream:  # fmt: skip
        if judged and judgments is None and "label" not in stream.roles:
            raise InputError(f"{stream.name} has no labels; name a file of judgments with --labels QRELS")
        columns = keep if judged and keep else ()
        reader = Reader(
            roles=stream.roles, form=stream.form.name, judgments=judgments, vectors=table, columns=columns
        )  # fmt: skip
        yield stream, reader


def _told(stream: Stream, judged: float | None) -> str:
    return reading_told(stream.name, stream.form.name, stream.roles, judged, how=" in chunks")
