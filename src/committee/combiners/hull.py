"""Kappa-error convex hull pruning."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.combiners.ballots import TIE, grid
from committee.combiners.base import Combiner
from committee.combiners.problem import Problem
from committee.combiners.selection import ballots_of, equal_weights, votes_tags
from committee.combiners.similarity import agreement


class KappaErrorHullPruner(Combiner):
    """Keep the pairs on the convex hull of the kappa-error diagram.

        x_ij = kappa_ij,   y_ij = (e_i + e_j) / 2

    Every pair is a point. The lower left part of the hull runs from the pair that
    agrees least to the pair that errs least; the members of all pairs on it are
    kept, so the number is found and not given. Pairs without a common row have no
    kappa and are left out of the diagram.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal on the chosen members.
    pairs_ : array of shape (n, 2)
        The pairs on the hull, from the most diverse to the most accurate.
    support_ : array
        The chosen members; the best one where there is no pair.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import KappaErrorHullPruner
    >>> votes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    >>> hull = KappaErrorHullPruner().fit(np.eye(2)[votes], [0] * 4)
    >>> hull.pairs_.tolist(), hull.support_.tolist()
    ([[1, 2], [0, 1]], [0, 1, 2])
    """

    takes_chunks: ClassVar[bool] = True
    pairs_: IntArray

    def __sklearn_tags__(self) -> Any:
        """Say that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    def _weigh(self, problem: Problem) -> FloatArray:
        ballots = ballots_of(self, problem)
        kappa = agreement(ballots).kappa
        i, j = np.nonzero(np.triu(~np.isnan(kappa), k=1))
        error = ballots.errors()
        hull = lower_left_hull(kappa[i, j], (error[i] + error[j]) / 2)
        self.pairs_ = np.column_stack([i, j])[hull]
        chosen = np.unique(self.pairs_)
        if len(chosen) == 0:
            chosen = np.flatnonzero(ballots.rank == 0)
        return equal_weights(chosen, problem.n_members)


def lower_left_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the points on the convex hull from the leftmost to the lowest.

    Of the leftmost points the lowest counts, of the lowest the leftmost. Points on
    an edge, or equal to a corner, are on the hull.

    Parameters
    ----------
    x, y : arrays of shape (n,)

    Returns
    -------
    points : array
        Numbers of the points, from left to right, equal ones in order.
    """
    if len(x) == 0:
        return np.empty(0, dtype=np.intp)
    x, y = grid(x) * TIE, grid(y) * TIE
    at = int(np.lexsort((y, x))[0])
    on = (x == x[at]) & (y == y[at])
    while True:
        dx, dy = x - x[at], y - y[at]
        below = np.flatnonzero((dy < 0) & (dx > 0))
        if len(below) == 0:
            break
        # The edge leads to the point of steepest descent; of several the farthest.
        slope = dy[below] / dx[below]
        steepest = slope.min()
        flat = dy - steepest * dx <= TIE * (1 - steepest)
        edge = below[flat[below]]
        on[edge] = True
        at = int(edge[dx[edge].argmax()])
    points = np.flatnonzero(on)
    return points[np.lexsort((points, -y[points], x[points]))]
