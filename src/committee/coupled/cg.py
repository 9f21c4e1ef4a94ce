"""The coupled system without its blocks: products, conjugate gradients, definiteness.

Kernel blocks k(D_j, S_j) and k(X_c, D_i) are kept, the blocks of the system never
are, except one Cholesky factor for each submodel: a third of the direct solver.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import svd
from scipy.linalg.blas import dtrsm
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from committee._typing import FloatArray
from committee.coupled.gram import GramBlocks
from committee.linalg import (
    NotPositiveDefiniteError,
    conjugate_gradient,
    jittered_cholesky,
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
            return whiten(self.differences(whiten(v.reshape(-1, 1))))[:, 0]

        n = self.size
        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        # A fixed start: the same limit at every call.
        start = np.random.default_rng(0).standard_normal(n)
        if not np.any(product(start)):
            return -np.inf
        if n < 3:  # Lanczos needs room for its vectors
            largest = np.linalg.eigvalsh(operator @ np.eye(n))[-1]
        else:
            largest = eigsh(operator, 1, which="LA", v0=start, tol=1e-10)[0][0]
        return -1.0 / float(largest) if largest > 0 else -np.inf

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

    A factor of K'K + alpha I would know alpha only up to the rounding of K'K.
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
        A, b, lambda r: A.precondition(L, r), tol=tol, max_iter=max_iter
    )
    if residual > tol:
        warnings.warn(
            f"The conjugate gradient stopped after max_iter={max_iter} iterations at a "
            f"relative residual of {residual:.3g}, above tol={tol:g}: raise max_iter, or "
            'take solver="direct".',
            ConvergenceWarning,
            stacklevel=2,
        )
    return [a[rows] for rows in A.rows], max(n_iter, 1), residual <= tol, residual
