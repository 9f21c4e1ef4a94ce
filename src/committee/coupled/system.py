"""The coupled system: what is minimised, and its solution.

Block Cholesky makes the blocks of the system. Conjugate gradients keep kernel blocks
k(D_j, S_j) and k(X_c, D_i) and one Cholesky factor for each submodel, a third of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, svd
from scipy.sparse import coo_array, diags_array

from committee._typing import FloatArray, IntArray
from committee.coupled.gram import GramBlocks, threads_for
from committee.linalg import (
    NotPositiveDefiniteError,
    conjugate_gradient,
    jittered_cholesky,
    largest_eigenvalue,
    solve_blocks,
    solve_blocks_indefinite,
)
from committee.linalg.blocks import Block

#: Beyond this condition fewer than three digits of the coefficients are right.
_MAX_CONDITION = 1e-3 / float(np.finfo(np.float64).eps)
#: Above this ratio of coupling to alpha the ridge is lost in rounding.
_MAX_RATIO = 1e12


def solve_coupled(
    gram: GramBlocks,
    Y: FloatArray,
    *,
    alpha: float,
    coupling: float,
    allow_indefinite: bool = False,
) -> list[FloatArray]:
    """Train all submodels jointly, by block Cholesky.

        min  1/2 sum_j ||Kt_j a_j - r_j||^2 + alpha/2 sum_j ||a_j||^2
             + nu/2 sum_{j ~ k} ||Kc_j a_j - Kc_k a_k||^2

        H_j a_j - nu sum_{k ~ j} Kc_j'Kc_k a_k = Kt_j' r_j

    with r_j = y_j. With sample weights, the rows of r_j and Kt_j are multiplied by the
    square roots of their weights.

    Parameters
    ----------
    gram : GramBlocks
    Y : array of shape (N, T)
        Targets; all T share one factorisation.
    alpha : float
        The ridge, 1 / gamma of the paper.
    coupling : float
        nu. Negative values make submodels disagree. The system must be definite.
    allow_indefinite : bool
        Solve the equations also for a negative coupling at which the problem has no
        minimum, by block LU. A warning states the limit and the condition number.

    Returns
    -------
    coef : list of arrays of shape (m_j, T)
        a_j, in the order of S_j.

    Raises
    ------
    NotPositiveDefiniteError
        If a negative coupling is below the limit, which the message states.
    numpy.linalg.LinAlgError
        If an indefinite system is singular, or nearly so.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.coupled import GramBlocks, Layout, solve_coupled
    >>> from committee.kernels import Kernel
    >>> X = np.linspace(0, 1, 6)[:, None]
    >>> subsets = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    >>> gram = GramBlocks(Kernel("rbf"), X, subsets, X, Layout(3))
    >>> [a.shape for a in solve_coupled(gram, X, alpha=1e-3, coupling=1.0)]
    [(6, 1), (6, 1), (6, 1)]
    """
    # H_j has the rows of three subsets.
    largest = 3 * max(map(len, gram.subsets))

    def alone(j: int) -> FloatArray:
        """Solve (Kt_j'Kt_j + alpha I) a_j = Kt_j' r_j."""

        def H(_i: int, _k: int) -> FloatArray:
            return gram.diagonal(j, alpha, 0.0)

        return solve_blocks(H, [gram.right_side(j, Y)])[0]

    try:
        with threads_for(largest):
            if coupling == 0.0 or not gram.layout.edges:
                return [alone(j) for j in range(gram.layout.n_members)]
            block = system_block(gram, alpha, coupling)
            ring = gram.layout.topology == "ring"
            return solve_blocks(block, RightSides(gram, Y), ring=ring)
    except NotPositiveDefiniteError as error:
        if coupling >= 0:
            raise NotPositiveDefiniteError(_advice(alpha, coupling)) from error
        # Only now: the limit takes a singular value decomposition of every block.
        limit = CoupledOperator(gram, alpha, coupling).limit()
        if not allow_indefinite:
            raise NotPositiveDefiniteError(_below(alpha, coupling, limit)) from error
        with threads_for(largest):
            return _stationary(gram, Y, alpha, coupling, limit)


def _stationary(
    gram: GramBlocks, Y: FloatArray, alpha: float, nu: float, limit: float
) -> list[FloatArray]:
    """Solve the equations where their solution is not a minimum; warn, with the limit."""
    ring = gram.layout.topology == "ring"
    block = system_block(gram, alpha, nu)
    near = (
        f"At coupling={nu:g} the system is {{}}: an eigenvalue is close to zero. "
        f"Choose coupling >= {limit:.6g}, for which the problem has a minimum."
    )
    try:
        coef, condition = solve_blocks_indefinite(block, RightSides(gram, Y), ring=ring)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(near.format("singular")) from error
    if not condition < _MAX_CONDITION:
        raise np.linalg.LinAlgError(
            near.format(f"nearly singular, of condition {condition:.1e}")
        )
    warnings.warn(
        f"At coupling={nu:g} the problem has no minimum: for these rows, this kernel "
        f"and alpha={alpha:g} it has one above {limit:.6g}. The solution is a stationary "
        f"point, not a minimiser, of a system of condition {condition:.1e}.",
        stacklevel=2,
    )
    return coef


def solve_coupled_cg(
    gram: GramBlocks,
    Y: FloatArray,
    *,
    alpha: float,
    coupling: float,
    tol: float,
    max_iter: int,
) -> tuple[list[FloatArray], int, bool]:
    """Solve the system of `solve_coupled` by preconditioned conjugate gradients.

        A a = Kt'y,    M = blockdiag(H_j),    until ||A a - b|| <= tol ||b||

    Returns
    -------
    coef : list of arrays of shape (m_j, T)
    n_iter : int
    converged : bool
    """
    A = CoupledOperator(gram, alpha, coupling)
    largest = max(K.shape[1] for K in A.Kt)
    with threads_for(largest):
        # Conjugate gradients need not notice that A is indefinite: check before.
        if coupling < 0 and coupling <= (limit := A.limit()):
            raise NotPositiveDefiniteError(
                _below(alpha, coupling, limit)
                + ' allow_indefinite=True solves the equations with solver="direct".'
            )
        members = range(len(A.Kt))
        b = np.concatenate([gram.right_side(j, Y) for j in members])
        try:
            L = [
                jittered_cholesky(gram.diagonal(j, alpha, coupling))[0] for j in members
            ]
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(_advice(alpha, coupling)) from error

        def precondition(r: FloatArray) -> FloatArray:
            parts = zip(L, A.split(r), strict=True)
            return np.concatenate(
                [cho_solve((L_j, True), r_j, check_finite=False) for L_j, r_j in parts]
            )

        a, n_iter, residual = conjugate_gradient(
            A,
            b,
            precondition,
            tol=tol,
            max_iter=max_iter,
            advice='Increase max_iter or tol, or use solver="direct".',
        )
    return A.split(a), max(n_iter, 1), residual <= tol


def system_block(gram: GramBlocks, alpha: float, nu: float) -> Block:
    """Return the blocks of the system as a function of their place."""

    def block(i: int, j: int) -> FloatArray:
        return gram.diagonal(j, alpha, nu) if i == j else gram.products(i, j, -nu)

    return block


class RightSides(Sequence[FloatArray]):
    """Kt_j' y_j, computed when read: right after H_j, which needs Kt_j as well."""

    def __init__(self, gram: GramBlocks, Y: FloatArray) -> None:
        self.gram, self.Y = gram, Y

    def __len__(self) -> int:
        """Return q."""
        return self.gram.layout.n_members

    def __getitem__(self, j: Any) -> Any:
        """Return Kt_j' y_j, (m_j, T)."""
        return self.gram.right_side(j, self.Y)


def _advice(alpha: float, nu: float) -> str:
    """Return what to change so that a system with nu >= 0 is positive definite."""
    if nu > max(1.0, _MAX_RATIO * alpha):
        return (
            "The system is not positive definite in double precision: "
            f"coupling={nu:g} is too large beside alpha={alpha:g}. Give a smaller coupling."
        )
    return (
        f"The system is not positive definite in double precision: alpha={alpha:g} "
        "is too small beside the kernel's values times the sample weights. Give a "
        "larger alpha."
    )


def _below(alpha: float, nu: float, limit: float) -> str:
    """Return that nu is below the limit of the coupling."""
    return (
        f"The system is not positive definite at coupling={nu:g}: for these rows, this "
        f"kernel and alpha={alpha:g} the coupling must be greater than {limit:.6g}."
    )


class CoupledOperator:
    """Products with the matrix of the system, by kernel blocks.

    A = H_0 + nu E'E, with H_0 = Kt'Kt + alpha I, and E a the differences of coupled
    outputs on X_c.
    """

    def __init__(self, gram: GramBlocks, alpha: float, nu: float) -> None:
        layout = gram.layout
        q = layout.n_members
        self.alpha, self.nu = alpha, nu
        self.Kt = [gram.training(j) for j in range(q)]
        # Three submodels share the block of a subset.
        Kc = [gram.coupling(i) for i in range(q)]
        self.Kc = [[Kc[i] for i in layout.support(j)] for j in range(q)]
        self._ends = np.cumsum([K.shape[1] for K in self.Kt])
        # n_j on the diagonal, -1 where two submodels are coupled.
        one, two = np.array(layout.edges, dtype=np.intp).reshape(-1, 2).T
        pairs = coo_array((np.ones(len(one)), (one, two)), shape=(q, q))
        self._laplacian = diags_array(layout.degrees.astype(float)) - pairs - pairs.T

    def split(self, v: FloatArray) -> list[FloatArray]:
        """Return the rows of v, (m, T), that belong to each submodel."""
        return np.split(v, self._ends[:-1])

    def __call__(self, a: FloatArray) -> FloatArray:
        """Return A a, (m, T)."""
        H_0 = [K.T @ (K @ a_j) for K, a_j in zip(self.Kt, self.split(a), strict=True)]
        return np.concatenate(H_0) + self.alpha * a + self.nu * self.differences(a)

    def differences(self, a: FloatArray) -> FloatArray:
        """Return E'E a, (m, T): the part of the coupling, for nu = 1."""
        outputs = []
        for blocks, a_j in zip(self.Kc, self.split(a), strict=True):
            cuts = np.cumsum([K.shape[1] for K in blocks])[:-1]
            parts = zip(blocks, np.split(a_j, cuts), strict=True)
            outputs.append(sum(K @ part for K, part in parts))
        f = np.stack(outputs)  # (q, n_c, T)
        gaps = (self._laplacian @ f.reshape(len(f), -1)).reshape(f.shape)
        return np.concatenate(
            [
                K.T @ gap
                for blocks, gap in zip(self.Kc, gaps, strict=True)
                for K in blocks
            ]
        )

    def limit(self) -> float:
        """Return the coupling at which the system becomes singular.

        H_0 + nu E'E > 0   <=>   nu > -1 / lambda_max(R E'E R),    R = H_0^-1/2
        """
        roots = [_InverseRoot(K, self.alpha) for K in self.Kt]

        def whiten(v: FloatArray) -> FloatArray:
            parts = zip(roots, self.split(v), strict=True)
            return np.concatenate([R(part) for R, part in parts])

        def product(v: FloatArray) -> FloatArray:
            return whiten(self.differences(whiten(v)))

        largest = largest_eigenvalue(product, int(self._ends[-1]))
        return -1.0 / largest if largest > 0 else -np.inf


class _InverseRoot:
    """Products with (K'K + alpha I)^-1/2, by the singular values of K.

        v / sqrt(alpha) + V (1 / sqrt(d^2 + alpha) - 1 / sqrt(alpha)) V'v,    K = U d V'

    In a factor of K'K + alpha I, alpha is lost below the rounding of K'K.
    """

    def __init__(self, K: FloatArray, alpha: float) -> None:
        _, d, self.Vt = svd(K, full_matrices=False, check_finite=False)
        self.outside = float(1.0 / np.sqrt(alpha))
        self.inside = 1.0 / np.sqrt(d**2 + alpha) - self.outside

    def __call__(self, v: FloatArray) -> FloatArray:
        """Return the product with v, (m, T)."""
        inside: FloatArray = self.Vt.T @ (self.inside[:, None] * (self.Vt @ v))
        return self.outside * v + inside


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
    rows = np.sort(np.concatenate(gram.subsets))
    # P_j y is linear in y: with unit vectors as targets its columns come out.
    units = np.zeros((len(gram.X), len(rows)))
    units[rows, np.arange(len(rows))] = 1.0
    P = solve_coupled(gram, units, alpha=alpha, coupling=coupling)
    F = np.empty((len(rows), q, Y.shape[1]))
    own = np.empty((len(rows), q))
    for j in range(q):
        K = gram.kernel(gram.X[rows], gram.X[gram.support_rows(j)])
        F[:, j] = K @ (P[j] @ Y[rows])
        # own[n, j] = P_j[n, n], what the target of row n adds to f_j(x_n)
        own[:, j] = np.einsum("nm,mn->n", K, P[j])
    owner = np.empty(len(gram.X), dtype=np.intp)
    for j, subset in enumerate(gram.subsets):
        owner[subset] = j
    n, i = np.arange(len(rows)), owner[rows]
    r = (Y[rows] - F[n, i]) / (1.0 - own[n, i])[:, None]
    return rows, F - own[:, :, None] * r[:, None, :]
