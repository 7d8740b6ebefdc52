"""From the files that a command names to queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cutline.cli.console import reading, working
from cutline.errors import InputError, warn

if TYPE_CHECKING:
    from cutline.io.gathering import Gathered


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files of scores and judgments, and how they are to be read."""

    scores: Path
    columns: dict[str, str] = field(default_factory=dict[str, str])
    format: str | None = None
    predictions: Path | None = None
    groups: Path | None = None
    labels: Path | None = None
    labels_format: str | None = None

    @property
    def paths(self) -> list[Path]:
        """All files that are read."""
        named = (self.scores, self.labels, self.predictions, self.groups)
        return [path for path in named if path is not None]

    def judged(self, *, by: Sequence[str] = (), vectors: bool = False) -> Gathered:
        """Queries with labels, from the scores or from judgments of their own."""
        from cutline._columns import Wording
        from cutline.io.gathering import gather
        from cutline.io.reading import read_judgments, read_scores

        roles = ["query_id", "item_id", "score", *(["label"] if self.labels is None else [])]
        with reading(self.scores) as progress:
            sheet = read_scores(
                self.scores, columns=self.columns, wording=Wording(str(self.scores), flags=True), format=self.format,
                predictions=self.predictions, groups=self.groups, keep=tuple(by),
                only=[*roles, *(["vector"] if vectors else [])], progress=progress,
            )  # fmt: skip
        if self.labels is None:
            if not sheet.has("label"):
                raise InputError(f"{sheet.source} has no labels; name a file of judgments with --labels QRELS")
            with working("Looking at the rows"):
                return gather(sheet, columns=by, vectors=vectors)
        with reading(self.labels) as progress:
            judgments = read_judgments(
                self.labels, columns=self.columns, wording=Wording(str(self.labels), flags=True),
                format=self.labels_format, progress=progress,
            )  # fmt: skip
        with working("Looking up the labels"):
            gathered = gather(sheet, judgments, columns=by, vectors=vectors)
        if gathered.unjudged:
            total = gathered.unjudged + len(gathered.queries)
            warn(
                f"{gathered.unjudged:,} of {total:,} queries of {sheet.source} are not in {judgments.source}: nobody "
                "judged them, and they are left out"
            )
        return gathered

    def scored(self, *, vectors: bool) -> Gathered:
        """Queries with everything that their file holds, labels unread."""
        from cutline._columns import Wording
        from cutline.io.gathering import gather
        from cutline.io.reading import read_scores

        only = ["query_id", "item_id", "score", *(["vector"] if vectors else [])]
        with reading(self.scores) as progress:
            sheet = read_scores(
                self.scores, columns=self.columns, wording=Wording(str(self.scores), flags=True), format=self.format,
                predictions=self.predictions, groups=self.groups, keep=None, only=only, progress=progress,
            )  # fmt: skip
        with working("Looking at the rows"):
            return gather(sheet, vectors=vectors)
