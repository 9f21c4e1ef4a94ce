"""XGBoost: its rounds, their booster, its trees.

The library is imported only in functions that get one of its models.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import n_rows
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, refusal, rounds_roster
from committee.ensembles.training_rows import rows_of_leaves
from committee.ensembles.tree_sum import Tree, TreeSum
from committee.ensembles.trees import make_sum, refuse_categories

_LOSSES = Losses(
    "objective",
    regression={"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"},
    classification={"binary:logistic", "multi:softprob", "multi:softmax"},
    unweighable={"reg:squaredlogerror", "reg:quantileerror"},
)


class XGBoostRound(Round):
    """A round of an XGBoost model; `model` is an xgboost.Booster."""

    @staticmethod
    def predict_raw(model: Any, X: Any) -> Any:
        """Return the predictions of a model before its link."""
        rows = X if hasattr(model, "get_booster") else _matrix(model, X)
        return model.predict(rows, output_margin=True)

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the columns of X, classes and targets."""
        sizes = json.loads(model.save_config())["learner"]["learner_model_param"]
        return tuple(sizes.get(k) for k in ("num_feature", "num_class", "num_target"))

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""
        return next(_stages(self.model, self.shared, X))

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Put the trees into one JSON document, with their leaves rewritten."""
        from xgboost import Booster

        shared = rounds[0].shared
        documents = [_document(member.model) for member in rounds]
        trees: list[dict[str, Any]] = []
        targets: list[int] = []
        ends = [0]
        for document, weight in zip(documents, w, strict=True):
            part = _trees_of(document)
            for tree in part["trees"]:
                _change_leaves(tree, shared.n_rounds * weight, 0.0)
                tree["id"] = len(trees)
                trees.append(tree)
            targets += part["tree_info"]
            ends.append(len(trees))
        for k, surplus in enumerate(start - np.asarray(shared.start)):
            _change_leaves(trees[targets.index(k)], 1.0, surplus)
        model = _trees_of(documents[0])
        model.update(trees=trees, tree_info=targets, iteration_indptr=ends)
        model["gbtree_model_param"]["num_trees"] = str(len(trees))
        for of_training in ("best_iteration", "best_score"):
            documents[0]["learner"]["attributes"].pop(of_training, None)
        text = _as_bytes(documents[0])
        if shared.wrapper is None:
            return Booster(model_file=text)
        estimator = copy.copy(shared.wrapper)
        estimator.load_model(text)
        estimator.n_estimators = len(rounds)
        return estimator


def xgboost_roster(model: Any) -> Roster:
    """Return slices of one round."""
    wrapped = hasattr(model, "get_booster")
    booster = model.get_booster() if wrapped else model
    classes = _classes(model, json.loads(booster.save_config())["learner"])
    M = booster.num_boosted_rounds()
    if wrapped and booster.attr("best_iteration") is not None:
        M = min(M, model.best_iteration + 1)
    if M == 0:
        raise ValueError(f"The {type(model).__name__} has no rounds to weigh.")
    wrapper = type(model)(**model.get_params()) if wrapped else None
    shared = Shared(M, _start(booster), classes, wrapper=wrapper)
    members = [XGBoostRound(one, shared) for one in _slices(booster, M)]
    return rounds_roster(
        members,
        partial(_stages, booster, shared),
        partial(rows_of_leaves, partial(_rows_in_leaves, booster, shared)),
    )


def xgboost_trees(model: Any) -> TreeSum:
    """Return the trees of an XGBClassifier or XGBRegressor as tables of nodes."""
    booster = model.get_booster()
    if booster.attr("best_iteration") is not None:
        booster = booster[: model.best_iteration + 1]
    document = _document(booster)
    learner, forest = document["learner"], _trees_of(document)
    plain = learner["gradient_booster"]["name"] == "gbtree" and np.isnan(model.missing)
    _LOSSES.check_sum(model, learner["objective"]["name"], plain=plain)
    if any(any(tree["split_type"]) for tree in forest["trees"]):
        raise refuse_categories(model)
    pairs = zip(forest["trees"], forest["tree_info"], strict=True)
    tables = [_table(tree, target) for tree, target in pairs]
    return make_sum(model, tables, _start(booster), slope=1.0)


def _classes(model: Any, learner: dict[str, Any]) -> Any:
    """Return the classes, None for regression; raise for other sums than of trees."""
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        raise refusal(model, "booster", kind, "they are not plain sums of trees")
    sizes = learner["learner_model_param"]
    strategy = learner["learner_train_param"].get("multi_strategy")
    if int(sizes.get("num_target", 1)) > 1 or strategy == "multi_output_tree":
        raise refusal(model, "multi_strategy", strategy, "they have several outputs")
    loss = learner["objective"]["name"]
    return _LOSSES.classes(model, loss, int(sizes["num_class"]))


def _slices(booster: Any, M: int) -> Iterator[Any]:
    """Yield boosters of one round, with the categories of the whole booster.

    A slice has no names of categories, and would read those of a frame as codes.
    """
    from xgboost import Booster

    categories: dict[str, Any] = {}
    if "c" in (booster.feature_types or ()):
        categories = _trees_of(_document(booster)).get("cats", {})
    for m in range(M):
        one = booster[m : m + 1]
        if categories.get("enc"):
            document = _document(one)
            _trees_of(document)["cats"] = categories
            one = Booster(model_file=_as_bytes(document))
        yield one


def _document(booster: Any) -> dict[str, Any]:
    """Return a booster as XGBoost writes it to JSON."""
    document: dict[str, Any] = json.loads(booster.save_raw("json"))
    return document


def _trees_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of XGBoost's JSON that describes the trees."""
    trees: dict[str, Any] = document["learner"]["gradient_booster"]["model"]
    return trees


def _as_bytes(document: dict[str, Any]) -> bytearray:
    """Return JSON in the type that XGBoost loads."""
    return bytearray(json.dumps(document).encode())


def _matrix(booster: Any, X: Any, missing: float = np.nan) -> Any:
    """Return X as an xgboost.DMatrix."""
    from xgboost import DMatrix

    names = {}
    if not hasattr(X, "columns"):
        names = {
            "feature_names": booster.feature_names,
            "feature_types": booster.feature_types,
        }
    return DMatrix(X, missing=missing, enable_categorical=True, **names)


def _start(booster: Any) -> FloatArray:
    """Return the part of the margin that comes from the base score, of shape (T,)."""
    row = np.zeros((1, booster.num_features()), dtype=np.float32)
    margin = partial(booster[0:1].inplace_predict, row, predict_type="margin")
    whole = margin()
    start: FloatArray = whole.astype(np.float64) - margin(base_margin=0 * whole)
    return start.reshape(-1)


def _stages(booster: Any, shared: Shared, X: Any) -> Iterator[FloatArray]:
    """Read X once and predict the margins of one round after the other.

    Zeros stand in for the base score: in single precision a small h would drown in a
    large start.
    """
    rows = _matrix(booster, X, getattr(shared.wrapper, "missing", np.nan))
    rows.set_base_margin(np.zeros((n_rows(X), len(np.asarray(shared.start)))))
    for m in range(shared.n_rounds):
        h = booster.predict(rows, output_margin=True, iteration_range=(m, m + 1))
        yield shared.raw(h)


def _rows_in_leaves(
    booster: Any, shared: Shared, X: Any
) -> Iterator[tuple[IntArray, Any]]:
    """Yield the leaf of each row, and the rows that trained each leaf, by tree.

    XGBoost records sums of second derivatives instead of rows. In the first round each
    row usually has the same one, so that a leaf's share of the sum is its share of rows.
    """
    rows = _matrix(booster, X, getattr(shared.wrapper, "missing", np.nan))
    reached = booster.predict(rows, pred_leaf=True, iteration_range=(0, 1))
    trees = _trees_of(_document(booster[0:1]))["trees"]
    for tree, leaf in zip(trees, reached.reshape(len(reached), -1).T, strict=True):
        is_leaf = np.array(tree["left_children"]) < 0
        share = np.where(is_leaf, tree["sum_hessian"], 0.0)
        yield leaf, len(leaf) * share / share.sum()


def _change_leaves(tree: dict[str, Any], factor: float, shift: float) -> None:
    """Change an XGBoost tree in place, so that it predicts factor * h + shift.

    Leaves are nodes without children. Their value is in the list of thresholds.
    """
    tree["base_weights"] = [factor * v + shift for v in tree["base_weights"]]
    tree["split_conditions"] = [
        factor * v + shift if child == -1 else v
        for v, child in zip(
            tree["split_conditions"], tree["left_children"], strict=True
        )
    ]


def _table(tree: dict[str, Any], target: int) -> Tree:
    """Return the nodes of a tree; the list of thresholds has the values of leaves.

    x goes left where x < t: where x is at most the next number below.
    """
    left = np.array(tree["left_children"], dtype=np.intp)
    conditions = np.array(tree["split_conditions"], dtype=np.float64)
    return Tree(
        np.array(tree["split_indices"], dtype=np.intp),
        np.nextafter(conditions.astype(np.float32), np.float32(-np.inf)),
        left,
        np.array(tree["right_children"], dtype=np.intp),
        np.array(tree["default_left"], dtype=bool),
        np.where(left < 0, conditions, 0.0)[:, np.newaxis],
        target,
    )
