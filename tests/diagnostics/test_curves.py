"""Curves against scikit-learn's, reliability against plain counts."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from committee import expected_calibration_error
from committee.diagnostics.curves import (
    calibration_error,
    precision_recall,
    reliability,
    roc,
)
from committee.losses import wilson


@pytest.fixture
def scored():
    """Which rows are positive, probabilities with ties, weights with zeros."""
    rng = np.random.default_rng(0)
    p = rng.random(200).round(2)
    return rng.random(200) < p, p, rng.integers(0, 3, 200).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_points_are_those_of_scikit_learn(weighted, scored):
    positive, p, s = scored
    s = s if weighted else None
    fpr, tpr, _ = metrics.roc_curve(
        positive, p, sample_weight=s, drop_intermediate=False
    )
    np.testing.assert_allclose(roc(positive, p, s), np.column_stack([fpr, tpr]))
    points, average = precision_recall(positive, p, s)
    expected = metrics.average_precision_score(positive, p, sample_weight=s)
    assert average == pytest.approx(expected)
    assert points[-1, 0] == 1
    assert points[-1, 1] == pytest.approx(np.average(positive, weights=s))


def test_reliability_counts_rows_by_bins(scored):
    positive, _, s = scored
    p = np.random.default_rng(1).random(200)
    found = reliability(positive, p)
    observed, predicted = calibration_curve(positive, p, n_bins=10, strategy="quantile")
    np.testing.assert_array_equal(found.n_rows, 20)
    np.testing.assert_allclose(found.observed, observed)
    np.testing.assert_allclose(found.predicted, predicted)
    ends = wilson(float(observed[3]), 20)
    assert (found.low[3], found.high[3]) == pytest.approx(ends)
    weighted = reliability(positive, p, s)
    again = np.repeat(np.arange(200), s.astype(int))
    np.testing.assert_allclose(
        weighted.observed, reliability(positive[again], p[again]).observed
    )
    # Equal probabilities stay together, whatever the number of bins.
    ties = reliability(positive, np.repeat([0.1, 0.2, 0.9], [150, 25, 25]))
    np.testing.assert_array_equal(ties.n_rows, [150, 25, 25])


def plain_ece(right, q, n_bins):
    """Rows in their order, cut in bins of equal counts; no two probabilities equal."""
    order, total = sorted(range(len(q)), key=lambda i: q[i]), 0.0
    for b in range(n_bins):
        rows = order[b * len(q) // n_bins : (b + 1) * len(q) // n_bins]
        share = sum(bool(right[i]) for i in rows) / len(rows)
        mean = sum(q[i] for i in rows) / len(rows)
        total += len(rows) / len(q) * abs(share - mean)
    return total


def test_the_calibration_error_is_a_plain_loop():
    rng = np.random.default_rng(2)
    p, y = rng.dirichlet([1, 1, 1], size=120), rng.integers(0, 3, size=120)
    expected = plain_ece(p.argmax(axis=1) == y, p.max(axis=1), 8)
    assert expected_calibration_error(p, y, n_bins=8) == pytest.approx(expected)
    two = rng.random(120)
    expected = plain_ece(y > 0, two, 10)
    codes = (y > 0).astype(int)
    both = np.column_stack([1 - two, two])
    assert expected_calibration_error(two, codes) == pytest.approx(expected)
    assert expected_calibration_error(both, codes) == pytest.approx(expected)
    s = rng.integers(0, 3, size=120)
    again = np.repeat(np.arange(120), s)
    assert expected_calibration_error(
        two.round(1), codes, sample_weight=s
    ) == pytest.approx(expected_calibration_error(two.round(1)[again], codes[again]))


def test_the_spread_of_the_calibration_error_is_that_over_samples():
    """Where no bin is near zero: there the sign is certain."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, size=(400, 500))
    found = [calibration_error(rng.random(500) < q + 0.2, q, n_bins=4) for q in p]
    spread = np.std([score.value for score in found])
    # The spread of 400 numbers has a relative error of 3.5 %.
    assert np.mean([score.se for score in found]) == pytest.approx(spread, rel=0.15)


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_calibration_error([0.0, 3.0], [0, 1])
    with pytest.raises(
        ValueError, match=r"class codes 0..1, the columns of p. Got \[2"
    ):
        expected_calibration_error([[0.5, 0.5], [0.5, 0.5]], [2, 2])
    with pytest.raises(ValueError, match="n_bins must be at least 1"):
        expected_calibration_error([0.5, 0.5], [0, 1], n_bins=0)
    with pytest.raises(ValueError, match="NaN"):
        expected_calibration_error([0.5, np.nan], [0, 1])


def test_swapped_arguments_are_refused():
    p, codes = [[0.4, 0.6], [0.5, 0.5]], [0, 1]
    with pytest.raises(ValueError, match=r"come first.* \(2,\) and \(2, 2\): swap"):
        expected_calibration_error(codes, p)
    with pytest.raises(ValueError, match="probabilities come first, then y"):
        expected_calibration_error(codes, [0.4, 0.6])
    column = np.reshape(codes, (-1, 1))  # not swapped, though it has two axes
    assert expected_calibration_error([0.0, 1.0], column) == 0.0
