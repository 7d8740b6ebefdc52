"""From the file that a command names to features and the queries of their items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutline.cli.console import working
from cutline.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cutline.queries import Queries


def features_of(
    path: Path, format: str | None, *, width: int | None = None, groups: Path | None = None
) -> tuple[npt.NDArray[np.float32], Queries]:
    """Features from LETOR, or from a table with a column of vectors; and the queries, without them. LETOR may leave
    the last features out everywhere: `width` says how many there are."""
    from cutline.io.features import read_features
    from cutline.io.formats import format_to_read
    from cutline.io.reading import read_queries
    from cutline.io.sources import source_of

    with working(f"Reading {path.name}"):
        form = format_to_read(source_of(path), format, flag="--format")
        if form.name == "letor":
            return read_features(path, format="letor", n_features=width, groups=groups)
        if not form.named_columns:
            raise InputError(f"{path} is of the form {form.name}, which has no features; name LETOR or a table")
        queries = read_queries(path, format=format)
    if queries.vectors is None:
        raise InputError(
            f"{path} has no features; a table keeps them as lists of numbers in a column `vector`, LETOR as 1:0.5 2:1"
        )
    return queries.vectors, replace(queries, vectors=None, columns=dict(queries.columns))
