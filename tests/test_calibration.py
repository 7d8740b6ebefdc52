"""Calibration against loops straight from the definitions; its laziness, its exactness, and what it refuses."""

from __future__ import annotations

import itertools
import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline as cl
from cutline.cutting import badness_of, fingerprint, fingerprint_text, lengths_of, scores_of
from cutline.errors import CutlineWarning, InputError
from cutline.evidence import Betting, Binomial, Convex, EmpiricalBernstein, Hoeffding, HoeffdingBentkus, Normal
from cutline.kernels.walk import UNITS
from cutline.preferences import win_rates
from cutline.relevance import Badness

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no judged item|among judged items only):cutline.errors.CutlineWarning"
)  # meant here

SUMS = [Hoeffding(), HoeffdingBentkus(), Convex()]
MOMENTS = [EmpiricalBernstein(), Normal()]
ORDERED = [Betting(), Betting(strategy="wsr")]
EVERY = [*SUMS, *MOMENTS, *ORDERED]
GRADE = cl.Grade(at_least=3)
FALLING, RISING = cl.grid(0.85, 0.05, 0.05), cl.grid(0.05, 0.85, 0.05)


def drawn(seed, n=120, *, most=6, one_item=False, missing=0.0, prefix="q"):
    """Ragged lists with scores on a coarse grid, so that ties and thresholds equal to scores are common."""
    rng = np.random.default_rng(seed)
    sizes = np.ones(n, dtype=np.int64) if one_item else rng.integers(1, most + 1, n)
    scores = np.round(rng.random(sizes.sum()), 2)
    labels = np.rint(4 * np.clip(scores + rng.normal(0.15, 0.25, sizes.sum()), 0, 1))
    labels[rng.random(sizes.sum()) < missing] = np.nan
    return cl.Queries.from_arrays(scores, labels, qid=np.repeat([f"{prefix}{i}" for i in range(n)], sizes))


def grid_of(loss):
    return FALLING if loss.safe_end == "high" else RISING


# the definitions once more -------------------------------------------------------------------------------------------


def naive_badness(labels, relevance):
    """b of STATISTICS section 3 for one list; None where the loss passes over the item."""
    unjudged = {"bad": 1.0, "drop": None}[relevance.unjudged]
    if isinstance(relevance, cl.Grade):
        return [unjudged if label != label else float(label < relevance.at_least) for label in labels]
    judged = sorted((label for label in labels if label == label), reverse=True)
    taken = len(labels) - len(judged) if relevance.unjudged == "bad" else 0
    places = min(max(relevance.m - taken, 0), len(judged))
    last = judged[places - 1] if places else math.inf
    above, tied = sum(label > last for label in judged), sum(label == last for label in judged)
    share = 1 - (places - above) / tied if tied else 0.0
    if above + tied > places:
        share = {"strict": 1.0, "lenient": 0.0, "expected": share}[relevance.ties]
    return [
        unjudged if label != label else 0.0 if label > last else share if label == last else 1.0 for label in labels
    ]


def naive_cut(scores, threshold, rule):
    ranked = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    reached = sum(score >= threshold for score in scores)
    most = len(scores) if rule.max_size is None else rule.max_size
    return ranked[: min(max(reached, min(rule.min_size, len(scores))), most)]


def naive_loss(chosen, badness, loss):
    judged = [i for i in chosen if badness[i] is not None]
    if loss.name == "false-discovery":
        return sum(badness[i] for i in judged) / max(len(judged), 1)
    good = sum(1 - b for b in badness if b is not None)
    return 1 - sum(1 - badness[i] for i in judged) / good if good else 0.0


@dataclass
class Naive:
    """One threshold, every number from its definition."""

    losses: np.ndarray
    sizes: np.ndarray
    item_rate: float | None


def naive_at(queries, threshold, loss, *, sets=None, scoring=None, order=None):
    sets = sets or cl.Threshold()
    scores = scoring.item_scores(queries.scores, queries.offsets) if scoring else queries.scores
    losses, sizes, bad, judged = [], [], 0.0, 0
    for q in range(len(queries)) if order is None else order:
        rows = slice(queries.offsets[q], queries.offsets[q + 1])
        badness = naive_badness(queries.labels[rows].tolist(), loss.relevance)
        chosen = naive_cut(scores[rows].tolist(), threshold, sets)
        losses.append(naive_loss(chosen, badness, loss))
        sizes.append(len(chosen))
        known = [badness[i] for i in chosen if badness[i] is not None]
        bad, judged = bad + sum(known), judged + len(known)
    return Naive(np.array(losses), np.array(sizes), bad / judged if judged else None)


def order_of(queries, loss, seed=0, scoring=None):
    """The order in which betting sees the queries: that of their ids hashed with the seed and a fingerprint of all."""
    scores = scores_of(queries, scoring or cl.AsGiven())
    sums = fingerprint(scores, badness_of(queries, loss.relevance), queries.offsets)
    return queries.hash_order(seed, fingerprint_text(sums, lengths_of(queries.sizes)))


def naive_walk(queries, thresholds, loss, evidence, *, alpha, delta, seed=0, sets=None, scoring=None):
    """(certified threshold or None, thresholds tested): test in turn in hash order, stop at the first failure."""
    order, certified = order_of(queries, loss, seed, scoring), None
    for tested, threshold in enumerate(thresholds, start=1):
        losses = naive_at(queries, threshold, loss, sets=sets, scoring=scoring, order=order).losses
        if not evidence.certifies(losses, alpha=alpha, delta=delta):
            return certified, tested
        certified = float(threshold)
    return certified, len(thresholds)


def assert_same_findings(found, queries, threshold, **how):
    at = naive_at(queries, threshold, found.loss, **how)
    assert found.risk == pytest.approx(at.losses.mean(), abs=1e-9)
    assert found.share_nonempty == np.mean(at.sizes > 0)
    assert found.mean_size == at.sizes.mean()
    assert found.item_rate == (None if at.item_rate is None else pytest.approx(at.item_rate))
    filled = at.losses[at.sizes > 0]
    assert found.risk_given_nonempty == (pytest.approx(filled.mean()) if len(filled) else None)


# a grid -------------------------------------------------------------------------------------------------------------

SETTINGS = {
    "plain": {},
    "sizes": {"sets": cl.Threshold(min_size=1, max_size=3)},
    "win-rates": {"scoring": cl.WinRate(scale=0.3)},
}
RELEVANCES = {
    "grade": (GRADE, 0.0),
    "dropped": (cl.Grade(at_least=3, unjudged="drop"), 0.3),
    "unjudged": (cl.Grade(at_least=2, unjudged="bad"), 0.15),
    "strict": (cl.TopM(m=2), 0.0),
    "expected": (cl.TopM(m=2, ties="expected"), 0.1),
}


@pytest.mark.parametrize("relevance", RELEVANCES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
def test_along_a_grid_every_evidence_decides_as_a_naive_loop_in_hash_order(kind, setting, relevance):
    how, (relevant, missing) = SETTINGS[setting], RELEVANCES[relevance]
    loss, certificates = kind(relevant), 0
    for evidence, seed in zip(EVERY, itertools.count()):
        queries = drawn(seed, missing=missing)
        thresholds = grid_of(loss)[2:]
        middle = naive_at(queries, thresholds[len(thresholds) // 2], loss, **how).losses
        alpha, delta = float(min(0.95, middle.mean() + 1.5 * middle.std() / math.sqrt(len(queries)) + 0.02)), 0.2
        asked = {"loss": loss, "alpha": alpha, "delta": delta, "evidence": evidence, "seed": seed} | how
        try:
            wanted, tested = naive_walk(queries, thresholds, **asked)
        except InputError as refused:  # Normal, where all losses are 0
            with pytest.raises(InputError, match=re.escape(str(refused))):
                cl.calibrate(queries, thresholds=thresholds, **asked)
            continue
        found = cl.calibrate(queries, thresholds=thresholds, **asked)
        certificates += isinstance(found, cl.Certificate)
        assert isinstance(found, cl.Certificate) == (wanted is not None), evidence
        assert found.tested == tested, evidence
        if wanted is not None:
            assert found.threshold == wanted, evidence
        at = thresholds[0] if wanted is None else wanted
        assert_same_findings(found, queries, at, **how)
        losses = naive_at(queries, at, loss, order=order_of(queries, loss, seed, how.get("scoring")), **how).losses
        evident = evidence.log_evidence(losses, alpha=alpha, delta=delta)
        assert found.log_evidence == pytest.approx(evident, rel=1e-6, abs=1e-9)
        assert (found.log_evidence >= math.log(1 / delta)) == (wanted is not None)
    assert certificates >= 2  # a comparison of abstentions alone would say little


@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
def test_binomial_decides_as_a_naive_loop_where_every_loss_is_0_or_1(kind):
    loss = kind(GRADE)
    for seed in range(5):
        queries = drawn(seed, one_item=True)
        found = cl.calibrate(
            queries, loss=loss, alpha=0.3, delta=0.1, evidence=Binomial(), thresholds=grid_of(loss), seed=seed
        )
        wanted, tested = naive_walk(queries, grid_of(loss), loss, Binomial(), alpha=0.3, delta=0.1, seed=seed)
        assert (found.threshold, found.tested) == (wanted, tested)


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
def test_fallback_meets_a_naive_loop_that_passes_levels_on(evidence):
    outcomes = set()
    for seed, alpha in itertools.product(range(4), (0.25, 0.32, 0.4)):
        queries, loss, sets = drawn(seed, 200), cl.FalseDiscovery(GRADE), cl.Threshold(min_size=1)
        thresholds, delta = cl.grid(0.85, 0.25, 0.1), 0.3
        level, farthest, order = 0.0, None, order_of(queries, loss)
        for threshold in thresholds:
            level += delta / len(thresholds)
            losses = naive_at(queries, threshold, loss, sets=sets, order=order).losses
            if evidence.certifies(losses, alpha=alpha, delta=min(level, delta)):
                farthest = float(threshold)
            else:
                level = 0.0
        found = cl.calibrate(
            queries, loss=loss, alpha=alpha, delta=delta, evidence=evidence, sets=sets, thresholds=thresholds,
            sequence=cl.Fallback(),
        )  # fmt: skip
        outcomes.add(type(found))
        assert found.tested == len(thresholds)
        assert (found.threshold if isinstance(found, cl.Certificate) else None) == farthest
    assert cl.Certificate in outcomes


def test_a_failing_first_threshold_is_an_abstention_and_no_other_is_tested():
    queries = drawn(1)
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), alpha=0.01, delta=0.1, thresholds=cl.grid(0.4, 0.1, 0.1)
    )
    assert isinstance(found, cl.Abstention)
    assert (found.tested, found.threshold) == (1, math.inf)
    missed = cl.calibrate(queries, loss=cl.Miss(GRADE), alpha=0.01, delta=0.1, thresholds=cl.grid(0.4, 0.9, 0.1))
    assert (missed.tested, missed.threshold) == (1, -math.inf)


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
def test_where_every_threshold_passes_the_last_one_is_the_answer(evidence):
    queries = drawn(2)
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), alpha=0.95, delta=0.1, evidence=evidence, thresholds=FALLING[2:]
    )
    assert (found.threshold, found.tested) == (FALLING[-1], len(FALLING) - 2)
    missed = cl.calibrate(
        queries, loss=cl.Miss(GRADE), alpha=0.99, delta=0.4, evidence=evidence, thresholds=RISING[2:-4]
    )
    assert (missed.threshold, missed.tested) == (RISING[-5], len(RISING) - 6)


# every score in turn ------------------------------------------------------------------------------------------------


def changes_a_list(queries, scores, score, sets):
    """Whether anything comes or goes at this score: minimum and maximum sizes may hold it back."""
    beyond = np.nextafter(score, np.inf)
    lists = [scores[begin:end].tolist() for begin, end in itertools.pairwise(queries.offsets)]
    return any(naive_cut(each, score, sets) != naive_cut(each, beyond, sets) for each in lists)


def naive_exact(queries, loss, evidence, *, alpha, delta, sets=None, scoring=None):
    """Every distinct score in turn; the answer is the farthest threshold that no failing score reaches."""
    scores = scoring.item_scores(queries.scores, queries.offsets) if scoring else queries.scores
    distinct = [score for score in np.unique(scores) if changes_a_list(queries, scores, score, sets or cl.Threshold())]
    if loss.safe_end == "high":
        for score in reversed(distinct):
            losses = naive_at(queries, score, loss, sets=sets, scoring=scoring).losses
            if evidence.p_value(losses, alpha=alpha) > delta:
                return float(np.nextafter(score, np.inf))
        return float(distinct[0])
    for score in distinct:  # beyond this score it leaves; up to it, the lists are those that passed before
        beyond = float(np.nextafter(score, np.inf))
        losses = naive_at(queries, beyond, loss, sets=sets, scoring=scoring).losses
        if evidence.p_value(losses, alpha=alpha) > delta:
            return float(score)
    return beyond


@pytest.mark.parametrize("evidence", [*SUMS, EmpiricalBernstein()], ids=repr)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
def test_the_exact_continuum_stops_just_beyond_the_failing_score_of_a_naive_walk(kind, evidence):
    for seed, setting in itertools.product(range(2), SETTINGS):
        queries, loss, how = drawn(seed, 90), kind(GRADE), dict(SETTINGS[setting])
        if setting == "sizes":
            how = (
                {"sets": cl.Threshold(max_size=3)} if kind is cl.FalseDiscovery else {"sets": cl.Threshold(min_size=1)}
            )
        for alpha in (0.2, 0.45):
            found = cl.calibrate(
                queries, loss=loss, alpha=alpha, delta=0.2, evidence=evidence, thresholds="exact", **how
            )
            if isinstance(found, cl.Abstention):
                losses = naive_at(queries, found.threshold, loss, **how).losses
                assert evidence.p_value(losses, alpha=alpha) > 0.2
            else:
                assert found.threshold == naive_exact(queries, loss, evidence, alpha=alpha, delta=0.2, **how)
                assert_same_findings(found, queries, found.threshold, **how)
            assert found.thresholds == "exact"


@given(
    st.lists(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=4), min_size=8, max_size=25),
    st.sampled_from([0.3, 0.6, 0.9]),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore:no item is wholly good")
def test_the_exact_continuum_meets_a_naive_walk_on_any_lists(lists, alpha, falling):
    scores = [float(score) for each in lists for score, _ in each]
    labels = [float(good) for each in lists for _, good in each]
    queries = cl.Queries.from_arrays(scores, labels, group=[len(each) for each in lists])
    loss = (cl.FalseDiscovery if falling else cl.Miss)(cl.Grade(at_least=1))
    found = cl.calibrate(queries, loss=loss, alpha=alpha, delta=0.4, evidence=Convex(), thresholds="exact")
    if isinstance(found, cl.Abstention):  # too few queries for a loss of zero even
        assert Convex().p_value(np.zeros(len(lists)), alpha=alpha) > 0.4
    else:
        assert found.threshold == naive_exact(queries, loss, Convex(), alpha=alpha, delta=0.4)


@pytest.mark.parametrize(("kind", "score"), [(cl.FalseDiscovery, 0.0), (cl.Miss, 39.0)], ids=["falling", "rising"])
def test_an_exact_walk_over_lists_that_sizes_fix_certifies_any_threshold(kind, score):
    queries = cl.Queries.from_arrays(np.arange(40.0), np.full(40, 4), group=[2] * 20)
    found = cl.calibrate(
        queries, loss=kind(GRADE), alpha=0.99, delta=0.4, evidence=Convex(),
        sets=cl.Threshold(min_size=2), thresholds="exact",
    )  # fmt: skip
    assert (found.threshold, found.mean_size, found.risk) == (score, 2.0, 0.0)
    assert found.apply(queries).sizes.tolist() == [2] * 20


# curves -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
@pytest.mark.parametrize("evidence", [*SUMS, *MOMENTS], ids=repr)
def test_a_curve_and_its_queries_give_the_same_numbers(evidence, kind, setting, tmp_path):
    queries, loss, how = drawn(5, 150), kind(GRADE), SETTINGS[setting]
    thresholds = grid_of(loss)[4:]
    curve = cl.RiskCurve.empty(loss=loss, thresholds=thresholds, **how)
    for chunk in (queries[100:], queries[:37], queries[37:100]):
        curve = curve.add(chunk)
    for alpha in (0.15, 0.35, 0.6):
        streamed = cl.calibrate(curve, alpha=alpha, delta=0.1, evidence=evidence)
        direct = cl.calibrate(
            queries, loss=loss, alpha=alpha, delta=0.1, evidence=evidence, thresholds=thresholds, **how
        )
        assert type(streamed) is type(direct)
        assert bytes_of(streamed, tmp_path) == bytes_of(direct, tmp_path)


def test_a_curve_and_its_queries_give_the_same_binomial_certificate(tmp_path):
    queries, loss = drawn(5, 150, one_item=True), cl.FalseDiscovery(GRADE)
    curve = cl.RiskCurve.empty(loss=loss, thresholds=FALLING).add(queries)
    streamed = cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=Binomial())
    direct = cl.calibrate(queries, loss=loss, alpha=0.3, delta=0.1, evidence=Binomial(), thresholds=FALLING)
    assert isinstance(direct, cl.Certificate)
    assert bytes_of(streamed, tmp_path) == bytes_of(direct, tmp_path)


# the same to the last bit -------------------------------------------------------------------------------------------


def bytes_of(found, folder):
    found.save(folder / "it.json")
    return (folder / "it.json").read_bytes()


WAYS = {
    "grid and betting": {"thresholds": cl.grid(0.99, 0.01, 0.01)},
    "wsr and a sampled grid": {"evidence": Betting(strategy="wsr")},
    "exact": {"evidence": Convex()},
    "moments": {"evidence": EmpiricalBernstein()},
    "win rates": {"scoring": cl.WinRate(scale=0.2), "sets": cl.Threshold(min_size=1, max_size=4)},
    "fallback": {"sets": cl.Threshold(min_size=1), "thresholds": cl.grid(0.9, 0.1, 0.1), "sequence": cl.Fallback()},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("alpha", [0.05, 0.35])
def test_runs_threads_and_the_order_of_queries_do_not_change_a_byte(way, alpha, tmp_path, monkeypatch):
    queries = drawn(8, 1_300)
    shuffled = queries.select(np.random.default_rng(0).permutation(len(queries)))
    saved = set()
    for threads, table in itertools.product(("1", "2", "3"), (queries, shuffled, queries)):
        monkeypatch.setenv("CUTLINE_THREADS", threads)
        for kind in (cl.FalseDiscovery, cl.Miss):
            how = dict(WAYS[way])
            if kind is cl.Miss and "thresholds" in how:
                how["thresholds"] = how["thresholds"][::-1].copy()
            found = cl.calibrate(table, loss=kind(GRADE), alpha=alpha, delta=0.1, seed=3, **how)
            saved.add((kind.name, bytes_of(found, tmp_path)))
    assert len(saved) == 2


def test_another_seed_gives_betting_another_order_and_is_written_down():
    queries = drawn(8, 300)
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.35, "delta": 0.1, "thresholds": FALLING}
    one, other = cl.calibrate(queries, seed=1, **how), cl.calibrate(queries, seed=2, **how)
    assert (one.seed, other.seed) == (1, 2)
    assert one.log_evidence != other.log_evidence
    assert one.calibration_fingerprint == other.calibration_fingerprint


def test_a_file_in_an_order_of_its_own_calibrates_like_a_shuffled_one():
    # betting on rows as they come would see all the easy queries first
    queries = drawn(9, 300)
    losses = naive_at(queries, 0.4, cl.FalseDiscovery(GRADE)).losses
    drifting = queries.select(np.argsort(losses, kind="stable"))
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.3, "delta": 0.1, "thresholds": [0.4]}
    assert cl.calibrate(drifting, **how).log_evidence == cl.calibrate(queries, **how).log_evidence


# default thresholds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [*SUMS, None, *ORDERED, EmpiricalBernstein()], ids=repr)
def test_default_thresholds_are_every_score_where_sums_suffice_and_else_a_sampled_grid(evidence):
    found = cl.calibrate(drawn(3, 150), loss=cl.FalseDiscovery(GRADE), alpha=0.4, delta=0.1, evidence=evidence)
    if evidence in SUMS:
        assert (found.thresholds, found.sample, found.n_queries) == ("exact", 0, 150)
    else:
        assert (set(found.thresholds), found.sample, found.n_queries) == ({"values"}, 10, 140)


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_win_rates_have_the_fixed_grid_of_the_paper(evidence):
    how = {"alpha": 0.4, "delta": 0.1, "evidence": evidence, "scoring": cl.WinRate()}
    falling = cl.calibrate(drawn(3), loss=cl.FalseDiscovery(GRADE), **how)
    rising = cl.calibrate(drawn(3), loss=cl.Miss(GRADE), **how)
    assert falling.thresholds == {"start": 0.999, "stop": 0.001, "step": 0.001, "count": 999}
    assert rising.thresholds == {"start": 0.001, "stop": 0.999, "step": 0.001, "count": 999}
    assert falling.sample == rising.sample == 0


def test_a_custom_loss_rule_or_fallback_gets_a_sampled_grid_even_with_sums():
    for how in ({"loss": AnyBad()}, {"sets": Alternate()}, {"sequence": cl.Fallback()}):
        how = {"loss": cl.FalseDiscovery(GRADE)} | how
        found = cl.calibrate(drawn(3, 60), alpha=0.6, delta=0.1, evidence=Convex(), **how)
        assert found.sample == 10


@pytest.mark.parametrize(("n", "sample"), [(12, 10), (100, 10), (300, 15), (1_000, 50), (4_100, 200)])
def test_a_twentieth_of_the_queries_at_least_10_and_at_most_200_draws_the_thresholds(n, sample):
    queries = drawn(4, n, most=2)
    found = cl.calibrate(queries, loss=cl.FalseDiscovery(GRADE), alpha=0.5, delta=0.2, seed=6)
    assert (found.sample, found.n_queries) == (sample, n - sample)
    chosen = queries.select(queries.hash_order(6, found.calibration_fingerprint)[:sample])
    assert set(found.thresholds["values"]) <= set(chosen.scores.tolist())
    assert found.n_items == queries.n_items - chosen.n_items


def test_the_sampled_queries_do_not_calibrate():
    queries = drawn(4, 200)
    one = cl.calibrate(queries, loss=cl.FalseDiscovery(GRADE), alpha=0.35, delta=0.1)
    assert isinstance(one, cl.Certificate)
    order = queries.hash_order(0, one.calibration_fingerprint)
    assert_same_findings(one, queries.select(order[10:]), one.threshold)
    hopeless = replace(queries.select(order[:10]), labels=np.zeros(queries.sizes[order[:10]].sum()))
    assert cl.audit(one, hopeless).risk > one.risk + 0.3  # with them it would have been another risk


def test_the_thresholds_of_a_sample_are_quantiles_of_its_scores_and_nothing_else():
    queries = drawn(4, 200)
    found = cl.calibrate(queries, loss=cl.FalseDiscovery(GRADE), alpha=0.35, delta=0.1)
    falling = np.sort(queries.select(queries.hash_order(0, found.calibration_fingerprint)[:10]).scores)[::-1]
    ranks = np.concatenate([np.linspace(0, len(falling) - 1, 250), np.geomspace(1, len(falling), 250) - 1])
    assert found.thresholds["values"] == sorted(set(falling[np.rint(ranks).astype(int)].tolist()), reverse=True)


# laziness -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spying:
    """The plain threshold, which remembers where it was asked to cut."""

    seen: list
    name: ClassVar[str] = "spying"
    needs_vectors: ClassVar[bool] = False

    def choose(self, scores, vectors, threshold):
        self.seen.append(threshold)
        return np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= threshold)]

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
def test_nothing_is_cut_beyond_the_stop_but_for_one_block(kind, evidence):
    queries, loss, seen = drawn(6, 300), kind(GRADE), []
    thresholds = cl.grid(0.8, 0.01, 0.01) if kind is cl.FalseDiscovery else cl.grid(0.2, 0.99, 0.01)
    found = cl.calibrate(
        queries, loss=loss, alpha=0.3, delta=0.1, sets=Spying(seen), evidence=evidence, thresholds=thresholds
    )
    plain = cl.calibrate(queries, loss=loss, alpha=0.3, delta=0.1, evidence=evidence, thresholds=thresholds)
    assert isinstance(found, cl.Certificate)
    assert (found.threshold, found.tested) == (plain.threshold, plain.tested)
    reached = len(set(seen))
    assert set(seen) == set(thresholds[:reached])
    assert found.tested <= reached <= found.tested + 8
    assert found.tested + 8 < len(thresholds)


def test_an_abstention_cuts_one_block_only():
    seen = []
    found = cl.calibrate(
        drawn(6), loss=cl.FalseDiscovery(GRADE), alpha=0.02, delta=0.1, sets=Spying(seen), thresholds=cl.grid(0.5, 0.01, 0.01)
    )  # fmt: skip
    assert isinstance(found, cl.Abstention)
    assert len(set(seen)) <= 8


@dataclass(frozen=True)
class Counting:
    """Betting, which remembers how many rows of losses it was handed for a decision."""

    rows: list
    name: ClassVar[str] = "counting"
    needs: ClassVar[str] = "order"
    asymptotic: ClassVar[bool] = False
    inner: ClassVar[Betting] = Betting()

    def certifies_each(self, losses, *, alpha, delta, tuning_delta=None):
        self.rows.append(len(losses))
        return self.inner.certifies_each(losses, alpha=alpha, delta=delta)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_the_compiled_walk_hands_out_blocks_that_begin_small_and_none_beyond_the_stop():
    queries, thresholds = drawn(6, 300), cl.grid(0.999, 0.001, 0.001)
    for alpha in (0.02, 0.1, 0.3):
        rows = []
        how = {"loss": cl.FalseDiscovery(GRADE), "alpha": alpha, "delta": 0.1, "thresholds": thresholds}
        found, plain = cl.calibrate(queries, evidence=Counting(rows), **how), cl.calibrate(queries, **how)
        assert (found.threshold, found.tested) == (plain.threshold, plain.tested)
        assert sum(rows[:-1]) < found.tested <= sum(rows) < len(thresholds)
        assert rows[0] <= 8
        assert max(rows) <= 64


# pieces of one's own ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyBad:
    """1 where anything chosen is bad."""

    relevance: cl.Grade = GRADE
    name: ClassVar[str] = "any-bad"
    safe_end: ClassVar[str] = "high"

    def of_lists(self, chosen, badness, offsets):
        return np.array(
            [
                float(np.any(badness[begin:end][chosen[begin:end]] == 1))
                for begin, end in itertools.pairwise(offsets.tolist())
            ]
        )

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class Alternate:
    """Every other item of those that reach the threshold."""

    name: ClassVar[str] = "alternate"
    needs_vectors: ClassVar[bool] = False

    def choose(self, scores, vectors, threshold):
        return np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= threshold)][::2]

    def settings(self):
        return {"name": self.name, "every": 2}


@dataclass(frozen=True)
class Near:
    """Keeps items whose vector lies near that of the best one."""

    name: ClassVar[str] = "near"
    needs_vectors: ClassVar[bool] = True

    def choose(self, scores, vectors, threshold):
        ranked = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= threshold)]
        return ranked[np.abs(vectors[ranked] - vectors[ranked[:1]]).sum(axis=1) < 0.5]

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class Graded:
    """Badness falls with the label, in quarters."""

    unjudged: str = "error"
    name: ClassVar[str] = "graded"

    def badness(self, queries):
        return Badness(np.rint((4 - queries.labels) * (UNITS // 4)).astype(np.int64), 1)

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class Reversed:
    """Scores upside down."""

    name: ClassVar[str] = "reversed"
    depends_on_length: ClassVar[bool] = False

    def item_scores(self, outputs, offsets):
        return 1.0 - outputs

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class Markov:
    """p = mean / alpha is no p-value for the mean being small; it stands in for any evidence from sums."""

    name: ClassVar[str] = "stand-in"
    needs: ClassVar[str] = "sum"
    asymptotic: ClassVar[bool] = True

    def p_value(self, losses, *, alpha, tuning_delta=None):
        return self.p_value_from_sums(float(np.sum(losses)), len(losses), alpha=alpha)

    def certifies(self, losses, *, alpha, delta):
        return self.p_value(losses, alpha=alpha) <= delta

    def log_evidence(self, losses, *, alpha, delta):
        return -math.log(self.p_value(losses, alpha=alpha))

    def upper_bound(self, losses, *, delta):
        return min(1.0, float(np.mean(losses)) / delta)

    def settings(self):
        return {"name": self.name}

    def p_value_from_sums(self, total, n, *, alpha):
        return min(1.0, max(total / n / alpha, 1e-9))

    def log_evidence_from_sums(self, total, n, *, alpha, delta):
        return -math.log(self.p_value_from_sums(total, n, alpha=alpha))

    def upper_bound_from_sums(self, total, n, *, delta):
        return min(1.0, total / n / delta)

    def bounds_from_sums(self, totals, n, *, delta):
        return np.minimum(totals / n / delta, 1.0)

    def critical_total(self, n, *, alpha, delta):
        return n * alpha * delta


def test_a_loss_of_ones_own_calibrates():
    queries, loss = drawn(7), AnyBad()
    found = cl.calibrate(queries, loss=loss, alpha=0.6, delta=0.1, evidence=Binomial(), thresholds=FALLING)
    shares = []
    for threshold in FALLING:
        chosen = queries.scores >= threshold
        shares.append(loss.of_lists(chosen, (queries.labels < 3).astype(float), queries.offsets))
    passed = [Binomial().certifies(share, alpha=0.6, delta=0.1) for share in shares]
    assert 0 < passed.index(False) < len(FALLING)
    assert found.threshold == FALLING[passed.index(False) - 1]
    assert found.risk == shares[passed.index(False) - 1].mean()


@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_a_rule_of_ones_own_calibrates_and_applies(evidence):
    queries, rule = drawn(7), Alternate()
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), sets=rule, alpha=0.3, delta=0.1, evidence=evidence, thresholds=FALLING
    )
    passed = []
    for threshold in FALLING:
        losses = []
        for q in order_of(queries, cl.FalseDiscovery(GRADE)):
            rows = rule.choose(queries[int(q)].scores, None, threshold)
            losses.append(np.mean(queries[int(q)].labels[rows] < 3) if len(rows) else 0.0)
        passed.append(evidence.certifies(losses, alpha=0.3, delta=0.1))
    assert 0 < passed.index(False) < len(FALLING)
    assert found.threshold == FALLING[passed.index(False) - 1]
    assert found.apply(queries).mean_size == found.mean_size


def test_a_rule_may_see_vectors_and_asks_for_them():
    plain = drawn(7)
    vectors = np.random.default_rng(0).random((plain.n_items, 2))
    queries = replace(plain, vectors=vectors)
    how = {"loss": cl.FalseDiscovery(GRADE), "sets": Near(), "alpha": 0.5, "delta": 0.1, "thresholds": FALLING}
    with pytest.raises(InputError, match=r"queries have no vectors, and near needs them: pass vectors="):
        cl.calibrate(plain, **how)
    found = cl.calibrate(queries, **how)
    assert isinstance(found, cl.Certificate)
    assert 0 < found.mean_size < (queries.scores >= found.threshold).sum() / len(queries)
    assert found.apply(queries).mean_size == found.mean_size
    curve = cl.RiskCurve.empty(loss=how["loss"], sets=Near(), thresholds=FALLING)
    assert curve.add(queries).mean_size[FALLING.tolist().index(found.threshold)] == found.mean_size


def test_a_relevance_of_ones_own_calibrates():
    queries = drawn(7)
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(Graded()), alpha=0.4, delta=0.1, evidence=Convex(), thresholds=FALLING
    )
    shares = np.array([
        np.mean(1 - query.labels[query.scores >= found.threshold] / 4) if (query.scores >= found.threshold).any() else 0
        for query in queries
    ])  # fmt: skip
    assert isinstance(found, cl.Certificate)
    assert found.risk == pytest.approx(shares.mean(), abs=1e-9)


def test_a_scoring_of_ones_own_calibrates_and_applies():
    queries = drawn(7)
    turned = replace(queries, scores=1.0 - queries.scores)
    how = {"alpha": 0.4, "delta": 0.1, "thresholds": FALLING, "loss": cl.FalseDiscovery(GRADE)}
    found, plain = (
        cl.calibrate(turned, scoring=Reversed(), **how),
        cl.calibrate(replace(queries, scores=1 - turned.scores), **how),
    )
    assert isinstance(found, cl.Certificate)
    assert (found.threshold, found.risk, found.log_evidence) == (plain.threshold, plain.risk, plain.log_evidence)
    assert found.apply(turned).mean_size == found.mean_size


def test_an_evidence_of_ones_own_calibrates_on_grids_on_every_score_and_on_curves():
    queries, loss = drawn(7), cl.FalseDiscovery(GRADE)
    how = {"alpha": 0.9, "delta": 0.3, "evidence": Markov()}
    found = cl.calibrate(queries, loss=loss, thresholds=FALLING, **how)
    assert found.threshold == naive_walk(queries, FALLING, loss, Markov(), alpha=0.9, delta=0.3)[0]
    exact = cl.calibrate(queries, loss=loss, thresholds="exact", **how)
    assert exact.threshold == naive_exact(queries, loss, Markov(), alpha=0.9, delta=0.3)
    curve = cl.RiskCurve.empty(loss=loss, thresholds=FALLING).add(queries)
    assert cl.calibrate(curve, **how).threshold == found.threshold
    assert found.asymptotic


# what an abstention says would help ---------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
@pytest.mark.parametrize("kind", [cl.FalseDiscovery, cl.Miss], ids=lambda kind: kind.name)
def test_an_abstention_names_the_smallest_alpha_that_would_have_been_certified(kind, evidence):
    loss, abstained = kind(GRADE), 0
    for seed in range(4):
        queries, thresholds = drawn(seed, 60), [0.5]
        risk = naive_at(queries, 0.5, loss).losses.mean()
        for alpha in (0.5 * risk, risk, risk + 0.02):
            how = {"loss": loss, "delta": 0.1, "evidence": evidence, "thresholds": thresholds, "seed": seed}
            found = cl.calibrate(queries, alpha=alpha, **how)
            if isinstance(found, cl.Certificate):
                continue
            abstained += 1
            smallest = found.refusal.smallest_alpha
            assert smallest is None or smallest > alpha
            if smallest is not None:
                assert isinstance(cl.calibrate(queries, alpha=min(smallest + 1e-12, 0.999999), **how), cl.Certificate)
                assert isinstance(cl.calibrate(queries, alpha=smallest - 2e-4, **how), cl.Abstention)
            assert (found.refusal.queries_needed is None) == (risk >= alpha)
            if risk < alpha:
                assert found.refusal.queries_needed > len(queries) / 4
    assert abstained >= 8


def test_the_smallest_alpha_of_a_fallback_is_one_that_fallback_certifies():
    queries = drawn(0, 80)
    how = {
        "loss": cl.FalseDiscovery(GRADE), "delta": 0.1, "evidence": Convex(), "sets": cl.Threshold(min_size=1),
        "thresholds": cl.grid(0.8, 0.1, 0.05), "sequence": cl.Fallback(),
    }  # fmt: skip
    risks = [
        naive_at(queries, threshold, how["loss"], sets=how["sets"]).losses.mean() for threshold in how["thresholds"]
    ]
    found = cl.calibrate(queries, alpha=min(risks) + 0.05, **how)
    assert isinstance(found, cl.Abstention)
    smallest = found.refusal.smallest_alpha
    assert smallest > found.alpha
    assert isinstance(cl.calibrate(queries, alpha=smallest + 1e-9, **how), cl.Certificate)
    assert isinstance(cl.calibrate(queries, alpha=smallest - 1e-6, **how), cl.Abstention)


# pitfalls of STATISTICS section 10 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [*SUMS, EmpiricalBernstein(), *ORDERED], ids=repr)
def test_empty_lists_at_the_start_are_no_nan_and_do_not_end_the_walk(evidence):
    queries = drawn(1, 200)
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), alpha=0.45, delta=0.1, evidence=evidence, thresholds=cl.grid(2.0, 0.1, 0.1)
    )  # fmt: skip
    assert isinstance(found, cl.Certificate)
    assert found.threshold < 0.9
    assert (found.curve.threshold[0], found.curve.risk[0], found.curve.mean_size[0]) == (2.0, 0.0, 0.0)
    assert np.isfinite([*found.curve.bound, *found.curve.risk, *found.curve.mean_size, found.log_evidence]).all()


@pytest.mark.parametrize("loss", [cl.Miss(GRADE), cl.Miss(cl.TopM(m=1)), cl.FalseDiscovery(GRADE)], ids=repr)
@pytest.mark.parametrize("evidence", [Convex(), Betting()], ids=repr)
def test_queries_without_any_good_item_are_no_error(loss, evidence):
    queries = drawn(1, 100)
    none = replace(queries, labels=np.zeros(queries.n_items))
    no_good = pytest.warns(CutlineWarning, match=r"no item is wholly good \(label at least 3\); .*scale of the labels")
    with no_good if loss.relevance == GRADE else nullcontext():
        found = cl.calibrate(none, loss=loss, alpha=0.3, delta=0.1, evidence=evidence, thresholds=grid_of(loss))
    assert np.isfinite(found.log_evidence)
    if loss == cl.Miss(GRADE):  # nothing good, nothing missed
        assert (found.threshold, found.risk) == (RISING[-1], 0.0)


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
def test_the_unit_is_the_query_so_more_copies_of_its_items_are_no_more_evidence(evidence):
    queries = drawn(1, 100)
    rows = np.repeat(np.arange(queries.n_items), 20)
    copies = cl.Queries.from_arrays(
        queries.scores[rows], queries.labels[rows], qid=queries.query_ids[queries.query_of_item()][rows]
    )
    how = {
        "loss": cl.FalseDiscovery(GRADE),
        "alpha": 0.4,
        "delta": 0.1,
        "evidence": evidence,
        "thresholds": FALLING[2:],
    }
    one, many = cl.calibrate(queries, **how), cl.calibrate(copies, **how)
    assert one.n_queries == many.n_queries == 100
    if evidence.needs == "order":  # other lists, another order; in the order of the one table both say the same
        order = order_of(queries, how["loss"])
        losses = [naive_at(table, 0.4, how["loss"], order=order).losses for table in (queries, copies)]
        np.testing.assert_allclose(*losses, rtol=1e-12)
        return
    assert (one.threshold, one.tested) == (many.threshold, many.tested)
    assert many.log_evidence == pytest.approx(one.log_evidence, rel=1e-6)


def test_the_walk_does_not_begin_where_the_calibration_losses_are_low():
    # the best scores are all bad here: however well lower thresholds do, the walk starts at the high end and ends there
    queries = drawn(1, 300)
    upside = replace(queries, labels=np.where(queries.scores > 0.8, 0.0, 4.0))
    found = cl.calibrate(upside, loss=cl.FalseDiscovery(GRADE), alpha=0.5, delta=0.1, thresholds=FALLING)
    alone = cl.calibrate(upside, loss=cl.FalseDiscovery(GRADE), alpha=0.5, delta=0.1, thresholds=[0.1])
    assert isinstance(alone, cl.Certificate)
    assert isinstance(found, cl.Abstention) or found.threshold > 0.8


@pytest.mark.filterwarnings("ignore:no item is wholly good")
@pytest.mark.parametrize("evidence", [*SUMS, EmpiricalBernstein(), *ORDERED], ids=repr)
def test_losses_far_above_alpha_are_no_evidence_at_all(evidence):
    # a two-sided bet wins on them, and used as a one-sided one it would certify
    queries = drawn(1, 300)
    bad = replace(queries, labels=np.zeros(queries.n_items))
    found = cl.calibrate(bad, loss=cl.FalseDiscovery(GRADE), alpha=0.1, delta=0.1, evidence=evidence, thresholds=[0.0])
    assert isinstance(found, cl.Abstention)
    assert (found.risk, found.log_evidence) == (1.0, 0.0)


@dataclass(frozen=True)
class Levels(Markov):
    """Remembers at which level each sum was tested."""

    seen: list = None

    def critical_total(self, n, *, alpha, delta):
        self.seen.append(delta)
        return super().critical_total(n, alpha=alpha, delta=delta)


def test_delta_is_spent_once_whatever_the_number_of_starts():
    queries, seen = drawn(1, 100), []
    how = {"loss": cl.FalseDiscovery(GRADE), "evidence": Levels(seen=seen), "delta": 0.2, "thresholds": FALLING}
    cl.calibrate(queries, alpha=0.9, **how)
    assert set(seen) == {0.2}
    seen.clear()
    nothing = cl.calibrate(queries, alpha=1e-6, sequence=cl.Fallback(), **how)
    assert isinstance(nothing, cl.Abstention)
    begun = {level for level in seen if level < 0.2}  # equal shares are one level, asked for once
    assert list(begun) == [pytest.approx(0.2 / len(FALLING))]


def test_nothing_certified_is_a_type_of_its_own_and_no_ordinary_threshold():
    found = cl.calibrate(drawn(1), loss=cl.FalseDiscovery(GRADE), alpha=0.01, delta=0.1, thresholds=FALLING[8:])
    assert isinstance(found, cl.Abstention)
    assert not isinstance(found, cl.Certificate)
    assert not math.isfinite(found.threshold)
    with pytest.warns(CutlineWarning, match="nothing was certified: every list comes out empty"):
        assert found.apply(drawn(2)).mean_size == 0


@pytest.mark.parametrize("thresholds", [FALLING, "exact"], ids=["grid", "exact"])
def test_items_at_the_threshold_are_kept_when_calibrating_and_when_applying(thresholds):
    queries = drawn(1, 150)  # every threshold of the grid is the score of several items
    found = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), alpha=0.4, delta=0.1, evidence=Convex(), thresholds=thresholds
    )
    slates = found.apply(queries)
    assert np.array_equal(slates.chosen, queries.scores >= found.threshold)
    assert (slates.mean_size, slates.share_nonempty) == (found.mean_size, found.share_nonempty)
    if found.thresholds != "exact":
        assert np.any(queries.scores == found.threshold)


# bad input ----------------------------------------------------------------------------------------------------------


def calibrated(queries=None, **changed):
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.3, "delta": 0.1, "thresholds": FALLING} | changed
    return cl.calibrate(drawn(0) if queries is None else queries, **how)


BAD = {
    "alpha above 1": ({"alpha": 30}, r"alpha must be in \(0, 1\), got 30; did you mean 0\.30\?"),
    "alpha of 1": ({"alpha": 1.0}, r"alpha must be in \(0, 1\), got 1\.0"),
    "alpha of 0": ({"alpha": 0}, r"alpha must be in \(0, 1\), got 0$"),
    "alpha below 0": ({"alpha": -0.1}, r"alpha must be in \(0, 1\), got -0\.1"),
    "alpha as text": ({"alpha": "0.3"}, r"alpha must be a number, got '0\.3'"),
    "alpha not a number": ({"alpha": math.nan}, r"alpha must be finite, got nan"),
    "delta above 1": ({"delta": 10}, r"delta must be in \(0, 1\), got 10; did you mean 0\.10\?"),
    "delta of 0": ({"delta": 0.0}, r"delta must be in \(0, 1\), got 0\.0"),
    "no loss": ({"loss": None}, r"loss is wanted: such as loss=cl\.FalseDiscovery\(cl\.Grade\(at_least=3\)\)"),
    "loss as text": ({"loss": "miss"}, r"loss must be an object such as cl\.FalseDiscovery.*, got 'miss'"),
    "loss as class": ({"loss": cl.FalseDiscovery}, r"loss must be an object such as .*, got <class"),
    "relevance as loss": ({"loss": GRADE}, r"loss must be an object such as .*, got Grade"),
    "scoring as class": ({"scoring": cl.WinRate}, r"scoring must be an object such as cl\.AsGiven\(\) or cl\.WinRate\(\), got <class.*call it"),
    "sets as class": ({"sets": cl.Threshold}, r"sets must be an object such as cl\.Threshold\(\), got <class"),
    "sets as number": ({"sets": 5}, r"sets must be an object such as cl\.Threshold\(\), got 5"),
    "evidence as class": ({"evidence": Convex}, r"evidence must be an object such as cl\.evidence\.Convex\(\), got <"),
    "evidence as text": ({"evidence": "convex"}, r"evidence must be an object such as .*, got 'convex'"),
    "sequence as class": ({"sequence": cl.Fallback}, r"sequence must be an object such as cl\.FixedSequence\(\) or .*, got <"),
    "seed as text": ({"seed": "0"}, r"seed must be a whole number of at most 63 bits, got '0'"),
    "seed between": ({"seed": 0.5}, r"seed must be a whole number .*got 0\.5"),
    "seed too large": ({"seed": 10**400}, r"seed must be a whole number of at most 63 bits"),
    "seed too long": ({"seed": 10**70, "thresholds": [0.5]}, r"seed must be a whole number of at most 63 bits, got 1000"),
    "rising grid": ({"thresholds": RISING}, r"thresholds must fall strictly, as false-discovery walks from few .*reverse"),
    "falling grid": (
        {"thresholds": FALLING, "loss": cl.Miss(GRADE)},
        r"thresholds must rise strictly, as miss walks from all items on, got 0\.85 then 0\.8; reverse them",
    ),
    "repeats": ({"thresholds": [0.5, 0.5]}, r"must fall strictly.*got 0\.5 then 0\.5; sort them and drop repeats"),
    "disorder": ({"thresholds": [0.5, 0.2, 0.4]}, r"must fall strictly.*got 0\.2 then 0\.4; sort them and drop repeats"),
    "no thresholds": ({"thresholds": []}, r"thresholds must be a list of at least one finite number, got \[\]"),
    "one number": ({"thresholds": 0.5}, r"thresholds must be a list of at least one finite number, got 0\.5"),
    "nan threshold": ({"thresholds": [math.nan]}, r"thresholds must be a list of at least one finite number"),
    "text thresholds": ({"thresholds": ["a", "b"]}, r"thresholds must be numbers or \"exact\", got \['a', 'b'\]"),
    "unknown word": ({"thresholds": "every", "evidence": Convex()}, r"thresholds must be numbers or \"exact\", got 'every'"),
    "beyond win rates": (
        {"thresholds": [2.0, 0.5], "scoring": cl.WinRate()},
        r"thresholds of win rates must lie in \[0, 1\], got 0\.5 to 2",
    ),
    "below win rates": (
        {"thresholds": [0.5, -0.5], "scoring": cl.WinRate()},
        r"thresholds of win rates must lie in \[0, 1\], got -0\.5 to 0\.5",
    ),
    "exact with betting": ({"thresholds": "exact"}, r"thresholds=\"exact\".*needs evidence from sums, such as cl\.evidence\.Convex\(\), not betting; else pass a grid: thresholds=cl\.grid"),
    "exact with fallback": (
        {"thresholds": "exact", "evidence": Convex(), "sequence": cl.Fallback()},
        r"thresholds=\"exact\".*needs FixedSequence, not fallback; else pass a grid",
    ),
    "exact with a loss of one's own": (
        {"thresholds": "exact", "evidence": Convex(), "loss": AnyBad()},
        r"thresholds=\"exact\".*needs a built-in loss with Threshold, not any-bad with threshold; else pass a grid",
    ),
    "binomial on fractions": (
        {"evidence": Binomial()},
        r"(?s)binomial.*losses that are 0 or 1.*pass evidence=cl\.evidence\.Convex\(\)",
    ),
    "wrong weights": (
        {"sequence": cl.Fallback(weights=(0.5, 0.5))},
        r"weights must name one share per threshold, got 2 for 17 thresholds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_with_what_came_and_what_is_wanted(name):
    changed, message = BAD[name]
    with pytest.raises(InputError, match=message):
        calibrated(**changed)


@pytest.mark.parametrize("queries", [np.arange(5.0), [0.1, 0.2], None, "scores.parquet", {"q": [1.0]}], ids=repr)
def test_anything_but_queries_or_a_curve_is_refused(queries):
    with pytest.raises(InputError, match=r"queries must be .*cl\.Queries.*got"):
        cl.calibrate(queries, loss=cl.FalseDiscovery(GRADE), alpha=0.3, delta=0.1)


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_queries_are_refused(evidence, count):
    with pytest.raises(
        InputError, match=rf"queries must be at least 2 to calibrate on, got {count}; judge more queries"
    ):
        calibrated(drawn(0)[:count], evidence=evidence)
    with pytest.raises(
        InputError, match=rf"queries must be at least 2 to calibrate on, got {count}; judge more queries"
    ):
        calibrated(drawn(0)[:count], evidence=evidence, thresholds=None)


def test_an_empty_curve_is_refused():
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(GRADE), thresholds=FALLING)
    with pytest.raises(InputError, match="queries must be at least 2 to calibrate on, got 0"):
        cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=Convex())


@pytest.mark.parametrize("evidence", EVERY, ids=repr)
def test_two_queries_are_enough_to_get_an_answer(evidence):
    queries = cl.Queries.from_arrays([0.9, 0.2, 0.8], [4, 0, 0], group=[2, 1])
    assert isinstance(calibrated(queries, evidence=evidence, thresholds=[0.5]), cl.Abstention)


def test_too_few_queries_to_draw_thresholds_from_are_refused():
    with pytest.raises(
        InputError, match=r"queries must be at least 12 where 10 of them draw .* got 11; .*thresholds=cl\.grid"
    ):
        calibrated(drawn(0, 11), thresholds=None)


def test_missing_labels_are_refused():
    queries = drawn(0)
    with pytest.raises(InputError, match="queries have no labels at all, and labels are wanted"):
        calibrated(replace(queries, labels=None))
    with pytest.raises(
        InputError,
        match="every label is missing; is the column of labels filled, and do the ids of scores and labels match",
    ):
        calibrated(replace(queries, labels=np.full(queries.n_items, np.nan)))
    labels = queries.labels.copy()
    row = int(queries.offsets[7]) + 1 if queries.sizes[7] > 1 else int(queries.offsets[7])
    labels[row] = np.nan
    with pytest.raises(InputError, match=rf"labels are missing for 1 of {len(labels)} items, first in query 'q7' at"):
        calibrated(replace(queries, labels=labels), loss=cl.FalseDiscovery(cl.Grade(3, unjudged="error")))


def test_normal_evidence_on_losses_that_do_not_differ_says_where_to_begin():
    with pytest.raises(InputError, match=r"zero variance.*begin the grid where lists are non-empty"):
        calibrated(evidence=Normal(), thresholds=cl.grid(2.0, 0.1, 0.1))


def test_normal_evidence_does_not_mind_losses_that_do_not_differ_beyond_the_stop():
    # each list: a good item above, or a bad one; then one more of the other kind, so that in the end every share is 1/2
    scores = np.tile([0.9, 0.1], 100)
    labels = np.where(np.arange(200) // 2 % 10 < 3, np.tile([0, 4], 100), np.tile([4, 0], 100))
    queries = cl.Queries.from_arrays(scores, labels, group=[2] * 100)
    how = {"loss": cl.FalseDiscovery(GRADE), "delta": 0.1, "evidence": Normal(), "thresholds": [0.9, 0.5, 0.1]}
    assert isinstance(cl.calibrate(queries, alpha=0.2, **how), cl.Abstention)
    with pytest.raises(InputError, match="zero variance"):
        cl.calibrate(queries, alpha=0.6, **how)


def test_binomial_refuses_a_curve_of_fractional_losses():
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(GRADE), thresholds=FALLING).add(drawn(0))
    with pytest.raises(InputError, match=r"binomial.*0 or 1.*Convex"):
        cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=Binomial())


def test_a_curve_keeps_no_losses_for_betting_to_read():
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(GRADE), thresholds=FALLING).add(drawn(0))
    for evidence in (None, *ORDERED):
        with pytest.raises(
            InputError, match=r"reads losses one by one, and a RiskCurve keeps sums only; pass evidence=cl"
        ):
            cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=evidence)


@pytest.mark.parametrize(
    "own",
    [{"loss": cl.FalseDiscovery(GRADE)}, {"scoring": cl.AsGiven()}, {"sets": cl.Threshold()}, {"thresholds": FALLING}],
    ids=lambda own: next(iter(own)),
)
def test_what_a_curve_has_is_not_chosen_twice(own):
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(GRADE), thresholds=FALLING).add(drawn(0))
    with pytest.raises(InputError, match=rf"a RiskCurve has its own {next(iter(own))}; set them in RiskCurve\.empty"):
        cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=Convex(), **own)


def test_an_evidence_without_the_methods_of_its_kind_is_refused():
    @dataclass(frozen=True)
    class Partial:
        name: ClassVar[str] = "partial"
        needs: ClassVar[str] = "sum"
        asymptotic: ClassVar[bool] = False
        p_value = certifies = log_evidence = upper_bound = settings = Markov.settings

    with pytest.raises(InputError, match=r"evidence 'partial' needs 'sum'.*p_value_from_sums"):
        calibrated(evidence=Partial())


@pytest.mark.parametrize("wrong", [lambda n: np.full(n, 1.5), lambda n: np.full(n, np.nan), lambda n: np.zeros(n + 1)])
def test_a_loss_of_ones_own_must_give_one_loss_in_0_to_1_per_query(wrong):
    class Wrong(AnyBad):
        def of_lists(self, chosen, badness, offsets):
            return wrong(len(offsets) - 1)

    with pytest.raises(
        InputError, match=r"any-bad: (of_lists must give one loss per query|losses must lie in \[0, 1\])"
    ):
        calibrated(loss=Wrong())


def test_odd_but_honest_lists_calibrate():
    # one item, no good item, all tied, scores spread over a million and down to denormals
    lists = [[0.5], [0.5, 0.5, 0.5], [1e6, -1e6, 0.0], [5e-324, -5e-324, 0.0, 1e-310], [-1e6, 1e-3]]
    scores = np.concatenate([np.array(each) for each in lists * 40])
    labels = np.random.default_rng(0).integers(0, 5, len(scores)).astype(float)
    queries = cl.Queries.from_arrays(scores, labels, group=[len(each) for each in lists] * 40)
    for how, kind in itertools.product(
        (
            {},
            {"evidence": Convex()},
            {"scoring": cl.WinRate()},
            {"scoring": cl.WinRate(scale=1e-3), "evidence": Convex()},
        ),
        (cl.FalseDiscovery, cl.Miss),
    ):
        found = cl.calibrate(queries, loss=kind(GRADE), alpha=0.7, delta=0.1, **how)
        assert isinstance(found, cl.Certificate)
        assert found.apply(queries).mean_size >= 0


def test_win_rates_are_computed_within_each_list_when_calibrating():
    queries = drawn(0)
    scores = win_rates(queries.scores, queries.offsets, scale=0.3)
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.4, "delta": 0.1, "thresholds": FALLING}
    one = cl.calibrate(queries, scoring=cl.WinRate(scale=0.3), **how)
    other = cl.calibrate(replace(queries, scores=scores), **how)
    assert isinstance(one, cl.Certificate)
    assert (one.threshold, one.log_evidence, one.curve) == (other.threshold, other.log_evidence, other.curve)


def test_an_abstention_is_planned_for_by_formulas_and_simulates_nothing(monkeypatch):
    def simulated(*_args):
        raise AssertionError("an abstention is to be told at once")

    monkeypatch.setattr("cutline.evidence.needed._ByDraws", simulated)
    bad = np.arange(100) % 10 < 3
    queries = cl.Queries.from_arrays(np.full(100, 0.5), 1.0 - bad, qid=np.arange(100))
    for evidence in (
        cl.evidence.EmpiricalBernstein(),
        cl.evidence.Normal(),
        cl.evidence.Convex(),
        cl.evidence.Betting(),
    ):
        found = cl.calibrate(
            queries, loss=cl.FalseDiscovery(cl.Grade(at_least=1)), alpha=0.31, delta=0.1, evidence=evidence,
            thresholds=[0.5],
        )  # fmt: skip
        assert isinstance(found, cl.Abstention)
        assert found.refusal.queries_needed > 1_000
