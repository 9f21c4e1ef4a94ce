"""How many leaves, how strong a ridge, on which rows: chosen on honest rows.

A row is honest where the trees that vote on it have not seen it, and the leaf values were
fitted without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee.refining.cutting import cut_to
from committee.refining.leaf_values import Squares, leaf_incidence, refit, refit_shares
from committee.refining.nodes import Nodes

#: Nodes of fewer training rows become leaves; of numbers, and of classes, whose trees
#: have fewer leaves to begin with.
LEAST_ROWS, LEAST_ROWS_OF_CLASSES = (5, 10, 20, 40), (10, 20, 40)
#: lambda, in rows.
RIDGES = (1000.0, 300.0, 100.0, 30.0)
_FOLDS = 3
#: Tolerance of the normal equations while candidates are compared.
_ROUGHLY = 1e-2


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
    made_up, taught : arrays of shapes (S, k) and (S, T), or None
        Leaves of made-up rows, and what the whole ensemble predicts there.
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
    taught: FloatArray | None = None
    teacher: float = 0.0

    @property
    def share(self) -> float:
        """Mean share q of the trees that have not seen a row."""
        return 1.0 if self.held_out is None else float(self.held_out.mean())

    @property
    def start(self) -> FloatArray:
        """c0 = w_m v for every node, (n_nodes, T)."""
        return self.w_of_nodes[:, None] * self.nodes.value

    @property
    def w_of_nodes(self) -> FloatArray:
        """The weight of each node's tree, (n_nodes,)."""
        return np.repeat(self.w, np.diff(self.nodes.start))

    @cached_property
    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Rows to fit on and rows to judge by."""
        split = KFold(min(_FOLDS, len(self.y)), shuffle=True, random_state=0)
        return list(split.split(self.y))


class Cut:
    """The leaves that a cut leaves, and the squares to minimise over their values."""

    def __init__(self, problem: Problem, cut: BoolArray) -> None:
        self.cut = cut
        self.leaves, number = problem.nodes.columns(cut)
        self.start = problem.start[self.leaves]
        self.w = problem.w_of_nodes[self.leaves]
        L = len(self.leaves)
        Z, counted = leaf_incidence(
            number[problem.rows], L, problem.held_out, problem.w
        )
        self.counted = counted
        self.honest = Squares(Z, problem.y, problem.weight * counted)
        every, _ = leaf_incidence(number[problem.rows], L)
        self.every = Squares(every, problem.y, problem.weight)
        self.taught: list[Squares] = []
        if problem.made_up is not None and problem.taught is not None:
            Q, _ = leaf_incidence(number[problem.made_up], L)
            mu = np.full(len(problem.taught), problem.teacher)
            self.taught = [Squares(Q, problem.taught, mu)]

    def squares(self, all_rows: bool) -> Squares:
        """Return the rows to fit."""
        return self.every if all_rows else self.honest

    def values(self, all_rows: bool, ridge: float) -> FloatArray:
        """Return c (L, T), class probabilities times the weight of their tree."""
        parts = [self.squares(all_rows), *self.taught]
        c = refit(parts, ridge, self.start)
        if c.shape[1] == 1:
            return c
        return refit_shares(parts, ridge, self.start, self.w, c)


class Candidate(NamedTuple):
    """One way to refit, and what it predicts on honest rows.

    Attributes
    ----------
    least : int
        Nodes of fewer training rows become leaves.
    cut : Cut
    all_rows : bool
        Whether all trees meet all rows, seen or not.
    ridge : float
        lambda.
    output : array of shape (N, T)
        By trees that have not seen a row, with values that were fitted without it.
    """

    least: int
    cut: Cut
    all_rows: bool
    ridge: float
    output: FloatArray

    def losses(self) -> FloatArray:
        """Return |y_n - f_n|^2 on honest rows, weighted, zero where no tree votes."""
        honest = self.cut.honest
        return np.asarray(honest.weight * ((honest.y - self.output) ** 2).sum(axis=1))


def candidates(problem: Problem) -> Iterator[Candidate]:
    """Yield every cut with every ridge, fitted on honest rows and on all rows.

    Where no tree has seen a row these are the same. With a teacher only honest rows are
    fitted. A cut looks at the trees only, so that no row is judged by what it has decided.
    Each ridge begins at the solution of the one before.
    """
    both = problem.held_out is not None and not problem.teacher
    for least in LEAST_ROWS if problem.y.shape[1] == 1 else LEAST_ROWS_OF_CLASSES:
        cut = Cut(problem, problem.nodes.n_rows < least)
        for all_rows in (False, True) if both else (False,):
            guesses: list[FloatArray | None] = [None] * len(problem.folds)
            for ridge in RIDGES:
                one = Candidate(least, cut, all_rows, ridge, np.zeros_like(problem.y))
                for fold, (fitted, judged) in enumerate(problem.folds):
                    parts = [cut.squares(all_rows).take(fitted), *cut.taught]
                    c = refit(parts, ridge, cut.start, guesses[fold], tol=_ROUGHLY)
                    guesses[fold] = c
                    one.output[judged] = cut.honest.Z[judged] @ c
                yield one


def chosen(problem: Problem) -> Candidate:
    """Return the candidate of fewest leaves that is not clearly worse than the best.

    That is within one standard error of the difference, paired by rows.
    """
    found = list(candidates(problem))
    losses = np.stack([one.losses() for one in found])
    best = losses.mean(axis=1).argmin()
    gap = losses - losses[best]
    close = gap.mean(axis=1) <= gap.std(axis=1) / np.sqrt(len(problem.y))
    return min(
        (one for one, near in zip(found, close, strict=True) if near),
        key=lambda one: (len(one.cut.leaves), one.losses().mean()),
    )


class Refitted(NamedTuple):
    """Values of all nodes, and which of them are leaves.

    Attributes
    ----------
    values : array of shape (n_nodes, T)
        c at leaves, their weighted mean at nodes above them.
    cut : bool array of shape (n_nodes,)
    ridge : float
        lambda.
    """

    values: FloatArray
    cut: BoolArray
    ridge: float


def refitted(
    problem: Problem, choice: Candidate, max_leaves: int | None = None
) -> Refitted:
    """Refit the leaves as was chosen, and cut further where that is asked.

    The choice comes from 1 / q as many trees as are kept, q the share of them that votes on
    a row. A row's residual is shared by q times as many here, and so lambda is q times
    that of the choice.
    """
    ridge = problem.share * choice.ridge
    nodes, all_rows = problem.nodes, choice.all_rows
    cut = Cut(problem, nodes.n_rows < choice.least)
    values = _at_nodes(problem, cut, cut.values(all_rows, ridge))
    if max_leaves is not None and len(cut.leaves) > max_leaves:
        cut = Cut(problem, cut_to(nodes, values, max_leaves))
        values = _at_nodes(problem, cut, cut.values(all_rows, ridge))
    return Refitted(values, cut.cut, ridge)


def _at_nodes(problem: Problem, cut: Cut, c: FloatArray) -> FloatArray:
    """Return values of all nodes: c at leaves and below them, means above them.

    The means are weighted by the training rows, as in a tree that was just grown.
    """
    nodes = problem.nodes
    _, number = nodes.columns(cut.cut)
    below = np.where((number >= 0)[:, None], c[number], 0.0)
    n = nodes.n[:, None]
    total = nodes.sums(np.hstack([n, n * below]))
    return np.where((number >= 0)[:, None], below, total[:, 1:] / total[:, :1])
