"""Chains and rings of symmetric blocks that need not be definite, by LU.

Rows are exchanged between neighbouring block rows, as in the LU of a band matrix: an
indefinite matrix may have blocks that are singular though the whole is not. A ring is
folded into a chain, opposite blocks beside each other:

    (0, q-1), (1, q-2), (2, q-3), ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag, solve_triangular
from scipy.linalg.lapack import dgetrf
from scipy.sparse.linalg import LinearOperator, onenormest

from committee._typing import FloatArray, IntArray
from committee.linalg.blocks import Block


class Front(NamedTuple):
    """One step: rows of groups k and k+1 in a new order are [L_11; L_21] [U_11 U].

    lu, (n_k + n_{k+1}, n_k), has U_11 on and above its diagonal, L_11 and L_21 below;
    U, (n_k, n_{k+1} + n_{k+2}), belongs to the columns of the next two groups.
    """

    order: IntArray
    lu: FloatArray
    U: FloatArray


def solve_block_indefinite(
    block: Block, rhs: Sequence[FloatArray], *, ring: bool
) -> tuple[list[FloatArray], float]:
    """Solve a symmetric block tridiagonal system, with a corner if `ring`.

        A_{j,j-1} x_{j-1} + A_jj x_j + A_{j+1,j}' x_{j+1} = b_j

    Time is O(q m^3) and memory O(q m^2) for q blocks of m rows, as for the Cholesky
    factor of a definite matrix, with larger factors.

    Parameters
    ----------
    block, rhs
        As for `solve_block_chain` and `solve_block_ring`, but in another order; each
        block is requested once. Right-hand sides are (n_j, T).
    ring : bool

    Returns
    -------
    x : list of q arrays of shape (n_j, T)
    condition : float
        An estimate from below of ||A||_1 ||A^-1||_1, as a rule within a factor of
        three: about log10(condition) digits of x are lost.

    Raises
    ------
    numpy.linalg.LinAlgError
        For a singular matrix.
    """
    factor = _BlockLU(block, len(rhs), ring=ring and len(rhs) > 2)
    return factor.solve(rhs), factor.condition()


class _BlockLU:
    """The fronts of a chain of groups: single blocks, or pairs of a folded ring."""

    def __init__(self, block: Block, n_blocks: int, *, ring: bool) -> None:
        self.block, self.n_blocks, self.ring = block, n_blocks, ring
        pairs = [(k, n_blocks - 1 - k) for k in range((n_blocks + 1) // 2)]
        # The middle one of an odd number is alone.
        folded = [tuple(dict.fromkeys(pair)) for pair in pairs]
        self.groups = folded if ring else [(j,) for j in range(n_blocks)]
        self.sizes = [0] * n_blocks
        self.norm = 0.0
        self.fronts = self._eliminate()

    def _eliminate(self) -> list[Front]:
        """Eliminate one group after the other, with partial pivoting.

        Of two block rows, as many rows as there are columns are finished; the others
        are carried on as if they were the next block row.
        """
        fronts = []
        pivot, below = self._diagonal(0), self._below(0)
        beside = below.T
        self._note(pivot, beside)
        for k in range(len(self.groups)):
            diagonal, ahead = self._diagonal(k + 1), self._below(k + 1)
            self._note(below, diagonal, ahead.T)
            n, m = len(pivot), len(diagonal)
            rest = np.zeros((n + m, m + len(ahead)), order="F")
            rest[:n, :m], rest[n:, :m], rest[n:, m:] = beside, diagonal, ahead.T
            lu, order = _pivoted_lu(np.concatenate([pivot, below]))
            rest = rest[order]
            U = _solve_lower(lu[:n], rest[:n])
            rest = rest[n:] - lu[n:] @ U
            fronts.append(Front(order, lu, U))
            pivot, beside, below = rest[:, :m], rest[:, m:], ahead
        return fronts

    def solve(self, rhs: Sequence[FloatArray]) -> list[FloatArray]:
        """Return x of A x = rhs, cut as rhs."""
        b = [np.concatenate([rhs[j] for j in group]) for group in self.groups]
        nothing = b[0][:0]
        carried, z = b[0], []
        for (order, lu, _), below in zip(self.fronts, [*b[1:], nothing], strict=True):
            n = lu.shape[1]
            rows = np.concatenate([carried, below])[order]
            z.append(_solve_lower(lu[:n], rows[:n]))
            carried = rows[n:] - lu[n:] @ z[-1]
        x: list[FloatArray] = [nothing] * self.n_blocks
        first, second = nothing, nothing  # x of the next two groups
        for k in reversed(range(len(z))):
            _, lu, U = self.fronts[k]
            n = lu.shape[1]
            right = z[k] - U @ np.concatenate([first, second])
            solved = solve_triangular(lu[:n], right, check_finite=False)
            first, second = solved, first
            cuts = np.cumsum([self.sizes[j] for j in self.groups[k]])[:-1]
            for j, part in zip(self.groups[k], np.split(first, cuts), strict=True):
                x[j] = part
        return x

    def condition(self) -> float:
        """Return an estimate of ||A||_1 ||A^-1||_1, by a few solutions."""
        n, cuts = sum(self.sizes), np.cumsum(self.sizes)[:-1]

        def inverse(v: FloatArray) -> FloatArray:
            return np.concatenate(self.solve(np.split(v.reshape(n, -1), cuts)))

        operator = LinearOperator(
            (n, n), matvec=inverse, rmatvec=inverse, dtype=np.float64
        )
        # One column: with more, SciPy draws from NumPy's global generator.
        return self.norm * float(onenormest(operator, t=1))

    def _diagonal(self, k: int) -> FloatArray:
        """Return the block of group k; the group after the last has an empty one."""
        if k == len(self.groups):
            return np.zeros((0, 0))
        i, *others = self.groups[k]
        A: FloatArray = self._entry(i, i)
        for j in others:
            B, D = self._entry(j, i), self._entry(j, j)
            B = np.zeros((len(D), len(A))) if B is None else B
            A = np.block([[A, B.T], [B, D]])
        return A

    def _below(self, k: int) -> FloatArray:
        """Return the block of groups k+1 and k, without rows after the last."""
        if k + 1 >= len(self.groups):
            last = self.groups[k] if k < len(self.groups) else ()
            return np.zeros((0, sum(self.sizes[j] for j in last)))
        I, J = self.groups[k + 1], self.groups[k]
        if len(I) < len(J):
            # The middle of a ring of an odd number is beside both of the group before.
            return np.hstack([self._entry(I[0], j) for j in J])
        pairs = zip(I, J, strict=True)
        A: FloatArray = block_diag(*(self._entry(i, j) for i, j in pairs))
        return A

    def _entry(self, i: int, j: int) -> Any:
        """Return A_ij, None where blocks are not beside each other."""
        if i == j:
            lower = np.tril(self.block(j, j))
            self.sizes[j] = len(lower)
            return lower + np.tril(lower, -1).T
        beside = abs(i - j) == 1 or (self.ring and abs(i - j) == self.n_blocks - 1)
        if not beside:
            return None
        return self.block(i, j) if i > j else self.block(j, i).T

    def _note(self, *row: FloatArray) -> None:
        """Add a block row to the norm, which for a symmetric matrix is the norm by columns."""
        sums = sum(np.abs(A).sum(axis=1) for A in row)
        self.norm = max(self.norm, float(np.max(sums, initial=0.0)))


def _pivoted_lu(A: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the factors of A, (m, n), in one array, and the order of its rows."""
    lu, swaps, singular = dgetrf(A)
    if singular:
        raise np.linalg.LinAlgError("The matrix is singular.")
    order = np.arange(len(A))
    for i, k in enumerate(swaps):
        order[[i, k]] = order[[k, i]]
    return lu, order


def _solve_lower(lu: FloatArray, B: FloatArray) -> FloatArray:
    """Return L^-1 B for the unit lower triangle of lu."""
    X: FloatArray = solve_triangular(
        lu, B, lower=True, unit_diagonal=True, check_finite=False
    )
    return X
