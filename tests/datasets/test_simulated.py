"""Simulated queries follow their model, and the true risk is the risk of what is drawn."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from cutline.cutting import cut_all
from cutline.datasets import Simulator, TrueRisk, simulate
from cutline.errors import InputError
from cutline.losses import FalseDiscovery, Loss, Miss
from cutline.preferences import WinRate
from cutline.queries import Queries
from cutline.relevance import Grade, TopM
from cutline.sets import Threshold

GOOD = Grade(at_least=3)
WORLDS = {
    "default": Simulator(),
    "one length": Simulator(n_items=8),
    "one item": Simulator(n_items=1, query_effect=2.0),
    "no effects": Simulator(query_effect=0.0, score_shift=0.0),
    "strong effects": Simulator(query_effect=2.0, score_shift=1.5, n_items=(1, 6)),
    "useless scores": Simulator(signal=0.0),
    "unjudged": Simulator(share_unjudged=0.4),
    "rare good items": Simulator(label_shares=(0.5, 0.3, 0.17, 0.02, 0.01), score_offset=-1.0),
}


def mean_loss(queries: Queries, loss: Loss, threshold: float) -> tuple[float, float]:
    """The mean loss of these queries and its standard error."""
    chosen, _ = cut_all(Threshold(), queries.scores, queries.offsets, None, threshold)
    losses = loss.of_lists(chosen, loss.relevance.badness(queries).shares(), queries.offsets)
    return float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses)))


def contents(queries: Queries) -> list[bytes]:
    arrays = [queries.scores, queries.offsets, queries.labels]
    texts = [queries.query_ids, queries.item_ids, queries.columns["device"]]
    return [a.tobytes() for a in arrays if a is not None] + [repr(t.tolist()).encode() for t in texts if t is not None]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    assert contents(simulate(50, rng=3)) == contents(simulate(50, rng=3))
    assert contents(simulate(50, rng=3)) == contents(simulate(50, rng=np.random.default_rng(3)))
    assert contents(simulate(50, rng=3))[0] != contents(simulate(50, rng=4))[0]


def test_a_generator_goes_on_where_it_stopped() -> None:
    generator = np.random.default_rng(3)
    assert contents(simulate(50, rng=generator))[0] != contents(simulate(50, rng=generator))[0]


def test_simulate_is_a_draw_from_the_simulator() -> None:
    world = {"n_items": (2, 4), "signal": 0.5, "share_unjudged": 0.1}
    assert contents(simulate(40, rng=1, **world)) == contents(Simulator(**world).draw(40, rng=1))  # type: ignore[arg-type]


def test_simulate_and_the_simulator_have_the_same_settings_and_defaults() -> None:
    own = ("n_queries", "rng", "ids")
    given = {name: each.default for name, each in inspect.signature(simulate).parameters.items() if name not in own}
    assert given == {field.name: field.default for field in fields(Simulator)}


def test_ids_are_counted_from_one_and_name_the_query_of_an_item() -> None:
    queries = simulate(3, rng=0, n_items=(2, 3))
    assert queries.query_ids is not None
    assert queries.item_ids is not None
    assert queries.query_ids.tolist() == ["q000001", "q000002", "q000003"]
    assert queries[2].item_ids is not None
    assert queries[2].item_ids.tolist()[:2] == ["q000003-d01", "q000003-d02"]


def test_without_ids_the_numbers_are_the_same() -> None:
    queries = Simulator().draw(30, rng=2, ids=False)
    assert queries.query_ids is None
    assert queries.item_ids is None
    assert contents(queries)[:3] == contents(Simulator().draw(30, rng=2))[:3]


def test_lengths_fill_the_whole_range_evenly() -> None:
    sizes = simulate(9_000, rng=0, n_items=(2, 4)).sizes
    shares = np.bincount(sizes) / 9_000
    assert len(shares) == 5
    assert shares[2:] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert set(simulate(20, rng=0, n_items=7).sizes.tolist()) == {7}


def test_labels_have_the_shares_that_were_asked_for() -> None:
    shares = (0.3, 0.25, 0.25, 0.15, 0.05)
    labels = simulate(60_000, rng=0, label_shares=shares, query_effect=1.0, n_items=5, ids=False).labels
    assert labels is not None
    assert np.bincount(labels.astype(int)) / len(labels) == pytest.approx(shares, abs=0.01)


def test_a_label_without_a_share_does_not_occur() -> None:
    labels = simulate(2_000, rng=0, label_shares=(0.0, 0.5, 0.0, 0.5, 0.0)).labels
    assert labels is not None
    assert set(labels.tolist()) == {1.0, 3.0}


def test_scores_stay_inside_zero_and_one_however_wide_they_spread() -> None:
    scores = simulate(500, rng=0, score_scale=1e4).scores
    assert scores.min() > 0
    assert scores.max() < 1


def test_higher_labels_have_higher_scores_unless_the_signal_is_zero() -> None:
    for signal, rises in ((0.9, True), (0.0, False)):
        queries = simulate(4_000, rng=0, signal=signal)
        assert queries.labels is not None
        means = [float(queries.scores[queries.labels == label].mean()) for label in range(5)]
        assert bool(min(np.diff(means)) > 0.05) is rises


def test_labels_go_missing_at_the_share_asked_for_and_the_scores_stay() -> None:
    whole, part = simulate(3_000, rng=0), simulate(3_000, rng=0, share_unjudged=0.25)
    assert part.labels is not None
    assert whole.labels is not None
    missing = np.isnan(part.labels)
    assert float(missing.mean()) == pytest.approx(0.25, abs=0.01)
    assert np.array_equal(part.scores, whole.scores)
    assert np.array_equal(part.labels[~missing], whole.labels[~missing])


def test_the_query_effect_makes_labels_of_one_query_alike() -> None:
    def between(query_effect: float) -> float:
        labels = simulate(3_000, rng=0, n_items=10, query_effect=query_effect).labels
        assert labels is not None
        return float(labels.reshape(-1, 10).mean(axis=1).var() / (labels.var() / 10))

    assert between(0.0) == pytest.approx(1.0, abs=0.1)
    assert between(1.0) > 3


def test_queries_are_independent_of_each_other_and_of_their_place() -> None:
    queries = simulate(20_000, rng=0, query_effect=1.0, score_shift=1.0)
    means = np.add.reduceat(queries.scores, queries.offsets[:-1]) / queries.sizes  # no query is empty
    limit = 4 / np.sqrt(len(means))
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < limit
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < limit
    assert abs(np.corrcoef(means, queries.sizes)[0, 1]) < limit


def test_the_device_says_nothing_about_a_query() -> None:
    queries = simulate(20_000, rng=0)
    device = queries.per_query("device")
    assert queries.labels is not None
    means = np.add.reduceat(queries.labels, queries.offsets[:-1]) / queries.sizes
    assert set(device.tolist()) == {"phone", "desktop", "tablet"}
    for name in ("phone", "desktop", "tablet"):
        here = device == name
        error = means.std() * np.sqrt(1 / here.sum() + 1 / (~here).sum())
        assert abs(means[here].mean() - means[~here].mean()) < 4 * error


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("loss", [FalseDiscovery(GOOD), Miss(GOOD), FalseDiscovery(Grade(at_least=1.5))])
def test_the_integral_agrees_with_simulated_queries(name: str, loss: Loss) -> None:
    world = WORLDS[name]
    queries = world.draw(40_000, rng=11, ids=False)
    thresholds = [0.15, 0.4, 0.6, 0.75, 0.9]
    exact = world.true_risk(np.array(thresholds), loss=loss)
    assert not exact.standard_error.any()
    for threshold, value in zip(thresholds, exact.value, strict=True):
        mean, error = mean_loss(queries, loss, threshold)
        assert abs(mean - value) < 4 * error + 1e-4


@pytest.mark.parametrize(("threshold", "miss"), [(0.0, 0.0), (-np.inf, 0.0), (1.0, None), (np.inf, None)])
def test_beyond_all_scores_everything_or_nothing_is_kept(threshold: float, miss: float | None) -> None:
    world = Simulator(n_items=(1, 3))
    queries = world.draw(40_000, rng=1, ids=False)
    wanted = mean_loss(queries, Miss(GOOD), 1.0)[0] if miss is None else miss
    assert world.true_risk(threshold, loss=Miss(GOOD)).value == pytest.approx(wanted, abs=0.012 if wanted else 1e-12)
    bad = 0.73 if miss == 0.0 else 0.0
    assert world.true_risk(threshold, loss=FalseDiscovery(GOOD)).value == pytest.approx(bad, abs=1e-12)


def test_without_effects_the_integral_is_the_textbook_formula() -> None:
    from scipy.stats import multivariate_normal, norm

    world = Simulator(n_items=4, query_effect=0.0, score_shift=0.0, signal=0.6, score_scale=2.0, score_offset=0.3)
    f = (np.log(0.7 / 0.3) - 0.3) / 2.0
    cut = norm.ppf(0.73)
    both = multivariate_normal.cdf([-cut, -f], cov=[[1.0, 0.6], [0.6, 1.0]])
    q, p = norm.sf(f), norm.sf(cut)
    assert world.true_risk(0.7, loss=FalseDiscovery(GOOD)).value == pytest.approx((1 - both / q) * (1 - (1 - q) ** 4))
    assert world.true_risk(0.7, loss=Miss(GOOD)).value == pytest.approx((1 - both / p) * (1 - (1 - p) ** 4))


def test_the_score_shift_changes_the_risk_but_not_the_labels() -> None:
    still, shifting = Simulator(score_shift=0.0), Simulator(score_shift=1.5)
    assert still.cut_points.tolist() == shifting.cut_points.tolist()
    loss = FalseDiscovery(GOOD)
    assert shifting.true_risk(0.75, loss=loss).value > still.true_risk(0.75, loss=loss).value + 0.01


def test_one_threshold_gives_numbers_and_several_give_arrays() -> None:
    world = Simulator()
    one, several = world.true_risk(0.7, loss=Miss(GOOD)), world.true_risk([0.7, 0.8], loss=Miss(GOOD))
    assert isinstance(one.value, float)
    assert several.value.shape == several.standard_error.shape == (2,)
    assert several.value[0] == one.value


def test_unjudged_items_passed_over_are_sampled_and_agree_with_the_law() -> None:
    """Among n chosen items, each judged with chance 0.6, some are judged with chance 1 - (1 - 0.6 q)^K."""
    world = Simulator(share_unjudged=0.4, query_effect=0.0, score_shift=0.0, n_items=3)
    loss = FalseDiscovery(Grade(at_least=3, unjudged="drop"))
    sampled = world.true_risk([0.6, 0.8], loss=loss, queries=60_000, rng=5)
    judged = replace(world, share_unjudged=0.0)
    q = np.array([float((simulate_all_scores(judged) >= t).mean()) for t in (0.6, 0.8)])
    exact = judged.true_risk([0.6, 0.8], loss=loss).value / (1 - (1 - q) ** 3) * (1 - (1 - 0.6 * q) ** 3)
    assert bool((sampled.standard_error > 0).all())
    assert bool((abs(sampled.value - exact) < 4 * sampled.standard_error + 1e-3).all())


def simulate_all_scores(world: Simulator) -> np.ndarray:
    return world.draw(300_000, rng=8, ids=False).scores


@pytest.mark.parametrize(
    ("loss", "scoring", "sets"),
    [
        (FalseDiscovery(TopM(m=3)), None, None),
        (FalseDiscovery(GOOD), WinRate(), None),
        (FalseDiscovery(GOOD), None, Threshold(min_size=1, max_size=3)),
    ],
)
def test_whatever_has_no_formula_is_sampled(loss: Loss, scoring: WinRate | None, sets: Threshold | None) -> None:
    world, threshold = Simulator(n_items=(3, 9)), 0.6 if scoring is None else 0.51
    first = world.true_risk(threshold, loss=loss, scoring=scoring, sets=sets, queries=30_000, rng=1)
    other = world.true_risk(threshold, loss=loss, scoring=scoring, sets=sets, queries=30_000, rng=2)
    assert 0 < first.value < 1
    assert 0 < first.standard_error < 0.004
    assert first.value != other.value
    assert abs(first.value - other.value) < 4 * np.hypot(first.standard_error, other.standard_error)
    again = world.true_risk(threshold, loss=loss, scoring=scoring, sets=sets, queries=30_000, rng=1)
    assert (again.value, again.standard_error) == (first.value, first.standard_error)


def test_sampling_gives_what_the_integral_gives_where_both_apply() -> None:
    """max_size above every length restricts nothing, yet is no plain threshold, so it is sampled."""
    world, loss = Simulator(n_items=(3, 9)), Miss(GOOD)
    sampled = world.true_risk([0.5, 0.7], loss=loss, sets=Threshold(max_size=9), queries=60_000)
    exact = world.true_risk([0.5, 0.7], loss=loss)
    assert bool((abs(sampled.value - exact.value) < 4 * sampled.standard_error).all())


def test_the_default_world_leaves_room_for_useful_lists() -> None:
    """What a risk of 0.28 leaves: several items a list, few lists empty."""
    world, loss = Simulator(), FalseDiscovery(GOOD)
    thresholds = np.linspace(0.95, 0.4, 56)
    chosen = float(thresholds[world.true_risk(thresholds, loss=loss).value <= 0.28].min())
    queries = world.draw(5_000, rng=0)
    sizes = np.bincount(queries.query_of_item(), weights=queries.scores >= chosen, minlength=len(queries))
    assert 4 < sizes.mean() < 10
    assert (sizes > 0).mean() > 0.85


def test_the_true_risk_shows_itself() -> None:
    shown = TrueRisk(0.25, 0.001)
    assert "0.25" in repr(shown)
    assert "standard error" in repr(shown)
    assert "<table>" in shown._repr_html_()


def test_a_simulator_is_a_value() -> None:
    world = Simulator(n_items=(2, 5))
    assert world == Simulator(n_items=[2, 5])  # type: ignore[arg-type]
    assert hash(world) == hash(Simulator(n_items=(2, 5)))
    assert pickle.loads(pickle.dumps(world)) == world


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_items": (4, 2)}, r"n_items must be a length, or the shortest and the longest such as .*got \(4, 2\)"),
        ({"n_items": 0}, "n_items must be a whole number of at least 1, got 0"),
        ({"signal": 1.0}, r"signal must be in \[0, 1\), got 1.0"),
        ({"share_unjudged": -0.1}, r"share_unjudged must be in \[0, 1\), got -0.1"),
        ({"query_effect": -1.0}, "query_effect is a standard deviation: it must be at least 0, got -1.0"),
        ({"score_scale": 0.0}, "score_scale must be above 0, got 0.0"),
        ({"score_offset": float("nan")}, "score_offset must be finite, got nan"),
        ({"label_shares": (0.5, 0.5)}, r"label_shares must be five shares .* sum to 1, got \(0.5, 0.5\)"),
        ({"label_shares": 0.5}, "label_shares must be five shares .* got 0.5"),
    ],
)
def test_a_world_that_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simulator(**settings)  # type: ignore[arg-type]


def test_bad_arguments_of_a_draw_or_a_risk_are_refused() -> None:
    with pytest.raises(InputError, match="n_queries must be a whole number of at least 1, got 0"):
        simulate(0, rng=0)
    with pytest.raises(InputError, match="rng must be a whole number of at least 0 or a numpy Generator, got -1"):
        simulate(3, rng=-1)
    with pytest.raises(InputError, match="threshold must be a number or a flat array of numbers without NaN, got nan"):
        Simulator().true_risk(float("nan"), loss=Miss(GOOD))
    with pytest.raises(InputError, match="queries must be a whole number of at least 2, got 1"):
        Simulator().true_risk(0.5, loss=Miss(TopM(m=1)), queries=1)
