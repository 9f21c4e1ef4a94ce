"""Scores against scikit-learn's, their standard errors against the bootstrap."""

import numpy as np
import pytest
from sklearn import metrics

from committee.diagnostics.scores import (
    classification_scores,
    differences,
    mean_of,
    regression_scores,
)


def problem(N, K, seed=0):
    """Labels, probabilities that know something about them, with ties."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    p = rng.dirichlet(np.ones(K), N) + 0.5 * np.eye(K)[y] * rng.random((N, 1))
    p = np.round(p, 1) + 0.01
    return y, p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 4])
def test_values_are_those_of_scikit_learn(K):
    y, p = problem(200, K)
    scores = classification_scores(y, p.argmax(axis=1), p)
    area = metrics.roc_auc_score(y, p[:, 1] if K == 2 else p, multi_class="ovr")
    expected = {
        "error rate": 1 - metrics.accuracy_score(y, p.argmax(axis=1)),
        "log-loss": metrics.log_loss(y, p),
        "AUC": area,
        "Brier score": metrics.brier_score_loss(y, p[:, 1] if K == 2 else p),
    }
    assert {k: s.value for k, s in scores.items()} == pytest.approx(expected)
    for score in scores.values():
        assert score.psi.mean() == pytest.approx(0, abs=1e-12)


def test_values_of_regression_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=(2, 50))
    scores = regression_scores(y, f)
    assert {k: s.value for k, s in scores.items()} == pytest.approx(
        {
            "RMSE": metrics.root_mean_squared_error(y, f),
            "MAE": metrics.mean_absolute_error(y, f),
            "R2": metrics.r2_score(y, f),
        }
    )


def bootstrapped(score_of, N, B=400):
    """Standard deviations of scores on rows that are drawn again and again."""
    rng = np.random.default_rng(1)
    draws = [score_of(rng.integers(0, N, N)) for _ in range(B)]
    return {
        name: np.std([draw[name].value for draw in draws], ddof=1) for name in draws[0]
    }


@pytest.mark.parametrize("K", [2, 3])
def test_standard_errors_are_those_of_the_bootstrap(K):
    """A bootstrap of B draws is itself off by 1 / sqrt(2 B), here 3.5 %: five of these."""
    N = 400
    y, p = problem(N, K)
    q = problem(N, K, seed=3)[1]

    def of(rows, p):
        return classification_scores(y[rows], p[rows].argmax(axis=1), p[rows])

    every = np.arange(N)
    for scores, drawn in (
        (of(every, p), lambda rows: of(rows, p)),
        (
            differences(of(every, p), of(every, q)),
            lambda rows: differences(of(rows, p), of(rows, q)),
        ),
    ):
        expected = bootstrapped(drawn, N)
        for name, score in scores.items():
            assert score.se == pytest.approx(expected[name], rel=0.18), name


def test_standard_errors_of_regression_are_those_of_the_bootstrap():
    rng = np.random.default_rng(0)
    N = 400
    y = rng.normal(size=N)
    f = 0.7 * y + 0.4 * rng.normal(size=N)
    expected = bootstrapped(lambda rows: regression_scores(y[rows], f[rows]), N)
    for name, score in regression_scores(y, f).items():
        assert score.se == pytest.approx(expected[name], rel=0.18), name


def test_a_model_differs_from_itself_by_nothing():
    y, p = problem(30, 3)
    scores = classification_scores(y, p.argmax(axis=1), p)
    for gap in differences(scores, scores).values():
        assert (gap.value, gap.se) == (0, 0)


def test_what_rows_of_one_kind_cannot_tell_is_left_out():
    p = np.full((4, 2), 0.5)
    y = np.zeros(4, dtype=int)
    assert list(classification_scores(y, y, p)) == [
        "error rate",
        "log-loss",
        "Brier score",
    ]
    assert list(classification_scores(y, y)) == ["error rate"]
    assert list(regression_scores(np.ones(3), np.zeros(3))) == ["RMSE", "MAE"]
    # A class that no row has does not count.
    y, p = np.array([0, 0, 1]), np.eye(3)[[0, 0, 1]]
    assert classification_scores(y, y, p)["AUC"].value == 1


def test_extremes_are_finite_and_a_single_row_has_no_spread():
    sure = classification_scores(np.array([0]), np.array([1]), np.array([[0.0, 1.0]]))
    assert sure["log-loss"].value == pytest.approx(36.04, abs=0.01)
    assert np.isnan(sure["error rate"].se)
    perfect = regression_scores(np.arange(3.0), np.arange(3.0))
    assert (perfect["RMSE"].value, perfect["RMSE"].se, perfect["R2"].value) == (0, 0, 1)
    assert mean_of(np.zeros(2)).se == 0


@pytest.mark.parametrize("K", [2, 4, None])
def test_a_row_of_weight_two_is_a_row_that_comes_twice(K):
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 60).astype(float)
    again = np.repeat(np.arange(60), s.astype(int))
    if K is None:
        y, f = rng.normal(size=(2, 60))
        weighted = regression_scores(y, f, s)
        twice = regression_scores(y[again], f[again])
    else:
        y, p = problem(60, K)
        weighted = classification_scores(y, p.argmax(axis=1), p, s)
        twice = classification_scores(y[again], p[again].argmax(axis=1), p[again])
    assert {k: x.value for k, x in weighted.items()} == pytest.approx(
        {k: x.value for k, x in twice.items()}
    )
    for score in weighted.values():
        assert score.psi.mean() == pytest.approx(0, abs=1e-12)
