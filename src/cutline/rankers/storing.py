"""A trained network in a folder: weights as safetensors, the rest as JSON. Nothing in it is executed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
import numpy.typing as npt

from cutline._display import shown
from cutline._extras import library
from cutline._files import shortened, whole_file, writable
from cutline._version import __version__
from cutline.errors import InputError
from cutline.rankers.network import Epoch, Network

WEIGHTS, RECORD = "weights.safetensors", "model.json"
SCHEMA = 1


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """What stands in model.json."""

    schema: int
    cutline: str
    model: str
    sizes: list[int]
    settings: dict[str, Any]
    best: int
    history: list[tuple[float, float | None]]
    sha256: str


def save(
    folder: str | PathLike[str],
    network: Network,
    *,
    settings: dict[str, Any],
    history: Sequence[Epoch],
    best: int,
    seen: npt.NDArray[np.uint64],
) -> None:
    """Both files, the record last: a folder that was left half written does not load."""
    content = _tensors("save").numpy.save({**_named(network), "seen": seen})
    record = _Record(
        schema=SCHEMA,
        cutline=__version__,
        model="lambdarank",
        sizes=list(network.sizes),
        settings=settings,
        best=best,
        history=[(epoch.cost, epoch.ndcg) for epoch in history],
        sha256=hashlib.sha256(content).hexdigest(),
    )
    target = check_writable(folder)
    target.mkdir(exist_ok=True)
    for name, written in ((WEIGHTS, content), (RECORD, msgspec.json.format(msgspec.json.encode(record)) + b"\n")):
        with whole_file(target / name) as file:
            file.write(written)


def load(folder: str | PathLike[str]) -> tuple[Network, dict[str, Any], tuple[Epoch, ...], int, npt.NDArray[np.uint64]]:
    """The network, how it was trained, how each epoch went, which one it is, and marks of the queries it has seen."""
    target = checked_folder(folder)
    record, content = _record(target), _content(target, WEIGHTS)
    if hashlib.sha256(content).hexdigest() != record.sha256:
        _refuse(target, f"{WEIGHTS} is not the file that was saved with {RECORD}")
    tensors = _tensors("load")
    try:
        held = tensors.numpy.load(content)
        seen = np.asarray(held.pop("seen"), np.uint64)
        network = _network(held, len(record.sizes) - 1)
        sizes = [len(network.mean), *(weights.shape[1] for weights in network.weights)]
        shapes = [
            (*weights.shape, *biases.shape) for weights, biases in zip(network.weights, network.biases, strict=True)
        ]
    except (KeyError, ValueError, IndexError, TypeError, tensors.SafetensorError) as problem:
        _refuse(target, f"{WEIGHTS}: {shown(problem)}")
    if sizes != record.sizes or shapes != [(wide, narrow, narrow) for wide, narrow in pairwise(sizes)]:
        _refuse(target, f"{WEIGHTS} holds layers {sizes}, and {RECORD} says {record.sizes}")
    history = tuple(Epoch(number, *each) for number, each in enumerate(record.history, start=1))
    if not 0 <= record.best <= len(history):
        _refuse(target, f"{RECORD} names epoch {record.best} of {len(history)}")
    return network, record.settings, history, record.best, seen


def checked_folder(folder: Any) -> Path:
    """The path of a folder, or of nothing yet."""
    try:
        path = Path(folder)
    except TypeError:
        raise InputError(f"folder must be the path of a folder, got {shown(folder)}") from None
    if path.exists() and not path.is_dir():
        raise InputError(f"{shortened(path)} is a file; a model is a folder with {RECORD} and {WEIGHTS}")
    return path


def check_writable(folder: Any) -> Path:
    """The path of a folder that files can be written into, or that can be made."""
    path = checked_folder(folder)
    writable(path / RECORD if path.is_dir() else path)
    return path


def _named(network: Network) -> dict[str, Any]:
    layers = zip(network.weights, network.biases, strict=True)
    numbered = {f"{n}.{kind}": a for n, layer in enumerate(layers) for kind, a in zip("wb", layer, strict=True)}
    return {"mean": network.mean, "inverse": network.inverse, **numbered}


def _network(tensors: dict[str, Any], n_layers: int) -> Network:
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("a weight is not finite")
    return Network(
        weights=tuple(tensors[f"{n}.w"] for n in range(n_layers)),
        biases=tuple(tensors[f"{n}.b"] for n in range(n_layers)),
        mean=tensors["mean"],
        inverse=tensors["inverse"],
    )


def _record(folder: Path) -> _Record:
    try:
        record = msgspec.json.decode(_content(folder, RECORD), type=_Record)
    except msgspec.DecodeError as problem:
        _refuse(folder, f"{RECORD}: {problem}")
    if record.schema != SCHEMA or record.model != "lambdarank":
        _refuse(folder, f"{RECORD} is of schema {record.schema}, model {shown(record.model)}; this version reads "
                        f"{SCHEMA}, 'lambdarank'")  # fmt: skip
    return record


def _content(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        _refuse(folder, f"{name}: {error.strerror}")


def _refuse(folder: Path, reason: str) -> NoReturn:
    raise InputError(
        f"{shortened(folder)} does not hold a LambdaRank model that can be read ({reason}); copy the folder as it was "
        "saved, or train anew"
    ) from None


def _tensors(verb: str) -> Any:
    """safetensors, with its part for numpy."""
    library("safetensors.numpy", extra="torch", what=f"LambdaRank.{verb}")
    return library("safetensors", extra="torch", what=f"LambdaRank.{verb}")
