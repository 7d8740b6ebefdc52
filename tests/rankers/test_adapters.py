"""Every adapter gives what the real library gives, and says what is wrong with models and features."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from tests.rankers.worlds import ragged, world

import cutline as cl
from cutline.errors import CutlineWarning, InputError, MissingExtraError
from cutline.rankers import LambdaRank, ndcg, score

FEATURES, QUERIES = world(60)
NEW, NEW_QUERIES = world(20, seed=1)
GRADES = QUERIES.labels.astype(int)
GOOD = (GRADES >= 2).astype(int)
QUIET = {"verbose": -1, "num_threads": 1}


def lightgbm_ranker(**more):
    return lightgbm.LGBMRanker(n_estimators=15, n_jobs=1, verbose=-1, **more)


def xgboost_ranker(**more):
    return xgboost.XGBRanker(n_estimators=15, n_jobs=1, **more)


def catboost_ranker(features=FEATURES, **more):
    pool = catboost.Pool(features, GRADES, group_id=QUERIES.query_of_item())
    settings = {"iterations": 15, "verbose": False, "allow_writing_files": False, "thread_count": 1, **more}
    return catboost.CatBoostRanker(**settings).fit(pool)


def catboost_regressor():
    settings = {"iterations": 15, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRegressor(**settings).fit(FEATURES, GRADES)


def catboost_classifier(classes):
    settings = {"iterations": 15, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(**settings).fit(FEATURES, classes)


def trained_booster():
    data = lightgbm.Dataset(FEATURES, GRADES, group=QUERIES.sizes)
    return lightgbm.train({"objective": "lambdarank", **QUIET}, data, num_boost_round=15)


def trained_xgboost():
    data = xgboost.DMatrix(FEATURES, GRADES, qid=QUERIES.query_of_item())
    return xgboost.train({"objective": "rank:ndcg", "nthread": 1}, data, num_boost_round=15)


def module():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))


def of_torch(model, features):
    model.eval()
    with torch.no_grad():
        return model(torch.tensor(features)).numpy()[:, 0]


def mean_label(model, features):
    return model.predict_proba(features) @ model.classes_


CASES = {
    "lightgbm Booster": (trained_booster, lambda m, x: m.predict(x)),
    "LGBMRanker": (
        lambda: lightgbm_ranker().fit(FEATURES, GRADES, group=QUERIES.sizes),
        lambda m, x: m.predict(pd.DataFrame(x, columns=m.feature_name_)),
    ),
    "xgboost Booster": (trained_xgboost, lambda m, x: m.predict(xgboost.DMatrix(x))),
    "XGBRanker": (
        lambda: xgboost_ranker().fit(FEATURES, GRADES, qid=QUERIES.query_of_item()), lambda m, x: m.predict(x),
    ),
    "CatBoostRanker": (catboost_ranker, lambda m, x: m.predict(x)),
    "CatBoostRegressor": (catboost_regressor, lambda m, x: m.predict(x)),
    "a regressor": (lambda: HistGradientBoostingRegressor(max_iter=15).fit(FEATURES, GRADES), lambda m, x: m.predict(x)),
    "a pipeline": (
        lambda: make_pipeline(StandardScaler(), LinearRegression()).fit(FEATURES, GRADES), lambda m, x: m.predict(x),
    ),
    "two classes": (lambda: LogisticRegression().fit(FEATURES, GOOD), lambda m, x: m.predict_proba(x)[:, 1]),
    "five classes": (lambda: LogisticRegression().fit(FEATURES, GRADES), mean_label),
    "no probabilities": (lambda: LinearSVC().fit(FEATURES, GOOD), lambda m, x: m.decision_function(x)),
    "LGBMClassifier": (
        lambda: lightgbm.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1).fit(FEATURES, GRADES),
        lambda m, x: m.booster_.predict(x) @ m.classes_,
    ),
    "XGBClassifier": (
        lambda: xgboost.XGBClassifier(n_estimators=15, n_jobs=1).fit(FEATURES, GRADES),
        lambda m, x: m.predict_proba(x) @ m.classes_.astype(np.float64),
    ),
    "CatBoostClassifier": (lambda: catboost_classifier(GRADES), mean_label),
    "CatBoostClassifier of two": (lambda: catboost_classifier(GOOD), lambda m, x: m.predict_proba(x)[:, 1]),
    "a torch module": (module, of_torch),
    "LambdaRank": (lambda: LambdaRank.train(FEATURES, QUERIES, lr=0.01, epochs=20), lambda m, x: m.score(x)),
    "a function": (lambda: partial(np.dot, b=np.arange(8.0)), lambda m, x: x @ np.arange(8.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_scores_are_what_the_library_itself_gives(name):
    make, theirs = CASES[name]
    model = make()
    scored = score(model, NEW, NEW_QUERIES)
    np.testing.assert_array_equal(scored.scores, np.asarray(theirs(model, NEW), dtype=np.float64))
    if name not in ("a torch module", "a function"):
        assert ndcg(scored) > 0.6, "it has learned: constant scores reach less"


def test_constant_scores_reach_less_than_a_ranker_that_has_learned():
    assert ndcg(NEW_QUERIES) < 0.6


def test_everything_but_the_scores_stays():
    queries = cl.datasets.simulate(30, rng=0)
    features = np.arange(queries.n_items, dtype=np.float32)[:, None]
    scored = score(lambda x: x[:, 0], features, queries)
    assert scored.scores.tolist() == features[:, 0].tolist()
    for name in ("labels", "offsets", "query_ids", "item_ids"):
        assert getattr(scored, name).tolist() == getattr(queries, name).tolist()
    assert scored.columns["device"].tolist() == queries.columns["device"].tolist()
    assert len(cl.calibrate(scored, loss=cl.Miss(cl.Grade(at_least=3)), alpha=0.5, delta=0.1).statement()) > 0


@pytest.mark.parametrize("make", [lightgbm_ranker, xgboost_ranker])
def test_rankers_that_stopped_early_score_with_their_best_iteration(make):
    grades = NEW_QUERIES.labels.astype(int)
    groups = {"group": QUERIES.sizes, "eval_group": [NEW_QUERIES.sizes]}
    if make is lightgbm_ranker:
        model = make(learning_rate=1.0).fit(
            FEATURES, GRADES, callbacks=[lightgbm.early_stopping(2, verbose=False)], eval_X=NEW, eval_y=grades, **groups
        )
        theirs = model.booster_.predict(NEW, num_iteration=model.best_iteration_)
        assert model.best_iteration_ < 15
    else:
        model = make(learning_rate=1.5, early_stopping_rounds=2).fit(
            FEATURES, GRADES, verbose=False, eval_set=[(NEW, grades)], **groups
        )
        theirs = model.predict(NEW)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert (score(model, NEW, NEW_QUERIES).scores == theirs).all()


def test_models_fitted_on_frames_take_matrices_without_a_warning():
    frame = pd.DataFrame(FEATURES, columns=[f"f{n}" for n in range(8)])
    new = pd.DataFrame(NEW, columns=frame.columns)
    models = [
        lightgbm_ranker().fit(frame, GRADES, group=QUERIES.sizes),
        xgboost_ranker().fit(frame, GRADES, qid=QUERIES.query_of_item()),
        catboost_ranker(frame),
        LinearRegression().fit(frame, GRADES),
    ]
    for model in models:
        np.testing.assert_allclose(score(model, NEW, NEW_QUERIES).scores, model.predict(new), rtol=1e-6, atol=1e-6)


def named_models():
    frame = pd.DataFrame(FEATURES, columns=NAMES)
    trained = lightgbm.train({"objective": "lambdarank", **QUIET}, lightgbm.Dataset(frame, GRADES, group=QUERIES.sizes))
    return {
        "booster": trained,
        "LGBMRanker": lightgbm_ranker().fit(frame, GRADES, group=QUERIES.sizes),
        "XGBRanker": xgboost_ranker().fit(frame, GRADES, qid=QUERIES.query_of_item()),
        "catboost": catboost_ranker(frame),
        "sklearn": make_pipeline(StandardScaler(), LinearRegression()).fit(frame, GRADES),
    }


NAMES = ["bm25", "pagerank", "clicks", "age", "length", "price", "stars", "depth"]
NAMED = named_models()


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", NAMED)
def test_a_frame_in_another_order_or_of_other_columns_is_refused(name, frame_of):
    model, new = NAMED[name], pd.DataFrame(NEW, columns=NAMES)
    right = frame_of(new.to_dict("list"))
    np.testing.assert_allclose(
        score(model, right, NEW_QUERIES).scores, score(model, NEW, NEW_QUERIES).scores, 1e-4, 1e-6
    )
    turned = frame_of(new[["pagerank", "bm25", *NAMES[2:]]].to_dict("list"))
    with pytest.raises(
        InputError,
        match=r"another order: got 'pagerank' at position 0, where the model was trained with 'bm25'; pass f",
    ):
        score(model, turned, NEW_QUERIES)
    with pytest.raises(InputError, match=r"other columns: got 'cost' at position 5, .* with 'price'"):
        score(model, frame_of(new.rename(columns={"price": "cost"}).to_dict("list")), NEW_QUERIES)
    with pytest.raises(InputError, match=r"other columns: got none at position 7, where the model .* with 'depth'"):
        score(model, frame_of(new[NAMES[:7]].to_dict("list")), NEW_QUERIES)


def test_names_that_a_library_made_up_say_nothing_unless_they_are_turned_around():
    plain = lightgbm_ranker().fit(FEATURES, GRADES, group=QUERIES.sizes)
    for model in (plain, trained_xgboost(), catboost_ranker(), LinearRegression().fit(FEATURES, GRADES)):
        wanted = score(model, NEW, NEW_QUERIES).scores
        for columns in (NAMES, range(8), [f"Column_{n}" for n in range(8)]):
            assert score(model, pd.DataFrame(NEW, columns=columns), NEW_QUERIES).scores == pytest.approx(
                wanted, 1e-4, 1e-6
            )
    with pytest.raises(InputError, match="another order: got 'Column_7' at position 0"):
        score(plain, pd.DataFrame(NEW[:, ::-1], columns=[f"Column_{n}" for n in range(7, -1, -1)]), NEW_QUERIES)


def test_models_fitted_on_categories_score_frames_with_categories():
    rng = np.random.default_rng(0)
    kinds = pd.Categorical.from_codes(rng.integers(0, 3, len(FEATURES)), ["book", "film", "song"])
    frame = pd.DataFrame({"kind": kinds, "bm25": FEATURES[:, 0]})
    grades = kinds.codes * 1.0
    new = pd.DataFrame({"kind": kinds[:240], "bm25": NEW[:, 0]})
    text = frame.assign(kind=kinds.astype(str))
    settings = {"iterations": 15, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    coded = make_pipeline(ColumnTransformer([("kind", OneHotEncoder(), ["kind"])]), LinearRegression())
    for model, given in (
        (lightgbm.LGBMRegressor(n_estimators=15, n_jobs=1, verbose=-1).fit(frame, grades), new),
        (xgboost.XGBRegressor(n_estimators=15, n_jobs=1, enable_categorical=True).fit(frame, grades), new),
        (catboost.CatBoostRegressor(cat_features=["kind"], **settings).fit(text, grades), text[:240]),
        (coded.fit(frame, grades), new),
    ):
        scores = score(model, given, NEW_QUERIES).scores
        assert (scores == model.predict(given)).all()
        assert np.corrcoef(scores, grades[:240])[0, 1] > 0.8
    spaced = new.rename(columns={"bm25": "bm 25"})  # LightGBM keeps it as bm_25
    model = lightgbm.LGBMRegressor(n_estimators=15, n_jobs=1, verbose=-1).fit(spaced, grades[:240])
    assert (score(model, spaced, NEW_QUERIES).scores == model.predict(spaced)).all()
    with pytest.raises(InputError, match="model refuses the frame of features: pandas dtypes must be int, float or bo"):
        score(lightgbm_ranker().fit(FEATURES[:, :2], GRADES, group=QUERIES.sizes), text[:240], NEW_QUERIES)


def test_models_of_sklearn_may_be_asked_for_another_output():
    model = LogisticRegression().fit(FEATURES, GOOD)
    assert (score(model, NEW, NEW_QUERIES, output="decision_function").scores == model.decision_function(NEW)).all()
    assert set(score(model, NEW, NEW_QUERIES, output="predict").scores) == {0.0, 1.0}
    with pytest.raises(
        InputError, match="model has no predict_proba, got LinearSVC; there is: predict, decision_functi"
    ):
        score(LinearSVC().fit(FEATURES, GOOD), NEW, NEW_QUERIES, output="predict_proba")
    with pytest.raises(InputError, match=r"output must be one of 'predict', .* did you mean 'predict_proba'"):
        score(model, NEW, NEW_QUERIES, output="predict_prob")
    with pytest.raises(InputError, match="output is a choice for models of scikit-learn, got it with Booster"):
        score(trained_booster(), NEW, NEW_QUERIES, output="predict")


def test_what_xgboost_was_told_is_missing_is_missing_when_it_scores():
    holed = np.where(FEATURES > 1.0, -9.0, FEATURES)
    model = xgboost.XGBRegressor(n_estimators=15, n_jobs=1, missing=-9.0).fit(holed, GRADES)
    new = np.where(NEW > 1.0, -9.0, NEW)
    assert (score(model, new, NEW_QUERIES).scores == model.predict(new)).all()


def test_a_lambdarank_says_which_queries_it_was_trained_on(tmp_path):
    LambdaRank.train(FEATURES, QUERIES, epochs=1).save(tmp_path / "model")
    model = LambdaRank.load(tmp_path / "model")
    score(model, NEW, NEW_QUERIES)
    features = np.concatenate([NEW, FEATURES[24:36][::-1], FEATURES[:12]])  # two of them, one in another order
    queries = cl.Queries(np.zeros(264), np.arange(23) * 12, np.zeros(264))
    with pytest.warns(CutlineWarning, match="2 of 22 queries are among those that the ranker was trained on"):
        score(model, features, queries)


def test_features_that_are_made_when_asked_for_are_scored_block_by_block():
    drawn = cl.datasets.yahoo_like(40, features=8, on_the_fly=True)
    made = np.asarray(drawn.features)
    model = LambdaRank.train(FEATURES, QUERIES, epochs=1)
    assert (score(model, drawn.features, drawn.queries).scores == model.score(made)).all()
    taken = score(lambda x: x[:, 0], drawn.features, drawn.queries)
    assert (taken.scores == made[:, 0]).all()


def test_a_torch_module_keeps_its_modes_and_scores_in_its_own_precision():
    model = module()
    model[0].eval()
    score(model, NEW, NEW_QUERIES)
    assert [part.training for part in model.modules()] == [True, False, True, True, True]
    double = module().double()
    wanted = double.eval()(torch.tensor(NEW).double()).detach().numpy()[:, 0]
    np.testing.assert_allclose(score(double, NEW, NEW_QUERIES).scores, wanted, rtol=1e-12)


def test_missing_features_are_the_business_of_models_that_know_them():
    holes = NEW.copy()
    holes[5, 2] = np.nan
    assert np.isfinite(score(trained_booster(), holes, NEW_QUERIES).scores).all()
    with pytest.raises(InputError, match="finite scores, got nan for row 5; the features of this row hold NaN, fill"):
        score(module(), holes, NEW_QUERIES)
    with pytest.raises(InputError, match="features must be finite, got nan in row 5, column 2"):
        score(LambdaRank.train(FEATURES, QUERIES, epochs=1), holes, NEW_QUERIES)


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(CASES) - {"a torch module", "a function"}))
def test_features_of_another_width_are_refused(name):
    model = CASES[name][0]()
    with pytest.raises(InputError, match="features must have the 8 columns that the model was trained on, got 7; pass"):
        score(model, NEW[:, :7], NEW_QUERIES)


def test_a_torch_module_that_refuses_the_width_is_quoted():
    with pytest.raises(InputError, match="model refuses features of width 7: mat1 and mat2 shapes"):
        score(module(), NEW[:, :7], NEW_QUERIES)
    with pytest.raises(InputError, match=r"one score per item, 240 in all, got shape .240, 8."):
        score(torch.nn.Identity(), NEW, NEW_QUERIES)
    with pytest.raises(InputError, match="model must give one tensor of scores, got tuple"):
        score(torch.nn.LSTM(8, 1), NEW, NEW_QUERIES)


@pytest.mark.parametrize(
    "model", [lightgbm_ranker(), xgboost_ranker(), catboost.CatBoostRanker(), LinearRegression(), LogisticRegression(),
              make_pipeline(StandardScaler(), LinearRegression())],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_a_model_that_is_not_fitted_is_named(model):
    with pytest.raises(InputError, match=f"model is not fitted, got {type(model).__name__}; call its fit first"):
        score(model, NEW, NEW_QUERIES)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lightgbm.LGBMRanker, "model must be a fitted model, got the class LGBMRanker; call it and fit it"),
        ("model.txt", "model must be a fitted model of LightGBM.*or a function of features, got 'model.txt'"),
        (cl.AsGiven(), "got AsGiven"),
        (lambda x: x, r"model must give one score per item, 240 in all, got shape \(240, 8\); wrap it"),
        (lambda x: x[:5, 0], r"got shape \(5,\)"),
        (lambda x: 1.0, r"got shape \(\)"),
        (lambda x: x[:, 0] / 0.0 if len(x) else x, "model must give finite scores, got .*inf for row 0; look at the"),
        (lambda x: ["good"] * len(x), "model must give numbers, got <U4 such as"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_no_model_or_gives_no_scores_is_refused(model, words):
    with pytest.raises(InputError, match=words):
        score(model, NEW, NEW_QUERIES)


def test_classes_that_are_words_have_no_mean():
    model = LogisticRegression().fit(FEATURES, np.array(["bad", "fair", "good", "great", "best"])[GRADES])
    with pytest.raises(InputError, match=r"model must have classes that are numbers, for a mean label.*'bad', 'best'"):
        score(model, NEW, NEW_QUERIES)


def test_features_and_queries_must_belong_together():
    features, queries = ragged([2, 2])
    with pytest.raises(InputError, match="features must have one value per item, 4 in all, got 3"):
        score(len, features[:3], queries)
    with pytest.raises(InputError, match="row 0 is of query 9 by qid"):
        score(len, features, queries, qid=[9, 9, 0, 0])
    with pytest.raises(InputError, match="features must be a dense array"):
        score(len, __import__("scipy.sparse").sparse.eye_array(4), queries)


def test_a_missing_library_names_its_extra(monkeypatch):
    model = xgboost_ranker().fit(FEATURES, GRADES, qid=QUERIES.query_of_item())
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingExtraError, match=r"A model of XGBoost needs xgboost.*pip install 'cutline\[ltr\]'"):
        score(model, NEW, NEW_QUERIES)


def test_scores_do_not_depend_on_the_scores_that_were_there():
    model = trained_booster()
    other = replace(NEW_QUERIES, scores=np.arange(240.0))
    assert (score(model, NEW, NEW_QUERIES).scores == score(model, NEW, other).scores).all()


@pytest.mark.parametrize("name", CASES)
def test_features_may_be_mapped_from_a_file_that_is_only_read(name, tmp_path):
    np.save(tmp_path / "new.npy", NEW)
    mapped = np.load(tmp_path / "new.npy", mmap_mode="r")
    model = CASES[name][0]()
    assert (score(model, mapped, NEW_QUERIES).scores == score(model, NEW, NEW_QUERIES).scores).all()
