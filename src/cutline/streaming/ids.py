"""Which queries a pass has met: a query that comes back after others have come is one whose rows lie scattered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
KEY = np.uint64(0x5BD1E9955BD1E995)


class ScatteredError(Exception):
    """A query has rows in several places."""


def hashes_of(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], count: int, key: np.uint64 = KEY) -> Hashes:
    """64-bit hashes of texts. Two that share one are taken for the same: that costs a pass, and changes no answer."""
    from cutline.kernels.texts import hash_texts

    hashes = np.empty(count, np.uint64)
    hash_texts(data, offsets, key, hashes)
    return hashes


class Met:
    """The hashes of queries met so far: sorted runs of doubling length, beyond `most` bytes on disk."""

    def __init__(self, most: int, folder: Path) -> None:
        self.most, self.folder = most, folder
        self.runs: list[Hashes] = []
        self.stored: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        """Meet some more; one that was met before is found now or when its run is merged, at the latest in `finish`."""
        run = np.sort(hashes)
        _refuse_repeats(run)
        while self.runs and len(self.runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self.runs.pop(), run]))
            _refuse_repeats(run)
        self.runs.append(run)
        if sum(each.nbytes for each in self.runs) > self.most:
            self._store()

    def _store(self) -> None:
        run = np.sort(np.concatenate(self.runs))
        _refuse_repeats(run)
        path = self.folder / f"ids-{len(self.stored)}"
        run.tofile(path)
        self.stored.append(np.asarray(np.memmap(path, np.uint64, "r")))
        self.runs = []

    def finish(self) -> None:
        """Look at all of them together, a range of hashes at a time."""
        runs: list[Hashes] = [*self.stored, *self.runs]
        total = sum(len(run) for run in runs)
        pieces = max(1, -(-total * 8 * 2 // max(1, self.most)))
        edges = [np.uint64(2**64 * piece // pieces) for piece in range(pieces)]
        for piece in range(pieces):
            parts: list[Hashes] = []
            for run in runs:
                begin = int(np.searchsorted(run, edges[piece]))
                end = int(np.searchsorted(run, edges[piece + 1])) if piece + 1 < pieces else len(run)
                parts.append(np.asarray(run[begin:end]))
            if len(parts) > 1:
                _refuse_repeats(np.sort(np.concatenate(parts)))


def _refuse_repeats(run: Hashes) -> None:
    if bool((run[1:] == run[:-1]).any()):
        raise ScatteredError
