"""Sums of trees, and the step from sums to probabilities, as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from committee.ensembles.trees import TreeSum, TreeSumClassifier, TreeSumRegressor


def register_trees() -> None:
    """Register converters of sums of trees with skl2onnx."""
    register(TreeSumClassifier, _write_classifier)
    register(TreeSumRegressor, _write_regressor)


def register(kind: type, write: Callable[[Any, Any, Any], None]) -> None:
    """Register a converter for one of our classes with skl2onnx."""
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


#: Name of the least probability of a logarithmic pool.
_LEAST = "committee_floor"

#: P of erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), for z >= 0, lowest power first;
#: its relative error is at most 1.2e-7, in the tail too (Press et al., Numerical
#: Recipes, section 6.2). ONNX has erf only, and 1 - erf has no digits left there.
_ERFC = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806),
    *(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277),
)


def write_softmax(model: Any, scale: float) -> None:
    """Append p = softmax(c s) to a model whose "probabilities" are sums s."""
    nodes = _Nodes(model)
    _softmax(nodes, nodes.add("Mul", nodes.before, nodes.constant(scale)))


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


def write_calibration(model: Any, calibration: Any, sums: str) -> None:
    """Append p ~ exp(t z + a), with z = log clip(p, eps, 1) of "probabilities", or sums."""
    nodes = _Nodes(model)
    z = sums
    if calibration.floor is not None:
        least = nodes.constant(calibration.floor)
        z = nodes.add("Log", nodes.add("Max", nodes.before, least))
    z = nodes.add("Mul", z, nodes.constant(calibration.slope))
    if calibration.offset is not None:
        z = nodes.add("Add", z, nodes.constant(calibration.offset))
    _softmax(nodes, z)


def write_shares(model: Any) -> None:
    """Append p = max(s, 0) / sum_k max(s_k, 0) to a model of means s with sum one."""
    nodes = _Nodes(model)
    p = nodes.add("Relu", nodes.before)
    total = nodes.add("ReduceSum", p, nodes.axes(1), keepdims=1)
    nodes.add("Div", p, total, output="probabilities")


def write_probit(model: Any, scale: float) -> None:
    """Append p_k ~ prod_j Phi(c (s_k - s_j)), with sum one, to a model of means s."""
    nodes = _Nodes(model)
    own, others = (
        nodes.add("Unsqueeze", nodes.before, nodes.axes(axis)) for axis in (2, 1)
    )
    z = nodes.add("Mul", nodes.add("Sub", own, others), nodes.constant(scale))
    _softmax(
        nodes, nodes.add("ReduceSum", _log_ndtr(nodes, z), nodes.axes(2), keepdims=0)
    )


def name_of_sums(model: Any) -> str:
    """Return the name that "probabilities" gets when the next link is appended."""
    return f"committee_link_{_depth(model)}_before"


def _log_ndtr(nodes: _Nodes, z: str) -> str:
    """Write log Phi(z): with q = Phi(-|z|) it is log q below zero, log(1 - q) above."""
    one, half = nodes.constant(1.0), nodes.constant(0.5)
    u = nodes.add("Mul", nodes.add("Abs", z), nodes.constant(np.sqrt(0.5)))
    t = nodes.add("Div", one, nodes.add("Add", one, nodes.add("Mul", half, u)))
    P = nodes.constant(_ERFC[-1])
    for coefficient in _ERFC[-2::-1]:
        P = nodes.add("Add", nodes.add("Mul", P, t), nodes.constant(coefficient))
    P = nodes.add("Sub", P, nodes.add("Mul", u, u))
    log_q = nodes.add("Add", P, nodes.add("Log", nodes.add("Mul", half, t)))
    log_p = nodes.add("Log", nodes.add("Sub", one, nodes.add("Exp", log_q)))
    below = nodes.add("Less", z, nodes.constant(0.0))
    return nodes.add("Where", below, log_q, log_p)


def _softmax(nodes: _Nodes, scores: str) -> None:
    nodes.add("Softmax", scores, output="probabilities", axis=1)


def _depth(model: Any) -> int:
    """Return the number of links appended so far."""
    names = {name for node in model.graph.node for name in node.output}
    return sum(name.endswith("_before") for name in names)


class _Nodes:
    """Nodes appended to a model; its "probabilities" are renamed to `before`."""

    def __init__(self, model: Any) -> None:
        self._graph, self._n, self._link = model.graph, 0, _depth(model)
        self.before = name_of_sums(model)
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

    def constant(self, value: Any) -> str:
        """Add a number, or an array of them, in single precision."""
        return self._kept(np.array(value, dtype=np.float32))

    def axes(self, axis: int) -> str:
        """Add the number of an axis as a constant."""
        return self._kept(np.array([axis], dtype=np.int64))

    def _kept(self, value: Any) -> str:
        from onnx import numpy_helper

        name = self._name()
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _name(self) -> str:
        self._n += 1
        return f"committee_link_{self._link}_{self._n}"

    def _renamed(self, name: str) -> str:
        return self.before if name == "probabilities" else name
