"""Texts to vectors by a language model that is already on this machine. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import same_length
from cutline._checks import check_whole
from cutline._display import shown
from cutline._extras import library
from cutline._files import shortened
from cutline._tables import check_is_queries
from cutline.errors import InputError
from cutline.queries import Queries

Singles = npt.NDArray[np.float32]

PAPER = "distilbert-base-uncased"
NAMES = {PAPER: (PAPER, f"distilbert/{PAPER}")}  # a cache may have it under either
AT_ONCE = 1 << 13  # texts that are split into tokens, and sorted by their number, together


def encode(
    queries_text: Sequence[str],
    documents_text: Sequence[str] | None = None,
    *,
    queries: Queries | None = None,
    model: str | PathLike[str] = PAPER,
    batch_texts: int = 32,
    max_tokens: int = 512,
    progress: Callable[[int], object] | None = None,
) -> Singles:
    """Features (n_items, 2·width): the vector of the query beside the vector of the document, 768 + 768 of the paper's.

    There is one query text per document; or, with `queries`, one per query, `documents_text` being those of its items.
    Without documents the vectors of the texts alone, (n_texts, width), as `Diverse` takes them.

    `model` is a folder with a model of Hugging Face transformers, or a name that is in its cache. A text is cut after
    `max_tokens` tokens (or as many as the model takes); its vector is the mean of the last layer over its tokens.
    Each distinct text is encoded once, `batch_texts` of about one length at a time. What a text is encoded beside moves
    its vector by rounding only. `progress` is called with the number of texts that are done, after each batch.
    """
    width = check_whole("batch_texts", batch_texts, least=1)
    longest = check_whole("max_tokens", max_tokens, least=1)
    asked, answered = _paired(queries_text, documents_text, queries)
    encoder = _Encoder.of(model, longest)
    columns = [asked] if answered is None else [asked, answered]
    rows = {text: row for row, text in enumerate(dict.fromkeys(text for texts in columns for text in texts))}
    vectors = encoder.vectors(list(rows), width, progress)
    return np.concatenate([vectors[[rows[text] for text in texts]] for texts in columns], axis=1)


def _paired(queries_text: Any, documents_text: Any, queries: Queries | None) -> tuple[list[str], list[str] | None]:
    """One query text per document text, checked."""
    asked = _checked_texts("queries_text", queries_text)
    answered = None if documents_text is None else _checked_texts("documents_text", documents_text)
    if queries is not None:
        check_is_queries(queries)
        if answered is None:
            raise InputError("documents_text is needed with queries: one text per item")
        same_length("queries_text", len(asked), len(queries), "query")
        same_length("documents_text", len(answered), queries.n_items, "item")
        of_item: list[int] = queries.query_of_item().tolist()
        asked = [asked[query] for query in of_item]
    elif answered is not None and len(asked) != len(answered):
        raise InputError(
            f"queries_text must have one text per document, {len(answered):,} in all, got {len(asked):,}; with one per "
            "query pass queries="
        )
    return asked, answered


def _checked_texts(name: str, texts: Any) -> list[str]:
    if isinstance(texts, str | bytes) or not hasattr(texts, "__iter__"):
        raise InputError(f"{name} must be a list of texts, got {shown(texts)}")
    listed: list[Any] = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"{name} must be texts, got {shown(text)} in row {row}; an empty text is ''")
    return listed


@dataclass(frozen=True, slots=True, eq=False)
class _Encoder:
    """A model, its tokenizer, and how many tokens it takes."""

    torch: Any
    tokenizer: Any
    model: Any
    longest: int

    @classmethod
    def of(cls, model: str | PathLike[str], longest: int) -> _Encoder:
        """What a folder or the cache holds."""
        torch = library("torch", extra="text", what="encode")
        transformers = library("transformers", extra="text", what="encode")
        tokenizer, found = _loaded(transformers, model)
        if tokenizer.pad_token is None:  # what pads is masked, so any token will do
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        most = (longest, tokenizer.model_max_length, getattr(found.config, "max_position_embeddings", longest))
        return cls(torch, tokenizer, found.eval(), min(most))

    def vectors(self, texts: list[str], batch_texts: int, progress: Callable[[int], object] | None) -> Singles:
        """One vector per text."""
        found = np.zeros((len(texts), self.model.config.hidden_size), np.float32)
        done = 0
        for rows, tokens in self._batches(texts, batch_texts):
            found[rows] = self._means(tokens)
            done += len(rows)
            if progress is not None:
                progress(done)
        return found

    def _batches(self, texts: list[str], batch_texts: int) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Rows and their tokens, texts of about one length together, the longest of some thousand first."""
        for start in range(0, len(texts), AT_ONCE):
            some = texts[start : start + AT_ONCE]
            tokens: list[list[int]] = self.tokenizer(some, truncation=True, max_length=self.longest)["input_ids"]
            order = sorted(range(len(some)), key=lambda row: (-len(tokens[row]), row))
            order = [row for row in order if tokens[row]]  # a text of no tokens has no vector but 0
            for first in range(0, len(order), batch_texts):
                rows = order[first : first + batch_texts]
                yield [start + row for row in rows], [tokens[row] for row in rows]

    def _means(self, tokens: list[list[int]]) -> Singles:
        """The mean of the last layer over the tokens of each text, padding left out."""
        # on the right, whatever the model does by itself: on the left a text's places would follow its neighbours
        padded = self.tokenizer.pad({"input_ids": tokens}, padding=True, padding_side="right", return_tensors="pt")
        with self.torch.inference_mode():
            last = self.model(input_ids=padded["input_ids"], attention_mask=padded["attention_mask"]).last_hidden_state
            mask = padded["attention_mask"][:, :, None].to(last.dtype)
            return ((last * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)).float().numpy()


def _loaded(transformers: Any, model: str | PathLike[str]) -> tuple[Any, Any]:
    if not isinstance(cast(Any, model), str | PathLike):
        raise InputError(f"model must be a folder or the name of a model, got {shown(model)}")
    problem: Exception | None = None
    for name in NAMES.get(str(model), (str(model),)):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True)
            return tokenizer, transformers.AutoModel.from_pretrained(name, local_files_only=True)
        except (OSError, ValueError, KeyError) as refused:
            problem = refused
    if Path(model).is_dir():
        reason = " ".join(str(problem).split())
        raise InputError(f"{shortened(model)} does not hold a model that transformers can read: {reason}") from None
    raise InputError(
        f"model {shortened(model)!r} is neither a folder nor in the cache of Hugging Face, and nothing is downloaded "
        f"here; where there is a network run `hf download {shortened(model)} --local-dir encoder`, copy the folder to "
        'this machine, and pass model="encoder"'
    ) from None
