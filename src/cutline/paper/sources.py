"""What the paper's protocols run on: its own data where the files are there, else real data that come along and
simulations of the same size. Each says what it is, and what was decided for it that the paper does not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cutline import datasets
from cutline.datasets import Collection, Simulator
from cutline.paper import real
from cutline.paper.lexical import with_lexical_features
from cutline.relevance import Grade

Size = Literal["small", "full"]
SIZES = ("small", "full")
VECTORS = 16  # numbers of a simulated vector


@dataclass(frozen=True, slots=True)
class Counts:
    """How many queries train, calibrate and test."""

    train: int
    calibration: int
    test: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.train + self.calibration + self.test

    def within(self, available: int) -> Counts:
        """The same, or in the same proportions where there are not as many."""
        if available >= self.total:
            return self
        train, calibration = (available * part // self.total for part in (self.train, self.calibration))
        return Counts(train, calibration, available - train - calibration)

    def __str__(self) -> str:
        return f"{self.train:,} to train, {self.calibration:,} to calibrate, {self.test:,} to test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked of a source. `folder` holds real files, `scratch` takes what would not fit in memory."""

    size: Size
    n_queries: int
    seed: int
    folder: Path | None = None
    scratch: Path | None = None
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Lists to run a protocol on. `label` is what figures and sentences call it. `load` gives queries in random order,
    so that any consecutive ones are a random part. `world` is there where the true risk can be known."""

    name: str
    label: str
    relevance: Grade
    counts: Mapping[Size, Counts]
    recipe: Mapping[Size, Mapping[str, Any]]
    load: Callable[[Wish], Collection]
    decided: tuple[tuple[str, str], ...]
    world: Callable[[Size], Simulator] | None = None
    features_are_vectors: bool = False


def _yahoo_world(size: Size) -> Simulator:
    return replace(datasets.YAHOO_LIKE, features=700 if size == "full" else 60, vectors=VECTORS)


def _msmarco_world(size: Size) -> Simulator:
    return replace(datasets.MSMARCO_LIKE, features=1536 if size == "full" else 96, vectors=VECTORS)


def _drawn(world: Callable[[Size], Simulator], name: str, wish: Wish) -> Collection:
    """Simulated queries; their features are made when they are asked for."""
    rng = np.random.default_rng([wish.seed, 0])
    found = world(wish.size).collection(wish.n_queries, rng=rng, ids=False, on_the_fly=True)
    return replace(found, name=name)


def _named(load: Callable[..., Collection], wish: Wish, **settings: Any) -> Collection:
    found = load(rng=wish.seed, **settings)
    return found.select(real.order_of(len(found), wish.seed)[: wish.n_queries])


def _insuranceqa(wish: Wish) -> Collection:
    """Questions and answers with features of shared words."""
    part = "train" if wish.size == "full" else "valid"
    return with_lexical_features(_named(datasets.insuranceqa, wish, part=part))


_MADE = ("vectors", f"{VECTORS} numbers on five themes a query, made up; they depend on nothing else")
_WHOLE = ("subset", "all, in random order")

YAHOO_LIKE = Source(
    name="yahoo-like",
    label="yahoo-like simulation",
    relevance=Grade(at_least=2),
    counts={"full": Counts(13_045, 8_000, 5_045), "small": Counts(1_000, 800, 600)},
    recipe={"full": {"epochs": 10, "patience": 3}, "small": {"epochs": 4, "lr": 0.003}},
    load=partial(_drawn, _yahoo_world, "yahoo-like simulation"),
    world=_yahoo_world,
    decided=(
        ("good", "grade 2 or more of 0 to 4, as editors call good, excellent and perfect: 28 % of the items"),
        ("lists", "8 to 40 items, grades in the shares of Yahoo's set 1; features are noise around a quality"),
        _MADE,
    ),
)

MSMARCO_LIKE = Source(
    name="msmarco-like",
    label="msmarco-like simulation",
    relevance=Grade(at_least=2),
    counts={"full": Counts(10_000, 1_500, 8_500), "small": Counts(400, 300, 400)},
    recipe={"full": {"epochs": 2}, "small": {"epochs": 3, "lr": 0.003}},
    load=partial(_drawn, _msmarco_world, "msmarco-like simulation"),
    world=_msmarco_world,
    decided=(
        ("good", "grade 2 or more of 0 to 4: 15 % of the items"),
        ("lists", "100 items; grades are made up; 768 + 768 features in full size, noise around a quality"),
        _MADE,
    ),
)

INSTEVAL = Source(
    name="insteval",
    label="InstEval lecture marks",
    relevance=Grade(at_least=4),
    counts=dict.fromkeys(SIZES, Counts(900, 800, 529)),
    recipe={"full": {"epochs": 30, "lr": 0.003}, "small": {"epochs": 10, "lr": 0.003}},
    load=partial(_named, datasets.insteval, reference=0.25),
    decided=(
        ("good", "a mark of 4 or 5 of 1 to 5"),
        ("lists", "half of the lectures that a student marked; the other half gives features"),
        ("subset", "a quarter of the students tell how a lecture is liked, and are no queries; all others"),
    ),
)

MOVIELENS = Source(
    name="movielens",
    label="MovieLens films",
    relevance=Grade(at_least=4),
    counts=dict.fromkeys(SIZES, Counts(250, 270, 151)),
    recipe={"full": {"epochs": 20, "lr": 0.003}, "small": {"epochs": 4, "lr": 0.003}},
    load=partial(_named, datasets.movielens),
    decided=(
        ("good", "4 stars or more of 0.5 to 5"),
        ("lists", "half of the films that a person rated; the other half gives features"),
        ("vectors", "genres of a film as 0 and 1"),
        _WHOLE,
    ),
)

INSURANCEQA = Source(
    name="insuranceqa",
    label="InsuranceQA answers",
    relevance=Grade(at_least=1),
    counts={"full": Counts(5_000, 1_500, 6_389), "small": Counts(200, 300, 200)},
    recipe={"full": {"epochs": 15, "lr": 0.003}, "small": {"epochs": 8, "lr": 0.003}},
    load=_insuranceqa,
    decided=(
        ("good", "a right answer: 1 to 5 of about 200"),
        ("lists", "the right answers to a question among answers to others"),
        ("features", "eight figures of the words that question and answer share; no language model"),
        ("subset", "train part in full size, valid part in small; at random"),
    ),
)

YAHOO = Source(
    name="yahoo",
    label="Yahoo! set 1",
    relevance=Grade(at_least=2),
    counts={"full": Counts(13_045, 8_000, 5_045), "small": Counts(1_000, 1_000, 600)},
    recipe={"full": {"epochs": 30, "patience": 3}, "small": {"epochs": 10}},
    load=real.yahoo,
    features_are_vectors=True,
    decided=(
        ("good", "grade 2 or more of 0 to 4, as editors call good, excellent and perfect"),
        ("subset", "queries of set 1 at random, from all the parts that are there"),
        ("vectors", "the 700 features"),
    ),
)

MSMARCO = Source(
    name="msmarco",
    label="MS MARCO documents",
    relevance=Grade(at_least=1),
    counts={"full": Counts(10_000, 1_500, 8_500), "small": Counts(60, 60, 30)},
    recipe={"full": {"epochs": 5, "patience": 2}, "small": {"epochs": 5, "lr": 0.003}},
    load=real.msmarco,
    decided=(
        ("good", "judged at least 1; documents that nobody judged count as bad"),
        ("subset", "judged queries of the train part at random, with the hundred documents of top100"),
        ("features", "DistilBERT, mean of the last layer over the tokens: 768 of the query beside 768 of the document"),
        ("vectors", "the 768 of the document"),
    ),
)

SOURCES: dict[str, Source] = {
    each.name: each for each in (YAHOO_LIKE, MSMARCO_LIKE, INSTEVAL, MOVIELENS, INSURANCEQA, YAHOO, MSMARCO)
}
