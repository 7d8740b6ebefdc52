"""Auditing a stream: the same verdict as on all queries in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cutline.auditing import Audit, audit_of
from cutline.certificate import Abstention, Certificate, Fit
from cutline.cutting import scores_of
from cutline.errors import InputError, warn
from cutline.queries import Queries
from cutline.sets import Diverse
from cutline.streaming.chunks import Chunk
from cutline.streaming.lots import Lot, Reader, Telling
from cutline.streaming.stream import Stream
from cutline.tallies import Tally, tally_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audited:
    """The verdict, and the share of items judged."""

    audit: Audit
    judged: float


def audit_stream(
    stream: Stream, certificate: Certificate | Abstention, reader: Reader, *, by: Sequence[str] = ()
) -> Audited:
    """What `audit` says of all queries of the stream at once; but that diversities before and after choosing are not
    looked at."""
    return stream.settled(partial(_audited, stream, certificate, reader, by))


def _audited(stream: Stream, certificate: Certificate | Abstention, reader: Reader, by: Sequence[str]) -> Audited:
    tally, fit, telling = Tally(), Fit(), Telling(reader, stream.name)
    for part, here, lot in stream.results(partial(_counted, certificate, reader, by)):
        telling.add(lot)
        if part is not None:
            tally.add(part)
            fit += here
    telling.say()
    if not tally.n_queries:
        raise InputError("queries must be at least 1 to audit on, got 0")
    certificate.tell(fit)
    if type(certificate.sets) is Diverse:
        warn("diversity before and after choosing is looked at in memory only; this file was read in chunks")
    audit = audit_of(certificate, tally, _ids_alone(tally))
    return Audited(audit=audit, judged=tally.labels / tally.cautions.items)


def _counted(
    certificate: Certificate | Abstention, reader: Reader, by: Sequence[str], chunk: Chunk
) -> tuple[Tally | None, Fit, Lot]:
    lot = reader(chunk)
    queries = lot.queries
    if not len(queries):
        return None, Fit(), lot.without_rows()
    scores = scores_of(queries, certificate.scoring)
    slates = certificate.cut_quietly(queries, scores)
    tally = tally_of(certificate, queries, scores, slates.chosen, by=by)
    fit = Fit(len(queries), certificate.outside(queries), queries.n_items, len(slates.order))
    return tally, fit, lot.without_rows()


def _ids_alone(tally: Tally) -> Queries | None:
    """A table of the ids of those queries whose losses are known one by one."""
    if not tally.ids:
        return None
    ids: Any = np.concatenate(tally.ids)
    return Queries(np.zeros(len(ids)), np.arange(len(ids) + 1), None, None, ids)
