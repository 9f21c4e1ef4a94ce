"""CellGate: weights of their own in every cell of a tree, continuous between cells."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import Interval
from committee.cells.tree import CellTree, border_width, grow_tree
from committee.combiners import Combiner
from committee.gates.base import Gate
from committee.gates.gate_share import (
    best_on_folds,
    combined,
    errors_of,
    in_units,
    present_shares,
    static_weights,
)
from committee.linalg import solve_simplex
from committee.votes import Votes

#: k, in rows: how many rows of a cell the static weights are worth.
_WORTH = (1000.0, 300.0, 100.0, 30.0, 10.0)


class CellGate(Gate):
    """Weights for members that are good in regions: static ones in each cell.

        g(x) = (1 - share) w_s + share sum_c h_c(x) w_c
        w_c = argmin  sum_n h_c(x_n) |sum_m w_m E_nm|^2 + k v |w - w_s|^2,  w on the simplex

    The cells are those of `CellKernelRegressor`: splits along the
    first principal direction. h are continuous in x with sum one, E the errors, w_s
    static weights, v the mean squared error of a member, and k the best of five on five
    folds, which also say what the share is: zero where the gain is not clear.

    Parameters
    ----------
    max_cell : int, default=100
        Rows of the fit in a cell, at most.
    columns : list of column numbers or names, optional
        What the gate looks at: all columns of X unless given. They must hold numbers.
    static : combiner, optional
        What learns w_s, on the same F: `SimplexWeights()` unless given. Weights must not
        be negative.

    Attributes
    ----------
    static_weights_ : array of shape (M,)
        w_s.
    cell_weights_ : array of shape (n_cells, M)
        w_c.
    gate_share_ : float
    worth_ : float
        k; infinite where the static weights were kept.
    gain_ : float
        Share of the static weights' squared error that the gate saves on the folds;
        zero where they were kept.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CellGate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (800, 1))
    >>> F = np.c_[-X, X]  # the first is right on the left, the second on the right
    >>> gate = CellGate(max_cell=100).fit(X, F, np.abs(X[:, 0]))
    >>> gate.weights([[-0.9], [0.9]]).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Gate._parameter_constraints,
        "max_cell": [Interval(Integral, 2, None, closed="left")],
        "static": [Combiner, None],
    }

    static_weights_: FloatArray
    cell_weights_: FloatArray
    gate_share_: float
    worth_: float
    gain_: float
    _tree: CellTree
    _width: float

    def __init__(
        self,
        max_cell: int = 100,
        *,
        columns: Any = None,
        static: Combiner | None = None,
    ) -> None:
        self.max_cell = max_cell
        self.columns = columns
        self.static = static

    def _learn(self, Z: FloatArray, problem: Votes) -> None:
        """Choose k and the share on folds, and weigh the members in each cell."""
        problem = in_units(problem)
        self.static_weights_ = static_weights(self.static, problem)
        self._tree, _ = grow_tree(Z, self.max_cell)
        self._width = border_width(self._tree, Z)
        H = self._shares(Z)

        def gates(
            train: IntArray, test: IntArray, w: FloatArray
        ) -> Iterator[FloatArray]:
            part = problem.at(train)
            E, s = _filled_errors(part, w), part.row_weights
            for k in _WORTH:
                yield H[test] @ _weights_of(H[train], E, s, w, k)

        self.worth_, self.gate_share_, self.gain_ = np.inf, 0.0, 0.0
        if self._tree.n_cells > 1:
            best, self.gate_share_, self.gain_ = best_on_folds(
                problem, self.static, len(_WORTH), gates
            )
        if self.gate_share_ > 0:
            self.worth_ = _WORTH[best]
        E = _filled_errors(problem, self.static_weights_)
        self.cell_weights_ = _weights_of(
            H, E, problem.row_weights, self.static_weights_, self.worth_
        )

    def _weigh(self, Z: FloatArray, F: FloatArray | None) -> FloatArray:
        """Return (1 - share) w_s + share sum_c h_c w_c."""
        share, G = self.gate_share_, self._shares(Z) @ self.cell_weights_
        return (1.0 - share) * self.static_weights_ + share * G

    def _shares(self, Z: FloatArray) -> FloatArray:
        """Return h, (N, n_cells)."""
        rows, cells, weights = self._tree.shares(Z, self._width)
        H = np.zeros((len(Z), self._tree.n_cells))
        H[rows, cells] = weights
        return H


def _filled_errors(problem: Votes, w: FloatArray) -> FloatArray:
    """Return E, (N, M, K); who abstains errs as those present do, in the mean by w."""
    E, mask = errors_of(problem), problem.held_out
    if mask is None:
        return E
    mean = combined(E, present_shares(w, mask))
    return np.where(mask[..., None], E, mean[:, None])


def _weights_of(
    H: FloatArray, E: FloatArray, s: FloatArray, w: FloatArray, k: float
) -> FloatArray:
    """Return w_c of all cells, (n_cells, M).

    On the simplex |w - w_s|^2 = w'P'P w with P = I - w_s 1', so that one quadratic form
    remains: sum_n h_n E_n E_n' + k v P'P.
    """
    n_cells, M = H.shape[1], len(w)
    if np.isinf(k):
        return np.tile(w, (n_cells, 1))
    s = s / s.mean()
    v = float(s @ np.einsum("nmk,nmk->n", E, E)) / (M * s.sum()) or 1.0
    P = np.eye(M) - w[:, None]
    found = np.empty((n_cells, M))
    for c in range(n_cells):
        near = H[:, c] > 0
        e = E[near] * np.sqrt(s * H[:, c])[near, None, None]
        C = np.einsum("nik,njk->ij", e, e, optimize=True)
        found[c] = solve_simplex(C + k * v * P.T @ P)
    return found
