"""One line for the rankers that people use: a fitted model, features and queries in, the same queries scored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline._checks import check_one_of
from cutline._display import shown
from cutline._extras import library
from cutline.datasets.drawn_features import SimulatedFeatures
from cutline.errors import CutlineError, InputError, warn
from cutline.queries import Queries
from cutline.rankers.lambdarank import LambdaRank
from cutline.rankers.matrices import Floats, Matrix, blocks, check_rows, check_width, checked_features, marks_of
from cutline.rankers.naming import check_names, frame_of, missing_in

Output = Callable[[Any, Any, Queries, str | None], Any]

OUTPUTS = ("predict", "predict_proba", "decision_function")


def score(
    model: Any,
    features: npt.ArrayLike,
    queries: Queries,
    *,
    output: str | None = None,
    qid: npt.ArrayLike | None = None,
) -> Queries:
    """The same queries with the scores that a fitted model gives to their items, row i of `features` being item i.

    - `LambdaRank`: its `score`.
    - LightGBM, XGBoost, CatBoost, boosters and estimators alike: what they predict, with the best iteration where
      training stopped early.
    - scikit-learn: a regressor predicts.
    - Classifiers of any of these give the mean label Σ c·P(c), or, of two classes, the probability of the second; one
      without probabilities gives its decision function.
    - torch: what the module gives, in evaluation mode, without gradients, on its own device.
    - Anything else that can be called: `model(features)`.

    `output` says otherwise for scikit-learn: "predict", "predict_proba" or "decision_function". There is one finite
    score per item, as (n_items,) or (n_items, 1). Where `qid` gives the query id of each row of features, it is checked
    against the queries, which keep rows of one query together.

    A frame of pandas or polars must have the columns that the model was trained on, in that order, where the model
    knows their names. One of pandas goes to LightGBM, XGBoost, CatBoost and scikit-learn as it is, categories and all.
    """
    if isinstance(model, type):
        raise InputError(f"model must be a fitted model, got the class {model.__name__}; call it and fit it")
    family = _family_of(model)
    matrix: Any = _prepared(model, family, features)
    check_rows(matrix, queries, qid)
    if output is not None:
        check_one_of("output", output, OUTPUTS)
        if family is not _of_sklearn:
            raise InputError(f"output is a choice for models of scikit-learn, got it with {type(model).__name__}")
    try:
        found = family(model, matrix, queries, output)
    except CutlineError:
        raise
    except Exception as problem:
        if type(problem).__name__.endswith("NotFittedError"):
            raise InputError(f"model is not fitted, got {type(model).__name__}; call its fit first") from None
        if isinstance(matrix, np.ndarray | SimulatedFeatures):
            raise
        raise InputError(f"model refuses the frame of features: {' '.join(str(problem).split())}") from problem
    if isinstance(model, LambdaRank):
        _warn_of_training_queries(model, matrix, queries)
    return replace(queries, scores=_checked(found, matrix), columns=dict(queries.columns))


def _prepared(model: Any, family: Output, features: Any) -> Any:
    """Features as a model of this family takes them: a frame of pandas as it is where the library knows frames, and
    anything else as a matrix."""
    found = frame_of(features)
    if found is not None:
        check_names(found.names, _names_of(model))
        if family in TAKE_FRAMES and hasattr(found.frame, "iloc"):
            return found.frame
    matrix = checked_features(features)
    return matrix if family is _of_lambdarank else np.asarray(matrix)


def _names_of(model: Any) -> list[str] | None:
    """What a model calls its columns, where it knows."""
    for attribute in ("feature_names_in_", "feature_names_", "feature_name_", "feature_name", "feature_names"):
        try:
            names = getattr(model, attribute, None)
        except Exception as problem:
            if type(problem).__name__.endswith("NotFittedError"):
                return None
            raise
        names = names() if callable(names) and attribute == "feature_name" else names
        if names is not None and not callable(names) and len(names):
            return [str(name) for name in names]
    return None


def _warn_of_training_queries(model: LambdaRank, features: Matrix, queries: Queries) -> None:
    """Queries that a ranker has seen look better than new ones will."""
    known = int(np.isin(marks_of(features, queries), model.seen).sum())
    if known:
        warn(
            f"{known:,} of {len(queries):,} queries are among those that the ranker was trained on: do not calibrate "
            "or audit on them, for new ones will do worse"
        )


def _family_of(model: Any) -> Output:
    """How to ask a model: by the library that its class, or the nearest of its base classes, comes from."""
    if isinstance(model, LambdaRank):
        return _of_lambdarank
    for base in type(model).__mro__:
        root = base.__module__.partition(".")[0]
        if root in FAMILIES:
            return FAMILIES[root]
    if callable(model):
        return _of_callable
    raise InputError(
        "model must be a fitted model of LightGBM, XGBoost, CatBoost, scikit-learn or torch, a LambdaRank, or a "
        f"function of features, got {shown(model)}"
    )


def _checked(found: Any, features: Any) -> Floats:
    """One finite number per item."""
    scores = np.asarray(found)
    if scores.shape not in ((len(features),), (len(features), 1)):
        raise InputError(
            f"model must give one score per item, {len(features):,} in all, got shape {scores.shape}; "
            "wrap it in a function that does"
        )
    if scores.dtype.kind not in "biuf":
        raise InputError(f"model must give numbers, got {scores.dtype} such as {shown(scores.ravel()[0])}")
    scores = scores.reshape(-1).astype(np.float64)
    for row in np.flatnonzero(~np.isfinite(scores)).tolist()[:1]:
        holes = bool(np.isnan(features[row]).any()) if isinstance(features, np.ndarray) else missing_in(features, row)
        hint = "; the features of this row hold NaN, fill them in" if holes else "; look at the features of this row"
        raise InputError(f"model must give finite scores, got {float(scores[row])} for row {row}{hint}")
    return scores


def _of_lambdarank(model: LambdaRank, features: Matrix, queries: Queries, output: str | None) -> Any:
    return model.score(features)


def _of_callable(model: Any, features: Matrix, queries: Queries, output: str | None) -> Any:
    return model(features)


def _of_lightgbm(model: Any, features: Matrix, queries: Queries, output: str | None) -> Any:
    lightgbm = library("lightgbm", extra="ltr", what="A model of LightGBM")
    booster = model if isinstance(model, lightgbm.Booster) else model.booster_
    check_width(features.shape[1], booster.num_feature())
    found = booster.predict(features)
    return _mean_label(model, found) if np.ndim(found) == 2 and hasattr(model, "classes_") else found


def _of_xgboost(model: Any, features: Any, queries: Queries, output: str | None) -> Any:
    xgboost = library("xgboost", extra="ltr", what="A model of XGBoost")
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    check_width(features.shape[1], booster.num_features())
    framed = not isinstance(features, np.ndarray)  # its columns say which are categories
    matrix = xgboost.DMatrix(
        features, missing=getattr(model, "missing", np.nan), feature_names=booster.feature_names,
        feature_types=None if framed else booster.feature_types, enable_categorical=framed,
    )  # fmt: skip
    best = getattr(model, "best_iteration", None)  # there only where training stopped early
    rounds = (0, 0 if best is None else best + 1)
    found = booster.predict(matrix, iteration_range=rounds, validate_features=False)  # names are checked already
    return _mean_label(model, found) if np.ndim(found) == 2 and hasattr(model, "classes_") else found


def _of_catboost(model: Any, features: Matrix, queries: Queries, output: str | None) -> Any:
    catboost = library("catboost", extra="ltr", what="A model of CatBoost")
    if not model.is_fitted():
        raise InputError(f"model is not fitted, got {type(model).__name__}; call its fit first")
    check_width(features.shape[1], len(model.feature_names_))
    pool = catboost.Pool(
        features, feature_names=model.feature_names_, cat_features=model.get_cat_feature_indices() or None
    )  # fmt: skip
    if isinstance(model, catboost.CatBoostClassifier):
        return _mean_label(model, model.predict_proba(pool))
    return model.predict(pool)


def _of_sklearn(model: Any, features: Matrix, queries: Queries, output: str | None) -> Any:
    check_width(features.shape[1], getattr(model, "n_features_in_", None))
    sklearn = library("sklearn.base", extra="ltr", what="A model of scikit-learn")
    if output is None:
        usual = ("predict_proba", "decision_function") if sklearn.is_classifier(model) else ()
        output = next((name for name in usual if hasattr(model, name)), "predict")
    if not hasattr(model, output):
        there = ", ".join(name for name in OUTPUTS if hasattr(model, name)) or "none of them"
        raise InputError(f"model has no {output}, got {type(model).__name__}; there is: {there}")
    with warnings.catch_warnings():
        # fitted on a frame and given a matrix, or the other way round
        warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names", category=UserWarning)
        found = getattr(model, output)(features)
    return _mean_label(model, found) if output == "predict_proba" else found


def _mean_label(model: Any, probabilities: Any) -> Any:
    """Σ c·P(c) over the classes c; of two classes the probability of the second."""
    classes = np.asarray(model.classes_)
    if len(classes) == 2:
        return probabilities[:, 1]
    if classes.dtype.kind not in "biuf":
        raise InputError(
            f"model must have classes that are numbers, for a mean label, or two classes, got {shown(classes.tolist())}"
        )
    return probabilities @ classes.astype(np.float64)


def _of_torch(model: Any, features: Matrix, queries: Queries, output: str | None) -> Any:
    torch = library("torch", extra="torch", what="A module of torch")
    weights = next((one for one in model.parameters() if one.is_floating_point()), torch.empty(0))
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            parts = [
                model(torch.tensor(features[rows], dtype=weights.dtype, device=weights.device))
                for rows in blocks(*features.shape)
            ]
    except RuntimeError as problem:
        raise InputError(
            f"model refuses features of width {features.shape[1]:,}: {str(problem).splitlines()[0]}"
        ) from None
    finally:
        for module, training in modes:
            module.training = training
    if not all(isinstance(part, torch.Tensor) for part in parts):
        raise InputError(f"model must give one tensor of scores, got {type(parts[0]).__name__}; wrap it in a function")
    return torch.cat([torch.atleast_1d(part) for part in parts]).double().cpu().numpy()


FAMILIES: dict[str, Output] = {
    "lightgbm": _of_lightgbm,
    "xgboost": _of_xgboost,
    "catboost": _of_catboost,
    "sklearn": _of_sklearn,
    "torch": _of_torch,
}
TAKE_FRAMES = (_of_lightgbm, _of_xgboost, _of_catboost, _of_sklearn)
