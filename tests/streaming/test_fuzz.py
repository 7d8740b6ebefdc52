"""No folder of files whatever leads to a traceback when it is read in chunks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.shell import shell

import cutline as cl

WORLD = cl.datasets.simulate(6, rng=0)
ENDINGS = ["parquet", "csv", "tsv", "run"]
PROMISE = ["--alpha", "0.5", "--delta", "0.1", "--good-at-least", "2", "--evidence", "convex"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("fuzz")
    for ending in [*ENDINGS, "qrels"]:
        cl.io.write_queries(WORLD, made / f"whole.{ending}")
    certificate = cl.calibrate(
        cl.datasets.simulate(400, rng=0), loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.4, delta=0.1
    )
    certificate.save(made / "cert.json")
    return made


def ends_well(rows: Path, folder: Path) -> list[int]:
    labels = ["--labels", folder / "whole.qrels"] if any(rows.glob("*.run")) else []
    commands = [
        ["calibrate", rows, *PROMISE, *labels],
        ["apply", folder / "cert.json", rows, "-o", folder / "out.jsonl"],
    ]
    codes = []
    for command in commands:
        ended = shell(*command)
        assert ended.code in (0, 2, 3), (command, ended)
        assert "Traceback" not in ended.err
        if ended.code == 2:
            said = [line for line in ended.err.splitlines() if not line.startswith("cutline: note:")]
            assert len(said) == 1, said
        codes.append(ended.code)
    return codes


@pytest.mark.parametrize("ending", ENDINGS)
@settings(deadline=None, max_examples=int(os.environ.get("FUZZ", "15")))
@given(data=st.data())
def test_files_with_random_edits_are_read_or_refused(folder, ending, data):
    content = bytearray((folder / f"whole.{ending}").read_bytes())
    for _ in range(data.draw(st.integers(1, 3), label="edits")):
        place = data.draw(st.integers(0, max(0, len(content) - 1)), label="place")
        kind = data.draw(st.sampled_from(["change", "cut", "drop", "double", "insert"]), label="kind")
        if kind == "change":
            content[place : place + 1] = data.draw(st.binary(min_size=1, max_size=1))
        elif kind == "cut":
            del content[place:]
        elif kind == "drop":
            del content[place : place + data.draw(st.integers(1, 40))]
        elif kind == "double":
            content[place:place] = content[place : place + 60]
        else:
            content[place:place] = data.draw(
                st.sampled_from([b"\n", b"\t", b",", b'"', b" ", b"nan", b"\x00", b"\xff"])
            )
    rows = folder / ending
    rows.mkdir(exist_ok=True)
    (rows / f"edited.{ending}").write_bytes(bytes(content))
    ends_well(rows, folder)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_commands_of_these_tests_do_run_on_whole_files(folder, ending):
    rows = folder / f"good-{ending}"
    rows.mkdir()
    (rows / f"whole.{ending}").write_bytes((folder / f"whole.{ending}").read_bytes())
    codes = ends_well(rows, folder)
    assert codes[0] in (0, 3)
    assert codes[1] == 0
