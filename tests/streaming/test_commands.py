"""The commands give the same on a file read in chunks as on one read whole: cut lists, audits, messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import Ended, refused, shell
from tests.streaming.worlds import csv, parquet, scattered, table

import cutline as cl
from cutline import streaming
from cutline.errors import InputError

PROMISE = ("--alpha", "0.35", "--delta", "0.1", "--good-at-least", "3")
CHUNKS = ("--memory", "32M")
WHOLE = ("--memory", "8G")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The same rows, which take more than a quarter of 32 MiB, in three forms, and their labels apart."""
    made = tmp_path_factory.mktemp("commands")
    rows = padded(table())
    parquet(made / "rows.parquet", rows, group=2000)
    csv(made / "rows.csv", rows)
    packed = pacsv.read_csv(made / "rows.csv")
    (made / "rows.csv.gz").write_bytes(gzip.compress((made / "rows.csv").read_bytes(), 1))
    assert len(packed) == len(rows)
    run = [
        f"{query} Q0 {item} 1 {score!r} {'tag' * 500}\n"
        for query, item, score in zip(
            *(rows[name].to_pylist() for name in ("query_id", "item_id", "score")), strict=True
        )
    ]
    (made / "rows.run").write_text("".join(run))
    labels = rows["label"].to_pylist()
    judged = [
        f"{query} 0 {item} {label:g}\n"
        for query, item, label in zip(rows["query_id"].to_pylist(), rows["item_id"].to_pylist(), labels, strict=True)
        if label is not None
    ]
    (made / "judged.qrels").write_text("".join(judged))
    ended = shell("calibrate", made / "rows.parquet", *PROMISE, "-o", made / "cert.json", *WHOLE)
    assert ended.code == 0, ended
    return made


def padded(rows: pa.Table) -> pa.Table:
    """A column that makes rows wide."""
    return rows.append_column("text", pa.array([f"{place:05}" * 1000 for place in range(len(rows))]))


def both(folder: Path, *command: object) -> tuple[Ended, Ended]:
    """A command on the whole and in chunks."""
    whole, chunks = shell(*command, *WHOLE), shell(*command, *CHUNKS)
    assert " in chunks" in chunks.out
    assert " in chunks" not in whole.out
    return whole, chunks


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.csv.gz", "rows.run"])
def test_calibrate_writes_the_same_bytes_and_tells_the_same(folder, name):
    labels = ("--labels", folder / "judged.qrels") if name == "rows.run" else ()
    certificates = folder / "whole.json", folder / "chunks.json"
    notes = []
    for path, memory in zip(certificates, (WHOLE, CHUNKS), strict=True):
        ended = shell("calibrate", folder / name, *PROMISE, *labels, "-o", path, *memory)
        assert ended.code == 0, ended
        assert (" in chunks" in ended.out) == (memory == CHUNKS)
        notes.append(ended.err)
    assert certificates[0].read_bytes() == certificates[1].read_bytes()
    assert notes[0] == notes[1]
    if name != "rows.run":  # a query without any judged item is left out there
        assert certificates[0].read_bytes() == (folder / "cert.json").read_bytes()


@pytest.mark.parametrize("output", ["cut.parquet", "cut.csv", "cut.tsv.gz", "cut.jsonl", "cut.run"])
@pytest.mark.parametrize("keep", [(), ("--keep-all",)])
def test_apply_writes_the_same_rows_in_the_same_order(folder, output, keep):
    if keep and output == "cut.run":
        pytest.skip("a run has no place to say what was chosen")
    written = []
    for memory in (WHOLE, CHUNKS):
        ended = shell("apply", folder / "cert.json", folder / "rows.parquet", "-o", folder / output, *keep, *memory)
        assert ended.code == 0, ended
        assert (" in chunks" in ended.out) == (memory == CHUNKS)
        content = (folder / output).read_bytes()
        written.append(pq.read_table(folder / output) if output.endswith("parquet") else content)
    assert written[0] == written[1] if isinstance(written[0], bytes) else written[0].equals(written[1])


def test_apply_adds_win_rates_and_says_the_same_figures(folder):
    rated = folder / "rated.json"
    assert shell("calibrate", folder / "rows.parquet", *PROMISE, "--scoring", "win-rate", "--scale", "0.1", "-o", rated)
    whole, chunks = both(folder, "apply", rated, folder / "rows.parquet", "-o", folder / "cut.parquet")
    assert whole.out.splitlines()[1] == chunks.out.splitlines()[1]
    assert whole.err == chunks.err
    assert "win_rate" in pq.read_schema(folder / "cut.parquet").names


def test_apply_on_scattered_rows_writes_every_list_whole(folder, tmp_path):
    path = parquet(tmp_path / "mixed.parquet", scattered(padded(table())), group=3000)
    for memory in (WHOLE, CHUNKS):
        ended = shell("apply", folder / "cert.json", path, "-o", tmp_path / f"{memory[1]}.csv", *memory)
        assert (" in chunks" in ended.out) == (memory == CHUNKS)
    one, other = (pacsv.read_csv(tmp_path / f"{memory[1]}.csv") for memory in (WHOLE, CHUNKS))
    by = [("query_id", "ascending"), ("rank", "ascending")]
    assert one.sort_by(by).equals(other.sort_by(by))
    starts = np.flatnonzero(np.asarray(other["rank"]) == 1)
    assert len(starts) == len(set(other["query_id"].take(pa.array(starts)).to_pylist()))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.run"])
def test_audit_gives_the_same_verdict_strata_and_groups(folder, name):
    flags = ("--labels", folder / "judged.qrels") if name == "rows.run" else ("--by", "device")
    for path, memory in (("whole.json", WHOLE), ("chunks.json", CHUNKS)):
        ended = shell("audit", folder / "cert.json", folder / name, *flags, "-o", folder / path, *memory)
        assert (" in chunks" in ended.out) == (memory == CHUNKS)
    found = json.loads((folder / "chunks.json").read_text())
    assert found == json.loads((folder / "whole.json").read_text())
    assert found["n_queries"] > 390
    assert name == "rows.run" or [group["name"] for group in found["by"]["device"]] == ["desk", "phone"]


def test_bad_rows_are_told_by_their_place(folder, tmp_path):
    rows = padded(table())
    scores = rows["score"].to_numpy().copy()
    scores[4321 % len(rows)] = np.nan
    bad = rows.set_column(2, "score", pa.array(scores))
    place = 4321 % len(rows) + 1
    for path in (parquet(tmp_path / "nan.parquet", bad, group=1000), csv(tmp_path / "nan.csv", bad)):
        where = f"row {place}" if path.suffix == ".parquet" else f"line {place + 1}"
        assert refused(shell("calibrate", path, *PROMISE, *CHUNKS), path.name, where, "the score of query", "NaN")
    twice = pa.concat_tables([rows.slice(0, 100), rows.slice(99, len(rows) - 99)])
    path = parquet(tmp_path / "twice.parquet", twice, group=100)
    assert refused(shell("calibrate", path, *PROMISE, *CHUNKS), "row 101", "appears twice, first in row 100")


def test_folders_and_patterns_that_hold_nothing_are_refused(tmp_path):
    assert refused(shell("calibrate", tmp_path, *PROMISE), "is a folder without files of rows")
    assert refused(shell("calibrate", tmp_path / "*.parquet", *PROMISE), "no file has such a name")
    (tmp_path / "a.jsonl").write_text('{"query_id": "a", "score": 1, "label": 1}\n')
    assert refused(shell("calibrate", tmp_path, *PROMISE), "jsonl is not read in chunks")
    parquet(tmp_path / "b.parquet", table(5))
    assert refused(shell("calibrate", tmp_path, *PROMISE), "is not read in chunks")
    assert refused(shell("calibrate", tmp_path / "b.parquet", *PROMISE, "--memory", "much"), "not a size")


@pytest.mark.parametrize("name", ["", "p*.parquet"])
def test_no_file_of_a_folder_or_a_pattern_is_written_over(folder, tmp_path, name):
    first = parquet(tmp_path / "p0.parquet", table(200))
    parquet(tmp_path / "p1.parquet", table(50, seed=1).slice(0, 0))
    before, scores = first.read_bytes(), tmp_path / name
    for command in (
        ("apply", folder / "cert.json", scores, "-o", first),
        ("calibrate", scores, *PROMISE, "-o", first),
        ("calibrate", scores, *PROMISE, "--report", first),
        ("audit", folder / "cert.json", scores, "-o", first),
        ("audit", folder / "cert.json", scores, "--report", first),
    ):
        assert refused(shell(*command), "p0.parquet is the input; write to another file")
    assert first.read_bytes() == before
    with pytest.raises(InputError, match=r"p0\.parquet is the input"):
        streaming.apply(cl.load(folder / "cert.json"), scores, first)
    assert first.read_bytes() == before


@pytest.mark.parametrize("name", ["none.parquet", "none.csv", "none.tsv"])
def test_files_with_columns_and_no_rows_are_refused_and_nothing_is_written(folder, tmp_path, name):
    here = tmp_path / "data"
    here.mkdir()
    if name == "none.parquet":
        parquet(here / name, table(5).slice(0, 0))
    else:
        text = "query_id,item_id,score,label\n"
        (here / name).write_text(text if name == "none.csv" else text.replace(",", "\t"))
    out = tmp_path / "cut.parquet"
    for command in (
        ("calibrate", here, *PROMISE),
        ("calibrate", here, *PROMISE, "--labels", folder / "judged.qrels"),
        ("calibrate", here, *PROMISE, "--thresholds", "0.9:0.1:0.1", "--evidence", "convex"),
        ("audit", folder / "cert.json", here),
        ("apply", folder / "cert.json", here, "-o", out),
    ):
        assert refused(shell(*command), "data has columns and no rows", folder=tmp_path, had={"data"})
    with pytest.raises(InputError, match="data has columns and no rows"):
        streaming.risk_curve(here, loss=cl.FalseDiscovery(cl.Grade(3)), thresholds=cl.grid(0.9, 0.1, 0.1))


def test_files_without_rows_beside_others_add_nothing(folder, tmp_path):
    rows = table()
    for ending, write in (("parquet", parquet), ("csv", csv)):
        here = tmp_path / ending
        here.mkdir()
        for place, part in enumerate((rows.slice(0, 0), rows.slice(0, 900), rows.slice(0, 0), rows.slice(900))):
            write(here / f"part-{place}.{ending}", part)
        assert shell("calibrate", here, *PROMISE, "-o", tmp_path / "cert.json").code == 0
        assert (tmp_path / "cert.json").read_bytes() == (folder / "cert.json").read_bytes()


def test_judgments_of_other_queries_are_refused_and_missing_ones_told(folder, tmp_path):
    (tmp_path / "other.qrels").write_text("elsewhere 0 a 1\n")
    assert refused(
        shell("calibrate", folder / "rows.run", "--labels", tmp_path / "other.qrels", *PROMISE, *CHUNKS),
        "share no query", "'q",
    )  # fmt: skip


def test_a_table_of_queries_in_python_and_the_command_agree(folder):
    queries = cl.io.read_queries(folder / "rows.parquet")
    found = cl.calibrate(queries, loss=cl.FalseDiscovery(cl.Grade(3)), alpha=0.35, delta=0.1)
    assert json.loads((folder / "cert.json").read_text())["threshold"] == found.threshold
