"""What a split comes to from the shared table is what `calibrate` and a cut of its own queries give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paper.worlds import GRID, LOSS, scored

import cutline as cl
from cutline.cutting import cut_all
from cutline.errors import InputError
from cutline.losses import sums_by_list
from cutline.paper.splits import ABSTAINED, outcomes_of, splits_of
from cutline.paper.tables import LossTable

RULES = {"threshold": cl.Threshold(), "diverse": cl.Diverse(3)}
SIZED = {"least": cl.Threshold(min_size=2), "most": cl.Threshold(max_size=3), "both": cl.Threshold(2, 4)}
EVIDENCES = [
    cl.evidence.Hoeffding(), cl.evidence.Convex(), cl.evidence.EmpiricalBernstein(), cl.evidence.Betting(),
    cl.evidence.Betting(strategy="wsr"),
]  # fmt: skip


def table_of(rule: str, scoring: object = None, thresholds: object = GRID) -> LossTable:
    rule_itself = (RULES | SIZED)[rule]
    return LossTable.of(scored(), loss=LOSS, scoring=scoring or cl.WinRate(), sets=rule_itself, thresholds=thresholds)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("evidence", EVIDENCES, ids=repr)
def test_a_split_certifies_the_threshold_that_calibrate_gives_on_its_queries(rule, evidence):
    queries, table = scored(), table_of(rule)
    splits = splits_of(len(queries), n_calibration=350, repeats=4, seed=3)
    found = outcomes_of(table, splits, evidence=evidence, alpha=0.4, delta=0.1, seed=7)
    for number, split in enumerate(splits):
        certificate = cl.calibrate(
            queries.select(split.calibration), loss=LOSS, scoring=cl.WinRate(), sets=RULES[rule], thresholds=GRID,
            alpha=0.4, delta=0.1, evidence=evidence, seed=7 + number,
        )  # fmt: skip
        assert found.threshold[number] == certificate.threshold
        assert found.certified[number]


def test_the_order_of_betting_is_that_of_calibrate_where_queries_have_no_ids():
    queries = scored()
    bare = cl.Queries(queries.scores, queries.offsets, queries.labels)
    table = LossTable.of(bare, loss=LOSS, scoring=cl.WinRate(), sets=cl.Threshold(), thresholds=GRID)
    for split in splits_of(len(bare), n_calibration=300, repeats=3, seed=0):
        certificate = cl.calibrate(
            bare.select(split.calibration), loss=LOSS, scoring=cl.WinRate(), thresholds=GRID, alpha=0.4, delta=0.1
        )
        place = table.place(split.calibration, evidence=cl.evidence.Betting(), alpha=0.4, delta=0.1)
        assert GRID[place] == certificate.threshold
        assert table.fingerprint(split.calibration) == certificate.calibration_fingerprint


@pytest.mark.parametrize("rule", RULES | SIZED)
def test_sizes_and_losses_are_those_of_lists_that_are_cut(rule):
    queries, table = scored(), table_of(rule)
    scores = cl.WinRate().item_scores(queries.scores, queries.offsets)
    badness = (queries.labels < 2).astype(float)
    for place in (5, 20, 60):
        chosen, _ = cut_all((RULES | SIZED)[rule], scores, queries.offsets, queries.vectors, GRID[place])
        sizes = sums_by_list(chosen, queries.offsets)
        assert (table.sizes(place) == sizes).all()
        assert np.allclose(table.losses(place), LOSS.of_lists(chosen, badness, queries.offsets), atol=1e-9)
        everything = np.arange(len(queries))
        assert table.risk(everything, place) == pytest.approx(table.losses(place).mean())


def test_a_rule_whose_sizes_no_count_tells_is_refused():
    class Best:
        name, needs_vectors = "best", False

        def choose(self, scores, vectors, threshold):
            return np.flatnonzero(scores == scores.max())

        def settings(self):
            return {"name": self.name}

    with pytest.raises(InputError, match="sets must be Threshold or Diverse"):
        LossTable.of(scored(), loss=LOSS, scoring=cl.WinRate(), sets=Best(), thresholds=GRID)


def test_lists_are_modified_where_more_items_reach_the_threshold_than_are_kept():
    plain, diverse = table_of("threshold"), table_of("diverse")
    assert (diverse.modified(40) == (plain.sizes(40) > 3)).all()
    assert diverse.modified(40).any()
    assert not plain.modified(40).any()


def test_a_split_that_abstains_has_no_figures():
    table = table_of("threshold", cl.AsGiven(), np.array([-1e6]))  # every item is kept: the risk is that of whole lists
    splits = splits_of(len(table), n_calibration=300, repeats=2, seed=0)
    found = outcomes_of(table, splits, evidence=cl.evidence.Hoeffding(), alpha=0.3, delta=0.1)
    assert (found.place == ABSTAINED).all()
    assert np.isnan(found.risk).all()
    assert found.typical is None


def test_splits_share_no_query_and_look_at_one_test_query():
    for split in splits_of(50, n_calibration=30, repeats=5, seed=1):
        assert sorted([*split.calibration, *split.test]) == list(range(50))
        assert split.one in split.test
    first, again = (splits_of(50, n_calibration=30, repeats=2, seed=1)[1] for _ in range(2))
    assert (first.calibration == again.calibration).all()


def test_the_place_where_most_splits_stopped_is_the_typical_one():
    table = table_of("threshold")
    found = outcomes_of(
        table, splits_of(len(table), n_calibration=300, repeats=9, seed=2), evidence=cl.evidence.Hoeffding(),
        alpha=0.4, delta=0.1,
    )  # fmt: skip
    counts = {place: int((found.place == place).sum()) for place in found.place.tolist()}
    assert counts[found.typical] == max(counts.values())
