"""From weighted rounds back to a booster of their own library."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee._validation import histogram_rounds, with_histogram_rounds
from committee.ensembles.libraries import as_bytes, shift_leaves, trees_of
from committee.ensembles.rounds import (
    GradientRound,
    HistGradientRound,
    LightGBMRound,
    Round,
    XGBoostRound,
)


def rebuild(members: Sequence[Round], weights: FloatArray) -> Any:
    """Return a booster that says what the weighted rounds say together.

        raw(x) = sum_m w_m (start + M h_m(x))

    The leaves of round m are multiplied by M w_m. What the weights change about the
    start, (sum_m w_m - 1) start, goes into the leaves of the first round that is
    kept. Rounds of weight zero are left out.

    Parameters
    ----------
    members : sequence of Round
        Rounds of one booster.
    weights : array of shape (M,)

    Returns
    -------
    booster : fitted estimator, lightgbm.Booster or xgboost.Booster
        Of the kind that the rounds came from.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee.ensembles.boosters import booster_roster
    >>> from committee.ensembles.rebuild import rebuild
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> rounds = booster_roster(model).members
    >>> small = rebuild(rounds[:2], np.array([0.7, 0.3]))
    >>> f = 0.7 * rounds[0].predict(X) + 0.3 * rounds[1].predict(X)
    >>> len(small.estimators_), bool(np.allclose(small.predict(X), f))
    (2, True)
    """
    weights = np.asarray(weights, dtype=np.float64)
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise ValueError("A booster needs a round with a nonzero weight. Got none.")
    chosen = [members[int(m)] for m in kept]
    return _BUILDERS[type(chosen[0])](chosen, weights[kept])


def _gradient(rounds: Sequence[Round], w: FloatArray) -> Any:
    """Scale copies of the trees; `init_` and the learning rate stay."""
    first, shared = rounds[0].model, rounds[0].shared
    surplus = w.sum() - 1.0
    if shared.start is None and abs(surplus) > 1e-12:
        raise ValueError(
            "Rounds on top of an `init` estimator fit into one booster only if their "
            f"weights have sum one. Got {w.sum():g}; keep the committee instead."
        )
    trees = np.vstack([member.model.estimators_ for member in rounds])
    shift = np.zeros(trees.shape)
    if shared.start is not None:
        shift[0] = surplus * shared.start / first.learning_rate
    for m, row in enumerate(trees):
        for k, tree in enumerate(row):
            row[k] = _scaled_tree(tree, shared.n_rounds * w[m], shift[m, k])
    booster = copy.copy(first)
    booster.estimators_ = trees
    booster.n_estimators = booster.n_estimators_ = len(trees)
    return booster


def _scaled_tree(tree: Any, factor: float, shift: float) -> Any:
    """Return a regression tree that says factor * h + shift."""
    scaled = copy.copy(tree)
    scaled.tree_ = copy.deepcopy(tree.tree_)
    scaled.tree_.value[...] = factor * tree.tree_.value + shift
    return scaled


def _histogram(rounds: Sequence[Round], w: FloatArray) -> Any:
    """Scale copies of the predictors; the start is a number that can be set."""
    shared = rounds[0].shared
    scaled = [
        [
            _scaled_predictor(predictor, shared.n_rounds * weight)
            for predictor in histogram_rounds(member.model)[0][0]
        ]
        for member, weight in zip(rounds, w, strict=True)
    ]
    start = w.sum() * np.asarray(shared.start)
    booster = with_histogram_rounds(rounds[0].model, scaled, start)
    booster.max_iter = len(scaled)
    return booster


def _scaled_predictor(predictor: Any, factor: float) -> Any:
    """Return a predictor that says factor * h."""
    scaled = copy.copy(predictor)
    scaled.nodes = predictor.nodes.copy()
    scaled.nodes["value"] *= factor
    return scaled


def _lightgbm(rounds: Sequence[Round], w: FloatArray) -> Any:
    """Put the trees into one text, then write their leaves."""
    from lightgbm import Booster

    shared = rounds[0].shared
    booster = Booster(model_str=_joined([r.model.model_to_string() for r in rounds]))
    for info in booster.dump_model()["tree_info"]:
        tree = info["tree_index"]
        factor = shared.n_rounds * w[tree // booster.num_model_per_iteration()]
        for leaf in range(info["num_leaves"]):
            h = booster.get_leaf_output(tree, leaf)
            booster.set_leaf_output(tree, leaf, factor * h)
    shift_leaves(booster, w.sum() * np.asarray(shared.start))
    if shared.shell is None:
        return booster
    # LightGBM has no public way to give its estimators a booster.
    model = copy.copy(shared.shell)
    model._Booster = booster
    model._best_iteration = booster.best_iteration
    model.n_estimators = len(rounds)
    return model


def _joined(texts: Sequence[str]) -> str:
    """Return LightGBM's text of one model with the trees of many.

    The lines of a tree begin with Tree=number; without the line of their sizes they
    are read one after the other.
    """
    head, _, rest = texts[0].partition("tree_sizes=")
    tail = rest[rest.index("end of trees") :]
    trees: list[str] = []
    for text in texts:
        body = text[text.index("\nTree=") : text.index("end of trees")]
        trees += re.split(r"^Tree=\d+\n", body, flags=re.MULTILINE)[1:]
    numbered = "".join(f"Tree={i}\n{tree}" for i, tree in enumerate(trees))
    return f"{head}\n{numbered}{tail}"


def _xgboost(rounds: Sequence[Round], w: FloatArray) -> Any:
    """Put the trees into one JSON document, with their leaves rewritten."""
    from xgboost import Booster

    shared = rounds[0].shared
    documents = [json.loads(r.model.save_raw("json")) for r in rounds]
    model = trees_of(documents[0])
    trees: list[dict[str, Any]] = []
    classes: list[int] = []
    ends = [0]
    for document, weight in zip(documents, w, strict=True):
        part = trees_of(document)
        for tree in part["trees"]:
            _scale_nodes(tree, shared.n_rounds * weight, 0.0)
            tree["id"] = len(trees)
            trees.append(tree)
        classes += part["tree_info"]
        ends.append(len(trees))
    for k, surplus in enumerate((w.sum() - 1.0) * np.asarray(shared.start)):
        _scale_nodes(trees[classes.index(k)], 1.0, surplus)
    model.update(trees=trees, tree_info=classes, iteration_indptr=ends)
    model["gbtree_model_param"]["num_trees"] = str(len(trees))
    for of_training in ("best_iteration", "best_score"):
        documents[0]["learner"]["attributes"].pop(of_training, None)
    text = as_bytes(documents[0])
    if shared.shell is None:
        return Booster(model_file=text)
    estimator = copy.copy(shared.shell)
    estimator.load_model(text)
    estimator.n_estimators = len(rounds)
    return estimator


def _scale_nodes(tree: dict[str, Any], factor: float, shift: float) -> None:
    """Let an XGBoost tree say factor * h + shift, in place.

    Leaves are nodes without children; they keep their value where other nodes keep
    the threshold.
    """
    tree["base_weights"] = [factor * v + shift for v in tree["base_weights"]]
    tree["split_conditions"] = [
        factor * v + shift if child == -1 else v
        for v, child in zip(
            tree["split_conditions"], tree["left_children"], strict=True
        )
    ]


_BUILDERS: dict[type[Round], Callable[[Sequence[Round], FloatArray], Any]] = {
    GradientRound: _gradient,
    HistGradientRound: _histogram,
    LightGBMRound: _lightgbm,
    XGBoostRound: _xgboost,
}
