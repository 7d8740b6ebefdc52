"""Every form gives the same queries; what forms allow themselves is understood."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import shell
from tests.io import files

import cutline as cl
from cutline.errors import CutlineWarning, InputError

SIMULATED = cl.datasets.simulate(60, rng=0)


@pytest.mark.parametrize(
    "ending", ["parquet", "csv", "tsv", "jsonl", "pq", "ndjson", "parquet.gz", "csv.gz", "jsonl.gz"]
)
def test_a_table_comes_back_as_it_was_written(tmp_path, ending):
    cl.io.write_queries(SIMULATED, tmp_path / f"t.{ending}")
    back = cl.io.read_queries(tmp_path / f"t.{ending}")
    assert files.same(back, SIMULATED)
    assert back.per_query("device").tolist() == SIMULATED.per_query("device").tolist()


@pytest.mark.parametrize("ending", ["run", "trec", "res", "run.gz"])
def test_a_run_and_its_judgments_come_back_as_they_were_written(tmp_path, ending):
    cl.io.write_queries(SIMULATED, tmp_path / f"r.{ending}")
    cl.io.write_queries(SIMULATED, tmp_path / "q.qrels.gz")
    back = cl.io.read_queries(tmp_path / f"r.{ending}", labels=tmp_path / "q.qrels.gz")
    by_score = np.lexsort((-SIMULATED.scores, SIMULATED.query_of_item()))
    np.testing.assert_array_equal(back.scores, SIMULATED.scores[by_score])
    np.testing.assert_array_equal(back.labels, SIMULATED.labels[by_score])
    np.testing.assert_array_equal(back.item_ids, SIMULATED.item_ids[by_score])


def test_letor_takes_scores_from_predictions_and_items_from_comments(tmp_path):
    path = files.write_letor(SIMULATED, tmp_path)
    assert files.same(cl.io.read_queries(path, predictions=tmp_path / "predictions.txt"), SIMULATED)


def test_ids_stay_the_text_they_are(tmp_path):
    path = files.write(tmp_path / "t.csv", "query_id,item_id,score\n007,00,1\n007,NA,2\n08,null,3\n")
    queries = cl.io.read_queries(path)
    assert queries.query_ids.tolist() == ["007", "08"]
    assert queries.item_ids.tolist() == ["00", "NA", "null"]


def test_whole_numbers_are_ids_as_text(tmp_path):
    pq.write_table(pa.table({"qid": [7, 7, 10**17], "docid": [1, 2, 1], "score": [1, 2, 3]}), tmp_path / "t.parquet")
    queries = cl.io.read_queries(tmp_path / "t.parquet")
    assert queries.query_ids.tolist() == ["7", "100000000000000000"]
    assert queries.item_ids.tolist() == ["1", "2", "1"]


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary(), pa.string_view()]
)
def test_ids_of_every_arrow_kind_are_text(tmp_path, kind):
    ids = pa.array(["a", "b"]).cast(kind)
    pq.write_table(
        pa.table({"query_id": ids, "item_id": ids, "score": pa.array([1, 2], pa.float32())}), tmp_path / "t.parquet"
    )
    queries = cl.io.read_queries(tmp_path / "t.parquet")
    assert queries.query_ids.tolist() == queries.item_ids.tolist() == ["a", "b"]


def test_rows_of_a_query_are_brought_together_first_appearance_first(tmp_path):
    path = files.write(tmp_path / "t.csv", "query_id,item_id,score,note\nb,1,1,x\na,1,2,y\nb,2,3,z\n")
    queries = cl.io.read_queries(path)
    assert queries.query_ids.tolist() == ["b", "a"]
    assert queries.item_ids.tolist() == ["1", "2", "1"]
    assert queries.scores.tolist() == [1, 3, 2]
    assert queries.columns["note"].tolist() == ["x", "z", "y"]


def test_the_rank_column_of_a_run_is_not_believed(tmp_path):
    run = files.write(tmp_path / "a.run", "q Q0 low 1 0.1 t\nq Q0 high 2 0.9 t\n")
    certificate = calibrated()
    slates = certificate.apply(cl.io.read_queries(run))
    cl.io.write_slates(slates, tmp_path / "cut.run")
    assert [line.split()[2:4] for line in (tmp_path / "cut.run").read_text().splitlines()] == [
        ["high", "1"],
        ["low", "2"],
    ]


def calibrated() -> cl.Certificate:
    scores = np.tile([0.0, 1.0], 200)
    queries = cl.Queries.from_arrays(scores, np.ones(400), group=np.full(200, 2))
    certificate = cl.calibrate(
        queries, loss=cl.FalseDiscovery(cl.Grade(at_least=1)), alpha=0.3, delta=0.1, thresholds=[1.0, 0.0]
    )
    assert isinstance(certificate, cl.Certificate)
    return certificate


@pytest.mark.parametrize(
    "run",
    [
        "q1\tQ0\ta\t1\t0.9\tt\nq1\tQ0\tb\t2\t0.5\tt\n",
        "q1 Q0 a 1 0.9 t\nq1   Q0 b 2 0.5 t\n",
        " q1 Q0 a 1 0.9 t \r\n\r\nq1\tQ0 b\t2 0.5   t\r\n",
        "\n\nq1 Q0 a 1 9e-1 t\nq1 Q0 b 2 .5 t",
    ],
    ids=["tabs", "gaps", "mixed", "blank lines"],
)
def test_fields_of_a_run_stand_between_any_white_space(tmp_path, run):
    queries = cl.io.read_queries(files.write(tmp_path / "a.run", run))
    assert queries.item_ids.tolist() == ["a", "b"]
    assert queries.scores.tolist() == [0.9, 0.5]


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [("a.txt", files.RUN, "trec"), ("b.txt", files.SMALL, "csv"), ("c.txt", files.SMALL.replace(",", "\t"), "tsv")],
)
def test_the_content_of_txt_tells_what_it_holds(tmp_path, name, content, format):
    queries = cl.io.read_queries(files.write(tmp_path / name, content))
    assert queries.scores.tolist() == [0.9, 0.5, 0.7, 0.1]
    assert ("tag" in queries.columns) == (format == "trec")


def test_letor_is_recognised_in_txt_by_its_qid(tmp_path):
    files.write(tmp_path / "p.txt", files.PREDICTIONS)
    queries = cl.io.read_queries(files.write(tmp_path / "a.txt", files.LETOR), predictions=tmp_path / "p.txt")
    assert queries.labels.tolist() == [3, 0, 1, 2]
    assert queries.item_ids.tolist() == ["a", "b", "a", "c"]


def test_format_overrides_the_name(tmp_path):
    path = files.write(tmp_path / "scores.dat", files.SMALL)
    assert len(cl.io.read_queries(path, format="csv")) == 2
    with pytest.raises(InputError, match=r"there is no format 'cvs'; there are parquet, csv, .*; did you mean csv\?"):
        cl.io.read_queries(path, format="cvs")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.qrels", files.QRELS),
        ("q.txt", files.QRELS),
        ("q.tsv", files.QRELS.replace(" ", "\t")),  # without a header, as MS MARCO has them
        ("q.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t0\nq2\ta\t1\nq2\tc\t2\n"),  # BEIR
        ("q.csv", "topic,doc,verdict\nq1,a,3\nq1,b,0\nq2,a,1\nq2,c,2\n"),
        ("q.csv", "label,item_id,query_id\n3,a,q1\n0,b,q1\n1,a,q2\n2,c,q2\n"),
        ("q.jsonl", "".join(json.dumps({"query-id": q, "corpus-id": i, "score": s}) + "\n" for q, i, s in
                            [("q1", "a", 3), ("q1", "b", 0), ("q2", "a", 1), ("q2", "c", 2)])),
    ],
)  # fmt: skip
def test_judgments_are_qrels_or_a_table_whose_third_column_is_the_label(tmp_path, name, content):
    run = files.write(tmp_path / "a.run", files.RUN)
    queries = cl.io.read_queries(run, labels=files.write(tmp_path / name, content))
    assert queries.labels.tolist() == [3, 0, 1, 2]


def test_a_beir_table_is_a_table_of_scores_too(tmp_path):
    path = files.write(tmp_path / "s.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t3\nq2\ta\t1\n")
    assert cl.io.read_queries(path).scores.tolist() == [3, 1]


def test_labels_are_looked_up_by_pair_and_other_items_are_unjudged(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    judged = files.write(tmp_path / "q.qrels", "q2 0 zzz 4\nq2 0 c 2\nq1 0 b 1\n")
    queries = cl.io.read_queries(run, labels=judged)
    np.testing.assert_array_equal(queries.labels, [np.nan, 1, np.nan, 2])


def test_queries_that_nobody_judged_are_left_out(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    with pytest.warns(CutlineWarning, match="nobody judged them"):
        queries = cl.io.read_queries(run, labels=files.write(tmp_path / "q.qrels", "q2 0 zzz 4\n"))
    assert queries.query_ids.tolist() == ["q2"]
    assert np.isnan(queries.labels).all()


def test_judged_queries_without_a_list_are_counted(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    with pytest.warns(CutlineWarning, match=r"1 of 3 queries of .*q\.qrels has no list in .*a\.run to cut"):
        cl.io.read_queries(run, labels=files.write(tmp_path / "q.qrels", files.QRELS + "q3 0 a 1\n"))


def test_columns_are_named_as_in_python(tmp_path):
    path = files.write(tmp_path / "t.csv", "session,product,prediction\ns,p,0.5\n")
    columns = {"query_id": "session", "item_id": "product", "score": "prediction"}
    assert cl.io.read_queries(path, columns=columns).query_ids.tolist() == ["s"]


def test_a_byte_order_mark_and_semicolons_are_understood(tmp_path):
    path = files.write(tmp_path / "t.csv", b"\xef\xbb\xbf" + files.SMALL.replace(",", ";").encode())
    assert cl.io.read_queries(path).scores.tolist() == [0.9, 0.5, 0.7, 0.1]
    run = files.write(tmp_path / "a.run", b"\xef\xbb\xbf" + files.RUN.encode())
    assert cl.io.read_queries(run).query_ids.tolist() == ["q1", "q2"]


def test_numbers_beside_the_roles_are_numbers_but_those_with_leading_zeros_stay_text(tmp_path):
    path = files.write(tmp_path / "t.csv", "query_id,score,price,zip,note,n\nq,1,1.50,007,2020-01-01,3\nq,2,,123,x,4\n")
    columns = cl.io.read_queries(path).columns
    assert columns["price"].tolist() == [1.5, None]
    assert columns["zip"].tolist() == ["007", "123"]
    assert columns["note"].tolist() == ["2020-01-01", "x"]
    assert columns["n"].tolist() == [3, 4]


def test_an_empty_label_is_an_unjudged_item(tmp_path):
    path = files.write(tmp_path / "t.csv", "query_id,score,label\nq,1,\nq,2,3\n")
    np.testing.assert_array_equal(cl.io.read_queries(path).labels, [np.nan, 3])


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
@pytest.mark.parametrize("yes", ["True", "true", '"True"'])
def test_true_and_false_are_1_and_0_as_in_parquet(tmp_path, ending, yes):
    labels = [yes, yes.replace("rue", "alse").replace("T", "F").replace("t", "f"), ""]
    text = "query_id,item_id,score,label\n" + "".join(f"q,{n},0.5,{label}\n" for n, label in enumerate(labels))
    path = files.write(tmp_path / f"a.{ending}", text.replace(",", "\t") if "tsv" in ending else text)
    assert cl.io.read_queries(path).labels.tolist() == pytest.approx([1.0, 0.0, math.nan], nan_ok=True)


def test_true_and_false_are_read_in_chunks_too(tmp_path):
    queries = cl.datasets.simulate(400, rng=0)
    frame = queries.to_frame("pandas")
    frame["label"] = frame["label"] >= 3
    (tmp_path / "truths").mkdir()
    half = int(queries.offsets[200])
    frame[:half].to_csv(tmp_path / "truths" / "1.csv", index=False)
    frame[half:].to_csv(tmp_path / "truths" / "2.csv", index=False)
    frame.assign(label=frame["label"].astype(int)).to_csv(tmp_path / "numbers.csv", index=False)
    told = ("--alpha", "0.4", "--delta", "0.1", "--good-at-least", "1", "--json")
    chunks, whole = (shell("calibrate", tmp_path / name, *told).json for name in ("truths", "numbers.csv"))
    assert "in chunks" in chunks["read"]
    assert chunks["seal"] == whole["seal"]


def test_vectors_come_from_lists_in_parquet_and_json(tmp_path):
    table = pa.table({"query_id": ["q", "q"], "score": [1.0, 2.0], "vector": [[1.0, 2.0], [3.0, 4.0]]})
    pq.write_table(table, tmp_path / "t.parquet")
    files.write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    for name in ("t.parquet", "t.jsonl"):
        assert cl.io.read_queries(tmp_path / name).vectors.tolist() == [[1, 2], [3, 4]]


def test_groups_beside_a_letor_file_make_its_queries(tmp_path):
    files.write(tmp_path / "rank.test.svm", files.LETOR.replace(" qid:q1", "").replace(" qid:q2", ""))
    files.write(tmp_path / "rank.test.query", "2\n2\n")
    files.write(tmp_path / "p.txt", files.PREDICTIONS)
    queries = cl.io.read_queries(tmp_path / "rank.test.svm", predictions=tmp_path / "p.txt")
    assert queries.query_ids.tolist() == ["1", "2"]
    assert queries.item_ids.tolist() == ["1", "2", "3", "4"]  # comments of another query may repeat: lines then
    files.write(tmp_path / "sizes", "1\n3\n")
    queries = cl.io.read_queries(tmp_path / "rank.test.svm", predictions=tmp_path / "p.txt", groups=tmp_path / "sizes")
    assert queries.sizes.tolist() == [1, 3]


def test_documents_of_letor_comments_name_the_items(tmp_path):
    lines = "0 qid:1 1:1 #docid = GX1 inc = 1 prob = 0.2\n1 qid:1 1:2 #docid = GX2 inc = 1 prob = 0.1\n"
    files.write(tmp_path / "p.txt", "1\n2\n")
    queries = cl.io.read_queries(
        files.write(tmp_path / "a.svm", "# made by hand\n\n" + lines), predictions=tmp_path / "p.txt"
    )
    assert queries.item_ids.tolist() == ["GX1", "GX2"]


def test_predictions_as_ranklib_writes_them_are_their_last_field(tmp_path):
    files.write(tmp_path / "p.txt", "q1\t0\t0.9\nq1\t1\t0.5\nq2\t0\t0.7\nq2\t1\t0.1\n")
    queries = cl.io.read_queries(files.write(tmp_path / "a.svm", files.LETOR), predictions=tmp_path / "p.txt")
    assert queries.scores.tolist() == [0.9, 0.5, 0.7, 0.1]


def test_gzip_files_of_several_parts_are_read_to_the_end(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(files.SMALL.encode()) + gzip.compress(b"q3,a,0.2,1,phone\n"))
    assert len(cl.io.read_queries(tmp_path / "t.csv.gz")) == 3


def test_a_line_of_json_longer_than_a_block_is_read(tmp_path, monkeypatch):
    from cutline.io import jsonl

    monkeypatch.setattr(jsonl, "BLOCK", 100)
    rows = [{"query_id": "q", "item_id": str(i), "score": i, "note": "x" * 150} for i in range(5)]
    path = files.write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert cl.io.read_queries(path).n_items == 5


def test_progress_counts_the_bytes_of_the_file(tmp_path):
    from cutline.io.reading import read_scores

    for ending in ("parquet", "csv", "jsonl", "run", "csv.gz", "run.gz"):
        path = tmp_path / f"t.{ending}"
        cl.io.write_queries(SIMULATED, path)
        seen: list[int] = []
        with_bar = read_scores(path, columns={}, progress=seen.append)
        assert len(with_bar) == len(read_scores(path, columns={})) == SIMULATED.n_items
        assert sum(seen) >= path.stat().st_size * (0.5 if ending == "parquet" else 1)


# What looks like one thing and is another ---------------------------------------------------------------------------


def test_a_stray_quotation_mark_in_a_tsv_is_a_character(tmp_path):
    rows = [("q1", "a", 'size 24"', 0.9), ("q1", "b", '"quoted', 0.8), ("q2", "a", '"as a ""whole"""', 0.7)]
    lines = "".join(f"{q}\t{i}\t{title}\t{score}\n" for q, i, title, score in rows)
    queries = cl.io.read_queries(files.write(tmp_path / "t.tsv", "query_id\titem_id\ttitle\tscore\n" + lines))
    assert queries.columns["title"].tolist() == ['size 24"', '"quoted', 'as a "whole"']
    assert queries.scores.tolist() == [0.9, 0.8, 0.7]


def test_cells_of_a_tsv_that_hold_tabs_or_line_ends_are_read_where_they_are_quoted(tmp_path):
    content = 'query_id\titem_id\ttitle\tscore\nq1\ta\t"one\ttwo"\t0.9\nq1\tb\tplain\t0.8\n'
    queries = cl.io.read_queries(files.write(tmp_path / "t.tsv", content))
    assert queries.columns["title"].tolist() == ["one\ttwo", "plain"]


def test_cells_that_run_over_lines_are_told_and_never_ids(tmp_path):
    content = 'query_id,item_id,title,score\nq1,a,"two\nlines",0.9\nq1,b,plain,0.8\n'
    with pytest.warns(CutlineWarning, match=r"t\.csv, line 3: the cell of 'title' runs over several lines"):
        queries = cl.io.read_queries(files.write(tmp_path / "t.csv", content))
    assert queries.columns["title"].tolist() == ["two\nlines", "plain"]
    swallowed = 'query_id,item_id,score\nq1,"a,0.9\nq1,b"x,0.8\nq1,c,0.7\n'
    with pytest.raises(InputError, match=r"u\.csv"):
        cl.io.read_queries(files.write(tmp_path / "u.csv", swallowed))
    ids = 'query_id,item_id,score\nq1,"a\nb",0.9\n'
    with pytest.raises(InputError, match=r"'item_id' runs over several lines, and is an id"):
        cl.io.read_queries(files.write(tmp_path / "v.csv", ids))
    files.write(tmp_path / "blank.csv", "query_id,item_id,score\n\nq1,a,0.9\n\n\nq1,b,0.8\n")
    assert cl.io.read_queries(tmp_path / "blank.csv").n_items == 2  # without a word


def test_blanks_beside_tabs_belong_to_no_id(tmp_path):
    run = "q1 \tQ0\ta  \t1\t0.9\tt\nq1 \tQ0\tb  \t2\t0.5\tt\n"
    queries = cl.io.read_queries(files.write(tmp_path / "a.run", run))
    assert (queries.query_ids.tolist(), queries.item_ids.tolist()) == (["q1"], ["a", "b"])


def test_text_that_looks_like_a_time_stays_text_in_json(tmp_path):
    rows = [{"query_id": "2026-01-03", "score": 1, "when": "2026-01-01T10:00:00+02:00"}] * 1
    path = files.write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    queries = cl.io.read_queries(path)
    assert queries.query_ids.tolist() == ["2026-01-03"]
    assert queries.columns["when"].tolist() == ["2026-01-01T10:00:00+02:00"]


def test_places_tell_the_columns_of_judgments_only_where_there_are_no_others(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    clicks = files.write(tmp_path / "c.csv", "query_id,item_id,timestamp,clicked\nq1,a,99,0\nq2,a,98,1\n")
    with pytest.raises(
        InputError, match=r"no column for the label.*'timestamp', 'clicked'.*columns=\{'label': \.\.\.\}"
    ):
        cl.io.read_queries(run, labels=clicks)
    assert np.nanmax(cl.io.read_queries(run, labels=clicks, columns={"label": "clicked"}).labels) == 1


def test_judgments_in_three_columns_may_do_without_a_header(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    for name, mark in (("q.tsv", "\t"), ("q.csv", ",")):
        judged = files.write(tmp_path / name, files.QRELS.replace(" 0 ", " ", 4).replace(" ", mark))
        assert cl.io.read_queries(run, labels=judged).labels.tolist() == [3, 0, 1, 2]


def test_predictions_that_name_their_queries_must_be_in_the_order_of_the_rows(tmp_path):
    files.write(tmp_path / "p.txt", "q1\t0\t0.9\nq2\t0\t0.7\nq2\t1\t0.1\nq1\t1\t0.5\n")
    path = files.write(tmp_path / "a.svm", files.LETOR)
    with pytest.raises(InputError, match=r"p\.txt, line 2: query 'q2', and .*a\.svm has 'q1' in line 2"):
        cl.io.read_queries(path, predictions=tmp_path / "p.txt")


def test_a_repeated_document_of_a_letor_query_is_refused(tmp_path):
    lines = "0 qid:1 1:1 #docid = GX1\n1 qid:1 1:2 #docid = GX1\n"
    files.write(tmp_path / "p.txt", "1\n2\n")
    with pytest.raises(InputError, match="'GX1' appears twice"):
        cl.io.read_queries(files.write(tmp_path / "a.svm", lines), predictions=tmp_path / "p.txt")


@pytest.mark.parametrize("kind", [pa.binary(), pa.dictionary(pa.int32(), pa.binary()), pa.large_binary()])
def test_ids_that_are_no_text_are_refused_whatever_their_kind(tmp_path, kind):
    ids = pa.array([b"\xff\xfe", b"a"]).cast(kind)
    pq.write_table(pa.table({"query_id": ids, "score": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'query_id' holds bytes that are not UTF-8 text"):
        cl.io.read_queries(tmp_path / "t.parquet")


def test_few_scores_of_single_precision_are_told(tmp_path):
    scores = np.round(np.random.default_rng(0).random(3_000), 1)
    table = {"query_id": np.repeat(np.arange(300), 10), "item_id": np.tile(np.arange(10), 300)}
    pq.write_table(pa.table({**table, "score": scores.astype(np.float32)}), tmp_path / "single.parquet")
    with pytest.warns(CutlineWarning, match=r"single precision with few different values.*0\.699999988079071"):
        single = cl.io.read_queries(tmp_path / "single.parquet")
    cl.io.write_queries(single, tmp_path / "same.csv")
    assert cl.io.read_queries(tmp_path / "same.csv").scores.tolist() == single.scores.tolist()
    pq.write_table(pa.table({**table, "score": scores}), tmp_path / "double.parquet")
    cl.io.read_queries(tmp_path / "double.parquet")  # without a word


def test_queries_that_nobody_judged_are_told_in_python_too(tmp_path):
    run = files.write(tmp_path / "a.run", files.RUN)
    with pytest.warns(CutlineWarning, match=r"1 of 2 queries of .*a\.run are not in .*q\.qrels: nobody judged them"):
        cl.io.read_queries(run, labels=files.write(tmp_path / "q.qrels", "q2 0 c 2\n"))


def test_a_pipe_is_not_read(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a pipe or a device; save what it gives to a file first"):
        cl.io.read_queries(tmp_path / "pipe.csv")


def test_devices_pipes_and_links_are_not_replaced_by_files(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="a device or a pipe"):
        cl.io.write_queries(SIMULATED, tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    cl.io.write_queries(SIMULATED, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").is_file()
