"""Chains and rings of blocks in segments, each eliminated where its blocks are.

A few blocks, the separators s, cut a chain or ring into segments I that do not touch:

    [ A_II  A_Is ] [ x_I ]   [ b_I ]
    [ A_sI  A_ss ] [ x_s ] = [ b_s ],    A_II block diagonal, one block for each segment

    (A_ss - sum_I A_sI A_II^-1 A_Is) x_s = b_s - sum_I A_sI A_II^-1 b_I
    A_II x_I = b_I - A_Is x_s

A segment is eliminated alone and leaves its term of both sums to the separators at its
ends; these make up a small chain or ring of their own, and its solution goes back into
every segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm, dsyrk

from committee._typing import FloatArray
from committee.linalg.blocks import (
    Block,
    eliminate,
    go_back,
    log_determinant,
    solve_block_chain,
    solve_block_ring,
)
from committee.linalg.corner import Column, LastRow, row_times


class Segment(NamedTuple):
    """Neighbouring blocks, and the separators before and after them.

    In a ring the left one may be the last block of all. The right one is the segment's
    own: it is read with it.
    """

    blocks: range
    left: int | None
    right: int | None

    @property
    def members(self) -> range:
        """The blocks and the right separator: every block belongs to one segment."""
        return range(self.blocks.start, self.blocks.stop + (self.right is not None))


class Reduced(NamedTuple):
    """What a segment leaves to its separators l and r; None where there is none.

        left    - sum_j Z_j Z_j'  and  - sum_j Z_j z_j,     (n_l, n_l) and (n_l, T)
        right   A_rr - P P'  and  b_r - P z,                (n_r, n_r) and (n_r, T)
        across  - P Z',                                     (n_r, n_l)

    with P, z and Z of the last block. Of `right` only the lower triangle is valid, and
    so it is in the sums of the small system. The determinant is of the own blocks.
    """

    left: tuple[FloatArray, FloatArray] | None
    right: tuple[FloatArray, FloatArray] | None
    across: FloatArray | None
    log_determinant: float


class Eliminated(NamedTuple):
    """What a segment keeps for the way back: its columns, and V, W of its `LastRow`."""

    columns: list[Column]
    V: list[FloatArray]
    W: list[tuple[int, FloatArray]]


def cut_segments(n_blocks: int, n_segments: int, *, ring: bool) -> list[Segment]:
    """Cut a chain or ring of blocks into segments of nearly equal length.

    A ring has as many separators as segments, the last block among them; a chain has
    one less. Every segment keeps at least one block, so there may be fewer segments
    than wanted. Of one or two blocks there is no ring.
    """
    ring = ring and n_blocks > 2
    # A chain ends as if one more separator came after its last block.
    length = n_blocks if ring else n_blocks + 1
    S = max(1, min(n_segments, length // 2))
    ends = [length * (k + 1) // S - 1 for k in range(S)]
    starts = [0, *(end + 1 for end in ends)]
    segments = [
        Segment(range(start, end), start - 1, end)
        for start, end in zip(starts, ends, strict=False)
    ]
    segments[0] = segments[0]._replace(left=ends[-1] if ring else None)
    if not ring:
        segments[-1] = segments[-1]._replace(right=None)
    return segments


def eliminate_segment(
    block: Block, rhs: Sequence[FloatArray], segment: Segment
) -> tuple[Eliminated, Reduced]:
    """Eliminate the blocks of a segment.

        L_j L_j' = A_jj - P_{j-1} P_{j-1}',    P_j = A_{j+1,j} L_j^-T
        Z_j = (C_j - Z_{j-1} P_{j-1}') L_j^-T,    C_first = A_{l,first}, else 0

    The left separator l sees the segment as the last row of a ring sees its corner,
    and what fades is dropped in the same way. Each block is requested once, by one of
    the segments, as `solve_block_ring` does: i > j, or the corner first.
    """
    left, right = segment.left, segment.right
    row = None if left is None else LastRow(_beside(block, left, segment.blocks.start))
    columns = []
    for column in eliminate(
        block,
        lambda j: np.array(rhs[j].T, dtype=np.float64, order="F"),
        segment.blocks,
        goes_on=right is not None,
    ):
        columns.append(column)
        if row is not None:
            row.eliminate(column)
    to_left = to_right = across = None
    last = columns[-1]
    if row is not None:
        ZZ, zZ = row.sums()
        to_left = -ZZ, -zZ.T  # (n_l, n_l) and (n_l, T)
    if right is not None:
        pivot = np.asfortranarray(block(right, right), dtype=np.float64)
        # The right separator is reached by the last block alone, the left by all.
        pivot = dsyrk(-1.0, last.P, 1.0, pivot, lower=1, overwrite_c=1)
        to_right = pivot, rhs[right] - dgemm(1.0, last.P, last.z, trans_b=1)
        across = None if row is None else row.beside_diagonal().T
    return (
        Eliminated(columns, [] if row is None else row.V, [] if row is None else row.W),
        Reduced(to_left, to_right, across, log_determinant(columns)),
    )


def join_segments(
    segments: Sequence[Segment], reduced: Sequence[Reduced]
) -> tuple[dict[int, FloatArray], float]:
    """Solve the small system of the separators.

    Returns x_s, (n_s, T), by the numbers of the separators, and log |A| of the whole
    matrix. An error names the separator whose pivot is not positive definite.
    """
    names = [segment.right for segment in segments if segment.right is not None]
    inside = sum(part.log_determinant for part in reduced)
    if not names:
        return {}, inside
    A, b = _assembled(segments, reduced, {name: k for k, name in enumerate(names)})
    solve = solve_block_chain if segments[0].left is None else solve_block_ring
    small = solve(lambda i, k: A[i, k], [b[k] for k in range(len(names))], names=names)
    x = dict(zip(names, small.x, strict=True))
    return x, inside + small.log_determinant


def _assembled(
    segments: Sequence[Segment], reduced: Sequence[Reduced], at: dict[int, int]
) -> tuple[dict[tuple[int, int], FloatArray], dict[int, FloatArray]]:
    """Return blocks of the lower triangle and right-hand sides, by places `at`."""
    A: dict[tuple[int, int], FloatArray] = {}
    b: dict[int, FloatArray] = {}
    for segment, part in zip(segments, reduced, strict=True):
        sides = ((segment.left, part.left), (segment.right, part.right))
        ends = [
            (at[s], side) for s, side in sides if s is not None and side is not None
        ]
        for k, (block, right_side) in ends:
            A[k, k] = A.get((k, k), 0.0) + block
            b[k] = b.get(k, 0.0) + right_side
        if part.across is not None:
            (k, _), (i, _) = ends
            # In a ring cut once, both ends are the same separator.
            if i >= k:
                A[i, k] = A.get((i, k), 0.0) + part.across
            if i <= k:
                A[k, i] = A.get((k, i), 0.0) + part.across.T
    return A, b


def segment_solution(
    segment: Segment, eliminated: Eliminated, x: dict[int, FloatArray]
) -> list[FloatArray]:
    """Return x_j, (n_j, T), of `segment.members`, from the solution of the separators.

    x_j' = (z_j' - x_{j+1}' P_j - x_l' Z_j) L_j^-1
    """
    columns, V, W = eliminated
    after = np.zeros((len(columns[-1].z), 0))
    own = []
    if segment.right is not None:
        own = [x[segment.right]]
        after = own[0].T
    fill = [] if segment.left is None else row_times(x[segment.left].T, V, W)
    return [x_j.T for x_j in go_back(columns, after, fill)] + own


def _beside(block: Block, left: int, first: int) -> FloatArray:
    """Return A_{l,first} in memory of its own, from the lower triangle."""
    A = block(left, first) if left > first else block(first, left).T
    return np.array(A, dtype=np.float64, order="F")
