"""The paper's own data, in small files of the published layout, through the same code; what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io import files
from tests.rankers.encoders import WORDS, write_encoder

from cutline.errors import InputError
from cutline.paper import real, reproduce


def write_yahoo(folder: Path, n_queries: int = 140) -> Path:
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for query in range(n_queries):
        for _ in range(int(rng.integers(6, 12))):
            quality = rng.normal()
            label = int(np.searchsorted([-0.7, 0.3, 1.2, 1.9], quality))
            values = [quality + 0.3 * rng.normal(), rng.normal()]
            lines.append(f"{label} qid:{query + 1} 3:{values[0]:.4f} 7:{values[1]:.4f}")
    files.write(folder / "set1.train.txt", "\n".join([*lines, ""]))
    return folder


def write_msmarco(folder: Path, n_queries: int = 30) -> Path:
    rng = np.random.default_rng(1)
    words = [word for word in WORDS if not word.startswith("##")]

    def text() -> str:
        return " ".join(rng.choice(words, size=4))

    top100, qrels = [], []
    for query in range(n_queries):
        documents = rng.choice(40, size=8, replace=False)
        top100 += [f"{query} Q0 D{d} {rank} {-rank}.5 run" for rank, d in enumerate(documents, start=1)]
        qrels += [f"{query} 0 D{d} 1" for d in documents[:4]]
    files.write(folder / "msmarco-doctrain-queries.tsv", "".join(f"{q}\t{text()}\n" for q in range(n_queries)))
    files.write(folder / "msmarco-doctrain-top100", "\n".join([*top100, ""]))
    files.write(folder / "msmarco-doctrain-qrels.tsv", "\n".join([*qrels, ""]))
    files.write(folder / "msmarco-docs.tsv", "".join(f"D{d}\thttp://d\tTitle {d}\t{text()}\n" for d in range(40)))
    write_encoder(folder / real.ENCODER)
    return folder


def test_files_of_yahoo_are_used_in_place_of_the_simulation(tmp_path):
    found = reproduce(["yahoo", "diversity-size"], out=tmp_path / "out", data=write_yahoo(tmp_path), repeats=4)
    assert [each.figure.name for each in found.shown] == ["yahoo.yahoo", "diversity-size.yahoo"]
    for each in found.shown:
        assert each.figure.label == "Yahoo! set 1"
        assert "simulation" not in each.svg + each.figure.found
        settings = dict(each.figure.settings)
        assert settings["queries"] == "70 to train, 42 to calibrate, 28 to test"
        assert settings["network"].startswith("700 → 16 → 8 → 1")
        assert "Webscope" in settings["licence"]


def test_files_of_ms_marco_are_encoded_and_used(tmp_path):
    out = tmp_path / "out"
    found = reproduce(["msmarco"], out=out, data=write_msmarco(tmp_path), repeats=3, size="small")
    (only,) = found.shown
    assert only.figure.label == "MS MARCO documents"
    assert dict(only.figure.settings)["network"].startswith("24 → 16 → 8 → 1")
    assert {path.suffix for path in out.iterdir()} == {".svg", ".png", ".parquet", ".html"}  # nothing else is left


def test_protocols_whose_files_are_not_there_run_as_without(tmp_path):
    found = reproduce(["diversity-example"], out=tmp_path / "out", data=write_yahoo(tmp_path), repeats=2, size="small")
    assert [each.figure.name for each in found.shown] == ["diversity-example.movielens"]


def test_a_folder_with_neither_is_refused_with_the_names_of_the_files(tmp_path):
    with pytest.raises(InputError, match=r"neither a file of Yahoo \(set1\.train\.txt.*msmarco-docs\.tsv"):
        real.found_in(tmp_path)


def test_the_missing_file_of_ms_marco_is_named(tmp_path):
    (write_msmarco(tmp_path) / "msmarco-doctrain-top100").unlink()
    with pytest.raises(InputError, match="holds no msmarco-doctrain-top100, plain"):
        real.found_in(tmp_path)


def test_a_wrong_line_is_named_before_anything_is_written(tmp_path):
    path = write_yahoo(tmp_path) / "set1.train.txt"
    path.write_text(path.read_text() + "7 qid:9 1:0.5\n")
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"set1\.train\.txt, line \d+: the label is 7"):
        reproduce(["diversity-example", "yahoo"], out=out, data=tmp_path, repeats=2)
    assert not list(out.iterdir())
