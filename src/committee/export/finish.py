"""The last touches to an ONNX graph: labels, inputs, constants."""

from __future__ import annotations

from typing import Any


def with_labels(model: Any, labels: Any) -> Any:
    """Return the model with labels that are looked up at the largest probability."""
    from onnx import TensorProto, helper, numpy_helper
    from skl2onnx.helpers.onnx_helper import select_model_inputs_outputs

    model = select_model_inputs_outputs(model, outputs=["probabilities"])
    graph = model.graph
    kind = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
    graph.initializer.append(numpy_helper.from_array(labels, "committee_labels"))
    graph.node.append(
        helper.make_node(
            "ArgMax", ["probabilities"], ["committee_code"], axis=1, keepdims=0
        )
    )
    graph.node.append(
        helper.make_node("Gather", ["committee_labels", "committee_code"], ["label"])
    )
    probabilities = helper.make_tensor_value_info(
        "probabilities", TensorProto.FLOAT, [None, len(labels)]
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("label", kind, [None]))
    graph.output.append(probabilities)
    return model


def fix_inputs(model: Any, single: bool) -> None:
    """Let numbers come in one type, whichever precision the graph works in."""
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


def drop_unused(model: Any) -> None:
    """Remove constants that no node reads: onnxruntime warns about them."""
    read = {name for node in model.graph.node for name in node.input}
    kept = [c for c in model.graph.initializer if c.name in read]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
