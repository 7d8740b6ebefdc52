"""Every bad input is one line on stderr that says where it is, what came and what is wanted; nothing is written."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import Ended, names_in, refused, shell
from tests.io import files

import cutline as cl

PROMISE = ("--alpha", "0.3", "--delta", "0.1", "--good-at-least", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files.write(tmp_path / "a.run", files.RUN)
    files.write(tmp_path / "a.qrels", files.QRELS)
    return tmp_path


def calibrate(scores: Path, *flags: object) -> Ended:
    return shell("calibrate", scores, *PROMISE, "-o", scores.parent / "cert.json", *flags)


def bad(folder: Path, name: str, content: str | bytes, *words: str, flags: tuple[object, ...] = ()) -> bool:
    """Whether a file of scores is refused with these words."""
    path = files.write(folder / name, content)
    had = names_in(folder)
    return refused(calibrate(path, *flags), *words, folder=folder, had=had)


def test_a_missing_file_is_named(folder):
    had = names_in(folder)
    assert refused(calibrate(folder / "none.csv"), "none.csv", "No such file", folder=folder, had=had)
    assert refused(calibrate(folder / "a.run", "--labels", folder / "none.qrels"), "none.qrels", "No such file")


def test_an_unknown_ending_lists_the_known_ones(folder):
    assert bad(folder, "scores.xlsx", "a", "scores.xlsx", "unknown ending '.xlsx'", ".parquet", "--format", "letor")
    assert bad(folder, "scores", files.RUN, "a name without an ending", "--format")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "run", "parquet", "svm", "txt", "csv.gz"])
def test_an_empty_file_is_called_empty(folder, ending):
    path = folder / f"e.{ending}"
    path.write_bytes(b"")
    assert refused(calibrate(path), path.name, "is empty")


@pytest.mark.parametrize("ending", ["csv.gz", "run.gz", "jsonl.gz", "svm.gz", "parquet.gz"])
def test_an_empty_file_that_was_gzipped_is_refused(folder, ending):
    path = folder / f"e.{ending}"
    path.write_bytes(gzip.compress(b""))
    assert refused(calibrate(path), path.name)


def test_a_header_without_rows_is_refused(folder):
    assert bad(folder, "h.csv", "query_id,item_id,score,label\n", "h.csv has a header and no rows")
    pq.write_table(
        pa.table({"query_id": pa.array([], pa.string()), "score": pa.array([], pa.float64())}), folder / "h.parquet"
    )
    assert refused(calibrate(folder / "h.parquet"), "h.parquet has columns and no rows")
    assert bad(folder, "h.jsonl", "\n\n", "h.jsonl holds no rows")
    assert bad(folder, "h.run", "\n \n", "h.run holds no lines of 6 fields")


def test_a_missing_column_is_named_with_those_there_are_and_the_nearest(folder):
    bad_csv = files.SMALL.replace("score", "scores")
    assert bad(
        folder, "m.csv", bad_csv, "m.csv has no column for the score", "'query_id', 'item_id', 'scores'",
        "did you mean 'scores'?", "--score-column",
    )  # fmt: skip
    assert bad(folder, "n.csv", files.SMALL, "'prediction'", "'score'", flags=("--score-column", "prediction"))
    assert bad(folder, "o.csv", files.SMALL.replace("label", "click"), "o.csv has no labels", "--labels QRELS")
    pq.write_table(pa.table({"qid": ["a"], "skore": [1.0]}), folder / "m.parquet")
    assert refused(calibrate(folder / "m.parquet"), "m.parquet has no column for the score", "did you mean 'skore'?")
    assert bad(folder, "m.jsonl", '{"qid": "a", "skore": 1}\n', "m.jsonl has no column", "did you mean 'skore'?")


@pytest.mark.parametrize(
    ("cell", "came"), [("nan", "missing or NaN"), ("inf", "inf"), ("-inf", "-inf"), ("", "missing or NaN")]
)
def test_scores_that_are_not_finite_are_named_by_line_and_pair(folder, cell, came):
    content = files.SMALL.replace("q2,a,0.7", f"q2,a,{cell}")
    assert bad(folder, "s.csv", content, "s.csv, line 4", "query 'q2', item 'a'", f"is {came}", "finite numbers")


@pytest.mark.parametrize("cell", ["nan", "inf", "1e999"])
def test_scores_of_runs_and_predictions_are_finite(folder, cell):
    run = files.RUN.replace("a 1 0.7", f"a 1 {cell}")
    assert bad(folder, "s.run", run, "s.run, line 3", "finite numbers", flags=("--labels", folder / "a.qrels"))
    files.write(folder / "p.txt", files.PREDICTIONS.replace("0.7", cell))
    assert bad(
        folder, "s.svm", files.LETOR, "p.txt, line 3", "finite numbers", flags=("--predictions", folder / "p.txt")
    )


def test_text_scores_are_shown(folder):
    assert bad(folder, "t.csv", files.SMALL.replace("0.7", "high"), "t.csv, line 4: the score is the text 'high'")
    assert bad(folder, "t.run", files.RUN.replace("0.7", "high"), "t.run, line 3: the score is the text 'high'")
    rows = [{"query_id": "q", "item_id": "a", "score": "high", "label": 1}]
    assert bad(folder, "t.jsonl", json.dumps(rows[0]), "t.jsonl, line 1: the score is the text 'high'")
    pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet")
    assert refused(calibrate(folder / "t.parquet"), "t.parquet, row 1: the score is the text 'high'")
    assert bad(
        folder,
        "l.csv",
        files.SMALL.replace(",1,desktop", ",good,desktop"),
        "l.csv, line 4: the label is the text 'good'",
    )
    files.write(folder / "b.qrels", files.QRELS.replace("q2 0 a 1", "q2 0 a good"))
    assert refused(
        calibrate(folder / "a.run", "--labels", folder / "b.qrels"), "b.qrels, line 3: the label is the text 'good'"
    )


def test_a_pair_that_appears_twice_is_named_with_both_places(folder):
    assert bad(
        folder,
        "d.csv",
        files.SMALL + "q1,a,0.2,0,phone\n",
        "d.csv, line 6",
        "query 'q1', item 'a' appears twice",
        "line 2",
    )
    assert bad(
        folder, "d.run", files.RUN + "q1 Q0 a 3 0.2 t\n", "d.run, line 5", "'q1', item 'a' appears twice", "line 1",
        flags=("--labels", folder / "a.qrels"),
    )  # fmt: skip
    files.write(folder / "d.qrels", files.QRELS + "q2 0 c 2\n")
    assert refused(
        calibrate(folder / "a.run", "--labels", folder / "d.qrels"), "d.qrels, line 5", "'q2', item 'c' appears twice"
    )


def test_judgments_of_other_queries_are_shown_beside_an_id_of_the_run(folder):
    files.write(folder / "o.qrels", files.QRELS.replace("q", "topic-"))
    had = names_in(folder)
    ended = calibrate(folder / "a.run", "--labels", folder / "o.qrels")
    assert refused(ended, "a.run", "o.qrels", "share no query", "'q1'", "'topic-1'", folder=folder, had=had)


def test_predictions_of_the_wrong_length_are_counted(folder):
    files.write(folder / "p.txt", "1\n2\n3\n")
    flags = ("--predictions", folder / "p.txt")
    assert bad(folder, "s.svm", files.LETOR, "p.txt has 3 predictions", "s.svm has 4 rows", flags=flags)
    assert bad(folder, "t.svm", files.LETOR, "features and no scores", "--predictions FILE")
    files.write(folder / "q.txt", "1\nx\n3\n4\n")
    assert bad(folder, "u.svm", files.LETOR, "q.txt, line 2", "got 'x'", flags=("--predictions", folder / "q.txt"))
    assert bad(folder, "p.csv", files.SMALL, "predictions belong to LETOR files", flags=flags)


@pytest.mark.parametrize("ending", ["csv.gz", "run.gz", "jsonl.gz", "svm.gz"])
def test_a_gzip_file_that_was_cut_off_is_refused(folder, ending):
    content = {"csv": files.SMALL, "run": files.RUN, "svm": files.LETOR}.get(ending[:3], '{"qid": "a", "score": 1}\n')
    whole = gzip.compress(content.encode() * 50)
    files.write(folder / "p.txt", files.PREDICTIONS)
    (folder / f"c.{ending}").write_bytes(whole[: len(whole) // 2])
    flags = ("--predictions", folder / "p.txt") if ending[:3] == "svm" else ()
    assert refused(calibrate(folder / f"c.{ending}", *flags), f"c.{ending} cannot be read", "damaged or cut off")


def test_a_parquet_file_that_was_cut_off_is_refused(folder):
    cl.io.write_queries(cl.datasets.simulate(50, rng=0), folder / "w.parquet")
    (folder / "c.parquet").write_bytes((folder / "w.parquet").read_bytes()[:-200])
    assert refused(calibrate(folder / "c.parquet"), "c.parquet cannot be read")
    (folder / "n.parquet").write_bytes(b"PAR1" + b"x" * 100)
    assert refused(calibrate(folder / "n.parquet"), "n.parquet cannot be read")


def test_a_name_that_says_gzip_and_a_file_that_is_not_are_told_apart(folder):
    (folder / "a.csv.gz").write_bytes(files.SMALL.encode())
    assert refused(calibrate(folder / "a.csv.gz"), "not gzipped, as its name says")
    (folder / "b.csv").write_bytes(gzip.compress(files.SMALL.encode()))
    assert refused(calibrate(folder / "b.csv"), "is gzipped", "b.csv.gz")


@pytest.mark.parametrize(("fields", "line"), [("q1 Q0 b 2 0.5", 2), ("q1 Q0 b 2 0.5 bm25 more", 2)])
def test_a_line_of_a_run_without_six_fields_is_named(folder, fields, line):
    run = files.RUN.replace("q1 Q0 b 2 0.5 bm25", fields)
    count = len(fields.split())
    assert bad(
        folder,
        "f.run",
        run,
        f"f.run, line {line}: {count} fields, and 6 are wanted: query_id iter item_id rank score tag",
    )


def test_a_line_of_cells_that_are_too_few_is_named(folder):
    assert bad(folder, "f.csv", files.SMALL.replace(",0,phone", ""), "f.csv, line 3: 3 cells, and the first line has 5")


@pytest.mark.parametrize("name", ["u.csv", "u.run", "u.jsonl", "u.svm", "u.tsv"])
def test_bytes_that_are_not_utf_8_are_found(folder, name):
    content = {
        "u.csv": files.SMALL.encode().replace(b"q2,c", b"q2,\xff\xfe"),
        "u.tsv": files.SMALL.replace(",", "\t").encode().replace(b"q2\tc", b"q2\t\xff\xfe"),
        "u.run": files.RUN.encode().replace(b"q2 Q0 c", b"q2 Q0 \xff\xfe"),
        "u.jsonl": b'{"qid": "a", "score": 1}\n' * 4 + b'{"qid": "\xff", "score": 1}\n',
        "u.svm": files.LETOR.encode().replace(b"# c", b"# \xff"),
    }[name]
    line = {"u.csv": 5, "u.tsv": 5, "u.run": 4, "u.jsonl": 5, "u.svm": 4}[name]
    files.write(folder / "p.txt", files.PREDICTIONS)
    flags = ("--predictions", folder / "p.txt") if name == "u.svm" else ()
    assert bad(folder, name, content, f"{name}, line {line}: not UTF-8", flags=flags)


def test_a_folder_is_no_file_to_read_or_to_write(folder):
    (folder / "d.csv").mkdir()
    assert refused(calibrate(folder / "d.csv"), "d.csv is a folder")
    ended = shell("calibrate", folder / "a.run", "--labels", folder / "a.qrels", *PROMISE, "-o", folder / "d.csv")
    assert refused(ended, "cannot be written", "a folder")


@pytest.mark.parametrize("where", ["none/cert.json", "a.run/cert.json"])
def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(folder, where):
    had = names_in(folder)
    ended = shell("calibrate", folder / "a.run", "--labels", folder / "a.qrels", *PROMISE, "-o", folder / where)
    assert refused(ended, "cert.json: cannot be written", "check the folder", folder=folder, had=had)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_what_may_not_be_read_or_written_is_refused(folder):
    (folder / "a.run").chmod(0)
    assert refused(calibrate(folder / "a.run"), "Permission denied")
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    ended = shell("calibrate", folder / "a.csv", *PROMISE, "-o", closed / "cert.json")
    assert refused(ended, "Permission denied")


def test_the_scores_are_not_their_own_judgments(folder):
    path = files.write(folder / "s.csv", files.SMALL)
    (folder / "link.csv").symlink_to(path)
    for labels in (path, folder / "link.csv"):
        words = "--labels names the file of scores itself", "leave --labels out where the scores have a label column"
        assert refused(calibrate(path, "--labels", labels), *words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--score-column", "label", "--label-column", "label"), "'label' was given to --score-column and --label-col"),
        (("--item-column", "q", "--query-column", "q"), "'q' was given to --query-column and --item-column"),
        (("--score-column", "v", "--vectors", "v", "--diverse", 2), "'v' was given to --score-column and --vectors"),
    ],
)
def test_a_column_is_given_one_role(folder, flags, words):
    assert refused(calibrate(files.write(folder / "s.csv", files.SMALL), *flags), words)


def test_a_column_without_labels_is_named(folder):
    head, *rows = files.SMALL.splitlines()
    path = files.write(folder / "s.csv", "\n".join([head, *(f"{row.rsplit(',', 2)[0]},,x" for row in rows), ""]))
    assert refused(
        calibrate(path), "s.csv: the column 'label' has no labels, every one is missing; fill it", "--labels"
    )


def test_unjudged_items_that_are_refused_are_told_in_flags(folder):
    path = files.write(folder / "s.csv", files.SMALL.replace("0.1,2,", "0.1,,"))
    assert refused(calibrate(path, "--unjudged", "error"), "choose --unjudged bad or --unjudged drop")


def test_true_and_false_are_labels_and_numbers_beside_them_are_not(folder):
    mixed = files.SMALL.replace(",3,phone", ",True,phone")
    assert bad(folder, "b.csv", mixed, "b.csv, line 2: the label is the text 'True'; write 1 and 0")
    truths = mixed.replace(",0,", ",False,").replace(",2,d", ",True,d")
    assert bad(folder, "c.csv", truths.replace("0.7,1", "high,1"), "c.csv, line 4: the score is the text 'high'")
    assert bad(folder, "d.csv", truths.replace("0.9", "True"), "d.csv, line 2: the score is the text 'True'")


def test_a_certificate_and_scores_that_were_swapped_are_told_apart(folder):
    certificate = certified(folder)
    words = "a.run is no certificate", "CERT comes first, then SCORES; were the two swapped?"
    assert refused(shell("apply", folder / "a.run", certificate, "-o", folder / "o.run"), *words)
    assert refused(shell("audit", folder / "a.run", certificate, "--labels", folder / "a.qrels"), *words)


def test_dictionaries_are_sent_to_python(folder):
    assert bad(
        folder, "s.json", "{}", "unknown ending '.json'", "{query: {item: score}} goes through Queries.from_dict"
    )


def test_the_output_is_never_the_input(folder):
    path = files.write(folder / "s.csv", files.SMALL)
    before = path.read_bytes()
    assert refused(shell("calibrate", path, *PROMISE, "-o", path), "is the input")
    (folder / "link.csv").symlink_to(path)
    assert refused(shell("calibrate", path, *PROMISE, "-o", folder / "link.csv"), "is the input")
    certificate = certified(folder)
    assert refused(shell("apply", certificate, path, "-o", path), "is the input")
    assert refused(shell("apply", certificate, path, "-o", certificate), "cert.json is the input")
    assert refused(shell("audit", certificate, path, "-o", certificate), "is the input")
    assert path.read_bytes() == before


def certified(folder: Path) -> Path:
    queries = cl.datasets.simulate(400, rng=0)
    certificate = cl.calibrate(queries, loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.4, delta=0.1)
    certificate.save(folder / "cert.json")
    return folder / "cert.json"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--alpha", "30"), ("--alpha must be in (0, 1), got 30.0", "did you mean 0.30?")),
        (("--delta", "0"), ("--delta must be in (0, 1), got 0.0",)),
        (("--alpha", "third"), ("--alpha", "'third' is not a number", "cutline calibrate --help")),
        (("--thresholds", "0.01:0.99:0.01"), ("--thresholds must fall strictly", "reverse them")),
        (("--thresholds", "0.5,0.7"), ("--thresholds must fall strictly",)),
        (("--thresholds", "0.9:0.1"), ("START:STOP:STEP", "'0.9:0.1'")),
        (("--thresholds", "many"), ("START:STOP:STEP", "'many'")),
        (("--loss", "miss", "--thresholds", "0.9,0.1"), ("--thresholds must rise strictly",)),
        (("--evidence", "bayes"), ("'bayes'", "betting", "wsr", "convex", "hoeffding-bentkus", "normal")),
        (("--good-top", "5"), ("--good-at-least", "--good-top", "got both")),
        (("--diverse", "0"), ("--diverse must be a whole number of at least 1, got 0",)),
        (("--max-size", "0"), ("--max-size must be a whole number of at least 1",)),
        (("--min-size", "5", "--max-size", "3"), ("at most max_size",)),
        (("--scale", "2"), ("--scale belongs to --scoring win-rate",)),
        (("--scoring", "win-rate", "--scale", "0"), ("--scale must be above 0",)),
        (("--format", "excel"), ("there is no format 'excel'",)),
        (("--query-column", "session"), ("--query-column", "'session'", "without names")),
        (("--nonsense",), ("--nonsense", "cutline calibrate --help")),
        (("--thresholds", "exact"), ("exact", "--evidence convex")),
    ],
)
def test_flags_that_make_no_sense_are_refused(folder, flags, words):
    given = dict(zip(PROMISE[::2], PROMISE[1::2], strict=True))
    for flag in flags[::2]:
        given.pop(flag, None)
    rest = [part for pair in given.items() for part in pair]
    had = names_in(folder)
    ended = shell("calibrate", folder / "a.run", "--labels", folder / "a.qrels", *rest, *flags, "-o", folder / "c.json")
    assert refused(ended, *words, folder=folder, had=had)


@pytest.mark.parametrize("top", ["0", "-3", "0.2", "120%", "x", "%", "nan%"])
def test_good_top_is_a_number_or_a_share(folder, top):
    promise = ("--alpha", "0.3", "--delta", "0.1")
    ended = shell("calibrate", folder / "a.run", "--labels", folder / "a.qrels", *promise, f"--good-top={top}")
    assert refused(ended)


def test_what_is_good_must_be_said(folder):
    ended = shell("calibrate", folder / "a.run", "--labels", folder / "a.qrels", "--alpha", "0.3", "--delta", "0.1")
    assert refused(ended, "--good-at-least", "--good-top", "got neither")


@pytest.mark.parametrize("command", ["show", "apply", "audit"])
def test_an_edited_certificate_is_refused(folder, command):
    certificate = certified(folder)
    certificate.write_text(certificate.read_text().replace('"alpha": 0.4', '"alpha": 0.2'))
    path = files.write(folder / "s.csv", files.SMALL)
    rest = {"show": (), "apply": (path, "-o", folder / "out.csv"), "audit": (path,)}[command]
    had = names_in(folder)
    assert refused(shell(command, certificate, *rest), "cert.json was edited", folder=folder, had=had)


def test_a_column_to_audit_by_must_be_there(folder):
    path = files.write(folder / "s.csv", files.SMALL)
    assert refused(shell("audit", certified(folder), path, "--by", "country"), "no column 'country'", "'device'")


def test_a_run_cannot_say_what_was_chosen(folder):
    path = files.write(folder / "s.csv", files.SMALL)
    assert refused(
        shell("apply", certified(folder), path, "-o", folder / "o.run", "--keep-all"), "o.run", "write a table"
    )
    assert refused(shell("apply", certified(folder), path, "-o", folder / "o.qrels"), "holds no scores")
    assert refused(shell("apply", certified(folder), path, "-o", folder / "o.doc"), "unknown ending '.doc'")
    assert refused(shell("apply", certified(folder), path, "-o", folder / "o.svm"), "LETOR holds features")


def test_ids_with_white_space_do_not_go_into_a_run(folder):
    path = files.write(folder / "s.csv", "query_id,item_id,score\nq,a b,0.9999\n")
    had = {*names_in(folder), "cert.json"}
    ended = shell("apply", certified(folder), path, "-o", folder / "o.run")
    assert refused(ended, "'a b' has white space", folder=folder, had=had)


def test_messages_hold_no_control_characters(folder):
    assert bad(folder, "c.csv", files.SMALL.replace("0.7", "\x1b[31mred"), "\\x1b[31mred")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs the /proc of Linux")
def test_a_file_that_cannot_be_read_and_a_folder_that_takes_none_are_refused(folder):
    (folder / "mem.csv").symlink_to("/proc/self/mem")
    assert refused(calibrate(folder / "mem.csv"), "mem.csv cannot be read", "Input/output error")
    path = files.write(folder / "s.csv", files.SMALL)
    assert refused(shell("calibrate", path, *PROMISE, "-o", "/proc/cert.json"), "/proc/cert.json: cannot be written")
