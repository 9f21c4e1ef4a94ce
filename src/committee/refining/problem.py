"""Kept trees, the rows to refit their leaves on, and what a cut of them leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee.refining.leaf_values import Squares, leaf_incidence, refit
from committee.refining.nodes import (
    Nodes,
    monotone_values,
    shrunk_values,
    values_without,
)
from committee.refining.teacher import TeacherTargets, doubt

#: Folds; more for few rows, as values without a fifth of them are nearer to those of all.
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
    fold : int or None
        The only fold that these trees predict; None for all.
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
    fold: int | None = None

    @property
    def of_classes(self) -> bool:
        """Whether targets are classes."""
        return bool(self.y.shape[1] > 1)

    @cached_property
    def n_votes(self) -> FloatArray:
        """Number of trees that have not seen a row, (N,), 0 outside of the folds."""
        n = np.zeros(len(self.y))
        for _, rows in self.folds:
            n[rows] = len(self.w)
            if self.held_out is not None:
                n[rows] = self.held_out[rows].sum(axis=1)
        return n

    @cached_property
    def share(self) -> FloatArray:
        """Weights (N, k) by which the trees that have not seen a row stand for all.

        a_nm = sum_m w_m / sum_{m: not seen} w_m,   0 for trees that have seen the row
        """
        if self.held_out is None:
            return np.ones(self.rows.shape)
        heard = self.held_out @ self.w
        a = np.divide(self.w.sum(), heard, out=np.zeros(len(heard)), where=heard > 0)
        return np.asarray(a[:, None] * self.held_out)

    def start(self, shrink: float = 0.0, fold: int | None = None) -> FloatArray:
        """Return c0 = w_m v for every node, (n_nodes, T), of all rows or without a fold.

        A leaf with a row of the fold in it would push the values of the others away from
        the row's target, and its error would be too large.
        """
        v = self.nodes.value if fold is None else self._without[fold]
        if shrink:
            v = shrunk_values(self.nodes, shrink, v)
        return self.w_of_nodes[:, None] * v

    @cached_property
    def _without(self) -> list[FloatArray]:
        """Values of all nodes without the rows of each fold."""
        if self.held_out is None:
            return [self.nodes.value] * len(self.folds)
        found = []
        for _, rows in self.folds:
            left_out = np.zeros(len(self.y), dtype=bool)
            left_out[rows] = True
            given = self.rows, ~self.held_out, self.y, self.weight, left_out
            found.append(values_without(self.nodes, *given))
        return found

    @property
    def w_of_nodes(self) -> FloatArray:
        """The weight of each node's tree, (n_nodes,)."""
        return np.repeat(self.w, np.diff(self.nodes.start))

    @cached_property
    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Rows to fit on and rows to judge by."""
        every = folds_of(len(self.y))
        return every if self.fold is None else [every[self.fold]]


def folds_of(N: int) -> list[tuple[IntArray, IntArray]]:
    """Return rows to fit on and rows to judge by, the same for all problems of N rows."""
    n = min(_FOLDS_OF_FEW_ROWS if N < _MANY_ROWS else _FOLDS, N)
    return list(KFold(n, shuffle=True, random_state=0).split(np.zeros(N)))


class Cut:
    """The leaves that a cut leaves, and the squares to minimise over their values."""

    def __init__(self, problem: Problem, cut: BoolArray, shrink: float = 0.0) -> None:
        self.problem, self.cut, self.shrink = problem, cut, shrink
        self.leaves, self.number = problem.nodes.columns(cut)

    @cached_property
    def every(self) -> Any:
        """Incidence of all rows and their leaves in all trees, (N, L)."""
        return leaf_incidence(self.number[self.problem.rows], len(self.leaves))

    @cached_property
    def _made_up(self) -> Any:
        """The same of made-up rows, (S, L)."""
        return leaf_incidence(self.number[self.problem.made_up], len(self.leaves))

    def _parts(self, settings: Settings, fold: int | None) -> list[Squares]:
        """Return what is fitted: all of it, or with weight zero what belongs to a fold."""
        problem, weight = self.problem, self.problem.weight
        if fold is not None:
            weight = weight.copy()
            weight[problem.folds[fold][1]] = 0.0
        if problem.teacher_targets is None:
            return [Squares(self.every, problem.y, weight)]
        at = 0 if fold is None else 1 + (fold if problem.fold is None else problem.fold)
        targets = problem.teacher_targets[at]
        tau = settings.labels
        y = tau * problem.y + (1 - tau) * targets.rows
        # As many made-up rows for each row as there are in all.
        mu = problem.teacher
        if fold is not None:
            share = len(problem.folds[fold][0]) / len(y)
            mu *= share / max(targets.kept.mean(), 1 / len(targets.kept))
        taught = mu * targets.kept * doubt(targets.made_up)
        return [
            Squares(self.every, y, weight * doubt(y)),
            Squares(self._made_up, targets.made_up, taught),
        ]

    def values(
        self,
        settings: Settings,
        folds: Sequence[int | None] = (None,),
        guesses: list[FloatArray] | None = None,
        **options: float,
    ) -> list[FloatArray]:
        """Return c (L, T) without each of some folds, or of all rows for None.

        All folds are solved together, as columns of one system. Classes have the sum that
        c0 has, which is the solution for their sum, so that the last class needs no column.
        Every tree keeps its monotonic constraints.
        """
        if np.isinf(settings.ridge):
            return [self.start()] * len(folds)
        starts = [self.start(fold) for fold in folds]
        n = max(starts[0].shape[1] - 1, 1)
        parts = [
            Squares(
                own[0].Z,
                np.hstack([part.y[:, :n] for part in own]),
                np.repeat(np.stack([part.weight for part in own], axis=1), n, axis=1),
            )
            for own in zip(*(self._parts(settings, f) for f in folds), strict=True)
        ]
        c = refit(
            parts,
            settings.ridge * len(self.problem.w),
            np.hstack([start[:, :n] for start in starts]),
            None if guesses is None else np.hstack([c[:, :n] for c in guesses]),
            **options,
        )
        return [
            self._completed(own, start)
            for own, start in zip(np.split(c, len(folds), axis=1), starts, strict=True)
        ]

    def _completed(self, c: FloatArray, start: FloatArray) -> FloatArray:
        """Return values with those of the last class, in order where that is asked."""
        if start.shape[1] > 1:
            rest = start.sum(axis=1) - c.sum(axis=1)
            c = np.column_stack([c, rest])
        nodes = self.problem.nodes
        if nodes.sign.any():
            c = monotone_values(nodes, self.at_nodes(c))[self.leaves]
        return c

    def start(self, fold: int | None = None) -> FloatArray:
        """Return c0 of the leaves, (L, T), of all rows or without a fold."""
        return self.problem.start(self.shrink, fold)[self.leaves]

    def leaves_of(self, rows: IntArray) -> IntArray:
        """Return the leaf of some rows in each tree, (n, k)."""
        return np.asarray(self.number[self.problem.rows[rows]])

    def at_nodes(self, c: FloatArray) -> FloatArray:
        """Return values of all nodes: c at leaves and below them, means above them.

        The means are weighted by the training rows, as in a tree that was just grown.
        """
        nodes, at_leaf = self.problem.nodes, (self.number >= 0)[:, None]
        below = np.where(at_leaf, c[self.number], 0.0)
        n = nodes.n[:, None]
        total = nodes.sums(np.hstack([n, n * below]))
        return np.where(at_leaf, below, total[:, 1:] / total[:, :1])
