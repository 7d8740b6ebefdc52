"""MS MARCO document ranking from its published files, line by line: what no chosen query needs is not kept."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._checks import check_one_of, check_whole, generator_of
from cutline._files import shortened
from cutline._rows import offsets_of_sizes
from cutline.datasets.collection import Collection, file_in, folder_of
from cutline.errors import InputError, warn
from cutline.queries import Queries

File = str | PathLike[str]
Array = npt.NDArray[Any]
PARTS = ("train", "dev")
GRADES = (0, 1, 2, 3)
_Listed = dict[str, dict[str, float]]


def msmarco_documents(
    folder: File,
    *,
    part: str = "train",
    n_queries: int | None = None,
    rng: int | np.random.Generator = 0,
    characters: int = 1000,
) -> Collection:
    """The hundred documents of each query with their scores, and the text of queries and documents.

    The folder holds, plain or with .gz, as published: `msmarco-docs.tsv` (document, url, title, body, between tabs),
    `msmarco-doctrain-queries.tsv` (query, text), `msmarco-doctrain-top100` (query Q0 document rank score run) and
    `msmarco-doctrain-qrels.tsv` (query 0 document grade); those of `part="dev"` say `docdev`. Scores are those of
    top100, labels those of the judgments, and documents without one are unjudged.

    `n_queries` of the judged queries of top100 are drawn by `rng`; without it all are taken: 367,013 with 36.7 million
    rows, for which a machine needs tens of GB. Columns are `query` (its text), `title`, `url`, and `body`, of which the
    first `characters` are kept; with 0, the file of documents is not read, and there are no columns but `query`. Files
    are read line by line, and a text is kept once in however many lists it stands.
    """
    here = folder_of(folder)
    check_one_of("part", part, PARTS)
    kept = check_whole("characters", characters, least=0)
    wanted = None if n_queries is None else check_whole("n_queries", n_queries, least=1)
    generator = generator_of(rng)
    files = {name: _file(here, f"msmarco-doc{part}-{name}") for name in ("queries.tsv", "top100", "qrels.tsv")}
    documents = _file(here, "msmarco-docs.tsv") if kept else None
    judged = _judgments(files["qrels.tsv"])
    chosen = _chosen(files["top100"], judged, wanted, generator)
    lists = _lists(files["top100"], chosen)
    words = _texts_of_queries(files["queries.tsv"], lists)
    columns: dict[str, Array] = {"query": objects_of([words[query] for query in lists])}
    if documents is not None:
        columns |= _texts_of_documents(documents, lists, kept)
    return Collection(
        name=f"msmarco-documents-{part}",
        source="MS MARCO document ranking, Microsoft; Nguyen et al. (2016)",
        licence="MS MARCO terms: research without commerce, no licence of the documents' texts",
        queries=_queries(lists, judged, columns),
    )


def _queries(lists: _Listed, judged: _Listed, columns: dict[str, Array]) -> Queries:
    sizes = np.array([len(listed) for listed in lists.values()], dtype=np.int64)
    nothing: Mapping[str, float] = {}
    labels = [judged.get(query, nothing).get(item, math.nan) for query, listed in lists.items() for item in listed]
    scores = [score for listed in lists.values() for score in listed.values()]
    items = [item for listed in lists.values() for item in listed]
    return Queries(
        np.array(scores), offsets_of_sizes(sizes), np.array(labels), None, objects_of(list(lists)), objects_of(items),
        columns,
    )  # fmt: skip


def _judgments(path: Path) -> _Listed:
    judged: _Listed = {}
    for fields, refuse in _rows(path, None, ("query", "0", "document", "grade")):
        query, _, item, text = fields
        grade = _number(text)
        if grade not in GRADES:
            refuse(f"the grade is {text!r}, and {', '.join(map(str, GRADES))} are wanted")
        if judged.setdefault(query, {}).setdefault(item, grade) != grade:
            refuse(f"{item!r} was judged before for query {query!r}, with another grade")
    return judged


def _chosen(path: Path, judged: _Listed, wanted: int | None, generator: np.random.Generator) -> set[str]:
    """Judged queries of top100: all, or so many at random."""
    there: dict[str, None] = {}
    for fields, _ in _rows(path, None, _TOP100):
        if fields[0] in judged:
            there[fields[0]] = None
    if not there:
        raise InputError(f"{shortened(path)} holds no query that is judged; the files must be of one part")
    if wanted is None:
        return set(there)
    if wanted > len(there):
        raise InputError(f"n_queries must be at most the {len(there):,} judged queries of {shortened(path)}")
    names = list(there)
    return {names[place] for place in generator.permutation(len(names))[:wanted].tolist()}


_TOP100 = ("query", "Q0", "document", "rank", "score", "run")


def _lists(path: Path, chosen: set[str]) -> _Listed:
    """The lists of the chosen queries, in the order of the file."""
    lists: _Listed = {}
    for fields, refuse in _rows(path, None, _TOP100):
        query, _, item, _, text, _ = fields
        if query in chosen:
            score, listed = _number(text), lists.setdefault(query, {})
            if not math.isfinite(score):
                refuse(f"the score is {text!r}; scores are finite numbers")
            if item in listed:
                refuse(f"query {query!r} has document {item!r} twice; keep one line per pair")
            listed[item] = score
    return lists


def _texts_of_queries(path: Path, lists: _Listed) -> dict[str, str]:
    words = {fields[0]: fields[1] for fields, _ in _rows(path, "\t", ("query", "text")) if fields[0] in lists}
    for query in lists:
        if query not in words:
            raise InputError(f"{shortened(path)} has no text for query {query!r}; the files must be of one part")
    return words


def _texts_of_documents(path: Path, lists: _Listed, characters: int) -> dict[str, Array]:
    """Url, title and the beginning of the body of every row; nothing where the file does not have the document."""
    rows = [item for listed in lists.values() for item in listed]
    needed = set(rows)
    found: dict[str, tuple[str, str, str]] = {}
    for fields, _ in _rows(path, "\t", ("document", "url", "title", "body")):
        if fields[0] in needed:
            found[fields[0]] = (fields[1], fields[2], fields[3][:characters])
    if lost := len(needed) - len(found):
        warn(f"{lost:,} of {len(needed):,} documents are not in {shortened(path)}: their texts are empty")
    empty = ("", "", "")
    return {
        name: objects_of([found.get(item, empty)[place] for item in rows])
        for place, name in enumerate(("url", "title", "body"))
    }


_Refuse = Callable[[str], None]


def _rows(path: Path, between: str | None, names: tuple[str, ...]) -> Iterator[tuple[list[str], _Refuse]]:
    """The fields of each line, one line at a time, and what refuses it by its number."""
    wanted = len(names)
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split(between) if between is None else line.split(between, wanted - 1)

        def refuse(why: str, number: int = number) -> None:
            raise InputError(f"{shortened(path)}, line {number}: {why}")

        if len(fields) != wanted or not fields[0]:
            came = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            refuse(f"{came}, and {wanted} are wanted: {' '.join(names)}")
        yield fields, refuse


def _lines(path: Path) -> Iterator[str]:
    number = 0
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        try:
            for number, raw in enumerate(file, start=1):  # noqa: B007
                yield raw.rstrip(b"\r\n").decode()
        except UnicodeDecodeError:
            raise InputError(f"{shortened(path)}, line {number}: not UTF-8 text; copy the file again") from None
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{shortened(path)} cannot be read to its end: {error}; copy it again") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _file(folder: Path, name: str) -> Path:
    path = file_in(folder, name)
    if path is None:
        raise InputError(f"{shortened(folder)} holds no {name}, plain or with .gz; name the folder that does")
    return path
