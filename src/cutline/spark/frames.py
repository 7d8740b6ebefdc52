"""From a DataFrame of Spark to a curve, a certificate, or the rows to keep."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, cast

import msgspec
import numpy.typing as npt

from cutline._checks import check_truth
from cutline._columns import Wording, check_told, match_columns
from cutline.cautions import Cautions
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
Task = Callable[[packing.Batches], packing.Batches]


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
    are repartitioned on the query id, or of queries that seem whole their ids, each partition adds up its queries, and
    the states are merged here. Queries keep the order of their rows, as far as the partitions of the frame have one.
    Workers need cutline.
    """
    curve = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
    reading = reading_of(frame, columns, vectors=curve.sets.needs_vectors)
    return summed_up(FrameRows(frame, reading), curve)


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
    wording = Wording() if wording is None else wording
    told: Mapping[str, str] = {} if columns is None else columns
    roles = roles_in(_names(frame), told, vectors=vectors, labels=labels, wording=wording)
    return Reading(source=wording.table, roles=roles, cells=cells)


def roles_in(
    names: list[str], columns: Mapping[str, str], *, vectors: bool, labels: bool, wording: Wording
) -> dict[str, str]:
    """Which column plays which role, of those that are read."""
    check_told(names, columns)
    wanted = ("query_id", "score", *(["label"] if labels else []), *(["vector"] if vectors else []))
    roles = match_columns(names, columns, required=wanted, wording=wording)
    return {role: name for role, name in roles.items() if role in wanted or role == "item_id"}


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


def summed_up(rows: Rows, curve: RiskCurve, *, quietly: bool = False) -> RiskCurve:
    """The curve with all queries added; what weakens its promise is told, or not yet.

    Most queries have their rows next to each other, and are added up where they lie: then only their ids are brought
    together, which shows that none has rows elsewhere. Where one has, all rows are brought together.
    """
    source = rows.reading.source
    left = together(rows.runs(lambda runs: tasks.closed(runs, curve, source)), "query", "place")
    answers = answered(left, lambda runs: tasks.opened(runs, curve, source))
    if tasks.SCATTERED in answers:
        answers = answered(together(rows.runs(), "query", "place"), lambda runs: tasks.summed(runs, curve, source))
    sums = [msgspec.msgpack.decode(answer, type=tasks.Sums) for answer in answers]
    if not quietly:
        sum((each.cautions for each in sums), Cautions()).say(curve.loss)
    return reduce(RiskCurve.merge, (curve.with_state(each.state) for each in sums), curve)


def answered(frame: Frame, task: Task) -> list[bytes]:
    """What each partition answers; what one refuses is refused here."""
    return answers_in(mapped(frame, task, ANSWER))


def answers_in(frame: Frame) -> list[bytes]:
    """The answers of tasks."""
    rows = frame.collect()
    for row in rows:
        if row.refused is not None:
            raise InputError(row.refused)
    return [bytes(row.answer) for row in rows]


class Rows(Protocol):
    """Where queries come from."""

    @property
    def reading(self) -> Reading:
        """How they are read."""
        ...

    def runs(self, work: Task | None = None, schema: str = RUNS) -> Frame:
        """Their rows as runs, wherever they lie; or what becomes of those of each part of the data."""
        ...

    def count(self) -> int:
        """How many queries there are."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FrameRows:
    """The rows of a DataFrame."""

    frame: Frame
    reading: Reading

    def runs(self, work: Task | None = None, schema: str = RUNS) -> Frame:
        """Partition by partition."""
        reading = self.reading
        columns = [column(name) for name in reading.roles.values()]

        def task(batches: packing.Batches) -> packing.Batches:
            runs = _packed(batches, reading)
            return runs if work is None else work(runs)

        return mapped(self.frame.select(*columns), task, schema)

    def count(self) -> int:
        """By the column of query ids alone."""
        return self.frame.select(column(self.reading.roles["query_id"])).distinct().count()


def _packed(batches: packing.Batches, reading: Reading) -> packing.Batches:
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    partition: int = context.partitionId()
    start = partition << packing.ROW_BITS
    return packing.packed(batches, reading, start, lambda row: f"row {row + 1:,} of partition {partition + 1:,}")


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
