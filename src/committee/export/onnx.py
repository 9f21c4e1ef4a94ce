"""The committee as an ONNX file, for onnxruntime and other languages."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from committee._files import replaced_atomically
from committee._install import how_to_install
from committee.calibration import Calibration
from committee.ensembles import trees_of
from committee.ensembles.roster import kind_of_member
from committee.ensembles.voting import voting_regressor
from committee.export.native import (
    averaging,
    check_mean,
    native_of_network,
    pool_scale,
)
from committee.export.onnx_graph import (
    GatedSum,
    Links,
    gated_sum,
    is_gated,
    register_sums,
    write_calibration,
    write_logarithms,
    write_shares,
    write_softmax,
)

#: Versions of operators that onnxruntime 1.19 and later supports.
_OPSETS = {"": 18, "ai.onnx.ml": 3}
#: Exceptions of skl2onnx for parts that it cannot write.
_REFUSALS = (RuntimeError, NotImplementedError, AssertionError, KeyError, TypeError)


def to_onnx(
    committee: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    X: Any = None,
) -> Any:
    """Return a committee as an ONNX model, and write it to a file.

        onnx(x) = sum_m w_m f_m(x),   x in single precision

    With a `SoftmaxGate`, and for mixtures whose gates are multinomial regressions, the
    weights are g_m(x), and the gate is in the graph. The graph also has the calibration
    of a classifier, and the logarithms and offsets of `LogPool`.

    The input is "X", of shape (N, n_features) and in single precision, or with `X` one
    input for each column. The outputs are "label" (N,) and "probabilities" (N, K), or
    "variable" (N, 1) for regression.

    Thresholds of trees are rounded down, so that every row of x in single precision
    takes the same branch as in the committee. Outputs differ by rounding only. Behind a
    pipeline, compare with the committee on the same numbers in double precision: in
    single precision scikit-learn's transformers round, and rows near a threshold may
    take the other branch.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor, mixture, or single network
        Fitted. `to_sklearn` must have a native model of it, or it must be a logarithmic
        pool or have a gate that is linear in x.
    path : path, optional
        File for the model. It is replaced as a whole or not at all.
    X : frame, optional
        Some rows, for a committee that begins with a pipeline: every column becomes an
        input with its name and type. Needed if the pipeline encodes text or picks columns
        by name.

    Returns
    -------
    model : onnx.ModelProto

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    ValueError
        If the committee has no native model, or ONNX has no counterpart of a part of it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import Bagging, CommitteeClassifier, to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = CommitteeClassifier(generator=Bagging(10), random_state=0)
    >>> model = to_onnx(committee.fit(X, y))
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"to_onnx needs skl2onnx, which is not installed: {how_to_install('onnx')}."
        ) from error
    if (network := native_of_network(committee)) is not None:
        native = network
    elif is_gated(committee):
        native = gated_sum(committee)
    else:
        native = averaging(committee, as_vote=True)
    if getattr(committee, "transformer_", None) is None:
        X = None
    labels = _labels(committee) if is_classifier(committee) else None
    model = _written(committee, native, labels, X, isinstance(native, Pipeline))
    _check_size(model)
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(model.SerializeToString())
    return model


def _written(committee: Any, native: Any, labels: Any, X: Any, double: bool) -> Any:
    """Return the model; its pipeline works in double precision if onnxruntime can."""
    model = _converted(_writable(native), _inputs(committee, X, double))
    if labels is not None:
        model = _with_labels(model, labels, committee)
    _fix_inputs(model, single=X is None)
    _drop_unused(model)
    problem = _problem(model)
    if problem is None:
        return model
    if double:
        return _written(committee, native, labels, X, False)
    raise ValueError(f"onnxruntime cannot run what skl2onnx has written: {problem}")


def _check_size(model: Any) -> None:
    """Raise ValueError for numbers whose sum may be infinite in single precision."""
    from onnx import numpy_helper

    arrays = [numpy_helper.to_array(array) for array in model.graph.initializer]
    for node in model.graph.node:
        # A split may have an infinite threshold.
        kept = [a.floats for a in node.attribute if a.name != "nodes_values"]
        arrays += [np.array(floats, dtype=np.float64) for floats in kept]
    floats = [abs(a.astype(np.float64)).sum() for a in arrays if a.dtype.kind == "f"]
    if max(floats, default=0.0) > np.finfo(np.float32).max:
        raise ValueError(
            "Numbers in ONNX are in single precision, up to 3.4e+38, and this committee "
            "has larger ones: train on X and y in larger units."
        )


def _problem(model: Any) -> str | None:
    """Return the error of onnxruntime, if it is installed and cannot run the model."""
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        return None
    try:
        InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 (its exceptions have no base of their own)
        return str(error).splitlines()[0]
    return None


def _labels(committee: Any) -> Any:
    """Return the labels as text or whole numbers, the types that ONNX has."""
    classes = np.asarray(committee.classes_)
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f" and np.all(classes == np.floor(classes)):
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise ValueError(
        "Labels in ONNX are text or whole numbers. Got labels such as "
        f"{classes.tolist()[0]!r}; train on codes or on text."
    )


def _inputs(committee: Any, X: Any, double: bool) -> list[tuple[str, Any]]:
    """Return the names and types of the inputs."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    number = DoubleTensorType if double else FloatTensorType
    if X is None:
        return [("X", number([None, committee.n_features_in_]))]
    if not hasattr(X, "columns"):
        raise TypeError(
            "X must be a frame, whose columns have names and types. Got "
            f"{type(X).__name__}; for plain arrays leave it out."
        )
    kinds = {"f": number, "i": Int64TensorType, "u": Int64TensorType}
    return [
        (name, kinds.get(np.asarray(X[name]).dtype.kind, StringTensorType)([None, 1]))
        for name in X.columns
    ]


def _converted(native: Any, inputs: list[tuple[str, Any]]) -> Any:
    """Return the model of skl2onnx; raise ValueError that names the part it refuses."""
    register_sums()
    try:
        return _convert(native, inputs)
    except _REFUSALS as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"skl2onnx could not write {_culprit(native)}: make the committee without it, "
            f"or use committee.save. The error of skl2onnx: {why}"
        ) from error


def _convert(native: Any, inputs: list[tuple[str, Any]]) -> Any:
    from skl2onnx import convert_sklearn

    options = {"zipmap": False} if is_classifier(native) else None
    return convert_sklearn(
        native, initial_types=inputs, options=options, target_opset=_OPSETS
    )


def _culprit(native: Any) -> str:
    """Describe the member that cannot be written, or another part."""
    from skl2onnx.common.data_types import FloatTensorType

    core = native.steps[-1][1] if isinstance(native, Pipeline) else native
    for name, member in getattr(core, "named_estimators_", {}).items():
        width = getattr(member, "n_features_in_", None)
        try:
            _convert(member, [("X", FloatTensorType([None, width]))])
        except _REFUSALS:
            return f"the member {name!r} ({kind_of_member(member)})"
    return "a part of this committee"


def _writable(native: Any) -> Any:
    """Return the native model with its trees and members as skl2onnx can write them.

    The steps of a pipeline before the model work in double precision, as in scikit-learn;
    the model takes single precision, as trees do.
    """
    if isinstance(native, Pipeline):
        from skl2onnx.sklapi import CastTransformer

        *before, (name, model) = native.steps
        single = CastTransformer(dtype=np.float32)
        return Pipeline([*before, ("single", single), (name, _writable(model))])
    if isinstance(native, GatedSum):
        members = [_writable(member) for member in native.estimators_]
        return type(native)(members, native.gate, native.classes_)
    if isinstance(native, TransformedTargetRegressor) and isinstance(
        native.transformer_, StandardScaler
    ):
        return _writable(_unscaled(native))
    if isinstance(native, (VotingClassifier, VotingRegressor, StackingRegressor)):
        return _writable_votes(native)
    return trees_of(native) or native


def _unscaled(native: TransformedTargetRegressor) -> Any:
    """Return scale g(x) + mean for a regressor g of standardised targets."""
    by = native.transformer_
    scale = np.ones(1) if by.scale_ is None else by.scale_
    mean = 0.0 if by.mean_ is None else float(by.mean_[0])
    return voting_regressor([native.regressor_], scale, intercept=mean)


def _writable_votes(native: Any) -> Any:
    """Return a copy of a vote, with trees as tables and classes as codes."""
    if getattr(native, "voting", "soft") == "hard" and not all(
        hasattr(member, "predict_proba") for member in native.estimators_
    ):
        raise ValueError(
            "skl2onnx counts the votes of members with predict_proba only. Got a "
            "committee whose members vote without it; use committee.save instead."
        )
    votes = copy.copy(native)
    votes.estimators_ = [_writable(member) for member in native.estimators_]
    names = [name for name, _ in native.estimators]
    votes.estimators = list(zip(names, votes.estimators_, strict=True))
    votes.named_estimators_ = Bunch(**dict(votes.estimators))
    if isinstance(native, VotingClassifier):
        votes.flatten_transform = False
        votes.classes_ = np.arange(len(native.classes_))
    return votes


def _with_labels(model: Any, labels: Any, committee: Any) -> Any:
    """Return the model with its link, and labels looked up at the largest mean."""
    from onnx import TensorProto, helper
    from skl2onnx.helpers.onnx_helper import select_model_inputs_outputs

    model = select_model_inputs_outputs(model, outputs=["probabilities"])
    floor = None
    if hasattr(committee, "roster_") and not is_gated(committee):
        floor = committee.roster_.floor  # a gate weighs probabilities, not logarithms
    if floor is not None:
        write_logarithms(model, floor)
    nodes = Links(model)
    p, decides = _write_links(nodes, committee, floor)
    nodes.add("Identity", p, output="probabilities")
    code = nodes.add("ArgMax", decides, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(labels, labels.dtype), code, output="label")
    kind = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
    shape = [None, len(labels)]
    del model.graph.output[:]
    model.graph.output.extend(
        [
            helper.make_tensor_value_info("label", kind, [None]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, shape),
        ]
    )
    return model


def _write_links(nodes: Links, committee: Any, floor: float | None) -> tuple[str, str]:
    """Write the link from sums to probabilities.

    Returns the names of the probabilities, and of the values whose largest decides.
    """
    s = p = nodes.sums
    if not hasattr(committee, "roster_"):  # a mixture or a network has no link
        return p, p
    if floor is not None:
        offset = committee.roster_.offset / committee.weights_.sum()
        if np.any(offset):
            s = nodes.add("Add", s, nodes.constant(offset))
        p = write_softmax(nodes, s, pool_scale(committee))
    elif hasattr(committee, "refined_"):  # leaves may hold values below zero
        p = write_shares(nodes, s)
    calibration = _calibration(committee)
    if calibration is not None:
        p = write_calibration(nodes, s, p, calibration)
    # Probabilities in single precision may be equal where sums differ.
    decides = s if calibration is None or calibration.keeps_order else p
    return p, decides


def _calibration(committee: Any) -> Calibration | None:
    """Return the calibration for means; the committee's is for sums with its weights."""
    found: Calibration | None = committee.calibration_
    if found is None or is_gated(committee):
        return found
    if committee.roster_.output == "scores":
        return None  # it is in the leaves of the booster
    if found.floor is not None:
        check_mean(committee)
        return found
    return replace(found, slope=committee.weights_.sum() * np.asarray(found.slope))


def _fix_inputs(model: Any, single: bool) -> None:
    """Give all numeric inputs one type, and cast them to the types of the graph."""
    from onnx import TensorProto, helper

    wanted = TensorProto.FLOAT if single else TensorProto.DOUBLE
    graph = model.graph
    for number in graph.input:
        kind, name = number.type.tensor_type, number.name
        if kind.elem_type not in {TensorProto.FLOAT, TensorProto.DOUBLE} - {wanted}:
            continue
        inner = f"committee_{name}"
        for node in graph.node:
            node.input[:] = [inner if i == name else i for i in node.input]
        graph.node.insert(
            0, helper.make_node("Cast", [name], [inner], to=kind.elem_type)
        )
        kind.elem_type = wanted


def _drop_unused(model: Any) -> None:
    """Remove constants that no node uses: onnxruntime warns about them."""
    read = {name for node in model.graph.node for name in node.input}
    kept = [c for c in model.graph.initializer if c.name in read]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
