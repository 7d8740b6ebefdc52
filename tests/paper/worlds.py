"""A small simulated world, and a network trained on it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import cutline as cl
from cutline.datasets import Collection, Simulator
from cutline.rankers import LambdaRank

WORLD: Simulator = replace(cl.datasets.YAHOO_LIKE, features=12, vectors=4)
LOSS = cl.FalseDiscovery(cl.Grade(at_least=2))
GRID = cl.grid(0.99, 0.01, 0.01)


@cache
def drawn(n_queries: int = 900) -> Collection:
    return WORLD.collection(n_queries, rng=5)


@cache
def network() -> LambdaRank:
    train = drawn().select(slice(0, 300))
    return LambdaRank.train(train.features, train.queries, epochs=3, lr=0.01, validation=0)


@cache
def scored() -> cl.Queries:
    """Judged queries with vectors that the network has not seen, and its outputs."""
    rest = drawn().select(slice(300, None))
    return replace(rest.queries, scores=network().score(rest.features), columns={})
