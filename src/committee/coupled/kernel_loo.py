"""Leave-one-out predictions of all submodels, from one solution."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.coupled.gram import GramBlocks
from committee.coupled.system import solve_coupled


def leave_one_out(
    gram: GramBlocks, Y: FloatArray, *, alpha: float, coupling: float
) -> tuple[IntArray, FloatArray]:
    """Predict every training row by the ensemble that did not train on its target.

        f_j = P_j y,    r_n = y_n - f_i(x_n),    n in D_i

        f_j^-n(x_n) = f_j(x_n) - P_j[n, n] r_n / (1 - P_i[n, n])

    The row stays among the points of the kernels; its target leaves the objective.
    Exact, by one factorisation with N right-hand sides, and 3 N^2 numbers.

    Parameters
    ----------
    gram : GramBlocks
    Y : array of shape (N, T)
    alpha, coupling : float

    Returns
    -------
    rows : array of row numbers
        The rows of all subsets, sorted.
    F : array of shape (len(rows), M, T)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.coupled import GramBlocks, Layout, leave_one_out
    >>> from committee.kernels import Kernel
    >>> X = np.linspace(0, 1, 6)[:, None]
    >>> gram = GramBlocks(
    ...     Kernel("rbf"), X, np.split(np.arange(6), 3), X, Layout(3), keep=True
    ... )
    >>> rows, F = leave_one_out(gram, X, alpha=1e-3, coupling=1.0)
    >>> F.shape
    (6, 3, 1)
    """
    q = gram.layout.n_members
    subsets = [gram.subsets[j] for j in range(q)]
    rows = np.sort(np.concatenate(subsets))
    # P_j y is linear in y: with unit vectors as targets its columns come out.
    units = np.zeros((len(gram.X), len(rows)))
    units[rows, np.arange(len(rows))] = 1.0
    P = solve_coupled(gram, units, alpha=alpha, coupling=coupling).coef
    F = np.empty((len(rows), q, Y.shape[1]))
    own = np.empty((len(rows), q))
    for j in range(q):
        K = gram.kernel(gram.X[rows], gram.X[gram.support_rows(j)])
        F[:, j] = K @ (P[j] @ Y[rows])
        # own[n, j] = P_j[n, n], what the target of row n adds to f_j(x_n)
        own[:, j] = np.einsum("nm,mn->n", K, P[j])
    owner = np.empty(len(gram.X), dtype=np.intp)
    for j, subset in enumerate(subsets):
        owner[subset] = j
    n, i = np.arange(len(rows)), owner[rows]
    r = (Y[rows] - F[n, i]) / (1.0 - own[n, i])[:, None]
    return rows, F - own[:, :, None] * r[:, None, :]
