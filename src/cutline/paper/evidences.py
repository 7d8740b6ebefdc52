"""Beyond the paper: the same protocol with each kind of evidence, and with win rates beside scores as given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.errors import InputError
from cutline.evidence import (
    Betting,
    Convex,
    EmpiricalBernstein,
    Evidence,
    Hoeffding,
    HoeffdingBentkus,
    Normal,
)
from cutline.paper import charts
from cutline.paper.figures import Figure, Rows, listed
from cutline.paper.run import DELTA, GRID, Run, true_settings
from cutline.paper.splits import ABSTAINED, outcomes_of, splits_of
from cutline.paper.tables import LossTable
from cutline.paper.truth import Truth, fresh_places
from cutline.preferences import AsGiven, Scoring, WinRate
from cutline.sets import Threshold

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

EVIDENCES: dict[str, Evidence] = {
    "Hoeffding": Hoeffding(),
    "EmpiricalBernstein": EmpiricalBernstein(),
    "HoeffdingBentkus": HoeffdingBentkus(),
    "Convex": Convex(),
    "Betting (wsr)": Betting(strategy="wsr"),
    "Betting (star)": Betting(),
    "Normal (approximate)": Normal(),
}
STARTED = 0.05  # of the training lists are not empty where a walk begins whose evidence refuses equal losses


def evidences(run: Run, *, alpha: float) -> Figure:
    """Mean size and share of violations of each evidence, under both kinds of scores."""
    rows: Rows = []
    truths: list[Truth | None] = []
    for name, scoring, thresholds in _kinds(run):
        run.say(f"every evidence with {name}")
        found, truth = _of_scores(run, scoring, thresholds, alpha)
        truths.append(truth)
        rows += [{"scores": name, **row} for row in found]
    known = [row for row in rows if row["mean_size"] is not None]
    order = list(EVIDENCES)
    how = "true risk above α, new calibration queries each time" if run.ranked.stream else "test risk above α, splits"
    parts = [
        charts.dots(known, x=("mean_size", "items in a list, mean"), order=order, title="size of lists", legend=True),
        charts.dots(
            known, x=("violations", f"% of {run.repeats} calibrations (line: δ)"), order=order, title=how,
            level=100 * DELTA, legend=False,
        ),
    ]  # fmt: skip
    words = f"{run.label}; α = {alpha:g}, δ = {DELTA:g}, {run.repeats} calibrations"
    return Figure(
        name=run.name, label=run.label, n=run.n, panels={"evidence": rows}, found=_said(run, rows),
        chart=charts.stacked(parts, title="Each kind of evidence", subtitle=words),
        settings=run.settings(
            f"{alpha:g}", "each of the table",
            ("given scores", "the outputs of the network; thresholds are 99 quantiles of those on training queries"),
            ("Normal", "its walk begins where one training list in twenty is not empty; it refuses equal losses"),
            ("means", "lists of a calibration that abstains count as empty; its risk is left out, it has no threshold"),
            *true_settings(*truths),
        ),
    )  # fmt: skip


def _kinds(run: Run) -> list[tuple[str, Scoring, Floats]]:
    """Win rates on the paper's grid; outputs as given on quantiles of those of training queries."""
    falling = np.unique(np.quantile(run.ranked.training.scores, np.linspace(0.01, 0.999, 99)))[::-1].copy()
    return [("win rates", WinRate(), GRID), ("given scores", AsGiven(), falling)]


def _of_scores(run: Run, scoring: Scoring, thresholds: Floats, alpha: float) -> tuple[Rows, Truth | None]:
    """One row for each evidence, and the true risk where it is known."""
    begin = _start(run, scoring, thresholds)
    pieces: dict[str, Any] = {"scoring": scoring, "thresholds": thresholds}
    wanted = {name: (each, begin if isinstance(each, Normal) else 0) for name, each in EVIDENCES.items()}
    truth = run.truth(Threshold(), **pieces)
    stream = run.stream(Threshold())
    if truth is None or stream is None:
        return _by_splits(run, wanted, alpha, **pieces), None
    places = fresh_places(
        stream, evidences=wanted, loss=run.loss, sets=Threshold(), repeats=run.repeats,
        n_calibration=run.ranked.counts.calibration, alpha=alpha, delta=DELTA, seed=run.seed, **pieces,
    )  # fmt: skip
    rows: Rows = [
        row_of(name, certified=found != ABSTAINED, sizes=truth.sizes(found), risks=truth.risks(found), alpha=alpha)
        for name, found in places.items()
    ]
    return rows, truth


def row_of(name: str, *, certified: Flags, sizes: Floats, risks: Floats, alpha: float) -> dict[str, Any]:
    """What calibrations came to. Lists of one that abstains are empty; there is no threshold that it would have a risk
    at, and it violates nothing."""
    return {
        "evidence": name, "mean_size": float(np.where(certified, sizes, 0.0).mean()),
        "risk_where_certified": float(risks[certified].mean()) if certified.any() else None,
        "violations": 100 * float(np.mean(certified & (risks > alpha))), "abstained": int(np.sum(~certified)),
    }  # fmt: skip


def _by_splits(
    run: Run, wanted: dict[str, tuple[Evidence, int]], alpha: float, *, scoring: Scoring, thresholds: Floats
) -> Rows:
    """The same on splits of real lists, by their test risk."""
    table = LossTable.of(run.ranked.queries, loss=run.loss, scoring=scoring, sets=Threshold(), thresholds=thresholds)
    splits = splits_of(len(table), n_calibration=run.ranked.counts.calibration, repeats=run.repeats, seed=run.seed)
    rows: Rows = []
    for name, (evidence, first) in wanted.items():
        try:
            found = outcomes_of(table, splits, evidence=evidence, alpha=alpha, delta=DELTA, seed=run.seed, first=first)
        except InputError:  # losses that are all equal, where this evidence refuses them
            unknown = dict.fromkeys(("mean_size", "risk_where_certified", "violations", "abstained"))
            rows.append({"evidence": name, **unknown})
            continue
        certified, sizes, risks = found.certified, found.mean_size, found.risk
        rows.append(row_of(name, certified=certified, sizes=sizes, risks=risks, alpha=alpha))
    return rows


def _start(run: Run, scoring: Scoring, thresholds: Floats) -> int:
    """The first place where so many training lists are not empty."""
    training = run.ranked.training
    scores = scoring.item_scores(training.scores, training.offsets)
    best = np.maximum.reduceat(scores, training.offsets[:-1])
    nonempty = np.mean(best[:, np.newaxis] >= thresholds, axis=0)
    return int(np.argmax(nonempty >= STARTED))


def _said(run: Run, rows: Rows) -> str:
    by = {(row["scores"], row["evidence"]): row for row in rows}
    parts: list[str] = []
    for scores in dict.fromkeys(row["scores"] for row in rows):
        sizes = [
            f"{by[scores, name]['mean_size']:.2f} items with {name}"
            for name in ("Hoeffding", "Convex", "Betting (star)")
        ]
        parts.append(f"Under {scores}, a list has on average {listed(sizes)}.")
    promised = [row for row in rows if row["violations"] is not None and not row["evidence"].startswith("Normal")]
    worst = max(promised, key=lambda row: row["violations"])
    which = "true" if run.ranked.stream else "test"
    parts.append(
        f"The most violations in {which} risk of a finite-sample evidence are {worst['violations']:.0f} % "
        f"({worst['evidence']}, {worst['scores']}), where δ is {100 * DELTA:.0f} %."
    )
    if not run.ranked.stream:
        parts.append("Test risks of splits that share data vary more than true ones do; they are shown, not judged.")
    return f"On the {run.label}: " + " ".join(parts)
