import numpy as np
import pytest
from scipy.special import softmax

from committee.probabilities import fit_slope


@pytest.mark.parametrize("K", [2, 4])
def test_the_slope_that_made_the_labels_is_found(K, rng):
    scores = rng.normal(size=(20_000, K))
    p = softmax(1.7 * scores, axis=1)
    y = (p.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    # The standard error of the slope is below 0.03 at 20,000 rows.
    assert abs(fit_slope(scores, y) - 1.7) < 0.1
    assert abs(fit_slope(100 * scores, y) - 0.017) < 0.001


def test_the_slope_stays_finite_and_positive(rng):
    y = rng.integers(0, 2, size=30)
    scores = np.outer(2.0 * y - 1, [-1.0, 1.0])
    assert 1 < fit_slope(scores, y) < 100
    assert 0 < fit_slope(scores, 1 - y) < 0.1
    assert fit_slope(np.zeros((30, 2)), y) == 1.0


def test_weights_count_as_repetitions(rng):
    y = rng.integers(0, 2, size=400)
    scores = np.outer(rng.normal(size=400) + 2.0 * y - 1, [-1.0, 1.0])
    s = rng.integers(1, 4, size=400)
    repeated = np.repeat(np.arange(400), s)
    np.testing.assert_allclose(
        fit_slope(scores, y, s.astype(float)),
        fit_slope(scores[repeated], y[repeated]),
        rtol=0.02,  # the smoothing of the targets differs by 1 / N
    )
