"""From the files that a command names to queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cutline.cli.console import progress_of, working
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate
    from cutline.io.gathering import Gathered
    from cutline.io.sheets import Sheet
    from cutline.io.vectors import VectorTable


def certificate_of(path: Path, scores: Path) -> Certificate | Abstention:
    """The certificate of a command, which comes before the scores."""
    from cutline.certificate import load

    if _is_certificate(scores) and not _is_certificate(path):
        raise InputError(
            f"{path} is no certificate, and {scores} is one: CERT comes first, then SCORES; were the two swapped?"
        )
    return load(path)


def _is_certificate(path: Path) -> bool:
    """Whether a file begins as a certificate does."""
    try:
        with path.open("rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return head.lstrip().startswith(b"{") and b'"schema"' in head and b'"cutline"' in head


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
    vectors: str | None = None  # a column, or a file
    memory: int | None = None  # bytes

    def __post_init__(self) -> None:
        self._check_labels()
        self._check_columns()

    def _check_labels(self) -> None:
        """Judgments in a file of their own are in another one than the scores."""
        if self.labels is not None and self.labels.resolve() == self.scores.resolve():
            raise InputError(
                f"--labels names the file of scores itself, {self.labels}; leave --labels out where the scores have a "
                "label column, or name a file of judgments"
            )

    def _check_columns(self) -> None:
        """One column plays one role; that of the labels may be in another file."""
        from cutline._columns import flag_of

        given: dict[str, str] = {}
        told = {role: name for role, name in self.columns.items() if role != "label" or self.labels is None}
        if self.vectors is not None and self._vector_file is None:
            told["vector"] = self.vectors
        for role, name in told.items():
            if name in given:
                raise InputError(f"{name!r} was given to {given[name]} and {flag_of(role)}; name a column for each")
            given[name] = flag_of(role)

    @property
    def paths(self) -> list[Path]:
        """All files that are read; a folder or a pattern is the files that it stands for."""
        from cutline.streaming.files import files_of

        named = (self.labels, self.predictions, self.groups, self._vector_file)
        return [*files_of(self.scores), *(path for path in named if path is not None)]

    @property
    def in_chunks(self) -> bool:
        """Whether the scores are read in chunks: several files, or one whose rows would take more than a quarter of the
        memory. It is a question of room only: the answer is the same."""
        from cutline.streaming.stream import reads_in_chunks

        return self.predictions is None and reads_in_chunks(self.scores, self.format, self.memory)

    @property
    def _vector_file(self) -> Path | None:
        """The file of vectors, where --vectors names one and no column."""
        if self.vectors is None:
            return None
        return path if (path := Path(self.vectors)).is_file() else None

    def vectors_of(self, *, wanted: bool) -> bool | VectorTable:
        """Where vectors come from, if they are wanted: a column of the scores (True), or a file of their own."""
        if not wanted or (path := self._vector_file) is None:
            return wanted
        from cutline.io.vectors import read_vectors

        with progress_of(path) as progress:
            return read_vectors(path, progress=progress)

    def _scores(self, *, roles: Sequence[str], keep: Sequence[str] | None, vectors: bool) -> Sheet:
        """The rows of the scores, with the column of vectors where it is one."""
        from cutline._columns import Wording
        from cutline.io.reading import read_scores

        column = vectors and self._vector_file is None
        named = {"vector": self.vectors} if column and self.vectors is not None else {}
        with progress_of(self.scores) as progress:
            return read_scores(
                self.scores, columns={**self.columns, **named}, wording=Wording(str(self.scores), flags=True),
                format=self.format, predictions=self.predictions, groups=self.groups,
                keep=None if keep is None else tuple(keep), only=[*roles, *(["vector"] if column else [])],
                progress=progress,
            )  # fmt: skip

    @staticmethod
    def told(gathered: Gathered) -> str:
        """What was read, for a user to see whether it is what was meant."""
        return reading_told(gathered.sheet.source, gathered.sheet.format, gathered.sheet.roles, gathered.judged)

    def judged(self, *, by: Sequence[str] = (), vectors: bool = False) -> Gathered:
        """Queries with labels, from the scores or from judgments of their own."""
        from cutline.io.gathering import gather

        roles = ["query_id", "item_id", "score", *(["label"] if self.labels is None else [])]
        sheet = self._scores(roles=roles, keep=by, vectors=vectors)
        table = self.vectors_of(wanted=vectors)
        if self.labels is None:
            if not sheet.has("label"):
                raise InputError(f"{sheet.source} has no labels; name a file of judgments with --labels QRELS")
            with working("Looking at the rows"):
                found = gather(sheet, columns=by, vectors=table)
            if not found.judged:
                raise InputError(
                    f"{sheet.source}: the column {sheet.roles['label']!r} has no labels, every one is missing; fill "
                    "it, or name a file of judgments with --labels QRELS"
                )
            return found
        judgments = self.judgments(self.labels)
        with working("Looking up the labels"):
            return gather(sheet, judgments, columns=by, vectors=table)

    def judgments(self, path: Path) -> Sheet:
        """The file of judgments."""
        from cutline._columns import Wording
        from cutline.io.reading import read_judgments

        with progress_of(path) as progress:
            return read_judgments(
                path, columns=self.columns, wording=Wording(str(path), flags=True),
                format=self.labels_format, progress=progress,
            )  # fmt: skip

    def scored(self, *, vectors: bool) -> Gathered:
        """Queries with everything that their file holds, labels unread."""
        from cutline.io.gathering import gather

        sheet = self._scores(roles=["query_id", "item_id", "score"], keep=None, vectors=vectors)
        table = self.vectors_of(wanted=vectors)
        with working("Looking at the rows"):
            return gather(sheet, vectors=table)


def reading_told(source: str, form: str, roles: dict[str, str], judged: float | None, how: str = "") -> str:
    """What was read, as one sentence."""
    from cutline.statements import percent

    column = "" if form in ("trec", "letor") else f" scores in {roles['score']!r},"
    if "vector" in roles:
        column += f" vectors in {roles['vector']!r},"
    share = "" if judged is None else f" {percent(judged)} of items judged"
    return f"Read {source}{how}:{column}{share}".rstrip(",:") + "."
