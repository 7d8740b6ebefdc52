"""What each task of Spark gives back: the state of a curve, hashes, sums, or rows that were chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from cutline._rows import keyed_hash
from cutline.cautions import Cautions
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve
from cutline.cutting import judged_labels, prepared_quietly, scores_of, whole_losses
from cutline.errors import CutlineWarning, InputError
from cutline.io.arrow import Table, pa, pc
from cutline.io.gathering import gather
from cutline.io.sheets import texts_of
from cutline.io.writing import cut_rows
from cutline.preferences import WinRate
from cutline.spark.packing import RUN, Batches, Reading, changes, queries_of, refusal, whole_queries

ANSWER = pa.schema([("answer", pa.binary()), ("refused", pa.string())])
Digests = npt.NDArray[np.void]
Task = Callable[[Batches], Batches]
DIGEST = 16  # bytes
SCATTERED = b""  # in place of sums: a query has rows in several places


def _quietly(task: Callable[..., Batches]) -> Callable[..., Batches]:
    """Notes on a part of the queries say little about all of them, and nobody reads what a task prints."""

    @wraps(task)
    def run(*given: Any) -> Batches:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CutlineWarning)
            yield from task(*given)

    return run


def _answered(answer: bytes) -> Any:
    return pa.RecordBatch.from_pylist([{"answer": answer, "refused": None}], schema=ANSWER)


class Sums(msgspec.Struct, frozen=True, array_like=True):
    """What a partition adds up to."""

    state: bytes
    cautions: Cautions


@_quietly
def summed(runs: Batches, curve: RiskCurve, source: str) -> Batches:
    """The state of the curve with the queries of one partition added, and what is to be told of them; an answer even
    where there are none."""
    cautions = Cautions()
    try:
        for table in whole_queries(runs, "query"):
            queries = queries_of(table, source)
            lists, more = prepared_quietly(queries, loss=curve.loss, scoring=curve.scoring, sets=curve.sets)
            curve, cautions = curve.merge(curve.of(lists, judged_labels(queries))), cautions + more
    except InputError as problem:
        yield refusal(ANSWER, str(problem))
        return
    yield _answered(msgspec.msgpack.encode(Sums(curve.state(), cautions)))


@_quietly
def closed(runs: Batches, curve: RiskCurve, source: str) -> Batches:
    """The runs of one part of the data, in its order, with most queries added up here: those of adjacent rows that are
    neither the first nor the last of the part. Of these the id alone goes on, and their sums in a row without a query.
    Whoever brings the ids together sees whether one of them has rows elsewhere; then nothing of this counts."""
    cautions, first, rest = Cautions(), True, RUN.empty_table()
    try:
        for batch in runs:
            if batch.column("refused").null_count < batch.num_rows:
                yield batch
                return
            rest = pa.concat_tables([rest, pa.Table.from_batches([batch])]).combine_chunks()
            heads = np.flatnonzero(changes(rest.column("query")))
            ids = rest.column("query").take(pa.array(heads))
            if len(ids.unique()) < len(ids):
                yield _rows(items=pa.array([SCATTERED], pa.binary()))
                return
            begin, end = int(heads[1]) if first and len(heads) > 1 else 0, int(heads[-1])
            if begin:
                yield from rest.slice(0, begin).to_batches()
                first = False
            if first or begin == end:
                rest = rest.slice(begin)
                continue
            queries = queries_of(rest.slice(begin, end - begin), source)
            lists, more = prepared_quietly(queries, loss=curve.loss, scoring=curve.scoring, sets=curve.sets)
            curve, cautions = curve.merge(curve.of(lists, judged_labels(queries))), cautions + more
            yield _rows(query=ids.filter(pa.array((heads >= begin) & (heads < end))))
            rest = rest.slice(end)
    except InputError as problem:
        yield refusal(RUN, str(problem))
        return
    yield from rest.to_batches()
    yield _rows(items=pa.array([msgspec.msgpack.encode(Sums(curve.state(), cautions))], pa.binary()))


def _rows(**given: Any) -> Any:
    """Rows of runs with nothing but one column."""
    ((name, values),) = given.items()
    column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    arrays = [column if each.name == name else pa.nulls(len(values), each.type) for each in RUN]
    return pa.RecordBatch.from_arrays(arrays, schema=RUN)


@_quietly
def opened(runs: Batches, curve: RiskCurve, source: str) -> Batches:
    """What `closed` left to do, in one partition: queries that came as runs are added to the sums. An empty answer
    where a query that was taken for whole has rows elsewhere."""
    cautions = Cautions()
    try:
        for table in whole_queries(runs, "query"):
            for message in table.column("refused").drop_null()[:1]:
                raise InputError(message.as_py())
            nameless = pc.is_null(table.column("query"))
            for packed in table.filter(nameless).column("items"):
                if packed.as_py() == SCATTERED:
                    yield _answered(SCATTERED)
                    return
                sums = msgspec.msgpack.decode(packed.as_py(), type=Sums)
                curve, cautions = curve.merge(curve.with_state(sums.state)), cautions + sums.cautions
            named = table.filter(pc.invert(nameless)).combine_chunks()
            if not named.num_rows:
                continue
            bare = pc.is_null(named.column("scores")).to_numpy()
            of_query = np.cumsum(changes(named.column("query"))) - 1
            if bool((np.bincount(of_query)[of_query[bare]] > 1).any()):
                yield _answered(SCATTERED)
                return
            if bare.all():
                continue
            queries = queries_of(named.filter(pa.array(~bare)), source)
            lists, more = prepared_quietly(queries, loss=curve.loss, scoring=curve.scoring, sets=curve.sets)
            curve, cautions = curve.merge(curve.of(lists, judged_labels(queries))), cautions + more
    except InputError as problem:
        yield refusal(ANSWER, str(problem))
        return
    yield _answered(msgspec.msgpack.encode(Sums(curve.state(), cautions)))


@_quietly
def kept_whole(runs: Batches, curve: RiskCurve, source: str) -> Batches:
    """The sum of the losses of all lists of one partition, each kept whole."""
    total = 0
    for table in whole_queries(runs, "query"):
        queries = queries_of(table, source)
        total += whole_losses(prepared_quietly(queries, loss=curve.loss, scoring=curve.scoring, sets=curve.sets)[0])
    yield _answered(str(total).encode())


def smallest_hashes(runs: Batches, seed: int, fingerprint: str, count: int) -> Batches:
    """The smallest keyed hashes of the queries of one part of the data, at most `count` of them."""
    kept = b""
    for table in whole_queries(runs, "query"):
        kept += _hashes(table, seed, fingerprint)[0].tobytes()
        if len(kept) > 4 * count * DIGEST:
            kept = smallest(kept, count)
    yield _answered(smallest(kept, count))


def smallest(digests: bytes, count: int) -> bytes:
    """The `count` smallest of some hashes, each once."""
    return np.unique(np.frombuffer(digests, ">u8").reshape(-1, 2), axis=0)[:count].astype(">u8").tobytes()


def runs_up_to(runs: Batches, seed: int, fingerprint: str, last: bytes) -> Batches:
    """The runs of the queries whose keyed hashes are at most `last`."""
    for table in whole_queries(runs, "query"):
        digests, of_run = _hashes(table, seed, fingerprint)
        chosen = np.array([digest.tobytes() <= last for digest in digests], np.bool_)
        yield from table.filter(pa.array(chosen[of_run])).cast(RUN).to_batches()


def _hashes(table: Table, seed: int, fingerprint: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The hash of each query, as `Queries.hash_order` has it, and the query of each run."""
    texts = texts_of(table.column("query"))
    changed = texts.changes()
    keyed = keyed_hash(seed, fingerprint)
    digests: list[bytes] = []
    for text in texts.column.take(pa.array(np.flatnonzero(changed))).to_pylist():
        one = keyed.copy()
        one.update(text.encode())
        digests.append(one.digest())
    return np.frombuffer(b"".join(digests), f"V{DIGEST}"), np.cumsum(changed) - 1


@_quietly
def cut(
    batches: Batches, certificate: Certificate | Abstention, reading: Reading, names: list[str], keep_all: bool
) -> Iterator[Any]:
    """The chosen rows of one partition, whose rows are sorted by query; the columns named, in this order."""
    for table in whole_queries(batches, reading.roles["query_id"]):
        sheet = reading.sheet(table.select(names), _row)
        gathered = gather(sheet, vectors=certificate.sets.needs_vectors)
        slates = certificate.cut(gathered.queries)
        rates = scores_of(gathered.queries, certificate.scoring) if type(certificate.scoring) is WinRate else None
        yield from cut_rows(gathered, slates, keep_all=keep_all, win_rates=rates).table.to_batches()


def _row(row: int) -> str:
    return f"row {row + 1:,} of a chunk"
