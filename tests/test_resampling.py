"""Repeated splits against the loop that a reader of the paper would write."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.ragged import UNITS, badness_by_hand, lists_of, row_by_hand

import cutline as cl
from cutline.errors import InputError
from cutline.evidence import Convex

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no judged item|among judged items only):cutline.errors.CutlineWarning"
)  # meant here

SIMULATED = cl.datasets.Simulator(n_items=(3, 12), share_unjudged=0.1)
QUERIES, SHORT = SIMULATED.draw(160, rng=0), replace(SIMULATED, n_items=(2, 5)).draw(160, rng=0)
GRID = cl.grid(0.95, 0.05, 0.05)
FALSE_DISCOVERY, MISS = cl.FalseDiscovery(cl.Grade(at_least=3)), cl.Miss(cl.Grade(at_least=3))
FIGURES = ("threshold", "risk", "mean_size", "size_of_one", "share_nonempty", "item_rate")

SETTINGS = {
    "all defaults": {"loss": FALSE_DISCOVERY, "alpha": 0.45},
    "a grid": {"loss": FALSE_DISCOVERY, "alpha": 0.45, "thresholds": GRID},
    "every score": {"loss": FALSE_DISCOVERY, "alpha": 0.45, "evidence": Convex(), "thresholds": "exact"},
    "misses": {"loss": MISS, "alpha": 0.3, "thresholds": GRID[::-1].copy()},
    "win rates, fractions": {
        "loss": cl.FalseDiscovery(cl.TopM(m=2, ties="expected")), "alpha": 0.6, "scoring": cl.WinRate(scale=0.3),
    },
    "sizes, dropped": {
        "loss": cl.FalseDiscovery(cl.Grade(at_least=3, unjudged="drop")), "alpha": 0.6, "thresholds": GRID,
        "sets": cl.Threshold(min_size=1, max_size=4),
    },
    "fallback, a seed": {
        "loss": FALSE_DISCOVERY, "alpha": 0.45, "thresholds": GRID, "sequence": cl.Fallback(), "seed": 5,
    },
    "some abstain": {"loss": FALSE_DISCOVERY, "alpha": 0.2, "thresholds": GRID[3:]},
}  # fmt: skip


def resampled(queries=QUERIES, **changed):
    how = {"loss": FALSE_DISCOVERY, "alpha": 0.45, "delta": 0.1, "n_calibration": 90, "repeats": 6, "rng": 3} | changed
    return cl.resample(queries, **how)


def resampled_by_hand(queries, rng, *, n_calibration=90, repeats=6, **how):
    """Split by query, calibrate, cut, and count from the definitions; None where calibration abstained."""
    generator, rows = np.random.default_rng(rng), []
    loss, sets = how["loss"], how.get("sets", cl.Threshold())
    for repeat in range(repeats):
        shuffled = generator.permutation(len(queries))
        one = generator.integers(len(queries) - n_calibration)
        own = {**how, "seed": how.get("seed", 0) + repeat}
        made = cl.calibrate(queries.select(np.sort(shuffled[:n_calibration])), delta=0.1, **own)
        rest = queries.select(np.sort(shuffled[n_calibration:]))
        if isinstance(made, cl.Abstention):
            rows.append([np.nan] * 6)
            continue
        scores = made.scoring.item_scores(rest.scores, rest.offsets)
        badness = [badness_by_hand(labels, loss.relevance) for labels in lists_of(rest.labels, rest.offsets)]
        sums, _ = row_by_hand(loss, sets, lists_of(scores, rest.offsets), badness, made.threshold)
        n, rate = len(rest), sums[4] / (sums[6] * UNITS) if sums[6] else np.nan
        size = made.apply(rest).sizes[one]
        rows.append([made.threshold, sums[0] / (n * UNITS), sums[3] / n, size, sums[5] / n, rate])
    return dict(zip(FIGURES, np.array(rows).T, strict=True))


@pytest.mark.parametrize("name", SETTINGS)
def test_splits_meet_a_loop_written_by_hand_to_the_last_bit(name):
    queries = SHORT if "fractions" in name else QUERIES  # fractions by hand go through all orders of a list
    repeats = 24 if "abstain" in name else 6
    splits = resampled(queries, repeats=repeats, **SETTINGS[name])
    wanted = resampled_by_hand(queries, 3, repeats=repeats, **SETTINGS[name])
    for figure in FIGURES:
        np.testing.assert_array_equal(getattr(splits, figure), wanted[figure], err_msg=figure)
    assert splits.certified.tolist() == [not np.isnan(each) for each in wanted["threshold"]]
    assert splits.certified.any()
    assert splits.certified.all() == ("abstain" not in name)
    assert (len(splits), splits.n_calibration, splits.n_held_out) == (repeats, 90, 70)
    assert (splits.alpha, splits.delta) == (SETTINGS[name]["alpha"], 0.1)


@pytest.mark.filterwarnings("ignore:betting evidence looks at:cutline.errors.CutlineWarning")
def test_each_split_looks_at_no_more_queries_than_asked_for():
    settings = {"loss": FALSE_DISCOVERY, "alpha": 0.45, "delta": 0.1, "thresholds": GRID, "most_queries": 55}
    settings["evidence"] = cl.evidence.Betting()
    splits = cl.resample(QUERIES, n_calibration=100, repeats=3, rng=0, **settings)
    rng = np.random.default_rng(0)
    for repeat in range(3):
        order = rng.permutation(len(QUERIES))
        rng.integers(len(QUERIES) - 100)
        found = cl.calibrate(QUERIES.select(np.sort(order[:100])), seed=repeat, **settings)
        assert found.n_queries == 55
        assert splits.threshold[repeat] == (found.threshold if isinstance(found, cl.Certificate) else np.nan) or (
            isinstance(found, cl.Abstention) and not splits.certified[repeat]
        )


def test_queries_without_ids_are_calibrated_on_in_the_order_of_their_rows():
    nameless = SIMULATED.draw(160, rng=0, ids=False)
    how = {"loss": FALSE_DISCOVERY, "alpha": 0.45, "repeats": 12}
    np.testing.assert_array_equal(
        resampled(nameless, **how).threshold, resampled_by_hand(nameless, 3, **how)["threshold"]
    )


def test_each_split_is_what_an_audit_of_its_certificate_finds():
    splits = resampled(thresholds=GRID, repeats=3)
    generator = np.random.default_rng(3)
    for repeat in range(3):
        shuffled = generator.permutation(160)
        generator.integers(70)
        made = cl.calibrate(
            QUERIES.select(np.sort(shuffled[:90])), loss=FALSE_DISCOVERY, alpha=0.45, delta=0.1, thresholds=GRID,
            seed=repeat,
        )  # fmt: skip
        found = cl.audit(made, QUERIES.select(np.sort(shuffled[90:])))
        assert (splits.risk[repeat], splits.item_rate[repeat]) == (found.risk, found.item_rate)
        assert (splits.mean_size[repeat], splits.share_nonempty[repeat]) == (found.sizes.mean, found.share_nonempty)


def test_splits_with_and_without_a_certificate_occur_side_by_side():
    splits = resampled(**SETTINGS["some abstain"], repeats=40)
    assert 5 < splits.certified.sum() < 35
    for figure in FIGURES[:5]:
        assert (np.isnan(getattr(splits, figure)) == ~splits.certified).all()


def test_an_abstention_is_never_above_alpha_and_is_counted_among_all_splits():
    splits = resampled(**SETTINGS["some abstain"], repeats=40)
    above = sum(risk > 0.2 for risk, certified in zip(splits.risk, splits.certified, strict=True) if certified)
    assert above > 0
    assert splits.share_above == above / 40
    none = resampled(alpha=1e-3, thresholds=GRID)
    assert not none.certified.any()
    assert none.share_above == 0.0
    assert np.isnan(none.risk).all()


def test_a_risk_of_exactly_alpha_is_not_above_it():
    splits = resampled(thresholds=GRID)
    assert replace(splits, alpha=float(splits.risk.max())).share_above == 0.0
    assert replace(splits, alpha=float(np.nextafter(splits.risk.max(), 0))).share_above == 1 / 6


def test_lists_that_are_all_empty_have_no_item_rate_but_a_certificate():
    splits = resampled(thresholds=[2.0], alpha=0.3)
    assert splits.certified.all()
    assert np.isnan(splits.item_rate).all()
    assert (splits.risk == 0).all()
    assert (splits.share_nonempty == 0).all()
    assert (splits.size_of_one == 0).all()


def test_the_same_rng_gives_the_same_bytes_and_another_one_others():
    first, again, other = (resampled(rng=rng) for rng in (3, 3, 4))
    for figure in (*FIGURES, "certified"):
        assert getattr(first, figure).tobytes() == getattr(again, figure).tobytes()
    assert first.risk.tobytes() != other.risk.tobytes()


def test_a_generator_is_used_up_where_it_stands():
    generator = np.random.default_rng(3)
    first, second = resampled(rng=generator), resampled(rng=generator)
    np.testing.assert_array_equal(first.risk, resampled(rng=3).risk)
    assert first.risk.tobytes() != second.risk.tobytes()


def test_fewer_repeats_are_the_first_of_more():
    np.testing.assert_array_equal(resampled(repeats=2).risk, resampled(repeats=6).risk[:2])


def test_one_query_may_be_held_out():
    splits = resampled(QUERIES[:41], n_calibration=40, thresholds=GRID, alpha=0.6)
    assert splits.n_held_out == 1
    np.testing.assert_array_equal(splits.size_of_one, splits.mean_size)


def test_over_many_splits_of_a_large_draw_the_share_above_is_far_from_one():
    """Splits share queries, so only roughly delta; a loop that measured on the wrong queries would not show it."""
    queries = replace(SIMULATED, share_unjudged=0.0).draw(1200, rng=9)
    splits = resampled(queries, n_calibration=400, repeats=60, evidence=Convex())
    truth = [
        replace(SIMULATED, share_unjudged=0.0).true_risk(float(each), loss=FALSE_DISCOVERY).value
        for each in splits.threshold[:5]
    ]
    assert np.abs(splits.risk[:5] - truth).max() < 0.06
    assert splits.share_above < 0.3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_calibration": 160}, "n_calibration must leave queries to measure on, got 160 of 160; take fewer"),
        ({"n_calibration": 9_000}, "n_calibration must leave queries to measure on, got 9,000 of 160"),
        ({"n_calibration": 1}, "n_calibration must be a whole number of at least 2, got 1"),
        ({"n_calibration": 0.5}, "n_calibration must be a whole number of at least 2, got 0.5"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, got 0"),
        ({"repeats": 2.5}, "repeats must be a whole number of at least 1, got 2.5"),
        ({"alpha": 30}, r"alpha must be in \(0, 1\), got 30; did you mean 0.30\?"),
        ({"alpha": 0.0}, r"alpha must be in \(0, 1\), got 0.0"),
        ({"delta": 10}, r"delta must be in \(0, 1\), got 10; did you mean 0.10\?"),
        ({"delta": "x"}, "delta must be a number, got 'x'"),
        ({"rng": -1}, "rng must be .*got -1"),
        ({"rng": 1.5}, "rng must be .*got 1.5"),
        ({"rng": "3"}, "rng must be .*got '3'"),
        ({"rng": None}, "rng must be .*got None"),
        ({"thresholds": [0.1, 0.9]}, "thresholds must fall strictly"),
    ],
)
def test_what_cannot_be_split_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        resampled(**changed)


def test_what_is_no_table_of_queries_is_refused():
    with pytest.raises(InputError, match=r"queries must be cl.Queries, got list"):
        resampled([0.1, 0.2])
    with pytest.raises(InputError, match="loss"):
        resampled(loss="false-discovery")


def test_queries_without_labels_are_refused():
    with pytest.raises(InputError, match="queries have no labels at all"):
        resampled(cl.Queries(QUERIES.scores, QUERIES.offsets))


def test_the_terminal_and_the_notebook_show_the_same():
    splits = resampled(**SETTINGS["some abstain"], repeats=40)
    title, *lines = repr(splits).splitlines()
    assert title == "40 splits: 90 to calibrate, 70 held out; alpha 0.2"
    shown = splits._repr_html_()
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", shown)]
    pairs = list(zip(cells[::2], cells[1::2], strict=True))
    for (name, value), line in zip(pairs, lines, strict=True):
        assert line.split() == [*name.split(), *value.split()]
    assert title in shown
    rows, known = dict(pairs), splits.risk[splits.certified]
    assert rows["certified"] == f"{splits.certified.sum()} of 40 splits"
    assert rows["held-out risk"] == f"{known.mean():.4f}  ({known.min():.4f} … {known.max():.4f})"
    assert rows["above alpha"] == f"{100 * splits.share_above:.1f} % of splits (delta 0.1)"


def test_figures_of_splits_that_all_abstain_are_shown_as_not_there():
    rows = repr(resampled(alpha=1e-3, thresholds=GRID))
    assert re.search(r"certified +0 of 6 splits", rows)
    assert re.search(r"held-out risk +n/a", rows)
    assert re.search(r"above alpha +0.0 % of splits", rows)
