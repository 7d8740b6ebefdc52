"""The paper's protocol: calibrate on one part of the queries, look at the rest, and repeat with other splits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutline._checks import check_level, check_whole, generator_of
from cutline._display import html_table, text_table
from cutline._tables import check_is_queries
from cutline.auditing import diversity_at, figures_of, losses_of, mean_of
from cutline.calibration import calibrate
from cutline.certificate import Certificate
from cutline.curve import check_pieces
from cutline.cutting import badness_of, check_vectors, cut_all, scores_of
from cutline.errors import CutlineWarning, InputError
from cutline.evidence import Evidence
from cutline.losses import Loss
from cutline.preferences import AsGiven, Scoring
from cutline.searching import MOST_BET
from cutline.sequence import TestingOrder
from cutline.sets import Diverse, SetRule, Threshold
from cutline.variety import Variety

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Splits:
    """One entry per split. Where calibration abstained, thresholds, risks and sizes are NaN, and `certified` is
    False.

    `size_of_one` is the list length of one random held-out query, as the paper records it. The splits share
    queries, so the share of risks above alpha is only roughly what delta bounds, and these are risks on held-out
    queries, not true ones. `diversity` holds, for lists cut by `Diverse`, one `Variety` per split, None where
    calibration abstained.
    """

    alpha: float
    delta: float
    n_calibration: int
    n_held_out: int
    certified: Flags
    threshold: Floats
    risk: Floats
    mean_size: Floats
    size_of_one: Floats
    share_nonempty: Floats
    item_rate: Floats
    diversity: tuple[Variety | None, ...] = ()

    def __len__(self) -> int:
        return len(self.certified)

    @property
    def share_above(self) -> float:
        """The share of all splits with a certificate whose held-out risk is above alpha; abstentions are never
        above."""
        return float(np.mean(self.risk > self.alpha))

    def _rows(self) -> list[tuple[str, object]]:
        return [
            ("certified", f"{int(self.certified.sum())} of {len(self)} splits"),
            ("held-out risk", _spoken(self.risk)),
            ("above alpha", f"{100 * self.share_above:.1f} % of splits (delta {self.delta:g})"),
            ("threshold", _spoken(self.threshold)),
            ("mean list size", _spoken(self.mean_size)),
            ("non-empty lists", _spoken(self.share_nonempty)),
            *self._rows_of_diversity(),
        ]

    def _rows_of_diversity(self) -> list[tuple[str, object]]:
        """Shares of modified lists and relative gains, by number of pairs, of the splits that have them."""
        known = [each for each in self.diversity if each is not None]
        if not known:
            return []
        shares = np.array([each.share_modified for each in known])
        rows: list[tuple[str, object]] = [("modified lists", _spoken(shares))]
        for name, gains in (
            ("gain over all reached", [each.over_before["pairs"] for each in known]),
            ("gain over best by score", [each.over_top["pairs"] for each in known]),
        ):
            means = np.array([gain.mean for gain in gains if gain is not None])
            lists = [gain.n for gain in gains if gain is not None]
            if lists:
                rows.append((name, f"{_spoken(means)}, n {min(lists):,} … {max(lists):,}"))
        return rows

    def _title(self) -> str:
        parts = f"{self.n_calibration:,} to calibrate, {self.n_held_out:,} held out"
        return f"{len(self)} splits: {parts}; alpha {self.alpha:g}"

    def __repr__(self) -> str:
        return text_table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())


def resample(
    queries: Queries,
    *,
    loss: Loss,
    alpha: float,
    delta: float,
    n_calibration: int,
    repeats: int = 100,
    rng: int | np.random.Generator,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    thresholds: npt.ArrayLike | str | None = None,
    sequence: TestingOrder | None = None,
    seed: int = 0,
    most_queries: int = MOST_BET,
) -> Splits:
    """Split by query, calibrate, and measure on the rest, `repeats` times.

    Split i calibrates with `seed` + i: with one seed for all, the same queries would come first wherever they are
    drawn, and the share of splits above alpha would depend on it.
    """
    alpha, delta = check_level("alpha", alpha), check_level("delta", delta)
    scoring, sets = AsGiven() if scoring is None else scoring, Threshold() if sets is None else sets
    check_is_queries(queries)
    check_pieces(loss=loss, scoring=scoring, sets=sets)
    check_vectors(queries, sets)
    n_calibration = check_whole("n_calibration", n_calibration, least=2)
    repeats = check_whole("repeats", repeats, least=1)
    if n_calibration >= len(queries):
        raise InputError(
            f"n_calibration must leave queries to measure on, got {n_calibration:,} of {len(queries):,}; take fewer"
        )
    generator = generator_of(rng)
    outcomes = np.full((repeats, 6), np.nan)
    badness = badness_of(queries, loss.relevance).shares()
    scores = scores_of(queries, scoring)
    diversity: list[Variety | None] = [None] * repeats
    for repeat in range(repeats):
        order = generator.permutation(len(queries))
        one = int(generator.integers(len(queries) - n_calibration))
        with warnings.catch_warnings():
            if repeat:  # what is odd about the queries was said of the first split
                warnings.simplefilter("ignore", CutlineWarning)
            certificate = calibrate(
                queries.select(np.sort(order[:n_calibration])),
                loss=loss,
                alpha=alpha,
                delta=delta,
                scoring=scoring,
                sets=sets,
                evidence=evidence,
                thresholds=thresholds,
                sequence=sequence,
                seed=seed + repeat,
                most_queries=most_queries,
            )
        if isinstance(certificate, Certificate):
            chosen, _ = cut_all(
                sets, scores, queries.offsets, queries.vectors, certificate.threshold, queries.vector_rows
            )
            held_out = np.sort(order[n_calibration:])
            outcomes[repeat] = _measured(certificate, queries, chosen, badness, held_out, one)
            diversity[repeat] = diversity_at(certificate, queries, scores, chosen, held_out, resamples=200)
    return Splits(
        alpha=alpha,
        delta=delta,
        n_calibration=n_calibration,
        n_held_out=len(queries) - n_calibration,
        certified=~np.isnan(outcomes[:, 0]),
        threshold=outcomes[:, 0],
        risk=outcomes[:, 1],
        mean_size=outcomes[:, 2],
        size_of_one=outcomes[:, 3],
        share_nonempty=outcomes[:, 4],
        item_rate=outcomes[:, 5],
        diversity=tuple(diversity) if type(sets) is Diverse else (),
    )


def _measured(
    certificate: Certificate, queries: Queries, chosen: Flags, badness: Floats, held_out: Integers, one: int
) -> tuple[float, ...]:
    """Threshold, risk, mean size, size of one list, share non-empty and item rate on the held-out queries."""
    keep = np.zeros(len(queries), np.bool_)
    keep[held_out] = True
    items = np.repeat(keep, np.diff(queries.offsets))
    offsets = np.concatenate([[0], np.cumsum(np.diff(queries.offsets)[held_out])])
    losses = losses_of(certificate, chosen[items], badness[items], offsets)
    figures: dict[str, Any] = figures_of(losses, chosen[items], badness[items], offsets)
    sizes = np.diff(np.concatenate([[0], np.cumsum(chosen[items])])[offsets])
    rate = figures["item_rate"]
    return (
        certificate.threshold,
        mean_of(losses),
        float(sizes.mean()),
        float(sizes[one]),
        figures["share_nonempty"],
        np.nan if rate is None else rate,
    )


def _spoken(values: Floats) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "n/a"
    return f"{known.mean():.4f}  ({known.min():.4f} … {known.max():.4f})"
