"""MS MARCO files in the published layout, small; a wrong line is named, and what is not needed is not kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io import files

import cutline as cl
from cutline.errors import CutlineWarning, InputError

QUERIES = "1185869\t)what was the immediate impact?\n1185868\twhat is it\twith a tab\n3\tnobody judged me\n"
TOP100 = """1185869 Q0 D1 1 -3.5 IndriQueryLikelihood
1185869 Q0 D2 2 -4.25 IndriQueryLikelihood
3 Q0 D1 1 -1.0 IndriQueryLikelihood
1185868 Q0 D2 1 -5.0 IndriQueryLikelihood
1185868 Q0 D3 2 -6.0 IndriQueryLikelihood
"""
QRELS = "1185869 0 D1 1\n1185868 0 D3 1\n1185868 0 D9 1\n"
DOCS = "D1\thttp://a\tTitle A\tbody \u00e9 one\nD2\thttp://b\t\tbody two\nD3\thttp://c\tC\tbody\tthree\nD7\tu\tt\tb\n"


def published(folder: Path, *, part: str = "train", gz: str = "", **changed: str | bytes) -> Path:
    for name, content in (("queries.tsv", QUERIES), ("top100", TOP100), ("qrels.tsv", QRELS)):
        files.write(folder / f"msmarco-doc{part}-{name}{gz}", changed.get(name.removesuffix(".tsv"), content))
    files.write(folder / f"msmarco-docs.tsv{gz}", changed.get("docs", DOCS))
    return folder


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("gz", ["", ".gz"])
def test_lists_scores_judgments_and_texts_are_joined(tmp_path, part, gz):
    collection = cl.datasets.msmarco_documents(published(tmp_path, part=part, gz=gz), part=part)
    queries = collection.queries
    assert queries.query_ids.tolist() == ["1185869", "1185868"]  # in the order of top100, judged ones only
    assert queries.item_ids.tolist() == ["D1", "D2", "D2", "D3"]
    assert queries.scores.tolist() == [-3.5, -4.25, -5.0, -6.0]
    np.testing.assert_array_equal(queries.labels, [1, np.nan, np.nan, 1])
    assert queries.columns["query"].tolist() == [")what was the immediate impact?", "what is it\twith a tab"]
    assert queries.columns["title"].tolist() == ["Title A", "", "", "C"]
    assert queries.columns["body"].tolist() == ["body é one", "body two", "body two", "body\tthree"]
    assert queries.columns["url"].tolist() == ["http://a", "http://b", "http://b", "http://c"]
    assert "Microsoft" in collection.source
    assert "research" in collection.licence
    assert collection.name == f"msmarco-documents-{part}"


def test_queries_are_drawn_by_seed_and_bodies_cut(tmp_path):
    folder = published(tmp_path)
    drawn = {cl.datasets.msmarco_documents(folder, n_queries=1, rng=seed).queries.query_ids[0] for seed in range(9)}
    assert drawn == {"1185869", "1185868"}
    assert cl.datasets.msmarco_documents(folder, characters=4).queries.columns["body"].tolist() == ["body"] * 4


def test_without_texts_the_documents_are_not_read(tmp_path):
    folder = published(tmp_path)
    (folder / "msmarco-docs.tsv").unlink()
    assert list(cl.datasets.msmarco_documents(folder, characters=0).queries.columns) == ["query"]
    with pytest.raises(InputError, match=r"holds no msmarco-docs\.tsv, plain or with \.gz; name the folder that does"):
        cl.datasets.msmarco_documents(folder)


def test_a_text_is_kept_once_in_however_many_lists(tmp_path):
    bodies = cl.datasets.msmarco_documents(published(tmp_path)).queries.columns["body"]
    assert bodies[1] is bodies[2]


def test_documents_that_are_not_there_are_counted(tmp_path):
    with pytest.warns(CutlineWarning, match=r"1 of 3 documents are not in .*msmarco-docs\.tsv: their texts are empty"):
        queries = cl.datasets.msmarco_documents(published(tmp_path, docs=DOCS.replace("D3\t", "D4\t"))).queries
    assert queries.columns["body"].tolist()[-1] == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("top100", TOP100 + "1 Q0 D2 1 -5\n", r"top100, line 6: 5 fields, and 6 are wanted: query Q0 document rank"),
        ("top100", TOP100.replace("-4.25", "x"), r"top100, line 2: the score is 'x'; scores are finite numbers"),
        ("top100", TOP100.replace("D2 2", "D1 2"), r"line 2: query '1185869' has document 'D1' twice; keep one line"),
        ("top100", TOP100.replace("118586", "77"), r"top100 holds no query that is judged; the files must be of one"),
        ("qrels", QRELS + "\n", r"qrels\.tsv, line 4: 0 fields, and 4 are wanted: query 0 document grade"),
        ("qrels", QRELS.replace("D3 1", "D3 4"), r"qrels\.tsv, line 2: the grade is '4', and 0, 1, 2, 3 are wanted"),
        (
            "qrels",
            QRELS + "1185869 0 D1 2\n",
            r"qrels\.tsv, line 4: 'D1' was judged before for query '1185869', with an",
        ),
        ("qrels", QRELS.replace("D3 1", "D3 -1"), r"qrels\.tsv, line 2: the grade is '-1'"),
        ("queries", QUERIES.replace("\t)", " "), r"queries\.tsv, line 1: 1 field, and 2 are wanted: query text"),
        ("queries", QUERIES.replace("1185868", "1"), r"queries\.tsv has no text for query '1185868'"),
        ("docs", DOCS + "D9\tu\tt\n", r"msmarco-docs\.tsv, line 5: 3 fields, and 4 are wanted: document url title"),
        ("docs", DOCS.encode("latin-1"), r"msmarco-docs\.tsv, line 1: not UTF-8 text; copy the file again"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        cl.datasets.msmarco_documents(published(tmp_path, **{name: content}))


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    folder = published(tmp_path, gz=".gz")
    path = folder / "msmarco-docs.tsv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"msmarco-docs\.tsv\.gz cannot be read to its end: .*; copy it again"):
        cl.datasets.msmarco_documents(folder)


def test_a_damaged_file_is_refused(tmp_path):
    folder = published(tmp_path, gz=".gz")
    path = folder / "msmarco-docs.tsv.gz"
    content = bytearray(path.read_bytes())
    content[10:20] = b"\xff" * 10  # the head of the first block
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"msmarco-docs\.tsv\.gz cannot be read to its end: .*; copy it again"):
        cl.datasets.msmarco_documents(folder)


def test_a_judgment_that_stands_twice_alike_counts_once(tmp_path):
    twice = cl.datasets.msmarco_documents(published(tmp_path, qrels=QRELS + "1185869 0 D1 1\n"))
    once = cl.datasets.msmarco_documents(published(tmp_path))
    np.testing.assert_array_equal(twice.queries.labels, once.queries.labels)


def test_more_queries_than_there_are_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"n_queries must be at most the 2 judged queries of .*top100"):
        cl.datasets.msmarco_documents(published(tmp_path), n_queries=3)
    with pytest.raises(InputError, match=r"part must be one of 'train', 'dev', got 'test'"):
        cl.datasets.msmarco_documents(tmp_path, part="test")
