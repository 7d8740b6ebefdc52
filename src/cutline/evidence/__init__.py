"""Evidence that a risk is at most alpha, from n losses in [0, 1]. One file each; to add one, list it here.

`needs` tells what an evidence reads: "sum" (the number and sum of the losses), "moments" (their squares too) or "order"
(all of them, one after the other).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from cutline._checks import check_one_of
from cutline.errors import InputError
from cutline.evidence._protocol import Evidence, MomentEvidence, OrderEvidence, SumEvidence
from cutline.evidence.betting import Betting
from cutline.evidence.binomial import Binomial
from cutline.evidence.convex import Convex
from cutline.evidence.empirical_bernstein import EmpiricalBernstein
from cutline.evidence.hoeffding import Hoeffding
from cutline.evidence.hoeffding_bentkus import HoeffdingBentkus
from cutline.evidence.normal import Normal

__all__ = [
    "EVIDENCE",
    "Betting",
    "Binomial",
    "Convex",
    "EmpiricalBernstein",
    "Evidence",
    "Hoeffding",
    "HoeffdingBentkus",
    "MomentEvidence",
    "Normal",
    "OrderEvidence",
    "SumEvidence",
    "evidence_from_name",
]

EVIDENCE: dict[str, type[Any]] = {
    kind.name: kind for kind in (Hoeffding, HoeffdingBentkus, Convex, Binomial, EmpiricalBernstein, Betting, Normal)
}


def evidence_from_name(name: str, **settings: object) -> Evidence:
    """The evidence that `settings()` of it describes: evidence_from_name("betting", strategy="wsr")."""
    kind = EVIDENCE[check_one_of("evidence", name, EVIDENCE)]
    try:
        return kind(**settings)
    except TypeError:
        known = ", ".join(field.name for field in dataclasses.fields(kind)) or "none"
        raise InputError(f"evidence {name!r} takes the settings: {known}; got {', '.join(settings)}") from None
