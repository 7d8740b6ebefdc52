"""paper.html: each figure beside what the paper claims, with what was decided and what was found. One file, no script,
nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutline._extras import library
from cutline._version import __version__
from cutline.report import LIGHT

if TYPE_CHECKING:
    from cutline.paper.running import Shown

HERE = Path(__file__).parent


def page_of(shown: Sequence[Shown], *, size: str, repeats: int, seed: int, missing: Sequence[str]) -> str:
    """The page. Texts are escaped; the drawings are our own."""
    jinja: Any = library("jinja2", extra="report", what="cutline paper")
    loader = jinja.FileSystemLoader(HERE)
    environment = jinja.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    experiments: dict[str, list[Shown]] = {}
    for each in shown:
        experiments.setdefault(each.experiment, []).append(each)
    template = environment.get_template("paper.html.jinja")
    return template.render(
        experiments=experiments, size=size, repeats=repeats, seed=seed, missing=missing, version=__version__,
        colours=LIGHT.by_name(), drawing=jinja.utils.markupsafe.Markup,
    )  # fmt: skip
