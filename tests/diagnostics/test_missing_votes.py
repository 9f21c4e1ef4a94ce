"""Votes that cannot be heard, filled with the mean and the spread of the row."""

import numpy as np
import pytest
from scipy.special import ndtr

from committee.diagnostics.missing_votes import FilledVotes

#: Equal votes of the first members, and weights of both signs.
WEIGHTS = {
    "equal": np.r_[np.full(8, 1 / 8), np.zeros(52)],
    "both signs": np.r_[0.7, -0.4, 0.5, 0.6, -0.3, -0.1, np.zeros(54)],
}


@pytest.mark.parametrize("held_out", [None, "all"])
@pytest.mark.parametrize("K", [2, 4])
def test_where_all_are_heard_it_is_the_plain_error(K, held_out, rng):
    """Votes of one class each: ties are decided as the committee decides them."""
    F = np.eye(K)[rng.integers(0, K, (60, 6))]
    y = rng.integers(0, K, 60)
    w = np.array([0.25, 0.25, 0.0, 0.25, 0.0, 0.25])
    mask = None if held_out is None else np.ones((60, 6), dtype=bool)
    wrong = np.tensordot(F, w, axes=(1, 0)).argmax(axis=1) != y
    np.testing.assert_array_equal(FilledVotes.of(F, y, mask).losses(w), wrong)


def test_where_all_are_heard_it_is_the_plain_squared_error(rng):
    F, y, w = rng.normal(size=(60, 6)), rng.normal(size=60), rng.normal(size=6)
    for mask in (None, np.ones((60, 6), dtype=bool)):
        losses = FilledVotes.of(F, y, mask).losses(w)
        np.testing.assert_allclose(losses, (F @ w - y) ** 2, rtol=1e-12)


def test_a_committee_that_is_not_heard_at_all_is_the_mean_of_the_others(rng):
    """The others agree, so that nothing is uncertain."""
    said = rng.dirichlet(np.ones(3), 20)
    F = np.repeat(said[:, None], 5, axis=1)
    F[:, 0] = rng.dirichlet(np.ones(3), 20)
    mask = np.ones((20, 5), dtype=bool)
    mask[:, 0] = False
    y = rng.integers(0, 3, 20)
    w = np.array([1.0, 0, 0, 0, 0])
    votes = FilledVotes.of(F, y, mask)
    np.testing.assert_allclose(votes.output(w), said)
    np.testing.assert_allclose(votes.losses(w), said.argmax(axis=1) != y, atol=1e-12)
    numbers = FilledVotes.of(F[:, :, 0], said[:, 1], mask)
    np.testing.assert_allclose(numbers.losses(w), (said[:, 0] - said[:, 1]) ** 2)


@pytest.mark.parametrize("w", WEIGHTS.values(), ids=WEIGHTS)
def test_numbers_against_committees_that_are_heard(w, rng):
    """Members are drawn again and again: means agree within 5 standard errors."""
    mu, s, y = rng.normal(size=(3, 3000)) + np.array([[1.0], [2.0], [0.0]])
    F = mu[:, None] + s[:, None] * rng.normal(size=(3000, 60))
    mask = rng.random((3000, 60)) < 0.37
    found = FilledVotes.of(F, y, mask).losses(w)
    expected = (w.sum() * mu - y) ** 2 + s**2 * (w**2).sum()
    gap = found - expected
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(3000)


@pytest.mark.parametrize("w", WEIGHTS.values(), ids=WEIGHTS)
def test_two_classes_against_committees_that_are_heard(w, rng):
    """A margin of mean mu and spread s: P(error) = Phi(-mu sum w / (s |w|)).

    The spread is estimated from some 22 votes, which leaves the third decimal.
    """
    mu, s = rng.normal(0.3, 0.5, 4000), rng.uniform(0.5, 1.5, 4000)
    margin = mu[:, None] + s[:, None] * rng.normal(size=(4000, 60))
    F = np.stack([-margin, margin], axis=2) / 2
    mask = rng.random((4000, 60)) < 0.37
    found = FilledVotes.of(F, np.ones(4000, dtype=int), mask).losses(w)
    gap = found - ndtr(-mu * w.sum() / (s * np.linalg.norm(w)))
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(4000) + 0.003


@pytest.mark.parametrize("k", [5, 20])
def test_four_classes_against_votes_that_are_drawn(k, rng):
    """Each member votes for one class; the approximation is good to a point or two."""
    N, M = 3000, 120
    p = rng.dirichlet(np.ones(4), N)
    y = (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    voted = (p.cumsum(axis=1)[:, None] > rng.random((N, M, 1))).argmax(axis=2)
    F, w = np.eye(4)[voted], np.r_[np.full(k, 1 / k), np.zeros(M - k)]
    heard = FilledVotes.of(F, y, None).losses(w).mean()
    mask = rng.random((N, M)) < 0.37
    votes = FilledVotes.of(F, y, mask)
    assert votes.losses(w).mean() == pytest.approx(heard, abs=0.015)
    counted = np.tensordot(F[:, :k] * mask[:, :k, None], w[:k], axes=(1, 0))
    assert (counted.argmax(axis=1) != y).mean() > heard + 0.02


def test_the_order_of_members_does_not_matter(rng):
    F, y = rng.dirichlet(np.ones(3), (40, 9)), rng.integers(0, 3, 40)
    mask, w = rng.random((40, 9)) < 0.5, rng.uniform(size=9)
    order = rng.permutation(9)
    found = FilledVotes.of(F[:, order], y, mask[:, order]).losses(w[order])
    np.testing.assert_allclose(found, FilledVotes.of(F, y, mask).losses(w), rtol=1e-9)


def test_rows_are_taken_and_looked_at_in_blocks(rng, monkeypatch):
    F, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    mask, w = rng.random((30, 5)) < 0.4, rng.normal(size=5)
    votes, rows = FilledVotes.of(F, y, mask), np.array([3, 4, 20])
    np.testing.assert_array_equal(votes.take(rows).losses(w), votes.losses(w)[rows])
    monkeypatch.setattr("committee.diagnostics.missing_votes._BLOCK", 11)
    np.testing.assert_allclose(FilledVotes.of(F, y, mask).losses(w), votes.losses(w))


def test_rows_with_one_vote_or_none(rng):
    """One vote has the spread of the other rows; without any, nothing is told."""
    F, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    mask = np.ones((50, 4), dtype=bool)
    mask[0], mask[1] = False, [True, False, False, False]
    votes = FilledVotes.of(F, y, mask)
    assert votes.counted.tolist() == [False, *[True] * 49]
    assert votes.variance[1] == pytest.approx(F[2:].var(axis=1, ddof=1).mean())
    assert np.isfinite(votes.losses(np.full(4, 0.25))).all()


def test_drawn_votes_have_the_moments_of_the_rows_own_votes():
    """Of one row that is repeated: mu and s^2 of those that vote, in the mean."""
    rng = np.random.default_rng(0)
    row, seen = rng.normal(size=8), np.array([0, 0, 0, 0, 0, 0, 1, 1], dtype=bool)
    w = np.array([0, 0, 0, 0, 0, 0.2, 0.5, 0.3])
    N, members = 20_000, np.flatnonzero(w)
    F, held_out = np.tile(row, (N, 1)), np.tile(~seen, (N, 1))
    votes = FilledVotes.of(F, np.zeros(N), held_out)
    output, drawn = votes.drawn(w, members, rng)
    mean, variance = row[~seen].mean(), row[~seen].var(ddof=1)
    assert np.all(drawn[:, 0] == row[5])
    # Five standard errors of a mean, and of a variance of normal numbers.
    np.testing.assert_allclose(
        drawn[:, 1:].mean(axis=0), mean, atol=5 * np.sqrt(variance / N)
    )
    np.testing.assert_allclose(
        drawn[:, 1:].var(axis=0), variance, rtol=5 * (2 / N) ** 0.5
    )
    known = votes.variance[0] * votes.open_share(w)[0]
    assert known > 0
    np.testing.assert_allclose(output.var(), known, rtol=5 * (2 / N) ** 0.5)
    np.testing.assert_allclose(
        output.mean(), votes.output(w)[0], atol=5 * np.sqrt(known / N)
    )
