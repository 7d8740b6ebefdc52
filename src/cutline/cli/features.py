"""From the file that a command names to features and the queries of their items."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutline.cli.console import working
from cutline.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cutline.queries import Queries


def features_of(path: Path, format: str | None) -> tuple[npt.NDArray[np.float32], Queries]:
    """Features from LETOR, or from a table with a column of vectors; and the queries, without them."""
    from cutline.io.formats import format_to_read
    from cutline.io.reading import read_queries
    from cutline.io.sources import source_of

    with working(f"Reading {path.name}"):
        form = format_to_read(source_of(path), format, flag="--format")
        if form.name == "letor":
            return _from_letor(path)
        if not form.named_columns:
            raise InputError(f"{path} is of the form {form.name}, which has no features; name LETOR or a table")
        queries = read_queries(path, format=format)
    if queries.vectors is None:
        raise InputError(
            f"{path} has no features; a table keeps them as lists of numbers in a column `vector`, LETOR as 1:0.5 2:1"
        )
    return queries.vectors, replace(queries, vectors=None, columns=dict(queries.columns))


def _from_letor(path: Path) -> tuple[Any, Queries]:
    """By `io.features` where it is there, else by scikit-learn."""
    try:
        return importlib.import_module("cutline.io.features").read_features(path)
    except ModuleNotFoundError:
        return _by_sklearn(path)


def _by_sklearn(path: Path) -> tuple[Any, Queries]:
    import numpy as np

    from cutline.queries import Queries
    from cutline.rankers._extras import library

    datasets = library("sklearn.datasets", extra="ltr", what="Reading LETOR")
    try:
        sparse, labels, qid = datasets.load_svmlight_file(str(path), dtype=np.float32, query_id=True)
    except ValueError as problem:
        raise InputError(f"{path}: cannot be read as LETOR: {problem}") from None
    rows = [str(row + 1) for row in range(len(labels))]
    queries = Queries.from_arrays(
        np.zeros(len(labels)),
        labels,
        qid=[str(query) for query in qid.tolist()],
        vectors=sparse.toarray(),
        item_ids=rows,
    )
    return queries.vectors, replace(queries, vectors=None, columns={})
