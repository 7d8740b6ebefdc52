"""Frames in and out: pandas, polars, pyarrow and duckdb, the names that are known, and each refusal's message."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.errors import InputError
from cutline.queries import Queries

NAN = float("nan")


def relation(columns: dict[str, Any]) -> duckdb.DuckDBPyRelation:
    return duckdb.from_arrow(pa.table(columns))


EAGER: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
MAKERS = EAGER | {"polars lazy": pl.LazyFrame, "duckdb": relation}
BACK = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.DataFrame,
    "pyarrow": pa.Table,
    "duckdb": pa.Table,
}

every_maker = pytest.mark.parametrize("kind", MAKERS)
every_eager = pytest.mark.parametrize("make", EAGER.values(), ids=EAGER)

COLUMNS: dict[str, Any] = {
    "qid": ["b", "b", "a", "a", "007"],
    "docno": ["x", "z", "y", "w", "x"],
    "score": [0.1, 0.3, 0.2, 0.5, 0.4],
    "rel": [1.0, None, 0.0, 2.0, 1.0],
    "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 0.0]],
    "device": ["m", "m", "d", "d", None],
    "rank": [1, 2, 3, 4, 5],
}


def held(queries: Queries) -> dict[tuple, tuple]:
    """By (query, item): score, label, vector and the columns, missing ones as None; SQL promises no order."""
    assert queries.item_ids is not None
    assert queries.labels is not None
    assert queries.vectors is not None
    return {
        (queries.id_of(int(query)), queries.item_ids[row]): (
            queries.scores[row],
            None if math.isnan(queries.labels[row]) else queries.labels[row],
            tuple(queries.vectors[row]),
            *(None if pd.isna(column[row]) else column[row] for column in queries.columns.values()),
        )
        for row, query in enumerate(queries.query_of_item())
    }


WANTED = {
    ("b", "x"): (0.1, 1.0, (1.0, 2.0), "m", 1),
    ("b", "z"): (0.3, None, (3.0, 4.0), "m", 2),
    ("a", "y"): (0.2, 0.0, (5.0, 6.0), "d", 3),
    ("a", "w"): (0.5, 2.0, (7.0, 8.0), "d", 4),
    ("007", "x"): (0.4, 1.0, (9.0, 0.0), None, 5),
}


@every_maker
def test_a_frame_is_read_and_given_back_as_its_own_kind(kind):
    queries = Queries.from_frame(MAKERS[kind](COLUMNS))
    assert held(queries) == WANTED
    assert list(queries.columns) == ["device", "rank"]
    back = queries.to_frame()
    assert isinstance(back, BACK[kind])
    assert list(back.column_names if isinstance(back, pa.Table) else back.columns) == [
        *("query_id", "item_id", "score", "label", "vector", "device", "rank")
    ]
    assert held(Queries.from_frame(back)) == WANTED


@every_maker
def test_a_table_remembers_the_kind_of_frame_it_came_from(kind):
    queries = Queries.from_frame(MAKERS[kind](COLUMNS))
    wanted = {"polars lazy": "polars", "duckdb": "pyarrow"}.get(kind, kind)
    assert queries.backend == wanted
    assert queries.select([1]).backend == queries[1:].backend == wanted
    assert Queries.from_arrays([1.0], group=[1]).backend is None


@pytest.mark.parametrize("backend", EAGER)
def test_any_backend_can_be_asked_for(backend):
    back = Queries.from_frame(pa.table(COLUMNS)).to_frame(backend)
    assert isinstance(back, BACK[backend])
    assert held(Queries.from_frame(back)) == WANTED


@pytest.mark.parametrize("backend", EAGER)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "007", "ü"]),
            st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.integers(0, 4),
            st.none() | st.integers(-5, 5),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_goes_out_comes_back_the_same(backend, rows):
    qid, scores, labels, extra = (list(column) for column in zip(*rows, strict=True))
    items = [f"d{i}" for i in range(len(rows))]
    columns = {"extra": np.array(extra, dtype=object)}
    one = Queries.from_arrays(scores, labels, qid=qid, item_ids=items, columns=columns)
    other = Queries.from_frame(one.to_frame(backend))
    assert one.query_ids is not None
    assert other.query_ids is not None
    assert one.item_ids is not None
    assert other.item_ids is not None
    assert other.query_ids.tolist() == one.query_ids.tolist()
    assert other.item_ids.tolist() == one.item_ids.tolist()
    assert other.scores.tolist() == one.scores.tolist()
    assert np.array_equal(other.labels, one.labels, equal_nan=True)  # type: ignore[arg-type]
    came = [None if value is None or value != value else int(value) for value in other.columns["extra"]]
    assert came == one.columns["extra"].tolist()


def test_rows_that_are_not_adjacent_are_regrouped():
    frame = pl.DataFrame({"qid": ["a", "b", "a"], "score": [1, 2, 3], "n": [10, 20, 30]})
    queries = Queries.from_frame(frame)
    assert queries.scores.tolist() == [1.0, 3.0, 2.0]
    assert queries.columns["n"].tolist() == [10, 30, 20]


def test_numbers_and_columns_per_query_go_out_by_item():
    queries = Queries.from_arrays([1.0, 2.0, 3.0], [0, 1, 2], group=[2, 1], columns={"place": ["p", "q"]})
    assert queries.to_frame().to_pydict() == {
        "query_id": [0, 0, 1],
        "score": [1.0, 2.0, 3.0],
        "label": [0.0, 1.0, 2.0],
        "place": ["p", "p", "q"],
    }


def test_unjudged_items_go_out_as_null():
    queries = Queries.from_arrays([1.0, 2.0], [None, 1], group=[2])
    assert queries.to_frame("pyarrow")["label"].to_pylist() == [None, 1.0]
    assert queries.to_frame("polars")["label"].to_list() == [None, 1.0]
    assert queries.to_frame("pandas")["label"].isna().tolist() == [True, False]


# Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["query_id", "q_id", "query-id", "qid", "user_id", "QID", "Query_Id"])
@pytest.mark.parametrize("item", ["item_id", "doc_id", "docno", "docid", "corpus-id", "DocNo"])
@pytest.mark.parametrize("label", ["label", "labels", "relevance", "rel", "rating", "grade", "Grade"])
def test_the_usual_names_are_known(query, item, label):
    queries = Queries.from_frame(pa.table({query: ["a"], item: ["x"], "Score": [1.0], label: [3]}))
    assert (queries.id_of(0), queries[0].item_ids.tolist(), queries[0].labels.tolist()) == ("a", ["x"], [3.0])
    assert not queries.columns


def test_columns_name_the_roles_and_what_they_replace_is_kept():
    frame = pa.table({"session": [7, 7], "score": [1, 2], "model_score": [0.5, 0.6], "emb": [[1.0], [2.0]]})
    queries = Queries.from_frame(frame, columns={"query_id": "session", "score": "model_score", "vectors": "emb"})
    assert queries.scores.tolist() == [0.5, 0.6]
    assert queries.vectors is not None
    assert queries.vectors.tolist() == [[1.0], [2.0]]
    back = queries.to_frame().to_pydict()
    assert back["score"] == [0.5, 0.6]
    assert back["score_input"] == [1, 2]


def test_an_exact_name_goes_before_one_in_another_case():
    queries = Queries.from_frame(pa.table({"QID": ["no"], "qid": ["yes"], "score": [1.0]}))
    assert queries.id_of(0) == "yes"
    assert queries.columns["QID"].tolist() == ["no"]


@every_eager
@pytest.mark.parametrize(
    ("columns", "told", "message"),
    [
        (
            {"qid": ["a"], "user_id": ["a"], "score": [1]},
            {},
            r"'qid', 'user_id' could each be the query_id; say which, for instance columns=\{'query_id': 'qid'\}",
        ),
        ({"QID": ["a"], "Q_id": ["a"], "score": [1]}, {}, r"columns 'QID', 'Q_id' could each be the query_id"),
        ({"session": ["a"], "score": [1]}, {}, r"no column for the query_id .*; it has 'session', 'score'; .*columns="),
        (
            {"qid": ["a"], "Scores": [1]},
            {},
            r"no column for the score .* it has 'qid', 'Scores'; did you mean 'Scores'",
        ),
        ({"qid": ["a"], "score": [1]}, {"score": "scor"}, r"not there, 'scor'; it has .*; did you mean 'score'"),
        ({"qid": ["a"], "score": [1]}, {"scoer": "score"}, r"a key of columns must be one of .*; did you mean 'score'"),
        ({"qid": ["a"], "score": [1]}, {"label": "score", "score": "score"}, r"columns gives 'score' two roles"),
        (
            {"qid": ["a"], "prediction": [1]},
            {"prediction": "score"},
            r"got \{'prediction': 'score'\}; keys are roles: did you mean \{'score': 'prediction'\}\?$",
        ),
        (
            {"session": ["a"], "emb": [[1.0]], "score": [1]},
            {"emb": "vectors", "query_id": "session"},
            r"keys are roles: did you mean \{'vectors': 'emb', 'query_id': 'session'\}\?$",
        ),
        *(
            (
                {"qid": ["a"], "score": [1]},
                told,
                r"^columns must be \{role: name\}, such as .*'prediction'\}, got " + came,
            )
            for told, came in (
                (["score"], r"\['score'\]$"),
                ("score", r"'score'$"),
                ({"score": 3}, r"\{'score': 3\}$"),
                ({"qid": "qid", "score": None}, r"\{'score': None\}$"),
                ({3: "score"}, r"\{3: 'score'\}$"),
                ([], r"\[\]$"),
            )
        ),
    ],
)
def test_columns_that_cannot_be_matched_are_refused(make, columns, told, message):
    with pytest.raises(InputError, match=message):
        Queries.from_frame(make(columns), columns=told)


def test_a_frame_of_pandas_whose_columns_are_numbered_can_be_told_by_number():
    queries = Queries.from_frame(pd.DataFrame({0: ["a", "b"], 1: [1.0, 2.0]}), columns={"query_id": 0, "score": 1})  # type: ignore[dict-item]
    assert queries.id_of(1) == "b"
    assert queries.scores.tolist() == [1.0, 2.0]


def test_a_column_in_the_index_of_pandas_is_found_by_whoever_resets_it():
    frame = pd.DataFrame({"qid": ["a", "b"], "docno": ["x", "y"], "score": [1.0, 2.0]})
    for index in ("qid", ["qid", "docno"]):
        with pytest.raises(
            InputError, match=r"no column for the query_id .*; it is in the index: pass df.reset_index\(\)$"
        ):
            Queries.from_frame(frame.set_index(index))
    named = frame.rename(columns={"qid": "session"}).set_index("session")
    with pytest.raises(InputError, match=r"not there, 'session'; it is in the index: pass df.reset_index\(\)$"):
        Queries.from_frame(named, columns={"query_id": "session"})
    with pytest.raises(InputError, match=r"no column for the score .*say columns=\{'score': ...\}$"):
        Queries.from_frame(frame.set_index("qid").reset_index().drop(columns="score"))
    assert len(Queries.from_frame(frame.set_index(["qid", "docno"]).reset_index())) == 2


@every_eager
def test_a_role_s_own_name_goes_before_its_aliases(make):
    queries = Queries.from_frame(make({"user_id": ["u"], "query_id": ["q"], "score": [1.0], "rel": [0], "label": [3]}))
    assert queries.id_of(0) == "q"
    assert queries.labels.tolist() == [3.0]
    assert queries.columns["user_id"].tolist() == ["u"]
    assert queries.columns["rel"].tolist() == [0]


# Values -------------------------------------------------------------------------------------------------------------


@every_eager
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": ["a", None], "score": [1.0, 2.0]}, r"column 'qid' must not have missing ids, got one in row 1; drop"),
        ({"qid": [1, None], "score": [1.0, 2.0]}, r"column 'qid' must not have missing ids, got one in row 1"),
        ({"qid": ["a", "a"], "docno": [None, "x"], "score": [1.0, 2.0]}, r"column 'docno' must not have missing ids"),
        ({"qid": ["a", "b"], "score": [1.0, None]}, r"scores must be finite, got nan for query 'b' at position 0"),
        ({"qid": ["a", "b"], "score": ["1", "2"]}, r"column 'score' must hold numbers, got text such as '1'; convert"),
        (
            {"qid": ["a", "b"], "score": [1, 2], "rel": ["A", "B"]},
            r"column 'rel' must hold numbers, got text such as 'A'",
        ),
        ({"qid": ["a", "a"], "docno": ["x", "x"], "score": [1, 2]}, r"item 'x' appears twice in query 'a'"),
        (
            {"qid": ["a", "a"], "score": [1, 2], "vector": [[1.0, 2.0], [3.0]]},
            r"column 'vector' must hold vectors of one length, got 2 numbers in row 0 and 1 in row 1",
        ),
        (
            {"qid": ["a", "a"], "score": [1, 2], "vector": [[1.0], None]},
            r"must have a vector in every row, got none in row 1",
        ),
        (
            {"qid": ["a", "a"], "score": [1, 2], "vector": [[1.0], [2.0, 3.0]]},
            r"column 'vector' must hold vectors of one length, got 1 number in row 0 and 2 in row 1",
        ),
        ({"qid": ["a", "a"], "score": [1, 2], "vector": ["x", "y"]}, r"column 'vector' must hold lists of numbers"),
        (
            {"qid": ["a", "a"], "score": [1, 2], "vector": [["x"], ["y"]]},
            r"vectors must be numbers of shape|lists of num",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(make, columns, message):
    with pytest.raises(InputError, match=message):
        Queries.from_frame(make(columns))


def category(kind: str, values: list[Any]) -> Any:
    """A frame whose label is a category of these values."""
    columns = {"qid": ["a"] * len(values), "score": [1.0] * len(values)}
    if kind == "pandas":
        return pd.DataFrame(columns | {"rel": pd.Series(values, dtype="category")})
    if kind == "pyarrow":
        return pa.table(columns | {"rel": pa.array(values).dictionary_encode()})
    return pl.DataFrame(columns | {"rel": pl.Series(values, dtype=pl.Categorical)})


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
@pytest.mark.parametrize("values", [[3, 0, 3], [3, None, 0], [0.5, None, 2.0], [True, False, True]])
def test_a_category_of_numbers_is_as_good_as_the_numbers(kind, values):
    labels = Queries.from_frame(category(kind, values)).labels
    assert labels is not None
    assert [None if math.isnan(value) else value for value in labels.tolist()] == values
    if None not in values:
        scores = Queries.from_frame(category(kind, values), columns={"score": "rel", "label": "score"}).scores
        assert scores.tolist() == values


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            "pandas",
            ["A", None],
            r"got a category of text such as 'A'; convert it, as in df\['rel'\].map\(\{'A': 1, ...\}\)",
        ),
        ("pandas", [None, "3.0"], r"such as '3.0'; convert it, as in df\['rel'\].astype\(float\)$"),
        (
            "polars",
            ["A", None],
            r"a category of text such as 'A'; .* pl.col\('rel'\).cast\(pl.String\).replace_strict\(\{'A': 1, ...\}\)$",
        ),
        ("polars", ["3"], r"such as '3'; convert it, as in pl.col\('rel'\).cast\(pl.String\).cast\(pl.Float64\)$"),
        ("pyarrow", ["3"], r"got a category of text such as '3'; convert it to text and that to numbers first$"),
    ],
)
def test_a_category_of_text_is_refused_with_the_way_to_make_numbers_of_it(kind, values, message):
    with pytest.raises(InputError, match=r"^column 'rel' must hold numbers, .*" + message):
        Queries.from_frame(category(kind, values))


def test_the_ways_that_the_refusal_names_make_numbers_of_a_category():
    df = category("pandas", ["3", None, "0"])
    numbers = [df.assign(rel=df["rel"].astype(float)), df.assign(rel=df["rel"].map({"3": 3, "0": 0}))]
    frame = category("polars", ["3", None, "0"])
    text = pl.col("rel").cast(pl.String)
    numbers += [frame.with_columns(text.cast(pl.Float64)), frame.with_columns(text.replace_strict({"3": 3, "0": 0}))]
    for each in numbers:
        labels = Queries.from_frame(each).labels
        assert labels is not None
        assert np.array_equal(labels, [3, NAN, 0], equal_nan=True)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_label_of_nothing_but_nulls_is_a_table_without_judgements(kind):
    values = pa.array([None, None], pa.string()).dictionary_encode() if kind == "pyarrow" else [None, None]
    frame = category(kind, ["A", "B"])
    empty = (
        frame.set_column(2, "rel", values)
        if kind == "pyarrow"
        else frame.with_columns(rel=pl.Series(values, dtype=pl.String))
        if kind == "polars"
        else frame.assign(rel=pd.Series(values, dtype="category"))
    )
    labels = Queries.from_frame(empty).labels
    assert labels is not None
    assert np.isnan(labels).all()


def test_a_category_of_arrow_keeps_its_nulls_as_an_id_and_as_an_extra_column():
    codes = pa.array(["m", None, "d", "m"]).dictionary_encode()
    table = pa.table(
        {"qid": pa.array(["a", "b", "b", "a"]).dictionary_encode(), "score": [1.0, 2.0, 3.0, 4.0], "device": codes}
    )
    queries = Queries.from_frame(table)
    assert [query.scores.tolist() for query in queries] == [[1.0, 4.0], [2.0, 3.0]]
    assert queries.columns["device"].tolist() == ["m", "m", None, "d"]
    with pytest.raises(InputError, match=r"column 'qid' must not have missing ids, got one in row 1"):
        Queries.from_frame(table.set_column(0, "qid", codes))


@pytest.mark.parametrize(
    ("frame", "fix"),
    [
        ([1, 2], r"got list; make a frame of it first, as in pd.DataFrame\(...\)"),
        ({"qid": [1], "score": [1]}, r"got dict; make a frame of it first.*from_dicts takes a run and its judgements"),
        ("scores.parquet", r"got str; read the file first, as in pd.read_parquet\(path\)"),
        (pl.Series([1]), "got Series; Queries.from_arrays takes arrays"),
        (None, "got NoneType; Queries.from_arrays takes arrays"),
        (np.ones((2, 2)), "got ndarray; Queries.from_arrays takes arrays"),
    ],
)
def test_what_is_no_frame_is_refused(frame, fix):
    with pytest.raises(InputError, match=rf"frame must be a pandas, polars or pyarrow frame .*{fix}"):
        Queries.from_frame(frame)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_times_with_a_zone_keep_it(backend):
    times = pd.to_datetime(["2024-07-01 00:30", "2024-01-01 00:30"]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"query_id": ["a", "b"], "score": [0.5, 0.4], "seen": times})
    given = {"pandas": lambda: frame, "polars": lambda: pl.from_pandas(frame), "pyarrow": lambda: pa.table(frame)}
    queries = Queries.from_frame(given[backend]())
    back = pd.Series(list(nw.from_native(queries.to_frame()).get_column("seen").to_list()))
    assert [str(each) for each in back] == ["2024-07-01 00:30:00+02:00", "2024-01-01 00:30:00+01:00"]


def test_numbers_that_are_missing_stay_null_where_null_is_not_nan():
    frame = pl.DataFrame({"query_id": ["a", "a", "b"], "score": [0.5, 0.4, 0.3], "price": [1.5, None, 2.5]})
    back = Queries.from_frame(frame).to_frame()
    assert back["price"].to_list() == [1.5, None, 2.5]
    assert back["price"].null_count() == 1


@pytest.mark.parametrize("kind", [lambda table: table.to_batches()[0], lambda table: table.to_reader()])
def test_whatever_hands_over_rows_as_arrow_does_is_a_frame(kind):
    table = pa.table({"qid": ["a", "a", "b"], "docno": ["x", "y", "x"], "score": [0.5, 0.25, 1.0], "label": [1, 0, 2]})
    queries = Queries.from_frame(kind(table))
    assert queries.scores.tolist() == [0.5, 0.25, 1.0]
    assert queries.labels.tolist() == [1.0, 0.0, 2.0]
    assert queries.query_ids.tolist() == ["a", "b"]


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InputError, match="frame"):
        Queries.from_frame(pd.DataFrame([["a", 1, 2]], columns=["qid", "score", "score"]))
    with pytest.raises(InputError, match="frame"):
        Queries.from_frame(
            pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], ["qid", "score", "score"])
        )


def test_an_unknown_backend_and_a_column_it_cannot_hold_are_refused():
    queries = Queries.from_arrays([1.0, 2.0], group=[2], columns={"odd": np.array([1, "a"], dtype=object)})
    with pytest.raises(
        InputError, match="backend must be one of 'pandas', 'polars', 'pyarrow', got 'arrow'; did you mean"
    ):
        queries.to_frame("arrow")
    for backend in ("polars", "pyarrow"):
        with pytest.raises(InputError, match=f"column 'odd' cannot be written to {backend}"):
            queries.to_frame(backend)


def test_an_odd_but_fair_frame_is_read_pandas():
    frame = pd.DataFrame(
        {
            "qid": pd.Series(["a", "a", "b"], dtype="category"),
            "score": [Decimal("1.5"), Decimal(2), Decimal(3)],
            "rel": pd.Series([1, None, 0], dtype="Int64"),
            "flag": pd.Series([True, None, False], dtype="boolean"),
            5: [1, 2, 3],
        }
    ).set_axis([7, 7, 7])
    queries = Queries.from_frame(frame)
    assert queries.query_ids is not None
    assert queries.query_ids.tolist() == ["a", "b"]
    assert queries.scores.tolist() == [1.5, 2.0, 3.0]
    assert np.array_equal(queries.labels, [1, math.nan, 0], equal_nan=True)  # type: ignore[arg-type]
    assert queries.columns["flag"].tolist() == [True, None, False]
    assert queries.columns["5"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_extra_columns_keep_their_kind_on_the_way_through(make):
    columns = {
        "query_id": ["a", "a", "b"],
        "score": [1.0, 2.0, 3.0],
        "count": [1, None, 2**60 + 1],
        "flag": [True, None, False],
        "day": [dt.date(2020, 1, 1)] * 3,
        "tags": [["x"], ["y", "z"], []],
        "where": [{"city": "Ulm"}, {"city": "Bonn"}, {"city": "Köln"}],
    }
    frame = make(columns)
    back = Queries.from_frame(frame).to_frame()
    assert back.to_pydict() if isinstance(back, pa.Table) else back.to_dict(as_series=False) == columns
    names = [*columns]
    kinds = (
        [back.schema.field(n).type for n in names] if isinstance(back, pa.Table) else [back.schema[n] for n in names]
    )
    before = (
        [frame.schema.field(n).type for n in names] if isinstance(back, pa.Table) else [frame.schema[n] for n in names]
    )
    assert kinds == before


def test_vectors_keep_single_precision_and_slices_of_arrow_tables_are_read_right():
    flat = pa.array(np.arange(12, dtype=np.float32))
    fixed = pa.table({"qid": list("abcd"), "score": [1, 2, 3, 4], "vector": pa.FixedSizeListArray.from_arrays(flat, 3)})
    ragged = fixed.set_column(2, "vector", fixed["vector"].cast(pa.list_(pa.float32())))
    for table in (fixed, ragged, pl.from_arrow(fixed)):
        part = table.slice(1, 2)
        joined = pa.concat_tables([part, fixed.slice(3)]) if table is fixed else part
        vectors = Queries.from_frame(joined).vectors
        assert vectors is not None
        assert vectors.dtype == np.float32
        assert vectors[:2].tolist() == [[3, 4, 5], [6, 7, 8]]


@every_maker
def test_a_frame_without_rows_gives_a_table_without_queries(kind):
    typed = pa.table(
        {
            "qid": pa.array([], pa.string()),
            "score": pa.array([], pa.float64()),
            "vector": pa.array([], pa.list_(pa.float64())),
        }
    )
    frame = {
        "pandas": typed.to_pandas,
        "polars": lambda: pl.from_arrow(typed),
        "polars lazy": lambda: pl.from_arrow(typed).lazy(),
        "pyarrow": lambda: typed,
        "duckdb": lambda: duckdb.from_arrow(typed),
    }[kind]()
    assert len(Queries.from_frame(frame)) == 0
