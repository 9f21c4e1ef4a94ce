"""Several boosters or forests of one kind as one native model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from committee._typing import FloatArray
from committee._validation import histogram_parts
from committee.ensembles import Roster, Round, known_columns, roster_of
from committee.ensembles.adapters import adapter_of
from committee.ensembles.forests import (
    classification_forest,
    forest_roster,
    regression_forest,
)
from committee.ensembles.gradient_boosting import GradientRound, HistGradientRound
from committee.export.native import averaging

_WAY_OUT = (
    "Boosters of different libraries or links cannot be one model of theirs: make a "
    "committee of them, such as prune(models, X, y), and write it by to_onnx."
)


def merge(models: Sequence[Any], weights: Any = None) -> Any:
    """Return one native model with the weighted sum of the models' raw scores.

        raw(x) = sum_b w_b raw_b(x)

    For the fold models of a cross-validation, for example: the result has all trees, and
    its own library saves, loads and explains it.

    Parameters
    ----------
    models : list of fitted models
        Boosters of one library with the same link, columns and classes
        (`GradientBoosting*`, `HistGradientBoosting*`, LightGBM, XGBoost, CatBoost), or
        `RandomForest*` or `ExtraTrees*`, whose scores are numbers or probabilities. Of a
        model that stopped early, the rounds up to the best one.
    weights : array of shape (n_models,), default=None
        None is the mean. Weights of classification forests are shares.

    Returns
    -------
    model : fitted model
        Of the class of the first one.

    Raises
    ------
    ValueError
        If the models are of different kinds, or no model of their library is their sum.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee import merge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = [GradientBoostingRegressor().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> one = merge(folds)
    >>> mean = sum(fold.predict(X) for fold in folds) / 3
    >>> bool(abs(one.predict(X) - mean).max() < 1e-9), one.n_estimators_
    (True, 300)
    """
    models = list(models)
    if not models:
        raise ValueError("merge takes one model or more. Got an empty list.")
    w = np.full(len(models), 1 / len(models)) if weights is None else weights
    return _merged(models, _checked_weights(w, len(models)), 0.0)


def to_native(committee: Any) -> Any:
    """Return a committee of boosters or forests as one model of their library.

        raw(x) = b + sum_m w_m raw_m(x)

    Parameters
    ----------
    committee : CommitteeRegressor, or a committee of the rounds of one booster
        The kept members of a regression are models that `merge` takes.

    Returns
    -------
    model : fitted model

    Raises
    ------
    ValueError
        If members are of different kinds, or their weights are not those of raw scores.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee import prune, to_native
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = [GradientBoostingRegressor().fit(X[i:300:3], y[i:300:3]) for i in (0, 1)]
    >>> committee = prune(folds, X[300:], y[300:])
    >>> type(to_native(committee)).__name__
    'GradientBoostingRegressor'
    """
    if not hasattr(committee, "roster_"):
        raise TypeError(
            "to_native takes a fitted committee; merge takes a list of models. Got "
            f"{type(committee).__name__}."
        )
    if isinstance(committee.members_[0], Round):
        return averaging(committee)
    if is_classifier(committee):
        raise ValueError(
            "A committee of classifiers weighs probabilities or their logarithms, not "
            "raw scores: use merge on its members, or to_onnx."
        )
    if committee.transformer_ is not None or committee.gate_ is not None:
        raise ValueError(
            "A booster takes the columns of X and has no gate: use to_onnx, or "
            "committee.save."
        )
    return _merged(committee.members_, committee.weights_, committee.intercept_)


def _merged(models: list[Any], w: FloatArray, offset: float) -> Any:
    """Return the weighted sum of models, and an offset."""
    try:
        rosters = [roster_of(model) for model in models]
    except TypeError as error:
        raise ValueError(f"{_WAY_OUT} {error}") from error
    _check_columns(models)
    first = rosters[0].members[0]
    if all(isinstance(roster.members[0], Round) for roster in rosters):
        return _merged_rounds(rosters, w, offset)
    if len({type(model) for model in models}) > 1 or any(map(_is_no_forest, models)):
        kinds = ", ".join(sorted({type(model).__name__ for model in models}))
        raise ValueError(f"{_WAY_OUT} Got {kinds}.")
    trees = [tree for roster in rosters for tree in roster.members]
    shares = np.repeat(w / [len(r) for r in rosters], [len(r) for r in rosters])
    if offset:
        raise ValueError("A forest has no room for an intercept: use to_onnx.")
    if rosters[0].classes is None:
        forest = regression_forest(trees, shares, first.n_features_in_)
    else:
        if np.any(w < 0):
            raise ValueError("Weights of probabilities must not be negative.")
        same = {"classes": rosters[0].classes, "output": "soft"}
        codes = rosters[0].member_classes
        forest = classification_forest(
            trees, shares, first.n_features_in_, member_classes=codes, **same
        )
    if hasattr(models[0], "feature_names_in_"):
        forest.feature_names_in_ = models[0].feature_names_in_
    return forest


def _is_no_forest(model: Any) -> bool:
    adapter = adapter_of(model)
    return adapter is None or adapter.roster is not forest_roster


def _merged_rounds(rosters: list[Roster], w: FloatArray, offset: float) -> Any:
    """Return the booster of the rounds of all; each has the weight of its booster.

    A rebuilt round is M w_m h_m, with the M of the first booster.
    """
    firsts = [roster.members[0] for roster in rosters]
    first = firsts[0]
    if len({type(one) for one in firsts}) > 1:
        raise ValueError(f"{_WAY_OUT} Got rounds of several libraries.")
    kinds = [_kind(one) for one in firsts]
    if any(kind != kinds[0] for kind in kinds):
        raise ValueError(
            "merge takes boosters with the same columns, categories, classes and link. "
            f"{_WAY_OUT}"
        )
    if any(one.shared.start is None for one in firsts):
        raise ValueError(
            "Boosters on top of an `init` estimator have no common start: train them "
            "without `init`."
        )
    start = sum(
        (
            w_b * np.asarray(one.shared.start)
            for w_b, one in zip(w, firsts, strict=True)
        ),
        start=first.shared.raw_offset(offset),
    )
    rounds, shares = [], []
    for roster, w_b in zip(rosters, w, strict=True):
        scale = _rate(roster.members[0]) / _rate(first)
        rounds += roster.members
        shares += [w_b * scale / first.shared.n_rounds] * len(roster)
    return first.rebuild(rounds, np.array(shares), start)


def _rate(one: Round) -> float:
    """Return what a model multiplies its trees by."""
    return float(one.model.learning_rate) if isinstance(one, GradientRound) else 1.0


def _kind(one: Round) -> tuple[Any, ...]:
    """Return what must be equal: columns, categories, classes, and slope of the link."""
    shared, model = one.shared, one.model
    categories: Any = getattr(model, "pandas_categorical", None)  # LightGBM
    if hasattr(model, "save_raw"):  # XGBoost
        document = json.loads(model.save_raw("json"))
        categories = document["learner"]["gradient_booster"]["model"].get("cats")
    if isinstance(one, HistGradientRound):
        encoder, _, _ = histogram_parts(model)
        categories = None if encoder is None else repr(_encoded(encoder))
    classes = None if shared.classes is None else np.asarray(shared.classes).tolist()
    wrapper = type(shared.wrapper)
    return one.layout(model), classes, shared.slope, categories, wrapper


def _encoded(encoder: Any) -> list[Any]:
    """Return the known categories of each encoded column."""
    parts = encoder.named_transformers_.values()
    return [
        np.asarray(c).tolist() for p in parts for c in getattr(p, "categories_", [])
    ]


def _check_columns(models: list[Any]) -> None:
    """Raise ValueError for models of different columns."""
    known = [known_columns(model) for model in models]
    names = [list(one.get("feature_names_in_", [])) for one in known]
    if any(one != names[0] for one in names):
        raise ValueError(
            "merge takes models of the same columns, in the same order. Got "
            f"{names[0][:5]} and others."
        )


def _checked_weights(weights: Any, n: int) -> FloatArray:
    """Return n finite weights that are not all zero."""
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not np.all(np.isfinite(w)) or not np.any(w):
        raise ValueError(
            f"weights must be {n} finite numbers, one for each model, not all zero. Got "
            f"{weights!r}."
        )
    return w
