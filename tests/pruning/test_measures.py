"""Errors as means of losses: those of scikit-learn, and their spread."""

import numpy as np
import pytest
from sklearn.metrics import (
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
)

from committee.pruning.measures import OF_CLASSES, OF_NUMBERS, measure_of


def problem(rng, K, N=60):
    y = np.r_[np.arange(K), rng.integers(0, K, N - K)]
    p = rng.dirichlet(np.ones(K), N)
    p = np.round(p, 1) + 0.01  # ties
    return p / p.sum(axis=1, keepdims=True), y, rng.integers(0, 4, N) + 0.5


def mean(losses, s):
    return np.average(losses, weights=s)


@pytest.mark.parametrize("K", [2, 3])
def test_they_are_those_of_scikit_learn(K, rng):
    p, y, s = problem(rng, K)
    own = {
        name: mean(m.losses(p, y, s), s) for name, m in OF_CLASSES.items() if m.losses
    }
    known = {"labels": np.arange(K), "sample_weight": s}
    assert own["neg_log_loss"] == pytest.approx(log_loss(y, p, **known))
    brier = brier_score_loss(y, p[:, 1] if K == 2 else p, **known)
    assert own["neg_brier_score"] == pytest.approx(brier)
    if K == 2:
        auc = roc_auc_score(y, p[:, 1], sample_weight=s)
    else:
        auc = roc_auc_score(y, p, multi_class="ovr", sample_weight=s)
    assert own["roc_auc"] == pytest.approx(1 - auc)


def test_absolute_errors(rng):
    f, y, s = rng.random((3, 20))
    losses = OF_NUMBERS["neg_mean_absolute_error"].losses(f, y, s)
    assert mean(losses, s) == pytest.approx(mean_absolute_error(y, f, sample_weight=s))


def test_the_spread_of_an_area_is_that_of_delong(rng):
    """var = var(a) / n_P + var(b) / n_Q, by a plain loop over pairs."""
    p, y, _ = problem(rng, 2)
    losses = OF_CLASSES["roc_auc"].losses(p, y, np.ones(len(y)))
    P, Q = p[y == 1, 1], p[y == 0, 1]
    worse = np.array([[(j > i) + 0.5 * (j == i) for j in Q] for i in P])
    expected = worse.mean(axis=1).var() / len(P) + worse.mean(axis=0).var() / len(Q)
    found = np.sum((losses - losses.mean()) ** 2) / len(y) ** 2
    assert found == pytest.approx(expected)


def test_roots_of_means(rng):
    """The difference of two roots is exact, the spread of one to first order."""
    rmse = measure_of(None, of_classes=False)
    assert rmse.name == "RMSE"
    assert rmse.shown(9.0, 0.6) == (3.0, pytest.approx(0.1))
    assert rmse.difference(16.0 - 9.0, 0.7, 3.0, 4.0) == (1.0, pytest.approx(0.1))


def test_names_that_are_not_known():
    with pytest.raises(ValueError, match=r"one of accuracy, .*Got 'r2'"):
        measure_of("r2", of_classes=True)
    with pytest.raises(ValueError, match="needs rows of two classes"):
        OF_CLASSES["roc_auc"].losses(np.full((3, 2), 0.5), np.zeros(3, int), np.ones(3))
