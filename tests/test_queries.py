"""Queries: making a table from arrays and dictionaries, choosing queries from it, and each bad input's message."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline import queries as queries_module
from cutline._display import html_table, text_table
from cutline._tables import check_is_queries
from cutline.errors import CutlineError, CutlineWarning, InputError
from cutline.queries import Queries, Query
from cutline.slates import Slates

NAN, INF = float("nan"), float("inf")


def small(**changed: object) -> Queries:
    """Three queries of 2, 2 and 1 items, whose rows came mixed."""
    given_arrays: dict = {
        "scores": [0.1, 0.2, 0.3, 0.4, 0.5],
        "labels": [1, 0, None, 4, 2],
        "qid": ["b", "a", "b", "007", "a"],
        "item_ids": ["x", "y", "z", "x", "w"],
        "columns": {"device": ["m", "d", "m", "t", "d"], "place": ["p", "q", "r"]},
    }
    return Queries.from_arrays(**(given_arrays | changed))


def as_lists(queries: Queries) -> list[tuple]:
    """The naive view: one tuple of plain lists for each query."""
    return [
        (
            query.id,
            query.scores.tolist(),
            None if query.labels is None else [None if math.isnan(v) else v for v in query.labels.tolist()],
            None if query.item_ids is None else query.item_ids.tolist(),
        )
        for query in queries
    ]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[float], list[int]]:
    """Query ids, scores and item numbers of rows in any order."""
    qid = draw(st.lists(st.sampled_from(["a", "b", "c", "1", "01", "ü"]), min_size=1, max_size=30))
    scores = draw(st.lists(st.floats(-1e6, 1e6), min_size=len(qid), max_size=len(qid)))
    return qid, scores, list(range(len(qid)))


# Making a table -----------------------------------------------------------------------------------------------------


def test_rows_of_one_query_are_brought_together_in_order_of_first_appearance():
    queries = small()
    assert as_lists(queries) == [
        ("b", [0.1, 0.3], [1.0, None], ["x", "z"]),
        ("a", [0.2, 0.5], [0.0, 2.0], ["y", "w"]),
        ("007", [0.4], [4.0], ["x"]),
    ]
    assert len(queries) == 3
    assert queries.n_items == 5
    assert queries.sizes.tolist() == [2, 2, 1]
    assert queries.offsets.tolist() == [0, 2, 4, 5]
    assert queries.query_of_item().tolist() == [0, 0, 1, 1, 2]


def test_arrays_have_the_types_that_are_promised():
    queries = small(vectors=np.arange(10, dtype=np.float32).reshape(5, 2))
    assert queries.scores.dtype == np.float64
    assert queries.scores.flags.c_contiguous
    assert queries.offsets.dtype == np.int64
    assert queries.labels is not None
    assert queries.labels.dtype == np.float64
    assert queries.query_ids is not None
    assert queries.query_ids.dtype == object
    assert queries.vectors is not None
    assert queries.vectors.dtype == np.float32
    assert queries.vectors.tolist() == [[0, 1], [4, 5], [2, 3], [8, 9], [6, 7]]


@given(tables())
def test_regrouping_meets_a_dictionary_of_lists(table):
    qid, scores, items = table
    wanted: dict[str, list[tuple[float, int]]] = {}
    for query, score, item in zip(qid, scores, items, strict=True):
        wanted.setdefault(query, []).append((score, item))
    queries = Queries.from_arrays(scores, qid=qid, item_ids=items)
    came = {q.id: list(zip(q.scores.tolist(), q.item_ids.tolist(), strict=True)) for q in queries}
    assert list(came.items()) == list(wanted.items())


@given(tables(), st.randoms(use_true_random=False))
def test_shuffled_rows_give_the_same_lists(table, random):
    qid, scores, items = table
    rows = list(range(len(qid)))
    random.shuffle(rows)
    one = Queries.from_arrays(scores, qid=qid, item_ids=items)
    other = Queries.from_arrays(
        [scores[r] for r in rows], qid=[qid[r] for r in rows], item_ids=[items[r] for r in rows]
    )
    as_sets = [{q.id: sorted(zip(q.item_ids, q.scores, strict=True)) for q in table} for table in (one, other)]
    assert as_sets[0] == as_sets[1]


def test_more_than_65536_queries_regroup_in_order():
    n = 70_000
    shuffled = np.random.default_rng(0).permutation(np.repeat(np.arange(n), 2))
    queries = Queries.from_arrays(np.arange(2.0 * n), qid=shuffled)
    _, first = np.unique(shuffled, return_index=True)
    assert queries.query_ids is not None
    assert queries.query_ids.tolist() == shuffled[np.sort(first)].tolist()
    rows = queries.scores.astype(np.int64).reshape(n, 2)  # scores are the rows as they came
    assert (shuffled[rows] == queries.query_ids[:, None]).all()
    assert (rows[:, 0] < rows[:, 1]).all()


def test_group_holds_sizes_and_gives_no_ids():
    queries = Queries.from_arrays([3.0, 1.0, 2.0], group=[1, 2])
    assert queries.query_ids is None
    assert queries.offsets.tolist() == [0, 1, 3]
    assert queries.id_of(1) == 1


@pytest.mark.parametrize(
    ("qid", "wanted", "dtype"),
    [
        (["007", "7"], ["007", "7"], object),
        (np.array(["007", "7"]), ["007", "7"], object),
        ([7, 8], [7, 8], np.int64),
        (np.array([7, 8], dtype=np.int16), [7, 8], np.int16),
        (np.array([7.0, 8.0]), [7, 8], np.int64),
        (np.array([7, 8], dtype=object), [7, 8], np.int64),
        ([b"a", b"b"], ["a", "b"], object),
        ([2**70, 1], [str(2**70), "1"], object),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), ["2020-01-01", "2020-01-02"], object),
    ],
)
def test_ids_stay_what_they_are(qid, wanted, dtype):
    ids = Queries.from_arrays([0.1, 0.2], qid=qid).query_ids
    assert ids is not None
    assert ids.tolist() == wanted
    assert ids.dtype == dtype


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([True, False, True], [1.0, 0.0, 1.0]),
        (np.array([1, 2, 3], dtype=np.uint8), [1.0, 2.0, 3.0]),
        (np.array([0.5, 1.0, 2.0], dtype=np.float32), [0.5, 1.0, 2.0]),
        ([Decimal("0.5"), Decimal(1), 2], [0.5, 1.0, 2.0]),
        (np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[False, True, False]), [1.0, None, 3.0]),
        (np.ma.MaskedArray([1, 2, 3], mask=[False, True, False]), [1.0, None, 3.0]),
    ],
)
def test_labels_of_many_kinds_become_numbers_and_masked_ones_unjudged(labels, wanted):
    held = Queries.from_arrays([0.1, 0.2, 0.3], labels, group=[3]).labels
    assert held is not None
    assert [None if math.isnan(v) else v for v in held.tolist()] == wanted


def test_a_run_and_qrels_become_queries_with_unjudged_items():
    run = {"q1": {"d1": 0.9, "d2": 0.1}, "q2": {"d1": 0.5}}
    queries = Queries.from_dicts(run, {"q1": {"d2": 1, "d9": 4}, "q2": {}})
    assert as_lists(queries) == [("q1", [0.9, 0.1], [None, 1.0], ["d1", "d2"]), ("q2", [0.5], [None], ["d1"])]
    with pytest.warns(
        CutlineWarning, match="1 of 2 queries of the run are not in the qrels: nobody judged them, and they"
    ):
        few = Queries.from_dicts(run, {"q1": {"d2": 1, "d9": 4}})
    assert as_lists(few) == [("q1", [0.9, 0.1], [None, 1.0], ["d1", "d2"])]
    assert Queries.from_dicts(run).labels is None


def test_judged_queries_outside_the_run_are_counted_in_a_warning():
    with pytest.warns(CutlineWarning, match="2 of 3 judged queries are not in the run: they have no lists"):
        queries = Queries.from_dicts({"q1": {"d": 1.0}}, {"q1": {"d": 1}, "q2": {"d": 1}, "q3": {}})
    assert len(queries) == 1
    with pytest.warns(CutlineWarning, match="1 of 2 judged queries is not in the run: it has no list to cut"):
        Queries.from_dicts({"q1": {"d": 1.0}}, {"q1": {"d": 1}, "q2": {"d": 1}})


GRADED = {"q1": {"d1": 1, "d2": 1, "d3": 0}, "q2": {"d1": 2, "d9": 0}}
SCORED = {"q1": {"d1": 12.3, "d2": 4.5, "d3": 4.0}, "q2": {"d1": 2.5, "d9": 1.5}}


@pytest.mark.parametrize("judged", [GRADED, {"q1": {"d1": 1.0, "d2": 1.0}}, {"q1": {"d1": 1}, "q2": {"d1": 1}}])
def test_a_run_and_qrels_that_were_swapped_are_warned_of(judged):
    with pytest.warns(
        CutlineWarning, match=r"run holds few whole numbers, often tied, and qrels fractions, .*scores fi"
    ):
        Queries.from_dicts(judged, {query: SCORED[query] for query in judged})


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (SCORED, GRADED),
        (SCORED, {"q1": {"d1": 0.5, "d2": 0.25}, "q2": {}}),  # clicks as labels
        (
            {"q1": {"d1": 3, "d2": 2, "d3": 1}, "q2": {"d1": 1}},
            {"q1": {"d1": 0.5}, "q2": {}},
        ),  # a run of ranks, clicks as labels
        ({"q1": {"d1": 1, "d2": 1}}, {"q1": {"d1": 1, "d2": 0}}),  # tied whole scores, whole labels
        ({"q1": {"d1": 1, "d2": 1}}, {"q1": {"d1": NAN, "d2": NAN}}),
        ({"q1": {f"d{i}": i // 2 for i in range(40)}}, {"q1": {"d1": 0.5}}),  # whole scores, but many
        ({"q1": {"d1": 0.5}}, {"q1": {f"other{i}": 1 for i in range(100)}}),  # a pool that judged what the run lacks
    ],
)
def test_runs_and_qrels_of_odd_kinds_are_no_reason_for_a_warning(run, qrels):
    assert len(Queries.from_dicts(run, qrels)) == len(run)  # a warning would be an error


# What does not fit --------------------------------------------------------------------------------------------------

BAD_ARRAYS = [
    ({"scores": [1, 2, NAN, 4, 5]}, r"scores must be finite, got nan for query 'b' at position 1 \(from 0\), item 'z'"),
    ({"scores": [1, 2, 3, 4, INF]}, r"got inf for query 'a' at position 1 .*; drop the item or give it a finite score"),
    ({"scores": [1, 2, 3, 4, None]}, r"scores must be finite, got nan"),
    ({"scores": [1, 2, 3, 4, "high"]}, r"scores must be numbers, got the text 'high' in row 4; convert or correct it"),
    ({"scores": np.array([1, 2, 3, 4, "5"], dtype=object)}, r"scores must be numbers, got the text '5' in row 4"),
    ({"scores": [[1, 2, 3, 4, 5]]}, r"scores must be one-dimensional, got shape \(1, 5\)"),
    ({"scores": [[1], [2, 3]]}, r"scores must be an array with one value each, got what numpy refuses"),
    ({"scores": [1j] * 5}, r"scores must be numbers, got complex128"),
    ({"scores": 3.0}, r"scores must be an array with one value each, got 3.0"),
    ({"scores": [object()] * 5}, r"scores must be numbers, got <object object at .*> in row 0"),
    ({"labels": [1, 2, 3, 4, "A"]}, r"labels must be numbers, got the text 'A' in row 4"),
    (
        {"labels": [1, 2, 3, 4, -INF]},
        r"labels must be finite, or NaN where unjudged, got -inf for query 'a' at position 1",
    ),
    ({"labels": [1, 2]}, r"labels must have one value per item, 5 in all, got 2"),
    ({"qid": ["a"]}, r"qid must have one value per item, 5 in all, got 1"),
    ({"qid": ["a", None, "b", "b", "c"]}, r"qid must not be missing, got None in row 1; drop the row or give it an id"),
    ({"qid": [1, 2, NAN, 3, 4]}, r"qid must not be missing, got np.float64\(nan\) in row 2"),
    ({"qid": [1, "1", 2, 3, 4]}, r"must be all text or all whole numbers, got int, str; convert them to one kind"),
    ({"qid": [1.5, 2, 3, 4, 5]}, r"must be text or whole numbers, got 1.5 in row 0; give them as text"),
    ({"qid": [True] * 5}, r"must be text or whole numbers, got bool"),
    ({"qid": [{}] * 5}, r"qid must be text or whole numbers, got values that cannot be an id"),
    ({"qid": None}, r"give either qid \(one id per item\) or group \(items per query\), got neither"),
    ({"group": [5]}, r"give either qid .* or group .*, got both"),
    ({"qid": None, "group": [3, 3]}, r"group must add up to the number of scores, 5, got 6"),
    ({"qid": None, "group": [5, 0]}, r"group must hold sizes of at least 1, got 0 for query 1; drop it"),
    ({"qid": None, "group": [2.5, 2.5]}, r"group must be whole numbers, got float64 such as 2.5$"),
    ({"qid": None, "group": list("aabbc")}, r"got the text 'a' in row 0; .*; it has one value per .* you mean qid=\?$"),
    ({"qid": None, "group": [7, 7, 8, 8, 9]}, r"group must add up to .* 5, got 39; .*: did you mean qid=\?$"),
    ({"qid": None, "group": [0, 0, 1, 1, 2]}, r"got 0 for query 0; .*: did you mean qid=\?$"),
    ({"qid": None, "group": [3, 3]}, r"in order$"),
    ({"qid": [2, 3]}, r"qid must have one value per item, 5 in all, got 2 that add up to it; did you mean group=\?"),
    ({"qid": [2, 2]}, r"qid must have one value per item, 5 in all, got 2$"),
    ({"item_ids": ["x", "y", "z"]}, r"item_ids must have one value per item, 5 in all, got 3"),
    ({"item_ids": ["x", None, "z", "v", "w"]}, r"item_ids must not be missing, got None in row 1"),
    ({"item_ids": ["x", "y", "x", "v", "w"]}, r"item 'x' appears twice in query 'b'; keep one row per"),
    ({"item_ids": [1, 2, 1, 3, 4]}, r"item 1 appears twice in query 'b'"),
    ({"vectors": [1, 2, 3, 4, 5]}, r"vectors must be numbers of shape \(n_items, d\) .*, got int64 of shape \(5,\)"),
    ({"vectors": [[1], [2]]}, r"vectors must have one value per item, 5 in all, got 2"),
    (
        {"vectors": [[1], [2], [NAN], [4], [5]]},
        r"vectors must be finite, got NaN or infinity for query 'b' at position 1",
    ),
    (
        {"columns": {"device": [1, 2]}},
        r"columns\['device'\] must have one value per item \(5\) or per query \(3\), got 2",
    ),
    ({"columns": ["device"]}, r"columns must be \{name: values\}, such as \{'device': devices\}, got list"),
    ({"columns": 3}, r"columns must be \{name: values\}, such as .*, got int"),
]


def test_sizes_and_offsets_that_wrap_around_are_refused_and_no_array_of_the_user_is_kept_for_offsets():
    with pytest.raises(
        InputError, match=r"group must add up to the number of scores, 2, got 18,446,744,073,709,551,618"
    ):
        Queries.from_arrays([0.5, 0.6], [1, 0], group=np.array([2**62] * 4 + [2]))
    for offsets in ([0, 2**62, -(2**63), -(2**62), 0, 2], [0, 2**63, 2]):
        with pytest.raises(InputError, match="offsets must"):
            Queries([0.5, 0.6], offsets)
    offsets = np.array([0, 1, 2])
    queries = Queries([0.5, 0.6], offsets)
    offsets[1] = 10**9
    assert queries.offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("changed", "message"), BAD_ARRAYS)
def test_bad_arrays_are_refused_with_a_message_that_says_what_to_do(changed, message):
    with pytest.raises(InputError, match=message) as caught:
        small(**changed)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, CutlineError)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([1, 2], [1, 2]), r"offsets must start at 0, got \[1\]; put a 0 first"),
        (([1, 2], []), r"offsets must start at 0, got none"),
        (([1, 2], [0, 1]), r"offsets must end at the number of items, 2, got 1"),
        (([1, 2], [0, 3, 1, 2]), r"offsets must not decrease, got 3 and then 1 at 2"),
        (([1, 2], [0, 0.5, 2]), r"offsets must be whole numbers, got float64"),
        (([1, 2], [0, 1, 1, 2]), r"query 1 has no items; drop it: there is no list to cut"),
        (([1, 2], [0, 2, 2], None, None, ["a", "b"]), r"query 'b' has no items"),
        (([1, 2], [0, 1, 2], None, None, ["a", "a"]), r"query id 'a' appears twice, as queries 0 and 1; .*from_arrays"),
        (([1, 2], [0, 1, 2], None, None, ["a"]), r"query_ids must have one value per query, 2 in all, got 1"),
    ],
)
def test_offsets_and_ids_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Queries(*fields)


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        (
            {"q1": {"d": 1.0}},
            {1: {"d": 1}},
            r"share no query: run has ids such as 'q1', qrels such as 1; write them alike",
        ),
        ({"q1": {"d": 1.0}}, {}, r"share no query: .* qrels none"),
        ({"q1": 1.0}, None, r"run must be \{query: \{item: number\}\}, but query 'q1' does not hold a mapping"),
        ([("q1", "d", 1.0)], None, r"run must be \{query: \{item: number\}\}, got list"),
        ({"q1": {"d": 1.0}}, {"q1": ["d"]}, r"qrels must be .* query 'q1' does not hold a mapping"),
        ({"q1": {}, "q2": {"d": 1.0}}, None, r"query 'q1' has no items"),
        ({"q1": {"d": "high"}}, None, r"scores must be numbers, got the text 'high'"),
    ],
)
def test_bad_dictionaries_are_refused(run, qrels, message):
    with pytest.raises(InputError, match=message):
        Queries.from_dicts(run, qrels)


def test_the_same_item_may_be_in_two_queries():
    assert Queries.from_arrays([1.0] * 4, group=[2, 2], item_ids=["x", "y", "x", "y"]).n_items == 4


def test_items_whose_hashes_collide_are_no_duplicates(monkeypatch):
    monkeypatch.setattr(queries_module, "hash", lambda _: 7, raising=False)
    assert Queries.from_arrays([1.0] * 3, group=[2, 1], item_ids=["x", "y", "x"]).n_items == 3
    with pytest.raises(InputError, match="item 'x' appears twice in query 0"):
        Queries.from_arrays([1.0] * 3, group=[3], item_ids=["x", "y", "x"])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), min_size=1, max_size=25))
def test_duplicates_are_found_exactly_where_a_set_finds_them(pairs):
    qid = [q for q, _ in pairs]
    scores = [0.0] * len(pairs)
    for items in ([i for _, i in pairs], [f"d{i}" for _, i in pairs]):
        if len(set(pairs)) == len(pairs):
            assert Queries.from_arrays(scores, qid=qid, item_ids=items).n_items == len(pairs)
        else:
            with pytest.raises(InputError, match="appears twice in query"):
                Queries.from_arrays(scores, qid=qid, item_ids=items)


def test_a_table_is_passed_through_and_anything_else_is_told_how_to_become_one():
    queries = small()
    assert check_is_queries(queries) is queries
    assert check_is_queries(queries[:2], name="held_out").n_items == 4


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pd.DataFrame(), r"DataFrame; cl.Queries.from_frame\(df\) and cl.Queries.from_arrays make them$"),
        (np.ones(3), r"ndarray; cl.Queries.from_frame\(df\) and cl.Queries.from_arrays make them$"),
        (None, r"NoneType; cl.Queries.from_frame"),
        (Queries, r"the class Queries; cl.Queries.from_frame"),
        ({"q1": {"d1": 0.5}}, r"dict; cl.Queries.from_dicts\(run, qrels\) makes them$"),
        ("scores.csv", r"'scores.csv'; read the file into a frame first, for cl.Queries.from_frame\(df\)$"),
        (Path("scores.csv"), r".*Path\('scores.csv'\); read the file into a frame first"),
        (small()[0], r"Query; queries\[i : i \+ 1\] is a table of one query$"),
        (
            small().split(1, rng=0),
            r"tuple; pass one of the tables in it, as in: one, other = queries.split\(0.5, rng=0\)$",
        ),
        (
            Slates(queries=small(), chosen=np.zeros(5, dtype=bool), order=np.array([], dtype=np.int64)),
            r"Slates; slates.queries holds the queries that were cut$",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_table_is_refused_by_name(value, message):
    with pytest.raises(InputError, match="^queries must be cl.Queries, got " + message):
        check_is_queries(value)
    with pytest.raises(InputError, match=r"^held_out must be cl.Queries, got "):
        check_is_queries(value, name="held_out")


# What it holds ------------------------------------------------------------------------------------------------------


def test_a_query_is_a_view_with_its_own_columns():
    query = small()[1]
    assert isinstance(query, Query)
    assert (query.id, len(query)) == ("a", 2)
    assert query.columns["device"].tolist() == ["d", "d"]
    assert query.columns["place"] == "q"
    assert small()[-1].id == "007"
    assert np.shares_memory((table := small())[0].scores, table.scores)


def test_a_query_that_is_not_there_is_an_index_error_and_other_keys_are_input_errors():
    with pytest.raises(IndexError, match="there is no query 3: the table has 3, from 0 to 2"):
        small()[3]
    with pytest.raises(InputError, match=r"found by its row number, got \[0, 1\]; select\(\) takes many, or a mask"):
        small()[[0, 1]]  # type: ignore[index]
    with pytest.raises(IndexError, match=r"there is no query 1: the table has only query 0$"):
        small()[:1][1]
    with pytest.raises(IndexError, match=r"there is no query 0: the table has none$"):
        small()[:0][0]


def test_an_id_where_a_row_number_should_be_is_answered_with_how_to_choose_by_id():
    queries = small()
    how = r"; to choose by id: queries.select\(np.isin\(queries.query_ids, \['a'\]\)\)$"
    with pytest.raises(InputError, match=r"^a query is found by its row number, got 'a'" + how):
        queries["a"]  # type: ignore[index]
    for which in ("a", ["a", "b"], np.array(["a"])):
        with pytest.raises(InputError, match=r"^which must be row numbers or a mask, got the text 'a'" + how):
            queries.select(which)
    assert [q.id for q in queries.select(np.isin(queries.query_ids, ["a"]))] == ["a"]  # what the message says
    numbered = small(qid=[1017, 8, 1017, 9, 8])
    how = r"; to choose by id: queries.select\(np.isin\(queries.query_ids, \[1017\]\)\)$"
    with pytest.raises(IndexError, match="there is no query 1017: the table has 3, from 0 to 2" + how):
        numbered[1017]
    with pytest.raises(InputError, match="which must be row numbers of queries, from 0 to 2, got 1017" + how):
        numbered.select([0, 1017])
    with pytest.raises(IndexError, match=r"there is no query 7: the table has 3, from 0 to 2$"):
        numbered[7]
    with pytest.raises(InputError, match="got 'a'; there are no query ids"):
        Queries.from_arrays([1.0], group=[1])["a"]  # type: ignore[index]


def test_nothing_can_be_written_to():
    queries = small()
    for array in (queries.scores, queries.offsets, queries.labels, queries.query_ids, queries.columns["device"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        queries.scores = queries.scores  # type: ignore[misc]
    with pytest.raises(TypeError):
        queries.columns["new"] = queries.scores  # type: ignore[index]


def test_the_array_that_was_handed_over_is_not_copied_and_stays_writable():
    scores = np.array([0.1, 0.2])
    queries = Queries.from_arrays(scores, group=[2])
    assert np.shares_memory(queries.scores, scores)
    assert scores.flags.writeable


def test_a_column_as_one_value_per_query():
    queries = small()
    assert queries.per_query("place").tolist() == ["p", "q", "r"]
    assert queries.per_query("device").tolist() == ["m", "d", "t"]
    gaps = small(columns={"age": [NAN, 2.0, NAN, 4.0, 2.0], "who": [None, "y", None, "z", "y"]})
    assert np.array_equal(gaps.per_query("age"), [NAN, 2.0, 4.0], equal_nan=True)
    assert gaps.per_query("who").tolist() == [None, "y", "z"]


def test_a_column_that_varies_within_a_query_is_refused_by_name():
    queries = small(columns={"device": ["m", "d", "m", "t", "tv"]})
    with pytest.raises(
        InputError, match="column 'device' must have one value per query, but query 'a' has 'd' and 'tv'"
    ):
        queries.per_query("device")
    with pytest.raises(
        InputError, match=r"there is no column 'devise' besides .*; there are: 'device'; did you mean 'device'"
    ):
        queries.per_query("devise")


@pytest.mark.parametrize(
    ("changed", "name", "message"),
    [
        (
            {},
            "query_id",
            r"^'query_id' is none of the extra columns; there are: 'device', 'place'$",
        ),
        (
            {"labels": None, "item_ids": None, "vectors": np.ones((5, 2)), "columns": None},
            "x",
            r"no column 'x' besides query_id, score, vector; there are: none$",
        ),
        ({}, ["device"], r"a column is named by text, got \['device'\]; pass one name"),
    ],
)
def test_a_column_that_is_not_there_is_told_from_the_fixed_ones(changed, name, message):
    with pytest.raises(InputError, match=message):
        small(**changed).per_query(name)


def test_pickling_and_deep_copies_keep_everything_and_stay_read_only():
    queries = small(vectors=np.ones((5, 2)))
    for twin in (pickle.loads(pickle.dumps(queries)), copy.deepcopy(queries)):
        assert as_lists(twin) == as_lists(queries)
        assert twin.columns["place"].tolist() == ["p", "q", "r"]
        assert not twin.scores.flags.writeable
        assert not twin.columns["place"].flags.writeable


# Fewer queries ------------------------------------------------------------------------------------------------------


@given(tables(), st.data())
def test_select_meets_picking_queries_one_by_one(table, data):
    qid, scores, items = table
    queries = Queries.from_arrays(
        scores, qid=qid, item_ids=items, vectors=np.array(scores)[:, None], columns={"twice": np.array(items) * 2}
    )
    which = data.draw(st.lists(st.integers(-len(queries), len(queries) - 1), unique_by=lambda i: i % len(queries)))
    every = as_lists(queries)
    chosen = queries.select(which)
    assert as_lists(chosen) == [every[i] for i in which]
    assert chosen.columns["twice"].tolist() == [2 * i for q in chosen for i in q.item_ids.tolist()]
    assert chosen.vectors is not None
    assert np.array_equal(chosen.vectors[:, 0], chosen.scores)
    mask = np.zeros(len(queries), dtype=bool)
    mask[which] = True
    assert as_lists(queries.select(mask)) == [each for each, kept in zip(every, mask, strict=True) if kept]
    cut = data.draw(st.slices(len(queries)))
    assert as_lists(queries[cut]) == every[cut]


@given(tables(), st.integers(0, 2**32))
def test_split_parts_the_queries_and_keeps_their_order(table, seed):
    qid, scores, items = table
    queries = Queries.from_arrays([*scores, 0.5], qid=[*qid, "last"], item_ids=[*items, -1])
    every = [q.id for q in queries]
    for one, other in (queries.split(1, rng=seed), queries.split(len(queries) - 1, rng=np.random.default_rng(seed))):
        first, second = [q.id for q in one], [q.id for q in other]
        assert sorted(first + second) == sorted(every)
        assert first == [i for i in every if i in first]
        assert second == [i for i in every if i in second]
    assert as_lists(queries.split(1, rng=seed)[0]) == as_lists(queries.split(1, rng=seed)[0])


def test_split_takes_a_share_or_a_count():
    queries = Queries.from_arrays(np.arange(10.0), group=[1] * 10)
    assert [len(part) for part in queries.split(0.3, rng=0)] == [3, 7]
    assert [len(part) for part in queries.split(4, rng=0)] == [4, 6]
    assert len({tuple(queries.split(0.5, rng=seed)[0].scores) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("share", "rng", "message"),
    [
        (1.5, 0, r"a share must be in \(0, 1\), got 1.5"),
        (2.0, 0, r"a share must be in \(0, 1\), got 2.0; a count of queries is written 2"),
        (0.01, 0, r"split must leave queries on both sides, got 0.01 of 3 queries"),
        (3, 0, r"split must leave queries on both sides, got 3 of 3 queries"),
        (9, 0, r"split must leave queries on both sides, got 9 of 3 queries$"),
        (True, 0, r"share_or_count must be a number, got True"),
        ("half", 0, r"share_or_count must be a number, got 'half'"),
        (0.5, None, r"rng must be a whole number of at least 0 or a numpy Generator, got None"),
        (0.5, -1, r"rng must be a whole number of at least 0 or a numpy Generator, got -1"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(share, rng, message):
    with pytest.raises(InputError, match=message):
        small().split(share, rng=rng)


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ([0, 3], r"which must be row numbers of queries, from 0 to 2, got 3"),
        ([0, -3], r"query 0 is selected twice; a copy is no new evidence"),
        ([True, False], r"a mask must have one truth value per query, 3 in all, got shape \(2,\)"),
        ([0.5], r"which must be whole numbers, got float64 such as 0.5"),
        (1, r"which must be several row numbers or a mask, got 1; write queries\[1\] for one"),
    ],
)
def test_a_selection_that_does_not_fit_is_refused(which, message):
    with pytest.raises(InputError, match=message):
        small().select(which)


# The order of a keyed hash ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, -5, 12345678901234567890])
def test_hash_order_sorts_by_the_keyed_digest_of_the_id(seed):
    ids = [f"q{i}" for i in range(50)] + ["ü", "007"]
    queries = Queries.from_arrays(np.zeros(len(ids)), qid=ids)
    key = str(seed).encode().ljust(16, b"\0")
    wanted = sorted(ids, key=lambda i: hashlib.blake2b(i.encode(), key=key, digest_size=16).digest())
    assert [ids[i] for i in queries.hash_order(seed)] == wanted


@given(st.permutations(range(12)), st.integers(-(2**70), 2**70))
def test_hash_order_does_not_depend_on_the_order_of_rows(order, seed):
    ids = np.arange(12)
    one = Queries.from_arrays(np.zeros(12), qid=ids)
    other = one.select(order)
    assert ids[one.hash_order(seed)].tolist() == ids[order][other.hash_order(seed)].tolist()


def test_hash_order_takes_a_number_and_its_text_alike_and_changes_with_the_seed():
    numbers = Queries.from_arrays(np.zeros(40), qid=np.arange(40))
    texts = Queries.from_arrays(np.zeros(40), qid=[str(i) for i in range(40)])
    rows = Queries.from_arrays(np.zeros(40), group=[1] * 40)
    assert numbers.hash_order(3).tolist() == texts.hash_order(3).tolist() == rows.hash_order(3).tolist()
    assert sorted(numbers.hash_order(3).tolist()) == list(range(40))
    assert numbers.hash_order(3).tolist() != numbers.hash_order(4).tolist()


@pytest.mark.parametrize(("seed", "message"), [(0.5, "seed must be a whole number, got 0.5"), (10**70, "at most 64")])
def test_a_seed_that_is_no_key_is_refused(seed, message):
    with pytest.raises(InputError, match=message):
        small().hash_order(seed)


# Shown --------------------------------------------------------------------------------------------------------------


def test_a_table_shows_what_it_holds():
    shown = repr(small(vectors=np.ones((5, 3))))
    assert shown.splitlines() == [
        "Queries",
        "  queries      3",
        "  items        5",
        "  list length  min 1, median 2, max 2",
        "  labels       80 % judged: 0, 1, 2, 4",
        "  vectors      3 x float64",
        "  columns      device, place",
    ]
    assert "none" in repr(small(labels=None))
    assert "0 % judged" in repr(small(labels=[NAN] * 5))
    assert "0 to 9" in repr(Queries.from_arrays(np.arange(10.0), np.arange(10.0), group=[10]))
    assert "items    2" in repr(small()[0])


def test_the_notebook_table_escapes_what_users_wrote():
    shown = small(columns={"<script>": [1, 2, 3]})._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "<script>" not in Queries.from_arrays([1.0], qid=["<script>"])[0]._repr_html_()


def test_tables_align_values_and_escape_every_part():
    assert text_table("Title", [("a", 1), ("long", "x"), ("none", "")]) == "Title\n  a     1\n  long  x\n  none"
    assert text_table("Title", []) == "Title"
    shown = html_table("<t>", [("<n>", "<v> & more")])
    assert [part in shown for part in ("&lt;t&gt;", "&lt;n&gt;", "&lt;v&gt; &amp; more")] == [True] * 3
    assert "<t>" not in shown


def test_a_table_without_queries_can_be_held_and_shown():
    nothing = small().select([])
    assert len(nothing) == 0
    assert nothing.hash_order(0).tolist() == []
    assert "queries  0" in repr(nothing)
    assert as_lists(Queries.from_dicts({})) == []


def test_importing_queries_loads_no_heavy_library():
    heavy = ("numba", "pandas", "polars", "pyarrow", "scipy", "narwhals")
    code = f"import sys, cutline.queries; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
