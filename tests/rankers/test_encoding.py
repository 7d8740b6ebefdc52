"""Vectors of texts beside a loop over one text at a time, with a tiny model made here; nothing is downloaded."""

from __future__ import annotations

import shutil
import socket
import sys

import numpy as np
import pytest
import torch
from tests.rankers.encoders import write_encoder

import cutline as cl
from cutline.errors import CutlineWarning, InputError, MissingExtraError
from cutline.rankers import encode, encoding

QUERIES = ["where buy red apples", "pears"]
DOCUMENTS = ["the apple is red", "a pear", "the green pear tree grows on a sweet green pear tree", "", "apple"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("models") / "encoder")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def one_by_one(folder, texts, longest=16):
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest)["input_ids"]
        with torch.no_grad():
            vectors.append(model(input_ids=tokens).last_hidden_state[0].mean(dim=0).numpy())
    return np.array(vectors)


@pytest.mark.parametrize("batch_texts", [1, 2, 32])
def test_a_vector_is_the_mean_over_the_tokens_of_its_text_alone(folder, batch_texts):
    vectors = encode(DOCUMENTS, model=folder, batch_texts=batch_texts)
    assert vectors.shape == (5, 12)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, one_by_one(folder, DOCUMENTS), atol=1e-5)
    assert len(np.unique(vectors.round(4), axis=0)) == 5


@pytest.mark.parametrize("change", [{"padding_side": "left"}, {"pad_token": None}])
def test_how_a_model_pads_does_not_matter(folder, tmp_path, change):
    from transformers import AutoTokenizer

    shutil.copytree(folder, tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder, **change)
    tokenizer.save_pretrained(tmp_path / "model")
    vectors = encode(DOCUMENTS, model=tmp_path / "model")
    np.testing.assert_allclose(vectors, encode(DOCUMENTS, model=folder), atol=1e-5)


def test_features_are_the_query_beside_the_document(folder):
    queries = cl.Queries.from_arrays(np.zeros(5), group=[3, 2])
    features = encode(QUERIES, DOCUMENTS, queries=queries, model=str(folder))
    assert features.shape == (5, 24)
    asked, answered = one_by_one(folder, QUERIES), one_by_one(folder, DOCUMENTS)
    np.testing.assert_allclose(features, np.hstack((asked[[0, 0, 0, 1, 1]], answered)), atol=1e-5)
    aligned = encode([QUERIES[0]] * 3 + [QUERIES[1]] * 2, DOCUMENTS, model=folder)
    np.testing.assert_array_equal(aligned, features)
    assert features.flags.c_contiguous


def test_long_texts_are_cut(folder):
    long = "apple " * 40
    np.testing.assert_allclose(encode([long], model=folder), one_by_one(folder, [long]), atol=1e-5)
    short = encode([long, "apple apple"], model=folder, max_tokens=4)
    np.testing.assert_allclose(short[0], short[1], atol=1e-5)


def test_each_text_is_encoded_once_and_progress_counts_them(folder, monkeypatch):
    monkeypatch.setattr(encoding, "AT_ONCE", 4)
    done: list[int] = []
    vectors = encode([*DOCUMENTS, *DOCUMENTS], model=folder, batch_texts=2, progress=done.append)
    assert done == [2, 4, 5]
    assert (vectors[:5] == vectors[5:]).all()
    np.testing.assert_allclose(vectors[:5], one_by_one(folder, DOCUMENTS), atol=1e-5)


def test_features_of_texts_train_a_ranker(folder):
    queries = cl.Queries.from_arrays(np.zeros(5), [2, 0, 1, 0, 1], group=[3, 2])
    features = encode(QUERIES, DOCUMENTS, queries=queries, model=folder)
    model = cl.rankers.LambdaRank.train(features, queries, epochs=2)
    with pytest.warns(CutlineWarning, match="2 of 2 queries are among those that the ranker was trained on"):
        assert cl.rankers.score(model, features, queries).n_items == 5


def test_a_missing_model_says_how_to_place_one(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"model 'distilbert-base-uncased' is neither a folder nor in the cache.*run `hf"
                       r" download distilbert-base-uncased --local-dir encoder`.*pass model=\"encoder\""):  # fmt: skip
        encode(["a"])
    with pytest.raises(InputError, match="model 'no/such' is neither"):
        encode(["a"], model="no/such")


def test_a_folder_without_a_model_is_named(tmp_path, folder):
    with pytest.raises(InputError, match="does not hold a model that transformers can read"):
        encode(["a"], model=tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="does not hold a model that transformers can read"):
        encode(["a"], model=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (("red apple",), {}, "queries_text must be a list of texts, got 'red apple'"),
        ((["a", None],), {}, "queries_text must be texts, got None in row 1; an empty text is ''"),
        ((["a"], 5), {}, "documents_text must be a list of texts, got 5"),
        ((["a"], ["b", "c"]), {}, "queries_text must have one text per document, 2 in all, got 1; with one per query"),
        ((["a"],), {"queries": cl.Queries.from_arrays([0.0], group=[1])}, "documents_text is needed with queries"),
        (
            (["a", "b"], ["c"]),
            {"queries": cl.Queries.from_arrays([0.0], group=[1])},
            "one value per query, 1 in all, got",
        ),
        ((["a"], ["b", "c"]), {"queries": cl.Queries.from_arrays([0.0], group=[1])}, "per item, 1 in all, got 2"),
        ((["a"],), {"batch_texts": 0}, "batch_texts must be a whole number of at least 1, got 0"),
        ((["a"],), {"max_tokens": 0}, "max_tokens must be"),
        ((["a"],), {"model": 3}, "model must be a folder or the name of a model, got 3"),
    ],
)
def test_what_is_no_text_is_refused(arguments, settings, words):
    with pytest.raises(InputError, match=words):
        encode(*arguments, **settings)


def test_without_transformers_the_extra_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"encode needs transformers.*pip install 'cutline\[text\]'"):
        encode(["a"], model=folder)
