"""What --engine spark does in place of reading files into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutline.cli.console import working
from cutline.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from cutline.certificate import Abstention, Certificate
    from cutline.cli.inputs import Inputs
    from cutline.sets import SetRule

MASTER = "local[*]"


def calibrate_on_spark(
    inputs: Inputs, master: str | None, settings: dict[str, Any]
) -> tuple[Certificate | Abstention, str]:
    """The certificate, and what was read."""
    from cutline.spark.calibrating import calibrated
    from cutline.spark.files import files_at, rows_of
    from cutline.spark.session import session

    _refuse_unread(inputs)
    files = files_at(inputs.scores)  # what is wrong with them is told before Spark is started
    master, sets, name = master or MASTER, settings["sets"], str(inputs.scores)
    vectors = bool(sets.needs_vectors)
    columns = {**inputs.columns, **({"vector": inputs.vectors} if vectors and inputs.vectors else {})}
    with working("Calibrating on Spark"), session(master) as spark:
        rows = rows_of(spark, files, columns, name=name, vectors=vectors, by_position=_by_position(sets))
        certificate = calibrated(rows, **settings)
    roles = rows.reading.roles
    seen = f", vectors in {roles['vector']!r}" if vectors else ""
    return certificate, f"Read {name} on Spark ({master}): scores in {roles['score']!r}{seen}."


def check_engine(engine: str, master: str | None) -> None:
    """A master belongs to Spark."""
    if master is not None and engine != "spark":
        raise InputError("--master belongs to --engine spark; leave it out, or ask for Spark")


def _by_position(sets: SetRule) -> bool:
    """Whether the order of rows decides among equal scores."""
    return sets.needs_vectors or bool(getattr(sets, "min_size", 0)) or getattr(sets, "max_size", None) is not None


def _refuse_unread(inputs: Inputs) -> None:
    given: dict[str, Path | str | None] = {
        "--labels": inputs.labels, "--labels-format": inputs.labels_format, "--predictions": inputs.predictions,
        "--groups": inputs.groups, "--format": inputs.format,
    }  # fmt: skip
    for flag, value in given.items():
        if value is not None:
            raise InputError(f"{flag} is not read on Spark: labels are a column of the parquet or CSV files there")
    if inputs.memory is not None:
        raise InputError("--memory is not read on Spark, which has its own settings; leave it out")
    if inputs.vectors in {str(path) for path in inputs.paths}:
        raise InputError("--vectors must name a column where --engine spark reads the files")
