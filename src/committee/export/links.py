"""What turns weighted means into probabilities, as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Name of the weighted means, where they are not the probabilities themselves.
_MEANS = "committee_means"


def write_slope(model: Any, slope: float) -> None:
    """Write p = softmax(b s) behind a model whose "probabilities" are means s."""
    from onnx import helper, numpy_helper

    graph = model.graph
    for node in graph.node:
        node.input[:] = [_renamed(name) for name in node.input]
        node.output[:] = [_renamed(name) for name in node.output]
    b = np.array(slope, dtype=np.float32)
    graph.initializer.append(numpy_helper.from_array(b, "committee_slope"))
    graph.node.extend(
        [
            helper.make_node("Mul", [_MEANS, "committee_slope"], ["committee_scores"]),
            helper.make_node(
                "Softmax", ["committee_scores"], ["probabilities"], axis=1
            ),
        ]
    )


def _renamed(name: str) -> str:
    return _MEANS if name == "probabilities" else name
