"""Time and memory against the number of rows, on one machine and on Spark: `make bench ARGS="--scaling"`.

Prints a table and the exponents of time over the last two decades; a full run also keeps scaling.json and scaling.svg.
Files are written in chunks, one size after the other, and removed afterwards: the largest takes 1.6 GB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from big import LENGTH, write_big
from clock import machine, once
from clusters import MASTER, alone, on_spark

HERE = Path(__file__).parent
SIZES = tuple(round(10 ** (power / 2)) // LENGTH * LENGTH for power in range(10, 17))  # 10⁵, 10^5.5 … 10⁸
MOST, ROUNDS = 1.05, 3  # the exponent wanted; runs of each size, of which the fastest counts
STEADY = 1_000_000  # rows of a file that is calibrated first, so that kernels are loaded
COLUMNS = ("rows", "local s", "local MiB", "spark s", "spark MiB")


def measured(folder: Path, most: int) -> Iterator[dict[str, Any]]:
    """Each size, smallest first: seconds and peak memory, of cutline alone and on Spark."""
    from cutline.spark.session import session

    warm = write_big(folder / "warm.parquet", queries=STEADY // LENGTH)
    with session(MASTER) as spark:
        on_spark(spark, warm)
        for size in (size for size in SIZES if size <= most):
            path = write_big(folder / "scores.parquet", queries=size // LENGTH)
            local = _apart(path, warm)
            seconds = min(once(partial(on_spark, spark, path)) for _ in range(ROUNDS))
            yield {"rows": size, "local": local, "spark": {"seconds": seconds, "memory": _memory_below(os.getpid())}}
            path.unlink()


def _apart(path: Path, warm: Path) -> dict[str, float]:
    """Seconds and peak memory of cutline alone, in a process of its own."""
    printed = subprocess.run(
        [sys.executable, str(Path(__file__)), "--one", str(path), str(warm)],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    return json.loads(printed)


def _one(path: Path, warm: Path) -> dict[str, float]:
    import resource

    alone(warm)
    seconds = min(once(partial(alone, path)) for _ in range(ROUNDS))
    return {"seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0}


def _memory_below(process: int) -> float:
    """The peak memory, in bytes, of Java and of the workers that it started, all added up."""
    total = 0.0
    for child in Path(f"/proc/{process}/task").glob("*/children"):
        for number in child.read_text().split():
            status = Path(f"/proc/{number}/status").read_text()
            peak = [line for line in status.splitlines() if line.startswith("VmHWM")]
            total += float(peak[0].split()[1]) * 1024 if peak else 0.0
            total += _memory_below(int(number))
    return total


def exponent(rows: list[dict[str, Any]], which: str) -> float | None:
    """The slope of log time over log rows in the last two decades; None where there are not two."""
    last = rows[-1]["rows"]
    used = [row for row in rows if row["rows"] >= last / 100]
    if last < 100 * rows[0]["rows"]:
        return None
    counts, seconds = np.log([row["rows"] for row in used]), np.log([row[which]["seconds"] for row in used])
    return float(np.polyfit(counts, seconds, 1)[0])


def drawn(rows: list[dict[str, Any]], path: Path) -> None:
    """Two panels, seconds and memory over rows, both scales logarithmic."""
    import altair as alt

    names = {"local": "one machine", "spark": f"Spark {MASTER}"}
    values = [
        {"rows": row["rows"], "where": names[which], "s": row[which]["seconds"], "MiB": row[which]["memory"] / 2**20}
        for row in rows
        for which in names
    ]
    base = alt.Chart(alt.Data(values=values)).mark_line(point=True).encode(
        x=alt.X("rows:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e", title="rows (items of all queries)")),
        color=alt.Color("where:N", title=None, scale=alt.Scale(range=["#1b6ca8", "#d1750a"])),
    )  # fmt: skip
    log = alt.Scale(type="log")
    seconds = base.encode(y=alt.Y("s:Q", scale=log, title="seconds")).properties(width=300, height=240)
    memory = base.encode(y=alt.Y("MiB:Q", scale=log, title="peak memory, MiB")).properties(width=300, height=240)
    (seconds | memory).configure_legend(orient="top").save(str(path))


def main(most: int = SIZES[-1]) -> int:
    """Measure, print and keep."""
    rows: list[dict[str, Any]] = []
    print(*(f"{name:>12}" for name in COLUMNS), sep="")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        for row in measured(Path(folder), most):
            rows.append(row)
            told = [f"{row[which][what] / unit:,.2f}" for which in ("local", "spark") for what, unit in UNITS]
            print(f"{row['rows']:>12,}", *(f"{text:>12}" for text in told), sep="", flush=True)
    slopes = {which: exponent(rows, which) for which in ("local", "spark")}
    for which, slope in slopes.items():
        said = "n/a: fewer than two decades" if slope is None else f"{slope:.2f} (wanted: at most {MOST})"
        print(f"exponent of time over the last two decades, {which}: {said}")
    print(f"{time.perf_counter() - begin:,.0f} s in all", file=sys.stderr)
    if most >= SIZES[-1]:
        record = {"machine": machine(), "rows": rows, "exponents": slopes}
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        (HERE / "scaling.json").write_text(text, encoding="utf-8")
        drawn(rows, HERE / "scaling.svg")
    return int(any(slope is not None and slope > MOST for slope in slopes.values()))


UNITS = (("seconds", 1.0), ("memory", 2.0**20))

if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(_one(Path(sys.argv[2]), Path(sys.argv[3]))))
