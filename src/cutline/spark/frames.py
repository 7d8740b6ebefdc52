"""From a DataFrame of Spark to a curve, a certificate, or the rows to keep."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, cast

import numpy.typing as npt

from cutline._checks import check_truth
from cutline._columns import Wording, check_told, match_columns
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.errors import InputError
from cutline.io.sheets import free_name
from cutline.losses import Loss
from cutline.preferences import Scoring, WinRate
from cutline.sets import SetRule
from cutline.spark import packing, tasks
from cutline.spark.packing import Reading

Frame = Any  # pyspark.sql.DataFrame, of Spark itself or of Spark Connect

RUNS = (
    "query string, place bigint, scores binary, labels binary, sizes binary, items binary, vectors binary, width int, "
    "refused string"
)
ANSWER = "answer binary, refused string"


def risk_curve(
    frame: Frame,
    *,
    loss: Loss,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    thresholds: npt.ArrayLike | None = None,
    columns: Mapping[str, str] | None = None,
) -> RiskCurve:
    """The curve of all queries of a DataFrame: one row per item, columns as `Queries.from_frame` knows them.

    Rows of a query may lie anywhere. Each is first made part of a run (adjacent rows of one query, as one row), runs
    are repartitioned on the query id, each partition adds its queries to an empty curve, and the states are merged
    here. Queries keep the order of their rows, as far as the partitions of the frame have one. Workers need cutline.
    """
    curve = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
    reading = reading_of(frame, columns, vectors=curve.sets.needs_vectors)
    return summed_up(together(runs_of(frame, reading), "query", "place"), curve, reading.source)


def apply(
    certificate: Certificate | Abstention,
    frame: Frame,
    *,
    keep_all: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Frame:
    """The chosen rows of a DataFrame, with `rank` from 1 for the best of each query, and `win_rate` where scores are
    win rates; with `keep_all` every row, `chosen` or not. Every other column comes along.

    Like all of Spark it is worked out when its rows are asked for. Rows of a query come together, best first.
    """
    check_truth("keep_all", keep_all)
    given = cast("object", certificate)
    if not isinstance(given, Certificate | Abstention):
        raise InputError(f"certificate must be a cl.Certificate, got {type(given).__name__}; cl.load reads one")
    _ = certificate.threshold if isinstance(certificate, Certificate) else certificate.choose([])  # may refuse
    reading = reading_of(frame, columns, vectors=certificate.sets.needs_vectors, labels=False)
    return cut(certificate, frame, reading, keep_all=keep_all)


def reading_of(
    frame: Frame,
    columns: Mapping[str, str] | None,
    *,
    vectors: bool,
    labels: bool = True,
    wording: Wording | None = None,
    cells: bool = False,
) -> Reading:
    """Which columns of a frame are read, and how messages name them."""
    names = _names(frame)
    told: Mapping[str, str] = {} if columns is None else columns
    check_told(names, told)
    wording = Wording() if wording is None else wording
    wanted = ("query_id", "score", *(["label"] if labels else []), *(["vector"] if vectors else []))
    roles = match_columns(names, told, required=wanted, wording=wording)
    kept = {role: name for role, name in roles.items() if role in wanted or role == "item_id"}
    return Reading(source=wording.table, roles=kept, cells=cells)


def _names(frame: Frame) -> list[str]:
    try:
        names: list[str] = list(frame.columns)
        _ = frame.sparkSession, frame.mapInArrow
    except AttributeError:
        raise InputError(
            f"frame must be a DataFrame of Spark, got {type(frame).__name__}; cl.Queries.from_frame takes other frames"
        ) from None
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"frame has two columns named {name!r}; rename or drop one of them")
    return names


def summed_up(runs: Frame, curve: RiskCurve, source: str) -> RiskCurve:
    """The curve with all queries of runs that were brought together."""
    rows = mapped(runs, lambda batches: tasks.summed(batches, curve, source), ANSWER).collect()
    for row in rows:
        if row.refused is not None:
            raise InputError(row.refused)
    return reduce(RiskCurve.merge, (curve.with_state(bytes(row.answer)) for row in rows), curve)


def runs_of(frame: Frame, reading: Reading) -> Frame:
    """The rows of a frame as runs, wherever they lie."""

    def task(batches: packing.Batches) -> packing.Batches:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        return packing.packed(batches, reading, context.partitionId())

    return mapped(frame.select(*(column(name) for name in reading.roles.values())), task, RUNS)


def together(frame: Frame, query: str, place: str) -> Frame:
    """All rows of a query in one partition, adjacent and in the order of their places. A number of partitions is
    named, so that Spark splits none of them later."""
    count = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    by = column(query)
    return frame.repartition(count, by).sortWithinPartitions(by, column(place))


def column(name: str) -> Any:
    """A column by its name, whatever marks are in it."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def mapped(frame: Frame, task: Callable[[packing.Batches], packing.Batches], schema: Any) -> Frame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, of which Spark asks the version and nothing else
        return frame.mapInArrow(task, schema)


def cut(certificate: Certificate | Abstention, frame: Frame, reading: Reading, *, keep_all: bool) -> Frame:
    """The rows that a certificate chooses, or all of them with what it says of each."""
    from pyspark.sql import functions
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StructType

    names = _names(frame)
    added: dict[str, Any] = {"win_rate": DoubleType()} if type(certificate.scoring) is WinRate else {}
    added |= {"chosen": BooleanType(), "rank": LongType()} if keep_all else {"rank": LongType()}
    schema, held = StructType(), list(names)
    for name in added:
        if name in held:
            held[held.index(name)] = free_name(f"{name}_input", held)
        held.append(name)
    for name, kind in zip(held, [*(field.dataType for field in frame.schema), *added.values()], strict=True):
        schema = schema.add(name, kind)
    place = free_name("place", names)

    def task(batches: packing.Batches) -> packing.Batches:
        return tasks.cut(batches, certificate, reading, names, keep_all)

    numbered = frame.withColumn(place, functions.monotonically_increasing_id())
    return mapped(together(numbered, reading.roles["query_id"], place), task, schema)
