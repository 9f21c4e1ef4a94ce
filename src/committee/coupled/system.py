"""The coupled system: what is minimised, and its solution.

The direct solver makes the blocks of the system. Conjugate gradients keep kernel blocks
k(D_j, S_j) and k(X_c, D_i) and one Cholesky factor for each submodel, a third of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import svd
from scipy.linalg.blas import dtrsm

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

Solver = Literal["direct", "cg"]


@dataclass(frozen=True)
class CoupledSolution:
    """Coefficients of all submodels.

    Attributes
    ----------
    coef : list of arrays of shape (m_j, T)
        a_j, in the order of S_j.
    n_iter : int
        Iterations of the conjugate gradient; 1 for the direct solver.
    converged : bool
    residual : float
        The largest ||A a - b|| / ||b|| over the targets that the conjugate gradient
        left; 0 for the direct solver.
    """

    coef: list[FloatArray]
    n_iter: int = 1
    converged: bool = True
    residual: float = 0.0


def solve_coupled(
    gram: GramBlocks,
    Y: FloatArray,
    *,
    alpha: float,
    coupling: float,
    solver: Solver = "direct",
    tol: float = 1e-10,
    max_iter: int = 10_000,
    allow_indefinite: bool = False,
) -> CoupledSolution:
    """Train all submodels jointly.

        min  1/2 sum_j ||Kt_j a_j - r_j||^2 + alpha/2 sum_j ||a_j||^2
             + nu/2 sum_{j ~ k} ||Kc_j a_j - Kc_k a_k||^2

        H_j a_j - nu sum_{k ~ j} Kc_j'Kc_k a_k = Kt_j' r_j

    with r_j = y_j, or where there are sample weights rows of both r_j and Kt_j times
    their square roots.

    Parameters
    ----------
    gram : GramBlocks
    Y : array of shape (N, T)
        Targets; all T share one factorisation.
    alpha : float
        The ridge, 1 / gamma of the paper.
    coupling : float
        nu. Negative values make submodels disagree, while the system is definite.
    solver : {"direct", "cg"}
        Block Cholesky, or conjugate gradients preconditioned by the H_j.
    tol, max_iter : float, int
        Of the conjugate gradient: the residual relative to the right-hand side.
    allow_indefinite : bool
        Solve the equations also for a negative coupling at which the problem has no
        minimum, by block LU; a warning has the limit and the condition.

    Returns
    -------
    CoupledSolution

    Raises
    ------
    NotPositiveDefiniteError
        For a negative coupling states the limit.
    numpy.linalg.LinAlgError
        Where an indefinite system is singular, or nearly so.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.coupled import GramBlocks, Layout, solve_coupled
    >>> from committee.kernels import Kernel
    >>> X = np.linspace(0, 1, 6)[:, None]
    >>> subsets = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    >>> gram = GramBlocks(Kernel("rbf"), X, subsets, X, Layout(3))
    >>> solution = solve_coupled(gram, X, alpha=1e-3, coupling=1.0)
    >>> [a.shape for a in solution.coef]
    [(6, 1), (6, 1), (6, 1)]
    """
    members = range(gram.layout.n_members)
    # H_j has the rows of three subsets.
    largest = 3 * max(len(gram.subsets[j]) for j in members)
    try:
        with threads_for(largest):
            if coupling == 0.0 or not gram.layout.edges:
                return CoupledSolution(solve_uncoupled(gram, Y, alpha, members))
            if solver == "cg":
                return CoupledSolution(
                    *solve_cg(gram, Y, alpha, coupling, tol=tol, max_iter=max_iter)
                )
            block = system_block(gram, alpha, coupling)
            ring = gram.layout.topology == "ring"
            return CoupledSolution(solve_blocks(block, RightSides(gram, Y), ring=ring))
    except NotPositiveDefiniteError as error:
        limit = None
        # Only now: the limit takes a singular value decomposition of every block.
        if coupling < 0:
            limit = CoupledOperator(gram, alpha, coupling).coupling_limit()
            if allow_indefinite and solver == "direct":
                with threads_for(largest):
                    return _stationary(gram, Y, alpha, coupling, limit)
        sentence = advice(alpha, coupling, limit)
        if allow_indefinite and coupling < 0:
            sentence += ' allow_indefinite=True is for solver="direct".'
        raise NotPositiveDefiniteError(sentence) from error


def _stationary(
    gram: GramBlocks, Y: FloatArray, alpha: float, nu: float, limit: float
) -> CoupledSolution:
    """Solve the equations where their solution is not a minimum; warn, with the limit."""
    ring = gram.layout.topology == "ring"
    block = system_block(gram, alpha, nu)
    near = (
        f"At coupling={nu:g} the system is {{}}: an eigenvalue is too near to zero. "
        f"Give another coupling; from {limit:.6g} on the problem has a minimum."
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
    return CoupledSolution(coef)


def solve_uncoupled(
    gram: GramBlocks, Y: FloatArray, alpha: float, members: Iterable[int]
) -> list[FloatArray]:
    """Solve the separate ridge problems of some submodels.

    (Kt_j'Kt_j + alpha I) a_j = Kt_j' r_j
    """
    coef = []
    for j in members:

        def block(_i: int, _k: int, j: int = j) -> FloatArray:
            return gram.diagonal(j, alpha, 0.0)

        coef += solve_blocks(block, [gram.right_side(j, Y)])
    return coef


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


def advice(alpha: float, nu: float, limit: float | None) -> str:
    """Return what to change so that the system is positive definite.

    `limit` is the least coupling that is allowed, where it is known.
    """
    if nu > max(1.0, _MAX_RATIO * alpha):
        return (
            "The system is not positive definite in double precision: "
            f"coupling={nu:g} is too large beside alpha={alpha:g}. Give a smaller coupling."
        )
    if nu >= 0:
        return (
            f"The system is not positive definite in double precision: alpha={alpha:g} "
            "is too small beside the kernel's values times the sample weights. Give a "
            "larger alpha."
        )
    if limit is None:
        return (
            f"The system is not positive definite at coupling={nu:g}: give a coupling "
            "nearer to zero, or a larger alpha."
        )
    return (
        f"The system is not positive definite at coupling={nu:g}: for these rows, this "
        f"kernel and alpha={alpha:g} the coupling must be greater than {limit:.6g}."
    )


class CoupledOperator:
    """Products with A = H_0 + nu E'E, H_0 = Kt'Kt + alpha I, E the differences."""

    def __init__(self, gram: GramBlocks, alpha: float, nu: float) -> None:
        q = gram.layout.n_members
        self.gram, self.alpha, self.nu = gram, alpha, nu
        self.Kt = [gram.training(j) for j in range(q)]
        self.Kc = [gram.coupling(i) for i in range(q)]
        self.neighbours: list[list[int]] = [[] for _ in range(q)]
        for j, k in gram.layout.edges:
            self.neighbours[j].append(k)
            self.neighbours[k].append(j)
        ends = np.cumsum([K.shape[1] for K in self.Kt])
        self.rows = [
            slice(e - K.shape[1], e) for e, K in zip(ends, self.Kt, strict=True)
        ]
        self.size = int(ends[-1])

    def ridge(self, a: FloatArray) -> FloatArray:
        """Return H_0 a."""
        out = self.alpha * a
        for K, r in zip(self.Kt, self.rows, strict=True):
            out[r] += K.T @ (K @ a[r])
        return out

    def differences(self, a: FloatArray) -> FloatArray:
        """Return E'E a: what the coupling adds, for nu = 1."""
        u = [self._outputs(j, a[r]) for j, r in enumerate(self.rows)]
        out = np.empty_like(a)
        for j, r in enumerate(self.rows):
            gap = len(self.neighbours[j]) * u[j]
            for k in self.neighbours[j]:
                gap -= u[k]
            parts = [self.Kc[i].T @ gap for i in self.gram.layout.support(j)]
            out[r] = np.concatenate(parts)
        return out

    def __call__(self, a: FloatArray) -> FloatArray:
        """Return A a."""
        return self.ridge(a) + self.nu * self.differences(a)

    def factors(self, nu: float) -> list[FloatArray]:
        """Return the Cholesky factors of the diagonal blocks H_j at nu."""
        blocks = (self.gram.diagonal(j, self.alpha, nu) for j in range(len(self.Kt)))
        return [jittered_cholesky(H)[0] for H in blocks]

    def coupling_limit(self) -> float:
        """Return the coupling at which the system becomes singular.

        H_0 + nu E'E > 0   <=>   nu > -1 / lambda_max(R E'E R),    R = H_0^-1/2
        """
        roots = [_InverseRoot(K, self.alpha) for K in self.Kt]

        def whiten(v: FloatArray) -> FloatArray:
            parts = [R(v[rows]) for R, rows in zip(roots, self.rows, strict=True)]
            return np.concatenate(parts)

        def product(v: FloatArray) -> FloatArray:
            return whiten(self.differences(whiten(v)))

        largest = largest_eigenvalue(product, self.size)
        return -1.0 / largest if largest > 0 else -np.inf

    def precondition(self, L: list[FloatArray], r: FloatArray) -> FloatArray:
        """Return the solution of L L' z = r, block by block."""
        z = np.empty_like(r)
        for L_j, rows in zip(L, self.rows, strict=True):
            half = dtrsm(1.0, L_j, r[rows], lower=1)
            z[rows] = dtrsm(1.0, L_j, half, lower=1, trans_a=1)
        return z

    def _outputs(self, j: int, a: FloatArray) -> FloatArray:
        """Return Kc_j a_j, the outputs of submodel j on the coupling points."""
        total = np.zeros((len(self.gram.X_coupling), a.shape[1]))
        start = 0
        for i in self.gram.layout.support(j):
            stop = start + self.Kc[i].shape[1]
            total += self.Kc[i] @ a[start:stop]
            start = stop
        return total


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


def solve_cg(
    gram: GramBlocks,
    Y: FloatArray,
    alpha: float,
    nu: float,
    *,
    tol: float,
    max_iter: int,
) -> tuple[list[FloatArray], int, bool, float]:
    """Solve the coupled system by preconditioned conjugate gradients.

        A a = Kt'y,    M = blockdiag(H_j),    until ||A a - b|| <= tol ||b||

    Returns coef, n_iter, converged and residual of a `CoupledSolution`.
    """
    A = CoupledOperator(gram, alpha, nu)
    # Conjugate gradients need not notice that A is indefinite: check before.
    if nu < 0 and nu <= A.coupling_limit():
        raise NotPositiveDefiniteError("The coupling is below its limit.")
    b = np.concatenate([gram.right_side(j, Y) for j in range(len(A.Kt))])
    L = A.factors(nu)
    a, n_iter, residual = conjugate_gradient(
        A,
        b,
        lambda r: A.precondition(L, r),
        tol=tol,
        max_iter=max_iter,
        advice=', or take solver="direct"',
    )
    return [a[rows] for rows in A.rows], max(n_iter, 1), residual <= tol, residual


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
