"""Where should a ranked list stop? Cut scored lists at a threshold that carries a finite-sample guarantee.

`import cutline as cl` is quick: each name below is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cutline._version import __version__

if TYPE_CHECKING:
    from cutline import datasets, evidence, io, rankers, report
    from cutline.auditing import audit
    from cutline.calibration import calibrate
    from cutline.certificate import Abstention, Certificate, load
    from cutline.curve import RiskCurve
    from cutline.frontiers import frontier
    from cutline.losses import FalseDiscovery, Miss
    from cutline.planning import queries_needed
    from cutline.preferences import AsGiven, WinRate
    from cutline.queries import Queries
    from cutline.relevance import Grade, TopM
    from cutline.resampling import resample
    from cutline.sequence import Fallback, FixedSequence, grid
    from cutline.sets import Diverse, Threshold
    from cutline.slates import Slates

__all__ = [
    "Abstention",
    "AsGiven",
    "Certificate",
    "Diverse",
    "Fallback",
    "FalseDiscovery",
    "FixedSequence",
    "Grade",
    "Miss",
    "Queries",
    "RiskCurve",
    "Slates",
    "Threshold",
    "TopM",
    "WinRate",
    "__version__",
    "audit",
    "calibrate",
    "datasets",
    "evidence",
    "frontier",
    "grid",
    "io",
    "load",
    "queries_needed",
    "rankers",
    "report",
    "resample",
]

_MODULES = frozenset({"datasets", "evidence", "io", "rankers", "report"})

_HOME_OF = {
    "Abstention": "certificate",
    "AsGiven": "preferences",
    "Certificate": "certificate",
    "Diverse": "sets",
    "Fallback": "sequence",
    "FalseDiscovery": "losses",
    "FixedSequence": "sequence",
    "Grade": "relevance",
    "Miss": "losses",
    "Queries": "queries",
    "RiskCurve": "curve",
    "Slates": "slates",
    "Threshold": "sets",
    "TopM": "relevance",
    "WinRate": "preferences",
    "audit": "auditing",
    "calibrate": "calibration",
    "frontier": "frontiers",
    "grid": "sequence",
    "load": "certificate",
    "queries_needed": "planning",
    "resample": "resampling",
}


def __getattr__(name: str) -> object:
    """Import a name of the list above on first use, and remember it."""
    if name in _MODULES:
        found: object = importlib.import_module(f"cutline.{name}")
    elif name in _HOME_OF:
        found = getattr(importlib.import_module(f"cutline.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'cutline' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
