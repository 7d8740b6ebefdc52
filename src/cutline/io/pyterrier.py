"""A certificate as a step of a PyTerrier pipeline (extra `ir`): `retriever >> reranker >> Cut(certificate)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cutline.certificate import Abstention, Certificate
from cutline.errors import InputError, MissingExtraError
from cutline.queries import Queries

try:
    import pyterrier
except ImportError:
    raise MissingExtraError(
        "Cut is a transformer of PyTerrier, which the extra `ir` installs: pip install 'cutline[ir]'"
    ) from None

_Transformer: Any = pyterrier.Transformer
_FIRST = 0  # PyTerrier counts ranks from 0


@dataclass(frozen=True, eq=False, repr=False)
class Cut(_Transformer):
    """Cut ranked lists as a certificate says.

    Takes a frame with `qid`, `docno` and `score`, and gives its chosen rows, queries in the order they came, each best
    first, with every other column and `rank` counted from 0. A query from which nothing is chosen has no row. Where
    the certificate is for diverse lists, `vectors` names the column that holds the vector of each document. The scores
    must be those of the ranker that was calibrated, and the lists as long: cut neither before this step.
    """

    certificate: Certificate | Abstention
    vectors: str = "doc_vec"

    def __post_init__(self) -> None:
        given = cast("object", self.certificate)
        if not isinstance(given, Certificate | Abstention):
            raise InputError(f"certificate must be a cl.Certificate, got {type(given).__name__}; cl.load reads one")

    def transform(self, inp: Any) -> Any:
        """The chosen rows of a frame of results."""
        for column in ("qid", "docno", "score", *([self.vectors] if self.certificate.sets.needs_vectors else [])):
            if column not in inp.columns:
                raise InputError(
                    f"results must have a column {column!r}, got {', '.join(map(repr, inp.columns))}; put Cut behind "
                    "the step that makes it"
                )
        if not len(inp):
            return inp.assign(rank=np.empty(0, np.int64))
        slates = self.certificate.apply(self._queries(inp))
        rows = slates.queries.columns["row"][slates.order]
        starts = np.repeat(np.cumsum(slates.sizes) - slates.sizes, slates.sizes)
        return inp.iloc[rows].assign(rank=np.arange(len(rows)) - starts + _FIRST).reset_index(drop=True)

    def _queries(self, inp: Any) -> Queries:
        needed = self.certificate.sets.needs_vectors
        return Queries.from_arrays(
            inp["score"].to_numpy(np.float64),
            qid=inp["qid"].to_numpy(object),
            item_ids=inp["docno"].to_numpy(object),
            vectors=np.stack(inp[self.vectors].to_list()) if needed else None,
            columns={"row": np.arange(len(inp))},
        )

    def __repr__(self) -> str:
        return f"Cut({type(self.certificate).__name__} at {self.certificate.threshold:g})"
