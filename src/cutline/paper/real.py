"""The paper's own data, from the files as they are published."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutline import datasets
from cutline._files import shortened
from cutline.datasets import Collection
from cutline.datasets.collection import file_in, folder_of
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.paper.sources import Wish

Integers = npt.NDArray[np.int64]

YAHOO_FILES = tuple(f"set1.{part}.txt" for part in ("train", "valid", "test"))
MSMARCO_FILES = ("msmarco-docs.tsv", *(f"msmarco-doctrain-{name}" for name in ("queries.tsv", "top100", "qrels.tsv")))
ENCODER = "encoder"  # a folder with DistilBERT, beside the files
TOGETHER = 500  # queries encoded at a time


def found_in(folder: Path) -> list[str]:
    """Which of the paper's data a folder holds, "yahoo", "msmarco" or both; refused where there is neither, or where
    a file of MS MARCO is missing."""
    here = folder_of(folder)
    held = [name for name in (*YAHOO_FILES, *MSMARCO_FILES) if file_in(here, name) is not None]
    there: list[str] = []
    if any(name in held for name in YAHOO_FILES):
        there.append("yahoo")
    if any(name in held for name in MSMARCO_FILES):
        for name in MSMARCO_FILES:
            if name not in held:
                raise InputError(f"{shortened(here)} holds no {name}, plain or with .gz; MS MARCO needs all its files")
        there.append("msmarco")
    if not there:
        raise InputError(
            f"{shortened(here)} holds neither a file of Yahoo ({', '.join(YAHOO_FILES)}) nor those of MS MARCO "
            f"({', '.join(MSMARCO_FILES)}), plain or with .gz; name the folder that does"
        )
    return there


def order_of(n_queries: int, seed: int) -> Integers:
    """A random order."""
    return np.random.default_rng([seed, 4]).permutation(n_queries)


def yahoo(wish: Wish) -> Collection:
    """Queries of Yahoo's set 1, at random."""
    wish.say("reading the files of Yahoo")
    found = datasets.yahoo(_folder(wish))
    return found.select(order_of(len(found), wish.seed)[: wish.n_queries])


def msmarco(wish: Wish) -> Collection:
    """Queries of MS MARCO at random, and features that DistilBERT makes of their texts: in a file without a name,
    mapped into memory, as they take 12 GB in full size. The vectors are the halves of the documents."""
    folder = _folder(wish)
    wish.say("reading the files of MS MARCO")
    found = _lists(folder, wish)
    queries = found.select(order_of(len(found), wish.seed)).queries
    features: Any = None
    for start in range(0, len(queries), TOGETHER):
        some = queries[start : start + TOGETHER]
        wish.say(f"encoding queries {start + 1:,} to {start + len(some):,} of {len(queries):,}")
        block = _encoded(some, folder)
        if features is None:
            with tempfile.TemporaryFile(dir=wish.scratch) as file:  # it goes when the map does
                features = np.memmap(file, np.float32, "w+", shape=(queries.n_items, block.shape[1]))
        rows = slice(int(queries.offsets[start]), int(queries.offsets[start + len(some)]))
        features[rows] = block
    half = features.shape[1] // 2
    labels = np.nan_to_num(np.asarray(queries.labels))  # nobody judged: not good, for training too
    columns = {"title": queries.columns["title"]}
    titled = replace(queries, labels=labels, vectors=features[:, half:], columns=columns)
    return replace(found, queries=titled, features=features)


def _lists(folder: Path, wish: Wish) -> Collection:
    """As many queries as are wanted, or all where there are fewer."""
    try:
        return datasets.msmarco_documents(folder, n_queries=wish.n_queries, rng=wish.seed)
    except InputError as refused:
        if not str(refused).startswith("n_queries"):
            raise
    return datasets.msmarco_documents(folder, rng=wish.seed)


def _encoded(queries: Any, folder: Path) -> npt.NDArray[np.float32]:
    from cutline.rankers.encoding import PAPER, encode

    own = folder / ENCODER
    documents = [
        f"{title} {body}" for title, body in zip(queries.columns["title"], queries.columns["body"], strict=True)
    ]
    asked = queries.columns["query"].tolist()
    return encode(asked, documents, queries=queries, model=own if own.is_dir() else PAPER)


def _folder(wish: Wish) -> Path:
    if wish.folder is None:
        raise InputError("folder is wanted: these lists are read from files that you place")
    return wish.folder
