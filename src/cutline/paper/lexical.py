"""Features of a question and an answer from the words that they share, where there is no language model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline.datasets import Collection

Floats = npt.NDArray[np.float64]
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
    """Answers as bags of words: how often each word occurs in each, idf = log(1 + (N - n + ½)/(n + ½))."""

    bags: list[Counter[str]]
    lengths: Floats
    idf: dict[str, float]

    @classmethod
    def of(cls, texts: Sequence[list[str]]) -> _Corpus:
        bags = [Counter(words) for words in texts]
        held = Counter(word for bag in bags for word in bag)
        count = len(bags)
        idf = {word: float(np.log1p((count - n + 0.5) / (n + 0.5))) for word, n in held.items()}
        return cls(bags, np.array([max(1, len(words)) for words in texts], np.float64), idf)

    def features(self, question: list[str], answers: list[int]) -> list[tuple[float, float, float]]:
        """BM25, and the shares of the question's weight and words that each answer has."""
        words = list(dict.fromkeys(question))
        weights = [self.idf.get(word, 0.0) for word in words]
        whole, mean = sum(weights) or 1.0, float(self.lengths.mean())
        found: list[tuple[float, float, float]] = []
        for answer in answers:
            bag = self.bags[answer]
            norm = K1 * (1.0 - B + B * float(self.lengths[answer]) / mean)
            score = covered = shared = 0.0
            for word, weight in zip(words, weights, strict=True):
                if times := bag.get(word, 0):
                    score += weight * times * (K1 + 1.0) / (times + norm)
                    covered += weight
                    shared += 1.0
            found.append((score, covered / whole, shared / max(1, len(words))))
        return found


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
        blocks.append(np.array([each for of_query in found for each in of_query]).reshape(-1, 3))
    lengths = np.log1p(np.array([len(words) for words in texts], np.float64))[rows]
    asked = np.repeat(np.log1p(np.array([len(words) for words in questions], np.float64)), queries.sizes)
    features: Singles = np.column_stack([*blocks, lengths, asked]).astype(np.float32)
    return replace(collection, features=features, feature_names=NAMES)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
