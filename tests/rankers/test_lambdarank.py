"""The network learns, forgets nothing on disk, and says what is wrong with what it is given."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.rankers.worlds import ragged, world

import cutline as cl
from cutline.errors import CutlineWarning, InputError, MissingExtraError
from cutline.preferences import win_rates_from_matrix
from cutline.rankers import Epoch, LambdaRank, ndcg
from cutline.rankers.training import Recipe, _Fit, _Lists, trained

RANKS = Path(__file__).resolve().parents[3] / "shared" / "data" / "lightgbm_lambdarank"


@pytest.fixture(scope="module")
def model():
    features, queries = world(120)
    return LambdaRank.train(features, queries, epochs=6)


def contents(model: LambdaRank) -> list[bytes]:
    network = model.network
    return [array.tobytes() for array in (*network.weights, *network.biases, network.mean, network.inverse)]


def reached(model: LambdaRank, features, queries: cl.Queries, *, at: int | None = 10) -> float:
    return ndcg(replace(queries, scores=model.score(features)), at=at)


# Learning ---------------------------------------------------------------------------------------------------------


def test_it_comes_within_three_points_of_lightgbm_on_the_same_features_and_split():
    import lightgbm

    features, queries = world(1_500, length=15, width=12)
    rows = queries.offsets[1_000]
    past, future = queries[:1_000], queries[1_000:]
    model = LambdaRank.train(features[:rows], past)
    trees = lightgbm.train(
        {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "seed": 0, "deterministic": True},
        lightgbm.Dataset(features[:rows], past.labels.astype(int), group=past.sizes),
    )
    theirs = ndcg(replace(future, scores=trees.predict(features[rows:])))
    ours = reached(model, features[rows:], future)
    assert theirs > 0.7, "the trees have learned, too"
    assert ours >= theirs - 0.03


def read_with_groups(name: str):
    from sklearn.datasets import load_svmlight_file

    with gzip.open(RANKS / f"{name}.gz") as file:
        features, labels = load_svmlight_file(file, n_features=301, dtype=np.float32)
    sizes = np.loadtxt(RANKS / f"{name}.query", dtype=int)
    return features.toarray(), cl.Queries.from_arrays(np.zeros(len(labels)), labels, group=sizes)


@pytest.mark.skipif(not RANKS.is_dir(), reason=f"the data set {RANKS.name} is not beside the project")
def test_it_comes_within_three_points_of_lightgbm_on_its_own_example():
    import lightgbm

    features, queries = read_with_groups("rank.train")
    other_features, others = read_with_groups("rank.test")
    trees = lightgbm.train(
        {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "seed": 0, "deterministic": True},
        lightgbm.Dataset(features, queries.labels.astype(int), group=queries.sizes),
    )
    theirs = ndcg(replace(others, scores=trees.predict(other_features)))
    assert reached(LambdaRank.train(features, queries), other_features, others) >= theirs - 0.03


def test_the_gradient_of_a_batch_is_the_slope_of_its_mean_cost():
    features, queries = ragged([4, 7, 1, 5])
    recipe = Recipe(hidden=(3,), epochs=1, lr=1.0, batch_queries=4, truncation=None, validation=0, patience=1, seed=0)
    fit = _Fit(recipe, np.zeros(3, np.float32), np.ones(3, np.float32))
    lists = _Lists.of(features, queries.labels, queries, np.arange(4))
    rows = lists.rows(np.arange(4))

    def cost() -> float:
        with torch.no_grad():
            return fit.slopes(fit.forward(features, rows), queries.labels, queries.sizes)[1] / 4

    outputs = fit.forward(features, rows)
    outputs.backward(fit.slopes(outputs.detach(), queries.labels, queries.sizes)[0] / 4)
    weights = fit.layers[0][0]
    slope, before = float(weights.grad[1, 2]), float(weights.detach()[1, 2])
    costs = []
    for step in (1e-3, -1e-3):
        with torch.no_grad():
            weights[1, 2] = before + step
        costs.append(cost())
    assert slope != 0
    assert (costs[0] - costs[1]) / 2e-3 == pytest.approx(slope, rel=0.05)


def test_adam_is_that_of_the_paper_written_out():
    features, queries = ragged([6, 6, 6, 6])
    recipe = Recipe(hidden=(), epochs=1, lr=0.05, batch_queries=4, truncation=None, validation=0, patience=1, seed=0)
    fit = _Fit(recipe, np.zeros(3, np.float32), np.ones(3, np.float32))
    lists = _Lists.of(features, queries.labels, queries, np.arange(4))
    weights = fit.copies()[0][0][:, 0].astype(float)
    first, second = np.zeros(3), np.zeros(3)
    for step in range(1, 6):
        outputs = torch.tensor(features.astype(float) @ weights)
        slopes = fit.slopes(outputs.float(), queries.labels, queries.sizes)[0].numpy() / 4
        gradient = features.T.astype(float) @ slopes
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        weights -= 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-7)
        fit.epoch(lists, np.random.default_rng(0))
    np.testing.assert_allclose(fit.copies()[0][0][:, 0], weights, rtol=1e-3)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    features, queries = ragged([5, 9, 2, 7, 4, 6] * 4)
    first, again, other = (LambdaRank.train(features, queries, epochs=3, seed=seed) for seed in (3, 3, 4))
    assert contents(first) == contents(again)
    assert first.history == again.history
    assert contents(first) != contents(other)


def test_the_number_of_threads_changes_nothing_and_is_left_as_it_was():
    features, queries = world(60, length=30, width=40)
    alone = LambdaRank.train(features, queries, epochs=2)
    torch.set_num_threads(2)
    seen: list[int] = []
    among = LambdaRank.train(features, queries, epochs=2, progress=lambda _: seen.append(torch.get_num_threads()))
    assert contents(alone) == contents(among)
    assert (seen, torch.get_num_threads()) == ([1, 1], 2)


def test_training_leaves_the_random_numbers_of_others_alone():
    features, queries = ragged([5, 9, 2])
    before, mine = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    LambdaRank.train(features, queries, epochs=1)
    assert torch.equal(before, torch.get_rng_state())
    assert (np.random.get_state()[1] == mine).all()  # noqa: NPY002


def test_the_best_epoch_is_kept_and_training_ends_when_none_is_better():
    features, queries = world(80)
    told: list[Epoch] = []
    model = LambdaRank.train(features, queries, lr=0.02, patience=3, progress=told.append)
    values = [epoch.ndcg for epoch in model.history]
    assert tuple(told) == model.history
    assert [epoch.number for epoch in told] == list(range(1, len(told) + 1))
    assert model.best == int(np.argmax(values)) + 1
    assert len(model.history) == model.best + 3 < 100
    assert model.ndcg == max(values)


def test_without_validation_every_epoch_is_run_and_the_last_is_kept():
    features, queries = world(30)
    model = LambdaRank.train(features, queries, validation=0, epochs=4)
    assert (model.best, len(model.history), model.ndcg) == (4, 4, None)
    assert model.history[-1].cost < model.history[0].cost


def test_validation_queries_give_neither_gradient_nor_mean():
    features, queries = world(20)
    recipe = Recipe(
        hidden=(4,), epochs=1, lr=0.01, batch_queries=5, truncation=None, validation=0.2, patience=1, seed=0
    )
    held_out = np.random.default_rng([0, 1]).permutation(20)[:4]
    rows = np.concatenate([np.arange(*queries.offsets[q : q + 2]) for q in held_out])
    changed = features.copy()
    changed[rows] *= -50.0
    one, other = (trained(x, queries.labels, queries, recipe, None) for x in (features, changed))
    assert [w.tobytes() for w in one.network.weights] == [w.tobytes() for w in other.network.weights]
    assert one.network.mean.tobytes() == other.network.mean.tobytes()
    assert one.history[0].ndcg != other.history[0].ndcg


def test_truncation_changes_what_is_learned_and_what_is_validated():
    features, queries = world(40)
    whole, top = (LambdaRank.train(features, queries, epochs=2, truncation=k) for k in (None, 1))
    assert contents(whole) != contents(top)
    assert top.ndcg < whole.ndcg, "NDCG of one place is lower than that of the list"


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3, 2)])
def test_the_layers_are_as_asked_for(hidden):
    features, queries = ragged([5, 9, 2], width=6)
    model = LambdaRank.train(features, queries, hidden=hidden, epochs=1)
    assert model.network.sizes == (6, *hidden, 1)
    assert model.score(features).shape == (16,)


def test_it_survives_one_item_queries_and_queries_with_equal_labels():
    features, queries = ragged([1, 6, 1, 5, 4, 1, 8])
    labels = queries.labels.copy()
    labels[1:7] = 2.0
    labels[8:13] = 0.0
    model = LambdaRank.train(features, replace(queries, labels=labels), epochs=3)
    assert np.isfinite(model.score(features)).all()
    assert np.ptp(model.score(features)) > 0


@pytest.mark.parametrize("sizes", [[1, 1, 1], [4, 5]])
def test_where_there_is_nothing_to_learn_it_says_so_and_all_scores_tie(sizes):
    features, queries = ragged(sizes)
    with pytest.warns(CutlineWarning, match="nothing to learn"):
        model = LambdaRank.train(features, replace(queries, labels=np.ones(queries.n_items)))
    assert model.score(features).tolist() == [0.0] * queries.n_items
    assert (model.history, model.ndcg) == ((), None)


def test_constant_features_count_for_nothing_even_where_they_are_no_longer_constant():
    features, queries = world(30)
    with_constant = np.column_stack((features, np.full(len(features), 7.3, np.float32)))
    model = LambdaRank.train(with_constant, queries, epochs=2)
    moved = with_constant.copy()
    moved[:, -1] = 1e9
    assert (model.score(moved) == model.score(with_constant)).all()
    assert "1 features that did not vary" in repr(model)


def test_features_may_be_mapped_from_a_file(tmp_path):
    features, queries = world(30)
    np.save(tmp_path / "features.npy", features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    one, other = (LambdaRank.train(x, queries, epochs=2) for x in (features, mapped))
    assert contents(one) == contents(other)


# Scoring ----------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_layers_written_out(model):
    features, _ = world(5, seed=1)
    network = model.network
    values = (features - network.mean) * network.inverse
    for place, (weights, biases) in enumerate(zip(network.weights, network.biases, strict=True)):
        values = values @ weights.astype(float) + biases
        values = np.maximum(values, 0) if place < 2 else values
    np.testing.assert_allclose(model.score(features), values[:, 0], rtol=1e-6)
    assert model.score(features).dtype == np.float64


def test_an_item_scores_the_same_alone_and_among_others(model):
    features, _ = world(20, seed=1)
    alone = np.concatenate([model.score(row[None]) for row in features])
    assert (alone == model.score(features)).all()
    assert (model.score(features[::-1])[::-1] == alone).all()


def test_preferences_are_what_win_rates_average(model):
    features, queries = world(3, seed=1)
    scores = model.score(features)
    rates = cl.WinRate().item_scores(scores, queries.offsets)
    for start, stop in zip(queries.offsets, queries.offsets[1:], strict=False):
        preferences = model.preferences(features[start:stop])
        assert preferences.shape == (12, 12)
        np.testing.assert_allclose(preferences + preferences.T, 1.0)
        np.testing.assert_allclose(win_rates_from_matrix(preferences), rates[start:stop], rtol=1e-12)


def test_scoring_needs_no_torch(model, tmp_path):
    model.save(tmp_path / "model")
    code = (
        "import sys, numpy as np; sys.modules['torch'] = None; from cutline.rankers import LambdaRank;"
        f"print(LambdaRank.load({str(tmp_path / 'model')!r}).score(np.ones((1, 8))).tolist())"
    )
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout) == model.score(np.ones((1, 8))).tolist()


# Bad input --------------------------------------------------------------------------------------------------------


def test_scoring_refuses_another_width_and_features_that_are_not_finite(model):
    with pytest.raises(InputError, match="features must have the 8 columns that the model was trained on, got 9"):
        model.score(np.ones((3, 9)))
    with pytest.raises(InputError, match="features must be finite, got nan in row 2, column 5"):
        model.score(np.where(np.arange(24).reshape(3, 8) == 21, np.nan, 1.0))
    with pytest.raises(InputError, match="features must be numbers of shape"):
        model.preferences(np.ones(8))


def test_training_refuses_what_it_cannot_learn_from():
    features, queries = ragged([3, 4])
    holes = features.copy()
    holes[4, 1] = np.nan
    with pytest.raises(
        InputError, match="features must be finite, got nan in row 4, column 1; fill in what is missing"
    ):
        LambdaRank.train(holes, queries)
    with pytest.raises(InputError, match="features must have one value per item, 7 in all, got 6"):
        LambdaRank.train(features[:6], queries)
    with pytest.raises(InputError, match="queries have no labels"):
        LambdaRank.train(features, replace(queries, labels=None))
    with pytest.raises(InputError, match=r"labels must be in \[0, 31\].*got nan in row 0"):
        LambdaRank.train(features, replace(queries, labels=np.full(7, np.nan)))
    with pytest.raises(InputError, match="queries must be at least 2 to train on, got 1; validation=0 trains on all"):
        LambdaRank.train(features[:3], queries[:1])
    with pytest.raises(InputError, match="row 0 is of query 5 by qid, and of query 0 in queries"):
        LambdaRank.train(features, queries, qid=[5] * 3 + [6] * 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hidden": 16}, r"hidden must be the sizes of the hidden layers, such as \(16, 8\), got 16"),
        ({"hidden": (16, 0)}, "hidden must be a whole number of at least 1, got 0"),
        ({"hidden": "16,8"}, "hidden must be the sizes"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"lr": 0}, "lr must be above 0, got 0.0"),
        ({"lr": float("nan")}, "lr must be finite"),
        ({"batch_queries": 0}, "batch_queries must be"),
        ({"truncation": 0}, "truncation must be"),
        ({"validation": 1}, r"validation must be a share of the queries in \[0, 1\), got 1.0"),
        ({"patience": 1.5}, "patience must be"),
        ({"seed": 0.5}, "seed must be a whole number"),
    ],
)
def test_settings_out_of_range_are_refused(settings, words):
    features, queries = ragged([3, 4])
    with pytest.raises(InputError, match=words):
        LambdaRank.train(features, queries, **settings)


def test_steps_that_are_too_long_are_told_apart_from_a_result():
    features, queries = ragged([3, 4, 5, 6])
    with pytest.raises(
        InputError, match=r"training went out of bounds in epoch \d+, with lr=1e\+30; take a smaller lr"
    ):
        LambdaRank.train(features, queries, lr=1e30)


def test_the_room_is_entered_without_loading_any_ranker():
    code = (
        "import sys, cutline.rankers;"
        "print(sorted({'torch', 'transformers', 'lightgbm', 'xgboost', 'catboost', 'sklearn', 'safetensors'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_without_torch_the_extra_is_named(monkeypatch):
    features, queries = ragged([3, 4])
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"LambdaRank.train needs torch.*pip install 'cutline\[torch\]'"):
        LambdaRank.train(features, queries)


# Showing ----------------------------------------------------------------------------------------------------------


def test_it_shows_its_layers_and_how_well_it_did(model):
    lines = repr(model).splitlines()
    assert lines[0] == "LambdaRank"
    assert "8 → 16 → 8 → 1" in lines[1]
    assert f"{len(model.history)}, kept is number {model.best}" in lines[2]
    assert f"{model.ndcg:.4f}" in lines[3]
    assert "8 → 16" in model._repr_html_()
    assert repr(model.history[0]).startswith("epoch 1: cost ")
    assert model.n_features == 8
