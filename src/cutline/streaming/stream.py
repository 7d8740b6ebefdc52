"""A stream of scored lists: files that are read pass by pass in chunks of whole queries, in memory that does not grow
with them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from cutline._columns import Wording
from cutline.errors import InputError, warn
from cutline.io.formats import Format, format_to_read
from cutline.io.sheets import Wish
from cutline.io.sources import Source, source_of
from cutline.io.tables import kept_columns, roles_of
from cutline.streaming import parquet, text
from cutline.streaming.buckets import DEEPEST, MOST, Bucket, bucketed, chunk_of_bucket, parts_of_bucket
from cutline.streaming.chunks import Chunk, chunks_of, decoded, worked
from cutline.streaming.files import STREAMED, Stamp, files_of, is_many, stamped
from cutline.streaming.ids import Met, ScatteredError
from cutline.streaming.parts import Part, Share
from cutline.streaming.scratch import scratch

Answer = TypeVar("Answer")
MEMORY = 840 << 20  # bytes, beside what Python and its libraries take: below 1 GiB in all
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}


@dataclass(slots=True, eq=False, kw_only=True)
class Stream:
    """Files with the same columns, and what is known of them by now. Made by `opened`."""

    name: str
    stamps: list[Stamp]
    form: Format
    roles: dict[str, str]
    columns: list[str]
    share: Share
    folder: Path
    pool: ThreadPoolExecutor
    cells: list[text.Cells] = field(default_factory=list[text.Cells])
    adjacent: bool | None = None  # None until a pass has shown it
    buckets: list[Bucket] = field(default_factory=list[Bucket])

    def results(self, work: Callable[[Chunk], Answer], roles: Sequence[str] | None = None) -> Iterator[Answer]:
        """One pass: what becomes of each chunk of whole queries, in the order of the file, or of the buckets. Of the
        roles only those named are read, and all else (None). Files without any row are refused."""
        columns = self.columns if roles is None else [self.roles[role] for role in roles if role in self.roles]
        empty = True
        with closing(self._chunks(columns)) as chunks:
            for answer in worked(chunks, work, self.pool):
                empty = False
                yield answer
        self._check()
        if empty:
            raise InputError(f"{self.name} {'holds' if self.form.name == 'trec' else 'has columns and'} no rows")

    def settled(self, run: Callable[[], Answer]) -> Answer:
        """Run passes; where one finds that the rows have to be looked at otherwise, do so, and run them again."""
        scattered = False
        for _ in range(2 + 2 * len(self.cells)):
            try:
                if scattered and self.adjacent is None:
                    self._scatter()
                    self._check()
                return run()
            except text.ReparseError:
                self._check()
            except ScatteredError:
                self._check()
                self._say_scattered()
                scattered = True
            except InputError:
                self._check()  # a file that is written to meanwhile looks damaged
                raise
        return run()

    def _check(self) -> None:
        """Refuse files that are others by now."""
        for stamp in self.stamps:
            stamp.check()

    def _chunks(self, columns: list[str]) -> Generator[Chunk]:
        if self.adjacent is False:
            for bucket in self.buckets:
                yield chunk_of_bucket(bucket, self.roles, self.form.name)
            return
        met = Met(self.share.ids, self.folder) if self.adjacent is None else None
        pieces = decoded(self._parts(columns), self._known(columns), self.form.name, self.pool)
        yield from chunks_of(pieces, met)
        self.adjacent = True

    def _known(self, columns: list[str]) -> dict[str, str]:
        return {role: name for role, name in self.roles.items() if name in columns}

    def _parts(self, columns: list[str]) -> Iterator[Part]:
        for place, stamp in enumerate(self.stamps):
            if self.form.name == "parquet":
                yield from parquet.parts_of(stamp.source, columns, [self.roles["query_id"]], self.share)
            elif self.form.name == "trec":
                yield from text.run_parts(stamp.source, columns)
            else:
                yield from text.cell_parts(self.cells[place], columns, self.roles)

    def _say_scattered(self) -> None:
        warn(
            f"{self.name}: rows of a query are not adjacent; they are brought together in {self.folder.parent} first, "
            "which takes a pass over the file and its size on disk"
        )

    def _scatter(self) -> None:
        """Bring the rows of each query together on disk."""
        shutil.rmtree(self.folder / "rows", ignore_errors=True)  # of a pass that was broken off
        size = sum(stamp.size for stamp in self.stamps)
        count = min(MOST, max(2, -(-size * 6 // self.share.per_part)))
        source = Source(Path(self.name))
        pieces = decoded(self._parts(self.columns), self.roles, self.form.name, self.pool)
        with closing(pieces):
            found = bucketed(pieces, self.folder / "rows", pool=self.pool, source=source, count=count)
        while large := [each for each in found if each.size > 4 * self.share.per_part and each.depth < DEEPEST]:
            for bucket in large:
                place = found.index(bucket)
                again = decoded(parts_of_bucket(bucket), self.roles, self.form.name, self.pool)
                folder = bucket.path.with_name(f"{bucket.path.name}-")
                found[place : place + 1] = bucketed(
                    again, folder, pool=self.pool, source=source, count=MOST, depth=bucket.depth + 1, row=bucket.row
                )
                bucket.path.unlink()
        self.buckets, self.adjacent = found, False


@contextmanager
def opened(
    path: Path,
    *,
    columns: dict[str, str] | None = None,
    format: str | None = None,
    roles: Sequence[str] = ("query_id", "item_id", "score", "label"),
    keep: Sequence[str] | None = (),
    memory: int = MEMORY,
    wording: Wording | None = None,
) -> Generator[Stream]:
    """The files that a path stands for, as a stream: parquet, CSV or TREC runs; one file, a folder or a pattern.
    `roles` are those read, `keep` names other columns (None: all)."""
    from cutline.kernels._compile import workers

    paths = files_of(path)
    stamps = stamped(paths)
    wording = Wording(str(path)) if wording is None else wording
    form = format_to_read(stamps[0].source, format, flag="--format" if wording.flags else "format=")
    if form.name not in STREAMED:
        raise InputError(f"{path}: {form.name} is not read in chunks; write parquet, CSV or a TREC run")
    for stamp in stamps[1:]:
        if (other := format_to_read(stamp.source, format, flag="--format")).name != form.name:
            raise InputError(f"{stamp.source.name} is {other.name}, and {stamps[0].source.name} is {form.name}")
    wish = Wish(columns or {}, ("query_id", "score"), wording, None if keep is None else tuple(keep), only=tuple(roles))
    with ExitStack() as held:
        stream = _found(stamps, form, wish, str(path), Share(memory), held.enter_context(scratch()), workers())
        held.callback(stream.pool.shutdown, wait=True, cancel_futures=True)
        yield stream


def _found(
    stamps: list[Stamp], form: Format, wish: Wish, name: str, share: Share, folder: Path, pool: ThreadPoolExecutor
) -> Stream:
    """A stream with its columns, which must be those of every file."""
    first = stamps[0].source
    made = partial(Stream, name=name, stamps=stamps, form=form, share=share, folder=folder, pool=pool)
    if form.name == "trec":
        kept = [role for role in ("query_id", "item_id", "score") if wish.reads(role)]
        kept += ["tag"] if wish.keep is None else []
        return made(roles={role: role for role in kept}, columns=kept)
    if form.name == "parquet":
        schema = parquet.schema_of(first)
        roles = roles_of(first, list(schema.names), wish)
        kept = kept_columns(schema.names, roles, wish)
        for stamp in stamps[1:]:
            parquet.check_alike(stamp.source, parquet.schema_of(stamp.source), kept, first, schema)
        return made(roles=roles, columns=kept)
    cells = [text.cells_of(stamp.source, DELIMITERS[form.name], wish) for stamp in stamps]
    names = cells[0].layout.names
    roles = {role: column for role, column in roles_of(first, names, wish).items() if role != "vector"}
    kept = kept_columns(names, roles, wish)
    for one in cells[1:]:
        for column in kept:
            if column not in one.layout.names:
                raise InputError(f"{one.source.name} has no column {column!r}, which {first.name} has")
    return made(roles=roles, columns=kept, cells=cells)


def reads_in_chunks(path: Path, format: str | None, memory: int | None) -> bool:
    """Whether a path is read in chunks: several files, or one whose rows would take more than a quarter of the
    memory."""
    if is_many(path):
        return True
    if not path.is_file() or not path.stat().st_size:
        return False
    source = source_of(path)
    form = format_to_read(source, format, flag="--format").name
    if form not in STREAMED or (form == "parquet" and source.gzipped):
        return False
    return _size(source, form) > (MEMORY if memory is None else memory) // 4


def _size(source: Source, form: str) -> int:
    """About how many bytes the rows of a file take when they are read whole."""
    written = source.path.stat().st_size
    if form == "parquet":
        return parquet.uncompressed(source, list(parquet.schema_of(source).names))
    return 2 * (max(4 * written, _unpacked(source.path)) if source.gzipped else written)


def _unpacked(path: Path) -> int:
    """What the last four bytes of gzipped data say of its size without: right below 4 GiB. Those of a file that was cut
    off may say anything; no data shrink to less than a part in 1032."""
    written = path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(4, written), 2)
        return min(int.from_bytes(file.read(4), "little"), 1032 * written)
