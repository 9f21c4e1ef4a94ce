import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.linalg import BlockSolution, NotPositiveDefiniteError
from committee.linalg.substructure import (
    cut_segments,
    eliminate_segment,
    join_segments,
    segment_solution,
)
from tests.linalg.test_blocks import problem
from tests.linalg.test_blocks import solve as solve_whole

shapes = pytest.mark.parametrize("shape", ["chain", "ring"])
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=12)
seeds = st.integers(0, 2**32 - 1)
numbers = st.integers(1, 7)


def solve(shape, A, rows, b, n_segments, requested=None):
    def block(i, j):
        if requested is not None:
            requested.append((i, j))
        return A[rows[i], rows[j]].copy(order="F")

    sides = [b[r] for r in rows]
    segments = cut_segments(len(rows), n_segments, ring=shape == "ring")
    parts = [eliminate_segment(block, sides, segment) for segment in segments]
    ends, log_det = join_segments(segments, [reduced for _, reduced in parts])
    x = []
    for segment, (eliminated, _) in zip(segments, parts, strict=True):
        x += segment_solution(segment, eliminated, ends)
    return BlockSolution(x, log_det)


@shapes
@given(sizes=sizes, seed=seeds, n_segments=numbers)
def test_is_the_dense_solution_and_that_of_the_whole(shape, sizes, seed, n_segments):
    A, rows, b = problem(sizes, shape, seed)
    solution = solve(shape, A, rows, b, n_segments)
    whole = solve_whole(shape, A, rows, b)
    x = np.concatenate(solution.x)
    # Diagonally dominant: the condition number is below 1e3.
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x, np.concatenate(whole.x), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        solution.log_determinant, np.linalg.slogdet(A)[1], rtol=1e-12
    )


@shapes
@given(sizes=sizes, seed=seeds, n_segments=numbers)
def test_each_block_is_requested_once_and_inputs_are_untouched(
    shape, sizes, seed, n_segments
):
    A, rows, b = problem(sizes, shape, seed)
    before, requested, whole = b.copy(), [], []
    solve(shape, A, rows, b, n_segments, requested)
    solve_whole(shape, A, rows, b, whole)
    assert sorted(requested) == sorted(whole)
    np.testing.assert_array_equal(b, before)


def test_one_segment_of_a_chain_is_the_chain():
    A, rows, b = problem([3, 1, 4, 2], "chain", 0)
    for x, y in zip(
        solve("chain", A, rows, b, 1).x, solve_whole("chain", A, rows, b).x, strict=True
    ):
        np.testing.assert_array_equal(x, y)


@shapes
@given(q=st.integers(1, 12), n_segments=numbers)
def test_segments_do_not_touch_and_are_of_nearly_equal_length(shape, q, n_segments):
    ring = shape == "ring"
    segments = cut_segments(q, n_segments, ring=ring)
    assert [j for s in segments for j in s.members] == list(range(q))
    lengths = [len(s.blocks) for s in segments]
    assert min(lengths) >= 1
    assert max(lengths) - min(lengths) <= 1
    assert len(segments) == max(
        1, min(n_segments, (q if ring and q > 2 else q + 1) // 2)
    )
    for one, two in pairwise(segments):
        assert one.right == two.left == one.blocks.stop == two.blocks.start - 1
    if ring and q > 2:
        assert segments[0].left == segments[-1].right == q - 1
    else:
        assert segments[0].left is segments[-1].right is None


@shapes
def test_segments_may_be_eliminated_anywhere_in_any_order(shape):
    """As tasks are: what they take and return goes through pickle."""
    A, rows, b = problem([4, 2, 3] * 5, shape, 0)
    segments = cut_segments(15, 4, ring=shape == "ring")
    sides = [b[r] for r in rows]
    parts = {
        segment: pickle.loads(
            pickle.dumps(
                eliminate_segment(
                    lambda i, j: A[rows[i], rows[j]].copy(order="F"), sides, segment
                )
            )
        )
        for segment in segments[::-1]
    }
    ends, _ = join_segments(segments, [parts[segment][1] for segment in segments])
    x = [segment_solution(s, parts[s][0], ends) for s in segments]
    np.testing.assert_allclose(
        np.concatenate([x_j for part in x for x_j in part]),
        np.linalg.solve(A, b),
        rtol=1e-10,
        atol=1e-12,
    )


@shapes
def test_a_failed_factor_names_the_block(shape):
    for j in range(9):
        A, rows, b = problem([3] * 9, shape, 0)
        A[rows[j], rows[j]] -= 1000.0 * np.eye(3)
        message = rf"Block {j} of size 3 .* eigenvalue is -9\d\d"
        with pytest.raises(NotPositiveDefiniteError, match=message):
            solve(shape, A, rows, b, 3)


@shapes
@pytest.mark.parametrize("pivot", [3.0, 2.001])
def test_long_segments_lose_nothing(shape, pivot, rng):
    """Once with couplings that fade within a few blocks, once with such that last."""
    A, rows, b = problem([4] * 60, shape, 0)
    A[:] = pivot * np.eye(len(A))
    for j in range(shape == "chain", 60):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        A[rows[j], rows[j - 1]], A[rows[j - 1], rows[j]] = turn, turn.T
    expected = np.linalg.solve(A, b)
    for n_segments in (1, 2, 3):
        x = np.concatenate(solve(shape, A, rows, b, n_segments).x)
        # The condition number is below 4 / 0.001.
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9)
