"""Curves, certificates and cut lists on Spark: those of one machine, whatever befalls rows and workers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import names_in, refused, shell

import cutline as cl
from cutline.errors import CutlineWarning, InputError
from cutline.spark import apply, calibrate, risk_curve

pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`)")
pytestmark = [
    pytest.mark.xdist_group("spark"),  # one worker, so that one session serves all
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java, and there is none"
    ),
]

LOSS = cl.FalseDiscovery(cl.Grade(at_least=3))
GRID = cl.grid(0.95, 0.05, 0.05)
PARTS = 3
PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
FLAGS = ["--alpha", "0.35", "--delta", "0.1", "--good-at-least", "3"]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A task that fails is tried again, up to four times. Java compiles in a hurry."""
    from cutline.spark.session import session

    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    with session("local[2,4]") as started:
        started.conf.set("spark.sql.shuffle.partitions", PARTS)
        yield started


@pytest.fixture(scope="module")
def queries() -> cl.Queries:
    return cl.datasets.simulate(150, rng=0, vectors=4)


@pytest.fixture(scope="module")
def rows(queries: cl.Queries) -> pa.Table:
    """One row per item, those of a query far from each other."""
    table = queries.to_frame("pyarrow")
    vectors = pa.array([np.asarray(v, np.float32).tolist() for v in queries.vectors], pa.list_(pa.float32()))
    table = table.set_column(table.column_names.index("vector"), "vector", vectors)
    return table.take(pa.array(np.random.default_rng(1).permutation(len(table))))


@pytest.fixture(scope="module")
def folder(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in two files of several row groups."""
    return saved(rows, tmp_path_factory.mktemp("rows") / "scores")


def saved(table: pa.Table, folder: Path, files: int = 2) -> Path:
    folder.mkdir(parents=True)
    edges = np.linspace(0, len(table), files + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(start, stop - start), folder / f"part-{number}.parquet", row_group_size=700)
    return folder


def frame_of(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder))


def same(curve: cl.RiskCurve, other: cl.RiskCurve) -> bool:
    return bool(
        (curve.sums == other.sums).all()
        and (curve.lengths, curve.fingerprint, curve.n_judged) == (other.lengths, other.fingerprint, other.n_judged)
    )


@pytest.mark.parametrize(
    "pieces",
    [
        {"loss": LOSS, "thresholds": GRID},
        {"loss": cl.Miss(cl.TopM(fraction=0.2, ties="expected")), "scoring": cl.WinRate(scale=0.5)},
        {"loss": LOSS, "sets": cl.Diverse(3), "thresholds": GRID},
    ],
    ids=["as given", "win rates", "diverse"],
)
def test_the_curve_is_that_of_one_machine(spark: Any, folder: Path, rows: pa.Table, pieces: dict[str, Any]) -> None:
    local = cl.RiskCurve.empty(**pieces).add(cl.Queries.from_frame(rows))
    assert same(risk_curve(frame_of(spark, folder), **pieces), local)


@pytest.mark.parametrize("files", [1, 4])
def test_adjacent_rows_are_added_up_where_they_lie(
    spark: Any, rows: pa.Table, tmp_path: Path, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutline.spark import frames
    from cutline.spark.files import files_at, rows_of

    adjacent = rows.sort_by([("query_id", "descending")])
    folder = saved(adjacent, tmp_path / "adjacent", files=files)
    empty = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID)
    jobs: list[Any] = []
    work = frames.answered
    monkeypatch.setattr(frames, "answered", lambda *given: jobs.append(given) or work(*given))
    found = rows_of(spark, files_at(folder), {}, name="here", vectors=False, by_position=False)
    assert same(frames.summed_up(found, empty), empty.add(cl.Queries.from_frame(rows)))
    assert len(jobs) == 1  # a second one would bring all rows together


def test_no_query_is_split_and_partitions_without_any_add_nothing(
    spark: Any, folder: Path, rows: pa.Table, tmp_path: Path
) -> None:
    from pyspark.sql import functions

    from cutline.spark.frames import FrameRows, reading_of, together

    few = rows.filter(pa.compute.is_in(rows.column("query_id"), pa.array(rows.column("query_id")[:1].to_pylist())))
    frame = frame_of(spark, saved(few, tmp_path / "few")).repartition(7)
    local = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID).add(cl.Queries.from_frame(few))
    assert same(risk_curve(frame, loss=LOSS, thresholds=GRID), local)
    scattered = frame_of(spark, folder).repartition(7)
    runs = together(FrameRows(scattered, reading_of(scattered, None, vectors=False)).runs(), "query", "place")
    found = runs.select("query", functions.spark_partition_id().alias("part")).distinct().collect()
    assert len(found) == len({row.query for row in found}) == 150
    assert len({row.part for row in found}) == PARTS


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"evidence": cl.evidence.Convex()},
        {"scoring": cl.WinRate(), "evidence": cl.evidence.EmpiricalBernstein()},
        {"sets": cl.Diverse(3), "evidence": cl.evidence.Convex(), "thresholds": GRID},
        {"sets": cl.Diverse(3), "sequence": cl.Fallback(), "seed": 7},
    ],
    ids=["betting", "every score", "win rates", "diverse sums", "diverse betting"],
)
def test_a_certificate_is_that_of_one_machine(
    spark: Any, folder: Path, rows: pa.Table, settings: dict[str, Any]
) -> None:
    wanted = {"loss": LOSS, "alpha": 0.35, "delta": 0.1, **settings}
    local = cl.calibrate(cl.Queries.from_frame(rows), **wanted)
    assert calibrate(frame_of(spark, folder), **wanted).to_dict() == local.to_dict()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"evidence": cl.evidence.Betting(), "seed": 3},
        {"evidence": cl.evidence.Convex(), "alpha": 0.01},
        {"evidence": cl.evidence.Betting(), "sets": cl.Diverse(3), "thresholds": GRID},
    ],
    ids=["default", "betting", "abstention", "diverse betting"],
)
def test_a_certificate_of_more_queries_than_are_collected_is_that_of_one_machine(
    spark: Any, folder: Path, rows: pa.Table, settings: dict[str, Any]
) -> None:
    wanted = {"loss": LOSS, "alpha": 0.4, "delta": 0.1, "most_queries": 100, **settings}
    frame, queries = frame_of(spark, folder), cl.Queries.from_frame(rows)
    if settings.get("evidence") != cl.evidence.Betting():
        assert calibrate(frame, **wanted).to_dict() == cl.calibrate(queries, **wanted).to_dict()
        return
    with pytest.warns(CutlineWarning, match="betting evidence looks at 100 of 150 queries") as told:
        assert calibrate(frame, **wanted).to_dict() == cl.calibrate(queries, **wanted).to_dict()
    assert len(told) == 2  # once for each


def test_betting_on_some_of_the_queries_tells_of_all_of_them_as_one_machine_does(
    spark: Any, rows: pa.Table, tmp_path: Path
) -> None:
    of_query = np.unique(rows["query_id"].to_pylist(), return_inverse=True)[1]
    labels = pa.array(np.where(of_query % 15 == 0, np.nan, rows["label"].to_numpy()))
    blank = rows.set_column(rows.column_names.index("label"), "label", labels)
    pq.write_table(blank, tmp_path / "blank.parquet")
    wanted = {"loss": LOSS, "alpha": 0.4, "delta": 0.1, "most_queries": 100, "evidence": cl.evidence.Betting()}
    told = []
    for work in (
        lambda: cl.calibrate(cl.Queries.from_frame(blank), **wanted),
        lambda: calibrate(spark.read.parquet(str(tmp_path / "blank.parquet")), **wanted),
    ):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", CutlineWarning)
            work()
        told.append([str(note.message) for note in notes if issubclass(note.category, CutlineWarning)])
    assert told[0] == told[1]
    assert [each[:20] for each in told[0]] == ["10 of 150 queries ha", "betting evidence loo"]


def test_scores_that_are_thresholds_need_all_queries_in_one_place(spark: Any, folder: Path) -> None:
    wanted: dict[str, Any] = {"loss": LOSS, "alpha": 0.4, "delta": 0.1, "evidence": cl.evidence.Convex()}
    with pytest.raises(InputError, match="thresholds must be a grid where frame has more than 100 queries"):
        calibrate(frame_of(spark, folder), **wanted, thresholds="exact", most_queries=100)


def test_the_spark_of_the_page_runs_as_printed(
    spark: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shutil.copytree(folder, tmp_path / "scores")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"spark": ReadsHere(spark)}
    exec(example, names)
    assert names["certificate"].n_queries + names["certificate"].sample == names["curve"].n_queries == 150
    assert names["cut"].columns[-1] == "rank"


class ReadsHere:
    """A session whose relative paths are those of this process: Java keeps the folder that it was started in."""

    def __init__(self, spark: Any) -> None:
        self.spark, self.read = spark, self

    def parquet(self, path: str) -> Any:
        return self.spark.read.parquet(str(Path(path).resolve()))


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_a_worker_that_is_lost_is_replaced_and_the_sums_are_the_same(
    spark: Any, folder: Path, rows: pa.Table, tmp_path: Path, how: str
) -> None:
    mark = tmp_path / "was here"

    @dataclass(frozen=True)
    class LostOnce(cl.Grade):  # of this function, so that workers get its code and need no test module
        def badness(self, queries: Any) -> Any:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return cl.Grade(self.at_least, self.unjudged).badness(queries)
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise MemoryError("the machine is going down")

    local = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID).add(cl.Queries.from_frame(rows))
    curve = risk_curve(frame_of(spark, folder), loss=cl.FalseDiscovery(LostOnce(at_least=3)), thresholds=GRID)
    assert mark.exists()
    assert same(curve, local)


def spoiled(rows: pa.Table, column: str, value: Any) -> pa.Table:
    """The rows with one value of a column, far from the first, replaced."""
    place = rows.column_names.index(column)
    held = rows.column(column).to_pylist()
    held[2_000] = value
    return rows.set_column(place, column, pa.array(held, rows.schema.field(column).type))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", float("nan"), "frame, row .* of partition .*: the score of query '.*', item '.*' is missing or NaN"),
        ("score", None, "the score of query '.*', item '.*' is missing or NaN; scores are finite numbers"),
        ("label", float("inf"), "the label of query '.*', item '.*' is inf"),
        ("query_id", None, "the query id is missing; drop the row or give it one"),
        ("vector", [1.0], "vectors of one length"),
    ],
)
def test_a_row_that_cannot_count_is_refused_in_one_line(
    spark: Any, rows: pa.Table, tmp_path: Path, column: str, value: Any, message: str
) -> None:
    frame = frame_of(spark, saved(spoiled(rows, column, value), tmp_path / "spoiled"))
    with pytest.raises(ValueError, match=message) as told:
        risk_curve(frame, loss=LOSS, thresholds=GRID, sets=cl.Diverse(3) if column == "vector" else cl.Threshold())
    assert "\n" not in str(told.value)


def test_a_pair_that_appears_twice_is_refused_by_name_wherever_it_stands(
    spark: Any, rows: pa.Table, tmp_path: Path
) -> None:
    first = rows.slice(0, 1)
    query, item = (first.column(name)[0].as_py() for name in ("query_id", "item_id"))
    frame = frame_of(spark, saved(pa.concat_tables([rows, first]), tmp_path / "twice"))
    message = f"frame: query '{query}', item '{item}' appears twice; keep one row per pair"
    with pytest.raises(ValueError, match=message):
        risk_curve(frame, loss=LOSS, thresholds=GRID)


def test_a_frame_without_labels_or_of_another_library_is_refused(spark: Any, folder: Path, rows: pa.Table) -> None:
    with pytest.raises(ValueError, match="no column for the label"):
        risk_curve(frame_of(spark, folder).drop("label"), loss=LOSS, thresholds=GRID)
    with pytest.raises(ValueError, match="frame must be a DataFrame of Spark, got Table"):
        risk_curve(rows, loss=LOSS, thresholds=GRID)


@pytest.mark.parametrize("keep_all", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"scoring": cl.WinRate()}, {"sets": cl.Diverse(3), "thresholds": GRID}],
    ids=["as given", "win rates", "diverse"],
)
def test_apply_keeps_the_rows_that_one_machine_keeps(
    spark: Any, folder: Path, rows: pa.Table, settings: dict[str, Any], keep_all: bool
) -> None:
    queries = cl.Queries.from_frame(rows)
    certificate = cl.calibrate(queries, loss=LOSS, alpha=0.4, delta=0.1, **settings)
    frame = frame_of(spark, folder).withColumnRenamed("device", "rank")  # a name that gives way
    cut = apply(certificate, frame, keep_all=keep_all)
    rates = ["win_rate"] if "scoring" in settings else []
    assert cut.columns == [
        *(name if name != "rank" else "rank_input" for name in frame.columns), *rates, *(["chosen"] if keep_all else []),
        "rank",
    ]  # fmt: skip
    wanted = certificate.apply(queries).to_frame("pyarrow", keep_all=keep_all)
    by = ["query_id", "item_id"]
    found = cut.toArrow().sort_by([(name, "ascending") for name in by])
    wanted = wanted.sort_by([(name, "ascending") for name in by])
    for name in [*by, "score", "rank", *(["chosen"] if keep_all else [])]:
        assert found.column(name).to_pylist() == wanted.column(name).to_pylist()
    if rates:
        assert found.column("win_rate").null_count == 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_where_sizes_cut_through_ties_the_order_of_files_and_rows_decides(
    spark: Any, rows: pa.Table, tmp_path: Path, form: str
) -> None:
    plain = rows.drop_columns(["vector"])
    tied = plain.set_column(plain.column_names.index("score"), "score", pa.array(np.full(len(rows), 0.5)))
    for number, (start, stop) in enumerate(pairwise([0, 300, 600, 900, len(tied)])):  # the last is the largest
        write = {"parquet": pq.write_table, "csv": pa.csv.write_csv}[form]
        write(tied.slice(start, stop - start), tmp_path / f"part-{number}.{form}")
    flags = [*FLAGS, "--max-size", "2", "--thresholds", "0.9,0.5,0.1", "--evidence", "convex", "--alpha", "0.9"]
    ended = shell("calibrate", tmp_path, *flags, "--engine", "spark", "--json")
    with pytest.warns(CutlineWarning, match="the order of the rows decides"):
        local = cl.calibrate(
            cl.Queries.from_frame(tied), loss=LOSS, alpha=0.9, delta=0.1, thresholds=[0.9, 0.5, 0.1],
            sets=cl.Threshold(max_size=2), evidence=cl.evidence.Convex(),
        )  # fmt: skip
    assert ended.json["seal"] == local.seal
    assert "the order of the rows decides" in ended.json["notes"][0]


@pytest.mark.parametrize("form", ["folder", "pattern", "csv"])
def test_the_command_writes_the_same_bytes_on_spark(
    spark: Any, folder: Path, rows: pa.Table, tmp_path: Path, form: str
) -> None:
    plain = rows.drop_columns(["vector"])
    scores = tmp_path / "odd [1] {a}.csv"
    whole = tmp_path / "whole.parquet"
    pq.write_table(plain, whole)
    if form == "csv":
        pa.csv.write_csv(plain, scores)
    given = {"folder": folder, "pattern": folder / "part-*.parquet", "csv": scores}[form]
    one = shell("calibrate", scores if form == "csv" else whole, *FLAGS, "-o", tmp_path / "one.json")
    many = shell("calibrate", given, *FLAGS, "--engine", "spark", "--master", "local[2]", "-o", tmp_path / "many.json")
    assert (one.code, many.code, many.err) == (0, 0, "")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "many.json").read_bytes()
    assert f"Read {given} on Spark (local[2]): scores in 'score'." in many.out


def test_the_command_refuses_in_one_line(spark: Any, rows: pa.Table, tmp_path: Path) -> None:
    spark_flags = [*FLAGS, "--engine", "spark", "--master", "local[2]"]
    bad = saved(spoiled(rows, "score", float("nan")), tmp_path / "bad")
    had = names_in(tmp_path)
    output = ["-o", tmp_path / "cert.json"]
    ended = shell("calibrate", bad, *spark_flags, *output)
    assert refused(ended, "part-1.parquet, row", "is missing or NaN", folder=tmp_path, had=had)
    cells = tmp_path / "words.csv"
    cells.write_text("query_id,item_id,score,label\nq1,d1,0.5,3\nq1,d2,high,0\n")
    ended = shell("calibrate", cells, *spark_flags)
    assert refused(ended, "words.csv, row 2 of partition 1: the score is the text 'high'")
    (bad / "part-1.parquet").write_bytes((bad / "part-1.parquet").read_bytes()[:-100])
    assert refused(shell("calibrate", bad, *spark_flags), "part-1.parquet cannot be read")
    assert refused(shell("calibrate", tmp_path / "nothing.parquet", *spark_flags), "cannot be read")
    assert refused(
        shell("calibrate", cells, *spark_flags, "--labels", tmp_path / "a.qrels"), "--labels is not read on Spark"
    )
    assert refused(shell("calibrate", cells, *spark_flags, "--memory", "1G"), "--memory is not read on Spark")
    assert refused(shell("calibrate", cells, *FLAGS, "--master", "local[2]"), "--master belongs to --engine spark")


def test_the_command_needs_no_other_set_up(folder: Path, rows: pa.Table, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("cutline")), "calibrate", str(folder), *FLAGS, "--engine", "spark"]
    bare = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "JDK_JAVA_OPTIONS") if name in os.environ}
    ended = subprocess.run(
        [*command, "--master", "local[2]", "--json"], env=bare, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    local = cl.calibrate(cl.Queries.from_frame(rows), loss=LOSS, alpha=0.35, delta=0.1)
    assert json.loads(ended.stdout)["threshold"] == local.threshold
    assert ended.stderr == ""
    assert names_in(tmp_path) == set()


def test_without_java_the_command_says_so(folder: Path, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("cutline")), "calibrate", str(folder), *FLAGS, "--engine", "spark"]
    ended = subprocess.run(
        command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines() == [
        "cutline: Spark needs Java, and there is none here; install Java 17 or newer, or set JAVA_HOME"
    ]
