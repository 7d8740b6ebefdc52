"""Rows about files of any size on one machine, beside pyarrow that reads them and does nothing, and beside the same
curve in DuckDB SQL and in polars. Every job is a process of its own, so that each has a peak of memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from big import GOOD, write_big
from clock import Timing
from measures import DisagreementError, Row

import cutline as cl

QUERIES, PEER_QUERIES, QUICK = 1_000_000, 200_000, 30_000  # × 100 items
ROUNDS = 3
GRID = cl.grid(0.999, 0.001, 0.001)
COUNT = len(GRID)


def streams(quick: bool) -> list[Row]:
    """A hundred million rows of parquet: lists of a hundred items with plain text ids."""
    with tempfile.TemporaryDirectory(prefix="streams-") as name:
        folder = Path(name)
        queries = QUICK if quick else QUERIES
        path = write_big(folder / "big.parquet", queries=queries)
        rows = [*_passes(path, queries), *_commands(folder, path, queries)]
        path.unlink()
        peers = min(PEER_QUERIES, queries)
        return rows + _curves(write_big(folder / "peers.parquet", queries=peers), peers)


def _passes(path: Path, queries: int) -> list[Row]:
    """Rows per second, beside those of reading alone."""
    times: dict[str, list[float]] = {name: [] for name in ("read", "as given", "win rates", "defaults")}
    peaks: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name in times:
            seconds, peak = _alone(name, path)
            times[name].append(seconds)
            peaks[name] = max(peak, peaks.get(name, 0.0))
    size = f"{queries * 100 / 1e6:,.0f} M rows"
    reading = Timing(name="pyarrow iter_batches, nothing done", samples=times["read"])
    wanted: dict[str, float | None] = {"as given": 1 / 2, "win rates": 1 / 5, "defaults": None}
    rows = [
        Row(
            what=f"{name}, {size} of parquet", ours=Timing(name=name, samples=times[name]), peer=reading,
            least_ratio=least, target="" if least is None else f"≥ {least:g}× its rows/s",
            remark=f"{queries * 100 / np.median(times[name]) / 1e6:.1f} M rows/s, peak {peaks[name] / 2**20:,.0f} MiB",
        )
        for name, least in wanted.items()
    ]  # fmt: skip
    most = max(peak for name, peak in peaks.items() if name != "read")
    memory = Timing(name="peak memory", samples=[most / 2**30])
    return [*rows, Row(what=f"peak memory, {size}", ours=memory, unit="GiB", most=1.0, target="< 1 GiB")]


def _commands(folder: Path, path: Path, queries: int) -> list[Row]:
    """`cutline apply` beside pyarrow that reads the file and writes it unchanged."""
    cutline, certificate = str(Path(sys.executable).with_name("cutline")), folder / "cert.json"
    flags = ["--alpha", "0.3", "--delta", "0.1", "--good-at-least", str(GOOD)]
    grid = ["--thresholds", "0.999:0.001:0.001", "--evidence", "convex"]
    subprocess.run([cutline, "calibrate", path, *flags, *grid, "-o", certificate], check=True, capture_output=True)
    ours, theirs, peak = [], [], 0.0
    for _ in range(ROUNDS):
        theirs.append(_alone("rewrite", path)[0])
        seconds, peak = _measured([cutline, "apply", str(certificate), str(path), "-o", str(folder / "cut.parquet")])
        ours.append(seconds)
    return [
        Row(
            what=f"cutline apply, {queries * 100 / 1e6:,.0f} M rows", ours=Timing(name="apply", samples=ours),
            peer=Timing(name="pyarrow reads and writes it unchanged", samples=theirs), least_ratio=1 / 3,
            target="≥ 1/3 of its speed", remark=f"peak {peak / 2**20:,.0f} MiB",
        )
    ]  # fmt: skip


def _curves(path: Path, queries: int) -> list[Row]:
    """The same risk curve; the three must agree."""
    rows, answers = [], {name: _answer(name, path) for name in ("as given", "duckdb", "polars")}
    for name in ("duckdb", "polars"):
        off = float(np.abs(answers["as given"] - answers[name]).max())
        if off > 1e-6:
            raise DisagreementError(f"risk curves of cutline and {name} differ by {off:.2g}")
    times: dict[str, list[float]] = {name: [] for name in answers}
    for _ in range(ROUNDS):
        for name in answers:
            times[name].append(_alone(name, path)[0])
    ours = Timing(name="as given", samples=times["as given"])
    for name in ("duckdb", "polars"):
        peer = Timing(name=f"{name}, the same curve", samples=times[name])
        what = f"risk curve, {queries * 100 / 1e6:,.0f} M rows of parquet"
        rows.append(Row(what=what, ours=ours, peer=peer, least_ratio=2, target="≥ 2×"))
    return rows


def _alone(name: str, path: Path) -> tuple[float, float]:
    """Seconds and peak memory of a job in a process of its own; imports and compiled loops are there before."""
    return _measured([sys.executable, str(Path(__file__)), name, str(path)])


def _measured(command: list[str]) -> tuple[float, float]:
    program = (
        "import resource, subprocess, sys, time; begin = time.perf_counter();"
        "done = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE, text=True).stdout.split();"
        "spent = time.perf_counter() - begin;"
        "print(float(done[-1]) if done and done[0] == 'seconds' else spent,"
        " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    ended = subprocess.run([sys.executable, "-c", program, *command], check=True, stdout=subprocess.PIPE, text=True)
    seconds, peak = map(float, ended.stdout.split())
    return seconds, peak


def _answer(name: str, path: Path) -> Any:
    """The risk at each threshold, as a job finds it."""
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        where = Path(folder) / "risk.npy"
        subprocess.run(
            [sys.executable, str(Path(__file__)), name, str(path), str(where)], check=True, stdout=subprocess.DEVNULL
        )
        return np.load(where)


# The jobs -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> None:
    """All rows of three columns, as plain text and numbers."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(columns=["query_id", "score", "label"]):
        pass


def rewrite(path: Path) -> None:
    """All columns, written again."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    with (
        tempfile.NamedTemporaryFile(dir=path.parent, suffix=".parquet") as copy,
        pq.ParquetWriter(copy.name, file.schema_arrow, compression="zstd") as writer,
    ):
        for batch in file.iter_batches():
            writer.write_batch(batch)


def _streamed(path: Path, **terms: Any) -> Any:
    from cutline.streaming.calibrating import Terms, calibrate_stream
    from cutline.streaming.lots import Reader
    from cutline.streaming.stream import opened

    loss = cl.FalseDiscovery(cl.Grade(at_least=GOOD))
    with opened(path) as stream:
        reader = Reader(roles=stream.roles, form=stream.form.name)
        return calibrate_stream(stream, Terms(alpha=0.3, delta=0.1, loss=loss, **terms), reader)


def as_given(path: Path) -> Any:
    """A grid of 999 thresholds, all rows checked, one pass."""
    from cutline.streaming.calibrating import curve_of_stream
    from cutline.streaming.lots import Reader
    from cutline.streaming.stream import opened

    empty = cl.RiskCurve.empty(loss=cl.FalseDiscovery(cl.Grade(at_least=GOOD)), thresholds=GRID)
    with opened(path) as stream:
        return curve_of_stream(stream, Reader(roles=stream.roles, form=stream.form.name), empty).risk


def win_rates(path: Path) -> None:
    """The fixed grid of win rates."""
    _streamed(path, scoring=cl.WinRate(scale=0.1), evidence=cl.evidence.Convex())


def defaults(path: Path) -> None:
    """What the command does where nothing but the promise is said: thresholds are drawn first, three passes."""
    _streamed(path)


def duckdb(path: Path) -> Any:
    """The same curve in SQL: a window over each list, differences of losses summed by step."""
    import duckdb as peer

    found = peer.sql(
        f"""
        WITH items AS (
            SELECT query_id, greatest(ceil((0.999 - score) * 1000 - 1e-9), 0)::INT AS step, (label < {GOOD})::INT AS bad
            FROM '{path}'
        ), steps AS (
            SELECT query_id, step, count(*) AS n, sum(bad) AS bad FROM items GROUP BY ALL
        ), losses AS (
            SELECT query_id, step, sum(bad) OVER here / sum(n) OVER here AS loss FROM steps
            WINDOW here AS (PARTITION BY query_id ORDER BY step)
        ), changes AS (
            SELECT step, loss - lag(loss, 1, 0) OVER (PARTITION BY query_id ORDER BY step) AS change FROM losses
        )
        SELECT step, sum(change) AS change FROM changes GROUP BY step ORDER BY step
        """
    ).fetchnumpy()
    ((count,),) = peer.sql(f"SELECT count(DISTINCT query_id) FROM '{path}'").fetchall()
    return _summed(found["step"], found["change"], count)


def polars(path: Path) -> Any:
    """The same curve in polars."""
    import polars as pl

    items = pl.scan_parquet(path).select(
        "query_id",
        step=((0.999 - pl.col("score")) * 1000 - 1e-9).ceil().clip(0, None).cast(pl.Int32),
        bad=(pl.col("label") < GOOD).cast(pl.Int32),
    )
    steps = items.group_by("query_id", "step").agg(n=pl.len(), bad=pl.col("bad").sum()).sort("query_id", "step")
    loss = (pl.col("bad").cum_sum() / pl.col("n").cum_sum()).over("query_id")
    losses = steps.with_columns(loss=loss)
    before = pl.col("loss").shift(1, fill_value=0.0).over("query_id")
    changes = losses.with_columns(change=pl.col("loss") - before)
    found = changes.group_by("step").agg(pl.col("change").sum()).sort("step").collect()
    count = pl.scan_parquet(path).select(pl.col("query_id").n_unique()).collect().item()
    return _summed(found["step"].to_numpy(), found["change"].to_numpy(), count)


def _summed(steps: Any, changes: Any, queries: int) -> Any:
    sums = np.zeros(COUNT)
    kept = steps < COUNT
    sums[steps[kept]] = changes[kept]
    return np.cumsum(sums) / queries


JOBS = {
    "read": read, "rewrite": rewrite, "as given": as_given, "win rates": win_rates, "defaults": defaults,
    "duckdb": duckdb, "polars": polars,
}  # fmt: skip


def main(name: str, path: str, where: str | None = None) -> None:
    """Run one job and print its seconds."""
    if name not in ("read", "rewrite", "duckdb", "polars"):
        from cutline import calibration  # noqa: F401 (compiled loops are loaded as they are called)
    begin = time.perf_counter()
    found = JOBS[name](Path(path))
    print("seconds", time.perf_counter() - begin)
    if where is not None:
        np.save(where, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
