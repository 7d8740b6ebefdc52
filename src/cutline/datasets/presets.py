"""Worlds of the size and shape of well-known data sets, for speed and for trying: nothing of the data is in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cutline._checks import check_whole
from cutline.datasets.collection import Collection
from cutline.datasets.simulated import Simulator

# Grades 0 to 4 of the challenge's set 1 in percent, as Chapelle and Chang (2011) have them; rounded, they add to 99.99.
_YAHOO_PERCENT = (21.92, 50.22, 22.30, 3.88, 1.67)
_BAD, _FAIR, _GOOD, _EXCELLENT, _PERFECT = (percent / sum(_YAHOO_PERCENT) for percent in _YAHOO_PERCENT)

YAHOO_LIKE = Simulator(n_items=(8, 40), label_shares=(_BAD, _FAIR, _GOOD, _EXCELLENT, _PERFECT), features=700)
MSMARCO_LIKE = Simulator(n_items=100, label_shares=(0.60, 0.25, 0.10, 0.04, 0.01), features=1536)


def yahoo_like(
    n_queries: int = 26_090, *, features: int = 700, rng: int | np.random.Generator = 0, on_the_fly: bool = False
) -> Collection:
    """Lists of about 24 documents with 700 features and grades 0 to 4 in the proportions of the Yahoo! challenge's set
    1 (Chapelle and Chang 2011); as many as the paper's experiments have. At full size the features take 1.8 GB;
    `on_the_fly` makes rows when they are asked for. `YAHOO_LIKE` is the simulator, which knows the true risk of the
    scores."""
    return _drawn("yahoo-like", YAHOO_LIKE, n_queries, features, rng, on_the_fly)


def msmarco_like(
    n_queries: int = 20_000, *, features: int = 1536, rng: int | np.random.Generator = 0, on_the_fly: bool = True
) -> Collection:
    """Lists of 100 documents with 1,536 features, as many as two texts of 768 numbers have, made when they are asked
    for: at full size they would take 12.3 GB. Grades are made up: good documents are rare. `MSMARCO_LIKE` is the
    simulator, which knows the true risk of the scores."""
    return _drawn("msmarco-like", MSMARCO_LIKE, n_queries, features, rng, on_the_fly)


def _drawn(
    name: str, world: Simulator, n_queries: int, features: int, rng: int | np.random.Generator, on_the_fly: bool
) -> Collection:
    world = replace(world, features=check_whole("features", features, least=1))
    return replace(world.collection(n_queries, rng=rng, on_the_fly=on_the_fly), name=name)
