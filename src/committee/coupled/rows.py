"""The rows of a fit in one place, and what is planned for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.coupled.expansion import outputs_of
from committee.coupled.gram import GramBlocks, Layout, threads_for
from committee.coupled.system import CoupledSolution, Solver, solve_coupled
from committee.kernels import Kernel


class Options(TypedDict):
    """What a solver is told, as `solve_coupled` takes it."""

    alpha: float
    coupling: float
    solver: Solver
    tol: float
    max_iter: int


class Rows(NamedTuple):
    """Checked rows.

    Attributes
    ----------
    X : array of shape (N, d)
    y : array of shape (N,) or (N, T)
        What combiners take: floats, or class codes.
    Y : array of shape (N, T)
        Targets of the submodels.
    s : array of shape (N,) or None
        Sample weights.
    """

    X: FloatArray
    y: Any
    Y: FloatArray
    s: FloatArray | None

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, by numbers in increasing order."""
        s = None if self.s is None else self.s[rows]
        return Rows(self.X[rows], self.y[rows], self.Y[rows], s)

    def counted(self) -> IntArray:
        """Return the numbers of rows with a positive weight."""
        return np.arange(len(self.X)) if self.s is None else np.flatnonzero(self.s)

    def box(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each column over some rows."""
        X = self.X[rows]
        return X.min(axis=0), X.max(axis=0)

    def plan(
        self,
        kernel: Kernel,
        subsets: Sequence[IntArray],
        X_coupling: FloatArray,
        layout: Layout,
        weighing: IntArray,
        *,
        keep: bool = False,
    ) -> Plan:
        """Return the plan of a fit; `keep` as for `GramBlocks`."""
        gram = GramBlocks(
            kernel, self.X, subsets, X_coupling, layout, sample_weight=self.s, keep=keep
        )
        return Plan(self, gram, weighing)


@dataclass(frozen=True)
class Plan:
    """Checked rows and everything drawn, before anything is learned.

    Attributes
    ----------
    rows : Rows
    gram : GramBlocks
    weighing : array of row numbers
        The rows of the second layer.
    """

    rows: Rows
    gram: GramBlocks
    weighing: IntArray

    def solve(
        self, points: FloatArray | None, options: Options
    ) -> tuple[CoupledSolution, FloatArray | None]:
        """Return the coefficients, and what the submodels say on some points.

        Parameters
        ----------
        points : array of shape (n, d) or None
        options : Options

        Returns
        -------
        solution : CoupledSolution
        outputs : array of shape (n, M, T), or None without points
        """
        solution = solve_coupled(self.gram, self.rows.Y, **options)
        if points is None:
            return solution, None
        with threads_for(len(self.gram.subsets[0])):
            return solution, outputs_of(
                self.gram, dict(enumerate(solution.coef)), points
            )

    def points(self) -> FloatArray:
        """Return the rows that kernels are centred on, (N, d)."""
        return self.rows.X


def stacked(parts: Sequence[Rows]) -> Rows:
    """Put rows together.

    Parameters
    ----------
    parts : sequence of Rows, at least one

    Returns
    -------
    Rows
    """
    X, y, Y, s = zip(*parts, strict=True)
    return Rows(
        np.concatenate(X),
        np.concatenate(y),
        np.concatenate(Y),
        None if s[0] is None else np.concatenate(s),
    )
