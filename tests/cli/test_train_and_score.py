"""From features to cut lists in the shell; and what train and score refuse."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.shell import names_in, refused, shell
from tests.rankers.conftest import one_thread  # noqa: F401
from tests.rankers.worlds import world, write_letor

import cutline as cl
from cutline.cli.console import epochs_shown

QUICK = ("--epochs", "12", "--lr", "0.01")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_letor(tmp_path / "train.svm", *world(40))
    write_letor(tmp_path / "new.svm", *world(60, seed=1))
    return tmp_path


@pytest.fixture
def trained(folder: Path) -> Path:
    assert shell("train", folder / "train.svm", "--epochs", "1", "-o", folder / "model").code == 0
    return folder


def test_the_whole_path_runs_from_features_to_lists(tmp_path):
    for name, seed in (("train", 0), ("judged", 1), ("new", 2)):
        write_letor(tmp_path / f"{name}.svm", *world(250, seed=seed))
    ended = shell("train", tmp_path / "train.svm", "--model", "lambdarank", *QUICK, "-o", tmp_path / "model")
    assert ended.code == 0, ended.err
    assert "8 → 16 → 8 → 1" in ended.out
    assert f"cutline score {tmp_path / 'model'} FEATURES" in ended.out
    for name in ("judged", "new"):
        scores = tmp_path / f"{name}.parquet"
        ended = shell("score", tmp_path / "model", tmp_path / f"{name}.svm", "-o", scores)
        assert ended.code == 0, ended.err
        assert ended.out == f"Scored 3,000 items in 250 lists. Written to {scores}.\n"
    promise = ("--alpha", "0.4", "--delta", "0.1", "--good-at-least", "2", "--scoring", "win-rate")
    ended = shell("calibrate", tmp_path / "judged.parquet", *promise, "-o", tmp_path / "cert.json")
    assert ended.code == 0, ended.err
    ended = shell("apply", tmp_path / "cert.json", tmp_path / "new.parquet", "-o", tmp_path / "lists.run")
    assert ended.code == 0, ended.err
    assert len((tmp_path / "lists.run").read_text().splitlines()) > 100
    assert shell("audit", tmp_path / "cert.json", tmp_path / "new.parquet").code in (0, 4)


def test_the_shell_gives_what_python_gives(folder):
    flags = ("--hidden", "5", "--batch-queries", "8", "--truncation", "5", "--validation", "0.2", "--patience", "3")
    ended = shell("train", folder / "train.svm", *QUICK, *flags, "--seed", "7", "-o", folder / "model", "--json")
    features, queries = world(40)
    model = cl.rankers.LambdaRank.train(
        features, queries, hidden=(5,), epochs=12, lr=0.01, batch_queries=8, truncation=5, validation=0.2, patience=3,
        seed=7,
    )  # fmt: skip
    told = ended.json
    assert (told["layers"], told["ndcg"], told["best"]) == ([8, 5, 1], model.ndcg, model.best)
    assert (told["queries"], told["epochs"], told["saved"]) == (40, len(model.history), str(folder / "model"))
    assert cl.rankers.LambdaRank.load(folder / "model").settings == model.settings
    ended = shell("score", folder / "model", folder / "new.svm", "-o", folder / "new.csv", "--json")
    assert ended.json == {"written": str(folder / "new.csv"), "queries": 60, "items": 720, "notes": []}
    new, new_queries = world(60, seed=1)
    back = cl.io.read_queries(folder / "new.csv")
    assert back.scores.tolist() == model.score(new).tolist()
    assert back.labels.tolist() == new_queries.labels.tolist()


def test_a_linear_model_has_no_hidden_layers(folder):
    ended = shell("train", folder / "train.svm", "--hidden", "", "--epochs", "1", "-o", folder / "model", "--json")
    assert ended.json["layers"] == [8, 1]


def test_a_table_with_vectors_is_features_too(folder):
    features, queries = world(40)
    cl.io.write_queries(replace(queries, vectors=features), folder / "train.parquet")
    for name in ("train.parquet", "train.svm"):
        assert shell("train", folder / name, "--epochs", "2", "-o", folder / f"{name}.model").code == 0
    weights = [
        (folder / f"{name}.model" / "weights.safetensors").read_bytes() for name in ("train.parquet", "train.svm")
    ]
    assert weights[0] == weights[1]
    assert shell("score", folder / "train.svm.model", folder / "train.parquet", "-o", folder / "out.csv").code == 0
    assert (folder / "out.csv").read_text().splitlines()[0] == "query_id,score,label"


def test_group_sizes_in_a_file_of_their_own_go_with_features(folder):
    for name in ("train", "new"):
        lines = (folder / f"{name}.svm").read_text().splitlines()
        without = [" ".join(word for word in line.split() if not word.startswith("qid:")) for line in lines]
        (folder / f"{name}-plain.svm").write_text("\n".join(without) + "\n")
        (folder / f"{name}.query").write_text("12\n" * (len(lines) // 12))
    for features, flags in (("train.svm", ()), ("train-plain.svm", ("--groups", folder / "train.query"))):
        assert shell("train", folder / features, *QUICK, *flags, "-o", folder / f"{features}.model").code == 0
    written = [
        (folder / f"{name}.model" / "weights.safetensors").read_bytes() for name in ("train.svm", "train-plain.svm")
    ]
    assert written[0] == written[1]
    flags = ("--groups", folder / "new.query")
    ended = shell("score", folder / "train.svm.model", folder / "new-plain.svm", *flags, "-o", folder / "out.csv")
    assert ended.code == 0, ended.err
    assert "Scored 720 items in 60 lists." in ended.out


def test_features_that_are_0_in_every_line_are_counted_where_they_are_said(folder):
    (folder / "few.svm").write_text("".join(f"1 qid:{n} 1:0.5\n0 qid:{n} 2:{n}\n" for n in range(1, 21)))
    ended = shell("train", folder / "few.svm", "--epochs", "1", "--n-features", "4", "-o", folder / "model", "--json")
    assert ended.json["layers"] == [4, 16, 8, 1]
    ended = shell("score", folder / "model", folder / "new.svm", "-o", folder / "out.csv")
    assert refused(ended, "is beyond the last of 4 features; are there more, or are the features of a line not sorted?")
    (folder / "fewer.svm").write_text("1 qid:1 1:0.5\n0 qid:1 1:1\n")
    ended = shell("score", folder / "model", folder / "fewer.svm", "-o", folder / "out.csv")
    assert ended.code == 0
    assert "fewer.svm has no feature beyond 1, and the model has 4: the others count as 0" in ended.err


def test_a_note_says_that_queries_are_those_of_the_training(trained):
    ended = shell("score", trained / "model", trained / "train.svm", "-o", trained / "out.csv")
    assert ended.code == 0
    assert "note: 40 of 40 queries are among those that the ranker was trained on" in ended.err


def test_a_note_says_where_there_is_nothing_to_learn(folder):
    features, queries = world(10)
    write_letor(folder / "even.svm", features, replace(queries, labels=np.ones(120)))
    ended = shell("train", folder / "even.svm", "-o", folder / "model")
    assert ended.code == 0
    assert "note: no training query has two items with different labels" in ended.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--epochs", "0"), "--epochs must be a whole number of at least 1, got 0"),
        (("--epochs", "many"), "'many' is not a whole number"),
        (("--lr", "0"), "--lr must be above 0"),
        (("--hidden", "16;8"), "--hidden must be whole numbers between commas, as 16,8, got '16;8'"),
        (("--hidden", "16,0"), "--hidden must be a whole number of at least 1, got 0"),
        (("--validation", "2"), "--validation must be a share"),
        (("--batch-queries", "0"), "--batch-queries must be"),
        (("--truncation", "0"), "--truncation must be"),
        (("--patience", "0"), "--patience must be"),
        (("--model", "trees"), "lambdarank"),
    ],
)
def test_train_refuses_settings_out_of_range(folder, flags, words):
    had = names_in(folder)
    ended = shell("train", folder / "train.svm", *flags, "-o", folder / "model")
    assert refused(ended, words, folder=folder, had=had)


def test_train_refuses_files_without_features(folder):
    (folder / "a.run").write_text("q1 Q0 a 1 0.9 bm25\n")
    (folder / "a.csv").write_text("query_id,score,label\nq1,0.5,1\n")
    (folder / "a.svm").write_text("1 qid:1 1:x\n")
    (folder / "a.xlsx").write_text("a")
    had = names_in(folder)
    for name, words in (
        ("a.run", "a.run is of the form trec, which has no features"),
        ("a.csv", "a.csv has no features; a table keeps them as lists of numbers in a column `vector`"),
        ("a.svm", "a.svm"),
        ("none.svm", "none.svm"),
        ("a.xlsx", "unknown ending '.xlsx'"),
    ):
        ended = shell("train", folder / name, "-o", folder / "model")
        assert refused(ended, words, folder=folder, had=had)


def test_train_tries_its_folder_before_work_begins(folder):
    (folder / "file").write_text("")
    had = names_in(folder)
    for output, words in (
        ("file", "file is a file; a model is a folder"),
        ("none/model", "cannot be written (No such"),
    ):
        assert refused(shell("train", folder / "none.svm", "-o", folder / output), words, folder=folder, had=had)


def test_score_refuses_what_is_no_model_and_features_of_another_width(trained):
    write_letor(trained / "wide.svm", *world(5, width=9))
    had = names_in(trained)
    for model, features, words in (
        ("none", "new.svm", "none does not hold a LambdaRank model"),
        ("new.svm", "new.svm", "new.svm is a file; a model is a folder"),
        ("model", "none.svm", "none.svm"),
        ("model", "wide.svm", "beyond the last of 8 features; are there more"),
    ):
        ended = shell("score", trained / model, trained / features, "-o", trained / "out.parquet")
        assert refused(ended, words, folder=trained, had=had)
    (trained / "model" / "weights.safetensors").write_bytes(b"")
    ended = shell("score", trained / "model", trained / "new.svm", "-o", trained / "out.parquet")
    assert refused(ended, "weights.safetensors is not the file that was saved", folder=trained, had=had)


def test_score_refuses_forms_that_hold_no_scores_and_its_own_input(trained):
    had = names_in(trained)
    for output, words in (
        ("out.qrels", "a file of judgments holds no scores"),
        ("new.svm", "new.svm is the input; write to another file"),
        ("out.svm", "LETOR holds features"),
        ("out.xlsx", "unknown ending"),
    ):
        ended = shell("score", trained / "model", trained / "new.svm", "-o", trained / output)
        assert refused(ended, words, folder=trained, had=had)


def test_the_bar_of_a_terminal_names_the_epoch_and_a_pipe_sees_nothing(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with epochs_shown(3) as progress:
        assert progress is None
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with epochs_shown(3) as progress:
        progress(cl.rankers.Epoch(2, 0.5, 0.75))
    assert "epoch 2: cost 0.5000, validation NDCG 0.7500" in terminal.getvalue()


def test_the_whole_path_runs_on_movielens(tmp_path):
    films = cl.datasets.movielens()
    for name, part in zip(("train", "judged", "new"), films.split(0.4, 0.4, rng=0), strict=True):
        cl.io.write_features(part.features, part.queries, tmp_path / f"{name}.svm")
    ended = shell("train", tmp_path / "train.svm", "--epochs", "20", "--seed", "1", "-o", tmp_path / "model")
    assert ended.code == 0, ended.err
    for name in ("judged", "new"):
        ended = shell("score", tmp_path / "model", tmp_path / f"{name}.svm", "-o", tmp_path / f"{name}.parquet")
        assert ended.code == 0, ended.err
    promise = (
        "--alpha",
        "0.4",
        "--delta",
        "0.1",
        "--good-at-least",
        "4",
        "--evidence",
        "convex",
        "--scoring",
        "win-rate",
    )
    ended = shell("calibrate", tmp_path / "judged.parquet", *promise, "-o", tmp_path / "cert.json")
    assert ended.code == 0, ended.err
    assert shell("apply", tmp_path / "cert.json", tmp_path / "new.parquet", "-o", tmp_path / "lists.csv").code == 0
    assert shell("audit", tmp_path / "cert.json", tmp_path / "new.parquet").code == 0
