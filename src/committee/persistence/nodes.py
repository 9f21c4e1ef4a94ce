"""The parts that a file describes, read and checked before any of them is built.

skops reads a file in two steps: a tree of nodes, one for each object in the file, and the
objects that it builds from these nodes. Compiled code of scikit-learn copies arrays and
items of tuples without looking at their sizes, so its nodes are checked between the two
steps.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from committee.persistence.array_checks import is_tree
from committee.persistence.file_format import ModelFileError
from committee.persistence.registry import is_trusted

#: Modules of compiled code whose classes a file may hold: the node that builds these.
_COMPILED = {
    "sklearn._loss._loss": "LossNode",
    "sklearn.linear_model._sgd_fast": "LossNode",
    "sklearn.metrics._dist_metrics": "ObjectNode",
    "sklearn.neighbors._ball_tree": "ObjectNode",
    "sklearn.neighbors._kd_tree": "ObjectNode",
    "sklearn.tree._tree": "TreeNode",
}
#: Values of trees, whose squares are summed in spreads and intervals.
_LARGEST = 1e150
#: Nodes of skops that build numbers, text, arrays and containers of these only.
_PLAIN = {"DictNode", "JsonNode", "ListNode", "NdArrayNode", "TupleNode", "TypeNode"}


def read_nodes(members: Mapping[str, bytes]) -> Any:
    """Return the tree of nodes that skops reads from the files of an archive.

    Nothing is built.
    """
    from skops.io._audit import get_tree
    from skops.io._utils import read_schema

    schema, context = read_schema(_Archive(members))
    return get_tree(schema, context, trusted=None)


class _Archive(NamedTuple):
    """The files of an archive as skops reads them."""

    members: Mapping[str, bytes]

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return self.members[name]


def untrusted_types(nodes: Any) -> list[str]:
    """Return the types that `load` refuses without `trusted`, by module and name."""
    return sorted(name for name in nodes.get_unsafe_set() if not is_trusted(name))


def build(nodes: Any) -> Any:
    """Return the model; raise ModelFileError if compiled code could leave its arrays."""
    for place, node in _walk(nodes):
        problem = _problem(node)
        if problem:
            raise ModelFileError(
                f"{place} {problem}: the file is damaged or malicious."
            )
    return nodes.construct()


def _problem(node: Any) -> str | None:
    """Describe the problem of a node that compiled code builds; None if there is none."""
    kind, builder = type(node).__name__, _COMPILED.get(node.module_name)
    if builder is None or kind == "TypeNode":
        return None
    if kind != builder:
        return f"is a {node.class_name} that is not built as one"
    if kind == "TreeNode" and not _is_tree(node):
        return (
            "has nodes that point outside its tree or its features, or values whose "
            "squares are not finite"
        )
    if kind != "TreeNode" and len(node.children["attrs"].children["content"]) != (
        0 if kind == "LossNode" else _state_length(node)
    ):
        return f"has more or less attributes than a {node.class_name}"
    return None


def _state_length(node: Any) -> int:
    """Return the length of the tuple from which a neighbour tree or a metric is built."""
    kind = getattr(importlib.import_module(node.module_name), node.class_name)
    return len(kind.__new__(kind).__getstate__())


def _walk(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield each node of skops once, with its place in the model."""
    seen = set()
    waiting = [(str(root.class_name), root)]
    while waiting:
        place, node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield place, node
            for child in node.children.values():
                waiting.extend(_below(place, child))


def _below(place: str, child: Any) -> list[tuple[str, Any]]:
    """Return the nodes of an entry of `children`: a node, or a list or dict of nodes."""
    if isinstance(child, dict):
        return [(f"{place}.{name}", node) for name, node in child.items()]
    if isinstance(child, list):
        return [(f"{place}[{i}]", node) for i, node in enumerate(child)]
    return [(place, child)] if hasattr(child, "children") else []


def _is_tree(node: Any) -> bool:
    """Return True if a decision tree can be built from a node, and followed.

    The arrays are built here. Cached nodes and objects among them could build another
    tree, unchecked, so only plain nodes are allowed.
    """
    if any(
        type(part).__name__ not in _PLAIN for _, part in _walk(node) if part is not node
    ):
        return False
    arguments, state = (
        node.children["args"].construct(),
        node.children["attrs"].construct(),
    )
    width, n_classes, n_outputs = arguments
    return (
        isinstance(n_classes, np.ndarray)
        and n_classes.shape == (n_outputs,)
        and n_classes.dtype.kind == "i"
        and bool(np.all(n_classes > 0))
        and isinstance(state["nodes"], np.ndarray)
        and isinstance(state["values"], np.ndarray)
        and state["values"].dtype.kind == "f"
        and state["values"].shape
        == (state["node_count"], n_outputs, int(n_classes.max()))
        and bool((np.abs(state["values"]) < _LARGEST).all())
        and is_tree(state["nodes"], width, state["node_count"], state["max_depth"])
    )
