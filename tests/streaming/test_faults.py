"""Whatever breaks off a run, nothing half written stands under the final name, and the next run takes away what was
left; whatever is wrong with files is told in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import refused, shell
from tests.streaming.worlds import parquet, scattered, streamed, table

from cutline import _files
from cutline.errors import InputError
from cutline.streaming import stream as streaming
from cutline.streaming.scratch import PREFIX, scratch
from cutline.streaming.stream import opened

PROMISE = ("--alpha", "0.35", "--delta", "0.1", "--good-at-least", "3")
STALLED = """
import sys, time
from cutline.streaming import buckets, lots, stream
from cutline.cli.app import run

def stall(*_, **__):
    print("here", flush=True)
    time.sleep(600)

{where}
sys.exit(run(sys.argv[1:]))
"""
AT = {
    "calibrate": "lots.Reader.__call__ = stall",
    "apply": "from cutline.streaming import applying; applying._Parquet.finish = stall",
    "the bucketing pass": "stream.chunk_of_bucket = stall",
}


@pytest.fixture
def room(tmp_path, monkeypatch) -> Path:
    """A place for temporary files of its own."""
    made = tmp_path / "room"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return made


@pytest.mark.parametrize("when", AT)
def test_a_killed_run_leaves_nothing_under_the_final_name_and_the_next_one_tidies_up(tmp_path, room, when):
    data = tmp_path / "data"
    data.mkdir()
    rows = table() if when != "the bucketing pass" else scattered(table())
    parquet(data / "rows.parquet", rows)
    assert (
        shell("calibrate", parquet(tmp_path / "whole.parquet", table()), *PROMISE, "-o", tmp_path / "cert.json").code
        == 0
    )
    out = tmp_path / "out" / ("cut.parquet" if when == "apply" else "cert.json")
    out.parent.mkdir()
    if when == "apply":
        command = ["apply", str(tmp_path / "cert.json"), str(data), "-o", str(out)]
    else:
        command = ["calibrate", str(data), *PROMISE, "-o", str(out)]
    program = STALLED.format(where=AT[when])
    run = subprocess.Popen([sys.executable, "-c", program, *command], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n"
    left = {path.name for path in room.iterdir()}
    assert any(name.startswith(PREFIX) for name in left)
    assert not out.exists()
    with scratch():  # a run beside it leaves it alone
        assert left <= {path.name for path in room.iterdir()}
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert [path.suffix for path in out.parent.iterdir()] == ([".part"] if when == "apply" else [])
    assert left == {path.name for path in room.iterdir()}
    assert shell(*command).code == 0
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert not any(room.iterdir())


def test_an_interrupted_run_says_so_in_one_line_and_leaves_nothing(tmp_path, room):
    path, out = parquet(tmp_path / "rows.parquet", table()), tmp_path / "cert.json"
    program = STALLED.format(where="from cutline.streaming import calibrating; calibrating.calibrate_stream = stall")
    command = ["calibrate", f"{path}*", *PROMISE, "-o", str(out)]
    run = subprocess.Popen(
        [sys.executable, "-c", program, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n"
    run.send_signal(signal.SIGINT)
    said, told = run.communicate(timeout=60)
    assert (run.returncode, said, told) == (130, "", "cutline: interrupted\n")
    assert not out.exists()
    assert not any(room.iterdir())


def test_parts_of_files_that_are_being_written_are_left_alone(tmp_path):
    with _files.whole_file(tmp_path / "a.json") as file:
        file.write(b"one")
        _files.write_whole(tmp_path / "a.json", "two")
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "one"


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one mebibyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_line_for_the_output(tmp_path, small_disk):
    wide = table(4000)
    data = tmp_path / "data"
    data.mkdir()
    parquet(data / "rows.parquet", wide, group=5000)
    assert shell("calibrate", data, *PROMISE, "-o", tmp_path / "cert.json").code == 0
    for name in ("cut.csv", "cut.jsonl"):
        ended = shell("apply", tmp_path / "cert.json", data, "-o", small_disk / name, "--keep-all")
        assert refused(ended, name, "cannot be written", "No space left on device", folder=small_disk)


def test_a_full_disk_is_one_line_for_temporary_rows(tmp_path, small_disk, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(small_disk))
    monkeypatch.setattr(tempfile, "tempdir", None)
    data = tmp_path / "data"
    data.mkdir()
    parquet(data / "rows.parquet", scattered(table(20_000)), group=20_000)
    ended = shell("calibrate", data, *PROMISE, "-o", tmp_path / "cert.json")
    assert refused(ended, "rows cannot be sorted there", "No space left on device", "TMPDIR", folder=small_disk)
    assert not (tmp_path / "cert.json").exists()


def test_a_truncated_file_is_refused(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    whole = parquet(data / "rows.parquet", table()).read_bytes()
    (data / "rows.parquet").write_bytes(whole[: len(whole) // 2])
    assert refused(shell("calibrate", data, *PROMISE), "rows.parquet cannot be read")
    damaged = bytearray(whole)
    damaged[200:4200] = b"\xff" * 4000
    (data / "rows.parquet").write_bytes(bytes(damaged))
    assert refused(shell("calibrate", data, *PROMISE), "rows.parquet")
    (data / "rows.parquet").unlink()
    (data / "rows.csv").write_text("query_id,item_id,score,label\nq,a,0.5,1\nq,b,0.4\n")
    assert refused(shell("calibrate", data, *PROMISE), "rows.csv, line 3: 3 cells, and the first line has 4")


def test_files_that_are_not_alike_are_refused(tmp_path):
    rows = table(20)
    parquet(tmp_path / "a.parquet", rows)
    parquet(tmp_path / "b.parquet", rows.set_column(2, "score", rows["score"].cast(pa.string())))
    assert refused(
        shell("calibrate", tmp_path, *PROMISE), "b.parquet has string in column 'score'", "a.parquet has double"
    )
    parquet(tmp_path / "b.parquet", rows.drop_columns(["label"]))
    assert refused(shell("calibrate", tmp_path, *PROMISE), "b.parquet has no column 'label', which")
    (tmp_path / "b.parquet").rename(tmp_path / "b.csv")
    assert refused(shell("calibrate", tmp_path, *PROMISE), "b.csv is csv, and", "is parquet")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = parquet(tmp_path / "rows.parquet", table())

    def change(_: object) -> int:
        if not changed:
            changed.append(1)
            parquet(path, table(seed=5))
        return 0

    changed: list[int] = []
    with opened(path) as stream, pytest.raises(InputError, match=r"rows\.parquet changed while it was read"):
        stream.settled(lambda: list(stream.results(change)))
    with opened(path) as stream:
        path.write_bytes(b"PAR1 no more")
        with pytest.raises(InputError, match=r"rows\.parquet changed while it was read"):
            stream.settled(lambda: list(stream.results(change)))


def test_an_error_in_a_chunk_ends_the_threads(tmp_path):
    path = parquet(tmp_path / "rows.parquet", table(), group=50)

    def fail(_: object) -> int:
        raise InputError("no more")

    before = threading.active_count()
    with pytest.raises(InputError, match="no more"), opened(path) as stream:
        list(stream.results(fail))
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_no_room_for_temporary_rows_is_told(tmp_path, monkeypatch):
    path = parquet(tmp_path / "rows.parquet", table(5))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"none: no folder for temporary rows.*TMPDIR"):
        streamed(path)


def test_the_rule_of_what_is_read_in_chunks_follows_from_the_size(tmp_path):
    path = parquet(tmp_path / "rows.parquet", table(2000))
    size = pq.read_table(path).nbytes
    assert not streaming.reads_in_chunks(path, None, 16 * size)
    assert streaming.reads_in_chunks(path, None, size)
    assert streaming.reads_in_chunks(tmp_path, None, None)
