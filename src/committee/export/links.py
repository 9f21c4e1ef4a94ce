"""What turns weighted means into probabilities, as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Name of the weighted means, where they are not the probabilities themselves.
_MEANS = "committee_means"

#: P of erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), for z >= 0, lowest power first;
#: its relative error is at most 1.2e-7, in the tail too (Press et al., Numerical
#: Recipes, section 6.2). ONNX has erf only, and 1 - erf has no digits left there.
_ERFC = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806),
    *(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277),
)


def write_slope(model: Any, slope: float) -> str:
    """Write p = softmax(b s) behind a model whose "probabilities" are means s.

    Return the name of the means, which are largest where p is.
    """
    nodes = _Nodes(model)
    _softmax(nodes, nodes.add("Mul", _MEANS, nodes.constant(slope)))
    return _MEANS


def write_shares(model: Any) -> str:
    """Write p = max(s, 0) / sum_k max(s_k, 0) behind a model of means s with sum one.

    Return the name of the means, as `write_slope` does.
    """
    nodes = _Nodes(model)
    p = nodes.add("Relu", _MEANS)
    total = nodes.add("ReduceSum", p, nodes.axes(1), keepdims=1)
    nodes.add("Div", p, total, output="probabilities")
    return _MEANS


def write_probit(model: Any, scale: float) -> str:
    """Write p_k ~ prod_j Phi(c (s_k - s_j)) behind a model of means s, scaled to sum one.

    Return the name of the means, as `write_slope` does.
    """
    nodes = _Nodes(model)
    own, others = (nodes.add("Unsqueeze", _MEANS, nodes.axes(axis)) for axis in (2, 1))
    z = nodes.add("Mul", nodes.add("Sub", own, others), nodes.constant(scale))
    _softmax(
        nodes, nodes.add("ReduceSum", _log_ndtr(nodes, z), nodes.axes(2), keepdims=0)
    )
    return _MEANS


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


class _Nodes:
    """Nodes behind a model whose "probabilities" become the means."""

    def __init__(self, model: Any) -> None:
        self._graph, self._n = model.graph, 0
        for node in self._graph.node:
            node.input[:] = [_renamed(name) for name in node.input]
            node.output[:] = [_renamed(name) for name in node.output]

    def add(
        self, kind: str, *inputs: str, output: str | None = None, **how: Any
    ) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        output = output or self._name()
        self._graph.node.append(helper.make_node(kind, inputs, [output], **how))
        return output

    def constant(self, value: float) -> str:
        """Add a number in single precision."""
        return self._kept(np.array(value, dtype=np.float32))

    def axes(self, axis: int) -> str:
        """Add the number of an axis."""
        return self._kept(np.array([axis], dtype=np.int64))

    def _kept(self, value: Any) -> str:
        from onnx import numpy_helper

        name = self._name()
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _name(self) -> str:
        self._n += 1
        return f"committee_link_{self._n}"


def _renamed(name: str) -> str:
    return _MEANS if name == "probabilities" else name
