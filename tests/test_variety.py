"""Diversity before and after choosing, in audits and repeated splits, against loops over the lists."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.points import (
    distances_by_hand,
    diversity_by_hand,
    eliminated_by_hand,
    reaching,
    tables_with_vectors,
    whole_by_hand,
)
from tests.ragged import best_first

import cutline as cl
from cutline.evidence import Convex

pytestmark = pytest.mark.filterwarnings("ignore:.*have no (label|judged item):cutline.errors.CutlineWarning")

LOSS = cl.FalseDiscovery(cl.Grade(at_least=1))
BY = ("paper", "pairs")


def drawn(count=300, seed=0, **changed):
    """Lists of ten, half of the items good, whose vectors cluster."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count * 10, 3)) * 0.2 + rng.integers(0, 3, (count * 10, 1))
    made = {"scores": rng.random(count * 10), "labels": rng.integers(0, 2, count * 10), "vectors": vectors} | changed
    return cl.Queries.from_arrays(qid=np.repeat(np.arange(count), 10), **made)


def calibrated(queries=None, *, most=3, alpha=0.6, **changed):
    how = {"loss": LOSS, "sets": cl.Diverse(most), "thresholds": np.linspace(0.9, 0.3, 7), "evidence": Convex()}
    return cl.calibrate(drawn() if queries is None else queries, alpha=alpha, delta=0.1, **(how | changed))


def at(threshold, *, sets):
    """A certificate that cuts there, whatever it was calibrated on."""
    return replace(calibrated(), certified_threshold=threshold, sets=sets, vector_width=None)


def by_hand(queries, threshold, rule):
    """For each modified list its diversities before, after and of the best by score, by both denominators."""
    rows = []
    for begin, end in pairwise(queries.offsets.tolist()):
        scores = queries.scores[begin:end].tolist()
        vectors = queries.vectors[begin:end]
        vectors = vectors[:, : end - begin] if rule.distance == "precomputed" else vectors
        apart, reached = distances_by_hand(vectors, rule.distance), reaching(scores, threshold)
        if len(reached) > rule.max_size:
            kept = eliminated_by_hand(scores, whole_by_hand(apart), threshold, rule.max_size)
            sets = (reached, kept, best_first(scores)[: rule.max_size])
            rows.append([[diversity_by_hand(apart, s, rule.max_size, by) for s in sets] for by in BY])
    return np.array(rows).reshape(-1, 2, 3)


@given(tables_with_vectors(), st.integers(1, 5), st.sampled_from([-math.inf, 0.3, 0.5]))
@settings(deadline=None, max_examples=150)
def test_every_figure_meets_a_loop_over_the_lists(drawing, most, threshold):
    queries, distance = drawing
    rule = cl.Diverse(most, distance=distance)
    found = cl.audit(at(threshold, sets=rule), queries).diversity
    rows = by_hand(queries, threshold, rule)
    assert (found.n_queries, found.n_modified, found.max_size) == (len(queries), len(rows), most)
    assert found.share_modified == len(rows) / len(queries)
    unit = 1e-10 * rows.max(initial=1e-2)  # distances are whole numbers of 2^-40 of the largest in their list
    for place, by in enumerate(BY):
        values = rows[:, place]
        for name, column in (("before", 0), ("after", 1), ("top", 2)):
            mean = getattr(found, name)[by]
            assert mean == (pytest.approx(values[:, column].mean(), rel=1e-9, abs=unit) if len(values) else None)
        for gains, other in ((found.over_before, 0), (found.over_top, 2)):
            others = values[:, other]
            tiny = (others > 0) & (others < 1e6 * unit)
            if (tiny | np.isclose(others, 1e-3 * values[:, 1], rtol=1e-6, atol=unit)).any():
                continue  # so near that rounding decides
            known = values[values[:, other] > 1e-3 * values[:, 1]]
            ratios = known[:, 1] / known[:, other] - 1.0
            if not len(ratios):
                assert gains[by] is None
                continue
            assert (gains[by].n, gains[by].mean) == (len(ratios), pytest.approx(ratios.mean(), rel=1e-5, abs=1e-5))
            if len(ratios) < 10:
                assert gains[by].low is gains[by].high is None
            else:
                assert ratios.min() - 1e-5 <= gains[by].low <= gains[by].high <= ratios.max() + 1e-5


def test_elimination_gains_over_both_and_by_the_papers_denominator_loses_to_what_was_there():
    found = cl.audit(calibrated(), drawn(seed=1)).diversity
    assert found.over_before["pairs"].low > 0.2
    assert found.over_top["pairs"].low > 0.2
    assert found.over_before["paper"].high < 0
    assert found.over_top["paper"].mean == pytest.approx(found.over_top["pairs"].mean)
    assert found.after["pairs"] > found.before["pairs"]
    assert found.after["paper"] < found.before["paper"]


def test_the_bootstrap_interval_holds_the_mean_about_as_often_as_it_says():
    """Gains of 60 lists each, of lists that are drawn afresh: their mean over very many is the truth."""
    certificate = calibrated()
    truth = cl.audit(certificate, drawn(4_000, seed=99)).diversity.over_before["pairs"].mean
    inside = 0
    for seed in range(200):
        gain = cl.audit(certificate, drawn(60, seed=1_000 + seed)).diversity.over_before["pairs"]
        inside += gain.low <= truth <= gain.high
    assert 0.87 * 200 <= inside <= 0.99 * 200


def test_neither_the_order_of_queries_nor_threads_change_a_digit(monkeypatch):
    certificate, queries = calibrated(), drawn(seed=1)
    answers = []
    for threads, order in (
        ("1", np.arange(300)),
        ("2", np.arange(300)[::-1]),
        ("3", np.random.default_rng(0).permutation(300)),
    ):
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        answers.append(cl.audit(certificate, queries.select(order)).diversity)
    assert answers[0] == answers[1] == answers[2]
    assert replace(certificate, seed=1).seed != certificate.seed
    other = cl.audit(replace(certificate, seed=-1), queries).diversity.over_before["pairs"]
    assert other.low != answers[0].over_before["pairs"].low
    assert other.mean == answers[0].over_before["pairs"].mean


def test_lists_that_are_not_too_long_are_not_modified():
    found = cl.audit(calibrated(most=10), drawn(seed=1))
    assert (found.diversity.n_modified, found.diversity.share_modified) == (0, 0.0)
    assert found.diversity.before == {"paper": None, "pairs": None}
    assert found.diversity.over_before == {"paper": None, "pairs": None}
    assert "modified lists" in repr(found)
    assert "0 %, 0 of 300" in repr(found)
    assert "diversity, pairs" not in repr(found)


def test_lists_that_hold_one_item_have_no_pair():
    gains = cl.audit(calibrated(most=1), drawn(seed=1)).diversity
    assert gains.after["pairs"] == 0.0
    assert gains.over_before["pairs"].mean == -1.0
    assert gains.over_top["pairs"] is None


def test_lists_of_equal_items_have_no_gain():
    found = cl.audit(calibrated(), drawn(seed=1, vectors=np.ones((3_000, 3)))).diversity
    assert found.n_modified > 0
    assert found.over_before == found.over_top == {"paper": None, "pairs": None}


def test_a_strategy_that_keeps_the_best_gains_nothing_over_them():
    def best(scores, distances, max_size):
        return range(max_size)

    found = cl.audit(calibrated(sets=cl.Diverse(3, strategy=best)), drawn(seed=1)).diversity
    assert found.over_top["pairs"].mean == 0.0
    assert found.after == found.top


def test_a_strategy_that_keeps_none_loses_everything():
    def none(scores, distances, max_size):
        return []

    found = cl.audit(calibrated(sets=cl.Diverse(3, strategy=none)), drawn(seed=1)).diversity
    assert found.over_before["pairs"].mean == found.over_top["pairs"].mean == -1.0


def test_other_rules_have_no_such_figures():
    found = cl.audit(calibrated(sets=cl.Threshold(max_size=3)), drawn(seed=1))
    assert found.diversity is None
    assert "modified" not in repr(found)
    assert found.to_dict()["diversity"] is None


def test_an_abstention_that_returns_nothing_modifies_nothing():
    abstention = calibrated(alpha=0.01)
    assert isinstance(abstention, cl.Abstention)
    found = cl.audit(abstention, drawn(seed=1))
    assert found.diversity.n_modified == 0
    assert found.sizes.largest == 0


def test_an_audit_shows_its_diversities_and_writes_them_down():
    found = cl.audit(calibrated(), drawn(seed=1))
    gain, rows = found.diversity.over_before["pairs"], dict(found._rows())
    assert rows["modified lists"] == f"{found.diversity.n_modified / 3:g} %, {found.diversity.n_modified} of 300"
    before, after, top = (getattr(found.diversity, name)["pairs"] for name in ("before", "after", "top"))
    assert rows["diversity, pairs"] == f"{before:.4g} before, {after:.4g} after, {top:.4g} of the best by score"
    shown = f"+{100 * gain.mean:.1f} %  (+{100 * gain.low:.1f} % … +{100 * gain.high:.1f} %; n {gain.n:,})"
    assert rows["gain over all reached"] == shown
    written = json.loads(json.dumps(found.to_dict()))["diversity"]
    assert written["over_before"]["pairs"]["mean"] == gain.mean
    assert written["n_modified"] == found.diversity.n_modified


def test_each_split_is_what_an_audit_of_its_certificate_finds():
    queries = drawn(200)
    how = {"loss": LOSS, "alpha": 0.6, "delta": 0.1, "sets": cl.Diverse(3), "thresholds": np.linspace(0.9, 0.3, 7)}
    splits = cl.resample(queries, n_calibration=120, repeats=3, rng=3, **how)
    generator = np.random.default_rng(3)
    for repeat in range(3):
        shuffled = generator.permutation(200)
        generator.integers(80)
        made = cl.calibrate(queries.select(np.sort(shuffled[:120])), seed=repeat, **how)
        found = cl.audit(made, queries.select(np.sort(shuffled[120:]))).diversity
        split = splits.diversity[repeat]
        assert (split.before, split.after, split.top) == (found.before, found.after, found.top)
        assert split.over_before["pairs"].mean == found.over_before["pairs"].mean
        assert (split.n_queries, split.n_modified) == (80, found.n_modified)
    rows = dict(splits._rows())
    means = [split.over_before["pairs"].mean for split in splits.diversity]
    assert rows["gain over all reached"].startswith(f"{np.mean(means):.4f}  ({min(means):.4f} … {max(means):.4f}), n ")
    assert rows["modified lists"].startswith(f"{np.mean([s.share_modified for s in splits.diversity]):.4f}")


def test_splits_that_abstain_have_no_diversity_and_other_rules_have_none_at_all():
    how = {"loss": LOSS, "delta": 0.1, "n_calibration": 120, "repeats": 2, "rng": 3, "thresholds": [0.5]}
    none = cl.resample(drawn(200), sets=cl.Diverse(3), alpha=0.05, **how)
    assert none.diversity == (None, None)
    assert "modified" not in repr(none)
    assert cl.resample(drawn(200), alpha=0.6, **how).diversity == ()


def test_a_list_beside_which_any_other_is_diverse_does_not_make_the_mean_its_own():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3_000, 3))
    scores = np.tile(np.linspace(0.9, 0.5, 10), 300)
    for query in range(0, 300, 100):  # the best three are one item, almost
        vectors[query * 10 : query * 10 + 3] = vectors[query * 10] + 1e-7 * rng.normal(size=(3, 3))
    found = cl.audit(at(0.4, sets=cl.Diverse(3)), drawn(scores=scores, vectors=vectors)).diversity
    assert found.over_top["pairs"].n == 297
    assert found.over_top["pairs"].mean < 5


def test_huge_vectors_have_gains_that_are_numbers():
    found = cl.audit(at(0.3, sets=cl.Diverse(3)), drawn(seed=1, vectors=drawn(seed=1).vectors * 1e307)).diversity
    usual = cl.audit(at(0.3, sets=cl.Diverse(3)), drawn(seed=1)).diversity
    assert found.over_before["pairs"].mean == pytest.approx(usual.over_before["pairs"].mean)
    assert math.isfinite(found.before["pairs"])
    json.dumps(
        cl.audit(at(0.3, sets=cl.Diverse(3)), drawn(seed=1, vectors=drawn(seed=1).vectors * 1e307)).to_dict(),
        allow_nan=False,
    )
