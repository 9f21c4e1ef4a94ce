"""Linear algebra on plain arrays: factors, quadratic programmes, least squares."""

from typing import TYPE_CHECKING, Any

from committee._hints import no_such_name
from committee.linalg.blocks import (
    solve_block_chain,
    solve_block_ring,
    solve_blocks,
    solve_blocks_indefinite,
)
from committee.linalg.definite import (
    NotPositiveDefiniteError,
    conjugate_gradient,
    jittered_cholesky,
    largest_eigenvalue,
)
from committee.linalg.programmes import solve_nnqp, solve_simplex

__all__ = [
    "NotPositiveDefiniteError",
    "conjugate_gradient",
    "jittered_cholesky",
    "largest_eigenvalue",
    "solve_block_chain",
    "solve_block_ring",
    "solve_blocks",
    "solve_blocks_indefinite",
    "solve_nnqp",
    "solve_simplex",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_such_name(__name__, name)
