"""Block Cholesky factors of chains and rings of symmetric positive definite blocks.

A chain is block tridiagonal; a ring has one more block, in the corner, which couples
the last block row with the first. Blocks are asked for one at a time, in the order of
the elimination, and belong to the solver from then on: it overwrites them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.blas import dgemm, dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf

from committee._typing import FloatArray
from committee.linalg.cholesky import NotPositiveDefiniteError

#: Returns A_ij, i >= j; of a diagonal block only the lower triangle is read.
Block = Callable[[int, int], FloatArray]


@dataclass(frozen=True)
class BlockSolution:
    """The solution of A x = b, cut as the blocks are.

    Attributes
    ----------
    x : list of arrays, like the right-hand sides
    log_determinant : float
        log |A|.
    """

    x: list[FloatArray]
    log_determinant: float


def solve_block_chain(block: Block, rhs: Sequence[FloatArray]) -> BlockSolution:
    """Solve a symmetric positive definite block tridiagonal system.

        A_{j,j-1} x_{j-1} + A_jj x_j + A_{j+1,j}' x_{j+1} = b_j,    A_{0,-1} = A_{q,q-1} = 0

        L_j L_j' = A_jj - P_{j-1} P_{j-1}',    P_j = A_{j+1,j} L_j^-T

    Two blocks, L_j and P_j, are kept for each j until the way back.

    Parameters
    ----------
    block : callable (i, j) -> array of shape (n_i, n_j)
        A_jj and A_{j+1,j}, each asked for once: (0, 0), (1, 0), (1, 1), (2, 1), ...
        The solver may overwrite what it gets.
    rhs : sequence of q arrays of shape (n_j,) or (n_j, T)
        Item j is read once, after A_jj was asked for.

    Returns
    -------
    BlockSolution

    Raises
    ------
    NotPositiveDefiniteError
        Names the block whose pivot is not positive definite, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.linalg import solve_block_chain
    >>> def second_difference(i, j):
    ...     return np.array([[2.0 if i == j else -1.0]])
    >>> solution = solve_block_chain(second_difference, [np.ones(1)] * 3)
    >>> [round(float(x[0]), 12) for x in solution.x]
    [1.5, 2.0, 1.5]
    >>> round(float(np.exp(solution.log_determinant)), 12)
    4.0
    """
    columns = _Columns(rhs)
    L, P, z, log_determinant = _eliminate(block, len(rhs), columns.read)
    return BlockSolution(columns.shaped(_go_back(L, P, z)), log_determinant)


def solve_block_ring(block: Block, rhs: Sequence[FloatArray]) -> BlockSolution:
    """Solve a symmetric positive definite block tridiagonal system with a corner.

        A_{j,j-1} x_{j-1} + A_jj x_j + A_{j+1,j}' x_{j+1} = b_j,    indices modulo q

    The last block borders a chain of the others: with C the column of the corner
    A_{q-1,0}' and of A_{q-1,q-2}', zero between, and T = L L' the chain,

        Z = L^-1 C,    L_{q-1} L_{q-1}' = A_{q-1,q-1} - Z'Z

    so C is m more right-hand sides on the way down. Three blocks, L_j, P_j and Z_j,
    are kept for each j until the way back. Of one or two blocks there is no ring:
    they are solved as a chain.

    Parameters
    ----------
    block : callable (i, j) -> array of shape (n_i, n_j)
        As for `solve_block_chain`, after the corner, (q - 1, 0).
    rhs : sequence of q arrays of shape (n_j,) or (n_j, T)

    Returns
    -------
    BlockSolution

    Raises
    ------
    NotPositiveDefiniteError
        Names the block whose pivot is not positive definite, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.linalg import solve_block_ring
    >>> def circulant(i, j):
    ...     return np.array([[3.0 if i == j else -1.0]])
    >>> solution = solve_block_ring(circulant, [np.ones(1)] * 5)
    >>> [round(float(x[0]), 12) for x in solution.x]
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    last = len(rhs) - 1
    if last < 2:
        return solve_block_chain(block, rhs)
    corner = block(last, 0)
    m = len(corner)
    columns = _Columns(rhs)

    def bordered(j: int) -> FloatArray:
        C = np.zeros((0, m))
        if j == 0:
            C = corner.T
        elif j == last - 1:
            C = block(last, j).T
        b = columns.read(j)
        T = b.shape[1]
        both = np.zeros((len(b), T + m), order="F")
        both[:, :T] = b
        both[: len(C), T:] = C
        return both

    L, P, z, log_determinant = _eliminate(block, last, bordered)
    pivot = np.asfortranarray(block(last, last))
    b = columns.read(last)
    T = b.shape[1]
    for z_j in z:
        pivot = dsyrk(-1.0, z_j[:, T:], 1.0, pivot, trans=1, lower=1, overwrite_c=1)
        b = b - z_j[:, T:].T @ z_j[:, :T]
    factor = _factor(pivot, last)
    log_determinant += _log_square(factor)
    x_last = dtrsm(1.0, factor, dtrsm(1.0, factor, b, lower=1), lower=1, trans_a=1)
    x = _go_back(L, P, [z_j[:, :T] - z_j[:, T:] @ x_last for z_j in z])
    return BlockSolution(columns.shaped([*x, x_last]), log_determinant)


class _Columns:
    """Right-hand sides as matrices of our own; what comes out is shaped like them."""

    def __init__(self, rhs: Sequence[FloatArray]) -> None:
        self.rhs = rhs
        self.vectors = False

    def read(self, j: int) -> FloatArray:
        """Return b_j as a new matrix in Fortran order."""
        b = np.asarray(self.rhs[j], dtype=np.float64)
        self.vectors = b.ndim == 1
        return np.array(b[:, None] if self.vectors else b, order="F")

    def shaped(self, x: list[FloatArray]) -> list[FloatArray]:
        """Return vectors where vectors came in."""
        return [x_j[:, 0] for x_j in x] if self.vectors else x


def _eliminate(
    block: Block, n_blocks: int, rhs: Callable[[int], FloatArray]
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray], float]:
    """Return L_j, P_j, z = L^-1 b and log |A| of a chain."""
    L: list[FloatArray] = []
    P: list[FloatArray] = []
    z: list[FloatArray] = []
    log_determinant = 0.0
    for j in range(n_blocks):
        if j > 0:
            P.append(_right_solve(L[-1], block(j, j - 1)))
        pivot = np.asfortranarray(block(j, j))
        b = rhs(j)
        if j > 0:
            pivot = dsyrk(-1.0, P[-1], 1.0, pivot, lower=1, overwrite_c=1)
            b = dgemm(-1.0, P[-1], z[-1], 1.0, b, overwrite_c=1)
        L.append(_factor(pivot, j))
        log_determinant += _log_square(L[j])
        z.append(dtrsm(1.0, L[j], b, lower=1, overwrite_b=1))
    return L, P, z, log_determinant


def _go_back(
    L: list[FloatArray], P: list[FloatArray], z: list[FloatArray]
) -> list[FloatArray]:
    """Solve L' x = z from the last block to the first."""
    x = list(z)
    for j in reversed(range(len(z))):
        b = z[j] if j == len(P) else z[j] - P[j].T @ x[j + 1]
        x[j] = dtrsm(1.0, L[j], b, lower=1, trans_a=1)
    return x


def _factor(pivot: FloatArray, j: int) -> FloatArray:
    """Return the lower Cholesky factor, or say how indefinite block j is."""
    diagonal = np.diag(pivot).copy()
    lower, failed = dpotrf(pivot, lower=1, clean=0)
    # LAPACK lets numbers that are not numbers pass.
    if not failed and np.all(np.diag(lower) > 0):
        return lower  # type: ignore[no-any-return]
    smallest = "not a number"
    if np.all(np.isfinite(diagonal)) and np.all(np.isfinite(np.tril(pivot))):
        smallest = f"{eigvalsh(pivot, subset_by_index=[0, 0])[0]:.3g}"
    raise NotPositiveDefiniteError(
        f"Block {j} of size {len(pivot)} is not positive definite once the blocks "
        f"before it are eliminated: its smallest eigenvalue is {smallest}, the "
        f"largest entry of its diagonal {diagonal.max():.3g}."
    )


def _right_solve(lower: FloatArray, B: FloatArray) -> FloatArray:
    """Return B L^-T."""
    P: FloatArray = dtrsm(
        1.0, lower, np.asfortranarray(B), side=1, lower=1, trans_a=1, overwrite_b=1
    )
    return P


def _log_square(lower: FloatArray) -> float:
    """Return log |L L'|."""
    return 2.0 * float(np.log(np.diag(lower)).sum())
