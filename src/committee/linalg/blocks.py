"""Block Cholesky factors of chains and rings of symmetric positive definite blocks.

A chain is block tridiagonal; a ring has one more block, in the corner, which couples
the last block row with the first. Blocks are requested one at a time, in the order of
the elimination, and belong to the solver from then on: it overwrites them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, qr
from scipy.linalg.blas import dgemm, dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf

from committee._typing import FloatArray
from committee.linalg.cholesky import NotPositiveDefiniteError

#: Up to this size a triangle is solved in one call. OpenBLAS solves with a triangle of
#: 240 rows at a quarter of the speed of its products, so larger ones are halved.
_TRIANGLE = 32
#: Columns before the row is first compressed; from then on whenever they double.
_FIRST_COMPRESSION = 8


class Column(NamedTuple):
    """One block column of a factor, and of the row of right-hand sides.

    L is (n_j, n_j), above its diagonal are leftovers, not zeros; P below it is
    (n_{j+1}, n_j), without rows in the last column; z is z_j', (T, n_j).
    """

    L: FloatArray
    P: FloatArray
    z: FloatArray


class LastRow:
    """The blocks Z_j that a ring has in the last row of its factor, and a chain not.

        Z_j = V W_j,    W_j = rest_j L_j^-T,    rest_{j+1} = -W_j P_j'

    V is the identity at first and rest_0 the corner, (n_{q-1}, n_0), which is
    overwritten. After 8, 16, 32, ... columns V is cut to the directions in which the
    rest is still above the rounding of the corner: what is dropped is a change of the
    matrix by no more than that.
    """

    def __init__(self, corner: FloatArray) -> None:
        m = len(corner)
        self.rest = np.asfortranarray(corner, dtype=np.float64)
        self.rounding = float(np.finfo(np.float64).eps * np.linalg.norm(corner))
        self.V = [np.eye(m)]
        self.W: list[tuple[int, FloatArray]] = []  # which V, and W_j
        self.ZZ = np.zeros((m, m))
        # One row of zeros: the first column sets the number of right-hand sides.
        self.zZ = np.zeros((1, m))
        # The same sums over the columns of the current V in its coordinates.
        self.WW = np.zeros((m, m), order="F")
        self.zW = np.zeros((1, m))

    def eliminate(self, column: Column) -> None:
        """Go on by one column."""
        n = len(self.W)
        if n >= _FIRST_COMPRESSION and n.bit_count() == 1:
            self._compress()
        W = right_solve(column.L, self.rest)
        self.WW = dsyrk(1.0, W, 1.0, self.WW, lower=1, overwrite_c=1)
        self.zW = self.zW + column.z @ W.T
        self.rest = dgemm(-1.0, W, column.P, trans_b=1)
        self.W.append((len(self.V) - 1, W))

    def beside_diagonal(self) -> FloatArray:
        """Return -Z_{q-3} P_{q-3}', which A_{q-1,q-2} has to take up."""
        return self.V[-1] @ self.rest

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sum_j Z_j Z_j' and sum_j z_j' Z_j', (n_{q-1}, n_{q-1}) and (T, n_{q-1})."""
        V, lower = self.V[-1], np.tril(self.WW)
        inside = lower + np.tril(lower, -1).T
        return self.ZZ + V @ inside @ V.T, self.zZ + self.zW @ V.T

    def _compress(self) -> None:
        """Drop what is left of the corner below its own rounding."""
        self.ZZ, self.zZ = self.sums()
        Q, R, order = qr(self.rest, mode="economic", pivoting=True, check_finite=False)
        tails = np.sqrt(np.cumsum(np.sum(R**2, axis=1)[::-1]))[::-1]
        r = max(1, int(np.sum(tails > self.rounding)))
        self.V.append(self.V[-1] @ Q[:, :r])
        self.rest = np.empty((r, len(order)), order="F")
        self.rest[:, order] = R[:r]
        self.WW, self.zW = np.zeros((r, r), order="F"), np.zeros((1, r))


def row_times(
    x: FloatArray, V: list[FloatArray], W: list[tuple[int, FloatArray]]
) -> list[FloatArray]:
    """Return x' Z_j, (T, n_j), of all columns, for x' of shape (T, n_{q-1}).

    Z_j = V W_j as a `LastRow` keeps them: W has pairs, which V and W_j.
    """
    inside = [x @ basis for basis in V]
    return [inside[number] @ W_j for number, W_j in W]


def right_solve(L: FloatArray, B: FloatArray) -> FloatArray:
    """Return B L^-T in the place of B, (m, n) in Fortran order; L is lower triangular.

    X_1 = B_1 L_11^-T,    X_2 = (B_2 - X_1 L_21') L_22^-T
    """
    n = len(L)
    if min(B.shape) <= _TRIANGLE:
        # Assigning to itself is free, and right where BLAS had to work on a copy.
        B[:] = dtrsm(1.0, L, B, side=1, lower=1, trans_a=1, overwrite_b=1)
        return B
    left, right = B[:, : n // 2], B[:, n // 2 :]
    right_solve(L[: n // 2, : n // 2], left)
    L_21 = L[n // 2 :, : n // 2]
    right[:] = dgemm(-1.0, left, L_21, 1.0, right, trans_b=1, overwrite_c=1)
    right_solve(L[n // 2 :, n // 2 :], right)
    return B


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

    Two blocks, L_j and P_j, are kept for each j until the way back. The right-hand
    sides are one more row of the matrix, z_j' = (b_j' - z_{j-1}' P_{j-1}') L_j^-T.

    Parameters
    ----------
    block : callable (i, j) -> array of shape (n_i, n_j)
        A_jj and A_{j+1,j}, each requested once: (0, 0), (1, 0), (1, 1), (2, 1), ...
        The solver may overwrite what it gets.
    rhs : sequence of q arrays of shape (n_j,) or (n_j, T)
        Item j is read once, after A_jj was requested.

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
    rows = _Rows(rhs)
    columns = list(eliminate(block, rows.read, range(len(rhs))))
    x = go_back(columns, np.zeros((len(columns[-1].z), 0)))
    return BlockSolution(rows.shaped(x), log_determinant(columns))


def solve_block_ring(block: Block, rhs: Sequence[FloatArray]) -> BlockSolution:
    """Solve a symmetric positive definite block tridiagonal system with a corner.

        A_{j,j-1} x_{j-1} + A_jj x_j + A_{j+1,j}' x_{j+1} = b_j,    indices modulo q

    The blocks but the last are eliminated as a chain. Each leaves a block Z_j in the
    last row of the factor, which the corner starts and A_{q-1,q-2} ends:

        Z_j = (C_j - Z_{j-1} P_{j-1}') L_j^-T
        C_0 = A_{q-1,0},    C_{q-2} = A_{q-1,q-2},    C_j = 0 between
        L_{q-1} L_{q-1}' = A_{q-1,q-1} - sum_j Z_j Z_j'

    Three blocks, L_j, P_j and Z_j, are kept for each j until the way back. Z_j fades
    along the ring, some directions sooner than others; those that have fallen below
    the rounding of the corner itself are dropped, and a ring costs little more than
    a chain. One or two blocks are solved as a chain.

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
    rows = _Rows(rhs)
    row = LastRow(block(last, 0))

    # A chain, but for what the corner has left in its last row by the time it is read.
    def reached(i: int, j: int) -> FloatArray:
        A = block(i, j)
        if i < last:
            return A
        return A - row.sums()[0] if j == last else A + row.beside_diagonal()

    def right_side(j: int) -> FloatArray:
        b = rows.read(j)
        return b - row.sums()[1] if j == last else b

    columns = []
    chain = eliminate(reached, right_side, range(last + 1))
    for j, column in enumerate(chain):
        columns.append(column)
        if j < last - 1:
            row.eliminate(column)
    x_last = dtrsm(1.0, columns[-1].L, columns[-1].z, side=1, lower=1)
    x = go_back(columns[:-1], x_last, row_times(x_last, row.V, row.W))
    return BlockSolution(rows.shaped([*x, x_last]), log_determinant(columns))


class _Rows:
    """Right-hand sides as rows b' of our own; what comes out is shaped like them."""

    def __init__(self, rhs: Sequence[FloatArray]) -> None:
        self.rhs = rhs
        self.vectors = False

    def read(self, j: int) -> FloatArray:
        """Return b_j' as a new (T, n_j) matrix in Fortran order."""
        b = np.asarray(self.rhs[j], dtype=np.float64)
        self.vectors = b.ndim == 1
        return np.array(b[None, :] if self.vectors else b.T, order="F")

    def shaped(self, x: list[FloatArray]) -> list[FloatArray]:
        """Return vectors where vectors came in."""
        return [x_j[0] for x_j in x] if self.vectors else [x_j.T for x_j in x]


def eliminate(
    block: Block,
    right_side: Callable[[int], FloatArray],
    blocks: range,
) -> Iterator[Column]:
    """Yield the columns of a chain's factor, requesting each block when its turn comes.

    `right_side(j)` is b_j', (T, n_j), and is overwritten.
    """
    before: Column | None = None
    for j in blocks:
        # BLAS overwrites only what is in Fortran order; else it works on a copy.
        pivot = np.asfortranarray(block(j, j), dtype=np.float64)
        b = right_side(j)
        if before is not None:
            pivot = dsyrk(-1.0, before.P, 1.0, pivot, lower=1, overwrite_c=1)
            b = dgemm(-1.0, before.z, before.P, 1.0, b, trans_b=1, overwrite_c=1)
        L = _factor(pivot, j)
        z = right_solve(L, b)
        P = np.zeros((0, len(L)))
        if j < blocks[-1]:
            below = np.asfortranarray(block(j + 1, j), dtype=np.float64)
            P = right_solve(L, below)
        before = Column(L, P, z)
        yield before


def go_back(
    columns: Sequence[Column], after: FloatArray, fill: Sequence[FloatArray] = ()
) -> list[FloatArray]:
    """Return x', of L'x = z, from the last block to the first.

        x_j' = (z_j' - x_{j+1}' P_j - x_s' Z_j) L_j^-1

    `after`, (T, n), is x' of the block after the last, without columns where there is
    none; `fill` has x_s' Z_j of the first columns, for a block s elsewhere.
    """
    x = []
    for j in reversed(range(len(columns))):
        L, P, z = columns[j]
        b = z - after @ P
        if j < len(fill):
            b -= fill[j]
        after = dtrsm(1.0, L, b, side=1, lower=1)
        x.append(after)
    return x[::-1]


def _factor(pivot: FloatArray, j: int) -> FloatArray:
    """Return the lower Cholesky factor, or raise with how indefinite block j is."""
    diagonal = np.diag(pivot)
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


def log_determinant(columns: Sequence[Column]) -> float:
    """Return log |L L'|."""
    return 2.0 * sum(float(np.log(np.diag(column.L)).sum()) for column in columns)
