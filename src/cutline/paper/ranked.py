"""A source after its ranker: validation queries with the outputs of a network that was trained on other queries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cutline.losses import FalseDiscovery
from cutline.paper.sources import Counts, Source, Wish
from cutline.paper.truth import Stream, Truth
from cutline.queries import Queries
from cutline.rankers import LambdaRank

FITS = 1 << 30  # bytes of simulated features that are kept while a network is trained
SAMPLED = 1_000  # training queries that tell where a grid for scores as given should lie


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranked:
    """`queries` are the validation queries, in random order; `training` are some of the training queries, scored
    too, `stream` draws new queries where the world is known, and `plain` such without vectors."""

    source: Source
    counts: Counts
    queries: Queries
    training: Queries
    model: LambdaRank
    stream: Stream | None
    plain: Stream | None
    about: tuple[tuple[str, str], ...]
    truths: dict[str, Truth] = field(default_factory=dict[str, Truth])  # worked out once for all experiments

    @property
    def loss(self) -> FalseDiscovery:
        """The share of a list that is not good."""
        return FalseDiscovery(self.source.relevance)


def ranked(source: Source, wish: Wish) -> Ranked:
    """Load, divide, train and score."""
    wish.say("reading or drawing the lists")
    found = source.load(replace(wish, n_queries=source.counts[wish.size].total))
    counts = source.counts[wish.size].within(len(found))
    train = found.select(slice(0, counts.train))
    rest = found.select(slice(counts.train, counts.total))
    features = train.features
    if 4 * train.queries.n_items * features.shape[1] <= FITS:
        features = np.asarray(features)
    recipe = source.recipe[wish.size]
    model = LambdaRank.train(
        features,
        train.queries,
        seed=wish.seed,
        progress=lambda epoch: wish.say(f"training, epoch {epoch.number}"),
        **recipe,
    )
    wish.say("scoring")
    few = train.queries[: min(SAMPLED, len(train))]
    few = Queries(model.score(features[: few.n_items]), few.offsets, few.labels)
    queries = replace(rest.queries, scores=model.score(rest.features), columns=dict(rest.queries.columns))
    if source.features_are_vectors:
        queries = replace(queries, vectors=rest.features, columns=dict(queries.columns))
    stream = None if source.world is None else Stream.of(source.world(wish.size), model.network)
    return Ranked(
        source=source, counts=counts, queries=queries, training=few, model=model,
        stream=stream, plain=None if stream is None else stream.without_vectors(),
        about=(*_about(source, counts, model), ("source", found.source), ("licence", found.licence)),
    )  # fmt: skip


def _about(source: Source, counts: Counts, model: LambdaRank) -> tuple[tuple[str, str], ...]:
    """What was decided, as rows of a table."""
    recipe = model.settings
    layers = " → ".join(f"{size:,}" for size in model.network.sizes)
    return (
        ("lists from", source.label),
        ("queries", str(counts)),
        *source.decided,
        ("network", f"{layers}, ReLU, features standardised; a tenth of the training queries tells when to stop"),
        ("training", f"LambdaRank, Adam with step {recipe['lr']:g}, {recipe['batch_queries']} queries a step"),
        ("epochs", f"at most {recipe['epochs']}; number {model.best} is kept"),
    )
