"""The committee as an ONNX file, for onnxruntime and other languages."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from committee._files import replaced_atomically
from committee._hints import how_to_install
from committee.ensembles import Round, trees_of
from committee.ensembles.forests import is_tree
from committee.ensembles.roster import kind_of_member
from committee.ensembles.tree_sum import Link
from committee.ensembles.voting import check_probabilities, on_all_columns
from committee.export.native import (
    check_exportable,
    link_of,
    native_of_network,
    on_the_same_columns,
)
from committee.export.onnx_graph import (
    MemberSum,
    MemberSumClassifier,
    MemberSumRegressor,
    register_sums,
)
from committee.export.tree_sums import summed_trees

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
    weights are g_m(x), and the gate is in the graph. The graph also contains the
    calibration of a classifier, and the logarithms and offsets of `LogPool`.

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
        Fitted. `to_sklearn` must be able to export it, or it must be a logarithmic pool
        or have a gate that is linear in x.
    path : path, default=None
        File to write. An existing file is replaced only when the model is complete.
    X : frame, default=None
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
    native = _sum_of(committee)
    if getattr(committee, "transformer_", None) is None:
        X = None
    model = _written(committee, native, X, isinstance(native, Pipeline))
    _check_size(model)
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(model.SerializeToString())
    return model


def _sum_of(committee: Any) -> Any:
    """Return the sum of trees or members that is written, behind the transformer of X."""
    network, before = native_of_network(committee), None
    if network is not None:
        if isinstance(network, Pipeline):
            before, network = network[:-1], network[-1]
        found = _of_network(network)
        link = Link()
    elif getattr(committee, "gate_", None) is not None:
        found = _gated_sum(committee)
        link = Link("shares", 1.0, getattr(committee, "calibration_", None))
    else:
        check_exportable(committee)
        before, link = committee.transformer_, None
        found = _of_members(committee)
    if is_classifier(found):
        found.classes_ = _labels(committee)
        found.link = link or found.link
    if before is None:
        return found
    from skl2onnx.sklapi import CastTransformer

    # Transformers work in double precision, as in scikit-learn, the sum in single.
    steps = before.steps if isinstance(before, Pipeline) else [("transformer", before)]
    single = CastTransformer(dtype=np.float32)
    return Pipeline([*steps, ("single", single), ("committee", found)])


def _of_network(network: Any) -> Any:
    """Return a network; for numbers scale g(x) + mean, g for standardised targets."""
    if is_classifier(network):
        return MemberSumClassifier([network], np.ones(1))
    if not isinstance(network, TransformedTargetRegressor):
        return MemberSumRegressor([network], np.ones(1))
    by = network.transformer_
    scale = np.ones(1) if by.scale_ is None else by.scale_
    mean = 0.0 if by.mean_ is None else float(by.mean_[0])
    return MemberSumRegressor([_writable(network.regressor_)], scale, mean)


def _gated_sum(model: Any) -> MemberSum:
    """Return the sum of a gated committee or a mixture."""
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
    if not hasattr(model.gate_, "linear_form"):
        raise ValueError(
            "to_onnx writes gates that are linear in x, such as SoftmaxGate. "
            f"{type(model.gate_).__name__} is not: use committee.save, or "
            "committee.with_gate(SoftmaxGate(), X, y)."
        )
    members = [on_all_columns(m, model.n_features_in_) for m in roster.members]
    return _member_sum(roster, members, model.gate_.linear_form())


def _of_members(committee: Any) -> Any:
    """Return the trees of a committee, or else the sum of its members."""
    roster = committee.roster_
    if isinstance(roster.members[0], Round) or all(map(is_tree, roster.members)):
        return summed_trees(committee)
    members = on_the_same_columns(committee, roster.members)
    how = {"floor": roster.floor, "votes": roster.output == "hard"}
    found = _member_sum(roster, members, roster.weights, roster.offset, **how)
    if is_classifier(found):
        found.link = link_of(committee)
    return found


def _member_sum(
    roster: Any, members: list[Any], weights: Any, *terms: Any, **how: Any
) -> MemberSum:
    """Return the sum of members as skl2onnx can write them."""
    kind: type[MemberSum] = MemberSumRegressor
    if roster.member_classes is not None:
        check_probabilities(members, roster.member_classes, "A sum in ONNX")
        kind = MemberSumClassifier
    members = [_writable(member) for member in members]
    return kind(members, weights, *terms, names=roster.names, **how)


def _writable(member: Any) -> Any:
    """Return a member with its trees as tables; pipelines end in single precision."""
    if isinstance(getattr(member, "transformer_", None), StandardScaler):
        return _of_network(member)  # a regressor of standardised targets
    if not isinstance(member, Pipeline):
        return trees_of(member) or member
    from skl2onnx.sklapi import CastTransformer

    *before, (name, model) = member.steps
    single = CastTransformer(dtype=np.float32)
    return Pipeline([*before, ("single", single), (name, _writable(model))])


def _written(committee: Any, native: Any, X: Any, double: bool) -> Any:
    """Return the model; its pipeline works in double precision if onnxruntime can."""
    model = _converted(native, _inputs(committee, X, double))
    _fix_inputs(model, single=X is None)
    problem = _problem(model)
    if problem is None:
        return model
    if double:
        return _written(committee, native, X, False)
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
        "Labels in ONNX must be text or integers. Got labels such as "
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
    members = getattr(core, "members", [])
    names = getattr(core, "names", None) or [f"member{m}" for m in range(len(members))]
    for name, member in zip(names, members, strict=True):
        width = getattr(member, "n_features_in_", None)
        try:
            _convert(member, [("X", FloatTensorType([None, width]))])
        except _REFUSALS:
            return f"the member {name!r} ({kind_of_member(member)})"
    return "a part of this committee"


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
