"""Features of a question and an answer from the words that they share, where there is no language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline.datasets import Collection

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

NAMES = (
    "BM25", "weight covered", "words covered", "BM25 of beginnings", "weight of beginnings covered",
    "beginnings covered", "log length of answer", "log length of question",
)  # fmt: skip
K1, B = 1.2, 0.75  # of BM25 (Robertson and Zaragoza 2009)
BEGINNING = 5  # letters, which bring insure, insured and insurance together
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """For each word the answers that have it, and what it adds to their BM25; idf = log(1 + (N - n + ½)/(n + ½))."""

    count: int
    numbers: dict[str, int]
    starts: Integers
    answers: Integers
    weights: Floats
    idf: Floats

    @classmethod
    def of(cls, texts: Sequence[list[str]]) -> _Corpus:
        numbers: dict[str, int] = {}
        words = np.array([numbers.setdefault(word, len(numbers)) for text in texts for word in text], np.int64)
        lengths = np.array([len(text) for text in texts], np.int64)
        where = np.repeat(np.arange(len(texts)), lengths)
        pairs, times = np.unique(words * len(texts) + where, return_counts=True)
        words, answers = pairs // len(texts), pairs % len(texts)
        starts = np.searchsorted(words, np.arange(len(numbers) + 1))
        held = np.diff(starts)
        idf = np.log1p((len(texts) - held + 0.5) / (held + 0.5))
        norm = K1 * (1.0 - B + B * np.maximum(1, lengths) / np.maximum(1, lengths).mean())
        weights = idf[words] * times * (K1 + 1.0) / (times + norm[answers])
        return cls(len(texts), numbers, starts, answers, weights, idf)

    def features(self, question: list[str], answers: list[int]) -> Floats:
        """BM25, and the shares of the question's weight and words that each answer has."""
        words = list(dict.fromkeys(question))
        known = [self.numbers[word] for word in words if word in self.numbers]
        found = np.zeros((3, self.count))
        for number in known:
            held = slice(int(self.starts[number]), int(self.starts[number + 1]))
            rows = self.answers[held]
            found[0, rows] += self.weights[held]
            found[1, rows] += self.idf[number]
            found[2, rows] += 1.0
        found[1] /= float(self.idf[known].sum()) or 1.0
        found[2] /= max(1, len(words))
        return found[:, answers].T


def with_lexical_features(collection: Collection) -> Collection:
    """The same with eight features, from the columns `question` and `answer`. Idf comes from the distinct answers,
    never from a question or a label."""
    queries = collection.queries
    answers = cast("list[str]", queries.columns["answer"].tolist())
    places = {text: place for place, text in enumerate(dict.fromkeys(answers))}
    rows = [places[text] for text in answers]
    questions = [_words(text) for text in cast(Any, queries.columns["question"]).tolist()]
    texts = [_words(text) for text in places]
    blocks: list[Floats] = []
    for cut in (None, BEGINNING):
        corpus = _Corpus.of([[word[:cut] for word in words] for words in texts])
        found = [
            corpus.features([word[:cut] for word in question], rows[begin:end])
            for question, (begin, end) in zip(questions, pairwise(queries.offsets.tolist()), strict=True)
        ]
        blocks.append(np.concatenate(found))
    lengths = np.log1p(np.array([len(words) for words in texts], np.float64))[rows]
    asked = np.repeat(np.log1p(np.array([len(words) for words in questions], np.float64)), queries.sizes)
    features: Singles = np.column_stack([*blocks, lengths, asked]).astype(np.float32)
    return replace(collection, features=features, feature_names=NAMES)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
