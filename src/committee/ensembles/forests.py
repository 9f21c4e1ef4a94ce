"""Forests, bagging and AdaBoost of scikit-learn; weighted trees as a forest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree, ExtraTreeClassifier, ExtraTreeRegressor

from committee._typing import BoolArray, FloatArray, Member
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.roster import Roster, equal_weights, unseen_rows
from committee.ensembles.training_rows import rows_of_trees
from committee.ensembles.tree_sum import Tree, TreeSum
from committee.ensembles.trees import (
    class_values,
    make_sum,
    rounded_down,
    with_values,
)
from committee.probabilities import slope_probabilities

#: Largest mask of left-out rows that is computed without being asked for: a row that was
#: drawn takes eight bytes.
_MANY = 50_000_000
#: Largest number of drawn rows, of all members together, that is stored.
_FEW = 5_000_000

#: Parameters with the same meaning in trees and forests.
_SETTINGS = (
    *("criterion", "max_depth", "min_samples_split", "min_samples_leaf"),
    *("min_weight_fraction_leaf", "max_features", "max_leaf_nodes"),
    *("min_impurity_decrease", "ccp_alpha"),
)


class DrawnRows:
    """The rows that each member of an ensemble was trained on.

    scikit-learn draws them again on every request. Those of a small ensemble are stored.
    """

    def __init__(self, ensemble: Any) -> None:
        self.ensemble = ensemble
        self._drawn: Any = None

    def samples(self) -> Any:
        """Return the drawn row numbers of each member, with repetitions."""
        if self._drawn is not None:
            return self._drawn
        drawn = self.ensemble.estimators_samples_
        if sum(map(len, drawn)) <= _FEW:
            self._drawn = drawn
        return drawn

    def held_out(self, n_rows: int) -> BoolArray:
        """Return the mask (N, M), True where a row was not drawn.

        Raises ValueError if the ensemble was trained on another number of rows.
        """
        trained_on = getattr(self.ensemble, "_n_samples", None)
        if trained_on not in (None, n_rows):
            raise ValueError(
                f"oob=True needs the {trained_on} rows that the ensemble was trained on, "
                f"in their order. Got {n_rows} rows."
            )
        return unseen_rows(self.samples(), n_rows)

    def left_out(self) -> BoolArray | None:
        """Return the mask of all training rows; None if it would be too large."""
        N = getattr(self.ensemble, "_n_samples", None)
        if N is None or N * len(self.ensemble.estimators_) > _MANY:
            return None
        return unseen_rows(self.samples(), N)

    def recognise(self, members: list[Any], X: Any) -> Any:
        """Compare X with the training rows, by the leaves of the trees."""
        if getattr(self.ensemble, "_n_samples", X.shape[0]) != X.shape[0]:
            return "others"
        return rows_of_trees(members, X, self.samples)


def forest_roster(forest: Any) -> Roster:
    """Return the trees; they predict class codes and were trained on arrays."""
    members, drawn = list(forest.estimators_), DrawnRows(forest)
    return _roster_of_samples(
        drawn,
        members,
        forest.bootstrap,
        "Its trees were trained on all rows (bootstrap=False). Pass rows that it was "
        "not trained on, without oob, or train with bootstrap=True.",
    )


def bagging_roster(bagging: Any) -> Roster:
    """Return the members, which predict class codes, each from its own columns."""
    everything, drawn = np.arange(bagging.n_features_in_), DrawnRows(bagging)
    members = [
        member if np.array_equal(columns, everything) else OnColumns(member, columns)
        for member, columns in zip(
            bagging.estimators_, bagging.estimators_features_, strict=True
        )
    ]
    return _roster_of_samples(
        drawn,
        members,
        bagging.bootstrap
        or len(set(drawn.samples()[0])) < getattr(bagging, "_n_samples", np.inf),
        "Its members were trained on all rows (bootstrap=False, max_samples=1.0). "
        "Pass rows that it was not trained on, without oob, or train with "
        "bootstrap=True.",
    )


def _roster_of_samples(
    drawn: DrawnRows, members: list[Any], leaves_rows_out: bool, no_oob_reason: str
) -> Roster:
    """Return the roster of members that were trained on samples of the rows."""
    ensemble = drawn.ensemble
    oob = "oob_prediction_" if is_regressor(ensemble) else "oob_decision_function_"
    return Roster(
        members,
        equal_weights(len(members)),
        **coded_classes(ensemble),
        arrays=True,
        held_out=drawn.held_out if leaves_rows_out else None,
        left_out=drawn.left_out if leaves_rows_out else None,
        oob_prediction=getattr(ensemble, oob, None),
        recognise=partial(
            drawn.recognise if leaves_rows_out else rows_of_trees, members
        ),
        no_oob_reason=no_oob_reason,
    )


def adaboost_roster(boosted: Any) -> Roster:
    """Return the members, which predict labels.

    Classifiers have weights. Regressors have none: their prediction is a median.
    """
    members, classes = list(boosted.estimators_), getattr(boosted, "classes_", None)
    own = np.asarray(boosted.estimator_weights_[: len(members)], dtype=np.float64)
    return Roster(
        members,
        own / own.sum() if classes is not None and own.sum() > 0 else None,
        classes,
        classes,
        output="hard",
        probabilities=partial(slope_probabilities, slope=_adaboost_slope(classes)),
        arrays=True,
        recognise=partial(rows_of_trees, members),
        no_oob_reason=(
            "Boosted members learn from all rows. Pass rows that it was not trained "
            "on, without oob."
        ),
    )


def _adaboost_slope(classes: Any) -> float:
    """Return b of AdaBoost's probabilities softmax(b s), with s the shares of the votes.

    f_k = (K s_k - 1) / (K - 1),   p = softmax(f / (K - 1))
    """
    K = 2 if classes is None else len(classes)
    return K / (K - 1) ** 2 if K > 1 else 1.0


def coded_classes(ensemble: Any) -> dict[str, Any]:
    """Return the classes of an ensemble whose members predict codes."""
    if is_regressor(ensemble):
        return {}
    classes = ensemble.classes_
    return {"classes": classes, "member_classes": np.arange(len(classes))}


def forest_trees(model: Any) -> TreeSum:
    """Return a tree, or the mean of a forest, as tables of nodes."""
    trees = getattr(model, "estimators_", [model])
    tables = [sklearn_tree(tree.tree_) for tree in trees]
    base = np.zeros(tables[0].value.shape[1])
    return make_sum(model, tables, base, unit=1 / len(trees))


def sklearn_tree(tree: Any, target: int = 0) -> Tree:
    """Return a `tree_` of scikit-learn as a table of nodes."""
    return Tree(
        tree.feature,
        rounded_down(tree.threshold),
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        tree.value[:, 0, :],
        target,
    )


def is_tree(member: Member) -> bool:
    """Return True if the member is a tree, on all of the columns or on some."""
    return isinstance(bare_tree(member), BaseDecisionTree)


def regression_forest(
    members: Sequence[Member], weights: FloatArray, n_features: int
) -> Any:
    """Return the forest of k regression trees with sum_m w_m f_m.

        v_m <- k w_m v_m,   as a forest divides by its k trees

    Trees may be on some of the columns.
    """
    k = len(members)
    trees = [
        with_values(member, k * w * bare_tree(member).tree_.value, n_features)
        for member, w in zip(members, weights, strict=True)
    ]
    extra = all(isinstance(tree, ExtraTreeRegressor) for tree in trees)
    return _forest(ExtraTreesRegressor if extra else RandomForestRegressor, trees)


def classification_forest(
    members: Sequence[Member],
    weights: FloatArray,
    n_features: int,
    *,
    classes: Any,
    member_classes: Any,
    output: str,
) -> Any:
    """Return the forest of k classification trees with sum_m w_m p_m / sum w.

        v_m <- a_m p_m + (1 - a_m) e_0,    a_m = k w_m / sum w

    p_m is a node's class probabilities, or its one vote. The a_m have mean one, so the
    terms in e_0, the first class, cancel in the forest's mean. They keep the sum of each
    leaf at one: many tools (SHAP, treelite, skl2onnx) scale the leaves of a classifier
    to that sum, which would undo weights that only multiply the leaves. The first class
    gets the terms because onnxruntime needs the second of two classes not to be
    negative.

    Trees may be on some of the columns and have some of the classes. The weights (k,) are
    not negative.
    """
    K = len(classes)
    w = np.asarray(weights, dtype=np.float64)
    # Exactly one where all are equal, so that ties stay ties.
    shares = np.ones_like(w) if np.all(w == w[0]) else w / w.mean()
    trees = []
    for member, a in zip(members, shares, strict=True):
        v = a * class_values(member, member_classes, output)
        v[:, 0, 0] += 1 - a
        tree = with_values(member, v, n_features)
        tree.classes_, tree.n_classes_ = np.arange(K, dtype=np.float64), K
        trees.append(tree)
    extra = all(isinstance(tree, ExtraTreeClassifier) for tree in trees)
    forest = _forest(ExtraTreesClassifier if extra else RandomForestClassifier, trees)
    forest.classes_, forest.n_classes_ = np.asarray(classes), K
    return forest


def _forest(kind: type, trees: list[Any]) -> Any:
    """Return a fitted forest of these trees, with the parameters of the first."""
    params = trees[0].get_params(deep=False)
    forest = kind(len(trees), **{name: params[name] for name in _SETTINGS})
    forest.estimators_ = trees
    forest.estimator_ = type(trees[0])()
    forest.n_features_in_ = trees[0].n_features_in_
    forest.n_outputs_ = 1
    return forest
