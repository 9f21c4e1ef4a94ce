"""Areas under ROC curves and DeLong's standard error."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from committee.displays.areas import area_under, delong, roc


def plain_delong(positive, score):
    """The definition: every positive row against every other, ties as halves."""
    psi = np.sign(score[positive][:, None] - score[~positive]) / 2 + 0.5
    V1, V0 = psi.mean(axis=1), psi.mean(axis=0)
    variance = V1.var(ddof=1) / len(V1) + V0.var(ddof=1) / len(V0)
    return psi.mean(), np.sqrt(variance)


@pytest.mark.parametrize("ties", [False, True])
def test_areas_and_standard_error_against_all_pairs(ties, rng):
    positive = rng.random(60) < 0.3
    scores = rng.normal(size=(60, 4)) + positive[:, None]
    scores = scores.round() if ties else scores
    for score in scores.T:
        assert delong(positive, score) == pytest.approx(plain_delong(positive, score))
        area = area_under(roc(positive, score))
        assert area == pytest.approx(roc_auc_score(positive, score))


@pytest.mark.parametrize("ties", [False, True])
def test_curves_against_scikit_learn(ties, rng):
    positive = rng.random(60) < 0.3
    score = rng.normal(size=60) + positive
    score = score.round() if ties else score
    fpr, tpr, _ = roc_curve(positive, score, drop_intermediate=False)
    assert np.array_equal(roc(positive, score), np.column_stack([fpr, tpr]))


def test_standard_error_is_the_spread_over_samples(rng):
    """Of 400 samples; the spread of so many has a relative error of 4 percent."""
    positive = np.arange(200) < 80
    found = [delong(positive, rng.normal(size=200) + positive) for _ in range(400)]
    spread = np.std([area.auc for area in found])
    assert np.mean([area.se for area in found]) == pytest.approx(spread, rel=0.15)


def test_a_monotone_score_has_the_same_area(rng):
    positive = rng.random(50) < 0.5
    score = rng.normal(size=50) + positive
    assert delong(positive, score) == delong(positive, np.exp(score))
