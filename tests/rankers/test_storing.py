"""A model comes back from its folder bit for bit, and a folder that was changed is one clear error."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import safetensors.numpy
from tests.rankers.worlds import world

from cutline.errors import InputError, MissingExtraError
from cutline.rankers import LambdaRank
from cutline.rankers.storing import RECORD, WEIGHTS


@pytest.fixture(scope="module")
def model():
    features, queries = world(20)
    return LambdaRank.train(features, queries, epochs=3, hidden=(4,))


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_what_was_saved_comes_back_bit_for_bit(model, folder):
    features, _ = world(4, seed=2)
    back = LambdaRank.load(folder)
    assert back.score(features).tobytes() == model.score(features).tobytes()
    assert back.history == model.history
    assert back.settings == model.settings == json.loads((folder / RECORD).read_text())["settings"]
    assert repr(back) == repr(model)
    assert {path.name for path in folder.iterdir()} == {RECORD, WEIGHTS}


def test_the_same_model_is_written_as_the_same_bytes_also_over_an_older_one(model, folder):
    first = [(folder / name).read_bytes() for name in (RECORD, WEIGHTS)]
    LambdaRank.load(folder).save(folder)
    assert [(folder / name).read_bytes() for name in (RECORD, WEIGHTS)] == first


def edited(folder, **changes):
    record = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps({**record, **changes}))


def with_weights(folder, **changes):
    import hashlib

    tensors = safetensors.numpy.load_file(folder / WEIGHTS)
    content = safetensors.numpy.save({name: a for name, a in {**tensors, **changes}.items() if a is not None})
    (folder / WEIGHTS).write_bytes(content)
    edited(folder, sha256=hashlib.sha256(content).hexdigest())


def swapped_content(folder, content):
    import hashlib

    (folder / WEIGHTS).write_bytes(content)
    edited(folder, sha256=hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda f: (f / RECORD).unlink(), "model.json: No such file"),
        (lambda f: (f / WEIGHTS).unlink(), "weights.safetensors: No such file"),
        (lambda f: (f / RECORD).write_text("{"), "model.json: Input data was truncated"),
        (lambda f: (f / RECORD).write_bytes(b"\xff\x00"), "model.json: "),
        (lambda f: (f / RECORD).write_text("{}"), "model.json: .*missing required field"),
        (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:-4]), "is not the file that was saved"),
        (lambda f: swapped_content(f, b"nothing"), "weights.safetensors: "),
        (lambda f: edited(f, schema=2), "schema 2, model 'lambdarank'; this version reads 1"),
        (lambda f: edited(f, model="trees"), "model 'trees'"),
        (lambda f: edited(f, best=9), "names epoch 9 of 3"),
        (lambda f: edited(f, sizes=[8, 5, 1]), r"holds layers \[8, 4, 1\], and model.json says \[8, 5, 1\]"),
        (lambda f: edited(f, extra=1), "unknown field"),
        (lambda f: with_weights(f, mean=None), "weights.safetensors: KeyError"),
        (lambda f: with_weights(f, mean=np.full(8, np.nan)), "a weight is not finite"),
        (lambda f: with_weights(f, **{"0.b": np.zeros(3, np.float32)}), "holds layers"),
    ],
)
def test_a_folder_that_was_harmed_is_one_clear_error(folder, harm, words):
    harm(folder)
    with pytest.raises(InputError, match=rf"does not hold a LambdaRank model that can be read \(.*{words}.*train anew"):
        LambdaRank.load(folder)


def test_a_folder_that_is_none_is_named(model, tmp_path):
    with pytest.raises(InputError, match="none does not hold a LambdaRank model"):
        LambdaRank.load(tmp_path / "none")
    (tmp_path / "file").write_text("")
    for action in (LambdaRank.load, model.save):
        with pytest.raises(InputError, match=r"file is a file; a model is a folder with model.json"):
            action(tmp_path / "file")
        with pytest.raises(InputError, match="folder must be the path of a folder, got 3"):
            action(3)
    with pytest.raises(InputError, match=r"cannot be written .No such file"):
        model.save(tmp_path / "none" / "deeper")


def test_without_safetensors_the_extra_is_named(model, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(MissingExtraError, match=r"LambdaRank.load needs safetensors.*cutline\[torch\]"):
        LambdaRank.load(folder)
    with pytest.raises(MissingExtraError, match=r"LambdaRank.save needs safetensors"):
        model.save(folder)
