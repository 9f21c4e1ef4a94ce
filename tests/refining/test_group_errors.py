"""Errors of trees that all vote, from some that do: against votes that are known."""

import numpy as np
import pytest
from scipy.stats import norm

from committee.refining.group_errors import GroupVotes, missing_variance, p_wrong

N, K, G = 4000, 10, 3


def votes(rng, rho):
    """Return G groups of K votes of variance 1 within a group; their means have rho / K."""
    e = rng.normal(size=(G, N, K))
    e -= e.mean(axis=2, keepdims=True)
    return e + np.sqrt(rho / K) * rng.normal(size=(G, N, 1))


@pytest.mark.parametrize("rho", [0.2, 1.0])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_squared_errors_are_those_of_groups_that_all_vote(rho, n_groups):
    """Of y = 0 the mean of (mean vote)^2 + delta is rho / K, the variance of a group."""
    rng = np.random.default_rng(0)
    u, w = votes(rng, rho)[:n_groups], np.full(K, 1 / K)
    mask = rng.random((n_groups, N, K)) < 0.37
    mask[:, :, 0] |= ~mask.any(axis=2)
    groups = [GroupVotes.of(v, out, w) for v, out in zip(u, mask, strict=True)]
    s2, delta = missing_variance(groups, w, np.ones(N))
    f = np.sum([v * out for v, out in zip(u, mask, strict=True)], axis=(0, 2))
    losses = (f / mask.sum(axis=(0, 2))) ** 2 + delta
    assert s2.mean() == pytest.approx(1.0, abs=0.05)
    assert losses.mean() == pytest.approx(rho / K, abs=5 * losses.std() / np.sqrt(N))


def test_nothing_is_missing_where_all_vote():
    rng = np.random.default_rng(0)
    w = rng.random(K)
    group = GroupVotes.of(votes(rng, 0.5)[0], None, w)
    _, delta = missing_variance([group], w, np.ones(N))
    np.testing.assert_allclose(delta, 0.0, atol=1e-12)


def test_delta_of_two_groups_by_hand():
    """Two groups of two trees, votes (1, 3) and (5, 7): s2 = 2, variance of means 8.

    All vote, so that B = 8 = rho s2 / 2 and rho = 8; the mean has B / 2, and 4 are missing.
    """
    w = np.full(2, 0.5)
    pair = [GroupVotes.of(np.array([u]), None, w) for u in ([1.0, 3.0], [5.0, 7.0])]
    s2, delta = missing_variance(pair, w, np.ones(1))
    assert s2.tolist() == [2.0]
    np.testing.assert_allclose(delta, 4.0)


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.5])
def test_errors_of_margins_with_another_variance(delta):
    """Margins are N(1, 1): P(below zero) is Phi(-1 / sqrt(1 + delta)).

    A straight line through two variances misses it by less than 0.3^2 times the second
    derivative of that, 0.15 at most.
    """
    margin = np.random.default_rng(0).normal(1.0, 1.0, size=200_000)
    found = p_wrong(margin, np.full(200_000, delta))
    expected = norm.cdf(-1 / np.sqrt(1 + delta))
    allowed = 5 * found.std() / np.sqrt(200_000) + (0.15 * delta**2 if delta < 0 else 0)
    assert found.mean() == pytest.approx(expected, abs=allowed)


def test_a_tie_is_half_an_error():
    assert p_wrong(np.zeros(1), np.zeros(1)).tolist() == [0.5]


def test_delta_of_one_group_by_hand():
    """Two of four trees vote 1 and 3: s2 = 2, and the mean has (1/2 - 1/4) s2 too much."""
    out = np.array([[True, True, False, False]])
    group = GroupVotes.of(np.array([[1.0, 3.0, 0.0, 0.0]]), out, np.full(4, 0.25))
    s2, delta = missing_variance([group], np.full(4, 0.25), np.ones(1))
    assert s2.tolist() == [2.0]
    np.testing.assert_allclose(delta, -0.5)
