"""Which lists are shown as examples, and how."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.cases import CALIBRATION, HELD_OUT, LOSS, certificate, with_column

import cutline as cl
from cutline.errors import InputError
from cutline.report.examples import BELOW, HEAD, TAIL, examples_of, pick


def examples(found=None, queries=HELD_OUT, **more):
    found = certificate() if found is None else found
    return {example.kind: example for example in examples_of(found, found.cut(queries), **more)}


lists = st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=40)


@given(lists)
def test_no_query_is_shown_twice_and_each_shows_what_it_should(drawn):
    sizes, losses, lengths = (np.array(column) for column in zip(*drawn, strict=True))
    picked = pick(sizes, losses, lengths)
    assert len(set(picked.values())) == len(picked)
    assert ("Empty" in picked) == bool((sizes == 0).any())
    if "Empty" in picked:
        assert sizes[picked["Empty"]] == 0
    if "Wrong" in picked:
        assert losses[picked["Wrong"]] == losses[sizes > 0].max() > 0
    for kind in {"Short", "Typical", "Long"} & set(picked):
        assert sizes[picked[kind]] > 0


def test_short_lists_are_shorter_than_typical_ones_and_long_ones_longer():
    shown = examples()
    assert list(shown) == ["Short", "Typical", "Long", "Empty", "Wrong"]
    assert shown["Short"].n_kept < shown["Typical"].n_kept < shown["Long"].n_kept
    assert shown["Empty"].n_kept == 0
    assert shown["Wrong"].loss == "100 %"


def test_an_example_shows_the_list_as_it_is_cut():
    slates = certificate().cut(HELD_OUT)
    typical = examples()["Typical"]
    place = HELD_OUT.query_ids.tolist().index(typical.query)
    query, kept = HELD_OUT[place], slates[place]
    assert typical.n_kept == len(kept)
    assert [one.title for one in typical.first] == [str(query.item_ids[row]) for row in kept]
    assert [one.mark for one in typical.first] == ["good" if query.labels[row] >= 3 else "bad" for row in kept]
    assert typical.n_good == int((query.labels >= 3).sum())
    assert len(typical.below) + typical.more_below == len(query) - len(kept)


def test_a_long_list_leaves_out_its_middle():
    long = examples()["Long"]
    assert (len(long.first), len(long.last)) == (HEAD, TAIL)
    assert HEAD + TAIL + long.hidden == long.n_kept
    assert len(long.below) <= BELOW


def test_titles_come_from_a_column_or_from_item_ids():
    titled = with_column(HELD_OUT, "title", [f"Title {row}" for row in range(HELD_OUT.n_items)])
    assert all(one.title.startswith("Title ") for one in examples(queries=titled, titles="title")["Typical"].first)
    first = examples()["Typical"].first[0]
    named = examples(titles={first.title: "A film"})["Typical"].first
    assert (named[0].title, named[0].item) == ("A film", first.title)
    assert named[1].item is None


def test_an_item_without_id_or_title_is_called_by_its_position():
    plain = cl.Queries.from_arrays(HELD_OUT.scores, HELD_OUT.labels, group=HELD_OUT.sizes)
    assert all(one.title.startswith("item ") for one in examples(queries=plain)["Typical"].first)


@pytest.mark.parametrize(
    ("titles", "words"),
    [("name", r"titles must be a column of the queries \('device'\)"), (7, "titles must be the name of a column")],
)
def test_titles_of_another_kind_are_refused(titles, words):
    with pytest.raises(InputError, match=words):
        examples(titles=titles)


def test_titles_by_item_id_need_item_ids():
    plain = cl.Queries.from_arrays(HELD_OUT.scores, HELD_OUT.labels, group=HELD_OUT.sizes)
    with pytest.raises(InputError, match="need item ids"):
        examples(queries=plain, titles={"a": "b"})


def test_unjudged_items_say_so():
    labels = CALIBRATION.labels.copy()
    labels[::3] = np.nan
    few = cl.Queries(CALIBRATION.scores, CALIBRATION.offsets, labels)
    for unjudged, mark in (("bad", "bad"), ("drop", "unjudged")):
        found = cl.calibrate(
            few, loss=cl.FalseDiscovery(cl.Grade(at_least=3, unjudged=unjudged)), alpha=0.6, delta=0.1,
            thresholds=cl.grid(0.99, 0.01, 0.01),
        )  # fmt: skip
        marks = {one.mark for each in examples(found, few).values() for one in each.first if one.judged == "not judged"}
        assert marks == {mark}


def test_what_diverse_lists_pass_over_is_told():
    vectors = np.random.default_rng(0).normal(size=(CALIBRATION.n_items, 3))
    queries = cl.Queries(CALIBRATION.scores, CALIBRATION.offsets, CALIBRATION.labels, vectors)
    found = cl.calibrate(
        queries, loss=LOSS, alpha=0.4, delta=0.1, sets=cl.Diverse(max_size=3), thresholds=cl.grid(0.99, 0.01, 0.01)
    )
    long = examples(found, queries)["Long"]
    assert long.n_kept == 3
    assert any(one.passed_over for one in long.below)
    assert not any(one.passed_over for one in long.first)
