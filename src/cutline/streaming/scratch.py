"""Room on disk for a while: folders that a later run can tell to be left over, and takes away."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from cutline._files import hold, is_left_over
from cutline.errors import InputError

PREFIX, LOCK = "cutline-rows-", "lock"


@contextmanager
def scratch() -> Generator[Path]:
    """A folder in the system's place for temporary files (TMPDIR), gone at the end. What runs that were killed left
    there goes too: a folder belongs to a run that lives as long as its lock is held, or its process is there."""
    home = Path(tempfile.gettempdir())
    reclaim(home)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=home))
    except OSError as error:
        raise InputError(f"{home}: no folder for temporary rows ({error.strerror}); set TMPDIR") from None
    try:
        with (folder / LOCK).open("wb") as lock:
            hold(lock)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reclaim(home: Path) -> None:
    """Take away the folders of runs that are no more."""
    for folder in home.glob(f"{PREFIX}*"):
        with suppress(OSError):
            owner = folder.name.removeprefix(PREFIX).split("-")[0]
            if is_left_over(owner, folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
