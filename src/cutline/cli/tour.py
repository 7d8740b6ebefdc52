"""What `cutline demo` prints: the promise, lists, the verdict, and what diversity costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cutline.cli.console import say
from cutline.cli.pages import ListDrawing, facts, figures, heading, marks, prose
from cutline.statements import bullets, certified, confidence, level, not_promised, percent

if TYPE_CHECKING:
    from cutline.auditing import Audit
    from cutline.certificate import Certificate
    from cutline.cli.stories import Story
    from cutline.slates import Slates

PLACES = (("A short list", 0.1), ("A typical list", 0.5), ("A long list", 0.9))  # among the lists that are not empty


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tried:
    """One rule: what was certified for it, and how that does on lists that were held out."""

    certificate: Certificate
    audit: Audit

    def to_dict(self) -> dict[str, Any]:
        """Both in plain types, for JSON."""
        return {"certificate": self.certificate.to_dict(), "audit": self.audit.to_dict()}


def tell(story: Story, plain: Tried, best: Tried, diverse: Tried, *, written: dict[str, str]) -> None:
    """The whole tour, from the question to the files."""
    slates = plain.certificate.apply(story.held_out)
    picked = _picked(slates)
    say(heading(story.question), _setting(story, plain.certificate))
    say(heading("1. The promise"), prose(plain.certificate.statement()))
    say(heading(f"2. Three {story.queries} that calibration never saw"), prose(_legend(story)))
    for title, place in picked:
        say("", *_drawn(story, plain.certificate, slates, title, place))
    say(heading(f"3. The verdict, on {plain.audit.n_queries:,} {story.queries} that calibration never saw"))
    say(prose(plain.audit.statement()))
    if story.world is not None:
        certificate = plain.certificate
        risk = story.world.true_risk(certificate.threshold, loss=certificate.loss).value
        truth = f"The simulation's true risk at this threshold is {risk:.4f}"
        say("", prose(f"{truth}; promised: at most {certificate.alpha:g}."))
    say(heading(f"4. The same, but at most {_most(diverse)} {story.items}, unlike each other {story.unlike}"))
    _tell_diverse(story, plain, diverse, picked)
    say(heading("5. What that costs"), _costs(plain, best, diverse, story), "", prose(_gains(story, best, diverse)))
    say(heading("6. Open the report in a browser" if "report" in written else "6. Files"))
    width = max(map(len, written))
    say("\n".join(f"  {name:<{width}}  {path}" for name, path in written.items()))  # long paths stay whole


def _setting(story: Story, certificate: Certificate) -> Any:
    """The data, what counts as good, and what is wanted: all of it fixed before the labels were looked at."""
    most, sure = level(certificate.alpha), confidence(certificate.delta)
    wanted = f"on average at most {most} of a list not good (alpha), with {sure} confidence (1 - delta)"
    return facts((*story.data, ("good", story.good), ("wanted", wanted), ("fixed", "all of this, beforehand")))


def _picked(slates: Slates) -> list[tuple[str, int]]:
    """Queries by the length of their lists: one at a tenth, at half and at nine tenths of those that are not empty."""
    filled = np.flatnonzero(slates.sizes)
    by_size = filled[np.argsort(slates.sizes[filled], kind="stable")]
    return [(title, int(by_size[round(place * (len(by_size) - 1))])) for title, place in PLACES] if len(filled) else []


def _legend(story: Story) -> str:
    signs = marks()
    return (
        f"{signs[True]} {story.good}   {signs[False]} less. The first number is the score, the last the {story.label}."
    )


def _drawn(story: Story, certificate: Certificate, slates: Slates, title: str, place: int) -> tuple[Any, Any]:
    """A line about one list, and the list."""
    query, kept = story.held_out[place], slates[place]
    good = 0 if query.labels is None else int((query.labels[kept] >= story.at_least).sum())
    said = (
        f"{title}: {story.query} {query.id}, {len(kept):,} of {len(query):,} {story.items} kept, {good:,} of them good"
    )
    reached = int(np.count_nonzero(query.scores >= certificate.threshold))
    drawing = ListDrawing(
        query=query, kept=kept, threshold=certificate.threshold, at_least=story.at_least, title=story.title,
        kinds=story.kinds, whole=reached > len(kept),
    )  # fmt: skip
    return prose(said), drawing


def _most(diverse: Tried) -> int:
    return int(diverse.certificate.sets.settings()["max_size"])


def _tell_diverse(story: Story, plain: Tried, diverse: Tried, picked: list[tuple[str, int]]) -> None:
    """The promise of diverse lists, and one of those shown before that is longer than they may be."""
    certificate = diverse.certificate
    said = set(not_promised(plain.certificate))
    promise, _, _ = certified(certificate).partition("\n\n")
    other = bullets(line for line in not_promised(certificate) if line not in said)
    say(prose(f"{promise}\n\nNot promised, besides what is said under 1:\n{other}"))
    slates = certificate.apply(story.held_out)
    for title, place in picked:
        if np.count_nonzero(story.held_out[place].scores >= certificate.threshold) > _most(diverse):
            say("", *_drawn(story, certificate, slates, title, place))
            break
    say("", prose(diverse.audit.statement()))


def _costs(plain: Tried, best: Tried, diverse: Tried, story: Story) -> Any:
    """Three rules under the same promise, side by side on the held-out lists."""
    most = _most(diverse)
    rows = [
        (
            name, f"{tried.certificate.threshold:.3f}", f"{tried.audit.sizes.mean:.2f}", f"{tried.audit.risk:.4f}",
            percent(1 - tried.audit.share_nonempty),
        )
        for name, tried in (("all above the cut", plain), (f"the best {most}", best), (f"{most} diverse ones", diverse))
    ]  # fmt: skip
    return figures(("kept", "cut at", f"{story.items} a list", "risk", "lists empty"), rows)


def _gains(story: Story, best: Tried, diverse: Tried) -> str:
    """How many lists were chosen from, what they gained, and what it cost."""
    variety, most = diverse.audit.diversity, _most(diverse)
    before, after = (tried.audit.sizes.mean for tried in (best, diverse))
    said = (
        f"Beside the best {most} by score, diversity costs {before - after:.2f} {story.items} a list "
        f"({percent(1 - after / before)}); on average {percent(diverse.audit.risk)} of a list are not good in place of "
        f"{percent(best.audit.risk)}. The promise is the same."
    )
    if variety is not None and (gain := variety.over_top["pairs"]) is not None:
        span = "" if gain.low is None else f" (95 % interval {percent(gain.low)} to {percent(gain.high)})"
        said += (
            f"\n{percent(variety.share_modified)} of the lists ({variety.n_modified:,} of {variety.n_queries:,}) have "
            f"more than {most} {story.items} above the cut and were chosen from. Two {story.items} of such a list are "
            f"{percent(gain.mean)} further apart {story.unlike} than two of the best {most}{span}."
        )
    single, together = (confidence(round(count * best.certificate.delta, 10)) for count in (1, 3))
    return (
        f"{said}\nEach of the three certificates has {single} confidence by itself, and all three together {together}."
    )
