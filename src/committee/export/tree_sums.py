"""A committee of trees as one sum of trees, and its link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, Member
from committee.ensembles import Round, trees_of
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.tree_sum import (
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
    TreeTable,
)
from committee.export.native import behind_transformer, link_of
from committee.predictions import vote_counts
from committee.probabilities import pooled_terms


def tree_sum(model: Any) -> TreeSum:
    """Return a committee of trees, or a forest or booster, as one sum of trees.

    Raises
    ------
    ValueError
        If a member is not a tree, or the committee transforms X or has a gate.
    """
    if isinstance(model, TreeSum):
        return model
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if not hasattr(model, "roster_"):
        found = trees_of(model)
        if found is None:
            raise ValueError(
                "Expected a committee of trees, a forest or a booster. Got "
                f"{type(model).__name__}."
            )
        return _with_names(found, model)
    check_on_columns(model)
    return _described(summed_trees(model), model)


def check_on_columns(committee: Any) -> None:
    """Raise ValueError for a committee that is more than a weighted sum on X."""
    what = None
    if committee.gate_ is not None:
        what = f"weights that depend on x through {committee.gate_!r}"
    elif committee.transformer_ is not None:
        what = "a transformer of X before its members"
    if what is not None:
        raise ValueError(
            f"A sum of trees needs members on the columns of X. This committee has {what}: use "
            "to_onnx or committee.save."
        )


def summed_trees(committee: Any) -> TreeSum:
    """Return sum_m w_m f_m; equal weights are one unit, so that ties stay ties."""
    if isinstance(committee.members_[0], Round):
        whole = trees_of(behind_transformer(committee))
        assert whole is not None
        return whole
    counts, unit = vote_counts(committee.weights_)
    T = len(committee.classes_) if is_classifier(committee) else 1
    parts, base = [], np.zeros(T)
    for member, c in zip(committee.members_, counts, strict=True):
        table, start = _part(committee, member, T)
        parts.append(table.with_values(c * table.value))
        base += c * start
    made = {
        "trees": TreeTable.joined(parts),
        "base": unit * base + committee.roster_.offset,
        "unit": unit,
    }
    if not is_classifier(committee):
        return TreeSumRegressor.made(**made)
    return TreeSumClassifier.made(**made, link=link_of(committee))


def _part(committee: Any, member: Member, T: int) -> tuple[TreeTable, FloatArray]:
    """Return the trees of a member with values (n_leaves, T), and their constant (T,)."""
    roster, bare = committee.roster_, bare_tree(member)
    found = trees_of(bare)
    logarithms = roster.floor is not None
    if (
        found is None
        or found.link.kind != "shares"
        or (len(found.trees) > 1 and (logarithms or roster.output == "hard"))
    ):
        raise ValueError(
            "A sum of trees needs members that are sums of trees. Got a member of type "
            f"{type(bare).__name__}: use to_onnx or committee.save."
        )
    table, base = found.trees, found.base
    if isinstance(member, OnColumns):
        columns = np.append(np.asarray(member.columns), -1)  # -1 is a leaf
        table = replace(table, feature=columns[table.feature])
    if roster.member_classes is None:
        return table.with_values(found.unit * table.value), base
    own = np.searchsorted(roster.member_classes, bare.classes_)
    value = np.zeros((len(table.value), T))
    value[:, own] = found.unit * table.value
    if roster.output == "hard":
        value = np.eye(T)[value.argmax(axis=1)]
    return table.with_values(pooled_terms(value, roster.floor)), np.zeros(T)


def _with_names(found: TreeSum, model: Any) -> TreeSum:
    """Set the column names of a model, if it has any."""
    if hasattr(model, "feature_names_in_"):
        found.feature_names_in_ = model.feature_names_in_
    return found


def _described(found: TreeSum, committee: Any) -> TreeSum:
    """Set columns, labels and the held-out error of a committee."""
    found.n_features_in_ = int(committee.n_features_in_)
    if is_classifier(committee):
        found.classes_ = np.asarray(committee.classes_)
    found.held_out_error_ = committee.held_out_error_
    found.held_out_error_name_ = committee.held_out_error_name_
    if hasattr(committee, "summary"):
        try:
            summary = committee.summary()
        except ValueError:  # a copy from before the summary was made
            return _with_names(found, committee)
        found.held_out_error_ = summary.error_after
        found.held_out_error_se_ = summary.error_after_se
        found.held_out_error_name_ = summary.error_name
    return _with_names(found, committee)
