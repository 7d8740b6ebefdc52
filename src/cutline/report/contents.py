"""What the page says: words and figures of a certificate, an audit and a frontier, before they become HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cutline import statements
from cutline._version import __version__
from cutline.auditing import Audit
from cutline.certificate import Abstention, Certificate
from cutline.report.numbers import LONGEST, bound_at_cut, readable, share

Rows = tuple[tuple[str, ...], ...]
WORDS = {"confirmed": "Confirmed", "holds": "Holds", "inconclusive": "Inconclusive", "above": "Above alpha"}
LONGEST_LINE = 2000  # of a statement; none that is written here is as long
LONGEST_NUMBER = 7  # characters of a threshold in a headline


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure to see at first sight."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The page without its pictures."""

    headline: str
    rule: str  # what becomes of these items, where it is more than keeping them
    exact: str  # the threshold, where the headline has less of it
    summary: str
    promise: tuple[str, ...]
    not_promised: tuple[str, ...]
    would_help: tuple[str, ...]
    verdict: str  # of an audit; empty where there is none
    verdict_word: str
    verdict_text: str
    asymptotic: str
    tiles: tuple[Tile, ...]
    compared: Rows
    settings: Rows


def words_of(certificate: Certificate | Abstention, audit: Audit | None) -> Words:
    """Everything that the page says of a certificate or an abstention, and of its audit."""
    abstained = isinstance(certificate, Abstention)
    return Words(
        headline="No threshold was certified" if abstained else _headline(certificate)[0],
        rule="" if abstained else _headline(certificate)[1],
        exact="" if abstained or _short(certificate) == _full(certificate) else _full(certificate),
        summary=readable(certificate.refusal.reason, longest=LONGEST_LINE)
        if abstained
        else _in_one_sentence(certificate),
        promise=_what_to_do(certificate) if abstained else tuple(statements.promise(certificate).split("\n")),
        not_promised=() if abstained else tuple(statements.not_promised(certificate)),
        would_help=_would_help(certificate) if abstained else (),
        verdict=audit.verdict if audit and not abstained else "",
        verdict_word=WORDS[audit.verdict] if audit else "",
        verdict_text=audit.statement().removeprefix(f"Verdict: {audit.verdict}. ") if audit else "",
        asymptotic=statements.APPROXIMATE if certificate.asymptotic else "",
        tiles=tuple(_tiles(certificate, None if abstained else audit)),
        compared=tuple(_compared(certificate, None if abstained else audit)),
        settings=tuple(_settings(certificate)),
    )


def _headline(certificate: Certificate) -> tuple[str, str]:
    """Which items are kept, and what becomes of them by sizes or a choice."""
    kept = statements.what_is_kept(certificate).removesuffix(".")
    kept = kept.replace(f"≥ {_full(certificate)}", f"≥ {_short(certificate)}", 1)
    head, bracket, rest = kept.partition(" (")
    if not bracket or not rest.endswith(")") or "scale" in rest:
        return kept, ""
    rule = rest.removesuffix(")")
    return head, f"{rule[0].upper()}{rule[1:]}."


def _full(certificate: Certificate) -> str:
    return statements.number(certificate.threshold)


def _short(certificate: Certificate) -> str:
    """The beginning of a long threshold, marked as such."""
    full = _full(certificate)
    return full if len(full) <= LONGEST_NUMBER or "e" in full else f"{full[:LONGEST_NUMBER]}…"


def _in_one_sentence(certificate: Certificate) -> str:
    level, sure = statements.level(certificate.alpha), statements.confidence(certificate.delta)
    risk = statements.risk_name(certificate.loss)
    limit = "in the limit of many queries " if certificate.asymptotic else ""
    return (
        f"In at least {sure} of calibrations like this one, {limit}the procedure either abstains or finds a threshold "
        f"at which the expected {risk} is at most {level}, for a new query from the same source."
    )


def _what_to_do(abstention: Abstention) -> tuple[str, ...]:
    head = abstention.statement().split("\n\nWhat would help:")[0]
    return tuple(readable(line, longest=LONGEST_LINE) for line in head.split("\n"))


def _would_help(abstention: Abstention) -> tuple[str, ...]:
    refusal = abstention.refusal
    return tuple(
        statements.would_help(abstention, smallest_alpha=refusal.smallest_alpha, needed=refusal.queries_needed)
    )


def _tiles(certificate: Certificate | Abstention, audit: Audit | None) -> Iterator[Tile]:
    sure = statements.confidence(certificate.delta)
    if isinstance(certificate, Abstention):
        refusal = certificate.refusal
        bound = f"upper bound {share(bound_at_cut(certificate))}, alpha {statements.level(certificate.alpha)}"
        yield Tile(name="Risk at the first threshold", value=share(certificate.risk), note=bound)
        smallest = "n/a" if refusal.smallest_alpha is None else statements.upwards(refusal.smallest_alpha)
        yield Tile(name="Smallest alpha certified", value=smallest, note="on these queries; no guarantee covers it")
        needed = "n/a" if refusal.queries_needed is None else f"about {refusal.queries_needed:,}"
        yield Tile(name="Queries needed", value=needed, note=f"there were {certificate.n_queries:,}")
        return
    yield Tile(name="Promised", value=f"≤ {statements.level(certificate.alpha)}", note=f"risk, with confidence {sure}")
    seen = f"upper bound {share(bound_at_cut(certificate))}"
    yield Tile(name="Calibration risk", value=share(certificate.risk), note=seen)
    if audit is not None:
        interval = f"95 % interval {share(audit.low)} to {share(audit.high)}"
        yield Tile(name="Held-out risk", value=share(audit.risk), note=interval)
    of = audit or certificate
    size = audit.sizes.mean if audit else certificate.mean_size
    note = "on average" if audit is None else "median {1:g}, quartiles {0:g} and {2:g}".format(*audit.sizes.quartiles)
    yield Tile(name="Items per list", value=f"{size:.1f}", note=note)
    given = f"the others have a risk of {statements.percent(of.risk_given_nonempty)}" if of.share_nonempty else "all"
    yield Tile(name="Empty lists", value=statements.percent(1 - of.share_nonempty), note=given)


def _compared(certificate: Certificate | Abstention, audit: Audit | None) -> Iterator[tuple[str, ...]]:
    """The figures of calibration, and those of the audit beside them."""
    bound, sure = share(bound_at_cut(certificate)), statements.confidence(certificate.delta)
    rows: list[tuple[str, str, str]] = [
        ("queries", f"{certificate.n_queries:,}", "" if audit is None else f"{audit.n_queries:,}"),
        ("items", f"{certificate.n_items:,}", "" if audit is None else f"{audit.n_items:,}"),
        ("risk", share(certificate.risk), "" if audit is None else share(audit.risk)),
        (
            "around it",
            f"upper bound {bound} ({sure})",
            "" if audit is None else f"{share(audit.low)} to {share(audit.high)} (95 %)",
        ),
        ("items per list", f"{certificate.mean_size:.2f}", "" if audit is None else f"{audit.sizes.mean:.2f}"),
        *(
            (name, statements.percent(getattr(certificate, field)), statements.percent(getattr(audit, field, None)))
            for name, field in (
                ("non-empty lists", "share_nonempty"),
                ("risk of non-empty lists", "risk_given_nonempty"),
                ("pooled item rate", "item_rate"),
            )
        ),
    ]
    if audit is not None:
        rows.append(("good items kept", "", statements.percent(audit.recall)))
        rows += [(name, "", str(value)) for name, value in (audit.diversity.rows() if audit.diversity else ())]
    return (row if audit is not None else row[:2] for row in rows)


def _settings(certificate: Certificate | Abstention) -> Iterator[tuple[str, str]]:
    """Everything that was fixed before, and what tells whether it is the same certificate and the same queries."""
    content = certificate.to_dict()
    for name in ("curve", "abstention", "risk", "mean_size", "share_nonempty", "risk_given_nonempty", "item_rate"):
        del content[name]
    for name, value in content.items():
        yield name.replace("_", " "), _spoken(value)
    yield "page written by", f"cutline {__version__}{_others()}"


def _spoken(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        rest = ", ".join(f"{key} {_spoken(each)}" for key, each in pairs.items() if key != "name")
        text = f"{pairs['name']} ({rest})" if "name" in pairs and rest else str(pairs.get("name", rest))
    elif isinstance(value, list):
        listed = cast("list[Any]", value)
        few = [_spoken(each) for each in (listed if len(listed) <= 4 else [*listed[:2], *listed[-1:]])]
        text = ", ".join(few) if len(listed) <= 4 else f"{', '.join(few[:2])} … {few[-1]} ({len(listed):,} values)"
    else:
        text = "none" if value is None else "yes" if value is True else "no" if value is False else str(value)
    return readable(text) if len(text) <= LONGEST else f"{readable(text)} ({len(text):,} characters)"


def _others() -> str:
    """The libraries that drew the page, with their versions."""
    from importlib.metadata import version

    return "".join(f", {name} {version(name)}" for name in ("numpy", "altair", "vl-convert-python"))
