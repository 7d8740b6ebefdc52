"""A folder that keeps feature matrices: one array that is mapped into memory, and beside it labels and ids, without
pickle. Both are written under temporary names; the matrix is renamed last, so that it is there when all is."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutline._arrays import objects_of
from cutline._display import shown
from cutline._files import shortened, whole_file
from cutline.errors import InputError
from cutline.io.letor_features import Text, read_values
from cutline.queries import Queries

Features = npt.NDArray[np.float32]
_LAYOUT = 1  # of what is kept: another number, and nothing older is found


def folder_of(cache: Any) -> Path:
    """The folder, made where it is not there."""
    try:
        folder = Path(cache)
    except TypeError:
        raise InputError(f"cache must be the path of a folder, got {shown(cache)}") from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cache: {shortened(cache)} cannot be made ({error.strerror}); name a folder") from None
    return folder


def stem_of(path: Path, groups: Path | None, width: int | None) -> str:
    """What a file's matrix is called: another name for another path, size, time, width or file of groups."""
    told: list[object] = [_LAYOUT, width]
    for each in (path, groups):
        if each is not None:
            status = each.stat()
            told += [str(each.resolve()), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    digest = hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return f"{path.name.split('.')[0][:40]}-{digest}"


def found(folder: Path, stem: str) -> tuple[Features, Queries] | None:
    """What is kept under this name; None where there is nothing, or nothing whole."""
    matrix, rest = _files(folder, stem)
    try:
        features = cast("Features", np.load(matrix, mmap_mode="r", allow_pickle=False))
        with rest.open("rb") as file, np.load(file, allow_pickle=False) as held:
            offsets, labels, query_ids, item_ids = (held[name] for name in _ARRAYS)
            queries = Queries(np.zeros(len(labels)), offsets, labels, None, _unpacked(query_ids), _unpacked(item_ids))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    right = features.ndim == 2 and len(features) == queries.n_items and features.dtype == np.float32
    return (features, queries) if right else None


def kept(folder: Path, stem: str, text: Text) -> tuple[Features, Queries]:
    """Read the values into a file of this folder, and map it."""
    matrix, rest = _files(folder, stem)
    shape = (len(text), text.width)
    with whole_file(matrix) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(cast("Any", file), cast("Any", header))
        begin = file.tell()
        file.truncate(begin + 4 * shape[0] * shape[1])
        file.flush()
        features = np.memmap(file, "<f4", "r+", begin, shape)
        queries = text.queries(read_values(text, features))
        features.flush()
        arrays: tuple[Any, ...] = (
            queries.offsets,
            queries.labels,
            _packed(text.query_ids.tolist()),
            _packed(text.item_ids.tolist()),
        )
        with whole_file(rest) as beside:
            np.savez(cast("Any", beside), allow_pickle=False, **dict(zip(_ARRAYS, arrays, strict=True)))
        del features
    return cast("Features", np.load(matrix, mmap_mode="r", allow_pickle=False)), queries


_ARRAYS = ("offsets", "labels", "query_ids", "item_ids")


def _files(folder: Path, stem: str) -> tuple[Path, Path]:
    return folder / f"{stem}.features.npy", folder / f"{stem}.queries.npz"


def _packed(ids: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Ids, none of which holds a line end, as the bytes of a text."""
    return np.frombuffer("\n".join(ids).encode(), np.uint8)


def _unpacked(packed: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    return objects_of(packed.tobytes().decode().split("\n"))
