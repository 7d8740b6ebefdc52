"""Simulated judged queries, and the true risk of cutting them at any threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, check_piece, check_whole, generator_of
from cutline._display import html_table, shown, text_table
from cutline.datasets._truth import has_integral, integral
from cutline.datasets.collection import Collection
from cutline.datasets.drawn_features import SimulatedFeatures, drawn_vectors
from cutline.errors import InputError
from cutline.losses import FalseDiscovery, Loss, Miss
from cutline.preferences import AsGiven, Scoring
from cutline.queries import Queries
from cutline.sets import SetRule, Threshold

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Number = TypeVar("Number", float, Floats)

DEVICES = ("phone", "desktop", "tablet")
DEVICE_SHARES = (0.55, 0.35, 0.10)
_CHUNK = 25_000  # queries simulated at a time


@dataclass(frozen=True, slots=True, eq=False)
class TrueRisk(Generic[Number]):
    """The expected loss of a new query, and the standard error of this figure: 0 where an integral gave it."""

    value: Number
    standard_error: Number

    def __repr__(self) -> str:
        return text_table("TrueRisk", self._rows())

    def _repr_html_(self) -> str:
        return html_table("TrueRisk", self._rows())

    def _rows(self) -> list[tuple[str, object]]:
        shown = {"value": self.value, "standard error": self.standard_error}
        return [(name, np.array2string(np.asarray(value), precision=6, threshold=8)) for name, value in shown.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulator:
    """A world that queries can be drawn from, one independently of the other and all by the same law.

    Each query has a length K, uniform on the whole numbers from n_items[0] to n_items[1] (or n_items itself), an effect
    h ~ N(0, query_effect²), easy queries having the higher h, and an effect v ~ N(0, 1). Each of its items has

        z = h + N(0, 1)                                                     its quality
        label = how many of the four cut points of z are at most z          0 to 4, with the given `label_shares`
        f = signal·z + sqrt(1 - signal²)·N(0, 1) + score_shift·v            what the ranker makes of it
        score = 1 / (1 + exp(-(score_scale·f + score_offset)))

    and loses its label with probability `share_unjudged`. All draws are independent. The device of a query depends on
    nothing. With `vectors`, items have vectors of that many numbers, on five themes a query, which depend on nothing
    either. With `features`, `collection` draws that many features too, as `SimulatedFeatures` says: what a ranker of
    one's own can learn from. Neither changes any other draw. Queries like these follow the model exactly, which real
    ones do not: they show that a method does what it says, not how well it will do on yours.
    """

    n_items: int | tuple[int, int] = (5, 40)
    query_effect: float = 0.6
    signal: float = 0.85
    score_shift: float = 0.2
    label_shares: tuple[float, float, float, float, float] = (0.25, 0.28, 0.20, 0.16, 0.11)
    share_unjudged: float = 0.0
    score_scale: float = 1.5
    score_offset: float = 0.0
    features: int = 0
    vectors: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_items", _checked_lengths(self.n_items))
        object.__setattr__(self, "label_shares", _checked_shares(self.label_shares))
        for name in ("query_effect", "signal", "score_shift", "share_unjudged", "score_scale", "score_offset"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        for name in ("query_effect", "score_shift"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is a standard deviation: it must be at least 0, got {getattr(self, name)!r}")
        for name in ("signal", "share_unjudged"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} must be in [0, 1), got {getattr(self, name)!r}")
        for name in ("features", "vectors"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=0))
        if self.score_scale <= 0:
            raise InputError(f"score_scale must be above 0, got {self.score_scale!r}; a higher f is a higher score")

    @property
    def cut_points(self) -> Floats:
        """The values of z at which the label rises by one."""
        from scipy.special import ndtri

        below = np.cumsum(self.label_shares)[:-1] / math.fsum(self.label_shares)
        return math.hypot(1.0, self.query_effect) * ndtri(np.minimum(below, 1.0))

    def draw(self, n_queries: int, *, rng: int | np.random.Generator, ids: bool = True) -> Queries:
        """Queries of this world. `ids=False` leaves out all ids, which are most of the work for a million queries."""
        return self._drawn(n_queries, rng, ids=ids)[0]

    def collection(
        self, n_queries: int, *, rng: int | np.random.Generator, ids: bool = True, on_the_fly: bool = False
    ) -> Collection:
        """Queries of this world with their features: a float32 array, or rows made when they are asked for. The scores
        are those of the simulator, whose true risk is known."""
        if not self.features:
            raise InputError("features must be at least 1 for a collection, got 0; say how many, or draw without them")
        queries, features = self._drawn(n_queries, rng, ids=ids)
        return Collection(
            name="simulated", source="drawn by cutline.datasets.Simulator", licence="none needed: nothing was measured",
            queries=queries, features=features if on_the_fly else np.asarray(features),
        )  # fmt: skip

    def _drawn(
        self, n_queries: int, rng: int | np.random.Generator, *, ids: bool
    ) -> tuple[Queries, SimulatedFeatures | None]:
        """What was there first is drawn first, for the same seed to give the same queries with features or without."""
        n_queries, generator = check_whole("n_queries", n_queries, least=1), generator_of(rng)
        low, high = self.lengths
        sizes = generator.integers(low, high, size=n_queries, endpoint=True)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        labels, scores, quality = self._items(generator, sizes)
        devices = np.array(DEVICES, dtype=object)[generator.choice(len(DEVICES), size=n_queries, p=DEVICE_SHARES)]
        if self.share_unjudged > 0:
            labels[generator.random(len(labels)) < self.share_unjudged] = np.nan
        query_ids, item_ids = _ids(sizes) if ids else (None, None)
        vectors = drawn_vectors(offsets, self.vectors, generator) if self.vectors else None
        queries = Queries(scores, offsets, labels, vectors, query_ids, item_ids, {"device": devices})
        if not self.features:
            return queries, None
        return queries, SimulatedFeatures(
            quality=quality / math.hypot(1.0, self.query_effect), offsets=offsets, width=self.features,
            seed=int(generator.integers(2**63)), numbers=np.arange(n_queries),
        )  # fmt: skip

    @overload
    def true_risk(
        self,
        threshold: float,
        *,
        loss: Loss,
        scoring: Scoring | None = None,
        sets: SetRule | None = None,
        queries: int = 1_000_000,
        rng: int | np.random.Generator = 0,
    ) -> TrueRisk[float]: ...
    @overload
    def true_risk(
        self,
        threshold: npt.NDArray[Any] | list[float],
        *,
        loss: Loss,
        scoring: Scoring | None = None,
        sets: SetRule | None = None,
        queries: int = 1_000_000,
        rng: int | np.random.Generator = 0,
    ) -> TrueRisk[Floats]: ...
    def true_risk(
        self,
        threshold: float | npt.NDArray[Any] | list[float],
        *,
        loss: Loss,
        scoring: Scoring | None = None,
        sets: SetRule | None = None,
        queries: int = 1_000_000,
        rng: int | np.random.Generator = 0,
    ) -> TrueRisk[float] | TrueRisk[Floats]:
        """R(λ) = E L(λ) for a new query, at one threshold or at each of several.

        An integral, right to about 1e-9 and with standard error 0, for FalseDiscovery and Miss with Grade, scores as
        given and the plain Threshold(), where no label is missing or unjudged items count as bad, and the signal is
        at most 0.99. Given its effects,
        the items of a query are independent; with q the chance that an item is chosen, β that a chosen one is bad, p
        that one is good and g that a good one is chosen, E[L | effects, K] is β(1 - (1-q)^K) for FalseDiscovery and
        (1-g)(1 - (1-p)^K) for Miss.
        Everything else is the mean over that many simulated `queries`, the same ones for each threshold.
        """
        scoring, sets = AsGiven() if scoring is None else scoring, Threshold() if sets is None else sets
        check_piece("loss", loss, Loss, "cl.FalseDiscovery(cl.Grade(at_least=3))")
        check_piece("scoring", scoring, Scoring, "cl.AsGiven() or cl.WinRate()")
        check_piece("sets", sets, SetRule, "cl.Threshold()")
        thresholds = _checked_thresholds(threshold)
        n_queries, generator = check_whole("queries", queries, least=2), generator_of(rng)
        if has_integral(self, loss, scoring, sets):
            known = cast("FalseDiscovery | Miss", loss)
            values = np.array([integral(self, each, known) for each in thresholds.tolist()])
            errors = np.zeros(len(thresholds))
        else:
            values, errors = self._sampled(thresholds, loss, scoring, sets, n_queries, generator)
        if np.ndim(threshold) == 0:
            return TrueRisk(float(values[0]), float(errors[0]))
        return TrueRisk(values, errors)

    @property
    def lengths(self) -> tuple[int, int]:
        """The shortest and the longest list."""
        return self.n_items if isinstance(self.n_items, tuple) else (self.n_items, self.n_items)

    def _items(self, generator: np.random.Generator, sizes: Integers) -> tuple[Floats, Floats, Floats]:
        """Labels, scores and qualities of all items, worked out in place: there may be tens of millions."""
        from scipy.special import expit

        hardness = self.query_effect * generator.standard_normal(len(sizes))
        shift = self.score_shift * generator.standard_normal(len(sizes))
        quality = generator.standard_normal(int(sizes.sum()))
        quality += np.repeat(hardness, sizes)
        scores = generator.standard_normal(len(quality))
        scores *= math.sqrt(1.0 - self.signal**2)
        scores += self.signal * quality
        scores += np.repeat(shift, sizes)
        scores *= self.score_scale
        scores += self.score_offset
        expit(scores, out=scores)
        np.clip(scores, np.finfo(np.float64).tiny, 1.0 - 2.0**-53, out=scores)
        labels = np.zeros(len(quality))
        for cut in self.cut_points:
            labels += quality >= cut
        return labels, scores, quality

    def _sampled(
        self,
        thresholds: Floats,
        loss: Loss,
        scoring: Scoring,
        sets: SetRule,
        n_queries: int,
        generator: np.random.Generator,
    ) -> tuple[Floats, Floats]:
        """Means of simulated losses, straight from their definition, and the standard errors of these means."""
        from cutline.cutting import badness_of, cut_all

        sums, squares = np.zeros(len(thresholds)), np.zeros(len(thresholds))
        for start in range(0, n_queries, _CHUNK):
            queries = self.draw(min(_CHUNK, n_queries - start), rng=generator, ids=False)
            scores = scoring.item_scores(queries.scores, queries.offsets)
            badness = badness_of(queries, loss.relevance).shares()
            for place, threshold in enumerate(thresholds.tolist()):
                chosen, _ = cut_all(sets, scores, queries.offsets, queries.vectors, threshold)
                losses = loss.of_lists(chosen, badness, queries.offsets)
                sums[place] += losses.sum()
                squares[place] += losses @ losses
        means = sums / n_queries
        variances = np.maximum(squares - sums * means, 0.0) / (n_queries - 1)
        return means, np.sqrt(variances / n_queries)


def _ids(sizes: Integers) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    names = [f"q{number:06d}" for number in range(1, len(sizes) + 1)]
    places = [f"-d{place:02d}" for place in range(1, int(sizes.max()) + 1)]
    items = [name + place for name, size in zip(names, sizes.tolist(), strict=True) for place in places[:size]]
    return np.array(names, dtype=object), np.array(items, dtype=object)


def _checked_lengths(n_items: object) -> int | tuple[int, int]:
    came: object = n_items
    if not isinstance(n_items, tuple | list):
        return check_whole("n_items", cast("int", n_items), least=1)
    ends = [check_whole("n_items", end, least=1) for end in cast("tuple[int, ...]", n_items)]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise InputError(
            f"n_items must be a length, or the shortest and the longest such as (5, 40), got {shown(came)}"
        )
    return ends[0], ends[1]


def _checked_shares(shares: object) -> tuple[float, ...]:
    came: object = shares
    given = cast("tuple[float, ...]", shares) if isinstance(shares, tuple | list | np.ndarray) else ()
    listed = [check_number("label_shares", share) for share in given]
    if len(listed) != 5 or min(listed) < 0 or abs(math.fsum(listed) - 1.0) > 1e-9:
        raise InputError(f"label_shares must be five shares of the labels 0 to 4 that sum to 1, got {shown(came)}")
    return tuple(listed)


def _checked_thresholds(threshold: object) -> Floats:
    try:
        thresholds = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"threshold must be a number or an array of numbers, got {shown(threshold)}") from None
    if thresholds.ndim != 1 or bool(np.isnan(thresholds).any()):
        raise InputError(f"threshold must be a number or a flat array of numbers without NaN, got {shown(threshold)}")
    return thresholds
