"""Learning-to-rank files by path: LETOR or SVMlight text of any origin, and those of the Yahoo! challenge."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cutline._checks import check_one_of, check_whole
from cutline._files import shortened
from cutline.datasets.collection import Collection, check_labels, file_in, folder_of
from cutline.errors import InputError
from cutline.queries import Queries

File = str | PathLike[str]
PARTS = ("train", "valid", "test")
_FEATURES = 700
_GRADES = (0, 1, 2, 3, 4)
_YAHOO = "Yahoo! Learning to Rank Challenge, set {}: Yahoo Webscope C14B; Chapelle and Chang (2011), PMLR 14:1-24"
_WEBSCOPE = "Yahoo Webscope agreement: research without commerce, not to be passed on"


def letor(
    path: File,
    *,
    cache: File | None = None,
    n_features: int | None = None,
    groups: File | None = None,
    name: str | None = None,
    licence: str = "not stated in the file; see where it was published",
) -> Collection:
    """A file of `label qid:ID 1:value 2:value …`: MSLR-WEB10K and 30K, LETOR 4, Istella, or your own.

    How it is read, and what `cache`, `n_features` and `groups` are, says `io.read_features`.
    """
    from cutline.io.features import read_features  # and with it Arrow

    features, queries = read_features(path, cache=cache, n_features=n_features, groups=groups)
    called = Path(path).name.split(".")[0] if name is None else name
    return Collection(name=called, source=shortened(path), licence=licence, queries=queries, features=features)


def yahoo(folder: File, set: int = 1, *, part: str | None = None, cache: File | None = None) -> Collection:  # noqa: A002
    """The challenge's files as published: `set1.train.txt`, `set1.valid.txt`, `set1.test.txt` and those of set 2, also
    gzipped; 700 features, grades 0 to 4.

    `part` is "train", "valid" or "test"; without it those that are there are put together, and the column `part` says
    where each query comes from. Each item is called by its part and line.
    """
    here, number = folder_of(folder), check_whole("set", set, least=1)
    if number > 2:
        raise InputError(f"set must be 1 or 2, got {number}; the challenge has two sets")
    wanted = PARTS if part is None else (check_one_of("part", part, PARTS),)
    files = {name: file_in(here, f"set{number}.{name}.txt") for name in wanted}
    there = {name: path for name, path in files.items() if path is not None}
    if not there:
        names = ", ".join(f"set{number}.{name}.txt" for name in wanted)
        raise InputError(f"{shortened(here)} holds none of {names}, plain or with .gz; name the folder that does")
    parts = [_read(name, path, cache) for name, path in there.items()]
    return Collection(
        name=f"yahoo-set{number}", source=_YAHOO.format(number), licence=_WEBSCOPE,
        queries=_joined([queries for _, queries in parts]),
        features=parts[0][0] if len(parts) == 1 else np.concatenate([features for features, _ in parts]),
    )  # fmt: skip


def _read(part: str, path: Path, cache: File | None) -> tuple[Any, Queries]:
    from cutline.io.features import read_features  # and with it Arrow

    features, queries = read_features(path, format="letor", cache=cache, n_features=_FEATURES)
    whole = Collection(name=part, source="", licence="", queries=queries, features=features)
    check_labels(whole, _GRADES, shortened(path))
    items: Any = queries.item_ids
    return features, Queries(
        queries.scores, queries.offsets, queries.labels, None, queries.query_ids,
        np.array([f"{part}-{line}" for line in items.tolist()], dtype=object),
        {"part": np.full(len(queries), part, dtype=object)},
    )  # fmt: skip


def _joined(parts: list[Queries]) -> Queries:
    """One table of them all; queries are not shared."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(queries.n_items for queries in parts)])
    offsets = [queries.offsets[:-1] + start for queries, start in zip(parts, before[:-1], strict=True)]
    columns: list[Any] = [[getattr(queries, name) for queries in parts] for name in ("scores", "labels")]
    ids: list[Any] = [[getattr(queries, name) for queries in parts] for name in ("query_ids", "item_ids")]
    scores, labels, query_ids, item_ids = (np.concatenate(each) for each in (*columns, *ids))
    origin = np.concatenate([queries.columns["part"] for queries in parts])
    return Queries(scores, np.concatenate([*offsets, before[-1:]]), labels, None, query_ids, item_ids, {"part": origin})
