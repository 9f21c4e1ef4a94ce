"""What `fit` keeps: by weights that did not have the row, or by its refusal."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    LeastSquares,
    Pool,
)
from committee.crossfit import CrossFit
from committee.members import TrainingData
from committee.uncertainty.after_fit import measure_held_out
from committee.weighing import Weighed
from committee.weighing_rows import WeighingRows


def test_weights_are_learned_again_without_each_fold():
    """In-sample residuals of least squares on noise are far too small."""
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    combiner = LeastSquares().fit(F, y)
    rows = WeighingRows(y, None, None)
    weighed = Weighed(combiner, combiner.weights_, F)
    committee = CommitteeRegressor(uncertainty=True)
    measure_held_out(committee, weighed, TrainingData(F, y, None), None)
    kept = committee._held_out_rows
    own = np.abs(y - F @ combiner.weights_)
    assert np.mean(kept.residual**2) > 3 * np.mean(own**2)
    for test, w in CrossFit(combiner, F, rows).weights():
        np.testing.assert_allclose(kept.residual[test], np.abs(y[test] - F[test] @ w))


@pytest.mark.parametrize("combiner", [None, Average()])
def test_equal_weights_owe_nothing_to_the_rows(combiner):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    pool = Pool([Ridge(1.0), Ridge(100.0)], n_splits=3)
    fit = CommitteeRegressor(
        generator=pool, combiner=combiner, uncertainty=True, random_state=0
    )
    fit._keeps_weighing = True
    fit.fit(X, y)
    F = fit._weighing[0]
    np.testing.assert_allclose(
        fit._held_out_rows.residual, np.abs(y - F.mean(axis=1)), rtol=1e-12
    )


def test_a_fraction_is_split_off_for_it():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    fit = CommitteeRegressor(
        generator=Bagging(3), weigh_on=0.3, uncertainty=True, random_state=0
    ).fit(X, y)
    assert len(fit._held_out_rows.residual) == 30


def test_growing_keeps_them_too():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    fit = CommitteeRegressor(
        DecisionTreeRegressor(max_depth=3),
        generator=Bagging(40),
        combiner=EPPruner(),
        stop="evidence",
        uncertainty=True,
        random_state=0,
    ).fit(X, y)
    assert fit.predict_interval(X).shape == (80, 2)


def test_nothing_is_kept_unless_asked_for():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    fit = CommitteeRegressor(generator=Bagging(3)).fit(X, y)
    assert not hasattr(fit, "_held_out_rows")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weigh_on": "train"}, 'weigh_on="train" has none: take weigh_on="held-out"'),
        ({"generator": AdaBoost(3)}, "AdaBoost leaves none out: give a fraction"),
    ],
)
def test_rows_that_members_have_seen_are_refused(options, message):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        CommitteeClassifier(uncertainty=True, **options).fit(X, y)
