"""The rounds of LightGBM and XGBoost models.

Both libraries are imported only where their models are at hand.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.ensembles.rounds import (
    LightGBMRound,
    Round,
    Shared,
    Stages,
    XGBoostRound,
    checked_classes,
    margin_rows,
    refusal,
)


def lightgbm_rounds(model: Any) -> tuple[list[Round], Stages]:
    """LightGBM: boosters read back from the text of one round."""
    wrapped = hasattr(model, "booster_")
    booster = model.booster_ if wrapped else model
    text = booster.model_to_string(num_iteration=1)
    classes, slope = _lightgbm_link(model, text, wrapped)
    M = booster.current_iteration()
    if booster.best_iteration > 0:
        M = min(M, booster.best_iteration)
    trees = booster.dump_model(num_iteration=1)["tree_info"]
    start = np.array([_mean_leaf(tree["tree_structure"]) for tree in trees])
    shared = Shared(M, start, classes, slope, _shell(model))
    members: list[Round] = [
        LightGBMRound(_cut_lightgbm(booster, m, start), shared) for m in range(M)
    ]
    return members, partial(_lightgbm_stages, booster, M, start)


def _lightgbm_link(model: Any, text: str, wrapped: bool) -> tuple[Any, float]:
    """Return the classes and the slope, or refuse the model.

    The text of a model has the names that parameters have after all aliases.
    """
    boosting = _line(text, "[boosting: ").rstrip("]") or "gbdt"
    if boosting != "gbdt":
        raise refusal(model, "boosting", boosting, "they are not plain sums of trees")
    if "[linear_tree: 1]" in text:
        raise refusal(model, "linear_tree", True, "their leaves are not numbers")
    objective = _line(text, "objective=")
    name, *options = objective.split() or ["a function"]
    transformed = "sqrt" in options
    classes = checked_classes(model, "objective", objective if transformed else name)
    if classes is None:
        return None, 1.0
    if not wrapped:
        classes = np.arange(max(2, int(_line(text, "num_class="))))
    slope = dict(option.split(":") for option in options).get("sigmoid", 1.0)
    return classes, float(slope)


def _line(text: str, key: str) -> str:
    """Return the rest of the first line that starts with the key."""
    return next(
        (line[len(key) :] for line in text.splitlines() if line.startswith(key)), ""
    )


def _mean_leaf(node: dict[str, Any]) -> float:
    """Return the mean output of a tree on its training rows.

    LightGBM adds the start of boosting to the first tree; this takes it out again.
    """
    leaves, stack = [], [node]
    while stack:
        node = stack.pop()
        if "leaf_value" in node:
            leaves.append((node["leaf_value"], node.get("leaf_count", 1)))
        else:
            stack += [node["left_child"], node["right_child"]]
    values, counts = np.array(leaves, dtype=np.float64).T
    return float(np.average(values, weights=counts if counts.any() else None))


def _cut_lightgbm(booster: Any, m: int, start: FloatArray) -> Any:
    """Return h_m as a lightgbm.Booster of its own."""
    from lightgbm import Booster

    text = booster.model_to_string(start_iteration=m, num_iteration=1)
    one = Booster(model_str=text)
    one.params = {}  # what training was like: not needed, larger than a small tree
    if m == 0:
        shift_leaves(one, -start)
    return one


def shift_leaves(booster: Any, by: FloatArray) -> None:
    """Add by_k to all leaves of tree k of a lightgbm.Booster, in place."""
    for info in booster.dump_model(num_iteration=1)["tree_info"]:
        k = info["tree_index"]
        for leaf in range(info["num_leaves"]):
            booster.set_leaf_output(k, leaf, booster.get_leaf_output(k, leaf) + by[k])


def _shell(model: Any) -> Any:
    """Return the wrapper without its booster, None for a bare booster."""
    if not hasattr(model, "booster_"):
        return None
    shell = copy.copy(model)
    shell._Booster = None
    shell._evals_result = {}
    return shell


def _lightgbm_stages(
    booster: Any, M: int, start: FloatArray, X: Any
) -> Iterator[FloatArray]:
    """Send the rows down all trees at once, and look up the leaves."""
    T = len(start)
    leaves = booster.predict(X, pred_leaf=True, num_iteration=M)
    leaves = leaves.reshape(-1, M, T)
    for m in range(M):
        raw = np.empty((len(leaves), T))
        for k in range(T):
            reached = leaves[:, m, k]
            outputs = np.array(
                [
                    booster.get_leaf_output(m * T + k, leaf)
                    for leaf in range(reached.max() + 1)
                ]
            )
            raw[:, k] = outputs[reached]
        yield start + M * (raw - start if m == 0 else raw)


def xgboost_rounds(model: Any) -> tuple[list[Round], Stages]:
    """XGBoost: slices of one round."""
    wrapped = hasattr(model, "get_booster")
    booster = model.get_booster() if wrapped else model
    learner = json.loads(booster.save_config())["learner"]
    classes = _xgboost_classes(model, learner, wrapped)
    M = booster.num_boosted_rounds()
    if wrapped and booster.attr("best_iteration") is not None:
        M = min(M, model.best_iteration + 1)
    if M == 0:
        raise ValueError(f"The {type(model).__name__} has no rounds to weigh.")
    shell = type(model)(**model.get_params()) if wrapped else None
    shared = Shared(M, None, classes, shell=shell)
    shared = replace(shared, start=_xgboost_start(booster, shared))
    members: list[Round] = [XGBoostRound(one, shared) for one in _slices(booster, M)]
    return members, partial(_xgboost_stages, booster, shared)


def _xgboost_classes(model: Any, learner: dict[str, Any], wrapped: bool) -> Any:
    """Return the classes, or refuse the model."""
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        raise refusal(model, "booster", kind, "they are not plain sums of trees")
    sizes = learner["learner_model_param"]
    strategy = learner["learner_train_param"].get("multi_strategy")
    if int(sizes.get("num_target", 1)) > 1 or strategy == "multi_output_tree":
        raise refusal(model, "multi_strategy", strategy, "they have several outputs")
    classes = checked_classes(model, "objective", learner["objective"]["name"])
    if classes is None or wrapped:
        return classes
    return np.arange(max(2, int(sizes["num_class"])))


def _slices(booster: Any, M: int) -> Iterator[Any]:
    """Yield boosters of one round, which know the same categories.

    Slices forget the names of categories, and would take those of a frame for codes.
    """
    from xgboost import Booster

    categories: dict[str, Any] = {}
    if "c" in (booster.feature_types or ()):
        categories = trees_of(json.loads(booster.save_raw("json"))).get("cats", {})
    for m in range(M):
        one = booster[m : m + 1]
        if categories.get("enc"):
            document = json.loads(one.save_raw("json"))
            trees_of(document)["cats"] = categories
            one = Booster(model_file=as_bytes(document))
        yield one


def trees_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of XGBoost's JSON that describes the trees."""
    trees: dict[str, Any] = document["learner"]["gradient_booster"]["model"]
    return trees


def as_bytes(document: dict[str, Any]) -> bytearray:
    """Return JSON as XGBoost loads it."""
    return bytearray(json.dumps(document).encode())


def _xgboost_start(booster: Any, shared: Shared) -> FloatArray:
    """Return what the base score adds to the margin, of shape (T,)."""
    row = np.zeros((1, booster.num_features()), dtype=np.float32)
    ask = partial(booster[0:1].inplace_predict, row, predict_type="margin")
    start: FloatArray = ask().astype(np.float64) - ask(base_margin=shared.zeros(row))
    return start.reshape(-1)


def _xgboost_stages(booster: Any, shared: Shared, X: Any) -> Iterator[FloatArray]:
    """Read X once and ask for the margins of one round after the other."""
    rows = margin_rows(booster, shared, X)
    for m in range(shared.n_rounds):
        h = booster.predict(rows, output_margin=True, iteration_range=(m, m + 1))
        h = h.reshape(len(h), -1).astype(np.float64)
        yield shared.start + shared.n_rounds * h
