"""LightGBM's and XGBoost's own files as tables of nodes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.export.tables import TreeSum, TreeTable, make_sum, rounded_down

#: Objectives whose trees add up to the prediction, or to log odds.
_KNOWN = {
    *("regression", "regression_l1", "huber", "fair", "mape", "quantile"),
    *("binary", "multiclass", "binary:logistic", "multi:softprob", "multi:softmax"),
    *("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"),
    *("reg:squaredlogerror", "reg:quantileerror"),
}
#: Bits of LightGBM's decision_type.
_CATEGORY, _DEFAULT_LEFT, _ZERO_MISSING, _NAN_MISSING = 1, 2, 4, 8


def from_lightgbm(model: Any) -> TreeSum:
    """Return the trees of an LGBMClassifier or LGBMRegressor.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    trees : TreeSum
    """
    _check_wrapped(model, "booster_", "LGBMClassifier or LGBMRegressor")
    text = model.booster_.model_to_string()
    head, *blocks = text.split("\nTree=")
    objective, *options = _fields(head).get("objective", "a function").split()
    _check_sum(model, objective, "average_output" not in head and "sqrt" not in options)
    T = int(_fields(head)["num_tree_per_iteration"])
    tables = [
        _lightgbm_table(_fields(block.split("\n\n")[0]), i % T)
        for i, block in enumerate(blocks)
    ]
    slope = dict(option.split(":") for option in options).get("sigmoid", 1.0)
    return make_sum(model, tables, np.zeros(T), slope=float(slope))


def from_xgboost(model: Any) -> TreeSum:
    """Return the trees of an XGBClassifier or XGBRegressor.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    trees : TreeSum
    """
    _check_wrapped(model, "get_booster", "XGBClassifier or XGBRegressor")
    booster = model.get_booster()
    if booster.attr("best_iteration") is not None:
        booster = booster[: model.best_iteration + 1]
    learner = json.loads(booster.save_raw("json"))["learner"]
    plain = learner["gradient_booster"]["name"] == "gbtree" and np.isnan(model.missing)
    _check_sum(model, learner["objective"]["name"], plain)
    forest = learner["gradient_booster"]["model"]
    tables = [
        _xgboost_table(tree, target)
        for tree, target in zip(forest["trees"], forest["tree_info"], strict=True)
    ]
    return make_sum(model, tables, _xgboost_start(booster), slope=1.0)


def _check_wrapped(model: Any, attribute: str, expected: str) -> None:
    """Refuse a bare booster, which does not say what its numbers mean."""
    if not hasattr(model, attribute):
        raise ValueError(
            f"ONNX needs a booster inside an {expected}, which knows its classes. Got "
            f"a bare {type(model).__name__}."
        )


def _check_sum(model: Any, objective: str, plain: bool) -> None:
    """Refuse a booster whose trees do not add up to what it says."""
    if objective not in _KNOWN or not plain:
        raise ValueError(
            "ONNX needs a booster whose trees add up to its predictions or to log "
            f"odds, with NaN for missing values. Got a {type(model).__name__} with "
            f"objective {objective!r}."
        )


def _fields(text: str) -> dict[str, str]:
    """Return the lines of the form name=value."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _lightgbm_table(fields: dict[str, str], target: int) -> TreeTable:
    """Return a tree of LightGBM: its splits come first, leaf i is child -1 - i."""
    if fields.get("is_linear", "0") != "0":
        raise ValueError("ONNX has no linear trees. Train with linear_tree=False.")
    leaves = _numbers(fields, "leaf_value")
    kinds = _numbers(fields, "decision_type").astype(np.intp)
    if np.any(kinds & (_CATEGORY | _ZERO_MISSING)):
        raise ValueError(
            "ONNX has no splits on categories and no zeros that count as missing. "
            "Encode categories in a pipeline, and train with zero_as_missing=False."
        )
    threshold = _numbers(fields, "threshold")
    # Where no row was missing in training, LightGBM takes NaN for zero.
    missing_left = np.where(
        kinds & _NAN_MISSING, (kinds & _DEFAULT_LEFT) > 0, threshold >= 0
    )
    n, rest = len(threshold), np.zeros(len(leaves))

    def children(name: str) -> Any:
        numbers = _numbers(fields, name).astype(np.intp)
        return np.append(np.where(numbers < 0, n - 1 - numbers, numbers), rest - 1)

    return TreeTable(
        np.append(_numbers(fields, "split_feature"), rest).astype(np.intp),
        np.append(rounded_down(threshold), rest.astype(np.float32)),
        children("left_child").astype(np.intp),
        children("right_child").astype(np.intp),
        np.append(missing_left, rest > 0).astype(bool),
        np.append(np.zeros(n), leaves)[:, np.newaxis],
        target,
    )


def _numbers(fields: dict[str, str], name: str) -> FloatArray:
    """Return the numbers of a line; a tree without splits has not all the lines."""
    return np.array(fields.get(name, "").split(), dtype=np.float64)


def _xgboost_table(tree: dict[str, Any], target: int) -> TreeTable:
    """Return a tree of XGBoost; a leaf keeps its value where others split."""
    if any(tree["split_type"]):
        raise ValueError(
            "ONNX has no splits on categories. Got an XGBoost model with categorical "
            "features; encode them in a pipeline instead."
        )
    left = np.array(tree["left_children"], dtype=np.intp)
    conditions = np.array(tree["split_conditions"], dtype=np.float64)
    return TreeTable(
        np.array(tree["split_indices"], dtype=np.intp),
        conditions.astype(np.float32),
        left,
        np.array(tree["right_children"], dtype=np.intp),
        np.array(tree["default_left"], dtype=bool),
        np.where(left < 0, conditions, 0.0)[:, np.newaxis],
        target,
        strict=True,
    )


def _xgboost_start(booster: Any) -> FloatArray:
    """Return what the base score adds to the margins, of shape (T,)."""
    row = np.zeros((1, booster.num_features()), dtype=np.float32)
    whole = booster.inplace_predict(row, predict_type="margin")
    zeros = np.zeros_like(whole)
    alone = booster.inplace_predict(row, predict_type="margin", base_margin=zeros)
    start: FloatArray = (whole.astype(np.float64) - alone).reshape(-1)
    return start
