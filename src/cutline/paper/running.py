"""All experiments that were asked for, one after the other, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from cutline._checks import check_one_of, check_whole
from cutline._extras import library
from cutline._files import shortened, writable, write_whole
from cutline.errors import InputError, MissingExtraError
from cutline.paper import real
from cutline.paper.figures import Figure, write_figure
from cutline.paper.page import page_of
from cutline.paper.ranked import Ranked, ranked
from cutline.paper.registry import Experiment, chosen
from cutline.paper.run import Run
from cutline.paper.sources import SIZES, SOURCES, Size, Wish

LIBRARIES = (("altair", "report"), ("vl_convert", "report"), ("jinja2", "report"), ("torch", "torch"))
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A figure as it stands on the page."""

    experiment: str
    about: Experiment
    figure: Figure
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What a run came to: the figures, what could not be had and why, and the page."""

    page: Path
    shown: tuple[Shown, ...]
    missing: tuple[str, ...]


@dataclass(slots=True, eq=False)
class _Shelf:
    """Sources that were loaded and ranked already: each is trained once, for all experiments."""

    wish: Wish
    kept: dict[str, Ranked | MissingExtraError] = field(default_factory=dict[str, Ranked | MissingExtraError])

    def get(self, name: str, say: Callable[[str], None]) -> Ranked | MissingExtraError:
        if name not in self.kept:
            try:
                self.kept[name] = ranked(SOURCES[name], replace(self.wish, say=say))
            except MissingExtraError as absent:
                if name not in ("insteval", "movielens", "insuranceqa") or "`data`" not in str(absent):
                    raise
                self.kept[name] = absent
        return self.kept[name]


def reproduce(
    experiments: Iterable[str] = (),
    *,
    out: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    size: Size = "full",
    repeats: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Reproduction:
    """Rerun experiments of the paper and write their figures and `paper.html` into a folder.

    Without `data` they run on simulations and on the real data that come with the extra `data`; with the path of a
    folder that holds the files of Yahoo or MS MARCO, on these. Every file is written whole or not at all.
    """
    wanted = chosen(experiments)
    check_one_of("size", size, SIZES)
    repeats, seed = check_whole("repeats", repeats, least=1), check_whole("seed", seed, least=0)
    folder = _folder(out)
    for library_name, extra in LIBRARIES:  # what is missing is said before the work begins
        library(library_name, extra=extra, what="cutline paper")
    there = [] if data is None else real.found_in(Path(data))
    jobs = [(name, each, source) for name, each in wanted.items() for source in _sources(each, there)]
    folder.mkdir(parents=True, exist_ok=True)
    shelf = _Shelf(Wish(size=size, n_queries=0, seed=seed, folder=_path(data), scratch=folder))
    for source in dict.fromkeys(source for _, _, source in jobs if source in there):  # what is wrong in files is said
        shelf.get(source, _teller(progress, SOURCES[source].label, 0, len(jobs)))  # before any figure is written
    shown: list[Shown] = []
    missing: dict[str, None] = {}
    for done, (name, experiment, source) in enumerate(jobs):
        say = _teller(progress, f"{name}, {SOURCES[source].label}", done, len(jobs))
        found = shelf.get(source, say)
        if isinstance(found, MissingExtraError):
            missing[f"{SOURCES[source].label}: {found}"] = None
            continue
        run = Run(experiment=name, ranked=found, size=size, repeats=repeats, seed=seed, say=say)
        figure = experiment.run(run)
        say("drawing")
        shown.append(Shown(experiment=name, about=experiment, figure=figure, svg=write_figure(figure, folder)))
    page = folder / "paper.html"
    write_whole(page, page_of(shown, size=size, repeats=repeats, seed=seed, missing=tuple(missing)))
    return Reproduction(page=page, shown=tuple(shown), missing=tuple(missing))


def _sources(experiment: Experiment, there: list[str]) -> tuple[str, ...]:
    """The paper's own data where any of them are there, else what stands in."""
    held = tuple(name for name in experiment.real if name in there)
    return held or experiment.others


def _teller(progress: Progress | None, what: str, done: int, total: int) -> Callable[[str], None]:
    def say(step: str) -> None:
        if progress is not None:
            progress(f"{what}: {step}", done, total)

    return say


def _path(data: Any) -> Path | None:
    return None if data is None else Path(data)


def _folder(out: Any) -> Path:
    """A folder that figures can be written into, or that can be made."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{shortened(folder)} is a file; name a folder for the figures")
    nearest = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    writable(nearest / "paper.html")
    return folder
