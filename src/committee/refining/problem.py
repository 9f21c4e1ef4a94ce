"""Kept trees, the rows to refit their leaves on, and what a cut of them leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee.refining.leaf_values import Squares, leaf_incidence, refit
from committee.refining.nodes import Nodes, monotone_values, shrunk_values
from committee.refining.teacher import TeacherTargets, doubt

#: Folds; more for classes in few rows, as their teacher misses each that it forgets.
_FOLDS, _FOLDS_OF_FEW_ROWS = 3, 5
_MANY_ROWS = 5000


class Settings(NamedTuple):
    """One way to refit.

    Attributes
    ----------
    least : int
        Nodes of fewer training rows become leaves.
    ridge : float
        lambda for each tree, in rows; infinity keeps c0.
    all_rows : bool
        Whether all trees meet all rows, seen or not.
    labels : float
        tau, the part of the labels in the targets of rows; the rest is the teacher's.
    shrink : float
        Strength of the hierarchical shrinkage of c0, in rows.
    share : float
        Of the leaves, that is left where those whose refined values differ least are
        merged, at a price for each.
    """

    least: int
    ridge: float
    all_rows: bool = True
    labels: float = 1.0
    shrink: float = 0.0
    share: float = 1.0


#: The trees as they are.
PLAIN = Settings(1, np.inf)


@dataclass(frozen=True, eq=False)
class Problem:
    """Kept trees and the rows to refit their leaves on.

    Attributes
    ----------
    nodes : Nodes
        Of the k trees that are kept.
    w : array of shape (k,)
        Their weights.
    rows : int array of shape (N, k)
        The leaf of `nodes` that a row comes to in each tree.
    y : array of shape (N, T)
        Numbers, or classes as unit vectors.
    weight : array of shape (N,)
        Of the rows, with mean one.
    held_out : bool array of shape (N, k) or None
        None: no tree has seen any of the rows.
    made_up : int array of shape (S, k), or None
        Leaves of made-up rows; None without a teacher.
    teacher_targets : list of TeacherTargets
        The teacher's outputs, for all rows and without each of `folds`.
    teacher : float
        mu, the weight of each made-up row.
    """

    nodes: Nodes
    w: FloatArray
    rows: IntArray
    y: FloatArray
    weight: FloatArray
    held_out: BoolArray | None
    made_up: IntArray | None = None
    teacher_targets: list[TeacherTargets] | None = None
    teacher: float = 0.0

    @property
    def of_classes(self) -> bool:
        """Whether targets are classes."""
        return bool(self.y.shape[1] > 1)

    @property
    def share(self) -> float:
        """Mean share of the trees that have not seen a row."""
        return 1.0 if self.held_out is None else float(self.held_out.mean())

    def start(self, shrink: float = 0.0) -> FloatArray:
        """Return c0 = w_m v for every node, (n_nodes, T)."""
        v = shrunk_values(self.nodes, shrink) if shrink else self.nodes.value
        return self.w_of_nodes[:, None] * v

    @property
    def w_of_nodes(self) -> FloatArray:
        """The weight of each node's tree, (n_nodes,)."""
        return np.repeat(self.w, np.diff(self.nodes.start))

    @property
    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Rows to fit on and rows to judge by."""
        return folds_of(len(self.y), self.of_classes)


def folds_of(N: int, of_classes: bool) -> list[tuple[IntArray, IntArray]]:
    """Return rows to fit on and rows to judge by, the same for all problems of N rows."""
    few = of_classes and N < _MANY_ROWS
    n = min(_FOLDS_OF_FEW_ROWS if few else _FOLDS, N)
    return list(KFold(n, shuffle=True, random_state=0).split(np.zeros(N)))


class Cut:
    """The leaves that a cut leaves, and the squares to minimise over their values."""

    def __init__(self, problem: Problem, cut: BoolArray, shrink: float = 0.0) -> None:
        self.problem, self.cut = problem, cut
        self.leaves, self.number = problem.nodes.columns(cut)
        self.start = problem.start(shrink)[self.leaves]
        Z, self.counted = leaf_incidence(
            self.number[problem.rows], len(self.leaves), problem.held_out, problem.w
        )
        self.honest = Squares(Z, problem.y, problem.weight * self.counted)

    @cached_property
    def every(self) -> Squares:
        """All rows, which all trees meet."""
        problem = self.problem
        Z, _ = leaf_incidence(self.number[problem.rows], len(self.leaves))
        return Squares(Z, problem.y, problem.weight)

    @cached_property
    def _made_up(self) -> Squares:
        """Made-up rows with the targets of all rows."""
        problem = self.problem
        assert problem.made_up is not None
        assert problem.teacher_targets is not None
        Q, _ = leaf_incidence(self.number[problem.made_up], len(self.leaves))
        mu = np.full(len(problem.made_up), problem.teacher)
        return Squares(Q, problem.teacher_targets[0].made_up, mu)

    def parts(self, settings: Settings, fold: int | None = None) -> list[Squares]:
        """Return what is fitted: all of it, or what a fold has no part in."""
        squares = self.every if settings.all_rows else self.honest
        teacher_targets = self.problem.teacher_targets
        if teacher_targets is None:
            return [squares if fold is None else squares.take(self._fitted(fold))]
        targets = teacher_targets[0 if fold is None else fold + 1]
        tau = settings.labels
        y = tau * squares.y + (1 - tau) * targets.rows
        squares = Squares(squares.Z, y, squares.weight * doubt(y))
        taught = Squares(
            self._made_up.Z,
            targets.made_up,
            self._made_up.weight * doubt(targets.made_up),
        )
        if fold is None:
            return [squares, taught]
        fitted = self._fitted(fold)
        taught = taught.take(targets.kept)
        # As many made-up rows for each row as there are in all.
        share = len(fitted) / len(y) / max(targets.kept.mean(), 1 / len(targets.kept))
        return [squares.take(fitted), taught._replace(weight=share * taught.weight)]

    def _fitted(self, fold: int) -> IntArray:
        return self.problem.folds[fold][0]

    def values(
        self,
        settings: Settings,
        fold: int | None = None,
        guess: FloatArray | None = None,
        **options: float,
    ) -> FloatArray:
        """Return c (L, T), classes with the sum that c0 has.

        That is the solution for their sum; conjugate gradients stop a little before it.
        Every tree keeps its monotonic constraints.
        """
        ridge = settings.ridge * len(self.problem.w)
        parts = [] if np.isinf(ridge) else self.parts(settings, fold)
        c = refit(parts, ridge, self.start, guess, **options)
        if c.shape[1] > 1:
            c += (self.start - c).mean(axis=1, keepdims=True)
        nodes = self.problem.nodes
        if nodes.sign.any():
            c = monotone_values(nodes, self.at_nodes(c))[self.leaves]
        return c

    def spread(self, c: FloatArray, rows: IntArray) -> FloatArray:
        """Return the standard deviation of votes c / w on honest rows, equal shares."""
        votes = c[:, 0] / self.problem.w_of_nodes[self.leaves]
        share = self.honest.Z[rows]
        share.data = np.ones_like(share.data)
        n = np.maximum(np.diff(share.indptr), 1)
        mean, squares = share @ votes / n, share @ votes**2 / n
        return np.asarray(np.sqrt(np.maximum(squares - mean**2, 0.0)))

    def at_nodes(self, c: FloatArray) -> FloatArray:
        """Return values of all nodes: c at leaves and below them, means above them.

        The means are weighted by the training rows, as in a tree that was just grown.
        """
        nodes, at_leaf = self.problem.nodes, (self.number >= 0)[:, None]
        below = np.where(at_leaf, c[self.number], 0.0)
        n = nodes.n[:, None]
        total = nodes.sums(np.hstack([n, n * below]))
        return np.where(at_leaf, below, total[:, 1:] / total[:, :1])
