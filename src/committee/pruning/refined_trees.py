"""From some trees of an ensemble and rows to the committee of their refitted leaves."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import BoolArray, FloatArray, IntArray, RandomState
from committee.diagnostics.missing_votes import FilledProbabilities, FilledVotes
from committee.ensembles.roster import equal_weights
from committee.ensembles.tree_values import with_values
from committee.losses import log_losses
from committee.probabilities import as_probabilities
from committee.pruning.pruning_data import PruningData
from committee.pruning.tree_rows import (
    as_tree_input,
    leaves_of,
    nodes_of,
    trees_on_rows,
)
from committee.refining import Nodes, made_up_rows
from committee.refining.choice import Candidate, chosen, refitted
from committee.refining.problem import Cut, Problem, Settings, folds_of
from committee.refining.teacher import TeacherTargets, TreeOnRows, teacher_targets

#: Made-up rows for each row, and at most.
_MADE_UP, _MOST_MADE_UP = 4, 20_000


class HonestRows(NamedTuple):
    """Outputs and losses of three models on rows that none of them has seen.

    Attributes
    ----------
    output : dict of arrays of shape (N, T)
        Of "before", the whole ensemble; "plain", so many trees as they are; "after",
        the same refined.
    losses : dict of arrays of shape (N,)
        1 for a wrong class, or the squared error.
    spread : array of shape (N,)
        Standard deviation of the votes of the refined trees; of numbers.
    counted : bool array of shape (N,)
        False where nothing can be told.
    n_votes : float
        Trees of the last two that vote on a row, on average.
    """

    output: dict[str, FloatArray]
    losses: dict[str, FloatArray]
    spread: FloatArray
    counted: BoolArray
    n_votes: float


class Refined(NamedTuple):
    """A refined committee, how it came about and how good it is."""

    committee: Any
    settings: Settings
    n_leaves: int
    honest: HonestRows
    #: Outputs (N, T) on the rows that it was fitted to.
    fitted: FloatArray


class Refiner:
    """An ensemble of trees and the rows to refine any of them on.

    Parameters
    ----------
    data : PruningData
    random_state : int, RandomState or None
        Of the made-up rows.
    """

    def __init__(self, data: PruningData, random_state: RandomState) -> None:
        self.data, self.roster = data, data.roster
        X = data.given[0]
        self.evaluation = data.evaluation  # checks the rows, and gives up X
        self.X = as_tree_input(
            data.roster.prepared(data.template._check_X(X, reset=False))
        )
        self.rng = check_random_state(random_state)
        rows = self.evaluation.rows
        self.y = np.asarray(rows.y, dtype=np.float64)[:, None]
        if self.of_classes:
            self.y = np.eye(self.roster.output_shape[0])[rows.y.astype(np.intp)]
        self.weight = np.ones(len(self.y))
        if rows.weight is not None:
            self.weight = rows.weight / rows.weight.mean()

    @property
    def of_classes(self) -> bool:
        """Whether the ensemble predicts classes."""
        return self.roster.classes is not None

    @cached_property
    def _folds(self) -> list[IntArray]:
        """The rows that are judged, fold by fold."""
        return [rows for _, rows in folds_of(len(self.y), self.of_classes)]

    @cached_property
    def _taught(self) -> tuple[Any, list[TeacherTargets], float] | None:
        """Made-up rows, what the ensemble teaches, and mu: classes, not of sparse rows.

        For numbers it was measured to be worse than none: near the rows of its training the
        ensemble repeats their noise.
        """
        if not self.of_classes or not isinstance(self.X, np.ndarray):
            return None
        n = min(_MADE_UP * len(self.X), _MOST_MADE_UP)
        made = made_up_rows(self.X, n, self.rng)
        w = self.roster.weights
        assert w is not None
        found = teacher_targets(
            trees_on_rows(self.roster, self.X, made.X),
            w / w.sum(),
            *(self.y, self.weight, self.evaluation.rows.held_out),
            (made.base, made.other),
            self._folds,
        )
        return made.X, found, _MADE_UP * len(self.X) / n

    def problem(self, members: IntArray, w: FloatArray) -> Problem:
        """Return some trees and the rows."""
        kept = [self.roster.members[m] for m in members]
        nodes, held_out = nodes_of(self.roster, kept), self.evaluation.rows.held_out

        def leaves(X: Any) -> IntArray:
            own = np.stack(list(leaves_of(kept, X)), axis=1)
            return np.asarray(own + nodes.start[:-1])

        found = Problem(
            *(nodes, w, leaves(self.X), self.y, self.weight),
            None if held_out is None else held_out[:, members],
        )
        if self._taught is None:
            return found
        made_up, taught, mu = self._taught
        return replace(
            found, made_up=leaves(made_up), teacher_targets=taught, teacher=mu
        )

    def refined(
        self, members: IntArray, w: FloatArray, max_leaves: int | None = None
    ) -> Refined:
        """Return the committee of some trees, with weights, refined."""
        kept = self.problem(members, w)
        like = self._like(members, kept.share)
        own = len(like) == len(members)
        problem = self.problem(like, w if own else equal_weights(len(like)) * w.sum())
        plain = self._plain(problem)
        choice = chosen(problem, plain if self.of_classes else None)
        found = refitted(kept, choice.settings, max_leaves)
        if max_leaves is not None:
            most = max_leaves * len(like) // len(members)
            choice = choice.cut_to(problem, most)
        made = assembled(
            *(self.data.template, kept.nodes, members, w),
            found.values / kept.w_of_nodes[:, None],
            *(found.cut, self.X.shape[1]),
        )
        return Refined(
            *(made, choice.settings, found.n_leaves),
            self._honest(problem, plain, choice),
            Cut(kept, found.cut).every.Z
            @ found.values[kept.nodes.columns(found.cut)[0]],
        )

    def _like(self, members: IntArray, share: float) -> IntArray:
        """Return members of which about as many vote on a row as are kept.

        Few votes want larger leaves than many: what is chosen for a third of the trees is
        not what is best for all of them. Others come first: rows that chose the kept
        ones cannot judge them.
        """
        M = len(self.roster)
        if share == 1.0:
            return members
        others = np.setdiff1d(np.arange(M), members)
        n = min(M, round(len(members) / share))
        return np.concatenate([others, members])[:n]

    def _plain(self, problem: Problem) -> FloatArray:
        """Return what trees as they are predict on honest rows, (N, T).

        Classes by leaves that have forgotten the rows of a fold, as the refitted ones
        have: both are then measured alike.
        """
        if not self.of_classes or problem.held_out is None:
            whole = Cut(problem, problem.nodes.leaf)
            return np.asarray(whole.honest.Z @ whole.start)
        nothing = np.zeros(0, dtype=np.intp)
        found = teacher_targets(
            _trees_of(problem),
            problem.w / problem.w.sum(),
            *(self.y, self.weight, problem.held_out, (nothing, nothing), self._folds),
        )
        return self._cross_fitted(found)

    def _cross_fitted(self, found: list[TeacherTargets]) -> FloatArray:
        """Return the targets of each fold on its own rows, (N, K)."""
        output = np.empty_like(self.y)
        for targets, rows in zip(found[1:], self._folds, strict=True):
            output[rows] = targets.rows[rows]
        return output

    def _honest(
        self, problem: Problem, plain: FloatArray, choice: Candidate
    ) -> HonestRows:
        """Return outputs and losses before and after."""
        output = {"plain": plain, "after": choice.output}
        losses = {name: self.losses(f) for name, f in output.items()}
        output["before"], losses["before"] = self._before
        counted: BoolArray = np.ones(len(self.y), dtype=bool)
        if problem.held_out is not None:
            counted = np.asarray(problem.held_out.any(axis=1))
        return HonestRows(
            *(output, losses, choice.spread, counted),
            float(problem.share * len(problem.w)),
        )

    @cached_property
    def _before(self) -> tuple[FloatArray, FloatArray]:
        """Outputs (N, T) and losses (N,) of the whole ensemble on honest rows."""
        if self._taught is not None:
            output = self._cross_fitted(self._taught[1])
            return output, self.losses(output)
        w = self.roster.weights
        assert w is not None
        _, F, rows, _ = self.evaluation
        votes, shares = FilledVotes.of(F, rows.y, rows.held_out), w / w.sum()
        return votes.output(shares).reshape(len(F), -1), votes.losses(shares)

    def log_losses_before(self) -> FloatArray:
        """Return the log-losses of the whole ensemble on honest rows, (N,).

        Out of bag those to expect when all trees vote.
        """
        _, F, rows, _ = self.evaluation
        if rows.held_out is None:
            y = np.asarray(rows.y, dtype=np.intp)
            return log_losses(as_probabilities(self._before[0]), y)
        votes = FilledVotes.of(F, rows.y, rows.held_out)
        assert self.roster.weights is not None
        return FilledProbabilities.of(votes).log_losses(self.roster.weights)

    def losses(self, output: FloatArray) -> FloatArray:
        """Return 1 for a wrong class, or the squared error, by row."""
        if not self.of_classes:
            return np.asarray((output[:, 0] - self.y[:, 0]) ** 2)
        wrong: FloatArray = np.not_equal(output.argmax(axis=1), self.y.argmax(axis=1))
        return wrong.astype(np.float64)


def _trees_of(problem: Problem) -> Iterator[TreeOnRows]:
    """Yield the trees of a problem, without made-up rows."""
    start, nothing = problem.nodes.start, np.zeros(0, dtype=np.intp)
    for m, (first, last) in enumerate(pairwise(start)):
        rows = problem.rows[:, m] - first
        yield TreeOnRows(problem.nodes.value[first:last], rows, nothing)


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
