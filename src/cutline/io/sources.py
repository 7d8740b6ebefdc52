"""Opening what a user names: plain or gzipped bytes, with a count of those read, and errors that name the file."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutline._files import shortened
from cutline.errors import InputError
from cutline.io.arrow import Buffer, Stream, pa

Progress = Callable[[int], None]
HEAD = 1 << 16  # bytes that show what a file is
BLOCK = 1 << 22  # bytes read at a time
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file to read. `progress` is told how many more of its bytes, compressed ones if it is compressed, were read."""

    path: Path
    progress: Progress | None = None

    @property
    def name(self) -> str:
        """The path as messages show it."""
        return shortened(self.path)

    @property
    def gzipped(self) -> bool:
        """Whether the name says so."""
        return self.path.suffix.lower() == ".gz"

    @contextmanager
    def open(self) -> Generator[Stream]:
        """Its bytes from the start, decompressed. Where progress is told, all of them are read first: Arrow reads on
        threads of its own, which must not call Python."""
        if self.progress is not None:
            yield pa.BufferReader(self.whole())
            return
        with pa.OSFile(str(self.path)) as raw, self._unpacked(raw) as unpacked:
            yield unpacked

    def head(self) -> bytes:
        """Its first bytes."""
        with Source(self.path).open() as file:
            return file.read(HEAD)

    def whole(self) -> Buffer:
        """All of its bytes, decompressed."""
        gathered, seen = pa.BufferOutputStream(), 0
        with pa.OSFile(str(self.path)) as raw, self._unpacked(raw) as file:
            while block := file.read(BLOCK):
                gathered.write(block)
                if self.progress is not None:
                    self.progress(raw.tell() - seen)
                    seen = raw.tell()
        return gathered.getvalue()

    def _unpacked(self, raw: Stream) -> Stream:
        return pa.CompressedInputStream(raw, "gzip") if self.gzipped else raw

    def lines(self) -> Iterator[bytes]:
        """Its lines, one by one, without their ends: for finding what is wrong, not for reading much."""
        rest = b""
        with Source(self.path).open() as file:
            while block := file.read(1 << 20):
                *lines, rest = (rest + block).split(b"\n")
                yield from (line.removesuffix(b"\r") for line in lines)
        if rest:
            yield rest.removesuffix(b"\r")


def source_of(path: Any, progress: Progress | None = None) -> Source:
    """A file that is there, can be opened and holds something."""
    try:
        source = Source(Path(path), progress)
    except TypeError:
        raise InputError(f"a file is named by its path, got {type(path).__name__}") from None
    try:
        if source.path.is_dir():
            raise InputError(f"{source.name} is a folder; name a file in it")
        if source.path.exists() and not source.path.is_file():
            raise InputError(f"{source.name} is a pipe or a device; save what it gives to a file first")
        with source.path.open("rb") as file:
            start = file.read(2)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{source.name} cannot be read ({reason}); check the path") from None
    if not start:
        raise InputError(f"{source.name} is empty; it should hold rows")
    if source.gzipped and start != GZIP:
        raise InputError(f"{source.name} is not gzipped, as its name says; name it without .gz")
    if not source.gzipped and start == GZIP:
        raise InputError(f"{source.name} is gzipped; name it {source.path.name}.gz")
    return source


@contextmanager
def reading(source: Source) -> Generator[None]:
    """Errors of the libraries that read, as one line that names the file."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, MemoryError, OverflowError) as error:
        raise InputError(f"{source.name} cannot be read: {told(error)}") from None


def told(error: BaseException) -> str:
    """What an error says, on one line and without the parts that only its authors need."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "compressed stream" in text or "zlib" in text.lower():
        return f"its gzip data is damaged or cut off ({text[:80]}); copy it again"
    return text if len(text) <= 200 else f"{text[:200]}…"
