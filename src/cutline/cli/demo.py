"""cutline demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutline.cli import options
from cutline.cli.console import explain, noted, say_json, working
from cutline.errors import InputError, MissingExtraError, warn

if TYPE_CHECKING:
    from cutline.cli.stories import Story
    from cutline.cli.tour import Tried
    from cutline.sets import SetRule

ALPHA, DELTA, MOST = 0.30, 0.10, 10
ABSTAINED = 3


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder that certificates and reports go to.")
    ] = Path("cutline-demo"),
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Simulated lists, which need no data and no other library.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Example: cutline demo --simulated

    From a ranker to lists that stop where they should: films of MovieLens, ranked by LightGBM, cut, audited and made
    diverse by genre. Takes some seconds.
    """
    from cutline.cli import stories
    from cutline.cli.tour import tell
    from cutline.sets import Diverse, Threshold

    with noted() as notes:
        _make_folder(out)
        with working("Simulating lists" if simulated else "Reading MovieLens and training LightGBM"):
            story = stories.simulated() if simulated else stories.films()
        tried: list[Tried] = []
        for rule in (Threshold(), Threshold(max_size=MOST), Diverse(MOST, distance=story.distance)):
            with working("Calibrating and auditing"):
                found = _tried(story, rule)
            if isinstance(found, str):
                return explain(found, ABSTAINED)
            tried.append(found)
        with working("Writing the reports"):
            written = _written(story, tried[0], tried[-1], out)
        if json:
            plain, best, diverse = (each.to_dict() for each in tried)
            say_json({"plain": plain, "best": best, "diverse": diverse, "written": written}, notes)
        else:
            tell(story, *tried, written=written)
    return 0


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made ({error.strerror}); name a folder that can") from None


def _tried(story: Story, rule: SetRule) -> Tried | str:
    """The certificate of a rule and its audit; or why nothing was certified."""
    from cutline.auditing import audit
    from cutline.calibration import calibrate
    from cutline.certificate import Abstention
    from cutline.cli.tour import Tried
    from cutline.losses import FalseDiscovery
    from cutline.relevance import Grade

    loss = FalseDiscovery(Grade(at_least=story.at_least))
    found = calibrate(story.calibration, loss=loss, alpha=ALPHA, delta=DELTA, sets=rule)
    if isinstance(found, Abstention):
        return found.statement()
    return Tried(certificate=found, audit=audit(found, story.held_out))


def _written(story: Story, plain: Tried, diverse: Tried, out: Path) -> dict[str, str]:
    """Certificates and reports of two rules, and where they are. Without the extra `report` there are no reports."""
    certificates = {"certificate": out / "certificate.json", "diverse certificate": out / "diverse.json"}
    reports = {"report": out / "report.html", "diverse report": out / "diverse.html"}
    for tried, path in zip((plain, diverse), certificates.values(), strict=True):
        tried.certificate.save(path)
    try:
        for tried, path in zip((plain, diverse), reports.values(), strict=True):
            _write_report(story, tried, path)
    except MissingExtraError as problem:
        warn(f"no report was written: {problem}")
        reports = {}
    return {name: str(path) for name, path in (reports | certificates).items()}


def _write_report(story: Story, tried: Tried, path: Path) -> None:
    from cutline import report

    report.write(
        path, tried.certificate, calibration=story.calibration, held_out=story.held_out, audit=tried.audit,
        titles=story.title,
    )  # fmt: skip
