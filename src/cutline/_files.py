"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from cutline._display import shown
from cutline.errors import InputError


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text under a temporary name beside the path, flush it to disk, and rename it into place."""
    try:
        target = Path(path)
    except TypeError:
        raise InputError(f"path must be the path of a file to write, got {shown(path)}") from None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shortened(path)}: cannot be written ({reason}); check the folder") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _share_like_others(name)
        Path(name).replace(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); check the path and the disk") from None
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _share_like_others(name: str) -> None:
    """A temporary file is private; give it the permissions that an ordinary new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)


def shortened(path: object) -> str:
    """A path as it is shown in a message: what is no path at all may be a whole file."""
    shown = str(path)
    return shown if len(shown) <= 200 else f"{shown[:60]}… ({len(shown):,} characters)"
