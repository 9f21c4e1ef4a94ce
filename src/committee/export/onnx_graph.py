"""Nodes of ONNX graphs: sums of trees, gated sums, and links from sums to probabilities.

skl2onnx calls the converters of sums while it writes a graph; links are appended to a
finished graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, Member
from committee.ensembles.tree_sum import (
    Link,
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
)
from committee.ensembles.voting import check_probabilities, on_all_columns
from committee.gates.base import LinearGate


class GatedSum(BaseEstimator):
    """The estimator sum_m g_m(x) f_m(x) that skl2onnx writes."""

    def __init__(self, estimators_: list[Member], gate: LinearGate, classes_: Any):
        self.estimators_ = estimators_
        self.gate = gate
        self.classes_ = classes_

    @property
    def named_estimators_(self) -> dict[str, Member]:
        """The members by their numbers."""
        return {f"member{m}": member for m, member in enumerate(self.estimators_)}


class GatedSumClassifier(ClassifierMixin, GatedSum):
    """A gated sum of probabilities."""


class GatedSumRegressor(RegressorMixin, GatedSum):
    """A gated sum of numbers."""


def is_gated(model: Any) -> bool:
    """Return True if a committee, or a mixture, has weights that depend on x."""
    return getattr(model, "gate_", None) is not None


def gated_sum(model: Any) -> GatedSum:
    """Return the estimator that skl2onnx writes for a gated committee or a mixture."""
    check_is_fitted(model)
    roster = model._as_roster()
    if getattr(model, "transformer_", None) is not None:
        raise ValueError(
            "to_onnx writes gates on the same columns as the members, and this committee "
            "transforms columns for its members: use committee.save."
        )
    if roster.output != "soft":
        raise ValueError(
            "to_onnx writes a gated sum of probabilities, and these members vote: use "
            "committee.save."
        )
    members = [on_all_columns(m, model.n_features_in_) for m in roster.members]
    if not is_classifier(model):
        return GatedSumRegressor(members, _linear_form(model.gate_), None)
    check_probabilities(members, roster.member_classes, "A gated sum in ONNX")
    codes = np.arange(len(roster.member_classes))
    return GatedSumClassifier(members, _linear_form(model.gate_), codes)


def _linear_form(gate: Any) -> LinearGate:
    """Return the coefficients of a gate; raise ValueError if it is not linear in x."""
    if hasattr(gate, "linear_form"):
        return gate.linear_form()  # type: ignore[no-any-return]
    raise ValueError(
        "to_onnx writes gates that are linear in x, such as SoftmaxGate. "
        f"{type(gate).__name__} is not: use committee.save, or "
        "committee.with_gate(SoftmaxGate(), X, y)."
    )


def register_sums() -> None:
    """Register converters of sums of trees and of gated sums with skl2onnx."""
    _register(TreeSumClassifier, _write_trees)
    _register(TreeSumRegressor, _write_trees)
    _register(GatedSumClassifier, _write_gated)
    _register(GatedSumRegressor, _write_gated)


def _register(kind: type, write_sum: Callable[..., None]) -> None:
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
    write_sum: Callable[..., None], scope: Any, operator: Any, container: Any
) -> None:
    """Write s(x)."""
    write_sum(scope, operator, container, operator.outputs[0].full_name)


def _write_classifier(
    write_sum: Callable[..., None], scope: Any, operator: Any, container: Any
) -> None:
    """Write link(s(x)) and the code of the largest."""
    label, probabilities = (output.full_name for output in operator.outputs)
    link = getattr(operator.raw_operator, "link", Link()).kind
    if link == "shares":  # of means of probabilities, which sum to one
        write_sum(scope, operator, container, probabilities)
    else:
        s = scope.get_unique_variable_name("s")
        write_sum(scope, operator, container, s)
        if link == "softmax":
            container.add_node("Softmax", s, probabilities, op_version=13, axis=1)
        else:
            _write_sigmoid(scope, container, s, probabilities)
    container.add_node(
        "ArgMax", probabilities, label, op_version=13, axis=1, keepdims=0
    )


def _write_sigmoid(scope: Any, container: Any, s: str, probabilities: str) -> None:
    """Write [sigmoid(-s), sigmoid(s)]; 1 - sigmoid(s) would lose digits."""
    minus, p0, p1 = (scope.get_unique_variable_name(n) for n in ("minus", "p0", "p1"))
    container.add_node("Neg", s, minus, op_version=13)
    container.add_node("Sigmoid", minus, p0, op_version=13)
    container.add_node("Sigmoid", s, p1, op_version=13)
    container.add_node("Concat", [p0, p1], probabilities, op_version=13, axis=1)


def _write_trees(scope: Any, operator: Any, container: Any, output: str) -> None:
    """Write base + sum_m h_m as one TreeEnsembleRegressor.

    TreeEnsembleClassifier is not used: for two classes its result depends on the signs
    of the leaves, and has changed between releases of onnxruntime.
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
    table = trees.trees
    leaf, t = table.leaf, table.value.shape[1]
    sizes = np.diff(table.start)
    numbers = np.arange(len(leaf)) - np.repeat(table.start[:-1], sizes)
    which = np.repeat(np.arange(len(table)), sizes)
    # Children, counted from the root of their tree.
    right = np.where(leaf, 0, table.right - np.repeat(table.start[:-1], sizes))
    targets = table.target[which[leaf]][:, np.newaxis] + np.arange(t)
    nodes = {
        "nodes_treeids": which,
        "nodes_nodeids": numbers,
        "nodes_featureids": np.where(leaf, 0, table.feature),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_values": table.threshold,
        "nodes_truenodeids": np.where(leaf, 0, numbers + 1),
        "nodes_falsenodeids": right,
        "nodes_missing_value_tracks_true": table.missing_left.astype(int),
        "target_treeids": np.repeat(which[leaf], t),
        "target_nodeids": np.repeat(numbers[leaf], t),
        "target_ids": targets.ravel(),
        "target_weights": (trees.unit * trees.link.scale * table.value).ravel(),
        "base_values": trees.link.scale * trees.base,
    }
    return {
        **{name: column.tolist() for name, column in nodes.items()},
        "n_targets": len(trees.base),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def _write_gated(scope: Any, operator: Any, container: Any, output: str) -> None:
    """Write every member beside its column of G, and add up their products."""
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    model = operator.raw_operator
    nodes = _Converter(scope, container)
    G = _write_gate(nodes, operator.inputs[0].full_name, model.gate)
    terms = []
    for m, member in enumerate(model.estimators_):
        inner = scope.declare_local_operator(get_model_alias(type(member)), member)
        inner.inputs = operator.inputs
        if model.classes_ is not None:
            inner.outputs.append(
                scope.declare_local_variable(f"label_{m}", Int64TensorType())
            )
        f = scope.declare_local_variable(f"f_{m}", FloatTensorType())
        inner.outputs.append(f)
        width = 1 if model.classes_ is None else len(model.classes_)
        f_m = nodes.add("Reshape", f.onnx_name, nodes.integers([-1, width]))
        g_m = nodes.add("Gather", G, nodes.integers([m]), axis=1)
        terms.append(nodes.add("Mul", f_m, g_m))
    container.add_node("Sum", terms, output, op_version=13)


def _write_gate(nodes: _Converter, X: str, gate: LinearGate) -> str:
    """Write G (N, M): computed in double precision, then cast to single."""
    from onnx import TensorProto

    x = nodes.add("Cast", X, to=TensorProto.DOUBLE)
    x = nodes.add("Gather", x, nodes.integers(gate.columns), axis=1)
    x = nodes.add("Sub", x, nodes.numbers(gate.centre))
    z = nodes.add("Div", x, nodes.numbers(gate.scale))
    h = None
    for B, ways in gate.nodes:
        logits = nodes.add("MatMul", z, nodes.numbers(B[:, 1:].T))
        logits = nodes.add("Add", logits, nodes.numbers(B[:, 0]))
        p = nodes.add("Softmax", logits, axis=1)
        one = nodes.add("ReduceSum", p, nodes.integers([1]), keepdims=1)
        p = nodes.add("Concat", p, one, axis=1)  # for members not below this node
        p = nodes.add("Gather", p, nodes.integers(ways), axis=1)
        h = p if h is None else nodes.add("Mul", h, p)
    assert h is not None
    moved = nodes.add("Mul", h, nodes.numbers(np.array([gate.share])))
    kept = nodes.numbers((1.0 - gate.share) * gate.static)
    return nodes.add("Cast", nodes.add("Add", moved, kept), to=TensorProto.FLOAT)


class _Converter:
    """Adds nodes and constants to a graph that skl2onnx is writing."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def add(self, kind: str, *inputs: str, **how: Any) -> str:
        """Add a node; return the name of its output."""
        output: str = self._scope.get_unique_variable_name(f"gate_{kind.lower()}")
        self._container.add_node(kind, list(inputs), output, op_version=13, **how)
        return output

    def numbers(self, values: FloatArray) -> str:
        """Add constants in double precision."""
        from onnx import TensorProto

        return self._constant(np.asarray(values, np.float64), TensorProto.DOUBLE)

    def integers(self, values: Any) -> str:
        """Add whole numbers."""
        from onnx import TensorProto

        return self._constant(np.asarray(values, np.int64), TensorProto.INT64)

    def _constant(self, values: Any, kind: int) -> str:
        name: str = self._scope.get_unique_variable_name("gate_constant")
        self._container.add_initializer(
            name, kind, list(values.shape), values.ravel().tolist()
        )
        return name


#: Name of the least probability of a logarithmic pool.
_LEAST = "committee_floor"


def write_logarithms(model: Any, floor: float) -> None:
    """Replace sum_m w_m p_m by sum_m w_m log clip(p_m, floor, 1) in a model.

    skl2onnx writes a vote as a Sum of products with the weights.
    """
    from onnx import helper, numpy_helper

    graph = model.graph
    by_output = {name: node for node in graph.node for name in node.output}
    total = by_output["probabilities"]
    least = numpy_helper.from_array(np.array(floor, dtype=np.float32), _LEAST)
    graph.initializer.append(least)
    order = list(graph.node)
    for m, product in enumerate(total.input):
        node = by_output[product]
        clipped, logarithm = f"{_LEAST}_{m}", f"committee_log_{m}"
        new = [
            helper.make_node("Max", [node.input[0], _LEAST], [clipped]),
            helper.make_node("Log", [clipped], [logarithm]),
        ]
        node.input[0] = logarithm
        at = order.index(node)
        order[at:at] = new
    del graph.node[:]
    graph.node.extend(order)


class Links:
    """Nodes appended to a model, whose output "probabilities" is renamed to `sums`."""

    sums = "committee_sums"

    def __init__(self, model: Any) -> None:
        self._graph, self._n = model.graph, 0
        for node in self._graph.node:
            node.input[:] = [self._renamed(name) for name in node.input]
            node.output[:] = [self._renamed(name) for name in node.output]

    def add(
        self, kind: str, *inputs: str, output: str | None = None, **how: Any
    ) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        output = output or self._name()
        self._graph.node.append(helper.make_node(kind, inputs, [output], **how))
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Add a number, or an array of them; return its name."""
        from onnx import numpy_helper

        name = self._name()
        self._graph.initializer.append(
            numpy_helper.from_array(np.array(value, dtype=dtype), name)
        )
        return name

    def _name(self) -> str:
        self._n += 1
        return f"committee_link_{self._n}"

    def _renamed(self, name: str) -> str:
        return self.sums if name == "probabilities" else name


def write_softmax(nodes: Links, s: str, scale: Any) -> str:
    """Write p = softmax(c s); return its name."""
    return nodes.add("Softmax", nodes.add("Mul", s, nodes.constant(scale)), axis=1)


def write_calibration(nodes: Links, s: str, p: str, calibration: Any) -> str:
    """Write softmax(t z + a), with z = log clip(p, eps, 1), or z = s; return its name."""
    z = s
    if calibration.floor is not None:
        z = nodes.add("Log", nodes.add("Max", p, nodes.constant(calibration.floor)))
    z = nodes.add("Mul", z, nodes.constant(calibration.slope))
    if calibration.offset is not None:
        z = nodes.add("Add", z, nodes.constant(calibration.offset))
    return nodes.add("Softmax", z, axis=1)


def write_shares(nodes: Links, s: str) -> str:
    """Write p = max(s, 0) / sum_k max(s_k, 0) of means s with sum one; return its name."""
    p = nodes.add("Relu", s)
    total = nodes.add("ReduceSum", p, nodes.constant([1], np.int64), keepdims=1)
    return nodes.add("Div", p, total)
