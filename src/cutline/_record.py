"""The file form of certificates and abstentions: strict JSON, schema version 1, sealed against edits."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec

from cutline._display import shown
from cutline.errors import CertificateError, InputError

SCHEMA = 1


class ListLengths(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shortest, median and longest list among the calibration queries."""

    min: int
    median: float
    max: int


class CurvePoints(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Points along the walk: threshold, mean loss, upper bound on the risk at level delta, mean list length."""

    threshold: list[float]
    risk: list[float]
    bound: list[float]
    mean_size: list[float]


class Refusal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why nothing was certified, and what would help. `smallest_alpha` is covered by no guarantee on the same
    queries."""

    reason: str
    smallest_alpha: float | None
    queries_needed: int | None


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a certificate says, in plain types. `threshold` is null, and `abstention` is not, where it
    abstained."""

    schema: int
    cutline: str
    alpha: float
    delta: float
    threshold: float | None
    n_queries: int
    n_items: int
    loss: dict[str, Any]
    relevance: dict[str, Any]
    unjudged: str
    scoring: dict[str, Any]
    sets: dict[str, Any]
    evidence: dict[str, Any]
    sequence: dict[str, Any]
    seed: int
    sample: int
    thresholds: dict[str, Any] | str
    tested: int
    risk: float
    log_evidence: float
    asymptotic: bool
    share_nonempty: float
    mean_size: float
    risk_given_nonempty: float | None
    item_rate: float | None
    list_lengths: ListLengths
    curve: CurvePoints
    calibration_fingerprint: str
    vector_width: int | None
    abstention: Refusal | None = None


_canonical = msgspec.json.Encoder(order="sorted")


def as_written(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from a file: tuples are lists there."""
    return msgspec.json.decode(_canonical.encode(settings), type=dict[str, Any])


def check_settings(role: str, piece: Any) -> None:
    """What a piece of one's own writes down must be something a file can hold, found out before and not after."""
    try:
        as_written(piece.settings())
    except (TypeError, ValueError, msgspec.MsgspecError) as problem:
        raise InputError(
            f"{role}: settings() must give a dict of plain values, such as {{'name': {piece.name!r}}}, got "
            f"{shown(piece.settings())}: {problem}"
        ) from None


def seal_of(record: Record) -> str:
    """SHA-256 of the canonical JSON of a record: keys sorted, no white space, shortest numbers that read back the
    same."""
    return hashlib.sha256(_canonical.encode(record)).hexdigest()


def write_record(record: Record) -> str:
    """The record as indented JSON text, with its seal as the last entry."""
    return msgspec.json.format(msgspec.json.encode(content_of(record)), indent=2).decode() + "\n"


def content_of(record: Record) -> dict[str, Any]:
    """The record in plain types, with its seal as the last entry."""
    return {**msgspec.to_builtins(record), "seal": seal_of(record)}


def read_record(text: str | bytes, *, source: str) -> Record:
    """The record in a JSON text; refuses what is truncated, edited, of a newer schema, or no certificate at all."""
    try:
        content: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CertificateError(
            f"{source} is not a whole certificate ({error}); was it truncated? save it again"
        ) from None
    if not isinstance(content, dict) or "schema" not in content or "seal" not in content:
        raise CertificateError(
            f"{source} is not a certificate: it has no schema and seal; name a file written by save()"
        )
    fields = cast(dict[str, Any], content)
    schema = fields["schema"]
    if not isinstance(schema, int) or schema > SCHEMA:
        raise CertificateError(
            f"{source} has schema {schema!r}, and this cutline reads up to {SCHEMA}; install the cutline that wrote it"
        )
    seal = fields.pop("seal")
    try:
        record = msgspec.convert(fields, Record)
    except msgspec.ValidationError as error:
        raise CertificateError(
            f"{source} was edited or is damaged: {error}; calibrate again to change anything"
        ) from None
    if seal_of(record) != seal:
        raise CertificateError(f"{source} was edited: its seal does not match; calibrate again to change anything")
    return record
