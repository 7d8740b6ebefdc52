"""The experiments of the paper: what it claims, what they run on, and the function that runs each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from cutline.errors import InputError
from cutline.paper.diverse import along_alpha, along_size
from cutline.paper.evidences import evidences
from cutline.paper.examples import diverse_example, teaser
from cutline.paper.figures import Figure
from cutline.paper.lists import diverse_lists, lists
from cutline.paper.run import Run

ALPHAS = tuple(round(0.05 * step, 2) for step in range(2, 13))


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """`real` names the paper's own data, used where they are there; `others` what stands in for them."""

    title: str
    claim: str
    real: tuple[str, ...]
    others: tuple[str, ...]
    run: Callable[[Run], Figure]


EXPERIMENTS: dict[str, Experiment] = {
    "teaser": Experiment(
        title="Hard and easy queries",
        claim="For easy queries the scores of documents spread widely, for hard ones they lie close together.",
        real=("yahoo", "msmarco"),
        others=("yahoo-like", "insuranceqa"),
        run=teaser,
    ),
    "yahoo": Experiment(
        title="Yahoo! Learning to Rank",
        claim="13,045 queries to train, 8,000 to calibrate, 5,045 to test; α = 0.3, δ = 0.1. The risk is controlled "
        "and nearly tight, and the sizes of the sets spread widely.",
        real=("yahoo",),
        others=("yahoo-like", "insteval", "movielens"),
        run=partial(lists, alpha=0.3),
    ),
    "msmarco": Experiment(
        title="MS MARCO documents",
        claim="10,000 queries to train, 1,500 to calibrate, 8,500 to test, 100 documents each; α = 0.5, δ = 0.1. The "
        "risk is controlled and nearly tight, and the sizes spread reasonably.",
        real=("msmarco",),
        others=("msmarco-like", "insuranceqa"),
        run=partial(lists, alpha=0.5),
    ),
    "diversity-alpha": Experiment(
        title="Diversity against α",
        claim="A larger α lets more sets be modified; the relative improvement in diversity goes up and down with α, "
        "for statistical noise and as the greedy choice is not always the best.",
        real=("yahoo", "msmarco"),
        others=("yahoo-like", "msmarco-like", "movielens"),
        run=partial(along_alpha, alphas=ALPHAS, max_size=3),
    ),
    "diversity-example": Experiment(
        title="An example of diverse lists",
        claim="The model's top three beside the three that are chosen for diversity.",
        real=("msmarco",),
        others=("movielens",),
        run=partial(diverse_example, alpha=0.3, max_size=3),
    ),
    "diversity-size": Experiment(
        title="Diversity against M",
        claim="M = 2 … 9 at α = 0.3: a larger M leaves small sets out, and chooses less sharply from large ones.",
        real=("yahoo",),
        others=("yahoo-like", "movielens"),
        run=partial(along_size, alpha=0.3, max_sizes=tuple(range(2, 10))),
    ),
    "diversity-risk": Experiment(
        title="Risk and size of diverse lists",
        claim="M = 3, α = 0.3, δ = 0.1: the risk is still controlled, and most sets have three items. Diversity rises "
        "by 15 %, and 40 % of the sets are modified.",
        real=("yahoo",),
        others=("yahoo-like", "movielens"),
        run=partial(diverse_lists, alpha=0.3, max_size=3),
    ),
    "tests": Experiment(
        title="Each kind of evidence",
        claim="Not in the paper, which uses Hoeffding's test on win rates and says that any valid one will do.",
        real=("yahoo",),
        others=("yahoo-like", "insteval"),
        run=partial(evidences, alpha=0.3),
    ),
}


def chosen(names: Iterable[str]) -> dict[str, Experiment]:
    """The experiments of these names, in the order of the paper; all of them where there are no names."""
    wanted = list(names)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise InputError(f"experiments are {', '.join(EXPERIMENTS)}; got {name!r}")
    return {name: each for name, each in EXPERIMENTS.items() if not wanted or name in wanted}
