"""The paper's ranker: a small network trained with LambdaRank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, check_seed, check_whole
from cutline._display import html_table, shown, text_table
from cutline.errors import InputError
from cutline.queries import Queries
from cutline.rankers import storing
from cutline.rankers.gain import checked_labels
from cutline.rankers.matrices import Floats, Matrix, check_finite, check_rows, check_width, checked_features, marks_of
from cutline.rankers.network import Epoch, Network
from cutline.rankers.training import Recipe, trained


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LambdaRank:
    """A network d → 16 → 8 → 1 with ReLU, as `train` made it. Higher outputs are better.

    Outputs are as good as their differences: the same amount may be added to all items of a query. So they are meant
    for `WinRate`; under `AsGiven` a threshold works as well as the outputs happen to compare between queries.
    `history` has each epoch, and `best` is the number of the one whose weights are kept.
    """

    network: Network
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    history: tuple[Epoch, ...] = ()
    best: int = 0
    seen: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @classmethod
    def train(
        cls,
        features: npt.ArrayLike,
        queries: Queries,
        *,
        hidden: Iterable[int] = (16, 8),
        epochs: int = 100,
        lr: float = 0.001,
        batch_queries: int = 32,
        truncation: int | None = None,
        validation: float = 0.1,
        patience: int = 10,
        seed: int = 0,
        qid: npt.ArrayLike | None = None,
        progress: Callable[[Epoch], object] | None = None,
    ) -> LambdaRank:
        """Train on the labels of `queries`, row i of `features` being its item i; its scores are not looked at.

        Adam (β 0.9 and 0.999, ε 1e-7) with step `lr`, for `epochs` passes over batches of `batch_queries` queries of
        about one length. Each pair of items with different labels counts by what NDCG would change by if they swapped
        places: NDCG of the whole list, or of its first `truncation` places. A share `validation` of the queries is
        kept out of the training; training ends when their NDCG has not risen for `patience` epochs, and the best epoch
        is kept. Certify on queries that are none of these. Features are standardised by the training rows, and one
        that does not vary there is not used. torch works on one thread meanwhile, so the same
        seed gives the same bytes. Where `qid` gives the query id of each row, it is checked. `progress` is called with
        each epoch.
        """
        recipe = _recipe(hidden, epochs, lr, batch_queries, truncation, validation, patience, seed)
        matrix = checked_features(features)
        check_rows(matrix, queries, qid)
        if not len(queries) or (recipe.validation and len(queries) < 2):
            raise InputError(
                f"queries must be at least {2 if recipe.validation else 1} to train on, got {len(queries)}; "
                "validation=0 trains on all of them"
            )
        labels = checked_labels(queries)
        check_finite(matrix)
        found = trained(matrix, labels, queries, recipe, progress)
        settings = {**asdict(recipe), "hidden": list(recipe.hidden)}
        seen = np.unique(marks_of(matrix, queries))
        return cls(network=found.network, settings=settings, history=found.history, best=found.best, seen=seen)

    def score(self, features: npt.ArrayLike) -> Floats:
        """f of each row: numbers of single precision, in an array of double. An item scores the same alone and among
        others, but for about one in ten million whose last digit moves. torch is not needed."""
        return self.network.outputs(self._checked(features))

    def preferences(self, features: npt.ArrayLike) -> Floats:
        """π_ij = σ(f_i - f_j) for the items of one list: the chance that i is preferred to j, as `WinRate` has it."""
        from scipy.special import expit

        outputs = self.score(features)
        return expit(outputs[:, None] - outputs[None, :])

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `weights.safetensors` and `model.json` into a folder, which is made if need be."""
        storing.save(folder, self.network, settings=self.settings, history=self.history, best=self.best, seen=self.seen)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> LambdaRank:
        """A model that `save` wrote. Nothing in the folder is executed; what was changed is refused."""
        network, settings, history, best, seen = storing.load(folder)
        return cls(network=network, settings=settings, history=history, best=best, seen=seen)

    @property
    def n_features(self) -> int:
        """How many columns features must have."""
        return self.network.sizes[0]

    @property
    def ndcg(self) -> float | None:
        """NDCG of the validation queries at the epoch that is kept; None without any. It was chosen for being high."""
        return self.history[self.best - 1].ndcg if self.best else None

    def _checked(self, features: npt.ArrayLike) -> Matrix:
        matrix = checked_features(features)
        check_width(matrix.shape[1], self.n_features)
        check_finite(matrix)
        return matrix

    def __repr__(self) -> str:
        return text_table("LambdaRank", self._rows())

    def _repr_html_(self) -> str:
        return html_table("LambdaRank", self._rows())

    def _rows(self) -> list[tuple[str, object]]:
        rows: list[tuple[str, object]] = [("layers", " → ".join(f"{size:,}" for size in self.network.sizes))]
        unused = int(np.count_nonzero(self.network.inverse == 0))
        if unused:
            rows.append(("unused", f"{unused:,} features that did not vary"))
        rows.append(("epochs", f"{len(self.history)}, kept is number {self.best}" if self.history else "none"))
        rows.append(("validation NDCG", "none" if self.ndcg is None else f"{self.ndcg:.4f}"))
        return rows


def _recipe(
    hidden: Any, epochs: Any, lr: Any, batch_queries: Any, truncation: Any, validation: Any, patience: Any, seed: Any
) -> Recipe:
    """The settings, checked."""
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise InputError(f"hidden must be the sizes of the hidden layers, such as (16, 8), got {shown(hidden)}")
    lr, validation = check_number("lr", lr), check_number("validation", validation)
    if lr <= 0:
        raise InputError(f"lr must be above 0, got {lr!r}; 0.001 is usual")
    if not 0 <= validation < 1:
        raise InputError(f"validation must be a share of the queries in [0, 1), got {validation!r}; 0 is none")
    return Recipe(
        hidden=tuple(check_whole("hidden", size, least=1) for size in cast("Iterable[Any]", hidden)),
        epochs=check_whole("epochs", epochs, least=1),
        lr=lr,
        batch_queries=check_whole("batch_queries", batch_queries, least=1),
        truncation=None if truncation is None else check_whole("truncation", truncation, least=1),
        validation=validation,
        patience=check_whole("patience", patience, least=1),
        seed=check_seed(seed),
    )
