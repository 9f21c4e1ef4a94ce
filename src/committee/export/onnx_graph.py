"""Sums of trees and of members as nodes of ONNX graphs, with gates and links.

skl2onnx calls the converters of our sums while it writes a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee._typing import FloatArray, Member
from committee.ensembles.tree_sum import (
    Link,
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
)
from committee.gates.base import LinearGate
from committee.predictions import vote_counts


class MemberSum(BaseEstimator):
    """The estimator b + sum_m w_m z_m, or sum_m g_m(x) z_m, that skl2onnx writes.

    z_m is the prediction of a member, with a `floor` log clip(f_m, floor, 1), with
    `votes` one vote for the class of the largest probability.
    """

    def __init__(
        self,
        members: list[Member],
        weights: FloatArray | LinearGate,
        offset: FloatArray | float = 0.0,
        *,
        floor: float | None = None,
        votes: bool = False,
        names: list[str] | None = None,
    ) -> None:
        self.members = members
        self.weights = weights
        self.offset = offset
        self.floor = floor
        self.votes = votes
        self.names = names


class MemberSumClassifier(ClassifierMixin, MemberSum):
    """A sum of members for classes."""

    classes_: Any
    link: Link


class MemberSumRegressor(RegressorMixin, MemberSum):
    """A sum of members for numbers."""


def register_sums() -> None:
    """Register converters of sums of trees and of members with skl2onnx."""
    _register(TreeSumClassifier, _write_trees)
    _register(TreeSumRegressor, _write_trees)
    _register(MemberSumClassifier, _write_members)
    _register(MemberSumRegressor, _write_members)


def _register(kind: type, write_sum: Callable[..., str]) -> None:
    """Register a converter for one of our classes, given the writer of its sum."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator

    name = f"Committee{kind.__name__}"
    if issubclass(kind, ClassifierMixin):
        shapes = shape_calculator.calculate_linear_classifier_output_shapes
        write = partial(_write_classifier, write_sum)
        options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
        update_registered_converter(kind, name, shapes, write, options=options)
    else:
        shapes = shape_calculator.calculate_linear_regressor_output_shapes
        write = partial(_write_regressor, write_sum)
        update_registered_converter(kind, name, shapes, write)


def _write_regressor(
    write_sum: Callable[..., str], scope: Any, operator: Any, container: Any
) -> None:
    """Write s(x)."""
    nodes = _Nodes(scope, container)
    nodes.add(
        "Identity", write_sum(nodes, operator), output=operator.outputs[0].full_name
    )


def _write_classifier(
    write_sum: Callable[..., str], scope: Any, operator: Any, container: Any
) -> None:
    """Write link(s(x)), and the label of the largest."""
    nodes, model = _Nodes(scope, container), operator.raw_operator
    label, probabilities = (output.full_name for output in operator.outputs)
    s = write_sum(nodes, operator)
    p = _write_link(nodes, model.link, s)
    nodes.add("Identity", p, output=probabilities)
    # Probabilities in single precision may be equal where sums differ.
    by_sums = model.link.kind != "sigmoid" and model.link.keeps_order
    code = nodes.add("ArgMax", s if by_sums else p, axis=1, keepdims=0)
    classes = np.asarray(model.classes_)
    labels = (
        nodes.integers(classes) if classes.dtype.kind in "iu" else nodes.text(classes)
    )
    nodes.add("Gather", labels, code, output=label)


def _write_link(nodes: _Nodes, link: Link, s: str) -> str:
    """Write the probabilities of sums; return their name."""
    z = s if link.scale == 1 else nodes.add("Mul", s, nodes.numbers(link.scale))
    if link.kind == "sigmoid":  # 1 - sigmoid(z) would lose digits
        both = [nodes.add("Sigmoid", nodes.add("Neg", z)), nodes.add("Sigmoid", z)]
        return nodes.add("Concat", *both, axis=1)
    found = link.calibration
    if found is None or found.floor is not None:
        if link.kind == "softmax":
            p = nodes.add("Softmax", z, axis=1)
        else:
            cut = nodes.add("Relu", s)
            total = nodes.add("ReduceSum", cut, nodes.integers([1]), keepdims=1)
            p = nodes.add("Div", cut, total)
        if found is None:
            return p
        z = nodes.add("Log", nodes.add("Max", p, nodes.numbers(found.floor)))
    else:
        z = s
    z = nodes.add("Mul", z, nodes.numbers(found.slope))
    if found.offset is not None:
        z = nodes.add("Add", z, nodes.numbers(found.offset))
    return nodes.add("Softmax", z, axis=1)


def _write_trees(nodes: _Nodes, operator: Any) -> str:
    """Write base + sum_m h_m as one TreeEnsembleRegressor.

    TreeEnsembleClassifier is not used: for two classes its result depends on the signs
    of the leaves, and has changed between releases of onnxruntime.
    """
    X = operator.inputs[0].full_name
    how = _tree_attributes(operator.raw_operator)
    return nodes.add(
        "TreeEnsembleRegressor", X, op_domain="ai.onnx.ml", op_version=1, **how
    )


def _tree_attributes(trees: TreeSum) -> dict[str, Any]:
    """Return the attributes of ONNX's TreeEnsembleRegressor."""
    table = trees.trees
    leaf, t = table.leaf, table.value.shape[1]
    sizes = np.diff(table.start)
    numbers = np.arange(len(leaf)) - np.repeat(table.start[:-1], sizes)
    which = np.repeat(np.arange(len(table)), sizes)
    # Children, counted from the root of their tree.
    right = np.where(leaf, 0, table.right - np.repeat(table.start[:-1], sizes))
    targets = table.target[which[leaf]][:, np.newaxis] + np.arange(t)
    # Zeros take bytes and time. But every leaf needs a weight, and onnxruntime adds the
    # base value of a target only if a leaf has a weight for it.
    kept = (table.value != 0) | (trees.base[targets] != 0)
    kept[:, 0] |= ~kept.any(axis=1)
    rows = np.nonzero(kept)[0]
    nodes = {
        "nodes_treeids": which,
        "nodes_nodeids": numbers,
        "nodes_featureids": np.where(leaf, 0, table.feature),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_values": table.threshold,
        "nodes_truenodeids": np.where(leaf, 0, numbers + 1),
        "nodes_falsenodeids": right,
        "nodes_missing_value_tracks_true": table.missing_left.astype(int),
        "target_treeids": which[leaf][rows],
        "target_nodeids": numbers[leaf][rows],
        "target_ids": targets[kept],
        "target_weights": trees.unit * table.value[kept],
        "base_values": trees.base,
    }
    return {
        **{name: column.tolist() for name, column in nodes.items()},
        "n_targets": len(trees.base),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def _write_members(nodes: _Nodes, operator: Any) -> str:
    """Write every member, its term with its weight, and their sum."""
    model = operator.raw_operator
    of_classes, gate = hasattr(model, "classes_"), model.weights
    width, G, unit = len(model.classes_) if of_classes else 1, "", 1.0
    if isinstance(gate, LinearGate):
        G = _write_gate(nodes, operator.inputs[0].full_name, gate)
    else:
        weights, unit = vote_counts(np.asarray(gate))
    terms = []
    for m, member in enumerate(model.members):
        f = nodes.member(operator, member, of_classes)
        z = nodes.add("Reshape", f, nodes.integers([-1, width]))
        if model.votes:
            code = nodes.add("ArgMax", z, axis=1, keepdims=1)
            vote = nodes.add("Equal", code, nodes.integers(np.arange(width)[None]))
            z = nodes.cast(vote, "FLOAT")
        if model.floor is not None:
            z = nodes.add("Log", nodes.add("Max", z, nodes.numbers(model.floor)))
        if G:
            z = nodes.add("Mul", z, nodes.add("Gather", G, nodes.integers([m]), axis=1))
        elif weights[m] != 1:
            z = nodes.add("Mul", z, nodes.numbers(weights[m]))
        terms.append(z)
    s = nodes.add("Sum", *terms)
    if unit != 1:
        s = nodes.add("Mul", s, nodes.numbers(unit))
    return (
        nodes.add("Add", s, nodes.numbers(model.offset)) if np.any(model.offset) else s
    )


def _write_gate(nodes: _Nodes, X: str, gate: LinearGate) -> str:
    """Write G (N, M): computed in double precision, then cast to single."""
    doubles = partial(nodes.numbers, double=True)
    x = nodes.cast(X, "DOUBLE")
    x = nodes.add("Gather", x, nodes.integers(gate.columns), axis=1)
    x = nodes.add("Sub", x, doubles(gate.centre))
    z = nodes.add("Div", x, doubles(gate.scale))
    h = None
    for B, ways in gate.nodes:
        logits = nodes.add("MatMul", z, doubles(B[:, 1:].T))
        logits = nodes.add("Add", logits, doubles(B[:, 0]))
        p = nodes.add("Softmax", logits, axis=1)
        one = nodes.add("ReduceSum", p, nodes.integers([1]), keepdims=1)
        p = nodes.add("Concat", p, one, axis=1)  # for members not below this node
        p = nodes.add("Gather", p, nodes.integers(ways), axis=1)
        h = p if h is None else nodes.add("Mul", h, p)
    assert h is not None
    moved = nodes.add("Mul", h, doubles([gate.share]))
    kept = doubles((1.0 - gate.share) * gate.static)
    return nodes.cast(nodes.add("Add", moved, kept), "FLOAT")


class _Nodes:
    """Adds nodes and constants to a graph that skl2onnx is writing."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def add(self, kind: str, *inputs: str, output: str = "", **how: Any) -> str:
        """Add a node; return the name of its output."""
        output = output or self._scope.get_unique_variable_name(f"sum_{kind.lower()}")
        how = {"op_version": 13, **how}
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), output, name=name, **how)
        return output

    def cast(self, x: str, kind: str) -> str:
        """Add a cast to a type of ONNX."""
        from onnx import TensorProto

        return self.add("Cast", x, to=getattr(TensorProto, kind))

    def numbers(self, values: Any, double: bool = False) -> str:
        """Add constants in single or double precision."""
        return self._constant(np.asarray(values, np.float64 if double else np.float32))

    def integers(self, values: Any) -> str:
        """Add whole numbers."""
        return self._constant(np.asarray(values, np.int64))

    def text(self, values: Any) -> str:
        """Add words."""
        return self._constant(np.asarray(values, object))

    def _constant(self, values: Any) -> str:
        from onnx import helper

        name: str = self._scope.get_unique_variable_name("sum_constant")
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        content = values.ravel().tolist()
        if values.dtype == object:
            content = [word.encode() for word in content]
        self._container.add_initializer(name, kind, list(values.shape), content)
        return name

    def member(self, operator: Any, member: Member, of_classes: bool) -> str:
        """Add a member on the same input; return the name of its predictions."""
        from skl2onnx import get_model_alias
        from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

        scope = self._scope
        inner = scope.declare_local_operator(get_model_alias(type(member)), member)
        inner.inputs = operator.inputs
        if of_classes:
            inner.outputs.append(
                scope.declare_local_variable("code", Int64TensorType())
            )
        f = scope.declare_local_variable("f", FloatTensorType())
        inner.outputs.append(f)
        return str(f.onnx_name)
