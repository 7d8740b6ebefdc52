"""The report: one HTML file that holds everything it shows, and runs nothing but the script it came with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from cutline._display import shown
from cutline._files import write_whole
from cutline._tables import check_is_queries
from cutline.auditing import Audit
from cutline.auditing import audit as look
from cutline.certificate import Abstention, Certificate, Findings
from cutline.cutting import badness_of, fingerprint, fingerprint_text, lengths_of, scores_of
from cutline.errors import CutlineWarning, InputError
from cutline.frontiers import Frontier
from cutline.frontiers import frontier as explore
from cutline.report.contents import words_of
from cutline.report.examples import Example, Titles, examples_of
from cutline.report.numbers import readable
from cutline.report.plates import Plate, plates_of
from cutline.report.rendering import rendered
from cutline.searching import SAMPLE_LEAST
from cutline.sequence import grid
from cutline.slates import Slates

if TYPE_CHECKING:
    from cutline.queries import Queries

EACH_SIDE = 2  # of the alphas looked at below and above the one declared


def write(
    path: str | PathLike[str],
    certificate: Certificate | Abstention,
    *,
    calibration: Queries | None = None,
    held_out: Queries | None = None,
    audit: Audit | None = None,
    frontier: Frontier | None = None,
    by: str | Sequence[str] | None = None,
    titles: Titles = None,
    title: str | None = None,
) -> None:
    """Write the report, whole or not at all: one HTML file for people to read, which fetches nothing.

    `calibration` adds sizes, example lists, and what other levels of alpha would cost (exploratory, unless a
    `frontier` is given). `held_out` adds an audit (`audit` where there is one already; `by` as there), and example
    lists that took no part in the choice. `titles` are those of items: a column of the queries, or {item id: title}.
    `title` is that of the page. The same input gives the same bytes.
    """
    text = page(
        certificate, calibration=calibration, held_out=held_out, audit=audit, frontier=frontier, by=by, titles=titles,
        title=title,
    )  # fmt: skip
    write_whole(path, text)


def page(
    certificate: Certificate | Abstention,
    *,
    calibration: Queries | None = None,
    held_out: Queries | None = None,
    audit: Audit | None = None,
    frontier: Frontier | None = None,
    by: str | Sequence[str] | None = None,
    titles: Titles = None,
    title: str | None = None,
) -> str:
    """The text of the report; see `write`."""
    _check(certificate, calibration, held_out, audit, frontier)
    found = isinstance(certificate, Certificate)
    if audit is None and held_out is not None and found:
        audit = look(certificate, held_out, by=by)
    if frontier is None and calibration is not None:
        frontier = explored(certificate, calibration)
    calibrated, new = (_cut(certificate, queries) if found else None for queries in (calibration, held_out))
    plates = plates_of(
        certificate, audit=audit if found else None, frontier=frontier, calibrated=calibrated, held_out=held_out
    )
    source = calibrated if new is None else new
    lists = () if source is None else examples_of(certificate, source, titles=titles)
    words = words_of(certificate, audit)
    return rendered(
        words=words, plates=plates, lists=lists, abstained=not found,
        sections=_sections(certificate, plates, lists, audit),
        title=None if title is None else readable(title), cut=_cut_in_words(certificate),
        lists_note=_note(held_out is not None), settings=[*words.settings, *_hash_of(certificate, held_out)],
        calibration_data=audit is not None and audit.calibration_data,
    )  # fmt: skip


def explored(certificate: Certificate | Abstention, calibration: Queries) -> Frontier:
    """What other levels of alpha would have cost on the same queries, each looked at by itself: exploratory."""
    thresholds: Any = certificate.thresholds
    if not isinstance(thresholds, str):
        given = dict(thresholds)
        thresholds = given["values"] if "values" in given else grid(given["start"], given["stop"], given["step"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutlineWarning)  # said when the certificate was made
        return explore(
            calibration, alphas=levels_around(certificate), delta=certificate.delta, exploratory=True,
            loss=certificate.loss, scoring=certificate.scoring, sets=certificate.sets, evidence=certificate.evidence,
            thresholds=None if certificate.sample else thresholds, sequence=certificate.sequence, seed=certificate.seed,
            most_queries=most_queries_of(certificate, calibration),
        )  # fmt: skip


def most_queries_of(certificate: Certificate | Abstention, calibration: Queries) -> int:
    """A `most_queries` at which these queries give this certificate again. Evidence that reads losses in order tells
    it; for sums, what decides is whether there were more queries than that, so that a sample drew the thresholds."""
    ordered = certificate.evidence.needs == "order"
    seen = certificate.n_queries + certificate.sample if ordered else len(calibration) - 1
    return max(SAMPLE_LEAST + 2, seen)


def levels_around(certificate: Certificate | Abstention) -> list[float]:
    """Levels of alpha on both sides of the declared one, in round steps; for an abstention from there upwards, past the
    smallest that would have been certified."""
    declared = Decimal(repr(certificate.alpha))
    refusal = certificate.abstention
    least = None if refusal is None else refusal.smallest_alpha
    reach = declared / 5 if least is None else max(declared / 5, (Decimal(repr(least)) - declared) / 2)
    step = Decimal(f"{reach:.0e}")
    sides = range(-EACH_SIDE, EACH_SIDE + 1) if refusal is None else range(2 * EACH_SIDE + 1)
    return [float(level) for side in sides if 0 < (level := declared + side * step) < 1]


def _check(certificate: object, calibration: object, held_out: object, audit: object, frontier: object) -> None:
    if not isinstance(certificate, Findings):
        raise InputError(f"certificate must be what calibrate or load gave, got {shown(certificate)}")
    for queries in (calibration, held_out):
        if queries is not None:
            check_is_queries(queries)
    if audit is not None and not isinstance(audit, Audit):
        raise InputError(f"audit must be what audit() gave, got {shown(audit)}")
    if frontier is not None and not isinstance(frontier, Frontier):
        raise InputError(f"frontier must be what frontier() gave, got {shown(frontier)}")
    if isinstance(audit, Audit) and (audit.threshold, audit.alpha) != (certificate.threshold, certificate.alpha):
        raise InputError(
            f"audit must be of this certificate (threshold {certificate.threshold:g}, alpha {certificate.alpha:g}), "
            f"got one of threshold {audit.threshold:g}, alpha {audit.alpha:g}"
        )
    if isinstance(audit, Audit) and held_out is not None and audit.n_queries != len(cast(Any, held_out)):
        raise InputError(
            f"audit must be of the held_out queries, {len(cast(Any, held_out)):,} of them, got one of "
            f"{audit.n_queries:,}"
        )
    if calibration is not None and fingerprint_in(certificate, calibration) != certificate.calibration_fingerprint:
        raise InputError(
            "calibration must be the queries that this certificate was calibrated on, got others; pass new ones as "
            "held_out"
        )


def fingerprint_in(certificate: Certificate | Abstention | Findings, queries: Any) -> str:
    """The fingerprint of queries as this certificate judges and scores them."""
    badness = badness_of(queries, certificate.loss.relevance)
    sums = fingerprint(scores_of(queries, certificate.scoring), badness, queries.offsets)
    return fingerprint_text(sums, lengths_of(queries.sizes))


def _cut(certificate: Certificate | Abstention, queries: Queries | None) -> Slates | None:
    if queries is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutlineWarning)  # said when they were calibrated or audited
        return certificate.cut(queries)


def _sections(
    certificate: Certificate | Abstention, plates: Sequence[Plate], lists: Sequence[Example], audit: Audit | None
) -> list[tuple[str, str]]:
    """The sections there is something for: name and heading."""
    abstained = isinstance(certificate, Abstention)
    there = {"promise", "audit", "settings", *(plate.section for plate in plates), *(["lists"] if lists else [])}
    headings = {
        "promise": "Why, and what would help" if abstained else "What is promised, and what is not",
        "walk": "The risk along the walk",
        "audit": (
            "At the first threshold"
            if abstained
            else "Calibration"
            if audit is None
            else "Calibration beside the audit"
        ),
        "sizes": "How long the lists are",
        "where": "Where the risk sits",
        "costs": "What another alpha would cost",
        "lists": "Example lists",
        "settings": "Settings and versions",
    }
    return [(name, heading) for name, heading in headings.items() if name in there]


def _cut_in_words(certificate: Certificate | Abstention) -> str:
    what = "win rate" if certificate.scoring.name == "win-rate" else "score"
    return f"{what} below {certificate.threshold:.5g}"


def _note(held_out: bool) -> str:
    source = "held-out queries, which took no part in the choice of the threshold" if held_out else (
        "the calibration queries, on which the threshold was chosen"
    )  # fmt: skip
    return (
        f"From {source}. They are picked by size and loss to show what can happen, not at random, and prove nothing: "
        "no promise is made about any single list."
    )


def _hash_of(certificate: Certificate | Abstention, held_out: Queries | None) -> list[tuple[str, str]]:
    return [] if held_out is None else [("held-out fingerprint", fingerprint_in(certificate, held_out))]
