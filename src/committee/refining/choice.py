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
from committee.refining.leaf_values import Squares, leaf_incidence, refit
from committee.refining.nodes import Nodes

#: Nodes of fewer training rows become leaves.
LEAST_ROWS = (5, 10, 20, 40)
#: lambda, in rows for each of the trees that share a row's residual.
RIDGES = (20.0, 6.0, 2.0, 0.6)
#: Both for classes, whose teacher has seen the rows: nothing that it had a part in can
#: be judged there. Chosen on sets that `benchmarks refine` does not have.
LEAST_ROWS_OF_CLASSES, RIDGE_OF_CLASSES = 18, 1.5
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
        """Mean share of the trees that have not seen a row."""
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
        """Return c (L, T), classes with the sum that c0 has.

        That is the solution for their sum; conjugate gradients stop a little before it.
        """
        c = refit([self.squares(all_rows), *self.taught], ridge, self.start)
        if c.shape[1] > 1:
            c += (self.start - c).mean(axis=1, keepdims=True)
        return c


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
        lambda for each tree.
    output : array of shape (N, T)
        By trees that have not seen a row, with values that were fitted without it; NaN
        where a teacher has seen it.
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
    """Yield what there is to choose from: for numbers every cut with every ridge.

    Each is fitted on honest rows and on all rows; where no tree has seen a row these are
    the same. Classes have one candidate, on all rows. A cut looks at the trees only, so
    that no row is judged by what it has decided.
    """
    if problem.y.shape[1] > 1:
        least, ridge = LEAST_ROWS_OF_CLASSES, RIDGE_OF_CLASSES
        cut = Cut(problem, problem.nodes.n_rows < least)
        if problem.teacher and problem.held_out is not None:
            # The teacher has seen the rows: there is no output to judge by.
            yield Candidate(least, cut, True, ridge, np.full_like(problem.y, np.nan))
        else:
            yield from _fitted(problem, cut, least, True, (ridge,))
        return
    for least in LEAST_ROWS:
        cut = Cut(problem, problem.nodes.n_rows < least)
        for all_rows in (False,) if problem.held_out is None else (False, True):
            yield from _fitted(problem, cut, least, all_rows, RIDGES)


def _fitted(
    problem: Problem, cut: Cut, least: int, all_rows: bool, ridges: tuple[float, ...]
) -> Iterator[Candidate]:
    """Fit without each of the folds; each ridge begins at the solution before it."""
    guesses: list[FloatArray | None] = [None] * len(problem.folds)
    for ridge in ridges:
        one = Candidate(least, cut, all_rows, ridge, np.zeros_like(problem.y))
        for fold, (fitted, judged) in enumerate(problem.folds):
            parts = [cut.squares(all_rows).take(fitted), *cut.taught]
            strength = ridge * len(problem.w)
            c = refit(parts, strength, cut.start, guesses[fold], tol=_ROUGHLY)
            guesses[fold] = c
            one.output[judged] = cut.honest.Z[judged] @ c
        yield one


def output_without_a_row(problem: Problem, choice: Candidate) -> FloatArray:
    """Return (N, T) by trees that have not seen a row, with values fitted without it.

    A teacher may have seen it, which is why this output judges nothing. For a slope it is
    good enough: on eight data sets the log-loss was within 0.04 of that with the best one.
    """
    if np.isfinite(choice.output).all():
        return choice.output
    ways = choice.least, choice.all_rows, (choice.ridge,)
    return next(_fitted(problem, choice.cut, *ways)).output


def chosen(problem: Problem) -> Candidate:
    """Return the candidate of fewest leaves that is not clearly worse than the best.

    That is within one standard error of the difference, paired by rows.
    """
    found = list(candidates(problem))
    if len(found) == 1:
        return found[0]
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

    The choice may come from more trees than are kept.
    """
    ridge = choice.ridge * len(problem.w)
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
