"""Slates: what was chosen from each query, as positions, as a mask and as a frame."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.errors import InputError
from cutline.queries import Queries
from cutline.slates import Slates


def table(**columns: list) -> Queries:
    return Queries.from_arrays(
        [0.2, 0.9, 0.5, 0.1, 0.7, 0.6],
        [1, 4, None, 0, 2, 3],
        qid=["a", "a", "a", "b", "c", "c"],
        item_ids=list("uvwxyz"),
        columns=columns,
    )


def chosen_from(queries: Queries) -> Slates:
    """Items scoring at least 0.5, best first: two of a, none of b, two of c."""
    mask = queries.scores >= 0.5
    return Slates(queries=queries, chosen=mask, order=np.array([1, 2, 4, 5]))


def test_a_slate_holds_positions_within_its_query_best_first():
    slates = chosen_from(table())
    assert [slate.tolist() for slate in slates] == [[1, 2], [], [0, 1]]
    assert slates[0].tolist() == [1, 2]
    assert slates[-1].tolist() == [0, 1]
    assert len(slates) == 3
    assert slates.sizes.tolist() == [2, 0, 2]
    assert slates.offsets.tolist() == [0, 3, 4, 6]
    assert slates.share_nonempty == pytest.approx(2 / 3)
    assert slates.mean_size == pytest.approx(4 / 3)


def test_a_slate_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError, match="there is no query 3"):
        chosen_from(table())[3]
    slates = chosen_from(table())
    how = r"; the row of an id: int\(np.flatnonzero\(slates.queries.query_ids == 'c'\)\[0\]\)$"
    with pytest.raises(InputError, match=r"^a query is found by its row number, got 'c'" + how):
        slates["c"]  # type: ignore[index]
    assert slates[int(np.flatnonzero(slates.queries.query_ids == "c")[0])].tolist() == [0, 1]


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(0, 10))
def test_slates_meet_a_loop_over_the_queries(lists, threshold):
    scores = np.array([score for each in lists for score in each], dtype=np.float64)
    queries = Queries.from_arrays(scores, group=[len(each) for each in lists])
    mask = scores >= threshold
    ranked = sorted(np.flatnonzero(mask).tolist(), key=lambda row: (queries.query_of_item()[row], -scores[row], row))
    slates = Slates(queries=queries, chosen=mask, order=np.array(ranked, dtype=np.int64))
    wanted = [sorted((i for i, s in enumerate(each) if s >= threshold), key=lambda i: (-each[i], i)) for each in lists]
    assert [slate.tolist() for slate in slates] == wanted
    assert slates.sizes.tolist() == [len(slate) for slate in wanted]
    frame = slates.to_frame().to_pydict()
    assert frame["rank"] == [rank for slate in wanted for rank in range(1, len(slate) + 1)]
    assert frame["query_id"] == [query for query, slate in enumerate(wanted) for _ in slate]
    assert frame["score"] == [lists[query][i] for query, slate in enumerate(wanted) for i in slate]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_of_chosen_rows_is_ranked_best_first(backend):
    frame = chosen_from(table(device=list("mmmttt"))).to_frame(backend=backend)
    rows = (
        frame.to_pylist()
        if backend == "pyarrow"
        else frame.to_dict("records")
        if backend == "pandas"
        else frame.to_dicts()
    )
    assert [(row["query_id"], row["item_id"], row["score"], row["rank"], row["device"]) for row in rows] == [
        ("a", "v", 0.9, 1, "m"),
        ("a", "w", 0.5, 2, "m"),
        ("c", "y", 0.7, 1, "t"),
        ("c", "z", 0.6, 2, "t"),
    ]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_keeping_all_rows_marks_the_chosen_and_leaves_the_other_ranks_null(backend):
    frame = chosen_from(table()).to_frame(keep_all=True, backend=backend)
    arrow = frame if backend == "pyarrow" else frame.to_arrow() if backend == "polars" else pa.Table.from_pandas(frame)
    assert arrow["item_id"].to_pylist() == list("uvwxyz")
    assert arrow["chosen"].to_pylist() == [False, True, True, False, True, True]
    assert arrow["rank"].to_pylist() == [None, 1, 2, None, 1, 2]
    assert pa.types.is_integer(arrow["rank"].type)


def test_the_backend_comes_first_and_what_to_keep_by_name():
    slates = chosen_from(table())
    assert slates.to_frame("pandas").equals(slates.to_frame(backend="pandas"))
    with pytest.raises(TypeError, match="positional"):
        slates.to_frame("pandas", True)  # type: ignore[misc]
    with pytest.raises(InputError, match="backend must be one of 'pandas', 'polars', 'pyarrow', got True"):
        slates.to_frame(True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"backend must be one of .*, got ''"):
        slates.to_frame("")
    for odd in ("pandas", 1, None):
        with pytest.raises(InputError, match=f"keep_all must be True or False, got {odd!r}"):
            slates.to_frame(keep_all=odd)  # type: ignore[arg-type]
    assert slates.to_frame(keep_all=np.True_).num_rows == 6  # type: ignore[arg-type]


def test_slates_of_something_else_than_queries_are_refused():
    with pytest.raises(InputError, match=r"queries must be cl.Queries, got Table; cl.Queries.from_frame"):
        Slates(queries=table().to_frame(), chosen=np.zeros(6, dtype=bool), order=np.array([], dtype=np.int64))


def test_a_column_that_is_called_rank_already_is_kept_under_another_name():
    queries = table(rank=[1, 2, 3, 4, 5, 6], rank_input=[0] * 6, chosen=list("abcdef"))
    kept = chosen_from(queries).to_frame().to_pydict()
    assert kept["rank"] == [1, 2, 1, 2]
    assert kept["rank_input"] == [0] * 4
    assert kept["rank_input_input"] == [2, 3, 5, 6]
    assert kept["chosen"] == ["b", "c", "e", "f"]
    every = chosen_from(queries).to_frame(keep_all=True).to_pydict()
    assert every["chosen"] == [False, True, True, False, True, True]
    assert every["chosen_input"] == list("abcdef")


def test_a_frame_of_empty_slates_has_the_columns_and_no_rows():
    queries = table()
    nothing = Slates(queries=queries, chosen=np.zeros(6, dtype=bool), order=np.array([], dtype=np.int64))
    frame = nothing.to_frame()
    assert frame.num_rows == 0
    assert frame.column_names == ["query_id", "item_id", "score", "label", "rank"]
    assert nothing.to_frame(keep_all=True)["rank"].to_pylist() == [None] * 6
    assert (nothing.share_nonempty, nothing.mean_size) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("chosen", "order", "message"),
    [
        ([True] * 5, [0], r"chosen must be 6 truth values, one per item, got bool of shape \(5,\)"),
        ([1, 0, 0, 0, 0, 0], [0], r"chosen must be 6 truth values, one per item, got int64"),
        ([True, True, False, False, False, False], [0], r"order must list each chosen row once"),
        ([True, True, False, False, False, False], [0, 0], r"order must list each chosen row once"),
        ([True, True, False, False, False, False], [0, 2], r"order must list each chosen row once"),
        ([True, True, False, False, False, False], [0, 9], r"order must list each chosen row once"),
        ([True, False, False, False, True, False], [4, 0], r"order must list each chosen row once, query by query"),
        ([True, True, False, False, False, False], [0.5, 1], r"order must be whole numbers"),
    ],
)
def test_a_mask_or_an_order_that_does_not_fit_is_refused(chosen, order, message):
    with pytest.raises(InputError, match=message):
        Slates(queries=table(), chosen=chosen, order=order)  # type: ignore[arg-type]


def test_slates_are_values_that_pickle_copy_and_show_themselves():
    slates = chosen_from(table())
    for twin in (pickle.loads(pickle.dumps(slates)), copy.deepcopy(slates)):
        assert [slate.tolist() for slate in twin] == [[1, 2], [], [0, 1]]
        assert not twin.chosen.flags.writeable
    with pytest.raises(AttributeError):
        slates.chosen = slates.chosen  # type: ignore[misc]
    assert repr(slates).splitlines() == [
        "Slates",
        "  queries       3",
        "  items chosen  4 of 6",
        "  mean size     1.333",
        "  not empty     66.67 %",
    ]
    assert "4 of 6" in slates._repr_html_()
