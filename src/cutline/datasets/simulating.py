"""Simulated queries, by a function."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from cutline.datasets.collection import Collection
from cutline.datasets.simulated import Simulator
from cutline.queries import Queries


@overload
def simulate(
    n_queries: int,
    *,
    rng: int | np.random.Generator,
    n_items: int | tuple[int, int] = ...,
    query_effect: float = ...,
    signal: float = ...,
    score_shift: float = ...,
    label_shares: tuple[float, float, float, float, float] = ...,
    share_unjudged: float = ...,
    score_scale: float = ...,
    score_offset: float = ...,
    features: Literal[0] = ...,
    vectors: int = ...,
    ids: bool = ...,
) -> Queries: ...
@overload
def simulate(
    n_queries: int,
    *,
    rng: int | np.random.Generator,
    n_items: int | tuple[int, int] = ...,
    query_effect: float = ...,
    signal: float = ...,
    score_shift: float = ...,
    label_shares: tuple[float, float, float, float, float] = ...,
    share_unjudged: float = ...,
    score_scale: float = ...,
    score_offset: float = ...,
    features: int,
    vectors: int = ...,
    ids: bool = ...,
) -> Collection: ...
def simulate(
    n_queries: int,
    *,
    rng: int | np.random.Generator,
    n_items: int | tuple[int, int] = (5, 40),
    query_effect: float = 0.6,
    signal: float = 0.85,
    score_shift: float = 0.2,
    label_shares: tuple[float, float, float, float, float] = (0.25, 0.28, 0.20, 0.16, 0.11),
    share_unjudged: float = 0.0,
    score_scale: float = 1.5,
    score_offset: float = 0.0,
    features: int = 0,
    vectors: int = 0,
    ids: bool = True,
) -> Queries | Collection:
    """Judged queries with labels 0 to 4 and scores in (0, 1), drawn as `Simulator` says, which knows their true risk.

    Queries are called "q000001" and so on, items "q000001-d01", and each query has a column `device`. With `vectors`,
    items have vectors of that many numbers. With `features`, a `Collection` comes back: the same queries, and that many
    features of each item.
    """
    world = Simulator(
        n_items=n_items,
        query_effect=query_effect,
        signal=signal,
        score_shift=score_shift,
        label_shares=label_shares,
        share_unjudged=share_unjudged,
        score_scale=score_scale,
        score_offset=score_offset,
        features=features,
        vectors=vectors,
    )
    return world.collection(n_queries, rng=rng, ids=ids) if world.features else world.draw(n_queries, rng=rng, ids=ids)
