"""Targets that the whole ensemble gives to a few of its trees: functions of arrays.

A teacher that has seen a row cannot help to judge anything on it. So there are targets
for each fold, of leaves without the rows of the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray

#: Weight of a target that is certain; one between two classes has 1 more.
_CERTAIN = 0.1


class TreeOnRows(NamedTuple):
    """One tree of the ensemble, and where rows come to.

    Attributes
    ----------
    values : array of shape (n_nodes, K)
    rows : int array of shape (N,)
        The leaf of each row.
    made_up : int array of shape (S,)
        The same of made-up rows.
    """

    values: FloatArray
    rows: IntArray
    made_up: IntArray


class TeacherTargets(NamedTuple):
    """Outputs of the ensemble.

    Attributes
    ----------
    rows : array of shape (N, K)
        T(x_n) by trees that have not seen the row.
    made_up : array of shape (S, K)
        T(x_s) by all trees.
    kept : bool array of shape (S,)
        Made-up rows that no row of the fold has a part in.
    """

    rows: FloatArray
    made_up: FloatArray
    kept: BoolArray


def teacher_targets(
    trees: Iterable[TreeOnRows],
    w: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    held_out: BoolArray | None,
    parents: tuple[IntArray, IntArray],
    folds: Sequence[IntArray],
) -> list[TeacherTargets]:
    """Return the targets of all rows, then those without the rows of each fold.

        v_l without J = sum over rows i in leaf l, seen by the tree, not in J, of s_i y_i / s_i

    in leaves that have seen a row of J; a leaf with no other row abstains. T is the sum of
    w_m v over the trees that do not abstain, which for the others has their mean.

    Parameters
    ----------
    trees : iterable of TreeOnRows
        All M of the ensemble.
    w : array of shape (M,)
        Their weights, which sum to one.
    y : array of shape (N, K)
        Classes as unit vectors.
    weight : array of shape (N,)
        s.
    held_out : bool array of shape (N, M) or None
        None: no tree has seen any of the rows.
    parents : two int arrays of shape (S,)
        Rows that the made-up rows are made of.
    folds : sequence of int arrays
        The rows J of each.
    """
    N, K = y.shape
    fold = np.full(N, -1)
    for f, rows in enumerate(folds):
        fold[rows] = f
    n_values = 1 if held_out is None else 1 + len(folds)
    of_rows = [_Sum(N, K) for _ in range(n_values)]
    of_made_up = [_Sum(len(parents[0]), K) for _ in range(n_values)]
    for m, tree in enumerate(trees):
        voting = None if held_out is None else held_out[:, m]
        for f, values in enumerate(
            _without_folds(tree, y, weight, voting, fold, n_values - 1)
        ):
            of_rows[f].add(w[m], values[tree.rows], voting)
            of_made_up[f].add(w[m], values[tree.made_up])
    nobody = np.full(K, 1 / K)
    taught = [
        (a.mean(nobody), b.mean(nobody))
        for a, b in zip(of_rows, of_made_up, strict=True)
    ]
    found = [TeacherTargets(*taught[0], np.ones(len(parents[0]), dtype=bool))]
    for f in range(len(folds)):
        kept = (fold[parents[0]] != f) & (fold[parents[1]] != f)
        found.append(TeacherTargets(*taught[0 if held_out is None else f + 1], kept))
    return found


def _without_folds(
    tree: TreeOnRows,
    y: FloatArray,
    weight: FloatArray,
    voting: BoolArray | None,
    fold: IntArray,
    n_folds: int,
) -> Iterable[FloatArray]:
    """Yield the values of a tree's nodes, then those without each fold; NaN abstains."""
    yield tree.values
    if voting is None or not n_folds:
        return
    seen = np.flatnonzero(~voting)
    n_nodes, K = tree.values.shape
    codes = (fold[seen] * n_nodes + tree.rows[seen]) * K + y[seen].argmax(axis=1)
    sums = np.bincount(codes, weight[seen], minlength=n_folds * n_nodes * K)
    sums = sums.reshape(n_folds, n_nodes, K)
    total = sums.sum(axis=0)
    for own in sums:
        rest = np.maximum(total - own, 0.0)
        n = rest.sum(axis=1, keepdims=True)
        touched = own.sum(axis=1, keepdims=True) > 0
        with np.errstate(invalid="ignore"):
            # Weights that cancel but for rounding are no rows.
            values = np.where(
                n > 1e-9 * total.sum(axis=1, keepdims=True), rest / n, np.nan
            )
        yield np.where(touched, values, tree.values)


class _Sum:
    """A weighted mean of votes, some of which are missing."""

    def __init__(self, N: int, K: int) -> None:
        self.weighted, self.plain = np.zeros((N, K)), np.zeros((N, K))
        self.w, self.n, self.all = np.zeros(N), np.zeros(N), 0.0

    def add(self, w: float, votes: FloatArray, voting: BoolArray | None = None) -> None:
        """Add the votes (N, K) of one tree, NaN where it abstains."""
        known = np.isfinite(votes[:, 0])
        if voting is not None:
            known &= voting
        votes = np.where(known[:, None], votes, 0.0)
        self.weighted += w * votes
        self.plain += votes
        self.w += w * known
        self.n += known
        self.all += w

    def mean(self, nobody: FloatArray) -> FloatArray:
        """Return sum_m w_m v_m, missing votes filled with the mean of the others."""
        n = np.maximum(self.n, 1)[:, None]
        found = (
            self.weighted + (self.all - self.w)[:, None] * self.plain / n
        ) / self.all
        return np.where(self.n[:, None] > 0, found, nobody)


def doubt(targets: FloatArray) -> FloatArray:
    """Return weights of targets (N, K): 1.1 less the margin of the first class.

    Only the largest of the outputs counts in the end, so that accuracy is wanted where two
    of them are close.
    """
    two = np.partition(targets, -2, axis=1)[:, -2:]
    return np.asarray(np.maximum(1.0 - (two[:, 1] - two[:, 0]), 0.0) + _CERTAIN)
