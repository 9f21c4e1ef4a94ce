"""Cells coupled at their borders: points on the borders, and a system in these alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from committee._typing import FloatArray, IntArray
from committee.cells.machine import Border
from committee.cells.tree import CellTree
from committee.linalg import (
    NotPositiveDefiniteError,
    conjugate_gradient,
    largest_eigenvalue,
)


class BorderPoints(NamedTuple):
    """Points that lie on the border of two cells.

    Attributes
    ----------
    points : array of shape (P, d)
    owner, other : arrays of shape (P,)
        The cell of the row that the point comes from, and that behind the border.
    """

    points: FloatArray
    owner: IntArray
    other: IntArray

    def of_cell(self, c: int) -> tuple[IntArray, FloatArray]:
        """Return the numbers of a cell's points, and +1 where it owns them, else -1."""
        own, far = np.flatnonzero(self.owner == c), np.flatnonzero(self.other == c)
        sign = np.repeat([1.0, -1.0], [len(own), len(far)])
        return np.concatenate([own, far]), sign


def nearest_split(tree: CellTree, X: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the split on its way down that each row is nearest to, and v'x - t."""
    nearest = np.zeros(len(X), dtype=np.intp)
    distance = np.full(len(X), np.inf)
    nodes = np.zeros(len(X), dtype=np.intp)
    rows = np.arange(len(X) if len(tree.thresholds) else 0)
    while len(rows):
        at = nodes[rows]
        along = tree.beyond(X[rows], at)
        nearer = np.abs(along) < np.abs(distance[rows])
        nearest[rows[nearer]], distance[rows[nearer]] = at[nearer], along[nearer]
        nodes[rows] = tree.children[at, (along > 0).astype(np.intp)]
        rows = rows[nodes[rows] >= 0]
    return nearest, distance


def border_points(
    tree: CellTree,
    X: FloatArray,
    cells: list[IntArray],
    per_cell: int,
    first: int = 0,
) -> BorderPoints:
    """Return points on the borders: the `per_cell` rows of each cell nearest to one.

        b = x - (v'x - t) v

    with the nearest split on the way to x: no other split is crossed, so b is on the
    border of the cell of x. The cells are those of the tree from number `first` on.
    """
    found: list[BorderPoints] = [
        BorderPoints(
            np.empty((0, X.shape[1])), np.empty(0, np.intp), np.empty(0, np.intp)
        )
    ]
    if tree.n_cells > 1:
        for c, rows in enumerate(cells, first):
            split, along = nearest_split(tree, X[rows])
            near = np.argsort(np.abs(along), kind="stable")[:per_cell]
            split, along = split[near], along[near]
            b = X[rows[near]] - along[:, None] * tree.directions[split]
            behind = tree.children[split, (along <= 0).astype(np.intp)]
            other = _descend(tree, b, behind)
            found.append(BorderPoints(b, np.full(len(b), c), other))
    return BorderPoints(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _descend(tree: CellTree, X: FloatArray, nodes: IntArray) -> IntArray:
    """Return the cells in which rows arrive that start at given nodes."""
    nodes = nodes.copy()
    rows = np.flatnonzero(nodes >= 0)
    while len(rows):
        at = nodes[rows]
        right = tree.beyond(X[rows], at) > 0
        nodes[rows] = tree.children[at, right.astype(np.intp)]
        rows = rows[nodes[rows] >= 0]
    return -1 - nodes


class GroupBorders(NamedTuple):
    """The border points of the cells of a group.

    Attributes
    ----------
    points : BorderPoints
        Cells are numbered from the first of the group; others lie outside 0, 1, ...
    numbers : array of shape (P,)
        Of these points among those of all groups, increasing.
    """

    points: BorderPoints
    numbers: IntArray


def borders_of_groups(borders: BorderPoints, firsts: IntArray) -> list[GroupBorders]:
    """Return the points of every group; `firsts` are its first cells, and their number.

    A point between two groups is in both.
    """
    found = []
    for first, end in itertools.pairwise(firsts.tolist()):
        ends = np.stack([borders.owner, borders.other])
        numbers = np.flatnonzero(((ends >= first) & (ends < end)).any(axis=0))
        owner, other = ends[:, numbers] - first
        points = BorderPoints(borders.points[numbers], owner, other)
        found.append(GroupBorders(points, numbers))
    return found


class JointSolution(NamedTuple):
    """The border points' coefficients.

    Attributes
    ----------
    tension : array of shape (P, T)
        l: the owner of point p has the coefficient -l_p on it, the other cell +l_p.
    n_iter : int
    residual : float
        Relative.
    converged : bool
    """

    tension: FloatArray
    n_iter: int
    residual: float
    converged: bool


class JointSystem:
    """The system that couples cells, fitted alone before, at their border points.

        min  sum_i [ sum_n (y_n - f_i(x_n))^2 alpha / r_n + alpha ||f_i||^2 ]
             + nu sum_p ( f_i(b_p) - f_j(b_p) )^2,      i = owner, j = other of p

    is the mode of Gaussian processes f_i with noise alpha, given that the differences
    D f = f_i(b) - f_j(b) are zero up to noise alpha / nu (patchwork kriging, Park and
    Apley 2018). Given the rows alone, D f has mean d and covariance S, in which points
    meet only where they share a cell, and

        (alpha / nu I + S) l = d,      f_i(x) = m_i(x) - sum_p sign_ip V_i(x, b_p) l_p

    so an iteration needs one number for each border point and target from each cell.

    Parameters
    ----------
    points : BorderPoints
    borders : sequence of Border or None
        One for each cell.
    alpha : float
    """

    def __init__(
        self,
        points: BorderPoints,
        borders: Sequence[Border | None],
        alpha: float,
    ) -> None:
        self.points, self.alpha = points, alpha
        self.of_cell: list[tuple[IntArray, FloatArray]] = []
        self.S: list[FloatArray] = []
        T = next((b.values.shape[1] for b in borders if b is not None), 0)
        self.difference: FloatArray = np.zeros((len(points.owner), T))
        for c, border in enumerate(borders):
            numbers, sign = points.of_cell(c)
            self.of_cell.append((numbers, sign))
            if border is None:
                self.S.append(np.zeros((0, 0)))
                continue
            self.difference[numbers] += sign[:, None] * border.values
            self.S.append(sign[:, None] * border.covariance * sign)

    def product(self, v: FloatArray) -> FloatArray:
        """Return S v."""
        total = np.zeros_like(v)
        for (numbers, _), S in zip(self.of_cell, self.S, strict=True):
            total[numbers] += S @ v[numbers]
        return total

    def solve(
        self, coupling: float, *, tol: float = 1e-10, max_iter: int = 10_000
    ) -> JointSolution:
        """Solve for the tension of all border points at nu = coupling, of any sign.

        By conjugate gradients on (I + nu / alpha S) l = nu / alpha d, preconditioned by
        the blocks of the points that one cell owns.
        """
        c = coupling / self.alpha
        if coupling == 0.0 or not len(self.difference):
            return JointSolution(np.zeros_like(self.difference), 0, 0.0, True)
        if coupling < 0 and coupling <= (limit := self.limit()):
            raise NotPositiveDefiniteError(
                f"With coupling={coupling:g} the cells have no joint minimum: at "
                f"alpha={self.alpha:g} it must be above {limit:.6g}."
            )
        tension, n_iter, residual = conjugate_gradient(
            lambda v: v + c * self.product(v),
            c * self.difference,
            self.preconditioner(c),
            tol=tol,
            max_iter=max_iter,
            advice="Lower the coupling.",
        )
        return JointSolution(tension, n_iter, residual, residual <= tol)

    def preconditioner(self, c: float) -> Callable[[FloatArray], FloatArray]:
        """Return the solution by blocks of I + c S, the points that one cell owns."""
        blocks = [
            (own, cho_factor(self._block(own, c), lower=True, check_finite=False))
            for numbers, sign in self.of_cell
            if len(own := numbers[sign > 0])
        ]

        def solve(r: FloatArray) -> FloatArray:
            z = np.zeros_like(r)
            for own, factor in blocks:
                z[own] = cho_solve(factor, r[own], check_finite=False)
            return z

        return solve

    def precision(self, cell: int, coupling: float) -> FloatArray:
        """Return G, (b, b): the reduction of V_i by agreement on its own borders.

            V_i(x, x) - V_i(x, B) G V_i(B, x),    G = sign (alpha / nu I + S)^-1 sign

        over the points of one cell: borders further away are left out, so the variance
        is not too small; for two cells it is exact.
        """
        numbers, sign = self.of_cell[cell]
        if coupling == 0.0 or not len(numbers):
            return np.zeros((len(numbers), len(numbers)))
        c = coupling / self.alpha
        G = c * np.linalg.inv(self._block(numbers, c))
        return sign[:, None] * G * sign

    def _block(self, numbers: IntArray, c: float) -> FloatArray:
        """Return I + c S between some points."""
        block = np.eye(len(numbers))
        place = np.full(len(self.difference), -1)
        place[numbers] = np.arange(len(numbers))
        cells = np.unique([self.points.owner[numbers], self.points.other[numbers]])
        for cell in cells:
            here = place[self.of_cell[cell][0]]
            use = np.flatnonzero(here >= 0)
            block[np.ix_(here[use], here[use])] += c * self.S[cell][np.ix_(use, use)]
        return block

    def limit(self) -> float:
        """Return the coupling at which the joint system becomes singular.

        I + nu / alpha S > 0   <=>   nu > -alpha / lambda_max(S)
        """
        largest = largest_eigenvalue(self.product, len(self.difference))
        return -self.alpha / largest if largest > 0 else -np.inf


def coupled_coef(
    coef: FloatArray, border: Border | None, sign: FloatArray, tension: FloatArray
) -> FloatArray:
    """Return the coefficients of a cell's rows and border points, (n + b, T).

        a + Q (sign l),    -sign l

    for the tension l, (b, T), of the cell's points.
    """
    if border is None:
        return coef
    pull = sign[:, None] * tension
    return np.concatenate([coef + border.response @ pull, -pull])
