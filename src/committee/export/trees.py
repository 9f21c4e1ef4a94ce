"""Trees of fitted models, read into tables of nodes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree

from committee._validation import histogram_rounds
from committee.ensembles.rounds import raw_predictions
from committee.export.boosted import from_lightgbm, from_xgboost
from committee.export.tables import TreeSum, TreeTable, make_sum, rounded_down

_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
_GRADIENT = (GradientBoostingClassifier, GradientBoostingRegressor)
_HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Losses of regression whose trees add up to the prediction itself.
_PLAIN = ("squared_error", "absolute_error", "huber", "quantile")


def read_trees(model: Any) -> TreeSum | None:
    """Return the trees of a fitted model, None where it is made of something else.

    Parameters
    ----------
    model : fitted estimator
        A tree, a forest or a booster of scikit-learn, LightGBM or XGBoost.

    Returns
    -------
    trees : TreeSumClassifier, TreeSumRegressor or None

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee.export.trees import read_trees
    >>> trees = read_trees(DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 4.0]))
    >>> trees.trees[0].threshold.tolist()[0], trees.trees[0].value.ravel().tolist()
    (0.5, [3.0, 2.0, 4.0])
    """
    if isinstance(model, BaseDecisionTree):
        return _from_scikit([model], model)
    if isinstance(model, _FORESTS):
        return _from_scikit(model.estimators_, model)
    if isinstance(model, _GRADIENT):
        return _from_gradient(model)
    if isinstance(model, _HISTOGRAM):
        return _from_histogram(model)
    library = type(model).__module__.partition(".")[0]
    if library == "lightgbm":
        return from_lightgbm(model)
    if library == "xgboost":
        return from_xgboost(model)
    return None


def _from_scikit(trees: list[Any], model: Any) -> TreeSum:
    """Trees and forests: the mean of probabilities or of numbers."""
    tables = [_table(tree.tree_, 1 / len(trees)) for tree in trees]
    return make_sum(model, tables, np.zeros(tables[0].value.shape[1]))


def _table(tree: Any, scale: float, target: int = 0) -> TreeTable:
    """Return the table of a `tree_` of scikit-learn."""
    return TreeTable(
        tree.feature,
        rounded_down(tree.threshold),
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        scale * tree.value[:, 0, :],
        target,
    )


def _from_gradient(model: Any) -> TreeSum:
    """GradientBoosting*, with the start that a model without learning has."""
    constant = isinstance(model.init_, (str, DummyClassifier, DummyRegressor))
    if not constant:
        raise ValueError(
            "The start of a booster must be a constant or zero for ONNX. Got "
            f"init={type(model.init_).__name__}."
        )
    unlearned = copy.copy(model)
    unlearned.learning_rate = 0.0
    vars(unlearned).pop("feature_names_in_", None)
    base = raw_predictions(unlearned, np.zeros((1, model.n_features_in_)))[0]
    tables = [
        _table(tree.tree_, model.learning_rate, k)
        for round_ in model.estimators_
        for k, tree in enumerate(round_)
    ]
    # The exponential loss has p = 1 / (1 + exp(-2 s)).
    return make_sum(
        model, tables, base, slope=2.0 if model.loss == "exponential" else 1.0
    )


def _from_histogram(model: Any) -> TreeSum:
    """HistGradientBoosting*, numbers and missing values only."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise ValueError(
            "ONNX has no splits on categories. Got a "
            f"{type(model).__name__} with categorical features; encode them in a "
            "pipeline instead."
        )
    if not is_classifier(model) and model.loss not in _PLAIN:
        raise ValueError(
            f"The trees of a {type(model).__name__} must add up to its prediction for "
            f"ONNX. Got loss={model.loss!r}."
        )
    rounds, base = histogram_rounds(model)
    tables = [
        _histogram_table(tree.nodes, k)
        for round_ in rounds
        for k, tree in enumerate(round_)
    ]
    return make_sum(model, tables, base, slope=1.0)


def _histogram_table(nodes: Any, target: int) -> TreeTable:
    """Return the table of the nodes of one predictor."""
    leaf = nodes["is_leaf"].astype(bool)
    return TreeTable(
        nodes["feature_idx"],
        rounded_down(nodes["num_threshold"]),
        np.where(leaf, -1, nodes["left"].astype(np.intp)),
        np.where(leaf, -1, nodes["right"].astype(np.intp)),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, np.newaxis],
        target,
    )
