"""LightGBM: its rounds, their booster, its trees.

The library is imported only in functions that get one of its models.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, refusal, rounds_roster
from committee.ensembles.training_rows import rows_of_leaves
from committee.ensembles.tree_sum import TreeSum
from committee.ensembles.trees import Node, make_sum, nested_table, refuse_categories

_LOSSES = Losses(
    "objective",
    regression={"regression", "regression_l1", "huber", "fair", "mape"},
    classification={"binary", "multiclass"},
)


class LightGBMRound(Round):
    """A round of a LightGBM model; `model` is a lightgbm.Booster."""

    @staticmethod
    def predict_raw(model: Any, X: Any) -> Any:
        """Return the predictions of a model before its link."""
        return model.predict(X, raw_score=True)

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the columns of X, and T."""
        return model.num_feature(), model.num_model_per_iteration()

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Put the trees into one text, with their leaves rewritten."""
        from lightgbm import Booster

        shared = rounds[0].shared
        texts = [member.model.model_to_string() for member in rounds]
        factors, shift = shared.n_rounds * w, np.asarray(start)
        trees = _changed(texts[0], factors[0], shift)
        for text, factor in zip(texts[1:], factors[1:], strict=True):
            trees += _changed(text, factor, 0 * shift)
        booster = Booster(model_str=_with_trees(texts[0], trees))
        if shared.wrapper is None:
            return booster
        # LightGBM has no public way to give its estimators a booster.
        model = copy.copy(shared.wrapper)
        model._Booster = booster
        model._best_iteration = booster.best_iteration
        model.n_estimators = len(rounds)
        return model


def lightgbm_roster(model: Any) -> Roster:
    """Return boosters that were read back from the text of one round."""
    booster = getattr(model, "booster_", model)
    text = booster.model_to_string(num_iteration=1)
    classes, slope = _link(model, text)
    M = booster.current_iteration()
    if booster.best_iteration > 0:
        M = min(M, booster.best_iteration)
    # LightGBM adds the start to the first trees, whose means are usually the start.
    start = np.array([_mean_leaf(tree) for tree in _trees(text)])
    shared = Shared(M, start, classes, slope, _wrapper(model))
    members = [LightGBMRound(_cut(booster, m, start), shared) for m in range(M)]
    return rounds_roster(
        members,
        partial(_stages, booster, shared),
        partial(rows_of_leaves, partial(_rows_in_leaves, booster)),
    )


def lightgbm_trees(model: Any) -> TreeSum:
    """Return the trees of an LGBMClassifier or LGBMRegressor as tables of nodes."""
    dump = model.booster_.dump_model()
    objective, *options = dump.get("objective", "a function").split()
    plain = not dump["average_output"] and "sqrt" not in options
    _LOSSES.check_sum(model, objective, plain=plain)
    T = dump["num_tree_per_iteration"]
    tables = [
        nested_table(tree["tree_structure"], partial(_node, model), target=i % T)
        for i, tree in enumerate(dump["tree_info"])
    ]
    return make_sum(model, tables, np.zeros(T), slope=_sigmoid_slope(options))


def _link(model: Any, text: str) -> tuple[Any, float]:
    """Return the classes, None for regression, and the slope of the log odds.

    Raises ValueError for sums of anything but trees. The text of a model has the names
    of parameters with all aliases resolved.
    """
    boosting = _line(text, "[boosting: ").rstrip("]") or "gbdt"
    if boosting != "gbdt":
        raise refusal(model, "boosting", boosting, "they are not plain sums of trees")
    if "[linear_tree: 1]" in text:
        raise refusal(model, "linear_tree", True, "their leaves are not numbers")
    objective = _line(text, "objective=")
    name, *options = objective.split() or ["a function"]
    loss = objective if "sqrt" in options else name
    n_classes = int(_line(text, "num_class="))
    return _LOSSES.classes(model, loss, n_classes), _sigmoid_slope(options)


def _sigmoid_slope(options: list[str]) -> float:
    return float(dict(option.split(":") for option in options).get("sigmoid", 1.0))


def _line(text: str, key: str) -> str:
    """Return the rest of the first line that starts with the key."""
    return next(
        (line[len(key) :] for line in text.splitlines() if line.startswith(key)), ""
    )


def _trees(text: str) -> list[str]:
    """Return the text of each tree of a model, without its first line."""
    body = text[text.index("\nTree=") : text.index("end of trees")]
    return re.split(r"^Tree=\d+\n", body, flags=re.MULTILINE)[1:]


def _with_trees(text: str, trees: list[str]) -> str:
    """Return the text of a model with other trees.

    The line `tree_sizes` is left out, so that LightGBM reads one tree after the other.
    """
    head, _, rest = text.partition("tree_sizes=")
    numbered = "".join(f"Tree={i}\n{tree}" for i, tree in enumerate(trees))
    return f"{head}\n{numbered}{rest[rest.index('end of trees') :]}"


def _leaves(tree: str, name: str = "leaf_value") -> FloatArray:
    return np.array(_line(tree, f"{name}=").split(), dtype=np.float64)


def _changed(text: str, factor: float, shift: FloatArray) -> list[str]:
    """Return the trees of one round, so that they predict factor * h + shift."""
    changed = []
    for tree, by in zip(_trees(text), shift, strict=True):
        values = " ".join(map(repr, (factor * _leaves(tree) + by).tolist()))
        line = f"leaf_value={values}"
        changed.append(re.sub(r"^leaf_value=.*$", line, tree, flags=re.MULTILINE))
    return changed


def _mean_leaf(tree: str) -> float:
    """Return the mean output of a tree on its training rows."""
    values, counts = _leaves(tree), _leaves(tree, "leaf_count")
    known = len(counts) == len(values) and counts.any()
    return float(np.average(values, weights=counts if known else None))


def _cut(booster: Any, m: int, start: FloatArray) -> Any:
    """Return h_m as a lightgbm.Booster of its own."""
    from lightgbm import Booster

    text = booster.model_to_string(start_iteration=m, num_iteration=1)
    if m == 0:
        text = _with_trees(text, _changed(text, 1.0, -start))
    one = Booster(model_str=text)
    one.params = {}  # parameters of training: not needed, larger than a small tree
    return one


def _wrapper(model: Any) -> Any:
    """Return a copy of the estimator without its booster; None for a bare booster."""
    if not hasattr(model, "booster_"):
        return None
    wrapper = copy.copy(model)
    wrapper._Booster = None
    wrapper._evals_result = {}
    return wrapper


def _stages(booster: Any, shared: Shared, X: Any) -> Iterator[FloatArray]:
    """Yield start + M h_m of each round, from one call that finds all leaves."""
    M, start = shared.n_rounds, np.asarray(shared.start)
    values = [_leaves(t) for t in _trees(booster.model_to_string(num_iteration=M))]
    reached = booster.predict(X, pred_leaf=True, num_iteration=M)
    reached = reached.reshape(len(reached), M, len(start))
    # reached: leaf of each row in tree k of round m, (N, M, T)
    for m in range(M):
        trees = values[m * len(start) : (m + 1) * len(start)]
        h = np.column_stack([v[reached[:, m, k]] for k, v in enumerate(trees)])
        yield shared.raw(h - start if m == 0 else h)


def _rows_in_leaves(booster: Any, X: Any) -> Iterator[tuple[IntArray, Any]]:
    """Yield the leaf of each row, and the rows that trained each leaf, by tree."""
    trees = _trees(booster.model_to_string())
    reached = booster.predict(X, pred_leaf=True).reshape(-1, len(trees))
    for tree, leaf in zip(trees, reached.T, strict=True):
        yield leaf, _leaves(tree, "leaf_count")


def _node(model: Any, node: dict[str, Any]) -> Node:
    """Return a node of LightGBM's dump; raise ValueError if ONNX has no such node."""
    if "leaf_coeff" in node:
        raise ValueError("ONNX has no linear trees. Train with linear_tree=False.")
    if "leaf_value" in node:
        return Node(value=(node["leaf_value"],))
    if node["decision_type"] != "<=":
        raise refuse_categories(model)
    if node["missing_type"] == "Zero":
        raise ValueError(
            "ONNX has no zeros that count as missing. Train with zero_as_missing=False."
        )
    # If no value was missing in training, LightGBM reads NaN as zero.
    seen_missing = node["missing_type"] == "NaN"
    return Node(
        children=(node["left_child"], node["right_child"]),
        feature=node["split_feature"],
        threshold=node["threshold"],
        missing_left=node["default_left"] if seen_missing else node["threshold"] >= 0,
    )
