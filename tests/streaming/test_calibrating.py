"""A file read in chunks gives the certificate that it gives as a whole, whatever the chunks."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from tests.streaming.worlds import LOSS, SMALL, csv, in_memory, parquet, scattered, streamed, table

import cutline as cl
from cutline.errors import CutlineWarning, InputError
from cutline.io import delimited
from cutline.streaming import stream as streaming
from cutline.streaming.files import files_of

GRID = cl.grid(0.99, 0.01, 0.01)
WAYS = {
    "few queries, the defaults": {},
    "few queries, every score": {"evidence": cl.evidence.Convex()},
    "many queries, the defaults": {"most": 100},
    "many queries, a grid": {"most": 100, "thresholds": GRID},
    "many queries, betting on some": {"most": 100, "evidence": cl.evidence.Betting()},
    "many queries, betting on some along a grid": {"most": 100, "evidence": cl.evidence.Betting(), "thresholds": GRID},
    "many queries, sums, thresholds of a sample": {"most": 100, "evidence": cl.evidence.Convex()},
    "sums along a grid": {"evidence": cl.evidence.Convex(), "thresholds": GRID},
    "win rates": {"scoring": cl.WinRate(scale=0.1), "evidence": cl.evidence.EmpiricalBernstein()},
    "many queries, win rates": {"scoring": cl.WinRate(scale=0.1), "most": 50},
    "misses": {"loss": cl.Miss(cl.TopM(m=3)), "most": 100, "alpha": 0.4},
    "sizes": {"sets": cl.Threshold(min_size=1, max_size=5), "most": 100, "sequence": cl.Fallback(), "alpha": 0.5},
    "an abstention": {"most": 100, "alpha": 0.001, "thresholds": GRID},
    "an abstention with scores turned around": {"most": 100, "alpha": 0.02, "thresholds": [0.3, 0.2]},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return parquet(tmp_path_factory.mktemp("rows") / "rows.parquet", table())


@pytest.mark.filterwarnings("ignore::cutline.errors.CutlineWarning")
def test_an_abstention_says_of_scores_turned_around_what_it_says_of_the_whole_file(tmp_path):
    rng = np.random.default_rng(0)
    for each in range(40):  # what the sample kept whole costs makes a difference in some of them
        rows = table(45, seed=each, longest=6)
        turned = rows.set_column(2, "score", pa.array(rng.permutation(-rows["score"].to_numpy())))
        path = parquet(tmp_path / "rows.parquet", turned)
        terms = {"most": 30, "alpha": 0.02, "evidence": cl.evidence.EmpiricalBernstein()}
        assert streamed(path, memory=SMALL, **terms).certificate.to_dict() == in_memory(path, **terms).to_dict()


@pytest.mark.filterwarnings("ignore::cutline.errors.CutlineWarning")
@pytest.mark.parametrize("way", WAYS)
def test_the_certificate_is_that_of_the_whole_file(whole, way):
    terms = WAYS[way]
    memory = SMALL if "most" in terms else 4 * SMALL
    wanted = in_memory(whole, **terms)
    found = streamed(whole, memory=memory, **terms)
    assert found.certificate.to_dict() == wanted.to_dict()
    assert found.n_queries == 400


@pytest.mark.filterwarnings("ignore:.*rows of a query are not adjacent")
@pytest.mark.parametrize("way", ["few queries, the defaults", "sums along a grid"])
@pytest.mark.parametrize("group", [1, 97, 100_000])
def test_row_groups_of_any_size_and_rows_in_any_order_change_nothing(tmp_path, way, group):
    rows = table(40, longest=5) if group == 1 else table(100)
    wanted = in_memory(parquet(tmp_path / "whole.parquet", rows), **WAYS[way])
    ordered = parquet(tmp_path / "ordered.parquet", rows, group=group)
    mixed = parquet(tmp_path / "mixed.parquet", scattered(rows), group=max(group, 50))
    for path in (ordered, mixed):
        assert streamed(path, **WAYS[way]).certificate.to_dict() == wanted.to_dict()


def test_rows_that_are_not_adjacent_are_told_of(tmp_path):
    path = parquet(tmp_path / "mixed.parquet", scattered(table()))
    with pytest.warns(CutlineWarning, match=r"mixed\.parquet: rows of a query are not adjacent"):
        streamed(path)


@pytest.mark.filterwarnings("ignore:.*rows of a query are not adjacent")
def test_a_query_that_comes_back_once_at_the_very_end_is_found(tmp_path):
    rows = table()
    moved = np.append(np.arange(1, len(rows)), 0)
    assert rows["query_id"][0] == rows["query_id"][1]
    path = parquet(tmp_path / "moved.parquet", rows.take(moved))
    assert streamed(path).certificate.to_dict() == in_memory(path).to_dict()


@pytest.mark.filterwarnings("ignore::cutline.errors.CutlineWarning")
def test_quotation_marks_that_hold_cells_together_late_are_seen_in_scattered_rows_too(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1 << 14)
    rows = table(4000)
    rows = rows.take(np.append([0, 300], np.delete(np.arange(len(rows)), [0, 300])))
    devices = rows["device"].to_pylist()
    devices[-9] = "two\nlines"
    written = tmp_path / "rows.tsv"
    bare = pacsv.WriteOptions(delimiter="\t", quoting_style="needed", quoting_header="none")
    pacsv.write_csv(rows.set_column(4, "device", pa.array(devices)), written, bare)
    found = streamed(written, memory=4 * SMALL, **WAYS["many queries, a grid"])
    assert found.certificate.to_dict() == in_memory(written, **WAYS["many queries, a grid"]).to_dict()


@pytest.mark.filterwarnings("ignore:.*rows of a query are not adjacent")
def test_buckets_that_are_too_large_are_divided_again(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "MOST", 3)
    path = parquet(tmp_path / "mixed.parquet", scattered(table(1000)))
    terms = WAYS["many queries, a grid"]
    assert streamed(path, memory=SMALL // 8, **terms).certificate.to_dict() == in_memory(path, **terms).to_dict()


@pytest.mark.parametrize("how", ["a folder", "a pattern", "csv"])
def test_several_files_are_one_stream(tmp_path, how):
    rows = table()
    wanted = in_memory(parquet(tmp_path / "whole.parquet", rows), **WAYS["many queries, a grid"])
    folder = tmp_path / "parts" / "day=1"
    folder.mkdir(parents=True)
    write, ending = (csv, "csv") if how == "csv" else (parquet, "parquet")
    for place, start in enumerate(range(0, len(rows), 3001)):  # queries go on from one file to the next
        write(folder / f"part-{place:02}.{ending}", rows.slice(start, 3001))
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-00.crc").write_text("x")
    path = tmp_path / "parts" if how != "a pattern" else tmp_path / "parts" / "*" / "part-*.parquet"
    assert streamed(path, **WAYS["many queries, a grid"]).certificate.to_dict() == wanted.to_dict()


def test_a_pattern_reads_hidden_files_only_where_it_names_them(tmp_path):
    folder = tmp_path / "_day" / "deep"
    folder.mkdir(parents=True)
    for name in ("a.parquet", ".a.parquet", "_a.parquet", "b.parquet"):
        parquet(folder / name, table(3))
    (tmp_path / ".held").mkdir()
    parquet(tmp_path / ".held" / "c.parquet", table(3))

    def names(*parts: str) -> list[str]:
        return [each.name for each in files_of(tmp_path.joinpath(*parts))]

    assert names("_day", "deep", "*.parquet") == names("_day", "**", "*.parquet") == ["a.parquet", "b.parquet"]
    assert names("_day", "deep", ".*.parquet") == [".a.parquet"]
    assert names("_day", "deep", "_?.parquet") == ["_a.parquet"]
    assert names(".held", "?.parquet") == ["c.parquet"]
    with pytest.raises(InputError, match="no file has such a name"):
        files_of(tmp_path / "**" / "*.parquet")


def test_ids_may_be_numbers_dictionaries_or_bytes(tmp_path):
    rows = table()
    numbers = pa.array([int(each.as_py()[1:]) for each in rows["query_id"]])
    texts = numbers.cast(pa.string())
    found = []
    for ids in (numbers, texts, texts.dictionary_encode(), texts.cast(pa.binary()), texts.cast(pa.large_string())):
        path = parquet(tmp_path / "ids.parquet", rows.set_column(0, "query_id", ids))
        found.append(streamed(path, most=100).certificate.to_dict())
    assert all(each == found[0] for each in found)


def test_betting_that_does_not_fit_says_what_would(tmp_path):
    path = parquet(tmp_path / "rows.parquet", table(4000))
    with pytest.raises(InputError, match=r"betting evidence keeps up to 200,000 queries.*--memory.*--sample"):
        streamed(path, memory=SMALL)
    with pytest.raises(InputError, match=r"holds every score in memory.*--memory and --sample"):
        streamed(path, most=100, thresholds="exact", evidence=cl.evidence.Convex())


def test_labels_that_end_where_queries_stop_being_kept_are_counted(tmp_path):
    rows = table(300)
    of_query = np.cumsum(np.append(True, np.asarray(rows["query_id"])[1:] != np.asarray(rows["query_id"])[:-1]))
    labels = np.where(of_query < 300, np.nan_to_num(rows["label"].to_numpy()), np.nan)
    path = parquet(tmp_path / "rows.parquet", rows.set_column(3, "label", pa.array(labels)), group=100)
    terms = {"scoring": cl.WinRate(scale=0.1), "most": 298}
    found = streamed(path, memory=SMALL, **terms)
    assert found.certificate.to_dict() == in_memory(path, **terms).to_dict()
    assert found.judged == np.mean(of_query < 300)


def test_betting_on_some_of_the_queries_tells_of_all_of_them_once(tmp_path):
    rows = table()
    heads = np.append(True, np.asarray(rows["query_id"])[1:] != np.asarray(rows["query_id"])[:-1])
    labels = np.where(np.cumsum(heads) % 10 == 0, np.nan, np.nan_to_num(rows["label"].to_numpy()))
    path = parquet(tmp_path / "rows.parquet", rows.set_column(3, "label", pa.array(labels)))
    told = []
    for run in (in_memory, streamed):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", CutlineWarning)
            run(path, most=100, evidence=cl.evidence.Betting())
        told.append([str(note.message) for note in notes])
    assert told[0] == told[1]
    assert [each[:20] for each in told[0]] == ["40 of 400 queries ha", "betting evidence loo"]


def test_the_default_evidence_follows_from_the_number_of_queries(whole):
    queries = cl.io.read_queries(whole)
    assert cl.calibrate(queries, loss=LOSS, alpha=0.3, delta=0.1, most_queries=400).evidence == cl.evidence.Betting()
    many = cl.calibrate(queries, loss=LOSS, alpha=0.3, delta=0.1, most_queries=399)
    assert many.evidence == cl.evidence.EmpiricalBernstein()
    assert many.n_queries + many.sample == 400


def test_betting_asked_for_looks_at_the_first_queries_of_the_hash_order(whole):
    queries = cl.io.read_queries(whole)
    with pytest.warns(CutlineWarning, match="betting evidence looks at 100 of 400 queries"):
        few = cl.calibrate(
            queries, loss=LOSS, alpha=0.3, delta=0.1, most_queries=100, evidence=cl.evidence.Betting(), thresholds=GRID
        )
    first = queries.select(queries.hash_order(0, few.calibration_fingerprint)[:100])
    assert (few.n_queries, few.n_items) == (100, first.n_items)
