"""GradientBoosting* and HistGradientBoosting* of scikit-learn: rounds, booster, trees."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from committee._typing import FloatArray, IntArray
from committee._validation import (
    histogram_parts,
    histogram_rounds,
    with_histogram_rounds,
)
from committee.ensembles.forests import sklearn_tree
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, rounds_roster
from committee.ensembles.training_rows import rows_of_leaves, rows_of_trees
from committee.ensembles.tree_sum import Tree, TreeSum
from committee.ensembles.trees import make_sum, refuse_categories, rounded_down

_LOSSES = Losses(
    "loss",
    regression={"squared_error", "absolute_error", "huber"},
    classification={"log_loss", "exponential"},
)


def raw_predictions(model: Any, X: Any) -> FloatArray:
    """Return the predictions (N, T) of a booster of scikit-learn before its link."""
    raw: FloatArray = getattr(model, "decision_function", model.predict)(X)
    return raw.reshape(len(raw), -1)


class GradientRound(Round):
    """A round of GradientBoosting*; start(x) is the model's own `init_`."""

    predict_raw = staticmethod(raw_predictions)

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the kind, the columns of X, and T."""
        return type(model), model.n_features_in_, model.n_trees_per_iteration_

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T), also for a start that depends on x."""
        scaled = copy.copy(self.model)
        scaled.learning_rate = self.shared.n_rounds * self.model.learning_rate
        return raw_predictions(scaled, X)

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Scale copies of the trees, with the same `init_` and learning rate."""
        first, shared = rounds[0].model, rounds[0].shared
        trees = np.vstack([member.model.estimators_ for member in rounds])
        # The change of the start goes into the leaves of the first round.
        shift = np.zeros(trees.shape)
        if start is not None:
            shift[0] = (start - shared.start) / first.learning_rate
        for m, row in enumerate(trees):
            for k, tree in enumerate(row):
                row[k] = _scaled(tree, shared.n_rounds * w[m], shift[m, k])
        booster = copy.copy(first)
        booster.estimators_ = trees
        booster.n_estimators = booster.n_estimators_ = len(trees)
        return booster


def gradient_roster(model: Any) -> Roster:
    """Return copies that keep `init_` and one row of trees."""
    classes = _LOSSES.classes(model, model.loss)
    M = len(model.estimators_)
    shared = Shared(M, _constant_start(model), classes, _slope(model))
    members = [GradientRound(_cut(model, m), shared) for m in range(M)]
    return rounds_roster(
        members,
        partial(_stages, model),
        partial(rows_of_trees, model.estimators_[:, 0]),
    )


def gradient_trees(model: Any) -> TreeSum:
    """Return the trees as tables of nodes."""
    start = _constant_start(model)
    if start is None:
        raise ValueError(
            "The start of a booster must be a constant or zero for ONNX. Got "
            f"init={type(model.init_).__name__}."
        )
    tables = [
        sklearn_tree(tree.tree_, k)
        for trees in model.estimators_
        for k, tree in enumerate(trees)
    ]
    unit = model.learning_rate
    return make_sum(model, tables, start, unit=unit, slope=_slope(model))


def staged(model: Any, start: FloatArray, M: int, X: Any) -> Iterator[FloatArray]:
    """Yield start + M h_m from the sums that a booster of scikit-learn stages."""
    sums = getattr(model, "staged_decision_function", None) or model.staged_predict
    before = start
    for raw in sums(X):
        after = raw.reshape(len(raw), -1)
        yield start + M * (after - before)
        before = after


def _stages(model: Any, X: Any) -> Iterator[FloatArray]:
    return staged(model, _start(model, X), len(model.estimators_), X)


def _slope(model: Any) -> float:
    # The exponential loss has p = 1 / (1 + exp(-2 raw)).
    return 2.0 if model.loss == "exponential" else 1.0


def _cut(model: Any, m: int) -> Any:
    """Return a copy that has round m only; a view would keep all rounds alive."""
    one = copy.copy(model)
    one.estimators_ = model.estimators_[m : m + 1].copy()
    one.n_estimators_ = 1
    return one


def _start(model: Any, X: Any) -> FloatArray:
    """Return start(x), of shape (N, T), by a copy with learning rate zero."""
    unlearned = _cut(model, 0)
    unlearned.learning_rate = 0.0
    return raw_predictions(unlearned, X)


def _constant_start(model: Any) -> FloatArray | None:
    """Return the start (T,) if it is the same for all x, otherwise None."""
    if not isinstance(model.init_, (str, DummyClassifier, DummyRegressor)):
        return None
    nameless = copy.copy(model)
    vars(nameless).pop("feature_names_in_", None)
    start: FloatArray = _start(nameless, np.zeros((1, model.n_features_in_)))[0]
    return start


def _scaled(tree: Any, factor: float, shift: float) -> Any:
    """Return a regression tree that predicts factor * h + shift."""
    scaled = copy.copy(tree)
    scaled.tree_ = copy.deepcopy(tree.tree_)
    scaled.tree_.value[...] = factor * tree.tree_.value + shift
    return scaled


_HIST_LOSSES = Losses(
    "loss",
    regression={"squared_error", "absolute_error"},
    classification={"log_loss"},
)


class HistGradientRound(Round):
    """A round of HistGradientBoosting*; the start of `model` is zero."""

    predict_raw = staticmethod(raw_predictions)

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the kind, the columns of X, T, and which columns are categories."""
        _, categorical, _ = histogram_parts(model)
        sizes = model.n_features_in_, model.n_trees_per_iteration_
        return type(model), *sizes, categorical.tolist()

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Scale copies of the predictors, and set the start."""
        shared = rounds[0].shared
        scaled = [
            [
                _scaled_predictor(predictor, shared.n_rounds * weight)
                for predictor in histogram_rounds(member.model)[0][0]
            ]
            for member, weight in zip(rounds, w, strict=True)
        ]
        booster = with_histogram_rounds(rounds[0].model, scaled, start)
        booster.max_iter = len(scaled)
        return booster


def hist_roster(model: Any) -> Roster:
    """Return copies with the predictors of one round."""
    classes = _HIST_LOSSES.classes(model, model.loss)
    rounds, start = histogram_rounds(model)
    M = len(rounds)
    shared, zero = Shared(M, start, classes), np.zeros_like(start)
    members = [
        HistGradientRound(with_histogram_rounds(model, [one], zero), shared)
        for one in rounds
    ]
    return rounds_roster(
        members,
        partial(staged, model, start, M),
        partial(rows_of_leaves, partial(_rows_in_leaves, model)),
    )


def _rows_in_leaves(model: Any, X: Any) -> Iterator[tuple[IntArray, Any]]:
    """Yield the leaf of each row, and the rows that trained each leaf, by predictor.

    Leaves are identified by their values, because a predictor returns nothing else.
    """
    rounds, start = histogram_rounds(model)
    for one in rounds:
        values = raw_predictions(
            with_histogram_rounds(model, [one], np.zeros_like(start)), X
        )
        for predictor, value in zip(one, values.T, strict=True):
            leaves = predictor.nodes[predictor.nodes["is_leaf"].astype(bool)]
            known, at = np.unique(leaves["value"], return_inverse=True)
            trained = np.bincount(at, leaves["count"])
            yield np.searchsorted(known, value).clip(max=len(known) - 1), trained


def hist_trees(model: Any) -> TreeSum:
    """Return the trees as tables of nodes: numbers and missing values only."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise refuse_categories(model)
    _HIST_LOSSES.check_sum(model, model.loss)
    rounds, base = histogram_rounds(model)
    tables = [_table(tree.nodes, k) for trees in rounds for k, tree in enumerate(trees)]
    return make_sum(model, tables, base, slope=1.0)


def _scaled_predictor(predictor: Any, factor: float) -> Any:
    """Return a predictor of factor * h."""
    scaled = copy.copy(predictor)
    scaled.nodes = predictor.nodes.copy()
    scaled.nodes["value"] *= factor
    return scaled


def _table(nodes: Any, target: int) -> Tree:
    """Return the nodes of one predictor."""
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        nodes["feature_idx"],
        rounded_down(nodes["num_threshold"]),
        np.where(leaf, -1, nodes["left"].astype(np.intp)),
        np.where(leaf, -1, nodes["right"].astype(np.intp)),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, np.newaxis],
        target,
    )
