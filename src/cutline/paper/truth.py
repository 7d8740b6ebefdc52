"""New lists of a simulated world, scored by a network that was trained on its features: as many as one likes.

The network sees the d features of an item through the 16 sums of its first layer alone. Feature j of an item of quality
q is w_j·q + sqrt(1 - w_j²)·N(0, 1), so that, given q, these sums are jointly normal:

    Wᵀ((x - m)·v) + b = q·Wᵀ(w·v) + (b - Wᵀ(m·v)) + C^½·N(0, I),   C = Wᵀ·diag(v²(1 - w²))·W

Drawing them in place of the features changes nothing but the time that it takes: 16 numbers an item, not 700.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline.curve import RiskCurve
from cutline.cutting import unit_losses
from cutline.datasets import SimulatedFeatures, Simulator
from cutline.datasets.drawn_features import STRONGEST
from cutline.evidence import Evidence
from cutline.judging import moments
from cutline.losses import Loss
from cutline.paper.splits import ABSTAINED
from cutline.paper.tables import LossTable
from cutline.preferences import Scoring
from cutline.queries import Queries
from cutline.rankers.network import Network
from cutline.sets import SetRule

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

AT_ONCE = 400_000  # items drawn together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """New queries of a world with the outputs of a network. What was drawn in chunks without vectors is kept, for the
    next experiment to look at."""

    world: Simulator
    layers: tuple[tuple[Singles, Singles], ...]
    kept: dict[tuple[int, ...], list[Queries]] = field(default_factory=dict[tuple[int, ...], list[Queries]])

    @classmethod
    def of(cls, world: Simulator, network: Network) -> Stream:
        """The world that the features of a network were drawn from."""
        inner = folded(network)
        layers = zip(inner.weights, inner.biases, strict=True)
        return cls(world=world, layers=tuple((w.astype(np.float32), b.astype(np.float32)) for w, b in layers))

    def without_vectors(self) -> Stream:
        """The same for rules that look at scores alone: less to draw."""
        return replace(self, world=replace(self.world, vectors=0), kept={})

    def draw(self, n_queries: int, *, rng: np.random.Generator) -> Queries:
        """Labels, vectors where the world has them, and outputs as scores."""
        drawn = self.world.collection(n_queries, rng=rng, ids=False, on_the_fly=True)
        quality = cast(SimulatedFeatures, drawn.features).quality
        values = np.empty((len(quality), len(self.layers[0][0])), np.float32)
        values[:, 0] = quality
        values[:, 1:] = rng.standard_normal((len(quality), values.shape[1] - 1), dtype=np.float32)
        for place, (weights, biases) in enumerate(self.layers):
            values = (values if place == 0 else np.maximum(values, 0.0, out=values)) @ weights
            values += biases
        return replace(drawn.queries, scores=values[:, 0].astype(np.float64), columns={})

    def chunks(self, n_queries: int, *, of: int, seed: tuple[int, ...]) -> Iterator[Queries]:
        """So many queries, `of` at a time and the rest."""
        key = (n_queries, of, *seed)
        if key in self.kept:
            yield from self.kept[key]
            return
        rng, drawn = np.random.default_rng(seed), list[Queries]()
        for start in range(0, n_queries, of):
            chunk = self.draw(min(of, n_queries - start), rng=rng)
            if not self.world.vectors:
                drawn.append(chunk)
            yield chunk
        if not self.world.vectors:
            self.kept[key] = drawn


def folded(network: Network) -> Network:
    """The network with another first layer: its inputs are the quality of an item and one normal number a unit."""
    weights = network.weights[0].astype(np.float64)
    shares = STRONGEST / np.sqrt(np.arange(1, len(network.mean) + 1))
    scaled = weights * network.inverse[:, np.newaxis]
    spread = scaled.T @ (scaled * (1.0 - shares**2)[:, np.newaxis])
    values, directions = np.linalg.eigh(spread)
    root = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * directions.T
    first = np.concatenate([(shares @ scaled)[np.newaxis], root])
    constant = network.biases[0].astype(np.float64) - network.mean @ scaled
    plain: Any = {"mean": np.zeros(len(first)), "inverse": np.ones(len(first))}
    return Network(
        weights=(cast(Any, first), *network.weights[1:]), biases=(cast(Any, constant), *network.biases[1:]), **plain
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """Risk and mean list size at each threshold of a walk, over so many new queries, and the standard error of the
    risk."""

    n_queries: int
    risk: Floats
    error: Floats
    mean_size: Floats

    def risks(self, places: Integers) -> Floats:
        """The risk at places on the walk; 0 where a calibration abstained and lists are empty."""
        return np.where(places == ABSTAINED, 0.0, self.risk[places])

    def sizes(self, places: Integers) -> Floats:
        """The mean list size there."""
        return np.where(places == ABSTAINED, 0.0, self.mean_size[places])


def truth_of(
    stream: Stream, *, loss: Loss, scoring: Scoring, sets: SetRule, thresholds: Floats, n_queries: int, seed: int
) -> Truth:
    """The risk of lists by a large sample of its own, which no calibration sees."""
    curve = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
    for chunk in stream.chunks(n_queries, of=max(1, AT_ONCE // stream.world.lengths[1]), seed=(seed, 2)):
        curve = curve.add(chunk)
    totals, squares = moments(curve.sums)
    means = totals / n_queries
    variance = np.maximum(squares / n_queries - means**2, 0.0)
    return Truth(
        n_queries=n_queries, risk=curve.sums[:, 0] / np.float64(unit_losses(n_queries)),
        error=np.sqrt(variance / n_queries), mean_size=curve.mean_size,
    )  # fmt: skip


def fresh_places(
    stream: Stream, *, evidences: Mapping[str, tuple[Evidence, int]], loss: Loss, scoring: Scoring, sets: SetRule,
    thresholds: Floats, n_calibration: int, repeats: int, alpha: float, delta: float, seed: int,
) -> dict[str, Integers]:  # fmt: skip
    """Where calibrations end whose queries are new each time, for each kind of evidence, which comes with the place
    that its walk begins at."""
    places = {name: np.full(repeats, ABSTAINED, np.int64) for name in evidences}
    together = max(1, AT_ONCE // (n_calibration * stream.world.lengths[1]))  # samples, which share no query
    number = 0
    for chunk in stream.chunks(repeats * n_calibration, of=together * n_calibration, seed=(seed, 3)):
        table = LossTable.of(chunk, loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
        for start in range(0, len(chunk), n_calibration):
            rows = np.arange(start, start + n_calibration)
            for name, (evidence, first) in evidences.items():
                place = table.place(rows, evidence=evidence, alpha=alpha, delta=delta, seed=seed + number, first=first)
                places[name][number] = ABSTAINED if place is None else place
            number += 1
    return places
