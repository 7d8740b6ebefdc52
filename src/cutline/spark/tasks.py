"""What each task of Spark gives back: the state of a curve, queries for the driver, or rows that were chosen."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager

from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.cutting import scores_of
from cutline.errors import CutlineWarning, InputError
from cutline.io.arrow import pa
from cutline.io.gathering import gather
from cutline.io.writing import cut_rows
from cutline.preferences import WinRate
from cutline.spark.packing import Batches, Reading, queries_of, refusal, whole_queries

STATE = pa.schema([("state", pa.binary()), ("width", pa.int32()), ("refused", pa.string())])


@contextmanager
def _quietly() -> Generator[None]:
    """Notes on a part of the queries say little about all of them, and nobody reads what a task prints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutlineWarning)
        yield


def summed(runs: Batches, curve: RiskCurve, source: str) -> Batches:
    """The state of the curve with the queries of one partition added; a row even where it has none."""
    width: int | None = None
    try:
        with _quietly():
            for table in whole_queries(runs, "query"):
                queries = queries_of(table, source)
                curve = curve.add(queries)
                width = None if queries.vectors is None else int(queries.vectors.shape[1])
    except InputError as problem:
        yield refusal(STATE, str(problem))
        return
    yield pa.RecordBatch.from_pylist([{"state": curve.state(), "width": width, "refused": None}], schema=STATE)


def cut(
    batches: Batches, certificate: Certificate | Abstention, reading: Reading, names: list[str], keep_all: bool
) -> Batches:
    """The chosen rows of one partition, whose rows are sorted by query; the columns named, in this order."""
    with _quietly():
        for table in whole_queries(batches, reading.roles["query_id"]):
            sheet = reading.sheet(table.drop_columns([name for name in table.column_names if name not in names]), _row)
            gathered = gather(sheet, vectors=certificate.sets.needs_vectors)
            slates = certificate.cut(gathered.queries)
            rates = scores_of(gathered.queries, certificate.scoring) if type(certificate.scoring) is WinRate else None
            yield from cut_rows(gathered, slates, keep_all=keep_all, win_rates=rates).table.to_batches()


def _row(row: int) -> str:
    return f"row {row + 1:,} of a chunk"
