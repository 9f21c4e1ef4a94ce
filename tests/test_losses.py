"""Losses, scores and standard errors, against scikit-learn, loops and the bootstrap."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics import (
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
)

from committee.losses import (
    NORMAL,
    OF_CLASSES,
    OF_NUMBERS,
    area_under_curve,
    classification_scores,
    differences,
    effective_rows,
    error_losses,
    mean_and_se,
    mean_of,
    measure_of,
    paired_difference,
    regression_scores,
    wilson,
)


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


def test_a_weighted_mean_and_its_standard_error_by_hand():
    losses, s = np.array([1.0, 0.0, 1.0]), np.array([2.0, 1.0, 1.0])
    mean, se = mean_and_se(losses, s)
    # s / sum s = (1/2, 1/4, 1/4); residuals (1/4, -3/4, 1/4)
    assert mean == 0.75
    assert se == pytest.approx(np.sqrt(1 / 64 + 9 / 256 + 1 / 256))
    assert mean_of(losses, s).se == pytest.approx(se)
    assert mean_and_se(losses) == pytest.approx((2 / 3, np.sqrt(2 / 27)))
    assert mean_and_se(np.append(losses, 9.0), np.append(s, 0.0)) == (mean, se)
    assert mean_and_se(losses, 7 * s) == pytest.approx((mean, se))


def test_a_paired_difference_by_hand():
    """after - before = (-1, 0, 1) with weights (2, 1, 1): -1/4, residuals -3/4, 1/4, 5/4."""
    after, before = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])
    gap, se = paired_difference(after, before, np.array([2.0, 1.0, 1.0]))
    assert gap == -0.25
    assert se == pytest.approx(np.sqrt(9 / 64 + 1 / 256 + 25 / 256))


def test_losses_of_codes_and_of_numbers():
    codes, predicted = np.array([0, 1]), np.array([[0, 1], [0, 1]])
    assert error_losses(predicted, codes).tolist() == [[0, 1], [1, 0]]
    assert error_losses(np.array([1, 1]), codes).tolist() == [1, 0]
    assert error_losses(np.array([1.0, 3.0]), np.array([0.0, 1.0])).tolist() == [1, 4]


def scored(N, K, seed=0):
    """Labels, probabilities that know something about them, with ties."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    p = rng.dirichlet(np.ones(K), N) + 0.5 * np.eye(K)[y] * rng.random((N, 1))
    p = np.round(p, 1) + 0.01
    return y, p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 4])
def test_values_are_those_of_scikit_learn(K):
    y, p = scored(200, K)
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
    y, p = scored(N, K)
    q = scored(N, K, seed=3)[1]

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
    y = 3 * rng.normal(size=N)  # a variance of one would hide a factor
    f = 0.7 * y + 1.2 * rng.normal(size=N)
    expected = bootstrapped(lambda rows: regression_scores(y[rows], f[rows]), N)
    for name, score in regression_scores(y, f).items():
        assert score.se == pytest.approx(expected[name], rel=0.18), name


def test_a_model_differs_from_itself_by_nothing():
    y, p = scored(30, 3)
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


def test_a_class_whose_rows_weigh_nothing_is_not_ranked():
    """With rows of one class alone there is no area under the curve."""
    p, y = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]), np.array([0, 1, 0])
    weighed = classification_scores(y, p.argmax(axis=1), p, np.array([1.0, 0.0, 2.0]))
    assert "AUC" not in weighed
    assert "AUC" in classification_scores(y, p.argmax(axis=1), p, np.ones(3))


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
        y, p = scored(60, K)
        weighted = classification_scores(y, p.argmax(axis=1), p, s)
        twice = classification_scores(y[again], p[again].argmax(axis=1), p[again])
    assert {k: x.value for k, x in weighted.items()} == pytest.approx(
        {k: x.value for k, x in twice.items()}
    )
    for score in weighted.values():
        assert score.psi.mean() == pytest.approx(0, abs=1e-12)


def test_rows_of_unequal_weight_are_worth_fewer_rows():
    assert effective_rows(None, 5) == 5
    for unit in (1.0, 1e30):
        s = unit * np.array([1.0, 2.0, 3.0])
        assert effective_rows(s, 3) == pytest.approx(36 / 14, rel=1e-14)


@pytest.mark.parametrize(("p", "n"), [(0.5, 10.0), (0.1, 50.0), (0.0, 5.0), (1.0, 7.5)])
def test_ends_of_wilsons_interval_solve_its_equation(p, n):
    """|p - q| = 1.96 standard errors of q, at both ends q."""
    low, high = wilson(p, n)
    assert 0 <= low < high <= 1
    for q in (low, high):
        if 1e-9 < q < 1 - 1e-9:  # otherwise the end of all shares
            half = NORMAL * np.sqrt(q * (1 - q) / n)
            np.testing.assert_allclose(abs(p - q), half, rtol=1e-9)


def test_a_class_of_little_weight_is_ranked():
    """Its rows weigh less than one row does on average."""
    y = np.array([0, 0, 0, 0, 1, 2])
    p, s = np.eye(3)[y], np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.1])
    p[5] = [0.6, 0.2, 0.2]  # before all of its rivals
    p[:5, 2] = 0.3
    found = classification_scores(y, p.argmax(axis=1), p, s)["AUC"].value
    areas = [area_under_curve(y == k, p[:, k], s).value for k in range(3)]
    np.testing.assert_allclose(found, np.mean(areas), rtol=1e-12)
    assert areas[2] == 0


def test_roots_of_two_errors_of_zero_differ_by_nothing():
    root = measure_of(None, of_classes=False)
    assert root.root
    assert root.difference(0.0, 0.0, 0.0, 0.0) == (0.0, 0.0)
    np.testing.assert_allclose(root.difference(3.0, 0.6, 1.0, 2.0), (1.0, 0.2))
