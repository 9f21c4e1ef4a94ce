"""Averages of few members are measured as if all members voted on every row."""

import numpy as np
import pytest

from committee.held_out import of_committee
from committee.losses import OF_CLASSES
from committee.votes import Votes

N, M, FRESH = 4000, 8, 20_000


def votes(rng, n):
    """Return F (n, M, 2) of votes that are right with a probability of the row, and y."""
    q, y = rng.beta(3, 1, n), rng.integers(0, 2, n)
    right = rng.random((n, M)) < q[:, None]
    return np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])], y


@pytest.mark.parametrize("share", [0.25, 0.4])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "neg_brier_score"])
def test_the_error_is_that_of_rows_on_which_all_vote(scoring, share, rng):
    """With two or three of eight votes a row; within four standard errors.

    Counted on the votes that are there all three are wrong by far more. The calibration is
    the delivered one in both.
    """
    (F, y), (F_new, y_new) = votes(rng, N), votes(rng, FRESH)
    mask, w = rng.random((N, M)) < share, np.full(M, 1 / M)
    found = of_committee(None, w, Votes(F, y, mask, None), "slope")
    s, measure = found.row_weights, OF_CLASSES[scoring]
    error, se = found.error(measure)
    f = F_new.mean(axis=1)
    p = found.calibration(f, f)
    if scoring == "accuracy":  # of eight votes four may be right: half an error
        new = (p[np.arange(FRESH), y_new] < 0.5) + 0.5 * (p[:, 0] == 0.5)
        counted = found.losses
    else:
        new = measure.losses(p, y_new, np.ones(FRESH))
        counted = measure.losses(found.probabilities, y, s)
    se = np.hypot(se, new.std() / np.sqrt(FRESH))
    assert abs(error - new.mean()) < 4 * se
    assert np.average(counted, weights=s) > new.mean() + 4 * se


def test_sets_cover_rows_on_which_all_vote(rng):
    """The quantile of 4,000 scores is known to 1.1 points of coverage (2 s.e.)."""
    (F, y), (F_new, y_new) = votes(rng, N), votes(rng, FRESH)
    mask, w = rng.random((N, M)) < 0.4, np.full(M, 1 / M)
    found = of_committee(None, w, Votes(F, y, mask, None), "slope")
    scores = found.stored(np.arange(M)).lac
    f = F_new.mean(axis=1)
    score = 1 - found.calibration(f, f)[np.arange(FRESH), y_new]
    for level in (0.8, 0.9):
        limit = np.quantile(scores, level)
        # Scores of eight votes have nine values, and all rows at the limit are covered.
        assert (score < limit - 1e-6).mean() - 0.02 < level
        assert level < (score <= limit + 1e-6).mean() + 0.02
