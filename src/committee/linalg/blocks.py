"""Chains and rings of symmetric blocks: by block Cholesky, or by LU if indefinite.

A chain is block tridiagonal; a ring has one more block, in the corner, which couples
the last block row with the first. Blocks are requested one at a time, in the order of
the elimination, and belong to the solver from then on: it overwrites them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, qr
from scipy.linalg.blas import dgemm, dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf
from scipy.sparse import block_array, csr_array
from scipy.sparse.linalg import LinearOperator, norm, onenormest, splu

from committee._typing import FloatArray
from committee.linalg.definite import NotPositiveDefiniteError

#: Returns A_ij, i >= j; of a diagonal block only the lower triangle is read.
Block = Callable[[int, int], FloatArray]

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

    def times(self, x: FloatArray) -> list[FloatArray]:
        """Return x' Z_j, (T, n_j), of all columns, for x' of shape (T, n_{q-1})."""
        inside = [x @ basis for basis in self.V]
        return [inside[number] @ W_j for number, W_j in self.W]

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


def solve_blocks(
    block: Block, rhs: Sequence[FloatArray], *, ring: bool = False
) -> list[FloatArray]:
    """Solve a symmetric positive definite block tridiagonal system.

        A_{j,j-1} x_{j-1} + A_jj x_j + A_{j+1,j}' x_{j+1} = b_j,    A_{0,-1} = A_{q,q-1} = 0

        L_j L_j' = A_jj - P_{j-1} P_{j-1}',    P_j = A_{j+1,j} L_j^-T

    Two blocks, L_j and P_j, are kept for each j until the way back. The right-hand
    sides are one more row of the matrix, z_j' = (b_j' - z_{j-1}' P_{j-1}') L_j^-T.

    In a ring indices are modulo q. Each block but the last then leaves a block Z_j in
    the last row of the factor, which the corner starts and A_{q-1,q-2} ends:

        Z_j = (C_j - Z_{j-1} P_{j-1}') L_j^-T
        C_0 = A_{q-1,0},    C_{q-2} = A_{q-1,q-2},    C_j = 0 between
        L_{q-1} L_{q-1}' = A_{q-1,q-1} - sum_j Z_j Z_j'

    Z_j fades along the ring, some directions sooner than others. Those that have fallen
    below the rounding of the corner are dropped, and a ring costs little more than a
    chain. One or two blocks are solved as a chain.

    Parameters
    ----------
    block : callable (i, j) -> array of shape (n_i, n_j)
        Each block is requested once: of a ring first the corner, (q - 1, 0), then
        (0, 0), (1, 0), (1, 1), (2, 1), ... The solver may overwrite what it gets.
    rhs : sequence of q arrays of shape (n_j, T)
        Item j is read once, after A_jj was requested.
    ring : bool, default=False

    Returns
    -------
    x : list of q arrays of shape (n_j, T)

    Raises
    ------
    NotPositiveDefiniteError
        Names the block whose pivot is not positive definite, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.linalg import solve_blocks
    >>> def second_difference(i, j):
    ...     return np.array([[2.0 if i == j else -1.0]])
    >>> x = solve_blocks(second_difference, [np.ones((1, 1))] * 3)
    >>> [round(float(x_j[0, 0]), 12) for x_j in x]
    [1.5, 2.0, 1.5]
    """
    last = len(rhs) - 1
    row = LastRow(block(last, 0)) if ring and last > 1 else None
    columns = _eliminate(block, rhs, row)
    after = dtrsm(1.0, columns[last].L, columns[last].z, side=1, lower=1)
    fill = [] if row is None else row.times(after)
    x = [after]
    # L'x = z:    x_j' = (z_j' - x_{j+1}' P_j - x_{q-1}' Z_j) L_j^-1
    for j in reversed(range(last)):
        L, P, z = columns[j]
        b = z - x[-1] @ P
        if j < len(fill):
            b -= fill[j]
        x.append(dtrsm(1.0, L, b, side=1, lower=1))
    return [x_j.T for x_j in reversed(x)]


def _eliminate(
    block: Block, rhs: Sequence[FloatArray], row: LastRow | None
) -> list[Column]:
    """Return the columns of the factor, requesting each block when its turn comes."""
    last = len(rhs) - 1
    columns: list[Column] = []
    for j in range(last + 1):
        # BLAS overwrites only what is in Fortran order; else it works on a copy.
        pivot = np.asfortranarray(block(j, j), dtype=np.float64)
        b = np.array(rhs[j].T, dtype=np.float64, order="F")
        if row is not None and j == last:
            ZZ, zZ = row.sums()
            pivot -= ZZ
            b -= zZ
        if columns:
            _, P, z = columns[-1]
            pivot = dsyrk(-1.0, P, 1.0, pivot, lower=1, overwrite_c=1)
            b = dgemm(-1.0, z, P, 1.0, b, trans_b=1, overwrite_c=1)
        L = _factor(pivot, j)
        below = np.zeros((0, len(L)), order="F")
        if j < last:
            below = np.asfortranarray(block(j + 1, j), dtype=np.float64)
        if row is not None and j == last - 1:
            below += row.beside_diagonal()
        columns.append(Column(L, right_solve(L, below), right_solve(L, b)))
        if row is not None and j < last - 1:
            row.eliminate(columns[j])
    return columns


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


def solve_block_chain(block: Block, rhs: Sequence[FloatArray]) -> list[FloatArray]:
    """Solve a chain of blocks: `solve_blocks` with `ring=False`."""
    return solve_blocks(block, rhs)


def solve_block_ring(block: Block, rhs: Sequence[FloatArray]) -> list[FloatArray]:
    """Solve a ring of blocks: `solve_blocks` with `ring=True`."""
    return solve_blocks(block, rhs, ring=True)


def solve_blocks_indefinite(
    block: Block, rhs: Sequence[FloatArray], *, ring: bool = False
) -> tuple[list[FloatArray], float]:
    """Solve a symmetric block tridiagonal system that need not be definite.

    Uses the sparse LU factors of SuperLU. Partial pivoting also exchanges rows between
    blocks, so single blocks may be singular if the matrix is not. Time is O(q m^3) and
    memory O(q m^2) for q blocks of m rows.

    Parameters
    ----------
    block, rhs, ring :
        As for `solve_blocks`.

    Returns
    -------
    x : list of q arrays of shape (n_j, T)
    condition : float
        A lower estimate of ||A||_1 ||A^-1||_1, usually within a factor of three: about
        log10(condition) digits of x are lost.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular.
    """
    q = len(rhs)
    edges = [(j + 1, j) for j in range(q - 1)]
    if ring and q > 2:
        edges.append((q - 1, 0))
    lower: list[list[csr_array | None]] = [[None] * q for _ in range(q)]
    for j in range(q):
        lower[j][j] = csr_array(np.tril(block(j, j)))
    for i, j in edges:
        lower[i][j] = csr_array(block(i, j))
    below = block_array(lower, format="csc")
    A = below + below.T
    A.setdiag(below.diagonal())
    try:
        # Neighbours are beside each other already: another order has larger factors.
        factor = splu(A, permc_spec="NATURAL")
    except RuntimeError as error:
        raise np.linalg.LinAlgError("The matrix is singular.") from error
    x = factor.solve(np.concatenate(list(rhs)))
    cuts = np.cumsum([len(b) for b in rhs])[:-1]
    inverse = LinearOperator(
        A.shape, matvec=factor.solve, rmatvec=factor.solve, dtype=np.float64
    )
    # One column: with more, SciPy draws from NumPy's global generator.
    condition = float(norm(A, 1)) * float(onenormest(inverse, t=1))
    return np.split(x, cuts), condition
