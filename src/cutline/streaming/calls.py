"""The calls of Python on files of any size: what `calibrate`, `audit` and a certificate's `apply` do, on a path."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy.typing as npt

from cutline._checks import check_whole
from cutline.auditing import Audit, names_of
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.evidence import Evidence
from cutline.io.reading import checked_columns, read_judgments
from cutline.io.writing import format_for_output
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.searching import MOST_BET
from cutline.sequence import FixedSequence, TestingOrder
from cutline.sets import SetRule, Threshold
from cutline.streaming.applying import Cut, apply_stream
from cutline.streaming.calibrating import Terms, calibrate_stream, curve_of_stream
from cutline.streaming.files import files_of
from cutline.streaming.judgments import Judgments
from cutline.streaming.lots import Reader
from cutline.streaming.stream import MEMORY, Stream, opened
from cutline.streaming.verdicts import audit_stream

File = str | PathLike[str]
LEAST = 1 << 20


def calibrate(
    path: File,
    *,
    alpha: float,
    delta: float,
    loss: Loss,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
    labels: File | None = None,
    columns: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> Certificate | Abstention:
    """The certificate that `cl.calibrate` gives for all queries of a file, a folder or a pattern."""
    terms = Terms(
        alpha=alpha, delta=delta, loss=loss, scoring=AsGiven() if scoring is None else scoring,
        sets=Threshold() if sets is None else sets, evidence=evidence, thresholds=thresholds,
        sequence=FixedSequence() if sequence is None else sequence, seed=seed, most=most_queries,
    )  # fmt: skip
    with _read(path, labels, columns, memory, vectors=terms.sets.needs_vectors) as (stream, reader):
        return calibrate_stream(stream, terms, reader).certificate


def risk_curve(
    path: File,
    *,
    loss: Loss,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    thresholds: npt.ArrayLike | None = None,
    labels: File | None = None,
    columns: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> RiskCurve:
    """The curve of all queries of a file, a folder or a pattern."""
    empty = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
    with _read(path, labels, columns, memory, vectors=empty.sets.needs_vectors) as (stream, reader):
        return curve_of_stream(stream, reader, empty)


def audit(
    certificate: Certificate | Abstention,
    path: File,
    *,
    by: str | Sequence[str] | None = None,
    labels: File | None = None,
    columns: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> Audit:
    """The verdict that `cl.audit` gives on all queries of a file, a folder or a pattern."""
    names, vectors = names_of(by), certificate.sets.needs_vectors
    with _read(path, labels, columns, memory, vectors=vectors, keep=names) as (stream, reader):
        return audit_stream(stream, certificate, reader, by=names).audit


def apply(
    certificate: Certificate | Abstention,
    path: File,
    output: File,
    *,
    keep_all: bool = False,
    columns: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> Cut:
    """Cut the lists of a file, a folder or a pattern, and write the chosen rows as `cutline apply` does."""
    form = format_for_output(Path(output), files_of(Path(path)), keep_all=keep_all)
    told, vectors = checked_columns(columns), certificate.sets.needs_vectors
    roles = ["query_id", "item_id", "score", *(["vector"] if vectors else [])]
    memory = check_whole("memory", memory, least=LEAST)
    with opened(Path(path), columns=told, roles=roles, keep=None, memory=memory) as stream:
        reader = Reader(roles=stream.roles, form=stream.form.name, vectors=vectors)
        return apply_stream(stream, certificate, reader, Path(output), form, keep_all=keep_all)


@contextmanager
def _read(
    path: File,
    labels: File | None,
    columns: Mapping[str, str] | None,
    memory: int,
    *,
    vectors: bool,
    keep: Sequence[str] = (),
) -> Generator[tuple[Stream, Reader]]:
    """A stream of judged queries, and how its chunks become queries."""
    told = checked_columns(columns)
    roles = ["query_id", "item_id", "score", *(["label"] if labels is None else []), *(["vector"] if vectors else [])]
    judgments = None if labels is None else Judgments(read_judgments(labels, columns=told))
    memory = check_whole("memory", memory, least=LEAST)
    with opened(Path(path), columns=told, roles=roles, keep=keep, memory=memory) as stream:
        reader = Reader(
            roles=stream.roles, form=stream.form.name, judgments=judgments, vectors=vectors, columns=keep
        )  # fmt: skip
        yield stream, reader
