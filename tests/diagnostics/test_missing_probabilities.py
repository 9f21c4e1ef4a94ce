"""Log-losses and Brier scores of votes that cannot be heard."""

import numpy as np
import pytest
from scipy.stats import betabinom

from committee.diagnostics import missing_votes
from committee.diagnostics.missing_votes import (
    FilledProbabilities,
    FilledVotes,
    uniform_numbers,
)
from committee.losses import LEAST, OF_CLASSES

M = 20


def filled(F, y, mask):
    return FilledProbabilities.of(FilledVotes.of(F, y, mask))


def votes_for(right):
    """Return F (N, M, 2) of votes for class 1, and the classes: all are 1."""
    return np.stack([1 - right, right], axis=2), np.ones(len(right), dtype=np.intp)


def plain(name, F, y, w):
    p = np.tensordot(F, w, axes=(1, 0))
    return OF_CLASSES[name].losses(p, y, np.ones(len(y)))


def expected_losses(name, filled, w, n_draws=100):
    """Return the means over draws of the missing votes."""
    y, s = filled.votes.y, np.ones(len(filled.votes.y))
    losses = OF_CLASSES[name].losses
    return np.mean([losses(p, y, s) for p in drawn(filled, w, n_draws)], axis=0)


def drawn(filled, w, n_draws):
    return filled.drawn(w, uniform_numbers(n_draws, len(filled.votes.y)))


@pytest.mark.parametrize("K", [2, 3])
def test_where_all_are_heard_they_are_the_plain_losses(K, rng):
    F, y = rng.dirichlet(np.ones(K), (50, 6)), rng.integers(0, K, 50)
    w = np.array([0.5, 0.25, 0, 0.125, 0.125, 0])
    found = filled(F, y, np.ones((50, 6), dtype=bool))
    p = np.tensordot(F, w, axes=(1, 0))
    for one in drawn(found, w, 3):
        np.testing.assert_allclose(one, p, rtol=1e-12)


def test_a_row_against_the_sum_over_all_votes_that_may_come(rng):
    """With q uniform, h of H votes: the others are Beta-binomial(1 + h, 1 + H - h).

    The means of 5,000 draws, within five standard errors of draws that are not stratified.
    """
    right = (rng.random((30, M)) < 0.6).astype(float)
    right[:3] = 0.0
    mask = rng.random((30, M)) < 0.37
    votes = filled(*votes_for(right), mask)
    uniform = FilledProbabilities(
        votes.votes, votes.right, votes.confusion, 1.0, missing_votes._WIDTHS
    )
    p = drawn(uniform, np.full(M, 1 / M), 5000)[:, :, 1]
    for n in range(30):
        h, H = int(right[n] @ mask[n]), int(mask[n].sum())
        t = np.arange(M - H + 1)
        chance = betabinom.pmf(t, M - H, 1 + h, 1 + H - h)
        loss = -np.log(np.maximum((h + t) / M, LEAST))
        se = np.sqrt(chance @ (loss - chance @ loss) ** 2 / 5000)
        found = -np.log(np.maximum(p[:, n], LEAST)).mean()
        assert abs(found - chance @ loss) <= 5 * se


@pytest.mark.parametrize("k", [5, M])
@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score"])
def test_votes_that_come_have_the_loss_that_was_expected(name, k, rng):
    """Of k members, within five standard errors of the difference, row by row."""
    q = rng.beta(2, 1, 4000)
    F, y = votes_for((rng.random((4000, M)) < q[:, None]).astype(float))
    w = np.r_[np.full(k, 1 / k), np.zeros(M - k)]
    mask = rng.random((4000, M)) < 0.37
    mask[~mask.any(axis=1), 0] = True
    found = expected_losses(name, filled(F, y, mask), w)
    gap = found - plain(name, F, y, w)
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(4000)


def test_counted_on_the_votes_that_are_there_the_log_loss_is_far_too_high(rng):
    q = rng.beta(2, 1, 4000)
    F, y = votes_for((rng.random((4000, M)) < q[:, None]).astype(float))
    mask, w = rng.random((4000, M)) < 0.37, np.full(M, 1 / M)
    votes = FilledVotes.of(F, y, mask)
    counted = -np.log(np.maximum(votes.output(w)[:, 1], LEAST))[votes.counted].mean()
    found = expected_losses("neg_log_loss", filled(F, y, mask), w, 10)
    found = found[votes.counted].mean()
    assert counted > 1.5 * found


def test_votes_that_are_less_sure_count_as_several(rng):
    """The mean of four sure votes has a quarter of their variance."""
    q = rng.beta(2, 2, 4000)
    right = rng.binomial(4, q[:, None], (4000, M)) / 4
    F, y = votes_for(right)
    mask, w = rng.random((4000, M)) < 0.37, np.full(M, 1 / M)
    found = filled(F, y, mask)
    # Some 7 votes on a row: the ratio of two sums of 4,000 variances, to 3 %.
    assert found.phi == pytest.approx(0.25, rel=0.05)
    gap = expected_losses("neg_log_loss", found, w) - plain("neg_log_loss", F, y, w)
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(4000)


def test_neither_the_order_of_members_nor_the_scale_of_weights_matters(rng):
    F, y = rng.dirichlet(np.ones(3), (40, 9)), rng.integers(0, 3, 40)
    mask, w = rng.random((40, 9)) < 0.5, rng.uniform(size=9)
    order = rng.permutation(9)
    one, two = filled(F, y, mask), filled(F[:, order], y, mask[:, order])
    expected = drawn(one, w, 3)
    np.testing.assert_allclose(drawn(two, w[order], 3), expected, rtol=1e-9)
    np.testing.assert_allclose(drawn(one, 7 * w, 3), expected, rtol=1e-9)
    np.testing.assert_allclose(expected.sum(axis=2), 1.0, rtol=1e-12)


def test_wrong_votes_go_where_wrong_votes_of_the_class_go(rng):
    """Of three classes class 0 is confused with 1 only, save for one vote that is added."""
    code = rng.choice(2, p=[0.6, 0.4], size=(400, M))
    F, y = np.eye(3)[code], np.zeros(400, dtype=np.intp)
    found = filled(F, y, rng.random((400, M)) < 0.37)
    n_wrong = found.votes.mean[:, 1] @ found.votes.n_votes
    expected = (n_wrong + 1 / 3) / (n_wrong + 2 / 3)
    assert found.confusion[0] == pytest.approx([0, expected, 1 - expected])
    p = drawn(found, np.full(M, 1 / M), 20).mean(axis=(0, 1))
    assert p[2] < 0.01
    # The standard error of the mean of 400 rows with some 7 votes each.
    assert p[0] == pytest.approx(0.6, abs=5 * np.sqrt(0.24 / 400 / 7))


def test_a_row_without_votes_has_what_all_rows_have(rng):
    F, y = votes_for((rng.random((60, M)) < 0.8).astype(float))
    mask = rng.random((60, M)) < 0.5
    mask[0] = False
    w = np.full(M, 1 / M)
    found = expected_losses("neg_log_loss", filled(F, y, mask), w)
    assert np.isfinite(found).all()
    assert found[1:].min() < found[0] < found[1:].max()
