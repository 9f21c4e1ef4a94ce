"""The errors that a summary prints are those of the models that people get."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import CommitteeClassifier, OptimalWeights, prune


def _xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=60, n_jobs=1)


def _lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=60, n_jobs=1, verbose=-1
    )


def _catboost():
    return pytest.importorskip("catboost").CatBoostClassifier(
        60, verbose=0, thread_count=1, allow_writing_files=False
    )


BOOSTERS = {
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=60),
    "GradientBoosting": lambda: GradientBoostingClassifier(n_estimators=60),
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
}
_MODELS = [("a", GaussianNB()), ("b", LogisticRegression())]
OTHERS = {
    "exponential": lambda: GradientBoostingClassifier(
        loss="exponential", n_estimators=30
    ),
    "extra trees": lambda: ExtraTreesClassifier(30, random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=30, random_state=0
    ),
    "bagging": lambda: BaggingClassifier(n_estimators=20, random_state=0),
    "voting": lambda: VotingClassifier(_MODELS, voting="soft", weights=[1, 3]),
    "stacking": lambda: StackingClassifier(_MODELS),
    "committee": lambda: CommitteeClassifier(random_state=0, calibration="slope"),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [*BOOSTERS, *OTHERS])
def test_before_is_the_model_of_the_user(name, n_classes):
    """Its errors are those of its own predict and predict_proba, on the same rows."""
    if (name, n_classes) == ("exponential", 3):
        pytest.skip("a loss of two classes")
    X, y = make_classification(
        700,
        12,
        n_informative=8,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=0,
    )
    model = {**BOOSTERS, **OTHERS}[name]().fit(X[:400], y[:400])
    X, y = X[400:], y[400:]
    # Least squares is fast, and what is kept does not matter here.
    summary = prune(model, X, y, combiner=OptimalWeights(), oob=False).summary()
    # XGBoost and CatBoost predict in single precision.
    assert summary.log_loss_before == pytest.approx(
        log_loss(y, model.predict_proba(X)), rel=1e-6
    )
    assert summary.error_before == pytest.approx(
        np.mean(np.ravel(model.predict(X)) != y)
    )
