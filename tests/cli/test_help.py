"""Help begins with an example that works; completion knows the flags."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.shell import shell
from tests.rankers.worlds import world, write_letor

import cutline as cl

COMMANDS = ["calibrate", "apply", "audit", "show", "frontier", "plan", "train", "score", "demo", "paper"]


@pytest.fixture
def at_work(tmp_path, monkeypatch):
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    one, other = cl.datasets.simulate(1_500, rng=0).split(0.5, rng=0)
    cl.io.write_queries(one, "bm25.run")
    cl.io.write_queries(other, "held_out.run")
    cl.io.write_queries(one, "qrels.qrels")
    judged = cl.datasets.simulate(1_500, rng=0)
    cl.io.write_queries(judged, "all.qrels")
    Path("all.qrels").rename("qrels.txt")
    cl.io.write_queries(one, "scores.parquet")
    write_letor(tmp_path / "train.svm", *world(30))
    write_letor(tmp_path / "new.svm", *world(5, seed=1))
    return tmp_path


def example_of(text: str) -> str:
    flat = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())
    found = re.search(r"Example: (cutline .*?)(?= [A-Z][a-z]+ )", flat)
    assert found, flat[:300]
    return found[1]


def test_the_examples_of_all_commands_work_one_after_the_other(at_work):
    for command in COMMANDS:
        text = shell(command, "--help").out
        before = text.index("Example:")
        assert "Options" not in text[:before], "the example comes first"
        words = shlex.split(example_of(text))
        assert words[:2] == ["cutline", command]
        ended = shell(*words[1:])
        assert ended.code == 0, (words, ended)
    assert (at_work / "cert.json").exists()
    assert (at_work / "cut.run").exists()


def test_help_without_arguments_lists_the_commands():
    ended = shell()
    assert all(command in ended.out for command in COMMANDS)
    assert ended.err == ""
    start = re.search(r"Start with: (cutline .*cert\.json)", " ".join(ended.out.split()))
    assert start


def test_the_start_that_help_proposes_works(at_work):
    start = re.search(r"Start with: (cutline .*cert\.json)", " ".join(shell("--help").out.split()))
    assert start
    assert shell(*shlex.split(start[1])[1:]).code == 0


def test_version_is_printed():
    assert shell("--version").out == f"cutline {cl.__version__}\n"


@pytest.mark.parametrize(("words", "offered"), [("cutline cal", "calibrate"), ("cutline calibrate --evi", "--evidence"),
                                                ("cutline calibrate a --evidence bet", "betting")])  # fmt: skip
def test_the_shell_completes_commands_flags_and_names(words, offered):
    count = len(words.split()) - 1
    environment = {**os.environ, "_CUTLINE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    script = "import sys; sys.argv[0] = 'cutline'; from cutline.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert offered in ended.stdout, ended


def test_commands_run_as_a_module_too():
    ended = subprocess.run([sys.executable, "-m", "cutline", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"cutline {cl.__version__}\n"


def test_help_loads_none_of_the_heavy_libraries():
    code = (
        "import sys; from cutline.cli.app import run; run(['--help']);"
        "print(sorted({'numpy', 'pyarrow', 'numba', 'scipy', 'msgspec', 'torch'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == "[]\n"
