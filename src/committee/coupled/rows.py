"""The rows of a fit in one place, and what is planned for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y, validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import check_sample_weight
from committee.coupled.expansion import outputs_of
from committee.coupled.gram import GramBlocks, Layout, threads_for
from committee.coupled.link import refuse_one_class, signed_targets
from committee.coupled.system import CoupledSolution, Solver, solve_coupled
from committee.kernels import Kernel, check_size, warn_of_scales
from committee.targets import without_missing


class Options(TypedDict):
    """Options of a solver, as `solve_coupled` takes them."""

    alpha: float
    coupling: float
    solver: Solver
    tol: float
    max_iter: int
    allow_indefinite: bool


class Drawn(NamedTuple):
    """What neither alpha nor the coupling changes: subsets D_j, coupling points X_c.

    `weighing` are the row numbers of the second layer.
    """

    kernel: Kernel
    subsets: Sequence[IntArray]
    X_coupling: FloatArray
    layout: Layout
    weighing: IntArray


class Rows(NamedTuple):
    """Checked rows: X (N, d), targets Y (N, T) of the submodels, sample weights s.

    y is what combiners take: floats, (N,) or (N, T), or class codes.
    """

    X: FloatArray
    y: Any
    Y: FloatArray
    s: FloatArray | None

    @property
    def vector(self) -> bool:
        """Whether y has one axis."""
        return bool(self.y.ndim == 1)

    def classes(self) -> Any:
        """Return the labels of all rows, (K,), of which two must count."""
        check_classification_targets(self.y)
        refuse_one_class(np.unique(self.y[self.counted()]))
        return np.unique(self.y)

    def coded(self, classes: Any) -> Rows:
        """Return the rows with class codes instead of labels, and targets +-1."""
        codes = np.searchsorted(classes, self.y)
        return self._replace(y=codes, Y=signed_targets(codes, len(classes)))

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, by numbers in increasing order."""
        s = None if self.s is None else self.s[rows]
        return Rows(self.X[rows], self.y[rows], self.Y[rows], s)

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.X)

    def counted(self) -> IntArray:
        """Return the numbers of rows with a positive weight."""
        return np.arange(len(self.X)) if self.s is None else np.flatnonzero(self.s)

    def box(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each column over some rows."""
        X = self.X[rows]
        return X.min(axis=0), X.max(axis=0)

    def plan(self, drawn: Drawn, *, keep: bool = False) -> Plan:
        """Return the plan of a fit; `keep` as for `GramBlocks`."""
        kernel, subsets, X_coupling, layout, _ = drawn
        gram = GramBlocks(
            kernel, self.X, subsets, X_coupling, layout, sample_weight=self.s, keep=keep
        )
        return Plan(self, drawn, gram)


@dataclass(frozen=True)
class Plan:
    """Checked rows and everything drawn, before anything is learned."""

    rows: Rows
    drawn: Drawn
    gram: GramBlocks

    def solve(
        self, points: FloatArray | None, options: Options
    ) -> tuple[CoupledSolution, FloatArray | None]:
        """Return the coefficients, and the outputs on the points, (n, M, T) or None."""
        solution = solve_coupled(self.gram, self.rows.Y, **options)
        if points is None:
            return solution, None
        with threads_for(len(self.gram.subsets[0])):
            return solution, outputs_of(
                self.gram, dict(enumerate(solution.coef)), points
            )


def regression_rows(X: Any, y: Any, s: Any, estimator: Any = None) -> Rows:
    """Return checked rows with numbers as targets; s has been checked."""
    X, y = check_X_y(
        X, y, dtype=np.float64, multi_output=True, y_numeric=True, estimator=estimator
    )
    y = y.astype(np.float64)
    check_size(X, "X")
    check_size(y, "y")
    return Rows(X, y, y.reshape(len(y), -1), s)


def label_rows(X: Any, y: Any, s: Any, estimator: Any = None) -> Rows:
    """Return checked rows with labels, and no targets yet; s has been checked."""
    if y is not None:
        y = without_missing(y)
    X, y = check_X_y(X, y, dtype=np.float64, estimator=estimator)
    check_size(X, "X")
    # Each label twice: a chunk of few rows is no sign of too many classes.
    check_classification_targets(np.repeat(np.unique(y), 2))
    return Rows(X, y, np.zeros((len(y), 0)), s)


def memory_rows(
    estimator: Any, check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> Rows:
    """Return checked rows, and let the estimator know their columns."""
    rows = check(X, y, None, estimator)
    if estimator.gamma is None:
        warn_of_scales(rows.X, estimator.kernel)
    validate_data(estimator, X, skip_check_array=True)
    return rows._replace(s=check_sample_weight(sample_weight, rows.X))
