"""A matrix from LETOR text: every value as Python reads it, every wrong line named, a cache that is whole or not there."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io import files

import cutline as cl
from cutline.errors import InputError
from cutline.io import feature_cache
from cutline.io.features import read_features, write_features


def read(folder: Path, text: str | bytes, name: str = "a.svm", **wishes):
    return read_features(files.write(folder / name, text), **wishes)


def naive(text: str, width: int) -> np.ndarray:
    """Line by line, number by number."""
    rows = []
    for line in text.splitlines():
        fields = line.split("#")[0].split()
        if fields:
            row = np.zeros(width, np.float32)
            for field in fields[1:]:
                if not field.startswith("qid:"):
                    number, value = field.split(":")
                    row[int(number) - 1] = np.float32(float(value))
            rows.append(row)
    return np.array(rows)


def test_features_labels_and_ids_are_those_of_the_text(tmp_path):
    features, queries = read(tmp_path, files.LETOR)
    assert features.dtype == np.float32
    assert features.flags.c_contiguous
    assert features.tolist() == [[0.5, 1], [0.25, 0], [0, 1], [0.125, 0]]
    assert queries.labels.tolist() == [3, 0, 1, 2]
    assert queries.scores.tolist() == [0, 0, 0, 0]
    assert queries.query_ids.tolist() == ["q1", "q2"]
    assert queries.item_ids.tolist() == ["a", "b", "a", "c"]


@pytest.mark.parametrize("text", [
    files.LETOR,
    files.LETOR.replace("# a", "# two words"),
    files.LETOR.replace("# ", "#docid = "),
    files.LETOR.replace("# b", "# a"),
    "# of all\n\n" + files.LETOR.replace("# ", "#"),
    files.LETOR.replace("\n", "\r\n").replace(" # a", ""),
    files.LETOR.replace("# c", "#docid=c"),
])  # fmt: skip
def test_rows_are_those_that_read_queries_finds(tmp_path, text):
    files.write(tmp_path / "p.txt", files.PREDICTIONS)
    features, queries = read(tmp_path, text)
    other = cl.io.read_queries(tmp_path / "a.svm", predictions=tmp_path / "p.txt")
    assert queries.query_ids.tolist() == other.query_ids.tolist()
    assert queries.item_ids.tolist() == other.item_ids.tolist()
    assert queries.labels.tolist() == other.labels.tolist()
    np.testing.assert_array_equal(features, naive(text, 2))


@pytest.mark.parametrize(
    "number",
    "0 -0 1 .5 5. 1e3 1E-3 -1.5e+2 123456789012345678901234567890 0.1234567890123456789012345 1e-46 1.1754943e-38 1e-50 "
    "3.4028234e38 1.00000005960464477539 1.00000005960464477540 16777217 0.000000000000000000000000000000000001 1e-400 "
    "9007199254740993 7.0064923216240854e-46 00001.50 0.30000001192092896".split(),
)
def test_a_value_is_the_float32_that_python_makes_of_it(tmp_path, number):
    features, _ = read(tmp_path, f"1 qid:1 1:{number} 2:1\n")
    assert features[0, 0].tobytes() == np.float32(float(number)).tobytes()


@given(st.lists(st.floats(width=64, min_value=-1e38, max_value=1e38).map(repr)
                | st.decimals(-1000, 1000, places=25).map(str), min_size=1, max_size=40))  # fmt: skip
def test_every_decimal_is_read_as_python_reads_it(tmp_path_factory, numbers):
    text = "1 qid:1 " + " ".join(f"{place}:{number}" for place, number in enumerate(numbers, start=1)) + "\n"
    features, _ = read(tmp_path_factory.mktemp("a"), text)
    np.testing.assert_array_equal(features[0], np.array([float(number) for number in numbers]).astype(np.float32))


def test_labels_are_read_exactly(tmp_path):
    _, queries = read(tmp_path, "0.1 qid:1 1:1\nnan qid:1 1:1\n0.12345678901234567 qid:1\n")
    np.testing.assert_array_equal(queries.labels, [0.1, np.nan, 0.12345678901234567])


def test_queries_that_stand_apart_are_brought_together_with_their_features(tmp_path):
    features, queries = read(tmp_path, "1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n4 qid:c 1:4\n5 qid:a 1:5\n")
    assert queries.query_ids.tolist() == ["b", "a", "c"]
    assert queries.item_ids.tolist() == ["1", "3", "2", "5", "4"]
    assert queries.labels.tolist() == features[:, 0].tolist() == [1, 3, 2, 5, 4]


def test_a_query_of_one_item_and_a_row_of_zeros_are_fine(tmp_path):
    features, queries = read(tmp_path, "1 qid:7\n0 qid:8 2:1\n")
    assert features.tolist() == [[0, 0], [0, 1]]
    assert queries.sizes.tolist() == [1, 1]


def test_sizes_of_queries_come_from_a_file_beside(tmp_path):
    text = files.LETOR.replace(" qid:q1", "").replace(" qid:q2", "")
    files.write(tmp_path / "a.svm.query", "1\n3\n")
    features, queries = read(tmp_path, text)
    assert queries.sizes.tolist() == [1, 3]
    assert queries.query_ids.tolist() == ["1", "2"]
    assert queries.item_ids.tolist() == ["1", "2", "3", "4"]
    files.write(tmp_path / "other", "2\n2\n")
    _, queries = read_features(tmp_path / "a.svm", groups=tmp_path / "other", cache=tmp_path / "cache")
    assert queries.sizes.tolist() == [2, 2]
    np.testing.assert_array_equal(features, naive(text, 2))


def test_gzip_a_byte_order_mark_and_a_last_line_without_its_end_are_understood(tmp_path):
    features, _ = read(tmp_path, b"\xef\xbb\xbf" + files.LETOR.rstrip("\n").encode(), "a.svm.gz")
    np.testing.assert_array_equal(features, naive(files.LETOR, 2))


def test_the_width_may_be_given(tmp_path):
    features, _ = read(tmp_path, files.LETOR, n_features=5)
    assert features.shape == (4, 5)


@pytest.mark.parametrize("at_once", [50, 10_000])  # less than a page of memory, and more
def test_many_lines_on_many_threads_are_the_same(tmp_path, monkeypatch, at_once):
    from cutline.io import letor_features

    monkeypatch.setattr(letor_features, "_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(5)} qid:{rng.integers(9)} " + " ".join(f"{n}:{rng.normal():.9g}" for n in range(1, 9))
        for _ in range(300)
    ]
    found = []
    for threads in ("1", "5"):
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        found.append(read(tmp_path, "\n".join(rows)))
    (one, queries), (many, others) = found
    assert files.same(queries, others)
    np.testing.assert_array_equal(one, many)
    by_line = naive("\n".join(rows), 8)
    np.testing.assert_array_equal(one, by_line[queries.item_ids.astype(int) - 1])


def test_more_odd_values_than_fit_at_once_are_all_read(tmp_path, monkeypatch):
    from cutline.io import letor_features

    monkeypatch.setattr(letor_features, "_HARD", 1)
    text = "".join(f"{line}.{10**20} qid:1 1:1e-44 2:1e-45 3:1e-43\n" for line in range(50))
    features, queries = read(tmp_path, text)
    np.testing.assert_array_equal(features, naive(text, 3))
    assert queries.labels.tolist() == [float(f"{line}.{10**20}") for line in range(50)]


# What is wrong is named by file and line -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 qid:1 0:1", r"line 3: feature 0 in '0:1'; features are numbered from 1: add 1 to every index"),
        ("1 qid:1 2:1 1:1", r"line 3: '1:1' stands behind a feature of the same or a higher number; sort the features"),
        ("1 qid:1 2:1 2:1", r"line 3: '2:1' stands behind a feature of the same or a higher number"),
        ("1 qid:1 1:x", r"line 3: the value of feature 1 is 'x', not a number; features are finite numbers"),
        ("1 qid:1 1:", r"line 3: the value of feature 1 is '', not a number"),
        ("1 qid:1 1:1_0", r"line 3: the value of feature 1 is '1_0', not a number"),
        ("1 qid:1 1:1e", r"line 3: the value of feature 1 is '1e', not a number"),
        ("1 qid:1 1:nan", r"line 3: the value of feature 1 is 'nan', not finite; features are finite numbers"),
        ("1 qid:1 1:-inf", r"line 3: the value of feature 1 is '-inf', not finite"),
        ("1 qid:1 1:1e39", r"line 3: the value of feature 1 is '1e39', more than a float32 holds"),
        ("1 qid:1 x:1", r"line 3: wanted `index:value`, as in 3:0\.5, got 'x:1'"),
        ("1 qid:1 -1:1", r"line 3: wanted `index:value`, as in 3:0\.5, got '-1:1'"),
        ("1 qid:1 1:1 7", r"line 3: wanted `index:value`, as in 3:0\.5, got '7'"),
        ("1 qid:1 1:1 qid:2", r"line 3: wanted `index:value`, as in 3:0\.5, got 'qid:2'"),
        ("x qid:1 1:1", r"line 3: the label is 'x', not a number; labels are finite numbers"),
        ("inf qid:1 1:1", r"line 3: the label is 'inf', not finite; labels are finite numbers"),
        ("1 1:1", r"line 3: no qid:, and other lines have one"),
        ("1 qid:1 3:1", r"line 3: '3:1' is beyond the last of 2 features; are there more, or are the features of a line not"),
        ("1 qid:\xff 1:1".encode("latin-1"), r"line 3: not UTF-8 text; convert the file to UTF-8"),
        ("1 qid:1 1:\x1b[31m", r"line 3: the value of feature 1 is '\\\\x1b\[31m', not a number"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cache", [None, "cache"])
def test_a_wrong_line_is_named_and_what_is_wrong_with_it(tmp_path, line, message, cache):
    line = line.encode() if isinstance(line, str) else line
    folder = None if cache is None else tmp_path / cache
    with pytest.raises(InputError, match=r"a\.svm, " + message):
        read(tmp_path, b"1 qid:1 2:1\n\n" + line + b"\n1 qid:1 0:y\n", n_features=2, cache=folder)
    if folder is not None:
        assert list(folder.iterdir()) == []


def test_the_first_of_many_wrong_lines_is_named_on_any_number_of_threads(tmp_path, monkeypatch):
    from cutline.io import letor_features

    monkeypatch.setattr(letor_features, "_AT_ONCE", 20)
    monkeypatch.setenv("CUTLINE_THREADS", "4")
    with pytest.raises(InputError, match=r"line 5: the value of feature 1 is 'nan'"):
        read(tmp_path, "1 qid:1 1:1\n" * 4 + "1 qid:1 1:nan 0:1\n" * 40)


def test_a_file_without_rows_or_of_another_form_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a\.svm holds no rows"):
        read(tmp_path, "# nothing\n\n")
    with pytest.raises(InputError, match=r"b\.csv is csv, and features come from LETOR text"):
        read(tmp_path, files.SMALL, "b.csv")
    with pytest.raises(InputError, match=r"names a feature 99,999,999,999,999: a dense matrix of 1 rows would not fit"):
        read(tmp_path, "1 qid:1 99999999999999:1\n")
    with pytest.raises(InputError, match=r"its lines have no qid:, and there is no a\.svm\.query beside it"):
        read(tmp_path, "1 1:1\n")
    with pytest.raises(InputError, match=r"n_features must be a whole number of at least 1, got 0"):
        read(tmp_path, files.LETOR, n_features=0)


PIECES = [
    "1",
    "0.5",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "qid:",
    "qid:1",
    "qid:a ",
    "1:",
    "2:",
    ":",
    "#",
    "# x",
    "docid =",
    "-",
    "e",
    "nan",
    "x",
    ".",
]


@given(st.lists(st.sampled_from(PIECES) | st.just("1 qid:1 1:0.5 2:1 # a\n"), max_size=25).map("".join))
def test_whatever_a_file_holds_it_is_read_or_refused_by_its_line(tmp_path_factory, text):
    path = files.write(tmp_path_factory.mktemp("a") / "a.svm", text)
    try:
        found = read_features(path)
    except InputError as refused:
        found = str(refused)
    if isinstance(found, str):
        assert re.search(r"a\.svm(, line \d+:| holds no rows| is empty|: its lines have no qid)", found)
    else:
        np.testing.assert_array_equal(found[0], naive(text, found[0].shape[1]))
        assert found[1].n_items == len(found[0])


# The cache ------------------------------------------------------------------------------------------------------------


def test_the_cache_gives_the_same_read_only_from_the_first_read_on(tmp_path):
    plain, queries = read(tmp_path, files.LETOR)
    for _ in range(2):
        features, again = read_features(tmp_path / "a.svm", cache=tmp_path / "cache")
        assert isinstance(features, np.memmap)
        assert features.flags.c_contiguous
        assert not features.flags.writeable
        np.testing.assert_array_equal(features, plain)
        assert files.same(queries, again)
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_the_second_read_parses_nothing(tmp_path, monkeypatch):
    read(tmp_path, files.LETOR, cache=tmp_path / "cache")
    monkeypatch.setattr("cutline.io.features.surveyed", None)
    read_features(tmp_path / "a.svm", cache=tmp_path / "cache")


def test_a_file_that_changed_is_read_anew(tmp_path):
    read(tmp_path, files.LETOR, cache=tmp_path / "cache")
    features, _ = read(tmp_path, files.LETOR.replace("0.25", "0.75"), cache=tmp_path / "cache")
    assert features[1, 0] == 0.75
    status = (tmp_path / "a.svm").stat()
    files.write(tmp_path / "a.svm", files.LETOR)
    os.utime(tmp_path / "a.svm", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read_features(tmp_path / "a.svm", cache=tmp_path / "cache")[0][1, 0] == 0.25


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
@pytest.mark.parametrize("which", ["*.npy", "*.npz"])
def test_a_damaged_cache_is_made_again(tmp_path, which, damage):
    read(tmp_path, files.LETOR, cache=tmp_path / "cache")
    (held,) = (tmp_path / "cache").glob(which)
    held.write_bytes(held.read_bytes()[:-5] if damage is None else damage)
    features, _ = read_features(tmp_path / "a.svm", cache=tmp_path / "cache")
    np.testing.assert_array_equal(features, naive(files.LETOR, 2))
    assert feature_cache.found(tmp_path / "cache", held.name.split(".")[0]) is not None


def test_nothing_in_a_cache_is_unpickled(tmp_path):
    read(tmp_path, files.LETOR, cache=tmp_path / "cache")
    (held,) = (tmp_path / "cache").glob("*.npy")
    np.save(held, np.array([[print]], dtype=object), allow_pickle=True)
    assert feature_cache.found(tmp_path / "cache", held.name.split(".")[0]) is None


def test_a_cache_that_is_no_folder_is_refused(tmp_path):
    files.write(tmp_path / "taken", "x")
    with pytest.raises(InputError, match=r"cache: .*taken cannot be made \(File exists\); name a folder"):
        read(tmp_path, files.LETOR, cache=tmp_path / "taken")


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.svm", "a.letor.gz", "a.txt"])
def test_what_is_written_comes_back(tmp_path, name):
    queries = cl.datasets.simulate(20, rng=0, share_unjudged=0.1)
    features = np.random.default_rng(0).normal(size=(queries.n_items, 4)).astype(np.float32)
    features[::3, 1] = 0
    write_features(features, queries, tmp_path / name)
    again, others = read_features(tmp_path / name)
    np.testing.assert_array_equal(again, features)
    np.testing.assert_array_equal(others.labels, queries.labels)
    assert others.item_ids.tolist() == queries.item_ids.tolist()
    assert others.query_ids.tolist() == queries.query_ids.tolist()
    raw = (tmp_path / name).read_bytes()
    assert (gzip.decompress(raw) if name.endswith("gz") else raw).startswith(b"%g qid:q000001 1:" % queries.labels[0])


def test_what_letor_cannot_hold_is_not_written(tmp_path):
    queries = cl.Queries.from_arrays([0.0], [1.0], qid=["a b"])
    with pytest.raises(InputError, match=r"query_ids hold 'a b', which LETOR cannot hold: no blanks and no #"):
        write_features([[1.0]], queries, tmp_path / "a.svm")
    with pytest.raises(InputError, match=r"features must have one row per item, 1 in all, got 2"):
        write_features([[1.0], [2.0]], queries, tmp_path / "a.svm")
    with pytest.raises(InputError, match=r"features must be finite as float32, got nan in row 0, column 1; fill it in"):
        write_features([[1.0, np.nan]], queries, tmp_path / "a.svm")
    with pytest.raises(InputError, match=r"features are written as \.svm, \.letor or \.txt"):
        write_features([[1.0]], queries, tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"queries have no labels, and each line of LETOR begins with one"):
        write_features([[1.0]], cl.Queries.from_arrays([0.0], qid=["a"]), tmp_path / "a.svm")
    assert list(tmp_path.iterdir()) == []
