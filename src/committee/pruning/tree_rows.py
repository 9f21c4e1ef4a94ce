"""Trees of a roster as arrays: their nodes, and the leaves that rows come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_array

from committee._typing import FloatArray, IntArray, Member
from committee.ensembles import Roster
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.tree_values import class_values
from committee.refining import Nodes
from committee.refining.teacher import TreeOnRows


def as_tree_input(X: Any) -> Any:
    """Return X in single precision, as trees compare it."""
    return check_array(
        X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False
    )


def values_of(roster: Roster, member: Member) -> FloatArray:
    """Return what the nodes of a tree predict, (n_nodes, T), for all classes."""
    if roster.classes is None:
        return np.asarray(bare_tree(member).tree_.value[:, 0, :])
    return class_values(member, roster.member_classes, "soft")[:, 0, :]


def nodes_of(roster: Roster, members: list[Member]) -> Nodes:
    """Return the nodes of some members, with the values of all classes."""
    return Nodes(
        [bare_tree(member).tree_ for member in members],
        [values_of(roster, member) for member in members],
    )


def leaves_of(members: list[Member], X: Any) -> Iterator[IntArray]:
    """Yield the leaves of rows in one tree after the other, (N,), by its own numbers."""
    for member in members:
        seen = X
        if isinstance(member, OnColumns):
            seen = as_tree_input(X[:, np.asarray(member.columns)])
        yield bare_tree(member).tree_.apply(seen)


def trees_on_rows(roster: Roster, X: Any, made_up: Any) -> Iterator[TreeOnRows]:
    """Yield each tree of the ensemble with the leaves of rows and of made-up rows."""
    for member, rows, others in zip(
        roster.members,
        leaves_of(roster.members, X),
        leaves_of(roster.members, made_up),
        strict=True,
    ):
        yield TreeOnRows(values_of(roster, member), rows, others)
