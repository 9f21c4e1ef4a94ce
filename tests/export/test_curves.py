"""A calibrated committee as scikit-learn's CalibratedClassifierCV."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    EPPruner,
    Pool,
    SimplexWeights,
    load,
    save,
    to_sklearn,
)
from committee.calibration import Calibration
from tests.export.cases import rows


def unlike():
    return Pool(
        [
            ("a", LogisticRegression()),
            ("b", GaussianNB()),
            ("c", DecisionTreeClassifier(random_state=0)),
        ]
    )


@pytest.mark.parametrize("method", ["slope", "vector"])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("floor", [0.003, None])
def test_curves_hold_the_calibration(method, task, floor):
    """Of logarithms and of sums; weights need not sum to one."""
    X, y = rows(task)
    committee = CommitteeClassifier(
        generator=unlike(),
        combiner=SimplexWeights(),
        calibration=method,
        random_state=0,
    ).fit(X[::2], y[::2])
    K = len(committee.classes_)
    each = (
        (2.0, floor)
        if method == "slope"
        else (np.linspace(1, 3, K), floor, np.linspace(0, 1, K))
    )
    committee._calibration = Calibration(*each)
    model = to_sklearn(committee)
    np.testing.assert_allclose(
        model.predict_proba(X[1::2]), committee.predict_proba(X[1::2]), atol=3e-6
    )
    np.testing.assert_array_equal(model.predict(X[1::2]), committee.predict(X[1::2]))


def test_probits_are_calibrated_in_one_curve(tmp_path):
    X, y = rows("binary")
    committee = CommitteeClassifier(
        generator=Bagging(10), combiner=EPPruner(), calibration="slope", random_state=0
    ).fit(X[::2], y[::2])
    save(to_sklearn(committee), tmp_path / "model.skops")
    np.testing.assert_allclose(
        load(tmp_path / "model.skops").predict_proba(X[1::2]),
        committee.predict_proba(X[1::2]),
        atol=2e-6,
    )
