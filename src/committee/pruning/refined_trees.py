"""Trees of a roster as one problem, and the committee of their refitted leaves."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_random_state

from committee._typing import BoolArray, FloatArray, IntArray, Member, RandomState
from committee.calibration import Calibration, fit_calibration
from committee.diagnostics.filled_votes import FilledVotes
from committee.ensembles import Roster
from committee.ensembles.column_subsets import OnColumns
from committee.ensembles.roster import equal_weights
from committee.ensembles.tree_values import bare_tree, class_values, with_values
from committee.predictions import combined
from committee.probabilities import as_probabilities
from committee.pruning.costs import stored_bytes
from committee.pruning.pruning_data import Evaluation, PruningData
from committee.pruning.refinement import Refinement
from committee.refining import Nodes, made_up_rows
from committee.refining.choice import (
    Candidate,
    Cut,
    Problem,
    chosen,
    output_without_a_row,
    refitted,
)

#: Made-up rows for each row, and at most.
_MADE_UP, _MOST_MADE_UP = 4, 20_000


def refined(
    data: PruningData,
    members: IntArray,
    w: FloatArray,
    *,
    max_leaves: int | None,
    random_state: RandomState,
) -> Any:
    """Return the committee of some members of an ensemble, refined on the data's rows."""
    X = data.given[0]
    evaluation = data.evaluation  # checks the rows, and gives up X
    Z = _as_tree_input(data.roster.prepared(data.template._check_X(X, reset=False)))
    teacher = _teacher(data.roster, Z, random_state)
    kept = _problem(data.roster, members, w, Z, evaluation, teacher)
    more = _as_many_voting(members, kept.share, len(data.roster))
    w_more = w if len(more) == len(members) else equal_weights(len(more))
    judged = _problem(data.roster, more, w_more, Z, evaluation, teacher)
    choice = chosen(judged)
    found = refitted(kept, choice, max_leaves)
    values = found.values / kept.w_of_nodes[:, None]
    made = assembled(
        data.template, kept.nodes, members, w, values, found.cut, Z.shape[1]
    )
    made.refinement_ = _refinement(data, judged, choice, made, found.ridge)
    if data.roster.classes is not None and made.calibration is not None:
        made._calibration = _calibration(made, judged, choice)
    return made


def _calibration(made: Any, judged: Problem, choice: Candidate) -> Calibration:
    """Return what calibrates refined leaves, by rows that these were fitted without."""
    unit = made.weights_.sum() / judged.w.sum()
    output = unit * output_without_a_row(judged, choice)
    return fit_calibration(
        made.calibration,
        as_probabilities(output),
        judged.y.argmax(axis=1),
        judged.weight * choice.cut.counted,
        sums=output,
    )


def _as_many_voting(members: IntArray, share: float, M: int) -> IntArray:
    """Return members of which about as many vote on a row as are kept, or all of M.

    Few votes want larger leaves than many: what is chosen for a third of the trees is
    not what is best for all of them.
    """
    n = min(M, round(len(members) / share))
    others = np.setdiff1d(np.arange(M), members)
    return np.concatenate([members, others[: n - len(members)]])


def _as_tree_input(X: Any) -> Any:
    """Return X in single precision, as trees compare it."""
    return check_array(
        X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False
    )


def nodes_of(roster: Roster, members: list[Member]) -> Nodes:
    """Return the nodes of some members, with the values of all classes."""
    return Nodes(
        [bare_tree(member).tree_ for member in members],
        [
            bare_tree(member).tree_.value[:, 0, :]
            if roster.classes is None
            else class_values(member, roster.member_classes, "soft")[:, 0, :]
            for member in members
        ],
    )


def _leaves(members: list[Member], nodes: Nodes, X: Any) -> IntArray:
    """Return the leaves of rows (N, k), numbered as in `nodes`."""
    found = np.empty((X.shape[0], len(members)), dtype=np.intp)
    for m, member in enumerate(members):
        seen = X
        if isinstance(member, OnColumns):
            seen = _as_tree_input(X[:, np.asarray(member.columns)])
        found[:, m] = bare_tree(member).tree_.apply(seen) + nodes.start[m]
    return found


class Teacher(NamedTuple):
    """Made-up rows, what the whole ensemble predicts there, and mu."""

    X: Any
    output: FloatArray
    weight: float


def _teacher(roster: Roster, X: Any, random_state: RandomState) -> Teacher | None:
    """Return what the whole ensemble teaches: classes, on rows that are not sparse.

    For numbers it was measured to be worse than none: near the rows of its training the
    ensemble repeats their noise.
    """
    if roster.classes is None or not isinstance(X, np.ndarray):
        return None
    n = min(_MADE_UP * len(X), _MOST_MADE_UP)
    rows = made_up_rows(X, n, check_random_state(random_state))
    return Teacher(rows, _mean_of(roster, rows), _MADE_UP * len(X) / n)


def _mean_of(roster: Roster, X: FloatArray) -> FloatArray:
    """Return the ensemble's weighted mean on rows."""
    assert roster.weights is not None
    return np.asarray(combined(roster, X) / roster.weights.sum())


def _problem(
    roster: Roster,
    members: IntArray,
    w: FloatArray,
    X: Any,
    evaluation: Evaluation,
    teacher: Teacher | None,
) -> Problem:
    """Return some trees and the rows."""
    kept = [roster.members[m] for m in members]
    nodes, rows = nodes_of(roster, kept), evaluation.rows
    y = np.asarray(rows.y, dtype=np.float64)[:, None]
    if roster.classes is not None:
        y = np.eye(nodes.value.shape[1])[rows.y.astype(np.intp)]
    weight = (
        np.ones(len(y)) if rows.weight is None else rows.weight / rows.weight.mean()
    )
    return Problem(
        nodes,
        w,
        _leaves(kept, nodes, X),
        y,
        weight,
        None if rows.held_out is None else rows.held_out[:, members],
        None if teacher is None else _leaves(kept, nodes, teacher.X),
        None if teacher is None else teacher.output,
        0.0 if teacher is None else teacher.weight,
    )


def assembled(
    template: Any,
    nodes: Nodes,
    members: IntArray,
    w: FloatArray,
    values: FloatArray,
    cut: BoolArray,
    n_features: int,
) -> Any:
    """Return the committee of trees with other values and fewer nodes.

    They see all of the n_features columns that the ensemble's members see.
    """
    made = copy.copy(template)
    roster = made.roster_.only(members, w)
    trees = []
    for m, member in enumerate(roster.members):
        own = slice(nodes.start[m], nodes.start[m + 1])
        tree = with_values(member, values[own, None, :], n_features, cut[own])
        if roster.classes is not None:
            tree.classes_ = np.asarray(roster.member_classes)
            tree.n_classes_ = len(tree.classes_)
        trees.append(tree)
    made.roster_ = replace(roster, members=trees)
    made.support_, made.combiner_ = members, None
    return made


def _refinement(
    data: PruningData, judged: Problem, choice: Candidate, made: Any, ridge: float
) -> Refinement:
    """Measure a refined committee beside the ensemble."""
    _, F, rows, _ = data.evaluation
    votes = FilledVotes.of(F, rows.y, rows.held_out)
    assert data.roster.weights is not None
    whole = Cut(judged, judged.nodes.leaf)
    counted = whole.counted & votes.counted
    of_classes = data.roster.classes is not None
    losses = {
        "before": votes.losses(data.roster.weights / data.roster.weights.sum()),
        "plain": _losses(judged, whole.honest.Z @ whole.start),
        "after": _losses(judged, choice.output),
    }
    errors = {f"error_{name}": rows.mean(x, counted)[0] for name, x in losses.items()}
    if not of_classes:
        errors = {name: float(np.sqrt(error)) for name, error in errors.items()}
    known = not of_classes or judged.held_out is None or not judged.teacher
    before = [bare_tree(member).tree_ for member in data.roster.members]
    after = [tree.tree_ for tree in made.members_]
    return Refinement(
        measure="error rate" if of_classes else "RMSE",
        n_rows=int(counted.sum()),
        n_members_before=len(before),
        n_members_after=len(after),
        leaves_before=sum(int(tree.n_leaves) for tree in before),
        leaves_after=sum(int(tree.n_leaves) for tree in after),
        depth_before=max(int(tree.max_depth) for tree in before),
        depth_after=max(int(tree.max_depth) for tree in after),
        bytes_before=stored_bytes(data.ensemble),
        bytes_after=stored_bytes(made),
        n_votes=float(judged.share * len(judged.w)),
        ridge=ridge,
        all_rows=choice.all_rows,
        error_before=errors["error_before"],
        error_plain=errors["error_plain"],
        error_after=errors["error_after"] if known else None,
    )


def _losses(problem: Problem, output: FloatArray) -> FloatArray:
    """Return 1 for a wrong class, or the squared error, by row."""
    if output.shape[1] == 1:
        return np.asarray((output[:, 0] - problem.y[:, 0]) ** 2)
    wrong: FloatArray = np.not_equal(output.argmax(axis=1), problem.y.argmax(axis=1))
    return wrong.astype(np.float64)
