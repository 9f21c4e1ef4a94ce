"""Members behind a gate that is linear in x, as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, Member
from committee.ensembles.voting import on_all_columns
from committee.export.onnx_graph import register


@dataclass(frozen=True)
class LinearGate:
    """g(x) = (1 - share) w + share h(x), h a product of softmaxes of B z.

    z = (1, (x - centre) / scale) of some columns. A node is B (b, 1 + d) and for each of
    the M members the number of its way there, b where it is not below the node.
    """

    columns: IntArray
    centre: FloatArray
    scale: FloatArray
    nodes: Sequence[tuple[FloatArray, IntArray]]
    static: FloatArray
    share: float


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
            "to_onnx writes gates that see the same columns as the members, and this "
            "committee transforms columns before them: use committee.save."
        )
    if roster.output != "soft":
        raise ValueError(
            "to_onnx writes a gated sum of probabilities, and these members vote: use "
            "committee.save."
        )
    members = [on_all_columns(m, model.n_features_in_) for m in roster.members]
    if not is_classifier(model):
        return GatedSumRegressor(members, _linear_form(model.gate_), None)
    for member in members:
        known = getattr(member, "classes_", [])
        if not hasattr(member, "predict_proba") or not np.array_equal(
            known, roster.member_classes
        ):
            raise ValueError(
                "to_onnx writes a gated sum of members that have predict_proba and know "
                f"all of the {len(roster.member_classes)} classes. Got a "
                f"{type(member).__name__} that does not: use committee.save."
            )
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


def register_gated() -> None:
    """Tell skl2onnx how to write gated sums."""
    register(GatedSumClassifier, _write_classifier)
    register(GatedSumRegressor, _write_regressor)


def _write_regressor(scope: Any, operator: Any, container: Any) -> None:
    """Write sum_m g_m f_m."""
    _write_sum(scope, operator, container, operator.outputs[0].full_name)


def _write_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Write sum_m g_m p_m and the code of the largest."""
    label, probabilities = (output.full_name for output in operator.outputs)
    _write_sum(scope, operator, container, probabilities)
    container.add_node(
        "ArgMax", probabilities, label, op_version=13, axis=1, keepdims=0
    )


def _write_sum(scope: Any, operator: Any, container: Any, output: str) -> None:
    """Write every member beside its column of G, and add up their products."""
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    model = operator.raw_operator
    nodes = _Nodes(scope, container)
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


def _write_gate(nodes: _Nodes, X: str, gate: LinearGate) -> str:
    """Write G (N, M): in double precision as here, then as single."""
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
        p = nodes.add("Concat", p, one, axis=1)  # the way of members not below
        p = nodes.add("Gather", p, nodes.integers(ways), axis=1)
        h = p if h is None else nodes.add("Mul", h, p)
    assert h is not None
    moved = nodes.add("Mul", h, nodes.numbers(np.array([gate.share])))
    kept = nodes.numbers((1.0 - gate.share) * gate.static)
    return nodes.add("Cast", nodes.add("Add", moved, kept), to=TensorProto.FLOAT)


class _Nodes:
    """Nodes and constants of a graph that skl2onnx is writing."""

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
