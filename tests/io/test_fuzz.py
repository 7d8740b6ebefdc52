"""No file whatever leads to a traceback: each is read, or refused in one line."""

from __future__ import annotations

import gzip
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.shell import shell
from tests.io import files

import cutline as cl
from cutline.errors import CutlineWarning

WORLD = cl.datasets.simulate(6, rng=0)
ENDINGS = ["parquet", "csv", "tsv", "jsonl", "run", "qrels", "svm", "txt", "csv.gz", "run.gz", "jsonl.gz", "parquet.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("fuzz")
    for ending in ENDINGS:
        if ending not in ("svm", "txt"):
            cl.io.write_queries(WORLD, made / f"whole.{ending}")
    files.write_letor(WORLD, made).rename(made / "whole.svm")
    (made / "whole.txt").write_bytes((made / "whole.run").read_bytes())
    files.write(made / "good.run", (made / "whole.run").read_bytes())
    files.write(made / "good.qrels", (made / "whole.qrels").read_bytes())
    certificate = cl.calibrate(
        cl.datasets.simulate(400, rng=0), loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.4, delta=0.1
    )
    certificate.save(made / "cert.json")
    return made


def commands(path: Path, folder: Path) -> list[list[object]]:
    """The commands that read a file in each of its roles."""
    promise = ["--alpha", "0.5", "--delta", "0.1", "--good-at-least", "2", "--evidence", "convex"]
    letor = ["--predictions", folder / "predictions.txt"] if ".svm" in path.name else []
    return [
        ["calibrate", path, *promise, *letor],
        ["calibrate", folder / "good.run", "--labels", path, *promise],
        ["apply", folder / "cert.json", path, "-o", folder / "out.jsonl", *letor],
    ]


def ends_well(path: Path, folder: Path) -> None:
    for command in commands(path, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CutlineWarning)
            ended = shell(*command)
        assert ended.code in (0, 2, 3), (command, ended)
        assert "Traceback" not in ended.err
        if ended.code == 2:
            said = [line for line in ended.err.splitlines() if not line.startswith("cutline: note:")]
            assert len(said) == 1, said
            assert 0 < len(said[0]) < 1000


EXAMPLES = settings(deadline=None, max_examples=int(os.environ.get("FUZZ", "25")))


@pytest.mark.parametrize("ending", ENDINGS)
@EXAMPLES
@given(content=st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(folder, ending, content):
    path = folder / f"random.{ending}"
    path.write_bytes(gzip.compress(content, mtime=0) if ending.endswith("gz") else content)
    ends_well(path, folder)


@pytest.mark.parametrize("ending", ENDINGS)
@EXAMPLES
@given(data=st.data())
def test_files_with_random_edits_are_read_or_refused(folder, ending, data):
    packed = ending.endswith("gz") and data.draw(st.booleans(), label="edit what is packed")
    whole = (folder / f"whole.{ending}").read_bytes()
    content = bytearray(gzip.decompress(whole) if packed else whole)
    for _ in range(data.draw(st.integers(1, 4), label="edits")):
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
                st.sampled_from(
                    [b"\n", b"\t", b",", b'"', b" ", b"nan", b"1e999", b"\x00", b"\xff", b"{", b"qid:", b"\r", b"-"]
                )
            )
    path = folder / f"edited.{ending}"
    path.write_bytes(gzip.compress(bytes(content), mtime=0) if packed else bytes(content))
    ends_well(path, folder)


@EXAMPLES
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused_as_predictions_group_sizes_and_certificates(folder, text):
    path = folder / "any.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    promise = ["--alpha", "0.5", "--delta", "0.1", "--good-at-least", "2"]
    for command in (
        ["calibrate", folder / "whole.svm", "--predictions", path, *promise],
        ["calibrate", folder / "whole.svm", "--predictions", folder / "predictions.txt", "--groups", path, *promise],
        ["show", path],
    ):
        ended = shell(*command)
        assert ended.code == 2, ended
        assert len(ended.err.splitlines()) == 1


def test_the_commands_of_these_tests_do_run_on_whole_files(folder):
    for ending in ENDINGS:
        codes = [shell(*command).code for command in commands(folder / f"whole.{ending}", folder)]
        assert 0 in codes or 3 in codes, ending
    assert (folder / "out.jsonl").stat().st_size > 0
