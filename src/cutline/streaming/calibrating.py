"""Learn then Test on a stream: the same certificate as from all queries in memory, whatever the chunks.

Up to `most` queries are kept, and calibrated as they would be anyway. With more of them, evidence from sums takes one
pass along given thresholds, and three where a sample draws them: one for how many queries there are and the fingerprint
of their lists, one for the sample, one for the sums. Betting takes two: the second keeps the `most` queries whose
hashes are smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._checks import check_delta, check_level, check_piece, check_seed, check_whole
from cutline._rows import keyed_hash, offsets_of_sizes
from cutline.calibration import calibrate, certify
from cutline.cautions import Cautions
from cutline.certificate import Abstention, Certificate
from cutline.curve import RiskCurve, check_pieces, check_thresholds
from cutline.cutting import check_judged, fingerprint, fingerprint_text, lengths_of, prepared_quietly, whole_losses
from cutline.errors import InputError
from cutline.evidence import Evidence
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.queries import Queries
from cutline.searching import (
    MOST_BET,
    SAMPLE_LEAST,
    Whole,
    checked_sample,
    default_evidence,
    quantile_grid,
    search_of_curve,
    search_of_queries,
)
from cutline.sequence import FixedSequence, TestingOrder
from cutline.sets import SetRule, Threshold
from cutline.streaming.lots import Lot, Reader, Telling
from cutline.streaming.parts import release
from cutline.streaming.stream import Stream

Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
PER_ITEM, PER_QUERY = 17, 120  # bytes of what is kept
CONVEX = "cl.evidence.Convex()"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """What is calibrated: all that `calibrate` takes but the queries."""

    alpha: float
    delta: float
    loss: Loss
    scoring: Scoring = field(default_factory=AsGiven)
    sets: SetRule = field(default_factory=Threshold)
    evidence: Evidence | None = None
    thresholds: npt.ArrayLike | str | None = None
    sequence: TestingOrder = field(default_factory=FixedSequence)
    seed: int = 0
    most: int = MOST_BET

    def checked(self) -> Terms:
        """The same, with levels, numbers and pieces that make sense."""
        check_pieces(loss=self.loss, scoring=self.scoring, sets=self.sets)
        check_piece("evidence", default_evidence(1) if self.evidence is None else self.evidence, Evidence, CONVEX)
        check_piece("sequence", self.sequence, TestingOrder, "cl.FixedSequence() or cl.Fallback()")
        return replace(
            self,
            alpha=check_level("alpha", self.alpha),
            delta=check_delta(self.delta),
            seed=check_seed(self.seed),
            most=check_whole("most_queries", self.most, least=SAMPLE_LEAST + 2),
        )

    @property
    def grid(self) -> Floats | None:
        """The thresholds, where they are known before the queries are."""
        if isinstance(self.thresholds, str) or (self.thresholds is None and self.scoring.name != "win-rate"):
            return None
        return check_thresholds(self.thresholds, loss=self.loss, scoring=self.scoring)

    def in_memory(self, queries: Queries) -> Certificate | Abstention:
        """Calibrate queries that are at hand."""
        return calibrate(
            queries, alpha=self.alpha, delta=self.delta, loss=self.loss, scoring=self.scoring, sets=self.sets,
            evidence=self.evidence, thresholds=self.thresholds, sequence=self.sequence, seed=self.seed,
            most_queries=self.most,
        )  # fmt: skip

    def curve(self, thresholds: Floats) -> RiskCurve:
        """No queries yet."""
        return RiskCurve.empty(loss=self.loss, scoring=self.scoring, sets=self.sets, thresholds=thresholds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Glance:
    """What the first pass keeps of a chunk: its queries, or only sums over them."""

    cautions: Cautions
    lengths: dict[int, int]
    fingerprint: tuple[int, int]
    judged: int
    queries: Queries | None = None
    curve: RiskCurve | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Streamed:
    """What came of a stream: the certificate, the share of items judged, and how many queries and items there were."""

    certificate: Certificate | Abstention
    judged: float
    n_queries: int
    n_items: int


class _FirstPass:
    """All that a pass over the file adds up, and the queries themselves as long as they are few."""

    def __init__(self, stream: Stream, reader: Reader, terms: Terms) -> None:
        self.stream, self.reader, self.terms = stream, reader, terms
        self.grid, self.keeping = terms.grid, not _only_sums(terms)
        self.kept: list[tuple[Queries, int]] = []  # with how many of their items are judged
        self.curve = None if self.grid is None else terms.curve(self.grid)
        self.cautions, self.lengths, self.print = Cautions(), dict[int, int](), (0, 0)
        self.telling, self.judged, self.bytes = Telling(reader, stream.name), 0, 0

    def run(self) -> None:
        """Read everything once."""
        for lot, glance in self.stream.results(self._look):
            self.telling.add(lot)
            self._add(glance)
        self.telling.say()

    @property
    def n(self) -> int:
        return self.cautions.queries

    @property
    def fingerprint(self) -> str:
        """Of all lists."""
        return fingerprint_text(self.print, self.lengths)

    def queries(self) -> Queries:
        """Those kept, in one table."""
        kept, self.kept = [queries for queries, _ in self.kept], []
        return joined_queries(kept)

    def _look(self, chunk: Any) -> tuple[Lot, Glance]:
        lot = self.reader(chunk)
        if not len(lot.queries):
            return lot.without_rows(), Glance(cautions=Cautions(), lengths={}, fingerprint=(0, 0), judged=0)
        if self.keeping:
            glance = Glance(
                cautions=Cautions(queries=len(lot.queries), items=lot.queries.n_items), lengths={}, fingerprint=(0, 0),
                judged=lot.judged, queries=lot.queries,
            )  # fmt: skip
            return lot, glance
        return lot.without_rows(), self._summed(lot.queries, lot.judged)

    def _summed(self, queries: Queries, judged: int) -> Glance:
        terms = self.terms
        lists, cautions = prepared_quietly(queries, loss=terms.loss, scoring=terms.scoring, sets=terms.sets)
        if self.curve is not None and _sums_will_do(terms):
            curve = terms.curve(self.curve.thresholds).of(lists, judged)
            known, lengths = curve.fingerprint, curve.lengths
        else:
            curve, lengths = None, lengths_of(queries.sizes)
            known = fingerprint(lists.scores, lists.badness, lists.offsets)
        return Glance(cautions=cautions, lengths=lengths, fingerprint=known, judged=judged, curve=curve)

    def _add(self, glance: Glance) -> None:
        if glance.queries is not None and self.keeping:
            self.kept.append((glance.queries, glance.judged))
            self.cautions += glance.cautions
            self.judged += glance.judged
            self.bytes += _bytes_of(glance.queries)
            if self.n > self.terms.most or self.bytes > self.stream.share.held:
                self._forget()
            return
        if glance.queries is not None:  # it was on its way when there were few
            glance = self._summed(glance.queries, glance.judged)
        self.cautions += glance.cautions
        self.judged += glance.judged
        for length, count in glance.lengths.items():
            self.lengths[length] = self.lengths.get(length, 0) + count
        self.print = (self.print[0] + glance.fingerprint[0]) % 2**64, (self.print[1] + glance.fingerprint[1]) % 2**64
        if self.curve is not None and glance.curve is not None:
            self.curve = self.curve.merge(glance.curve)

    def _forget(self) -> None:
        """There are too many to be kept, or they take too much: add up those so far."""
        if isinstance(self.terms.thresholds, str):
            raise InputError(
                f"{self.stream.name}: thresholds={self.terms.thresholds!r} holds every score in memory, which has room "
                f"for {self.n - 1:,} queries here; pass a grid: thresholds=cl.grid(…), or more --memory and --sample"
            )
        self.keeping = False
        kept, self.kept = self.kept, []
        self.cautions, self.judged = Cautions(), 0
        for queries, judged in kept:
            self._add(self._summed(queries, judged))

    def check_room(self) -> None:
        """Refuse queries that had to be kept, as they are few, and could not be."""
        terms = self.terms
        sums = terms.evidence is not None and (terms.evidence.needs == "moments" or self.grid is not None)
        if self.keeping or self.n > terms.most or (sums and _sums_will_do(terms)):
            return
        evidence = default_evidence(1) if terms.evidence is None else terms.evidence
        size = PER_ITEM * self.cautions.items + PER_QUERY * self.n
        raise InputError(
            f"{self.stream.name}: {evidence.name} evidence keeps up to {terms.most:,} queries in memory, and these "
            f"{self.n:,} take {size >> 20:,} MiB of it, more than there is; give it more --memory, or fewer queries to "
            f"keep, as --sample {self.n // 2}"
        )


def _bytes_of(queries: Queries) -> int:
    vectors = 0 if queries.vectors is None or queries.vector_rows is not None else queries.vectors.nbytes
    return PER_ITEM * queries.n_items + PER_QUERY * len(queries) + vectors


def calibrate_stream(stream: Stream, terms: Terms, reader: Reader) -> Streamed:
    """The certificate that `calibrate` gives for all queries of the stream at once."""
    terms = terms.checked()
    return stream.settled(partial(_calibrated, stream, terms, reader))


def _calibrated(stream: Stream, terms: Terms, reader: Reader) -> Streamed:
    first = _FirstPass(stream, reader, terms)
    first.run()
    first.check_room()
    n_items = first.cautions.items
    made = partial(Streamed, judged=first.judged / max(1, n_items), n_queries=first.n, n_items=n_items)
    if first.keeping:
        return made(certificate=terms.in_memory(first.queries()))
    evidence = default_evidence(first.n, terms.most) if terms.evidence is None else terms.evidence
    if first.n:
        check_judged(first.judged)
    first.cautions.say(terms.loss)
    whole = partial(_whole, stream, reader, terms)
    settings: dict[str, Any] = {
        "alpha": terms.alpha, "delta": terms.delta, "evidence": evidence, "sequence": terms.sequence, "seed": terms.seed
    }  # fmt: skip
    if evidence.needs == "order":
        chosen = smallest(stream, reader, seed=terms.seed, salt=first.fingerprint, wanted=terms.most, of=first.n)
        search = search_of_queries(
            chosen, loss=terms.loss, scoring=terms.scoring, sets=terms.sets, evidence=evidence,
            thresholds=terms.thresholds, sequence=terms.sequence, seed=terms.seed, most=terms.most,
            whole=Whole(first.n, first.fingerprint),
        )  # fmt: skip
        return made(certificate=certify(search, **settings))
    if first.curve is not None:
        return made(certificate=certify(search_of_curve(first.curve, evidence, whole=whole), **settings))
    count = checked_sample(first.n)
    drawn = smallest(stream, reader, seed=terms.seed, salt=first.fingerprint, wanted=count, of=first.n)
    lists, _ = prepared_quietly(drawn, loss=terms.loss, scoring=terms.scoring, sets=terms.sets)
    empty = terms.curve(check_thresholds(quantile_grid(lists, count), loss=terms.loss, scoring=terms.scoring))
    curve = _curve_of(stream, reader, empty).without(empty.of(lists, 0))
    curve = replace(curve, n_judged=first.judged)
    search = search_of_curve(
        curve, evidence, fingerprint=first.fingerprint, sample=count, whole=lambda: whole() - whole_losses(lists)
    )
    return made(certificate=certify(search, **settings))


def _only_sums(terms: Terms) -> bool:
    """Whether sums along known thresholds are wanted, however many queries there are."""
    return terms.evidence is not None and _sums_will_do(terms) and terms.grid is not None


def _sums_will_do(terms: Terms) -> bool:
    return terms.evidence is None or terms.evidence.needs != "order"


ROLES = ("query_id", "score", "label")  # items were looked at in the first pass


def _roles(reader: Reader) -> Sequence[str] | None:
    """The roles that later passes need."""
    if reader.judgments is not None or reader.vectors or reader.columns:
        return None
    return ROLES


def curve_of_stream(stream: Stream, reader: Reader, empty: RiskCurve) -> RiskCurve:
    """The curve of all queries of the stream, on the thresholds of an empty one; items are looked at too, and what
    weakens a promise is told."""

    def run() -> RiskCurve:
        telling, cautions, curve = Telling(reader, stream.name), Cautions(), empty
        for lot, part, more in stream.results(partial(_part_of_curve, reader, empty)):
            telling.add(lot)
            curve, cautions = curve if part is None else curve.merge(part), cautions + more
        telling.say()
        cautions.say(empty.loss)
        return curve

    return stream.settled(run)


def _curve_of(stream: Stream, reader: Reader, empty: RiskCurve) -> RiskCurve:
    """The same in a later pass, when all has been told."""
    parts = (part for _, part, _ in stream.results(partial(_part_of_curve, reader, empty), _roles(reader)))
    return reduce(lambda curve, part: curve if part is None else curve.merge(part), parts, empty)


def _part_of_curve(reader: Reader, empty: RiskCurve, chunk: Any) -> tuple[Lot, RiskCurve | None, Cautions]:
    lot = reader(chunk)
    if not len(lot.queries):
        return lot.without_rows(), None, Cautions()
    lists, cautions = prepared_quietly(lot.queries, loss=empty.loss, scoring=empty.scoring, sets=empty.sets)
    return lot.without_rows(), empty.of(lists, lot.judged), cautions


def _whole(stream: Stream, reader: Reader, terms: Terms) -> int:
    """The sum of the losses of all lists kept whole."""

    def added(chunk: Any) -> int:
        queries = reader(chunk).queries
        if not len(queries):
            return 0
        return whole_losses(prepared_quietly(queries, loss=terms.loss, scoring=AsGiven(), sets=Threshold())[0])

    return sum(stream.results(added, _roles(reader)))


def smallest(stream: Stream, reader: Reader, *, seed: int, salt: str, wanted: int, of: int) -> Queries:
    """The queries of smallest keyed hash, as `Queries.hash_order` has it, out of so many."""
    share = min(1.0, wanted / of + 8.0 * (wanted**0.5 + 1.0) / of)
    for bar in (share, 1.0):  # the first one leaves too few once in a million million times
        limit = np.uint64(min(int(bar * 2.0**64), 2**64 - 1))
        found = list(stream.results(partial(_below, reader, seed, salt, limit), _roles(reader)))
        heads = np.concatenate([each[1] for each in found])
        if len(heads) < wanted:
            continue
        last = np.partition(heads, wanted - 1)[wanted - 1]
        kept: list[Queries] = []
        while found:
            queries, own = found.pop()
            if bool((own <= last).any()):
                kept.append(queries if bool((own <= last).all()) else joined_queries([queries.select(own <= last)]))
        few = joined_queries(kept)
        return few if len(few) == wanted else few.select(few.hash_order(seed, salt)[:wanted])
    raise InputError(f"{stream.name} changed while it was read; wait until it is written, and start again")


def _below(reader: Reader, seed: int, salt: str, limit: np.uint64, chunk: Any) -> tuple[Queries, Hashes]:
    """The queries of a chunk whose hashes are not above a limit, and the first half of each hash."""
    queries = reader(chunk).queries
    keyed = keyed_hash(seed, salt)
    heads = bytearray()
    ids: list[str] = [] if queries.query_ids is None else queries.query_ids.tolist()
    for text in ids:
        one = keyed.copy()
        one.update(text.encode("utf-8", "surrogatepass"))
        heads += one.digest()[:8]
    hashes = np.frombuffer(bytes(heads), ">u8").astype(np.uint64)
    return joined_queries([queries.select(hashes <= limit)]), hashes[hashes <= limit]  # a view would keep the chunk


def joined_queries(parts: list[Queries]) -> Queries:
    """Tables one after the other, as copies; each is let go of as it is copied."""
    n_items, sizes = sum(part.n_items for part in parts), np.concatenate([part.sizes for part in parts])
    ids = objects_of([query for part in parts for query in (part.query_ids if part.query_ids is not None else ())])
    labelled = all(part.labels is not None for part in parts)
    scores, labels = np.empty(n_items), np.empty(n_items if labelled else 0)
    table = parts[0].vector_rows is not None
    vectors: list[Any] = []
    rows: list[Any] = []
    names = list(parts[0].columns)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    shared = parts[0].vectors if table else None
    end = n_items
    while parts:
        part = parts.pop()
        begin = end - part.n_items
        scores[begin:end] = part.scores
        if part.labels is not None and labelled:
            labels[begin:end] = part.labels
        vectors.append(part.vectors)
        rows.append(part.vector_rows)
        for name in names:
            columns[name].append(part.columns[name])
        end = begin
    release()
    width = None if shared is not None or vectors[0] is None else np.concatenate(vectors[::-1])
    return Queries(
        scores, offsets_of_sizes(sizes), labels if labelled else None, shared if table else width, ids, None,
        {name: np.concatenate(columns[name][::-1]) for name in names},
        vector_rows=np.concatenate(rows[::-1]) if table else None,
    )  # fmt: skip
