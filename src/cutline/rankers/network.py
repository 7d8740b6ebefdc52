"""A fitted network as plain arrays, and what it makes of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutline.rankers.matrices import Floats, Matrix, blocks

Weights = tuple[npt.NDArray[np.float32], ...]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the training queries: the mean cost of a query on the way, and the NDCG of the validation queries
    at its end, None where there are none."""

    number: int
    cost: float
    ndcg: float | None

    def __repr__(self) -> str:
        held_out = "" if self.ndcg is None else f", validation NDCG {self.ndcg:.4f}"
        return f"epoch {self.number}: cost {self.cost:.4f}{held_out}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """f(x) = W₃ᵀ·relu(W₂ᵀ·relu(W₁ᵀ·z + b₁) + b₂) + b₃ for as many layers as there are, where z = (x - mean)·inverse.

    weights: (d, 16), (16, 8), (8, 1) for the layers of the paper; biases (16,), (8,), (1,); mean (d,) of the training
    rows, inverse (d,) of their standard deviation, 0 for a feature that did not vary.
    """

    weights: Weights
    biases: Weights
    mean: Floats
    inverse: Floats

    @property
    def sizes(self) -> tuple[int, ...]:
        """Features, units of each hidden layer, 1."""
        return (len(self.mean), *(weights.shape[1] for weights in self.weights))

    def outputs(self, features: Matrix) -> Floats:
        """f of each row. Worked out in double precision and rounded to single, so that an item scores the same alone
        and among others: the order of a sum depends on how many rows are multiplied at a time, and what it moves is
        lost in rounding, but for about one item in ten million."""
        layers = [
            (weights.astype(np.float64), biases.astype(np.float64))
            for weights, biases in zip(self.weights, self.biases, strict=True)
        ]
        out = np.empty(len(features))
        for rows in blocks(*features.shape):
            values = features[rows].astype(np.float64)
            values -= self.mean
            values *= self.inverse
            for place, (weights, biases) in enumerate(layers):
                values = values @ weights + biases
                if place < len(layers) - 1:
                    np.maximum(values, 0.0, out=values)
            out[rows] = values[:, 0].astype(np.float32)
        return out
