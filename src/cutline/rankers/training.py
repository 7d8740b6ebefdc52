"""Fitting the network: Adam on the gradient of LambdaRank, and the epoch that orders the validation queries best."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._extras import library
from cutline.errors import InputError, warn
from cutline.queries import Queries
from cutline.rankers.batches import batches, places_of, rows_of
from cutline.rankers.gain import gains_of, mean_ndcg
from cutline.rankers.lambdas import lambdas
from cutline.rankers.matrices import Floats, Integers, Matrix, blocks, inverse_of, moments
from cutline.rankers.network import Epoch, Network

Singles = npt.NDArray[np.float32]
Progress = Callable[[Epoch], object]

BETAS, EPSILON = (0.9, 0.999), 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a network is trained."""

    hidden: tuple[int, ...]
    epochs: int
    lr: float
    batch_queries: int
    truncation: int | None
    validation: float
    patience: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """The network of the best epoch, and how all of them went. `best` is 0 where there was nothing to learn."""

    network: Network
    history: tuple[Epoch, ...]
    best: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lists:
    """Some queries of a matrix of features: where their rows start, how many they are, and all labels."""

    features: Matrix
    labels: Floats
    starts: Integers
    sizes: Integers

    @classmethod
    def of(cls, features: Matrix, labels: Floats, queries: Queries, which: Integers) -> _Lists:
        return cls(features=features, labels=labels, starts=queries.offsets[:-1][which], sizes=queries.sizes[which])

    def rows(self, which: Integers) -> Integers:
        return rows_of(which, self.starts, self.sizes)


def trained(features: Matrix, labels: Floats, queries: Queries, recipe: Recipe, progress: Progress | None) -> Trained:
    """Train on checked arguments. The validation queries are drawn by query and give no gradient, nor a mean."""
    order = np.random.default_rng([abs(recipe.seed), 1]).permutation(len(queries))
    held_out, used = np.split(order, [_count_held_out(recipe.validation, len(queries))])
    keep = np.repeat(np.isin(np.arange(len(queries)), used), queries.sizes)
    mean, deviation = moments(features, keep)
    uneven = _uneven(labels, queries.offsets)
    lists = _Lists.of(features, labels, queries, np.sort(used[uneven[used]]))
    fit = _Fit(recipe, mean.astype(np.float32), inverse_of(deviation, mean).astype(np.float32))
    if not len(lists.sizes):
        warn("no training query has two items with different labels, so there is nothing to learn and all scores tie")
        return Trained(network=fit.network(fit.nothing()), history=(), best=0)
    with _one_thread(fit.torch):
        return fit.run(lists, _Lists.of(features, labels, queries, np.sort(held_out)), progress)


@contextmanager
def _one_thread(torch: Any) -> Generator[None]:
    """On several threads sums are added up in another order; and batches of a small network go no faster on them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _count_held_out(share: float, n_queries: int) -> int:
    """How many queries validate: at least one if any, and at least one stays."""
    return min(max(1, round(share * n_queries)), n_queries - 1) if share else 0


def _uneven(labels: Floats, offsets: Integers) -> npt.NDArray[np.bool_]:
    """Which queries have two different labels. The others have no gradient. Queries have at least one item."""
    return np.maximum.reduceat(labels, offsets[:-1]) > np.minimum.reduceat(labels, offsets[:-1])


class _Fit:
    """The state of one training: the layers as tensors, and Adam."""

    def __init__(self, recipe: Recipe, mean: Singles, inverse: Singles) -> None:
        self.torch = library("torch", extra="torch", what="LambdaRank.train")
        self.recipe, self.mean, self.inverse = recipe, mean, inverse
        self.shift, self.factor = self.torch.tensor(mean), self.torch.tensor(inverse)
        draws = self.torch.Generator().manual_seed(recipe.seed)
        sizes = (len(mean), *recipe.hidden, 1)
        self.layers: list[tuple[Any, Any]] = []
        for wide, narrow in pairwise(sizes):
            weights = self.torch.empty(wide, narrow)
            self.torch.nn.init.xavier_uniform_(weights, generator=draws)
            self.layers.append((weights.requires_grad_(), self.torch.zeros(narrow, requires_grad=True)))
        parameters = [parameter for layer in self.layers for parameter in layer]
        self.adam = self.torch.optim.Adam(parameters, lr=recipe.lr, betas=BETAS, eps=EPSILON)

    def run(self, lists: _Lists, held_out: _Lists, progress: Progress | None) -> Trained:
        """Epoch after epoch, until `patience` of them have not improved the validation NDCG."""
        rng = np.random.default_rng([abs(self.recipe.seed), 2])
        history: list[Epoch] = []
        best, kept, highest = 0, self.copies(), -np.inf
        for number in range(1, self.recipe.epochs + 1):
            cost = self.epoch(lists, rng)
            self.check_finite(number)
            reached = self.ndcg(held_out)
            history.append(Epoch(number, cost, reached))
            if progress is not None:
                progress(history[-1])
            if reached is None or reached > highest:
                best, kept, highest = number, self.copies(), -np.inf if reached is None else reached
            if number - best >= self.recipe.patience:
                break
        return Trained(network=self.network(kept), history=tuple(history), best=best)

    def check_finite(self, number: int) -> None:
        """Steps that are too long end in infinity."""
        if not all(bool(self.torch.isfinite(one).all()) for layer in self.layers for one in layer):
            raise InputError(
                f"training went out of bounds in epoch {number}, with lr={self.recipe.lr:g}; take a smaller lr, or "
                "look for features that are very large"
            )

    def epoch(self, lists: _Lists, rng: np.random.Generator) -> float:
        """One step for each batch; the mean cost of a query."""
        total = 0.0
        for batch in batches(lists.sizes, batch_queries=self.recipe.batch_queries, rng=rng):
            rows, lengths = lists.rows(batch), lists.sizes[batch]
            outputs = self.forward(lists.features, rows)
            slopes, cost = self.slopes(outputs.detach(), lists.labels[rows], lengths)
            self.adam.zero_grad()
            outputs.backward(slopes / len(batch))
            self.adam.step()
            total += cost
        return total / len(lists.sizes)

    def slopes(self, outputs: Any, labels: Floats, lengths: Integers) -> tuple[Any, float]:
        """The gradient of the cost by each output, and the cost, by way of padded lists."""
        torch = self.torch
        places = torch.from_numpy(places_of(lengths))
        shape = (len(lengths), int(lengths.max()))

        def padded(values: Any, fill: Any) -> Any:
            return torch.full((shape[0] * shape[1],), fill, dtype=values.dtype).scatter_(0, places, values).view(shape)

        gains = torch.from_numpy(gains_of(labels).astype(np.float32))
        present = padded(torch.ones(len(labels), dtype=torch.bool), fill=False)
        found, costs = lambdas(padded(outputs, 0.0), padded(gains, 0.0), present, truncation=self.recipe.truncation)
        return found.view(-1)[places], float(costs.sum())

    def forward(self, features: Matrix, rows: Integers) -> Any:
        """Outputs of these rows, with what their gradient needs."""
        values = self.torch.from_numpy(features[rows].astype(np.float32, copy=False))
        values.sub_(self.shift).mul_(self.factor)
        for place, (weights, biases) in enumerate(self.layers):
            values = self.torch.addmm(biases, values if place == 0 else values.relu(), weights)
        return values[:, 0]

    def ndcg(self, lists: _Lists) -> float | None:
        """NDCG of the validation queries; None where none has any gain."""
        if not len(lists.sizes):
            return None
        rows = lists.rows(np.arange(len(lists.sizes)))
        scores = np.empty(len(rows))
        with self.torch.no_grad():
            for some in blocks(len(rows), lists.features.shape[1]):
                scores[some] = self.forward(lists.features, rows[some]).numpy()
        offsets = np.concatenate(([0], np.cumsum(lists.sizes)))
        found = mean_ndcg(scores, lists.labels[rows], offsets, self.recipe.truncation)
        return None if np.isnan(found) else found

    def copies(self) -> list[tuple[Singles, Singles]]:
        """The layers as they are now."""
        return [(weights.detach().numpy().copy(), biases.detach().numpy().copy()) for weights, biases in self.layers]

    def nothing(self) -> list[tuple[Singles, Singles]]:
        """Layers that give 0 whatever comes."""
        return [(np.zeros_like(weights), np.zeros_like(biases)) for weights, biases in self.copies()]

    def network(self, layers: list[tuple[Singles, Singles]]) -> Network:
        """Layers as a network of their own."""
        weights, biases = zip(*layers, strict=True)
        mean, inverse = self.mean.astype(np.float64), self.inverse.astype(np.float64)
        return Network(weights=weights, biases=biases, mean=mean, inverse=inverse)
