"""cutline paper, as a shell runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pyarrow.parquet as pq
from tests.cli.shell import refused, shell


def test_figures_are_told_one_by_one_and_the_page_at_the_end(tmp_path):
    ended = shell("paper", "diversity-example", "--out", tmp_path, "--size", "small", "--repeats", 3)
    assert ended.code == 0
    assert ended.out.startswith("diversity-example.movielens: On the MovieLens films")
    assert ended.out.rstrip().endswith("paper.html")
    assert ended.err == ""
    told = shell("paper", "diversity-example", "--out", tmp_path, "--size", "small", "--repeats", 3, "--json").json
    assert told["figures"][0]["on"] == "MovieLens films"
    assert told["missing"] == []


def test_what_is_wrong_is_one_line_and_nothing_is_written(tmp_path):
    out = tmp_path / "out"
    assert refused(shell("paper", "teasers", "--out", out), "experiments are teaser", "'teasers'")
    assert refused(shell("paper", "--out", out, "--repeats", 0), "--repeats must be a whole number of at least 1")
    assert refused(shell("paper", "--out", out, "--data", tmp_path), "set1.train.txt", "msmarco-docs.tsv")
    assert refused(shell("paper", "--out", out, "--data", tmp_path / "none"), "no folder that can be read")
    assert refused(shell("paper"), "--out")
    assert not out.exists()
    out.write_text("mine")
    assert refused(shell("paper", "--out", out), "is a file")
    assert out.read_text() == "mine"


def test_a_run_that_is_interrupted_leaves_whole_figures_and_no_page(tmp_path):
    command = [sys.executable, "-m", "cutline", "paper", "--out", str(tmp_path), "--size", "small", "--repeats", "3"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        while not list(tmp_path.glob("*.svg")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert not (tmp_path / "paper.html").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    for path in tmp_path.iterdir():
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().tag.endswith("svg")
        elif path.suffix == ".png":
            assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
        else:
            assert pq.read_table(path).num_rows
