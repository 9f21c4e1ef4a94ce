"""LightGBM: its rounds, their booster, its trees.

The library is imported only where one of its models is at hand.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, refusal, rounds_roster
from committee.ensembles.tree_tables import (
    Node,
    TreeSum,
    make_sum,
    nested_table,
    refuse_categories,
)

_LOSSES = Losses(
    "objective",
    regression=frozenset({"regression", "regression_l1", "huber", "fair", "mape"}),
    classification=frozenset({"binary", "multiclass"}),
)


class LightGBMRound(Round):
    """A round of a LightGBM model; `model` is a lightgbm.Booster."""

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""
        return self.shared.raw(self.model.predict(X, raw_score=True))

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray) -> Any:
        """Put the trees into one text, then write their leaves."""
        from lightgbm import Booster

        shared = rounds[0].shared
        text = _joined([member.model.model_to_string() for member in rounds])
        booster = Booster(model_str=text)
        T = booster.num_model_per_iteration()
        _change_leaves(booster, np.repeat(shared.n_rounds * w, T))
        _change_leaves(booster, np.ones(T), w.sum() * np.asarray(shared.start))
        if shared.wrapper is None:
            return booster
        # LightGBM has no public way to give its estimators a booster.
        model = copy.copy(shared.wrapper)
        model._Booster = booster
        model._best_iteration = booster.best_iteration
        model.n_estimators = len(rounds)
        return model

    @staticmethod
    def raw_predictions(booster: Any, shared: Shared, X: Any) -> Any:
        """Return what a rebuilt booster predicts before its link."""
        return booster.predict(X, raw_score=True)


def lightgbm_roster(model: Any) -> Roster:
    """Return boosters that were read back from the text of one round."""
    booster = getattr(model, "booster_", model)
    classes, slope = _link(model, booster.model_to_string(num_iteration=1))
    M = booster.current_iteration()
    if booster.best_iteration > 0:
        M = min(M, booster.best_iteration)
    trees = booster.dump_model(num_iteration=1)["tree_info"]
    start = np.array([_mean_leaf(tree["tree_structure"]) for tree in trees])
    shared = Shared(M, start, classes, slope, _wrapper(model))
    members = [LightGBMRound(_cut(booster, m, start), shared) for m in range(M)]
    return rounds_roster(members, partial(_stages, booster, shared))


def lightgbm_trees(model: Any) -> TreeSum:
    """Return the trees of an LGBMClassifier or LGBMRegressor as tables of nodes."""
    if not hasattr(model, "booster_"):
        raise ValueError(
            "ONNX needs a booster inside an LGBMClassifier or LGBMRegressor, which "
            f"knows its classes. Got a bare {type(model).__name__}."
        )
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
    classes = _LOSSES.classes(model, objective if "sqrt" in options else name)
    if classes is None:
        return None, 1.0
    if not hasattr(model, "booster_"):
        classes = np.arange(max(2, int(_line(text, "num_class="))))
    return classes, _sigmoid_slope(options)


def _sigmoid_slope(options: list[str]) -> float:
    return float(dict(option.split(":") for option in options).get("sigmoid", 1.0))


def _line(text: str, key: str) -> str:
    """Return the rest of the first line that starts with the key."""
    return next(
        (line[len(key) :] for line in text.splitlines() if line.startswith(key)), ""
    )


def _mean_leaf(node: dict[str, Any]) -> float:
    """Return the mean output of a tree on its training rows.

    LightGBM adds the start of boosting to the first tree; this takes it out again.
    """
    leaves, waiting = [], [node]
    for found in waiting:  # grows on the way
        if "leaf_value" in found:
            leaves.append((found["leaf_value"], found.get("leaf_count", 1)))
        else:
            waiting += [found["left_child"], found["right_child"]]
    values, counts = np.array(leaves, dtype=np.float64).T
    return float(np.average(values, weights=counts if counts.any() else None))


def _cut(booster: Any, m: int, start: FloatArray) -> Any:
    """Return h_m as a lightgbm.Booster of its own."""
    from lightgbm import Booster

    text = booster.model_to_string(start_iteration=m, num_iteration=1)
    one = Booster(model_str=text)
    one.params = {}  # what training was like: not needed, larger than a small tree
    if m == 0:
        _change_leaves(one, np.ones(len(start)), -start)
    return one


def _change_leaves(booster: Any, factor: FloatArray, shift: Any = 0.0) -> None:
    """Let the first trees k predict factor_k h_k + shift_k, in place."""
    shift = np.broadcast_to(shift, factor.shape)
    for info in booster.dump_model()["tree_info"][: len(factor)]:
        k = info["tree_index"]
        for leaf in range(info["num_leaves"]):
            h = booster.get_leaf_output(k, leaf)
            booster.set_leaf_output(k, leaf, factor[k] * h + shift[k])


def _wrapper(model: Any) -> Any:
    """Return the estimator without its booster, None for a bare booster."""
    if not hasattr(model, "booster_"):
        return None
    wrapper = copy.copy(model)
    wrapper._Booster = None
    wrapper._evals_result = {}
    return wrapper


def _stages(booster: Any, shared: Shared, X: Any) -> Iterator[FloatArray]:
    """Send the rows down all trees at once, and look up the leaves."""
    M, start = shared.n_rounds, np.asarray(shared.start)
    leaves = booster.predict(X, pred_leaf=True, num_iteration=M)
    leaves = leaves.reshape(-1, M, len(start))
    for m in range(M):
        h = np.column_stack(
            [
                _leaf_outputs(booster, m * len(start) + k, leaves[:, m, k])
                for k in range(len(start))
            ]
        )
        yield shared.raw(h - start if m == 0 else h)


def _leaf_outputs(booster: Any, tree: int, leaves: Any) -> FloatArray:
    """Return the outputs of the leaves that rows have reached in one tree."""
    outputs = [booster.get_leaf_output(tree, i) for i in range(leaves.max() + 1)]
    reached: FloatArray = np.array(outputs)[leaves]
    return reached


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


def _node(model: Any, node: dict[str, Any]) -> Node:
    """Return a node of LightGBM's dump, or refuse what ONNX does not have."""
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
    # Where no row was missing in training, LightGBM takes NaN for zero.
    seen_missing = node["missing_type"] == "NaN"
    return Node(
        children=(node["left_child"], node["right_child"]),
        feature=node["split_feature"],
        threshold=node["threshold"],
        missing_left=node["default_left"] if seen_missing else node["threshold"] >= 0,
    )
