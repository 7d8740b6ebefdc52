"""What a certificate says and does not say, in words. STATISTICS §8: the content may not shrink."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Protocol

from cutline.losses import LOSSES, FalseDiscovery, Loss, Miss
from cutline.preferences import SCORINGS
from cutline.relevance import RELEVANCES, Grade, Relevance, TopM
from cutline.sets import RULES, Diverse, Threshold

APPROXIMATE = "Approximate only: this relies on the normal limit and has no finite-sample guarantee."


class Spoken(Protocol):
    """What the wording needs to know; certificates and abstentions both have it."""

    @property
    def alpha(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def n_queries(self) -> int: ...
    @property
    def loss(self) -> Loss: ...
    @property
    def scoring(self) -> Any: ...
    @property
    def sets(self) -> Any: ...
    @property
    def sequence(self) -> Any: ...
    @property
    def asymptotic(self) -> bool: ...
    @property
    def sample(self) -> int: ...
    @property
    def share_nonempty(self) -> float: ...
    @property
    def risk_given_nonempty(self) -> float | None: ...
    @property
    def item_rate(self) -> float | None: ...
    @property
    def risk(self) -> float: ...
    @property
    def log_evidence(self) -> float: ...


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage: 0.3 is 30 %, and nothing is n/a."""
    if share is None:
        return "n/a"
    least = 10.0**-digits
    if 0 < 100 * share < least / 2:
        return f"under {least:g} %"
    if 0 < 100 * (1 - share) < least / 2:
        return f"over {100 - least:g} %"
    return f"{100 * share:.{digits}f}".removesuffix("." + "0" * digits if digits else "") + " %"


def level(share: float) -> str:
    """A share that is promised, as a percentage that is not rounded: 0.0004 is 0.04 %."""
    return f"{(100 * Decimal(repr(share))).normalize():f} %"


def confidence(delta: float) -> str:
    """1 - delta, as a percentage that is not rounded: never 100 %."""
    return f"{(100 - 100 * Decimal(repr(delta))).normalize():f} %"


def number(value: float) -> str:
    """A number, short where that says the same: whoever cuts at the threshold that was read cuts the same lists."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(value)


def upwards(bound: float) -> str:
    """An upper bound to four decimals, rounded up, so that it is one still."""
    return f"{math.ceil(bound * 1e4) / 1e4:g}"


def goodness(relevance: Relevance) -> str:
    """What makes an item good."""
    if type(relevance) is Grade:
        return f"label at least {number(relevance.at_least)}"
    if type(relevance) is TopM:
        places = str(relevance.m) if relevance.fraction is None else level(relevance.fraction)
        among = "the judged items of its list" if relevance.unjudged == "drop" else "its list"
        first = ", unjudged items taken to be better" if relevance.unjudged == "bad" else ""
        return f"label among the top {places} of {among}, ties {relevance.ties}{first}"
    return called(relevance)


def called(piece: object) -> str:
    """The name of a piece; that of its class where it is someone's own and bears the name of a built-in one."""
    name = str(getattr(piece, "name", ""))
    known = {**LOSSES, **RELEVANCES, **RULES, **SCORINGS}.get(name)
    return name if known in (None, type(piece)) else type(piece).__name__


def risk_name(loss: Loss) -> str:
    """The risk in words, with what an undefined loss counts as."""
    judged = {"drop": " among judged items", "bad": "", "error": ""}[loss.relevance.unjudged]
    if type(loss) is FalseDiscovery:
        return f"share of not-good items per list{judged}"
    if type(loss) is Miss:
        return f"share of a query's good items that its list misses{judged}"
    return f"{called(loss)} loss per list{judged}"


def conventions(loss: Loss) -> str:
    """How the edge cases are counted, and what good means."""
    edge = ""
    if type(loss) is FalseDiscovery:
        blank = ", and lists without a judged item," if loss.relevance.unjudged == "drop" else ""
        edge = f"Empty lists{blank} count as 0."
    elif type(loss) is Miss:
        edge = "Queries without any good item count as 0."
    unjudged = {"bad": "; unjudged items count as not good", "drop": "; unjudged items are passed over", "error": ""}
    return f"{edge} Good: {goodness(loss.relevance)}{unjudged[loss.relevance.unjudged]}.".strip()


def what_is_kept(spoken: Spoken) -> str:
    """The rule at its threshold, as an instruction."""
    sets, scoring = spoken.sets, spoken.scoring
    bounds: list[str] = []
    least, most = getattr(sets, "min_size", 0), getattr(sets, "max_size", None)
    if type(sets) is Diverse:
        bounds.append(f"where these are more than {most}, at most {most} of them, chosen by {chosen_by(sets)}")
        most = None
    if least:
        bounds.append(f"always the best {least}")
    if most is not None:
        bounds.append(f"at most the best {most}")
    extra = f" ({', '.join(bounds)})" if bounds else ""
    rule = "" if type(sets) in (Threshold, Diverse) else f", then apply the rule {called(sets)}"
    which = {
        "as-given": "",
        "win-rate": f" in win rate within their list (scale {number(getattr(scoring, 'scale', 1.0))})",
    }.get(called(scoring), f" by the scoring {called(scoring)}")
    return f"Keep items scoring ≥ {number(spoken.threshold)}{which}{extra}{rule}."


def chosen_by(sets: Diverse) -> str:
    """The strategy of a diverse rule, with what its choice depends on."""
    if sets.trade_off is not None:
        return f"{sets.chooser.name} of pyversity, trade-off {number(sets.trade_off)}"
    return f"{sets.chooser.name} on {sets.distance} distances"


def certified(spoken: Spoken) -> str:
    """The statement of a certificate."""
    return f"{what_is_kept(spoken)} {promise(spoken)}\n\nNot promised:\n{bullets(not_promised(spoken))}"


def promise(spoken: Spoken) -> str:
    """What a certificate promises, with how edge cases are counted, and a caution where most lists are empty."""
    alpha, sure = level(spoken.alpha), confidence(spoken.delta)
    draw = f"over the draw of the {spoken.n_queries:,} calibration queries"
    opening = f"With probability at least {sure} {draw}"
    if spoken.asymptotic:
        opening = f"{APPROXIMATE} In the limit of many queries, with probability at least {sure} {draw}"
    said = (
        f"{opening}, this procedure either abstains or returns a threshold whose expected {risk_name(spoken.loss)}, "
        f"for a new query from the same source, is at most {alpha}. {conventions(spoken.loss)}"
    )
    if spoken.sample:
        said += f" Another {spoken.sample:,} queries drew the thresholds to test and did not calibrate."
    if type(spoken.sets) is Diverse:
        said += (
            f" The promise holds for the lists after at most {spoken.sets.max_size} items are chosen by "
            f"{chosen_by(spoken.sets)}; not for any other number, vectors or selection."
        )
    if caution := emptiness(spoken.share_nonempty, spoken.risk_given_nonempty, spoken.loss.name):
        said += f"\n{caution}"
    return said


def emptiness(share_nonempty: float, given: float | None, loss: str) -> str:
    """A caution where most lists are empty, which costs nothing and so can hide a ranker that is no good."""
    if loss != "false-discovery" or share_nonempty >= 0.5:
        return ""
    if not share_nonempty:
        return "Every list is empty at this threshold: nothing would be shown."
    return (
        f"Most lists, {percent(1 - share_nonempty)}, are empty at this threshold; the others are {percent(given)} not "
        "good on average. Is a higher score better, and does it mean the same from one query to the next? If not, see "
        "cl.WinRate()."
    )


def not_promised(spoken: Spoken) -> list[str]:
    """What the certificate does not say, with the figures that show why."""
    pooled = "pooled item rate" if spoken.loss.name != "miss" else "pooled rate of not-good items"
    given, empty = percent(spoken.risk_given_nonempty), percent(1 - spoken.share_nonempty)
    bounded = getattr(spoken.sets, "min_size", 0) or getattr(spoken.sets, "max_size", None) is not None
    order = ", their order in the list" if bounded else ""  # where sizes cut through equal scores, the order decides
    lines = [
        "any single list, or any group of queries",
        (
            f"the non-empty lists alone ({given} here; {empty} of lists were empty), "
            f"or the {pooled} ({percent(spoken.item_rate)} here)"
        ),
        (
            f"that this certificate is right with probability {confidence(spoken.delta)}: "
            "the figure covers the whole procedure, abstentions included"
        ),
        (
            "anything if queries were not independent draws, or if queries, candidates"
            f"{order}, scores, model or labelling change"
        ),
        (
            "anything if alpha, delta, seed, evidence, what counts as good, scoring, rule, thresholds or testing order "
            "were chosen after seeing the calibration queries (their scores included), or calibration was repeated "
            "until it passed"
        ),
    ]
    if spoken.loss.name == "miss" and spoken.loss.relevance.unjudged != "error":
        lines.insert(1, "good items that nobody judged: what is missed is counted among judged items only")
    if spoken.sets != Threshold():
        lines.insert(
            1, "any list cut by another rule, other sizes, other vectors or another selection than the one named above"
        )
    return lines


def abstained(spoken: Spoken, *, answer: str, reason: str, smallest_alpha: float | None, needed: int | None) -> str:
    """The statement of an abstention: what to do, the evidence at the first threshold, and what would help."""
    approximate = f" {APPROXIMATE}" if spoken.asymptotic else ""
    helps = would_help(spoken, smallest_alpha=smallest_alpha, needed=needed)
    return (
        f"No threshold was certified; {answer}. {reason}{approximate}\n"
        f"At the first threshold the mean loss is {percent(spoken.risk)} over {spoken.n_queries:,} queries; "
        f"log evidence {spoken.log_evidence:.3g}.\n\nWhat would help:\n{bullets(helps)}"
    )


def would_help(spoken: Spoken, *, smallest_alpha: float | None, needed: int | None) -> list[str]:
    """What would help where nothing was certified."""
    helps: list[str] = []
    if smallest_alpha is not None:
        helps.append(
            f"a larger alpha: the smallest this data would have certified is {upwards(smallest_alpha)} "
            "(found on these same queries, so no guarantee covers it: calibrate on new ones)"
        )
    if needed is not None:
        here = "here" if spoken.sequence.name == "fixed" else "at that threshold"
        wanted = f"about {needed:,} for alpha = {number(spoken.alpha)}"
        helps.append(f"more judged queries: {wanted}, if the risk stays as it is {here}")
    elif spoken.sequence.name != "fixed":
        helps.append("a better ranker: if the true risks are as they are here, more queries will not help")
    elif spoken.risk >= spoken.alpha:
        helps.append(
            f"a better ranker: the risk here, {percent(spoken.risk)}, is not below alpha; if the true risk is so too, "
            "more queries will not help"
        )
    if (
        getattr(spoken.sets, "min_size", 0)
        and spoken.sequence.name == "fixed"
        and spoken.loss.name == "false-discovery"
    ):
        helps.append(
            "sequence=cl.Fallback(), declared before new queries are seen: with a minimum size losses may begin high "
            "and fall later"
        )
    if not helps:
        helps.append(f"a larger alpha: {number(spoken.alpha)} would take more than a billion judged queries")
    return helps


def bullets(lines: Iterable[str]) -> str:
    """One indented line each."""
    return "\n".join(f"  - {line}" for line in lines)
