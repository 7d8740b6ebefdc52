"""Messages are written for Python. On the command line the same things are said with flags."""

from __future__ import annotations

import re

_SAID = (
    ("loss=cl.FalseDiscovery(cl.Grade(at_least=3))", "--good-at-least 3"),
    ("thresholds=cl.grid(…)", "--thresholds 0.99:0.01:0.01"),
    ('thresholds="exact"', "--thresholds exact"),
    ("evidence=cl.evidence.Convex()", "--evidence convex"),
    ("cl.evidence.Convex()", "--evidence convex"),
    ("sequence=cl.Fallback()", "--sequence fallback"),
    ("cl.WinRate()", "--scoring win-rate"),
    ('unjudged="bad"', "--unjudged bad"),
    ('unjudged="drop"', "--unjudged drop"),
    ("pass vectors=, a column of lists or a file", "name a column of lists, or a file, with --vectors"),
    ("pass vectors=", "name a column with --vectors"),
    ("see statement()", "see cutline show"),
    ("validation=0", "--validation 0"),
)
_FLAGS = {
    "at_least": "--good-at-least",
    "alphas": "--alphas",
    "alpha": "--alpha",
    "delta": "--delta",
    "scale": "--scale",
    "seed": "--seed",
    "min_size": "--min-size",
    "max_sizes": "--max-sizes",
    "max_size": "--max-size",
    "thresholds": "--thresholds",
    "fraction": "--good-top",
    "expected_risk": "--expected-risk",
    "spread": "--spread",
    "power": "--power",
    "hidden": "--hidden",
    "epochs": "--epochs",
    "lr": "--lr",
    "batch_queries": "--batch-queries",
    "truncation": "--truncation",
    "validation": "--validation",
    "patience": "--patience",
    "titles": "--titles",
    "repeats": "--repeats",
}
_ARGUMENT = re.compile(rf"^({'|'.join(_FLAGS)})(?= (must|of|has)\b)")


def as_flags(message: str) -> str:
    """The message with the flags of the command line where it speaks of Python."""
    for python, flag in _SAID:
        message = message.replace(python, flag)
    return _ARGUMENT.sub(lambda found: _FLAGS[found[1]], message)
