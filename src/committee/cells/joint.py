"""Cells coupled at their borders: a system in the border points alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from committee._typing import FloatArray, IntArray
from committee.cells.borders import BorderPoints
from committee.cells.machine import Border
from committee.linalg import (
    NotPositiveDefiniteError,
    conjugate_gradient,
    largest_eigenvalue,
)


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
    """What cells that are fitted alone owe to each other on their borders.

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
        self, coupling: float, *, tol: float = 1e-10, max_iter: int = 1000
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
            advice=", or lower the coupling",
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
        """Return G, (b, b): what agreement on its own borders takes off V_i.

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
