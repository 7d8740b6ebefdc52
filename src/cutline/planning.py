"""How many judged queries are needed before they are judged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from cutline._checks import check_level, check_whole
from cutline._display import html_table, shown, text_table
from cutline.errors import InputError
from cutline.evidence import (
    EVIDENCE,
    Betting,
    Binomial,
    Convex,
    EmpiricalBernstein,
    Evidence,
    Hoeffding,
    HoeffdingBentkus,
    Normal,
)
from cutline.evidence.needed import MOST, check_risk, check_spread, queries_for
from cutline.judging import check_methods

ALL: tuple[Evidence, ...] = (
    Betting(),
    Betting("wsr"),
    Convex(),
    Binomial(),
    HoeffdingBentkus(),
    EmpiricalBernstein(),
    Hoeffding(),
    Normal(),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """About how many judged queries each evidence needs; None where no number, or none up to a billion, will do.

    `spread` is the standard deviation of one query's loss that was assumed. `asymptotic` names the evidence that is
    only approximate. A plan is no promise: it is as good as the expected risk and the spread that were put in.
    """

    alpha: float
    delta: float
    expected_risk: float
    spread: float
    power: float
    needed: dict[str, int | None]
    asymptotic: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return text_table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())

    def _title(self) -> str:
        return (
            f"Judged queries needed for alpha={self.alpha:g}, delta={self.delta:g}, expected risk "
            f"{self.expected_risk:g}, spread {self.spread:.3g}, power {self.power:g}"
        )

    def _rows(self) -> list[tuple[str, str]]:
        if self.expected_risk >= self.alpha:
            return [("none", f"no number of queries helps: the expected risk is not below alpha = {self.alpha:g}")]
        return [(name, self._answer(name, n)) for name, n in self.needed.items()]

    def _answer(self, name: str, n: int | None) -> str:
        mark = "  (approximate: no finite-sample guarantee)" if name in self.asymptotic else ""
        if n is not None:
            return f"{n:,}{mark}"
        if self.spread == 0.0 and name in self.asymptotic:
            return f"refuses losses that are all equal{mark}"
        if name == Binomial.name and self.spread < _largest_spread(self.expected_risk) * (1.0 - 1e-9):
            return "only for losses of 0 or 1"
        return f"none found below {MOST:,}{mark}"


def queries_needed(
    *,
    alpha: float,
    delta: float,
    expected_risk: float,
    spread: float | None = None,
    power: float = 0.8,
    evidence: Evidence | Iterable[Evidence] | None = None,
    rng: int | np.random.Generator = 0,
) -> Plan:
    """About how many judged queries certify risk <= alpha at level delta with probability `power`, by evidence.

    `expected_risk` is the true risk at the threshold you hope for; `spread` the standard deviation of one query's loss,
    by default the largest that losses with this mean can have, sqrt(r (1 - r)): that of losses of 0 or 1, and cautious
    for lists of several items. `evidence` is one, or several, or all there are. Numbers are approximate, for a single
    threshold: a walk has to pass those before it too. `cutline.evidence.needed` says how each is found.
    """
    alpha, delta, power = check_level("alpha", alpha), check_level("delta", delta), check_level("power", power)
    risk = check_risk(expected_risk)
    seed = int(rng.integers(2**62)) if isinstance(rng, np.random.Generator) else check_whole("rng", rng, least=0)
    chosen = {name_of(each): each for each in _listed(evidence)}
    needed = {
        name: queries_for(each, alpha=alpha, delta=delta, expected_risk=risk, spread=spread, power=power, rng=seed)
        for name, each in chosen.items()
    }
    return Plan(
        alpha=alpha,
        delta=delta,
        expected_risk=risk,
        spread=check_spread(spread, risk),
        power=power,
        needed=needed,
        asymptotic=tuple(name for name, each in chosen.items() if each.asymptotic),
    )


def name_of(evidence: Evidence) -> str:
    """The name of an evidence, with what differs from its defaults: "betting", "betting (wsr)"."""
    kind = EVIDENCE.get(evidence.name)
    usual: dict[str, object] = kind().settings() if kind is type(evidence) else {}
    own = [str(value) for key, value in evidence.settings().items() if key != "name" and usual.get(key) != value]
    return f"{evidence.name} ({', '.join(own)})" if own else evidence.name


def _listed(evidence: Any) -> tuple[Evidence, ...]:
    if evidence is None:
        return ALL
    if isinstance(evidence, Iterable) and not isinstance(evidence, str | bytes):
        listed = tuple(cast("Iterable[Any]", evidence))
    else:
        listed = (evidence,)
    for each in listed:
        if not hasattr(each, "needs") or isinstance(each, type):
            raise InputError(
                f"evidence must be one or several of cl.evidence, such as cl.evidence.Convex(), got {shown(each)}"
            )
        check_methods(cast("Evidence", each))
    if not listed:
        raise InputError("evidence must name at least one, got none; leave it out for all of them")
    return cast("tuple[Evidence, ...]", listed)


def _largest_spread(risk: float) -> float:
    return math.sqrt(risk * (1.0 - risk))
