"""Rows about Spark: the same calibration on two local cores, beside cutline alone on the same file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from big import write_big
from clock import Timing, once
from measures import ALPHA, DELTA, FINE, LOSS, DisagreementError, Row

import cutline as cl

MASTER = "local[2]"
ROWS, QUICK_ROWS, LENGTH = 20_000_000, 1_000_000, 100


def terms() -> dict[str, Any]:
    """What is calibrated: sums at 999 thresholds, with scores as given."""
    return {
        "alpha": ALPHA, "delta": DELTA, "loss": LOSS, "scoring": cl.AsGiven(), "sets": cl.Threshold(),
        "evidence": cl.evidence.Convex(), "thresholds": FINE,
    }  # fmt: skip


def alone(path: Path) -> Any:
    """The certificate of a file read in chunks, without Spark."""
    from cutline import streaming

    return streaming.calibrate(path, **terms())


def on_spark(spark: Any, path: Path) -> Any:
    """The certificate of the same file, worked out on Spark."""
    from cutline.spark.calibrating import calibrated
    from cutline.spark.files import files_at, rows_of

    rows = rows_of(spark, files_at(path), {}, name=path.name, vectors=False, by_position=False)
    return calibrated(rows, **terms())


def spark(quick: bool) -> list[Row]:
    """Once to warm up, then in turn with cutline alone, the session being up; and how long the session takes."""
    from cutline.spark.session import session

    count = QUICK_ROWS if quick else ROWS
    found: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="spark-") as folder:
        path = write_big(Path(folder) / "scores.parquet", queries=count // LENGTH)
        started = session(MASTER)
        start = once(lambda: found.append(started.__enter__()))
        try:
            session_up = found.pop()
            ours, theirs = on_spark(session_up, path), alone(path)
            if ours.seal != theirs.seal:
                raise DisagreementError(
                    f"{count:,} rows: Spark answers {ours.threshold}, one machine {theirs.threshold}"
                )
            samples = [(once(lambda: on_spark(session_up, path)), once(lambda: alone(path))) for _ in range(3)]
        finally:
            started.__exit__(None, None, None)
    one = Timing(name="Spark", samples=[each for each, _ in samples])
    many = Timing(name="cutline alone", samples=[each for _, each in samples])
    what = f"Spark {MASTER}, Convex, {count / 1e6:,.0f} M rows of parquet"
    judged: dict[str, Any] = {} if quick else {"least_ratio": 1 / 3, "target": "≥ 0.33× (3 times its time)"}
    return [
        Row(what=what, ours=one, peer=many, remark="--quick: fewer rows, not judged" if quick else "", **judged),
        Row(what=f"start a Spark session, {MASTER}", ours=Timing(name="session", samples=[start])),
    ]
