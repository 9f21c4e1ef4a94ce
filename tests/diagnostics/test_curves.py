"""Curves against scikit-learn's, reliability against plain counts."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from committee.diagnostics.curves import precision_recall, reliability, roc
from committee.diagnostics.scores import wilson


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
    positive, p, s = scored
    found = reliability(positive, p)
    observed, predicted = calibration_curve(positive, p, n_bins=10)
    # A probability on an edge is counted in the bin above it here, below it there.
    assert found.n_rows.sum() == len(p)
    assert len(found.predicted) == len(predicted) == len(observed)
    rows = (p >= 0.3) & (p < 0.4)
    assert found.observed[3] == pytest.approx(positive[rows].mean())
    assert found.predicted[3] == pytest.approx(p[rows].mean())
    ends = wilson(float(positive[rows].mean()), rows.sum())
    assert (found.low[3], found.high[3]) == pytest.approx(ends)
    weighted = reliability(positive, p, s)
    again = np.repeat(np.arange(200), s.astype(int))
    np.testing.assert_allclose(
        weighted.observed, reliability(positive[again], p[again]).observed
    )
