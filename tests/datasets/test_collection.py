"""Collections keep rows and features together, and their parts share no query; files by path are what was published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io import files

import cutline as cl
from cutline.datasets import Collection
from cutline.errors import InputError


def collection_of(n_queries: int, **more) -> Collection:
    """Features that name the query and the item they belong to."""
    queries = cl.datasets.simulate(n_queries, rng=0, n_items=(1, 6))
    features = np.column_stack([queries.query_of_item(), np.arange(queries.n_items)]).astype(np.float32)
    return Collection(name="small", source="made up", licence="none", queries=queries, features=features, **more)


def matches(part: Collection, whole: Collection) -> bool:
    """Whether each row of features belongs to the item it stands beside."""
    rows = part.features[:, 1].astype(int)
    return part.queries.item_ids.tolist() == whole.queries.item_ids[rows].tolist()


@given(st.integers(3, 40), st.data())
def test_parts_hold_every_query_once_with_its_features(n_queries, data):
    whole = collection_of(n_queries)
    first = data.draw(st.integers(1, n_queries - 2))
    second = data.draw(st.integers(1, n_queries - 1 - first))
    parts = whole.split(first, second, rng=data.draw(st.integers(0, 99)))
    assert [len(part) for part in parts] == [first, second, n_queries - first - second]
    ids = [set(part.queries.query_ids) for part in parts]
    assert set.union(*ids) == set(whole.queries.query_ids)
    assert sum(map(len, ids)) == n_queries
    assert all(matches(part, whole) for part in parts)


def test_shares_are_of_all_queries():
    parts = collection_of(100).split(0.5, 0.25, rng=1)
    assert [len(part) for part in parts] == [50, 25, 25]


def test_select_takes_masks_numbers_and_slices():
    whole = collection_of(9)
    for which in (slice(2, 5), [7, 0, 3], np.arange(9) % 2 == 0, []):
        part = whole.select(which)
        assert part.queries.query_ids.tolist() == whole.queries.select(which).query_ids.tolist()
        assert matches(part, whole)
        assert part.name == whole.name
    assert np.shares_memory(whole.select(slice(2, 5)).features, whole.features)


def test_a_collection_shows_its_source_and_licence():
    shown = repr(collection_of(3))
    assert "source       made up" in shown
    assert "licence      none" in shown
    assert "features     2" in shown
    assert "made up" in collection_of(3)._repr_html_()


def test_features_are_float32_and_stay_mapped_where_they_are(tmp_path):
    whole = collection_of(4)
    np.save(tmp_path / "a.npy", whole.features)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for held in (mapped, whole.features.astype(np.float64), np.asfortranarray(whole.features)):
        made = Collection(name="a", source="b", licence="c", queries=whole.queries, features=held)
        assert made.features.dtype == np.float32
        assert made.features.flags.c_contiguous
        np.testing.assert_array_equal(made.features, whole.features)
    kept = Collection(name="a", source="b", licence="c", queries=whole.queries, features=mapped)
    assert np.shares_memory(kept.features, mapped)


def test_what_does_not_belong_together_is_refused():
    queries = cl.datasets.simulate(3, rng=0)
    about = {"name": "a", "source": "b", "licence": "c", "queries": queries}
    with pytest.raises(InputError, match=r"features must have one row per item, \d+ in all, got shape \(2, 1\)"):
        Collection(**about, features=np.zeros((2, 1)))
    with pytest.raises(InputError, match=r"feature_names must name each feature, got 1 for shape \(\d+, 2\)"):
        Collection(**about, features=np.zeros((queries.n_items, 2)), feature_names=("a",))
    with pytest.raises(InputError, match=r"split must leave queries for the last part, got 2, 1 of 3 queries"):
        Collection(**about).split(2, 1, rng=0)
    with pytest.raises(InputError, match=r"split needs a share or a count for each part but the last"):
        Collection(**about).split(rng=0)


# LETOR and Yahoo! by path ----------------------------------------------------------------------------------------------


def test_a_letor_file_is_a_collection(tmp_path):
    collection = cl.datasets.letor(files.write(tmp_path / "mine.svm", files.LETOR), cache=tmp_path / "cache")
    assert collection.name == "mine"
    assert collection.features.tolist() == [[0.5, 1], [0.25, 0], [0, 1], [0.125, 0]]
    assert str(tmp_path) in collection.source
    assert "not stated" in collection.licence


def challenge(folder: Path, **lines: str) -> Path:
    for part, text in lines.items():
        files.write(folder / f"set1.{part.replace('_', '.')}", text)
    return folder


def test_the_parts_of_the_challenge_are_put_together(tmp_path):
    folder = challenge(
        tmp_path,
        train_txt="4 qid:1 10:0.89 699:1\n0 qid:1 11:0.75\n",
        test_txt="1 qid:2 1:0.5\n",
        valid_txt_gz="2 qid:3\n",
    )
    everything = cl.datasets.yahoo(folder)
    assert everything.features.shape == (4, 700)
    assert everything.features.dtype == np.float32
    assert everything.queries.labels.tolist() == [4, 0, 2, 1]
    assert everything.queries.columns["part"].tolist() == ["train", "valid", "test"]
    assert everything.queries.item_ids.tolist() == ["train-1", "train-2", "valid-1", "test-1"]
    assert everything.features[0, 9] == np.float32(0.89)
    only = cl.datasets.yahoo(folder, 1, part="test", cache=tmp_path / "cache")
    assert only.queries.query_ids.tolist() == ["2"]
    assert "C14B" in only.source
    assert "research" in only.licence


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 qid:1 1:1", r"set1\.train\.txt, line 2: the label is 5, and 0, 1, 2, 3, 4 are wanted"),
        ("nan qid:1 1:1", r"set1\.train\.txt, line 2: the label is nan, and 0, 1, 2, 3, 4 are wanted"),
        ("-1 qid:1 1:1", r"set1\.train\.txt, line 2: the label is -1"),
        ("1 qid:1 701:1", r"set1\.train\.txt, line 2: '701:1' is beyond the last of 700 features"),
        ("1 qid:1 1:nan", r"set1\.train\.txt, line 2: the value of feature 1 is 'nan'"),
        ("1 1:1", r"set1\.train\.txt, line 2: no qid:, and other lines have one"),
    ],
)
def test_a_wrong_line_of_the_challenge_is_named(tmp_path, line, message):
    with pytest.raises(InputError, match=message):
        cl.datasets.yahoo(challenge(tmp_path, train_txt=f"1 qid:1 1:1\n{line}\n"))


def test_a_folder_without_the_challenge_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds none of set2\.train\.txt, set2\.valid\.txt, set2\.test\.txt"):
        cl.datasets.yahoo(tmp_path, 2)
    with pytest.raises(InputError, match=r"set must be 1 or 2, got 3"):
        cl.datasets.yahoo(tmp_path, 3)
    with pytest.raises(InputError, match=r"part must be one of 'train', 'valid', 'test', got 'vali'; did you mean"):
        cl.datasets.yahoo(tmp_path, part="vali")
    with pytest.raises(InputError, match=r"folder: .*nowhere is no folder that can be read"):
        cl.datasets.yahoo(tmp_path / "nowhere")
