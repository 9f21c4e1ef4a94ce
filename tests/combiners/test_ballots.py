"""Ballots and tallies against counting, row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from committee.combiners.ballots import Ballots, Tally, grid, least, places
from committee.votes import Votes
from tests.reference.pruners import Rows, vote_problems


@given(case=vote_problems)
def test_errors_and_votes_are_those_of_counting(case):
    rows, ballots = Rows(*case), Ballots(Votes(*case))
    np.testing.assert_array_equal(ballots.choice, rows.vote)
    expected = [rows.error(m) for m in range(rows.M)]
    np.testing.assert_allclose(ballots.errors(), expected, atol=1e-12)
    np.testing.assert_array_equal(ballots.right + ballots.wrong, rows.present)


@given(case=vote_problems, seed=st.integers(0, 2**20))
def test_a_tally_follows_every_change(case, seed):
    rows, tally = Rows(*case), Tally(Ballots(Votes(*case)))
    rng = np.random.default_rng(seed)
    members = []
    for _ in range(3 * rows.M):
        m = int(rng.integers(rows.M))
        if m in members:
            members.remove(m)
            tally.remove(m)
        else:
            members.append(m)
            tally.add(m)
        failing = [rows.failing(n, members) for n in range(rows.N)]
        np.testing.assert_array_equal(tally.failing, failing)
        outside = [m for m in range(rows.M) if m not in members]
        expected = [rows.committee_error([*members, m]) for m in outside]
        np.testing.assert_allclose(tally.errors_with()[outside], expected, atol=1e-12)


def test_equal_scores_go_by_rank():
    rank = places(np.array([0.3, 0.1, 0.3, 0.1 + 1e-14]))
    assert rank.tolist() == [2, 0, 3, 1]
    free = np.array([True, False, True, True])
    assert least(np.array([1.0, 0.0, 1.0, 2.0]), rank, free) == 0
    assert least(np.array([1.0, 0.0, 1.0, 1.0 + 1e-14]), rank, free) == 3


def test_scores_that_differ_by_rounding_are_one_on_the_grid():
    """Shares of 2048 rows would lie on the edge of a unit, were it not shifted."""
    share = np.arange(1, 2048, 2) / 2048
    np.testing.assert_array_equal(grid(share * (1 + 4e-16)), grid(share * (1 - 4e-16)))
    assert np.all(np.diff(grid(np.array([0.1, 0.1 + 2e-10, 0.1 + 4e-10]))) > 0)


def test_more_classes_than_short_integers():
    y = np.array([0, 32_768, 39_999])
    F = np.zeros((3, 2, 40_000))
    F[np.arange(3), 0, y] = 1.0
    F[:, 1, 1] = 1.0
    ballots = Ballots(Votes(F, y, None, None))
    np.testing.assert_array_equal(ballots.choice[:, 0], y)
    np.testing.assert_array_equal(ballots.errors(), [0.0, 1.0])
