"""Linear algebra on plain arrays: factors, quadratic programmes, least squares."""

from committee.linalg.blocks import (
    BlockSolution,
    solve_block_chain,
    solve_block_ring,
)
from committee.linalg.cholesky import NotPositiveDefiniteError, jittered_cholesky
from committee.linalg.conjugate import conjugate_gradient
from committee.linalg.simplex import solve_nnqp, solve_simplex

__all__ = [
    "BlockSolution",
    "NotPositiveDefiniteError",
    "conjugate_gradient",
    "jittered_cholesky",
    "solve_block_chain",
    "solve_block_ring",
    "solve_nnqp",
    "solve_simplex",
]
