"""Rows about the paper's experiments: whole commands, and what sharing one table of losses between splits is worth."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from clock import Timing, interleaved, once
from measures import COARSE, DisagreementError, Row

import cutline as cl
from cutline.paper.splits import Outcomes, outcomes_of, splits_of
from cutline.paper.tables import LossTable

QUERIES, CALIBRATION, SPLITS = 13_045, 8_000, 100
LOSS = cl.FalseDiscovery(cl.Grade(at_least=2))


def reproducing(quick: bool) -> list[Row]:
    """Commands from the start of Python; the full one is left out of a quick run."""
    rows = [_splits(), _command("cutline paper, everything, small", ["--size", "small"], most=40, target="≤ 40 s")]
    if not quick:
        what = "cutline paper yahoo, full: training, 100 splits, true risk"
        rows.append(_command(what, ["yahoo", "--size", "full"], most=300, target="≤ 5 min"))
    return rows


def _command(what: str, words: list[str], *, most: float, target: str) -> Row:
    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="paper-") as folder:
            command = [sys.executable, "-m", "cutline", "paper", *words, "--out", str(Path(folder))]
            subprocess.run(command, check=True, capture_output=True)

    return Row(what=what, ours=Timing(name="cutline paper", samples=[once(run)]), most=most, target=target)


def _splits() -> Row:
    """The splits of the Yahoo-like protocol from one table, its making included, beside `resample`."""
    queries = cl.datasets.YAHOO_LIKE.draw(QUERIES, rng=0, ids=False)
    splits = splits_of(QUERIES, n_calibration=CALIBRATION, repeats=SPLITS, seed=0)

    def shared() -> Outcomes:
        table = LossTable.of(queries, loss=LOSS, scoring=cl.WinRate(), sets=cl.Threshold(), thresholds=COARSE)
        return outcomes_of(table, splits, evidence=cl.evidence.Hoeffding(), alpha=0.3, delta=0.1)

    apart = partial(
        cl.resample, queries, loss=LOSS, alpha=0.3, delta=0.1, n_calibration=CALIBRATION, repeats=SPLITS, rng=0,
        scoring=cl.WinRate(), evidence=cl.evidence.Hoeffding(), thresholds=COARSE,
    )  # fmt: skip
    if abs(shared().risk.mean() - apart().risk.mean()) > 0.005:
        raise DisagreementError("the shared table and resample come to different risks")
    ours, peer = interleaved({"one table": shared, "resample": apart}, rounds=3)
    what = f"{SPLITS} splits of {QUERIES:,} queries, 99 thresholds"
    return Row(what=what, ours=ours, peer=peer, least_ratio=1, target="≥ 1×")
