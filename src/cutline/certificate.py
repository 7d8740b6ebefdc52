"""What calibration returns: a Certificate, or an Abstention. Values that can be saved, loaded, read aloud and
applied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cutline import statements
from cutline._arrays import vectors_of
from cutline._display import html_table, shown, text_table
from cutline._files import shortened, write_whole
from cutline._record import (
    SCHEMA,
    CurvePoints,
    ListLengths,
    Record,
    Refusal,
    as_written,
    content_of,
    read_record,
    seal_of,
    write_record,
)
from cutline._tables import check_is_queries
from cutline._version import __version__
from cutline.cutting import check_vectors, chosen_rows, cut_all, item_scores, scores_of
from cutline.errors import CannotApplyError, CertificateError, InputError, warn
from cutline.evidence import EVIDENCE, Evidence
from cutline.losses import LOSSES, FalseDiscovery, Loss, Miss
from cutline.preferences import SCORINGS, AsGiven, Scoring
from cutline.relevance import RELEVANCES, Relevance
from cutline.sequence import SEQUENCES, TestingOrder
from cutline.sets import RULES, SetRule, Threshold

if TYPE_CHECKING:
    from cutline.queries import Queries
    from cutline.slates import Slates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MANY = 100  # items from which on it is odd that all or none are kept
EXPECTED = 50  # items of which it is odd that less than a tenth are there


@dataclass(frozen=True, slots=True)
class Fit:
    """How lists that were cut compare with those that were calibrated: how many there are, how many of lengths that
    calibration never saw, their items, and how many of these are kept."""

    lists: int = 0
    outside: int = 0
    items: int = 0
    kept: int = 0

    def __add__(self, other: Fit) -> Fit:
        return Fit(
            self.lists + other.lists, self.outside + other.outside, self.items + other.items, self.kept + other.kept
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """What certificates and abstentions have in common: the settings, and what the calibration queries showed.

    The figures are those at the certified threshold, or for an abstention at the first threshold of the walk.
    """

    alpha: float
    delta: float
    n_queries: int
    n_items: int
    loss: Loss
    scoring: Scoring
    sets: SetRule
    evidence: Evidence
    sequence: TestingOrder
    seed: int
    sample: int
    thresholds: Mapping[str, Any] | str
    tested: int
    risk: float
    log_evidence: float
    share_nonempty: float
    mean_size: float
    risk_given_nonempty: float | None
    item_rate: float | None
    list_lengths: ListLengths
    curve: CurvePoints
    calibration_fingerprint: str
    vector_width: int | None = None
    cutline: str = __version__
    schema: int = SCHEMA

    @property
    def threshold(self) -> float:
        """The threshold to cut at."""
        raise NotImplementedError

    @property
    def abstention(self) -> Refusal | None:
        """Why nothing was certified, where nothing was."""
        return None

    @property
    def asymptotic(self) -> bool:
        """Whether the evidence holds only in the limit of many queries."""
        return self.evidence.asymptotic

    @property
    def seal(self) -> str:
        """SHA-256 of everything else."""
        return seal_of(self._record())

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, by their seals."""
        if not isinstance(other, Findings):
            return NotImplemented
        return self is other or (type(self) is type(other) and self.seal == other.seal)

    def __hash__(self) -> int:
        return hash(self.seal)

    def apply(self, queries: Queries) -> Slates:
        """Cut the lists of new queries, with the same scoring, rule and comparison as when calibrating."""
        slates = self.cut(queries)
        if self.abstention is not None:
            kept = "empty" if self.threshold > 0 else "full"
            warn(f"nothing was certified: every list comes out {kept}; see statement()")
        return slates

    def cut(self, queries: Queries) -> Slates:
        """The same, for those who know whether anything was certified."""
        check_is_queries(queries)
        slates = self.cut_quietly(queries)
        self.tell(Fit(len(queries), self.outside(queries), queries.n_items, len(slates.order)))
        return slates

    def cut_quietly(self, queries: Queries, scores: Floats | None = None) -> Slates:
        """The same without warnings, which of chunks are told once, by `tell`. `scores` are those of its scoring, where
        they are at hand."""
        from cutline.slates import Slates

        threshold = self._usable_threshold()
        check_vectors(queries, self.sets)
        self._check_width(queries.vectors)
        scores = scores_of(queries, self.scoring) if scores is None else scores
        chosen, order = cut_all(self.sets, scores, queries.offsets, queries.vectors, threshold, queries.vector_rows)
        return Slates(queries=queries, chosen=chosen, order=order)

    def outside(self, queries: Queries) -> int:
        """How many lists are shorter or longer than those that were calibrated, where scores depend on the length."""
        sizes = np.diff(queries.offsets)
        shortest, longest = self.list_lengths.min, self.list_lengths.max
        if not getattr(self.scoring, "depends_on_length", True):
            return 0
        return int(np.count_nonzero((sizes < shortest) | (sizes > longest)))

    def tell(self, fit: Fit) -> None:
        """Warn where lists that were cut are unlike those that were calibrated."""
        self._warn_of_lengths(fit)
        self._warn_of_scale(fit)

    def choose(self, scores: npt.ArrayLike, vectors: npt.NDArray[Any] | None = None) -> Integers:
        """The positions to show of one query's items, best first. For serving: small, and without the warnings of
        `apply`."""
        try:
            outputs = np.asarray(scores)
        except (TypeError, ValueError):
            raise InputError(f"scores must be one finite number per item, got {shown(scores)}") from None
        if outputs.ndim != 1 or outputs.dtype.kind not in "biuf":
            raise InputError(f"scores must be one finite number per item, got {shown(scores)}; pass those of one query")
        outputs = np.ascontiguousarray(outputs, dtype=np.float64)
        if not np.isfinite(outputs).all():
            place = int(np.flatnonzero(~np.isfinite(outputs))[0])
            raise InputError(f"scores must be finite, got {float(outputs[place])!r} at position {place}")
        threshold = self._usable_threshold()
        if not len(outputs):
            return np.empty(0, np.int64)
        if self.sets.needs_vectors and vectors is None:
            raise InputError(f"vectors are wanted, as {self.sets.name} needs them")
        if vectors is not None:
            vectors = vectors_of(vectors, len(outputs))
            for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1))[:1]:
                raise InputError(f"vectors must be finite, got NaN or infinity for the item at position {int(row)}")
            self._check_width(vectors)
        if type(self.scoring) is not AsGiven:
            outputs = item_scores(self.scoring, outputs, np.array([0, len(outputs)]))
        if type(self.sets) is Threshold:
            return self.sets.choose(outputs, vectors, threshold)
        return chosen_rows(self.sets, outputs, vectors, threshold)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as sealed JSON, whole or not at all. The same certificate always gives the same bytes."""
        write_whole(path, write_record(self._record()))

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, as the file has it."""
        return content_of(self._record())

    def _check_width(self, vectors: npt.NDArray[Any] | None) -> None:
        """Vectors of another model are of another width, if one is lucky."""
        if vectors is not None and self.vector_width not in (None, vectors.shape[1]):
            raise InputError(
                f"vectors must hold {self.vector_width} numbers each, as those that were calibrated, got "
                f"{vectors.shape[1]}; are they of the same model?"
            )

    def _warn_of_lengths(self, fit: Fit) -> None:
        """Win rates meet list lengths that calibration never saw: there a threshold means something else."""
        if fit.outside:
            warn(
                f"{fit.outside:,} of {fit.lists:,} lists have lengths outside {self.list_lengths.min} to "
                f"{self.list_lengths.max}, those seen in calibration; {self.scoring.name} scores depend on the length, "
                "so the promise may not carry over"
            )

    def _warn_of_scale(self, fit: Fit) -> None:
        """Far more or far fewer of many items are kept than calibration kept: the scores may be on another scale."""
        if self.abstention is not None or fit.items < MANY:
            return
        share, came = self.mean_size * self.n_queries / self.n_items, fit.kept / fit.items
        if 0.05 < share < 0.95 and came in (0, 1):
            kept = f"{'every' if came else 'no'} item of these lists is kept"
        elif self._far_below(fit, fit.kept, self.mean_size) or self._far_below(
            fit, fit.items - fit.kept, self.n_items / self.n_queries - self.mean_size
        ):
            kept = f"{statements.percent(came)} of the items of these lists are kept"
        else:
            return
        warn(
            f"{kept}, and {statements.percent(share)} were in calibration: are the scores on the scale of those that "
            "were calibrated?"
        )

    def _far_below(self, fit: Fit, count: int, mean: float) -> bool:
        """Whether fewer than a tenth are there of so many items a list, by lists and by items: new lists may be longer
        or shorter. Only where many were to be expected."""
        expected = min(mean * fit.lists, mean * self.n_queries / self.n_items * fit.items)
        return expected >= EXPECTED and 10 * count < expected

    def _usable_threshold(self) -> float:
        return self.threshold

    def _record(self) -> Record:
        relevance = self.loss.relevance
        return Record(
            schema=self.schema, cutline=self.cutline, alpha=self.alpha, delta=self.delta,
            threshold=None if self.abstention else self.threshold, n_queries=self.n_queries, n_items=self.n_items,
            loss=_named(self.loss, LOSSES, self.loss.settings()),
            relevance=_named(relevance, RELEVANCES, relevance.settings()), unjudged=relevance.unjudged,
            scoring=_named(self.scoring, SCORINGS, self.scoring.settings()),
            sets=_named(self.sets, RULES, self.sets.settings()),
            evidence=_named(self.evidence, EVIDENCE, self.evidence.settings()),
            sequence=_named(self.sequence, SEQUENCES, self.sequence.settings()), seed=self.seed, sample=self.sample,
            thresholds=self.thresholds if isinstance(self.thresholds, str) else dict(self.thresholds),
            tested=self.tested, risk=self.risk, log_evidence=self.log_evidence, asymptotic=self.asymptotic,
            share_nonempty=self.share_nonempty, mean_size=self.mean_size,
            risk_given_nonempty=self.risk_given_nonempty, item_rate=self.item_rate, list_lengths=self.list_lengths,
            curve=self.curve, calibration_fingerprint=self.calibration_fingerprint,
            vector_width=self.vector_width, abstention=self.abstention,
        )  # fmt: skip

    def _rows(self) -> list[tuple[str, object]]:
        given = self.risk_given_nonempty
        bar = f", {-math.log(self.delta):.3g} certifies" if self.sequence.name == "fixed" else ""
        drew = f" ({self.sample:,} more queries drew the thresholds)" if self.sample else ""
        return [
            (
                "risk on calibration",
                f"{self.risk:.4f}  (log evidence {self.log_evidence:.3g}{bar})",
            ),
            ("mean list size", f"{self.mean_size:.2f}  ({statements.percent(self.share_nonempty)} of lists non-empty)"),
            ("risk of non-empty lists", "n/a" if given is None else f"{given:.4f}"),
            ("pooled item rate", "n/a" if self.item_rate is None else f"{self.item_rate:.4f}"),
            ("good", statements.goodness(self.loss.relevance) + f", unjudged {self.loss.relevance.unjudged}"),
            ("calibrated on", f"{self.n_queries:,} queries, {self.n_items:,} items{drew}"),
            ("thresholds tested", f"{self.tested:,}{self._of_how_many()}"),
            ("by", ", ".join(_spoken(piece.settings()) for piece in (self.evidence, self.scoring, self.sets))),
        ]

    def _of_how_many(self) -> str:
        by = "" if self.sequence.name == "fixed" else f", by {self.sequence.name}"
        if isinstance(self.thresholds, str):
            return by
        count = int(self.thresholds.get("count", len(self.thresholds.get("values", ()))))
        return f" of {count:,}{by}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Certificate(Findings):
    """A threshold, and the promise that goes with it: read `statement()` for what is promised and what is not."""

    certified_threshold: float

    @property
    def threshold(self) -> float:
        """λ̂: keep items scoring at least this much. Where scoring is not as given, or sizes are bounded, a comparison
        of raw scores with it cuts other lists: use `apply` or `choose`."""
        return self.certified_threshold

    def statement(self) -> str:
        """The promise in words, and what is not promised."""
        return statements.certified(self)

    def _title(self) -> str:
        name = "Certificate (approximate only)" if self.asymptotic else "Certificate"
        kept = statements.what_is_kept(self).removesuffix(".")
        risk = f"{self.loss.name} risk ≤ {statements.number(self.alpha)}"
        empty = ""
        if statements.emptiness(self.share_nonempty, self.risk_given_nonempty, self.loss.name):
            share = statements.percent(1 - self.share_nonempty)
            empty = f"; {share} OF LISTS ARE EMPTY" if self.share_nonempty else "; EVERY LIST IS EMPTY"
        return f"{name}: {kept[0].lower()}{kept[1:]}; {risk} with confidence {statements.confidence(self.delta)}{empty}"

    def __repr__(self) -> str:
        return text_table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Abstention(Findings):
    """Nothing was certified. An untested threshold is no answer, so this cuts lists only where that is honest."""

    refusal: Refusal

    @property
    def threshold(self) -> float:
        """+∞ (return nothing), or -∞ (return everything) for a loss whose safe end is the low one."""
        return math.inf if self.loss.safe_end == "high" else -math.inf

    @property
    def abstention(self) -> Refusal | None:
        """Why nothing was certified, and what would help."""
        return self.refusal

    @property
    def honest(self) -> bool:
        """Whether empty lists (FalseDiscovery without a minimum size) or full ones (unrestricted Miss) cost
        nothing."""
        least = getattr(self.sets, "min_size", 0)
        if type(self.loss) is FalseDiscovery:  # a rule of one's own may return something at any threshold
            return type(self.sets) in RULES.values() and least == 0
        return type(self.loss) is Miss and self.sets == Threshold(min_size=least)

    def statement(self) -> str:
        """What to do, why nothing was certified, and what would help."""
        kept = "return nothing" if self.loss.safe_end == "high" else "return everything"
        refusal = self.refusal
        return statements.abstained(
            self, answer=kept if self.honest else "do not cut lists with it", reason=refusal.reason,
            smallest_alpha=refusal.smallest_alpha, needed=refusal.queries_needed,
        )  # fmt: skip

    def _usable_threshold(self) -> float:
        if not self.honest:
            raise CannotApplyError(
                f"nothing was certified, and with {self.loss.name} and {_spoken(self.sets.settings())} neither empty "
                f"nor full lists keep the promise; see statement() for what would help"
            )
        return self.threshold

    def _title(self) -> str:
        risk = f"{self.loss.name} risk ≤ {statements.number(self.alpha)}"
        return f"Abstention: nothing certified for {risk}. {self.refusal.reason}"

    def _helps(self) -> list[tuple[str, object]]:
        smallest, needed = self.refusal.smallest_alpha, self.refusal.queries_needed
        covered = "n/a" if smallest is None else f"{statements.upwards(smallest)} (no guarantee covers it)"
        return [("smallest alpha", covered), ("queries needed", "n/a" if needed is None else f"about {needed:,}")]

    def __repr__(self) -> str:
        return text_table(self._title(), [*self._helps(), *self._rows()])

    def _repr_html_(self) -> str:
        return html_table(self._title(), [*self._helps(), *self._rows()])


def load(
    path: str | PathLike[str],
    *,
    loss: Loss | None = None,
    scoring: Scoring | None = None,
    sets: SetRule | None = None,
    evidence: Evidence | None = None,
    sequence: TestingOrder | None = None,
) -> Certificate | Abstention:
    """Read a certificate or an abstention. Nothing in the file is executed: pieces of your own are passed in
    again."""
    source = shortened(path)
    try:
        text = Path(path).read_bytes()
    except TypeError:
        raise InputError(f"path must be the path of a certificate, got {shown(path)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CertificateError(f"{source}: cannot be read ({reason}); check the path") from None
    record = read_record(text, source=source)
    found = _Pieces(source)
    relevance = found.relevance(record.relevance, record.unjudged, loss)
    common: dict[str, Any] = {name: getattr(record, name) for name in record.__struct_fields__}
    for name in ("threshold", "relevance", "unjudged", "asymptotic", "abstention"):
        del common[name]
    common |= {
        "loss": found.piece("loss", record.loss, loss, LOSSES, {"relevance": relevance}),
        "scoring": found.piece("scoring", record.scoring, scoring, SCORINGS),
        "sets": found.piece("sets", record.sets, sets, RULES),
        "evidence": found.piece("evidence", record.evidence, evidence, EVIDENCE),
        "sequence": found.piece("sequence", record.sequence, sequence, SEQUENCES),
    }
    if record.abstention is not None:
        return Abstention(**common, refusal=record.abstention)
    if record.threshold is None:
        raise CertificateError(f"{source} has neither a threshold nor the reasons for an abstention; calibrate again")
    return Certificate(**common, certified_threshold=record.threshold)


@dataclass(frozen=True, slots=True)
class _Pieces:
    source: str

    def relevance(self, settings: dict[str, Any], unjudged: str, loss: Any) -> Relevance:
        """The relevance that a record describes; that of the loss given, if it is the same."""
        given: Any = None if isinstance(loss, type) else getattr(loss, "relevance", None)
        if given is not None and given.unjudged != unjudged:
            raise CertificateError(
                f"{self.source} was made with unjudged={unjudged!r}, got {given.unjudged!r}; pass the same loss"
            )
        return self.piece("relevance", settings, given, RELEVANCES, {"unjudged": unjudged})

    def piece(
        self,
        role: str,
        settings: dict[str, Any],
        given: Any,
        known: Mapping[str, Any],
        extra: dict[str, Any] | None = None,
    ) -> Any:
        """The object a record describes: built from its settings, or the one given, if that has the same settings."""
        own = bool(settings.get("custom"))
        name = str(settings.get("name"))
        if given is not None:
            if isinstance(given, type) or not hasattr(given, "name") or not hasattr(given, "settings"):
                raise InputError(f"{role} must be an object as it was passed to calibrate, got {shown(given)}")
            its = given.settings()
            if as_written(_named(given, known, its)) != settings:
                raise CertificateError(
                    f"{self.source} was made with {role} {_spoken(settings)}, got {_spoken(its)}; pass the same one"
                )
            return given
        if own or name not in known:
            where = "loss" if role == "relevance" else role
            raise CertificateError(
                f"{self.source} was made with {role} {name!r}, which a file cannot give; "
                f"pass it again: load(path, {where}=…)"
            )
        rest = {key: _thawed(value) for key, value in settings.items() if key != "name"}
        try:
            return known[name](**rest, **(extra or {}))
        except (TypeError, InputError) as problem:
            raise CertificateError(
                f"{self.source} has {role} {_spoken(settings)}, which this cutline cannot build: {problem}"
            ) from None


def _named(piece: Any, known: Mapping[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    return settings if type(piece) is known.get(piece.name) else {**settings, "name": piece.name, "custom": True}


def _thawed(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def _spoken(settings: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{key}={value}" for key, value in settings.items() if key != "name" and value not in (None, 0))
    name = str(settings.get("name"))
    return f"{name}({rest})" if rest else name
