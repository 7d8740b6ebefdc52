"""Features in files: a dense matrix for a ranker, and the queries, labels and items that its rows belong to."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._checks import check_whole
from cutline._display import shown
from cutline._files import shortened, writable
from cutline._tables import check_is_queries
from cutline.errors import InputError
from cutline.io import feature_cache, letor
from cutline.io.formats import KNOWN, SNIFFED, format_to_read, suffix_of
from cutline.io.letor_features import read_values, surveyed
from cutline.io.sources import Progress, source_of
from cutline.io.writing import binary
from cutline.queries import Queries

File = str | PathLike[str]
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]


def read_features(
    path: File,
    *,
    format: str | None = None,
    cache: File | None = None,
    n_features: int | None = None,
    groups: File | None = None,
    progress: Progress | None = None,
) -> tuple[Features, Queries]:
    """Features (n_items, d) as float32, and the queries that their rows belong to, whose scores are all 0.

    The file is LETOR or SVMlight text, plain or gzipped: `label qid:ID 1:value 2:value … # item`, features numbered
    from 1 in rising order; those that a line leaves out are 0. Without qid, sizes of queries come from `groups`, or
    from a `.query` or `.group` file beside it. Rows of one query are brought together, first appearance first. Items
    are named as `read_queries` names them. d is the largest number of a feature, or `n_features`, which keeps two files
    alike where one never mentions the last features.

    With `cache`, a folder, everything is kept there at the first read, and the matrix is mapped into memory from it,
    read-only. What is kept is known by the path, size and time of the file; nothing else in the folder is touched.
    """
    source = source_of(path, progress)
    form = format_to_read(source, format, flag="format=")
    if form.name != "letor":
        raise InputError(
            f"{source.name} is {form.name}, and features come from LETOR text, `label qid:ID 1:value 2:value`; "
            "cl.io.write_features writes it"
        )
    width = None if n_features is None else check_whole("n_features", n_features, least=1)
    sizes = None if groups is None else source_of(groups)
    if cache is None:
        text = surveyed(source, sizes, width)
        try:
            features = np.zeros((len(text), text.width), np.float32)
            return features, text.queries(read_values(text, features))
        except MemoryError:
            raise InputError(
                f"{source.name}: {len(text):,} × {text.width:,} features do not fit in memory; name a folder for them "
                "with cache="
            ) from None
    folder = feature_cache.folder_of(cache)
    beside = letor.beside(source) if sizes is None else sizes.path
    stem = feature_cache.stem_of(source.path, beside, width)
    kept = feature_cache.found(folder, stem)
    return feature_cache.kept(folder, stem, surveyed(source, sizes, width)) if kept is None else kept


def write_features(features: npt.ArrayLike, queries: Queries, path: File) -> None:
    """LETOR text, from which `read_features` reads the same: values as the shortest decimals of their float32, zeros
    left out, the items' ids as comments. Of last columns that hold nothing but zeros only `n_features` knows. The name
    ends in .svm, .letor or .txt, also with .gz."""
    check_is_queries(queries)
    matrix = checked_features(features, queries.n_items)
    target = writable(path)
    known = KNOWN.get(suffix_of(target))
    if suffix_of(target) != SNIFFED and (known is None or known.name != "letor"):
        raise InputError(f"{shortened(path)}: features are written as .svm, .letor or .txt, each also with .gz")
    if (labels := queries.labels) is None:
        raise InputError("queries have no labels, and each line of LETOR begins with one; give NaN where unjudged")
    for name in ("query_ids", "item_ids"):
        _check_words(name, getattr(queries, name))
    with binary(path) as file:
        for lines in _lines(matrix, labels, queries):
            file.write(lines.encode())


def checked_features(features: Any, n_items: int | None, *, name: str = "features") -> Features:
    """Features as C-contiguous float32, one finite row per item."""
    matrix = np.asarray(features)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or matrix.shape[1] == 0:
        raise InputError(
            f"{name} must be numbers of shape (n_items, d) with d at least 1, got {matrix.dtype} of shape "
            f"{matrix.shape}"
        )
    if n_items is not None and len(matrix) != n_items:
        raise InputError(f"{name} must have one row per item, {n_items:,} in all, got {len(matrix):,}")
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    step = max(1, (1 << 20) // matrix.shape[1])
    for start in range(0, len(matrix), step):
        for row, column in np.argwhere(~np.isfinite(matrix[start : start + step]))[:1].tolist():
            raise InputError(
                f"{name} must be finite as float32, got {matrix[start + row, column]} in row {start + row}, column "
                f"{column}; fill it in, with 0 or the mean of its column"
            )
    return matrix


def _check_words(name: str, ids: Array | None) -> None:
    """Ids that a line of LETOR holds: without white space, and without what begins a comment."""
    listed: list[Any] = [] if ids is None or ids.dtype.kind != "O" else ids.tolist()
    for one in listed:
        if "#" in one or len(one.split()) != 1 or one != one.strip():
            raise InputError(f"{name} hold {shown(one)}, which LETOR cannot hold: no blanks and no #; rename it")


def _lines(features: Features, labels: Floats, queries: Queries) -> Iterator[str]:
    """The lines of one query after the other."""
    for query in range(len(queries)):
        lines: list[str] = []
        for row in range(int(queries.offsets[query]), int(queries.offsets[query + 1])):
            numbers = np.flatnonzero(features[row])
            values = zip((numbers + 1).tolist(), features[row, numbers].astype(str).tolist(), strict=True)
            item = "" if queries.item_ids is None else f" # {queries.item_ids[row]}"
            pairs = "".join(f" {number}:{value}" for number, value in values)
            lines.append(f"{labels[row]:.17g} qid:{queries.id_of(query)}{pairs}{item}\n")
        yield "".join(lines)
