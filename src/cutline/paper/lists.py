"""The risk and the size of lists over many splits, and the risk by size: the paper's three panels, on any source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.auditing import groups_of, strata_of
from cutline.cutting import unit_losses
from cutline.evidence import Betting, Evidence, Hoeffding
from cutline.paper import charts
from cutline.paper.figures import Figure, Rows, listed
from cutline.paper.run import DELTA, GRID, Run, above, abstentions, mean_of, true_settings
from cutline.paper.splits import Outcomes, Split, outcomes_of
from cutline.paper.tables import LossTable
from cutline.paper.truth import Truth, fresh_places
from cutline.preferences import WinRate
from cutline.sets import Diverse, SetRule, Threshold
from cutline.tallies import cells_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EVIDENCES: dict[str, Evidence] = {"Hoeffding": Hoeffding(), "Betting": Betting()}


def lists(run: Run, *, alpha: float) -> Figure:
    """The histograms of risk and size, and the risk of each stratum of sizes."""
    return _figure(run, Threshold(), alpha, "Risk and size of lists")


def diverse_lists(run: Run, *, alpha: float, max_size: int) -> Figure:
    """The same for lists of at most a few diverse items."""
    return _figure(run, Diverse(max_size), alpha, f"Risk and size of at most {max_size} diverse items")


def _figure(run: Run, sets: SetRule, alpha: float, title: str) -> Figure:
    table, splits = run.table(sets), run.splits()
    run.say("calibrating the splits")
    found = {
        name: outcomes_of(table, splits, evidence=evidence, alpha=alpha, delta=DELTA, seed=run.seed)
        for name, evidence in EVIDENCES.items()
    }
    truth = run.truth(sets)
    fresh = _fresh(run, sets, alpha)
    series = {f"{name}: risk on the test queries of each split": each.risk for name, each in found.items()}
    if truth is not None:
        series |= {f"{name}: true risk, new calibration queries each time": truth.risks(p) for name, p in fresh.items()}
    top, risk_rows = charts.risks(series, alpha, what="risk: expected share of not-good items per list")
    middle, size_rows = _sizes(table, splits, found["Hoeffding"])
    bottom, strata_rows = _strata(table, found["Hoeffding"], alpha)
    words = f"{run.label}; α = {alpha:g}, δ = {DELTA:g}, {run.repeats} splits"
    return Figure(
        name=run.name, label=run.label, n=run.n,
        chart=charts.stacked([*top, *middle, *bottom], title=title, subtitle=words),
        panels={"risk": risk_rows, "size": size_rows, "strata": strata_rows, "splits": _each(found, truth, fresh)},
        found=_said(run, found, truth, fresh, alpha),
        settings=run.settings(
            f"{alpha:g}", "Hoeffding, the paper's test; Betting beside it", *_rule_settings(sets), *true_settings(truth)
        ),
    )  # fmt: skip


def _rule_settings(sets: SetRule) -> tuple[tuple[str, str], ...]:
    if not isinstance(sets, Diverse):
        return ()
    return (("choice", f"at most M = {sets.max_size} by greedy elimination, euclidean distances; calibrated as shown"),)


def _fresh(run: Run, sets: SetRule, alpha: float) -> dict[str, Integers]:
    """Where calibrations on new queries end; nothing where there are none to be drawn."""
    stream = run.stream(sets)
    if stream is None:
        return {}
    run.say("calibrating on new lists")
    return fresh_places(
        stream, evidences={name: (each, 0) for name, each in EVIDENCES.items()}, loss=run.loss,
        scoring=WinRate(), sets=sets, thresholds=GRID, n_calibration=run.ranked.counts.calibration,
        repeats=run.repeats, alpha=alpha, delta=DELTA, seed=run.seed,
    )  # fmt: skip


def _sizes(table: LossTable, splits: list[Split], outcomes: Outcomes) -> tuple[list[Any], Rows]:
    """Sizes of one random test list of each split, and of all test lists of one split."""
    known = np.flatnonzero(outcomes.certified)
    if not len(known):
        return [], []
    first = int(known[0])
    every = table.sizes(int(outcomes.place[first]))[splits[first].test]
    return charts.sizes(
        {
            f"one random test query of each split, n = {len(known):,}": outcomes.size_of_one[known].astype(np.int64),
            f"all test queries of one split, n = {len(every):,}": every,
        }
    )


def _strata(table: LossTable, outcomes: Outcomes, alpha: float) -> tuple[list[Any], Rows]:
    """The risk by size on the validation queries, at the threshold that most splits came to."""
    place = outcomes.typical
    if place is None:
        return [], []
    sizes, units = table.sizes(place).astype(np.int64), np.rint(table.losses(place) * unit_losses(1)).astype(np.int64)
    groups = groups_of(strata_of(cells_of(sizes, units, sizes)))
    rows = [
        {
            "stratum": f"{each.name}|n = {each.n_queries:,}", "name": each.name, "n": each.n_queries,
            "risk": each.risk, "low": each.low, "high": each.high,
        }
        for each in groups
    ]  # fmt: skip
    filled = [row for row in rows if row["name"] != "Empty"]
    empty = sum(int(row["n"]) for row in rows if row["name"] == "Empty")
    title = f"risk by size of list, validation queries at λ = {GRID[place]:g}; {empty:,} empty lists cost nothing"
    return ([charts.strata(filled, alpha, title=title)] if filled else []), rows


def _each(found: Mapping[str, Outcomes], truth: Truth | None, fresh: Mapping[str, Integers]) -> Rows:
    """One row for each split, and for each calibration on new queries."""
    rows: Rows = []
    for name, each in found.items():
        true = [None] * len(each) if truth is None else truth.risks(each.place).tolist()
        rows += [
            {
                "evidence": name, "split": split, "certified": bool(each.certified[split]), "new_queries": False,
                "threshold": _or_none(each.threshold[split]), "test_risk": _or_none(each.risk[split]),
                "mean_size": _or_none(each.mean_size[split]), "size_of_one": _or_none(each.size_of_one[split]),
                "true_risk": true[split],
            }
            for split in range(len(each))
        ]  # fmt: skip
    for name, places in fresh.items():
        if truth is None:
            continue
        rows += [
            {
                "evidence": name, "split": number, "certified": place >= 0, "new_queries": True,
                "threshold": float(GRID[place]) if place >= 0 else None, "mean_size": size, "true_risk": risk,
            }
            for number, (place, size, risk) in enumerate(
                zip(places.tolist(), truth.sizes(places).tolist(), truth.risks(places).tolist(), strict=True)
            )
        ]  # fmt: skip
    return rows


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _said(
    run: Run, found: Mapping[str, Outcomes], truth: Truth | None, fresh: Mapping[str, Integers], alpha: float,
) -> str:  # fmt: skip
    """What was found, in sentences that hold for this run."""
    parts = [
        f"{name} comes to a mean test risk of {mean_of(each.risk):.3f} and lists of {mean_of(each.mean_size):.2f} "
        f"items; the test risk is above α in {above(each, alpha)}.{abstentions(each)}"
        if each.certified.any()
        else f"{name} certified nothing: all {len(each)} splits abstained."
        for name, each in found.items()
    ]
    if truth is not None:
        shares = [f"{np.mean(truth.risks(each.place) > alpha):.0%} ({name})" for name, each in found.items()]
        parts.append(f"The true risk of the thresholds is above α in {listed(shares)} of the splits, which share data.")
        shares = [f"{np.mean(truth.risks(places) > alpha):.0%} ({name})" for name, places in fresh.items()]
        sizes = [f"{truth.sizes(places).mean():.2f} ({name})" for name, places in fresh.items()]
        risks = [f"{truth.risks(places).mean():.3f} ({name})" for name, places in fresh.items()]
        parts.append(
            f"With new calibration queries each time, it is above α in {listed(shares)} of {run.repeats} calibrations, "
            f"where δ allows {DELTA:.0%}; it is {listed(risks)} on average, with lists of {listed(sizes)} items."
        )
    return f"On the {run.label}: " + " ".join(parts).replace("%", " %")
