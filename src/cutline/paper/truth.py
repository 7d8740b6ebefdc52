"""New lists of a simulated world, scored by a network that was trained on its features: as many as one likes.

The network sees the d features of an item through the 16 sums of its first layer alone. Feature j of an item of quality
q is w_j·q + sqrt(1 - w_j²)·N(0, 1), so that, given q, these sums are jointly normal:

    Wᵀ((x - m)·v) + b = q·Wᵀ(w·v) + (b - Wᵀ(m·v)) + C^½·N(0, I),   C = Wᵀ·diag(v²(1 - w²))·W

Drawing them in place of the features changes nothing but the time that it takes: 16 numbers an item, not 700.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

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
from cutline.rankers.network import Network
from cutline.sets import SetRule

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

AT_ONCE = 400_000  # items drawn together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """New queries of a world with the outputs of a network."""

    world: Simulator
    folded: Network

    @classmethod
    def of(cls, world: Simulator, network: Network) -> Stream:
        """The world that the features of a network were drawn from."""
        return cls(world=world, folded=folded(network))

    def draw(self, n_queries: int, *, rng: np.random.Generator) -> Queries:
        """Labels, vectors where the world has them, and outputs as scores."""
        drawn = self.world.collection(n_queries, rng=rng, ids=False, on_the_fly=True)
        quality = cast(SimulatedFeatures, drawn.features).quality
        inputs = np.empty((len(quality), len(self.folded.mean)), np.float32)
        inputs[:, 0] = quality
        inputs[:, 1:] = rng.standard_normal((len(quality), inputs.shape[1] - 1), dtype=np.float32)
        return replace(drawn.queries, scores=self.folded.outputs(inputs), columns={})


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
    rng = np.random.default_rng([seed, 2])
    curve = RiskCurve.empty(loss=loss, scoring=scoring, sets=sets, thresholds=thresholds)
    step = max(1, AT_ONCE // stream.world.lengths[1])
    for start in range(0, n_queries, step):
        curve = curve.add(stream.draw(min(step, n_queries - start), rng=rng))
    totals, squares = moments(curve.sums)
    means = totals / n_queries
    variance = np.maximum(squares / n_queries - means**2, 0.0)
    return Truth(
        n_queries=n_queries, risk=curve.sums[:, 0] / np.float64(unit_losses(n_queries)),
        error=np.sqrt(variance / n_queries), mean_size=curve.mean_size,
    )  # fmt: skip


def fresh_places(
    stream: Stream, *, evidences: Mapping[str, Evidence], loss: Loss, scoring: Scoring, sets: SetRule,
    thresholds: Floats, n_calibration: int, repeats: int, alpha: float, delta: float, seed: int,
) -> dict[str, Integers]:  # fmt: skip
    """Where calibrations end whose queries are new each time, one for each kind of evidence."""
    rng = np.random.default_rng([seed, 3])
    rows = np.arange(n_calibration)
    places = {name: np.full(repeats, ABSTAINED, np.int64) for name in evidences}
    for number in range(repeats):
        table = LossTable.of(
            stream.draw(n_calibration, rng=rng), loss=loss, scoring=scoring, sets=sets, thresholds=thresholds
        )
        for name, evidence in evidences.items():
            place = table.place(rows, evidence=evidence, alpha=alpha, delta=delta, seed=seed + number)
            places[name][number] = ABSTAINED if place is None else place
    return places
