"""What a user names as SCORES when it is read in chunks: one file, a folder of files, or a pattern. None may change."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from cutline._files import shortened
from cutline.errors import InputError
from cutline.io.formats import KNOWN, suffix_of
from cutline.io.sources import Source, source_of

STREAMED = ("parquet", "csv", "tsv", "trec")  # forms that are read in chunks


def files_of(path: Path) -> list[Path]:
    """The files that a path stands for: itself, those below a folder, or those that a pattern (*, ?, [...], **) names;
    in the order of their names. Names that begin with a dot or an underscore say that they hold no rows, unless the
    pattern itself begins so there."""
    if path.is_dir():
        below = (each for each in path.rglob("*") if each.is_file() and not _hidden(each.relative_to(path)))
        found = sorted(each for each in below if suffix_of(each) in KNOWN)
        if not found:
            raise InputError(f"{shortened(path)} is a folder without files of rows in it; known are {' '.join(KNOWN)}")
        return found
    if is_pattern(path):
        below = Path(path.anchor or ".").glob(_below(path))
        found = sorted(each for each in below if each.is_file() and not _hidden(each, path.parts))
        if not found:
            raise InputError(f"{shortened(path)}: no file has such a name; check the pattern")
        return found
    return [path]


def is_many(path: Path) -> bool:
    """Whether a path is a folder or a pattern, and so may stand for several files."""
    return path.is_dir() or is_pattern(path)


def is_pattern(path: Path) -> bool:
    """Whether a path is no file and has the marks of a pattern."""
    return not path.exists() and glob.has_magic(str(path))


def _below(path: Path) -> str:
    return str(path.relative_to(path.anchor))


def _hidden(path: Path, named: tuple[str, ...] = ()) -> bool:
    hidden = (part for part in path.parts if part.startswith((".", "_")))
    return any(not any(each[0] == part[0] and fnmatch(part, each) for each in named) for part in hidden)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it was when reading began."""

    source: Source
    size: int
    changed: int
    inode: int
    device: int

    def check(self) -> None:
        """Refuse a file that is another one by now: its first rows and its last might not belong together."""
        if _stamp(self.source) != self:
            raise InputError(f"{self.source.name} changed while it was read; wait until it is written, and start again")


def stamped(paths: list[Path]) -> list[Stamp]:
    """The files, each there and holding something."""
    return [_stamp(source_of(path)) for path in paths]


def _stamp(source: Source) -> Stamp:
    try:
        known = source.path.stat()
    except OSError:
        return Stamp(source, -1, -1, -1, -1)
    return Stamp(source, known.st_size, known.st_mtime_ns, known.st_ino, known.st_dev)
