"""Rows about files: how fast runs are read and judgments looked up, and what a command costs from start to end."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
from clock import Timing, fresh, interleaved, once, peak_memory
from measures import Row

import cutline as cl
from cutline.io.gathering import gather
from cutline.io.reading import read_judgments, read_scores

QUERIES, LENGTH, MANY = 10_000, 100, 5
LINES = QUERIES * LENGTH


def files(_: bool) -> list[Row]:
    """A run of a million lines and as many judgments, one or two dozen characters an id."""
    with tempfile.TemporaryDirectory(prefix="files-") as folder:
        run, judged = _write(Path(folder), times=1)
        rows = [*_reading(run, judged), *_commands(Path(folder), run, judged)]
        large_run, large_judged = _write(Path(folder), times=MANY)
        return [*rows, _memory(Path(folder), large_run, large_judged)]


def _write(folder: Path, *, times: int) -> tuple[Path, Path]:
    """A run and its judgments; ids are spread, so that neighbours have little in common."""
    rng = np.random.default_rng(0)
    n = LINES * times
    ids = [f"doc{number:09d}" for number in rng.permutation(10 * n)[:n]]
    relevance = rng.normal(size=n)
    queries = cl.Queries.from_arrays(
        np.round(relevance + rng.normal(size=n), 6), np.searchsorted([-1.2, -0.5, 0.1, 1.0], relevance),
        qid=np.repeat([f"topic-{number}" for number in range(QUERIES * times)], LENGTH), item_ids=ids,
    )  # fmt: skip
    run, judged = folder / f"{times}.run", folder / f"{times}.qrels"
    cl.io.write_queries(queries, run)
    cl.io.write_queries(queries.select(rng.permutation(len(queries))), judged)
    return run, judged


def _reading(run: Path, judged: Path) -> list[Row]:
    """Reading beside pyarrow parsing the same file and nothing else; and the join alone."""
    jobs = {"read": partial(read_scores, run, columns={}), "pyarrow.csv, every field": partial(_parse, run)}
    reading, parsing = interleaved(jobs, rounds=9)
    scored, labels = read_scores(run, columns={}), read_judgments(judged, columns={})
    grouping, joining = interleaved(
        {"group": partial(gather, scored), "group and join": partial(gather, scored, labels)}, rounds=9
    )
    most = {"most": LINES / 3e6, "target": "≥ 3 M lines/s"}
    return [
        Row(what="read a run of 1 M lines", ours=reading, peer=parsing, **most),
        Row(what="group 1 M rows, look for repeats", ours=grouping),
        Row(what="the same and join 1 M judgments", ours=joining, most=LINES / 3e6, target="≥ 3 M pairs/s"),
    ]


def _parse(run: Path) -> Any:
    return pacsv.read_csv(
        run,
        read_options=pacsv.ReadOptions(column_names=list("abcdef")),
        parse_options=pacsv.ParseOptions(delimiter=" ", quote_char=False),
    )


def _calibrate(folder: Path, run: Path, judged: Path) -> list[str]:
    flags = ["--alpha", "0.3", "--delta", "0.1", "--good-at-least", "3", "-o", str(folder / "cert.json")]
    return [_cutline(), "calibrate", str(run), "--labels", str(judged), *flags]


def _cutline() -> str:
    return str(Path(sys.executable).with_name("cutline"))


def _commands(folder: Path, run: Path, judged: Path) -> list[Row]:
    """Whole processes, kernels compiled before."""
    calibrate = partial(fresh, *_calibrate(folder, run, judged))
    help_ = partial(fresh, _cutline(), "--help")
    calibrate(), help_()
    return [
        Row(
            what="cutline calibrate, 1 M lines and judgments",
            ours=Timing(name="calibrate", samples=[once(calibrate) for _ in range(5)]), most=2.5, target="< 2.5 s",
        ),
        Row(
            what="cutline --help", ours=Timing(name="help", samples=[once(help_) for _ in range(9)]), most=0.4,
            target="< 0.4 s",
        ),
    ]  # fmt: skip


def _memory(folder: Path, run: Path, judged: Path) -> Row:
    """Peak memory of a whole process, over the size of the run alone; judgments are not counted."""
    peak = peak_memory(*_calibrate(folder, run, judged))
    share = peak / run.stat().st_size
    return Row(
        what=f"peak memory of calibrate, {MANY} M lines", ours=Timing(name="memory", samples=[share]), unit="× the run",
        most=6, target="< 6×", remark=f"peak memory {peak / 2**20:,.0f} MiB",
    )  # fmt: skip
