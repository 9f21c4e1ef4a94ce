import numpy as np
import pytest

from committee.coupled.link import (
    both_sides,
    encode_labels,
    fit_slope,
    link,
    signed_targets,
)


@pytest.mark.parametrize("K", [2, 4])
def test_the_slope_that_made_the_labels_is_found(K, rng):
    scores = rng.normal(size=(20_000, K))
    p = link(scores, 1.7)
    y = (p.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    # The standard error of the slope is below 0.03 at 20,000 rows.
    assert abs(fit_slope(scores, y) - 1.7) < 0.1
    assert abs(fit_slope(100 * scores, y) - 0.017) < 0.001


def test_probabilities_sum_to_one_and_keep_the_order(rng):
    scores = rng.normal(size=(50, 3))
    p = link(scores, 4.0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(p.argsort(axis=1), scores.argsort(axis=1))
    np.testing.assert_allclose(
        link(both_sides(scores[:, :1]), 0.5)[:, 1], 1 / (1 + np.exp(-scores[:, 0]))
    )


def test_the_slope_stays_finite_and_positive(rng):
    y = rng.integers(0, 2, size=30)
    scores = both_sides(2.0 * y[:, None] - 1)
    assert 1 < fit_slope(scores, y) < 100
    assert 0 < fit_slope(scores, 1 - y) < 0.1
    assert fit_slope(np.zeros((30, 2)), y) == 1.0


def test_weights_count_as_repetitions(rng):
    y = rng.integers(0, 2, size=400)
    scores = both_sides(rng.normal(size=(400, 1)) + 2.0 * y[:, None] - 1)
    s = rng.integers(1, 4, size=400)
    repeated = np.repeat(np.arange(400), s)
    np.testing.assert_allclose(
        fit_slope(scores, y, s.astype(float)),
        fit_slope(scores[repeated], y[repeated]),
        rtol=0.02,  # the smoothing of the targets differs by 1 / N
    )


def test_labels_and_signed_targets():
    classes, codes = encode_labels(np.array(["b", "a", "c"]), None)
    assert classes.tolist() == ["a", "b", "c"]
    assert signed_targets(codes, 3).tolist() == [[-1, 1, -1], [1, -1, -1], [-1, -1, 1]]
    assert signed_targets(np.array([0, 1]), 2).tolist() == [[-1], [1]]
    with pytest.raises(ValueError, match="Got 1 class: 'b'"):
        encode_labels(np.array(["b", "a"]), np.array([1.0, 0.0]))
