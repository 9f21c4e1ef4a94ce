"""HistGradientBoosting* of scikit-learn: its rounds, their booster, its trees."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import (
    histogram_parts,
    histogram_rounds,
    with_histogram_rounds,
)
from committee.ensembles.gradient_boosting import raw_predictions, staged
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, rounds_roster
from committee.ensembles.training_rows import rows_of_leaves
from committee.ensembles.tree_tables import (
    TreeSum,
    TreeTable,
    make_sum,
    refuse_categories,
    rounded_down,
)

_LOSSES = Losses(
    "loss",
    regression={"squared_error", "absolute_error"},
    classification={"log_loss"},
)


class HistGradientRound(Round):
    """A round of HistGradientBoosting*, cut down to start at zero."""

    predict_raw = staticmethod(raw_predictions)

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the kind, the columns of X, T, and which columns are categories."""
        _, categorical, _ = histogram_parts(model)
        sizes = model.n_features_in_, model.n_trees_per_iteration_
        return type(model), *sizes, categorical.tolist()

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray) -> Any:
        """Scale copies of the predictors; the start is a number that can be set."""
        shared = rounds[0].shared
        scaled = [
            [
                _scaled(predictor, shared.n_rounds * weight)
                for predictor in histogram_rounds(member.model)[0][0]
            ]
            for member, weight in zip(rounds, w, strict=True)
        ]
        start = w.sum() * np.asarray(shared.start)
        booster = with_histogram_rounds(rounds[0].model, scaled, start)
        booster.max_iter = len(scaled)
        return booster


def hist_roster(model: Any) -> Roster:
    """Return copies with the predictors of one round."""
    classes = _LOSSES.classes(model, model.loss)
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
        partial(rows_of_leaves, partial(_leaves, model)),
    )


def _leaves(model: Any, X: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the leaf of each row, and the rows that trained each leaf, by predictor.

    Leaves are known by their values, since a predictor returns nothing else.
    """
    rounds, start = histogram_rounds(model)
    for one in rounds:
        values = raw_predictions(
            with_histogram_rounds(model, [one], np.zeros_like(start)), X
        )
        for predictor, value in zip(one, values.T, strict=True):
            leaves = predictor.nodes[predictor.nodes["is_leaf"].astype(bool)]
            known, at = np.unique(leaves["value"], return_inverse=True)
            trained = np.bincount(at, leaves["count"]).astype(np.intp)
            yield np.searchsorted(known, value).clip(max=len(known) - 1), trained


def hist_trees(model: Any) -> TreeSum:
    """Return the trees as tables of nodes: numbers and missing values only."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise refuse_categories(model)
    _LOSSES.check_sum(model, model.loss)
    rounds, base = histogram_rounds(model)
    tables = [_table(tree.nodes, k) for trees in rounds for k, tree in enumerate(trees)]
    return make_sum(model, tables, base, slope=1.0)


def _scaled(predictor: Any, factor: float) -> Any:
    """Return a predictor of factor * h."""
    scaled = copy.copy(predictor)
    scaled.nodes = predictor.nodes.copy()
    scaled.nodes["value"] *= factor
    return scaled


def _table(nodes: Any, target: int) -> TreeTable:
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
