"""A committee of one calibrated member says what that member says."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from committee import CommitteeClassifier, EPPruner, LogPool, Pool, prune
from committee.combiner_names import COMBINERS, as_combiner

N = 2000


def calibrated(K, N=N, seed=0):
    """Return F of one member that is right as often as it says, and y."""
    rng = np.random.default_rng(seed)
    p = softmax(1.5 * rng.normal(size=(N, K)), axis=1)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)
    return p[:, None, :], np.minimum(y, K - 1)


def log_loss(p, y):
    return -np.log(p[np.arange(len(y)), y])


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", sorted(set(COMBINERS) - {"ridge", "reduce-error"}))
def test_every_combiner_says_what_the_member_says(name, K):
    F, y = calibrated(K)
    combiner = as_combiner(name, 0).fit(F, y)
    p = combiner.probabilities(combiner.combine(F))
    if combiner.floor_ is None:
        # Least squares deliver 1/K + w (p - 1/K), w the slope of a regression: its standard
        # error is at most 1 / sqrt(N var p), 0.02 here and 0.03 for four classes.
        tol = 3 * 0.03 if name == "least-squares" else 1e-12
        np.testing.assert_allclose(p, F[:, 0], rtol=0, atol=tol)
        return
    fresh, y_fresh = calibrated(K, 20_000, seed=1)
    q = combiner.probabilities(combiner.combine(fresh))
    lost = np.mean(log_loss(q, y_fresh) - log_loss(fresh[:, 0], y_fresh))
    # Of K free parameters, w and K - 1 of b, each costs 1 / (2 N) in the mean; their
    # chi-squared exceeds K by three of its standard deviations once in a thousand.
    assert abs(lost) < (K + 3 * np.sqrt(2 * K)) / (2 * N) + 1 / N
    # Nothing is cut beyond the floor.
    assert q.min() < 2 * max(fresh.min(), combiner.floor_)


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(), HistGradientBoostingClassifier(max_iter=40, max_depth=3)],
    ids=["logistic", "boosting"],
)
@pytest.mark.parametrize("combiner", [EPPruner(), EPPruner(pool="votes"), LogPool()])
def test_a_committee_of_one_is_its_member(combiner, learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0] + X[:, 1]))).astype(int)
    train, test = slice(0, 1500), slice(1500, None)
    member = clone(learner).fit(X[train], y[train])
    alone = log_loss(member.predict_proba(X[test]), y[test]).mean()
    fitted = CommitteeClassifier(
        generator=Pool([learner]), combiner=combiner, random_state=0
    ).fit(X[train], y[train])
    small = prune([member], X[train], y[train], combiner=combiner, oob=False)
    for made in (fitted, small):
        p = made.predict_proba(X[test])
        # Two parameters of a pool, and a slope: chi-squared of three, thrice its sd.
        assert abs(log_loss(p, y[test]).mean() - alone) < (3 + 3 * 6**0.5) / 3000
        least = max(member.predict_proba(X[test]).min(), 1 / 1502)
        assert p.min() < 2 * least
