"""Audits against loops straight from the definitions; their verdicts, strata and groups, and what they warn of."""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evidence.naive import convex_p, star_wealths
from tests.ragged import UNITS, badness_by_hand, chosen_by_hand, lists_of, relevances, row_by_hand, rules, tables

import cutline as cl
from cutline.cutting import badness_of, fingerprint, fingerprint_text, lengths_of
from cutline.errors import CannotApplyError, CutlineWarning, InputError
from cutline.evidence import Betting, Binomial, Convex, EmpiricalBernstein, Hoeffding, HoeffdingBentkus

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no judged item|among judged items only):cutline.errors.CutlineWarning"
)  # meant here

GRADE = cl.Grade(at_least=1)
GRID = cl.grid(0.95, 0.05, 0.05)
SIMULATED = cl.datasets.Simulator(n_items=(3, 12))
FALSE_DISCOVERY, MISS = cl.FalseDiscovery(cl.Grade(at_least=3)), cl.Miss(cl.Grade(at_least=3))


def drawn(n=200, rng=0):
    return SIMULATED.draw(n, rng=rng)


def found_on(queries, *, loss=FALSE_DISCOVERY, alpha=0.4, **changed):
    return cl.calibrate(queries, loss=loss, alpha=alpha, delta=0.1, **changed)


PLAIN = found_on(drawn(), thresholds=GRID)


def certificate(*, threshold=0.5, alpha=0.3, loss=None, **changed):
    """A certificate that keeps what scores at least `threshold`, whatever it was calibrated on."""
    loss = cl.FalseDiscovery(GRADE) if loss is None else loss
    return replace(PLAIN, certified_threshold=threshold, alpha=alpha, loss=loss, **changed)


def with_lists(sizes, bad, **columns):
    """Queries whose lists, cut at 0.5, hold that many items, that many of them bad; one good item is left out of
    each."""
    scores, labels = [], []
    for size, wrong in zip(sizes, bad, strict=True):
        scores += [1.0] * size + [0.0]
        labels += [0] * wrong + [1] * (size - wrong + 1)
    return cl.Queries.from_arrays(scores, labels, group=[size + 1 for size in sizes], columns=columns)


def one_item_each(n, bad):
    """n lists of one item each, the item of `bad` of them bad; spread over the rows, as the order does not matter."""
    wrong = np.zeros(n, dtype=int)
    wrong[np.linspace(0, n - 1, bad).astype(int)] = 1
    return with_lists([1] * n, wrong.tolist())


def hash_order_by_hand(queries, made):
    """Ids hashed with the seed of the certificate, and a fingerprint of the queries as salt."""
    sums = fingerprint(queries.scores, badness_of(queries, made.loss.relevance), queries.offsets)
    salt = bytes.fromhex(fingerprint_text(sums, lengths_of(queries.sizes)))
    key, ids = str(made.seed).encode().ljust(16, b"\0"), queries.query_ids.tolist()
    return sorted(
        range(len(ids)),
        key=lambda i: hashlib.blake2b(str(ids[i]).encode(), key=key, salt=salt, digest_size=16).digest(),
    )


def certified_by_hand(losses, alpha, delta):
    return max(star_wealths(losses, alpha, delta)) >= 1 / delta


# the figures --------------------------------------------------------------------------------------------------------


@given(tables(), relevances(), rules(), st.sampled_from([cl.FalseDiscovery, cl.Miss]), st.sampled_from([0.0, 0.3, 0.5]))
@settings(deadline=None, max_examples=150)
def test_every_figure_meets_a_loop_over_the_lists(queries, relevance, rule, kind, threshold):
    loss = kind(relevance)
    found = cl.audit(certificate(threshold=threshold, loss=loss, sets=rule), queries)
    scores = lists_of(queries.scores, queries.offsets)
    badness = [badness_by_hand(labels, relevance) for labels in lists_of(queries.labels, queries.offsets)]
    chosen = [chosen_by_hand(listed, threshold, rule) for listed in scores]
    sizes = [len(each) for each in chosen]
    row, losses = row_by_hand(loss, rule, scores, badness, threshold)
    n, filled = len(queries), sum(size > 0 for size in sizes)
    assert (found.n_queries, found.n_items, found.loss) == (n, queries.n_items, loss.name)
    assert found.risk == row[0] / (n * UNITS)
    assert found.risk_given_nonempty == (row[2] / (filled * UNITS) if filled else None)
    assert found.share_nonempty == filled / n
    assert found.item_rate == (row[4] / (row[6] * UNITS) if row[6] else None)
    assert (found.sizes.smallest, found.sizes.largest) == (min(sizes), max(sizes))
    assert found.sizes.histogram == Counter(sizes)
    assert found.sizes.mean == pytest.approx(sum(sizes) / n)
    assert found.sizes.quartiles == tuple(np.quantile(sizes, [0.25, 0.5, 0.75]))
    good = [[Fraction(0) if b is None else 1 - b for b in each] for each in badness]
    total = sum(sum(each) for each in good)
    kept = sum(each[i] for each, rows in zip(good, chosen, strict=True) for i in rows)
    assert found.recall == (pytest.approx(float(kept / total)) if total else None)
    assert sum(losses) == row[0]


def test_the_pooled_rate_passes_over_dropped_items_and_adds_fractions_of_ties():
    scores, labels = [0.9, 0.8, 0.7, 0.2, 0.9, 0.6], [1, None, 0, 1, 0, 0]
    queries = cl.Queries.from_arrays(scores, labels, group=[4, 2])
    dropped = cl.audit(certificate(loss=cl.FalseDiscovery(cl.Grade(at_least=1, unjudged="drop"))), queries)
    assert dropped.item_rate == 3 / 4
    assert dropped.risk == (1 / 2 + 1) / 2
    assert dropped.recall == 1 / 2
    assert dropped.sizes.mean == 5 / 2
    bad = cl.audit(certificate(), queries)
    assert (bad.item_rate, bad.risk) == (4 / 5, 5 / 6)
    tied = cl.audit(certificate(loss=cl.FalseDiscovery(cl.TopM(m=1, ties="expected"))), queries)
    assert tied.item_rate == (1 + 1 + 1 + 1 / 2 + 1 / 2) / 5  # the item nobody judged might have the only place
    assert tied.risk == pytest.approx((1 + 1 / 2) / 2)
    assert tied.recall == 1


def test_lists_that_are_all_empty_have_no_risk_no_rate_and_recall_nothing():
    found = cl.audit(certificate(threshold=2.0), with_lists([1, 2], [1, 1]))
    assert (found.risk, found.share_nonempty, found.recall) == (0.0, 0.0, 0.0)
    assert found.risk_given_nonempty is None
    assert found.item_rate is None
    assert found.sizes.histogram == {0: 2}
    assert [group.name for group in found.strata] == ["Empty"]


def test_recall_is_not_there_where_no_item_is_good():
    queries = cl.Queries.from_arrays([0.9, 0.1, 0.8], [0, 0, 0], group=[2, 1])
    assert cl.audit(certificate(), queries).recall is None


def test_one_query_is_enough_to_audit_on_and_none_is_not():
    found = cl.audit(certificate(), with_lists([4], [1]))
    assert (found.n_queries, found.risk) == (1, 0.25)
    assert 0 <= found.low < 0.025 < 0.25 < found.high
    assert found.verdict == "holds"
    with pytest.raises(InputError, match="queries must be at least 1 to audit on, got 0"):
        cl.audit(certificate(), with_lists([4], [1])[:0])


@pytest.mark.parametrize(
    "how",
    [
        {"scoring": cl.WinRate(scale=0.2), "sets": cl.Threshold(), "loss": FALSE_DISCOVERY},
        {"scoring": cl.AsGiven(), "sets": cl.Threshold(min_size=1, max_size=4), "loss": FALSE_DISCOVERY},
        {"scoring": cl.WinRate(scale=0.2), "sets": cl.Threshold(max_size=3), "loss": MISS},
    ],
    ids=["win rates", "sizes", "win rates, sizes, miss"],
)
def test_an_audit_cuts_the_lists_as_the_certificate_does(how):
    queries = drawn(150, rng=3)
    loss = how["loss"]
    found = cl.audit(certificate(threshold=0.6, **how), queries)
    scores = lists_of(how["scoring"].item_scores(queries.scores, queries.offsets), queries.offsets)
    badness = [badness_by_hand(labels, loss.relevance) for labels in lists_of(queries.labels, queries.offsets)]
    row, _ = row_by_hand(loss, how["sets"], scores, badness, 0.6)
    assert found.risk == row[0] / (150 * UNITS)
    assert found.sizes.mean == row[3] / 150
    assert cl.audit(certificate(threshold=0.6, loss=loss), queries).risk != found.risk


EVIDENCES = [Betting(), Betting(strategy="wsr"), Convex(), Hoeffding(), HoeffdingBentkus(), EmpiricalBernstein()]
COUNTED = {
    "false discoveries": {"loss": FALSE_DISCOVERY},
    "misses": {"loss": MISS, "thresholds": GRID[::-1].copy()},
    "win rates": {"loss": FALSE_DISCOVERY, "scoring": cl.WinRate(scale=0.3), "thresholds": None},
    "sizes": {"loss": FALSE_DISCOVERY, "sets": cl.Threshold(min_size=1, max_size=5), "alpha": 0.6},
    "fractions": {"loss": cl.FalseDiscovery(cl.TopM(fraction=0.4, ties="expected"))},
    "dropped": {"loss": cl.FalseDiscovery(cl.Grade(at_least=3, unjudged="drop"))},
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("evidence", EVIDENCES, ids=repr)
def test_on_the_calibration_queries_every_figure_is_that_of_the_certificate_to_the_last_bit(evidence, name):
    queries = replace(SIMULATED, share_unjudged=0.1).draw(233, rng=5)
    made = found_on(queries, evidence=evidence, **({"thresholds": GRID} | COUNTED[name]))
    assert isinstance(made, cl.Certificate)
    with pytest.warns(CutlineWarning, match="calibration queries"):
        found = cl.audit(made, queries)
    for figure in ("risk", "share_nonempty", "risk_given_nonempty", "item_rate", "n_queries", "n_items", "threshold"):
        assert getattr(found, figure) == getattr(made, figure)
    assert found.sizes.mean == made.mean_size
    assert (found.alpha, found.delta) == (made.alpha, made.delta)


def test_where_a_sample_drew_the_thresholds_the_risk_is_that_of_the_other_queries():
    queries = drawn(233, rng=5)
    made = found_on(queries)
    rest = queries.select(queries.hash_order(made.seed, made.calibration_fingerprint)[made.sample :])
    assert made.sample > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutlineWarning)
        assert cl.audit(made, rest).risk == made.risk


@given(st.permutations(range(30)))
@settings(deadline=None, max_examples=25)
def test_the_order_of_queries_changes_nothing(order):
    queries, made = drawn(30, rng=8), certificate(threshold=0.6, loss=MISS)
    assert (
        cl.audit(made, queries.select(order), by="device").to_dict() == cl.audit(made, queries, by="device").to_dict()
    )


# the interval and the verdict ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "seed", "loss"), [(0.5, 0, FALSE_DISCOVERY), (0.8, 7, FALSE_DISCOVERY), (0.7, 3, MISS)]
)
def test_the_interval_is_two_one_sided_betting_bounds_in_hash_order(threshold, seed, loss):
    queries = drawn(35, rng=11)
    made = certificate(threshold=threshold, loss=loss, seed=seed)
    found = cl.audit(made, queries)
    chosen = made.apply(queries).chosen
    losses = loss.of_lists(chosen, loss.relevance.badness(queries).shares(), queries.offsets)
    ordered = losses[hash_order_by_hand(queries, made)].tolist()
    flipped = [1 - each for each in ordered]
    for bound, values in ((found.high, ordered), (1 - found.low, flipped)):
        assert 0 < bound < 1
        assert certified_by_hand(values, bound + 1e-8, 0.025)
        assert not certified_by_hand(values, bound - 1e-8, 0.025)
        above = np.arange(math.ceil(bound * 64) / 64 + 1e-6, 1, 1 / 64)
        assert all(certified_by_hand(values, each, 0.025) for each in above)
    assert found.low < found.risk < found.high
    unhashed = certificate(threshold=threshold, loss=loss, seed=seed + 1)
    assert cl.audit(unhashed, queries).high != found.high


@pytest.mark.parametrize(("alpha", "seed"), [(0.1, 0), (0.2, 1), (0.28, 2)])
def test_p_above_is_the_smallest_level_at_which_betting_says_that_the_risk_is_above_alpha(alpha, seed):
    queries = drawn(60, rng=12)
    made = certificate(threshold=0.5, loss=FALSE_DISCOVERY, alpha=alpha, seed=seed)
    found = cl.audit(made, queries)
    losses = FALSE_DISCOVERY.of_lists(
        made.apply(queries).chosen, FALSE_DISCOVERY.relevance.badness(queries).shares(), queries.offsets
    )
    flipped = [1 - each for each in losses[hash_order_by_hand(queries, made)].tolist()]
    assert 0 < found.p_above < 1
    assert certified_by_hand(flipped, 1 - alpha, found.p_above * (1 + 1e-6))
    assert not certified_by_hand(flipped, 1 - alpha, found.p_above * (1 - 1e-6))


@pytest.mark.parametrize(
    ("bad", "verdict"),
    [(0, "confirmed"), (30, "confirmed"), (56, "holds"), (60, "holds"), (66, "inconclusive"), (120, "above")],
)
def test_each_verdict_has_its_case(bad, verdict):
    found = cl.audit(certificate(), one_item_each(200, bad))
    assert found.risk == bad / 200
    assert found.verdict == verdict


def test_verdicts_follow_the_estimate_the_upper_end_and_the_one_sided_level_of_one_percent():
    found = [cl.audit(certificate(), one_item_each(120, bad)) for bad in range(0, 121, 3)]
    for each in found:
        if each.risk <= 0.3:
            assert each.verdict == ("confirmed" if each.high <= 0.3 else "holds")
        else:
            assert each.verdict == ("above" if each.p_above <= 0.01 else "inconclusive")
    ordered = ["confirmed", "holds", "inconclusive", "above"]
    places = [ordered.index(each.verdict) for each in found]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2, 3}
    doubtful = [each for each in found if each.verdict == "inconclusive"]
    assert any(0.01 < each.p_above <= 0.05 for each in doubtful), "a level of 5 % would call these above"


def test_a_risk_of_exactly_alpha_holds_however_its_losses_are_summed():
    queries = with_lists([5, 5, 10], [1, 2, 3])
    assert np.mean([0.2, 0.4, 0.3]) > 0.3, "added up as floats these losses are above alpha"
    found = cl.audit(certificate(), queries)
    assert found.risk == 0.3
    assert found.verdict == "holds"


def test_the_verdict_is_about_the_alpha_and_delta_of_the_certificate():
    queries = one_item_each(200, 40)
    assert [cl.audit(certificate(alpha=alpha), queries).verdict for alpha in (0.1, 0.19, 0.21, 0.5)] == [
        "above", "inconclusive", "holds", "confirmed",
    ]  # fmt: skip


def test_the_interval_covers_the_true_risk_and_the_groups_intervals_cover_it_together():
    """300 audits of a threshold whose true risk is known; the device depends on nothing, so its risk is the same."""
    made, draws, n = certificate(threshold=0.6, loss=FALSE_DISCOVERY), 300, 120
    truth = SIMULATED.true_risk(0.6, loss=FALSE_DISCOVERY).value
    rng = np.random.default_rng(17)
    found = [cl.audit(made, SIMULATED.draw(n, rng=rng), by="device") for _ in range(draws)]
    below, above = sum(truth < each.low for each in found), sum(truth > each.high for each in found)
    side, both = 0.025, 0.05
    assert max(below, above) <= draws * side + 3 * math.sqrt(draws * side * (1 - side))
    assert below + above <= draws * both + 3 * math.sqrt(draws * both * (1 - both))
    together = sum(any(not g.low <= truth <= g.high for g in each.by["device"]) for each in found)
    assert together <= draws * both + 3 * math.sqrt(draws * both * (1 - both))
    spread = float(np.std([each.risk for each in found]))
    widths = [each.high - each.low for each in found]
    assert np.mean(widths) < 1.6 * 2 * 1.96 * spread, "an interval as wide as [0, 1] would cover, too"


# strata -------------------------------------------------------------------------------------------------------------


def strata_of(sizes, bad=None):
    bad = [0] * len(sizes) if bad is None else bad
    return cl.audit(certificate(), with_lists(sizes, bad)).strata


def test_strata_are_half_open_bins_on_the_quartiles_of_the_sizes_and_empty_lists_apart():
    strata = strata_of([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert [(each.name, each.n_queries, each.mean_size) for each in strata] == [
        ("Empty", 3, 0.0), ("Short", 2, 1.5), ("Short-Medium", 2, 3.5), ("Medium-Long", 2, 5.5), ("Long", 2, 7.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ([3, 3, 3], [("All", 3)]),
        ([0, 3, 3], [("Empty", 1), ("All", 2)]),
        ([1, 1, 1, 5, 5], [("Short", 3), ("Long", 2)]),
        ([1, 1, 2, 2, 5, 5], [("Short", 2), ("Short-Medium", 2), ("Long", 2)]),
        ([1, 1, 1, 1, 1, 1, 1, 1, 9], [("Short", 8), ("Long", 1)]),
        ([0, 0], [("Empty", 2)]),
        ([7], [("All", 1)]),
    ],
)
def test_few_distinct_sizes_make_few_strata(sizes, wanted):
    assert [(each.name, each.n_queries) for each in strata_of(sizes)] == wanted


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
@settings(deadline=None)
def test_every_query_is_in_one_stratum_and_no_size_is_in_two(sizes):
    bad = [size // 2 for size in sizes]
    strata = strata_of(sizes, bad)
    filled = sorted(size for size in sizes if size)
    edges = sorted({filled[math.ceil(len(filled) * quarter / 4) - 1] for quarter in (1, 2, 3)} if filled else set())
    place = {size: 0 if size == 0 else 1 + sum(size > edge for edge in edges) for size in set(sizes)}
    wanted = [[i for i, size in enumerate(sizes) if place[size] == which] for which in range(len(edges) + 2)]
    wanted = [rows for rows in wanted if rows]
    assert [each.n_queries for each in strata] == [len(rows) for rows in wanted]
    for each, rows in zip(strata, wanted, strict=True):
        assert each.mean_size == pytest.approx(sum(sizes[i] for i in rows) / len(rows))
        losses = [Fraction(bad[i], max(sizes[i], 1)) for i in rows]
        assert each.risk == pytest.approx(float(sum(losses) / len(losses)), abs=1e-9)
        assert (each.name == "Empty") == (each.mean_size == 0)
    assert len({each.name for each in strata}) == len(strata)
    assert {each.name for each in strata} <= {"Empty", "All", "Short", "Short-Medium", "Medium-Long", "Long"}


# groups -------------------------------------------------------------------------------------------------------------


def test_the_intervals_of_a_table_are_convex_bounds_that_share_five_percent():
    sizes, bad = [2, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 0], [0, 1, 1, 0, 2, 1, 2, 0, 3, 4, 2, 0]
    queries = with_lists(sizes, bad, shop=list("aaaabbbbcccc"))
    found = cl.audit(certificate(), queries, by="shop")
    assert len(found.by["shop"]) == 3
    losses = [b / max(s, 1) for s, b in zip(sizes, bad, strict=True)]
    by_size = [[loss for loss, size in zip(losses, sizes, strict=True) if size == each] for each in sorted(set(sizes))]
    by_shop = [losses[:4], losses[4:8], losses[8:]]
    for groups, parts in ((found.strata, by_size), (found.by["shop"], by_shop)):
        level = 0.05 / (2 * len(groups))
        for group, part in zip(groups, parts, strict=True):
            assert group.n_queries == len(part)
            for bound, values in ((group.high, part), (1 - group.low, [1 - loss for loss in part])):
                total = math.fsum(values)
                if bound < 1:
                    assert convex_p(total, len(part), bound + 1e-9) <= level
                    assert convex_p(total, len(part), bound - 1e-7) > level
                else:
                    assert convex_p(total, len(part), 1 - 1e-9) > level
            assert 0 <= group.low <= group.risk <= group.high <= 1


def test_intervals_widen_with_the_number_of_groups_of_their_own_table_alone():
    queries = with_lists([2] * 24, [1] * 24, halves=[i % 2 for i in range(24)], other=[i % 12 for i in range(24)])
    alone, together = (cl.audit(certificate(), queries, by=by) for by in ("halves", ["halves", "other"]))
    assert alone.by["halves"] == together.by["halves"]
    (whole,) = alone.strata
    part = cl.audit(certificate(), queries.select(np.arange(0, 24, 2)), by="halves")
    assert part.by["halves"][0].risk == alone.by["halves"][0].risk
    assert part.by["halves"][0].high < alone.by["halves"][0].high
    assert whole.high < alone.by["halves"][0].high


def test_groups_of_a_column_are_named_by_its_values_and_hold_its_queries():
    queries = with_lists(
        [1, 1, 2, 2, 0], [0, 1, 1, 2, 0], device=["tv", "phone", "tv", "phone", "tv"], day=[1, 1, 1, 2, 2]
    )
    found = cl.audit(certificate(), queries, by=["device", "day"])
    assert list(found.by) == ["device", "day"]
    phone, tv = found.by["device"]
    assert (phone.name, phone.n_queries, phone.risk, phone.mean_size) == ("phone", 2, 1.0, 1.5)
    assert (tv.name, tv.n_queries, tv.mean_size) == ("tv", 3, 1.0)
    assert tv.risk == pytest.approx(0.5 / 3, abs=1e-9)
    assert [(each.name, each.n_queries) for each in found.by["day"]] == [("1", 3), ("2", 2)]
    assert list(cl.audit(certificate(), queries, by="device").by) == ["device"]
    assert list(cl.audit(certificate(), queries, by=("day",)).by) == ["day"]
    assert cl.audit(certificate(), queries).by == {}
    assert cl.audit(certificate(), queries, by=None).by == {}


def test_groups_come_in_the_order_of_their_values_numbers_as_numbers():
    columns = {"hour": [10, 2, 9], "share": [0.5, 10.0, 2.0], "word": ["10", "2", "9"], "known": [True, False, True]}
    found = cl.audit(certificate(), with_lists([1, 1, 1], [0, 0, 1], **columns), by=list(columns))
    assert {by: [each.name for each in groups] for by, groups in found.by.items()} == {
        "hour": ["2", "9", "10"], "share": ["0.5", "2.0", "10.0"], "word": ["10", "2", "9"], "known": ["False", "True"],
    }  # fmt: skip
    assert [each.risk for each in found.by["hour"]] == [0.0, 1.0, 0.0]


def test_queries_with_no_value_are_a_group_of_their_own():
    queries = with_lists([1, 1, 1, 1], [0, 1, 1, 0], shop=["a", None, None, "b"], hour=[1.0, math.nan, 2.0, math.nan])
    found = cl.audit(certificate(), queries, by=["shop", "hour"])
    assert {each.name: (each.n_queries, each.risk) for each in found.by["shop"]} == {
        "a": (1, 0.0), "b": (1, 0.0), "None": (2, 1.0),
    }  # fmt: skip
    assert [(each.name, each.n_queries, each.risk) for each in found.by["hour"]] == [
        ("1.0", 1, 0.0), ("2.0", 1, 1.0), ("nan", 2, 0.5),
    ]  # fmt: skip


def test_a_column_kept_per_item_serves_where_it_does_not_vary_within_a_query():
    scores, qid = [0.9, 0.8, 0.7, 0.9, 0.1], ["a", "a", "b", "c", "c"]
    columns = {"shop": ["x", "x", "y", "x", "x"], "place": [1, 2, 1, 1, 2]}
    queries = cl.Queries.from_arrays(scores, [0, 1, 0, 1, 1], qid=qid, columns=columns)
    assert [(each.name, each.n_queries) for each in cl.audit(certificate(), queries, by="shop").by["shop"]] == [
        ("x", 2), ("y", 1),
    ]  # fmt: skip
    with pytest.raises(InputError, match="column 'place' must have one value per query, but query 'a' has 1 and 2"):
        cl.audit(certificate(), queries, by="place")


@pytest.mark.parametrize("by", ["devise", ["device", "devise"]])
def test_a_column_that_is_not_there_is_named_with_the_nearest_one(by):
    with pytest.raises(InputError, match=r"there is no column 'devise'.*'device'"):
        cl.audit(certificate(), drawn(20), by=by)


@pytest.mark.parametrize("by", [3, ["device", None]])
def test_what_names_no_column_is_refused(by):
    with pytest.raises(InputError, match=r"by must name columns that hold one value per query, got (3|None)"):
        cl.audit(certificate(), drawn(20), by=by)


def test_what_is_no_certificate_or_no_table_of_queries_is_refused():
    queries = drawn(20)
    with pytest.raises(InputError, match=r"certificate must be .*got Queries; were the two arguments swapped"):
        cl.audit(queries, certificate())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"certificate must be .*got str"):
        cl.audit("cert.json", queries)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"queries must be cl.Queries, got dict"):
        cl.audit(certificate(), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [None, [math.nan, math.nan, math.nan]])
def test_queries_that_nobody_judged_are_refused(labels):
    with pytest.raises(InputError, match="queries have no labels at all"):
        cl.audit(certificate(), cl.Queries.from_arrays([0.9, 0.8, 0.1], labels, group=[2, 1]))


# what was calibrated on ---------------------------------------------------------------------------------------------


def from_a_curve(queries, evidence=None):
    curve = cl.RiskCurve.empty(loss=FALSE_DISCOVERY, thresholds=GRID)
    for start in range(0, len(queries), 70):
        curve = curve.add(queries[start : start + 70])
    return cl.calibrate(curve, alpha=0.4, delta=0.1, evidence=evidence or Convex())


CALIBRATED = {
    "all defaults": found_on,
    "all defaults, miss": lambda queries: found_on(queries, loss=MISS),
    "wsr": lambda queries: found_on(queries, evidence=Betting(strategy="wsr")),
    "empirical Bernstein": lambda queries: found_on(queries, evidence=EmpiricalBernstein()),
    "every score": lambda queries: found_on(queries, evidence=Convex()),
    "every score, miss": lambda queries: found_on(queries, evidence=Hoeffding(), loss=MISS),
    "win rates": lambda queries: found_on(queries, scoring=cl.WinRate(scale=0.3)),
    "a grid": lambda queries: found_on(queries, thresholds=GRID),
    "sizes": lambda queries: found_on(queries, sets=cl.Threshold(max_size=4), evidence=Convex()),
    "fallback": lambda queries: found_on(queries, thresholds=GRID, sequence=cl.Fallback()),
    "another seed": lambda queries: found_on(queries, seed=99),
    "a curve": from_a_curve,
    "an abstention": lambda queries: found_on(queries, alpha=1e-3),
    "an abstention on a grid": lambda queries: found_on(queries, alpha=1e-3, thresholds=GRID[8:]),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_an_audit_on_the_calibration_queries_warns_and_one_on_others_does_not(name):
    queries, others = drawn(200, rng=21), drawn(200, rng=22)
    made = CALIBRATED[name](queries)
    assert isinstance(made, cl.Abstention) == ("abstention" in name)
    with pytest.warns(CutlineWarning, match="these are the calibration queries.*held out") as caught:
        found = cl.audit(made, queries)
    assert caught[0].filename == __file__
    assert found.calibration_data
    shuffled = queries.select(np.random.default_rng(0).permutation(200))
    with pytest.warns(CutlineWarning, match="these are the calibration queries"):
        cl.audit(made, shuffled)
    assert not cl.audit(made, others).calibration_data


def test_a_certificate_from_a_file_still_knows_its_calibration_queries(tmp_path):
    queries = drawn(200, rng=21)
    path = tmp_path / "certificate.json"
    found_on(queries).save(path)
    with pytest.warns(CutlineWarning, match="these are the calibration queries"):
        cl.audit(cl.load(path), queries)


def test_queries_with_other_labels_are_not_the_calibration_queries():
    queries = drawn(200, rng=21)
    flipped = cl.Queries(queries.scores, queries.offsets, 4 - queries.labels, query_ids=queries.query_ids)
    assert not cl.audit(found_on(queries, thresholds=GRID), flipped).calibration_data


# abstentions --------------------------------------------------------------------------------------------------------


def test_an_abstention_that_returns_nothing_is_audited_as_empty_lists():
    made = found_on(drawn(), alpha=1e-3, thresholds=GRID)
    found = cl.audit(made, drawn(300, rng=1))
    assert isinstance(made, cl.Abstention)
    assert (found.risk, found.share_nonempty, found.recall, found.threshold) == (0.0, 0.0, 0.0, math.inf)
    assert found.statement().endswith("This is an abstention: every list is empty.")
    assert found.verdict == "holds"
    assert cl.audit(replace(made, alpha=0.3), drawn(300, rng=1)).verdict == "confirmed"


def test_an_abstention_of_miss_is_audited_as_full_lists():
    made = found_on(drawn(), loss=MISS, alpha=1e-3, thresholds=GRID[::-1].copy())
    queries = drawn(100, rng=1)
    found = cl.audit(made, queries)
    assert isinstance(made, cl.Abstention)
    assert (found.risk, found.share_nonempty, found.recall, found.threshold) == (0.0, 1.0, 1.0, -math.inf)
    assert found.statement().endswith("This is an abstention: every list is full.")
    assert found.sizes.mean == queries.n_items / 100


def test_an_abstention_that_cannot_be_applied_cannot_be_audited():
    made = found_on(drawn(), alpha=1e-3, thresholds=GRID, sets=cl.Threshold(min_size=1))
    with pytest.raises(CannotApplyError, match="nothing was certified"):
        cl.audit(made, drawn(100, rng=1))


def test_win_rates_of_lists_of_other_lengths_warn():
    made = found_on(drawn(), scoring=cl.WinRate(scale=0.3))
    with pytest.warns(CutlineWarning, match="lists have lengths outside 3 to 12"):
        cl.audit(made, cl.datasets.simulate(40, n_items=(3, 20), rng=1))


# shown and written down ---------------------------------------------------------------------------------------------


def plain(value):
    if isinstance(value, dict):
        return all(type(key) in (str, int) and plain(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.filterwarnings("ignore:.*are the scores on the scale:cutline.errors.CutlineWarning")  # meant here
@pytest.mark.parametrize("threshold", [0.5, 2.0, math.inf, -math.inf])
def test_an_audit_becomes_strict_json(threshold):
    found = cl.audit(certificate(threshold=threshold), drawn(80, rng=4), by="device")
    figures = found.to_dict()
    assert plain(figures)
    read = json.loads(json.dumps(figures, allow_nan=False))
    assert read["threshold"] == (threshold if math.isfinite(threshold) else None)
    assert (read["risk"], read["verdict"], read["alpha"]) == (found.risk, found.verdict, 0.3)
    assert {int(size): count for size, count in read["sizes"]["histogram"].items()} == found.sizes.histogram
    assert [group["name"] for group in read["by"]["device"]] == ["desktop", "phone", "tablet"]
    assert [group["high"] for group in read["strata"]] == [group.high for group in found.strata]


WORDS = {
    30: "even the upper end of the interval is at most alpha",
    56: "the estimate is at most alpha, though the interval reaches above it",
    66: "the estimate is above alpha, no further than chance explains; usual for a risk near alpha",
    120: "up to a share delta + 0.01 = 0.11 of honest calibrations end so, or the queries, scores or labels have changed since",
}


@pytest.mark.parametrize("bad", WORDS)
def test_the_statement_says_the_verdict_the_interval_and_what_it_means(bad):
    found = cl.audit(certificate(), one_item_each(200, bad))
    said = found.statement()
    assert said.startswith(f"Verdict: {found.verdict}. The false-discovery risk is {bad / 200:.4f} (95 % interval ")
    assert f"{found.low:.4f} to {found.high:.4f}) on 200 queries; alpha = 0.3: " in said
    assert said.endswith(f"{WORDS[bad]}.")
    assert ("p = " in said) == (found.verdict == "above")


def test_the_statement_tells_where_every_list_is_empty():
    queries = with_lists([1, 2], [1, 1])
    assert (
        cl.audit(certificate(threshold=2.0), queries)
        .statement()
        .endswith("Every list is empty at this threshold: nothing would be shown.")
    )
    assert "empty" not in cl.audit(certificate(), queries).statement()


def test_the_statement_of_a_large_audit_separates_thousands_and_names_the_loss():
    queries = one_item_each(1234, 0)
    assert "The miss risk is 0.5000" in cl.audit(certificate(loss=cl.Miss(GRADE)), queries).statement()
    assert "on 1,234 queries" in cl.audit(certificate(), queries).statement()


def test_the_terminal_and_the_notebook_show_the_same():
    queries = with_lists([0, 1, 2, 2, 4], [0, 1, 0, 1, 1], shop=["<b>", "x & y", "x & y", "<b>", "z"])
    found = cl.audit(certificate(), queries, by="shop")
    title, *lines = repr(found).splitlines()
    assert title == found.statement()
    shown = found._repr_html_()
    assert "<b>" not in shown
    cells = [html.unescape(re.sub("<[^>]*>", "", row)) for row in re.findall(r"<td[^>]*>(.*?)</td>", shown)]
    pairs = list(zip(cells[::2], cells[1::2], strict=True))
    assert len(pairs) == len(lines)
    for (name, value), line in zip(pairs, lines, strict=True):
        assert line.split() == [*name.split(), *value.split()]
    assert html.escape(title) in shown
    rows = dict(pairs)
    assert rows["queries"] == "5, 14 items"
    assert rows["list size"] == "mean 1.80, quartiles 1 / 2 / 2"
    assert rows["non-empty lists"] == "80 %, risk 0.4375"
    assert rows["pooled item rate"] == "0.3333"
    assert rows["good items kept"] == "54.5 %"
    assert rows["shop: x & y"].startswith("0.5000  (")
    assert rows["shop: x & y"].endswith("; n 2)")
    assert [name for name, _ in pairs if name.startswith("size: ")] == [
        "size: Empty", "size: Short", "size: Short-Medium", "size: Long",
    ]  # fmt: skip


def test_figures_that_do_not_exist_are_shown_as_such():
    rows = repr(cl.audit(certificate(threshold=2.0), with_lists([1, 2], [1, 1])))
    assert re.search(r"non-empty lists +0 %, risk n/a", rows)
    assert re.search(r"pooled item rate +n/a", rows)
    nothing_good = cl.Queries.from_arrays([0.9, 0.1], [0, 0], group=[2])
    assert re.search(r"good items kept +n/a", repr(cl.audit(certificate(), nothing_good)))


def test_an_audit_does_not_change():
    found = cl.audit(certificate(), one_item_each(20, 3))
    with pytest.raises(AttributeError):
        found.risk = 0.0  # type: ignore[misc]


def test_a_certificate_of_zero_or_one_losses_is_audited_with_betting_all_the_same():
    queries = one_item_each(200, 30)
    made = cl.calibrate(
        queries, loss=cl.FalseDiscovery(GRADE), alpha=0.3, delta=0.1, evidence=Binomial(), thresholds=[0.9, 0.5]
    )
    held_out = one_item_each(200, 31)
    assert cl.audit(made, held_out).high == cl.audit(certificate(), held_out).high
