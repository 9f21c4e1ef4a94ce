"""Sets of classes against plain loops."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from committee.uncertainty import aps_scores, class_sets, lac_scores
from committee.uncertainty.sets import SCORES, scores_of


def test_adaptive_scores_are_their_definition():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    for row, found in zip(p, aps_scores(p), strict=True):
        for k, own in enumerate(row):
            assert found[k] == pytest.approx(row[row > own].sum() + own / 2)


@pytest.mark.parametrize("method", SCORES)
def test_exchangeable_rows_are_covered_as_promised(method):
    """Even by probabilities that are wrong; the share is that of the definition."""
    rng, n, coverage, draws = np.random.default_rng(1), 19, 0.8, 1500
    p = rng.dirichlet(np.ones(3), size=(draws, n + 1))
    y = rng.integers(0, 3, size=(draws, n + 1))
    hits = 0
    for probabilities, codes in zip(p, y, strict=True):
        e = SCORES[method](probabilities)
        known = scores_of(e, codes)[:-1]
        hits += class_sets(e[-1:], probabilities[-1:], known, coverage)[0, codes[-1]]
    k = math.ceil(coverage * (n + 1))
    # The likeliest class is always in: that can only add.
    assert hits >= binom.ppf(5e-7, draws, k / (n + 1))


def test_sets_grow_with_the_coverage_and_are_never_empty():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(5), size=50)
    known = rng.random(200)
    small, large = (class_sets(lac_scores(p), p, known, c) for c in (0.1, 0.9))
    assert np.all(small <= large)
    assert small.any(axis=1).all()
    assert np.all(small[np.arange(50), p.argmax(axis=1)])
