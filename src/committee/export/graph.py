"""Sums of trees as nodes of an ONNX graph, for skl2onnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from committee.ensembles.trees import (
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
)


def register_trees() -> None:
    """Tell skl2onnx how to write sums of trees."""
    register(TreeSumClassifier, _write_classifier)
    register(TreeSumRegressor, _write_regressor)


def register(kind: type, write: Callable[[Any, Any, Any], None]) -> None:
    """Tell skl2onnx how to write a class of ours, a classifier or a regressor."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator

    name, how = f"Committee{kind.__name__}", {}
    shapes = shape_calculator.calculate_linear_regressor_output_shapes
    if issubclass(kind, ClassifierMixin):
        shapes = shape_calculator.calculate_linear_classifier_output_shapes
        how = {"options": {"zipmap": [True, False, "columns"], "nocl": [True, False]}}
    update_registered_converter(kind, name, shapes, write, **how)


def _write_regressor(scope: Any, operator: Any, container: Any) -> None:
    """Write s(x)."""
    _write_sum(scope, operator, container, operator.outputs[0].full_name)


def _write_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Write link(s(x)) and the code of the largest."""
    label, probabilities = (output.full_name for output in operator.outputs)
    link = operator.raw_operator.link
    if link == "identity":
        _write_sum(scope, operator, container, probabilities)
    else:
        s = scope.get_unique_variable_name("s")
        _write_sum(scope, operator, container, s)
        if link == "softmax":
            container.add_node("Softmax", s, probabilities, op_version=13, axis=1)
        else:
            _write_sigmoid(scope, container, s, probabilities)
    container.add_node(
        "ArgMax", probabilities, label, op_version=13, axis=1, keepdims=0
    )


def _write_sigmoid(scope: Any, container: Any, s: str, probabilities: str) -> None:
    """Write [sigmoid(-s), sigmoid(s)]: one minus the other would lose digits."""
    minus, p0, p1 = (scope.get_unique_variable_name(n) for n in ("minus", "p0", "p1"))
    container.add_node("Neg", s, minus, op_version=13)
    container.add_node("Sigmoid", minus, p0, op_version=13)
    container.add_node("Sigmoid", s, p1, op_version=13)
    container.add_node("Concat", [p0, p1], probabilities, op_version=13, axis=1)


def _write_sum(scope: Any, operator: Any, container: Any, output: str) -> None:
    """Write base + sum_m h_m as one TreeEnsembleRegressor.

    That of classifiers is left alone: for two classes what it does depends on the
    signs of the leaves, and has changed with the releases of onnxruntime.
    """
    container.add_node(
        "TreeEnsembleRegressor",
        operator.inputs[0].full_name,
        output,
        op_domain="ai.onnx.ml",
        op_version=1,
        name=scope.get_unique_operator_name("TreeEnsembleRegressor"),
        **tree_attributes(operator.raw_operator),
    )


def tree_attributes(trees: TreeSum) -> dict[str, Any]:
    """Return the attributes of ONNX's TreeEnsembleRegressor."""
    nodes: dict[str, list[Any]] = {}
    for i, tree in enumerate(trees.trees):
        leaf = np.asarray(tree.left) < 0
        rows = np.arange(len(leaf))
        branch = "BRANCH_LT" if tree.strict else "BRANCH_LEQ"
        leaves, t = np.flatnonzero(leaf), tree.value.shape[1]
        part = {
            "nodes_treeids": np.full(len(rows), i),
            "nodes_nodeids": rows,
            "nodes_featureids": np.where(leaf, 0, tree.feature),
            "nodes_modes": np.where(leaf, "LEAF", branch),
            "nodes_values": np.where(leaf, np.float32(0), tree.threshold),
            "nodes_truenodeids": np.where(leaf, 0, tree.left),
            "nodes_falsenodeids": np.where(leaf, 0, tree.right),
            "nodes_missing_value_tracks_true": tree.missing_left.astype(int),
            "target_treeids": np.full(t * len(leaves), i),
            "target_nodeids": np.repeat(leaves, t),
            "target_ids": np.tile(np.arange(tree.target, tree.target + t), len(leaves)),
            "target_weights": tree.value[leaves].ravel(),
        }
        for name, column in part.items():
            nodes.setdefault(name, []).extend(column.tolist())
    return {
        **nodes,
        "n_targets": len(trees.base),
        "base_values": trees.base.tolist(),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }
