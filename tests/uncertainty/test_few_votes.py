"""Residuals of few votes against those that all members would have."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from committee.diagnostics.missing_votes import FilledVotes
from committee.uncertainty import constant_interval
from committee.uncertainty.stored_rows import (
    HeldOutResiduals,
    _mean_of_unseen,
    _share,
    as_of_all_members,
)

M = 10


def errors_of_members(N, B, seed):
    """Return F - y (N, M): a part that all share, of variance B, and one of each, 1."""
    rng = np.random.default_rng(seed)
    return np.sqrt(B) * rng.normal(size=(N, 1)) + rng.normal(size=(N, M))


def residuals(N, B, seed, share=0.1):
    """Return the residuals of rows of which members leave out a share, equal votes."""
    F, w = errors_of_members(N, B, seed), np.full(M, 1 / M)
    mask = np.random.default_rng(seed + 1000).random((N, M)) < share
    folds = [(np.arange(N), w)]
    votes = FilledVotes.of(F, np.zeros(N), mask)
    return HeldOutResiduals.of(votes, folds, np.arange(M)).residual


@pytest.mark.parametrize("B", [0.3, 3.0])
def test_squared_residuals_are_those_of_all_members(B):
    """B + 1 / M, within five standard errors of a mean square and of t.

    Of n normal residuals the mean square has 2 / n of its square as variance; 0.65 of
    the rows have a vote. Two members' errors have the correlation t, found on the
    quarter of the rows with two votes and more: its standard error is below
    1 / sqrt(N / 4), and moves a mean square of (t + (1 - t) / M) (B + 1) by at most
    0.9 (B + 1) times that.
    """
    N = 6000
    expected = B + 1 / M
    se = np.hypot(expected * np.sqrt(2 / (0.65 * N)), 0.9 * (B + 1) / np.sqrt(N / 4))
    assert abs(np.mean(residuals(N, B, 0) ** 2) - expected) < 5 * se


def test_members_that_share_hardly_an_error_leave_intervals_their_width():
    """200 rows, of which some 50 have two votes: one in ten would have had no width.

    The correlation is 0.09 with a standard error of 0.14, so that the width is uncertain.
    The true one is 1.645 sqrt(0.1 + 1 / M); even without any correlation it were 0.7 of
    that, and few votes alone would have 1.645 sqrt(1.1), 2.3 times as much.
    """
    width = np.array(
        [
            constant_interval(np.zeros(1), residuals(200, 0.1, seed), 0.9)[0, 1]
            for seed in range(40)
        ]
    )
    true = 1.645 * np.sqrt(0.1 + 1 / M)
    assert width.min() > 0.6 * true
    assert 0.9 < width.mean() / true < 1.3


def test_rows_on_which_all_vote_or_votes_are_drawn_stay_as_they_are():
    R, s2, squares = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.full(4, 0.1)
    v = np.array([0.0, 0.05, -0.9, -0.4])
    found = as_of_all_members(R, s2, v, squares, np.array([True, True, False, True]))
    assert found[:2].tolist() == [1.0, 2.0]
    assert np.all(found[2:] < R[2:])
    # One vote has more of the members' variance than two.
    assert found[2] / R[2] < found[3] / R[3]


@pytest.mark.parametrize("u", [1.0, 0.1])
def test_residuals_of_few_votes_by_hand(u):
    """k_n = 2 and 4, so k = 4; c = 2^2 - 2 = 2, d = c + 4 = 6, t = 1 / 3."""
    R, v = np.array([2.0, 3.0, 5.0]), np.array([-1.0, -3.0, 0.5])
    several = np.array([True, False, True])
    found = as_of_all_members(u * R, u**2 * np.ones(3), v, np.ones(3), several)
    # t k + (1 - t) |w|^2 = 2, t k + (1 - t) k_n = 8 / 3 and 4.
    expected = u * R * np.sqrt([2 / (8 / 3), 2 / 4, 1.0])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_residuals_of_zero_say_that_members_share_their_errors():
    """c = 0 - 2 and d = c + 2 = 0: t = 1, and one vote is as good as all."""
    found = as_of_all_members(
        np.array([0.0, 3.0]),
        np.ones(2),
        -np.ones(2),
        np.ones(2),
        np.array([True, False]),
    )
    assert found.tolist() == [0.0, 3.0]


def test_a_row_on_which_votes_have_no_weight_is_not_known():
    F = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    held_out = np.array([[True, False], [False, True], [True, True]])
    found = _mean_of_unseen(F, np.array([0.0, 0.5]), held_out)
    np.testing.assert_array_equal(found, [np.nan, 1.0, 1.0])


def test_without_a_row_of_several_votes_nothing_is_known_and_nothing_scaled():
    R, ones = np.array([1.0, 2.0]), np.ones(2)
    found = as_of_all_members(R, ones, -0.9 * ones, 0.1 * ones, np.zeros(2, dtype=bool))
    np.testing.assert_array_equal(found, R)


def test_units_do_not_matter(rng):
    R, s2 = rng.uniform(size=50), rng.uniform(size=50)
    v, squares = -rng.uniform(0.1, 0.9, 50), np.full(50, 0.1)
    several = rng.random(50) < 0.5
    one, two = (
        as_of_all_members(u * R, u**2 * s2, v, squares, several) for u in (1.0, 1e4)
    )
    np.testing.assert_allclose(two, 1e4 * one, rtol=1e-9)


def test_the_share_is_the_mean_of_a_restricted_normal():
    """Restricted to 0..1; the grid of a thousand points is exact to its square."""
    c = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    d = c + 1.0
    t = c.sum() / d.sum()
    se = np.sqrt(((c - t * d) ** 2).sum()) / d.sum()
    expected = truncnorm.mean((0 - t) / se, (1 - t) / se, t, se)
    np.testing.assert_allclose(_share(c, np.ones(5)), expected, atol=1e-5)


def test_without_errors_members_share_all_of_them():
    assert _share(np.zeros(3), np.zeros(3)) == 1.0
