"""From a DataFrame of Spark to a curve, a certificate, or the rows to keep."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from cutline._checks import check_truth
from cutline._columns import Wording, check_told, match_columns
from cutline.calibration import calibrate as certify
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.errors import InputError
from cutline.evidence import Betting, Evidence
from cutline.io.sheets import free_name
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring, WinRate
from cutline.sets import SetRule, Threshold
from cutline.spark import packing, tasks
from cutline.spark.packing import Reading

if TYPE_CHECKING:
    from cutline.queries import Queries
    from cutline.sequence import TestingOrder

Frame = Any  # pyspark.sql.DataFrame, of Spark itself or of Spark Connect
COLLECTED = 200_000  # queries that come to one machine

RUNS = (
    "query string, place bigint, scores binary, labels binary, sizes binary, items binary, vectors binary, width int, "
    "refused string"
)
STATE = "state binary, width int, refused string"


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
    return summed_up(frame, reading_of(frame, columns, vectors=curve.sets.needs_vectors), curve)[0]


def calibrate(
    frame: Frame,
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
    columns: Mapping[str, str] | None = None,
) -> Certificate | Abstention:
    """`cl.calibrate` on the queries of a DataFrame, with the same answer to the last bit.

    Where sums at given thresholds are all that it takes, only they leave the workers. Otherwise, as with betting or
    thresholds that the scores give, the queries are collected, at most COLLECTED of them.
    """
    vectors = getattr(sets, "needs_vectors", False)
    return calibrated(
        frame, reading_of(frame, columns, vectors=vectors), alpha=alpha, delta=delta, loss=loss,
        scoring=AsGiven() if scoring is None else scoring, sets=Threshold() if sets is None else sets,
        evidence=Betting() if evidence is None else evidence, thresholds=thresholds, sequence=sequence, seed=seed,
    )  # fmt: skip


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


def calibrated(
    frame: Frame,
    reading: Reading,
    *,
    loss: Loss,
    scoring: Scoring,
    sets: SetRule,
    evidence: Evidence,
    thresholds: npt.ArrayLike | str | None,
    **settings: Any,
) -> Certificate | Abstention:
    """The same for columns that are known."""
    given = thresholds is not None and not isinstance(thresholds, str)
    usual = thresholds is None and scoring.name == "win-rate" and not getattr(evidence, "refuses_equal_losses", False)
    if evidence.needs == "order" or not (given or usual):
        queries = collected(frame, reading)
        return certify(
            queries, loss=loss, scoring=scoring, sets=sets, evidence=evidence, thresholds=thresholds, **settings
        )
    empty = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=cast(Any, thresholds))
    curve, width = summed_up(frame, reading, empty)
    return replace(certify(curve, evidence=evidence, **settings), vector_width=_kept_width(sets, width))


def _kept_width(sets: SetRule, width: int | None) -> int | None:
    """What a certificate says of vectors: nothing where they are the distances within a list."""
    return None if getattr(sets, "distance", "") == "precomputed" else width


def collected(frame: Frame, reading: Reading) -> Queries:
    """The queries of a frame, here."""
    count: int = frame.select(_column(reading.roles["query_id"])).distinct().count()
    if count > COLLECTED:
        raise InputError(
            f"{reading.source} has {count:,} queries, and at most {COLLECTED:,} are collected from Spark; pass "
            "evidence=cl.evidence.Convex() and thresholds=cl.grid(…), which take sums alone, or fewer queries"
        )
    if not count:
        raise InputError(f"{reading.source} has columns and no rows")
    runs = runs_of(frame, reading).toArrow()
    for message in runs.column("refused").drop_null()[:1]:
        raise InputError(message.as_py())
    return packing.queries_of(runs.sort_by([("query", "ascending"), ("place", "ascending")]), reading.source)


def summed_up(frame: Frame, reading: Reading, curve: RiskCurve) -> tuple[RiskCurve, int | None]:
    """The curve with all queries of a frame, and how many numbers a vector has."""
    source = reading.source

    def task(runs: packing.Batches) -> packing.Batches:
        return tasks.summed(runs, curve, source)

    rows = _mapped(together(runs_of(frame, reading), "query", "place"), task, STATE).collect()
    for row in rows:
        if row.refused is not None:
            raise InputError(row.refused)
    widths = {row.width for row in rows if row.width is not None}
    if len(widths) > 1:
        raise InputError(packing.of_two_widths(source, min(widths), max(widths)))
    merged = reduce(RiskCurve.merge, (curve.with_state(bytes(row.state)) for row in rows), curve)
    return merged, widths.pop() if widths else None


def runs_of(frame: Frame, reading: Reading) -> Frame:
    """The rows of a frame as runs, wherever they lie."""

    def task(batches: packing.Batches) -> packing.Batches:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        return packing.packed(batches, reading, context.partitionId())

    return _mapped(frame.select(*(_column(name) for name in reading.roles.values())), task, RUNS)


def together(frame: Frame, query: str, place: str) -> Frame:
    """All rows of a query in one partition, adjacent and in the order of their places. A number of partitions is
    named, so that Spark splits none of them later."""
    count = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    by = _column(query)
    return frame.repartition(count, by).sortWithinPartitions(by, _column(place))


def _column(name: str) -> Any:
    """A column by its name, whatever marks are in it."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def _mapped(frame: Frame, task: Callable[[packing.Batches], packing.Batches], schema: Any) -> Frame:
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
    return _mapped(together(numbered, reading.roles["query_id"], place), task, schema)
