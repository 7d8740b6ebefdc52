"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from cutline._display import shown
from cutline.errors import InputError

PART = ".part"


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    """A file to write under a temporary name beside the path; at the end it is flushed to disk and renamed into place.
    After an error nothing is left of it; what a run that was killed left there goes first."""
    target = writable(path)
    _reclaim(target)
    try:
        prefix = f"{_hidden(target)}{os.getpid()}."
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=PART)
    except (OSError, ValueError) as error:
        _refuse(path, error)
    try:
        with os.fdopen(handle, "wb") as file:
            hold(cast(BinaryIO, file))
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        _share_like_others(name)
        Path(name).replace(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); check the path and the disk") from None
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _hidden(target: Path) -> str:
    return f".{target.name[:100]}."


def _reclaim(target: Path) -> None:
    """Take away parts of this file that were begun by runs that are no more."""
    head = _hidden(target)
    with suppress(OSError):
        for part in target.parent.iterdir():
            if part.name.startswith(head) and part.name.endswith(PART):
                owner = part.name.removeprefix(head).split(".")[0]
                if is_left_over(owner, part):
                    part.unlink(missing_ok=True)


def hold(file: BinaryIO) -> bool:
    """Lock a file for as long as it is open; False where another has it, or the system has no such locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def is_left_over(owner: str, lock: Path) -> bool:
    """Whether what a process began is nobody's: there is no process with this number, and its lock is free."""
    if not owner.isdecimal() or not lock.exists():
        return False
    with lock.open("rb") as file:
        if not hold(file):
            return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def writable(path: object) -> Path:
    """A path at which a file may be written: its folder takes one."""
    try:
        target = Path(cast(Any, path))
    except TypeError:
        raise InputError(f"path must be the path of a file to write, got {shown(path)}") from None
    try:
        target = target.resolve()  # what a link leads to is written, and the link stays
        if target.is_dir():
            raise InputError(f"{shortened(path)}: cannot be written (it is a folder); name a file in it")
        if target.exists() and not target.is_file():
            raise InputError(f"{shortened(path)}: cannot be written (it is a device or a pipe); name a file")
        target.parent.stat()
        if not target.parent.is_dir():
            raise InputError(f"{shortened(path)}: cannot be written ({target.parent.name} is a file); check the folder")
        with tempfile.TemporaryFile(dir=target.parent):
            return target
    except (OSError, ValueError) as error:
        _refuse(path, error)


def _refuse(path: object, error: OSError | ValueError) -> NoReturn:
    if isinstance(error, InputError):
        raise error
    reason = error.strerror if isinstance(error, OSError) else error
    raise InputError(f"{shortened(path)}: cannot be written ({reason}); check the folder") from None


def _share_like_others(name: str) -> None:
    """A temporary file is private; give it the permissions that an ordinary new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)


def shortened(path: object) -> str:
    """A path as it is shown in a message: what is no path at all may be a whole file."""
    shown = str(path)
    return shown if len(shown) <= 200 else f"{shown[:60]}… ({len(shown):,} characters)"
