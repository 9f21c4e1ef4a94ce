"""What `combiner="auto"` and `calibration="auto"` choose, and what it brings."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoost,
    Bagging,
    CellKernelClassifier,
    CellKernelRegressor,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    EPPruner,
    LogPool,
    NeighbourGate,
    Pool,
    RandomInits,
    RidgeWeights,
    SimplexWeights,
)

CLASSIFIERS = [
    LogisticRegression(),
    GaussianNB(),
    KNeighborsClassifier(15),
    RandomForestClassifier(20, min_samples_leaf=3, random_state=0),
]
REGRESSORS = [Ridge(), KNeighborsRegressor(), DummyRegressor()]
REGRESSORS += [RandomForestRegressor(20, random_state=0)]


def _classes(n=600, K=2):
    X, y = make_classification(
        n + 2000, 10, n_informative=5, n_classes=K, flip_y=0.1, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("K", [2, 3])
def test_a_pool_of_classifiers_is_a_log_pool(K):
    X, y, X_new, y_new = _classes(K=K)
    found = CommitteeClassifier(generator=Pool(CLASSIFIERS), random_state=0).fit(X, y)
    named = clone(found).set_params(combiner=LogPool()).fit(X, y)
    p = found.predict_proba(X_new)
    np.testing.assert_array_equal(p, named.predict_proba(X_new))
    # Its own slope is its calibration, and its error is measured on held-out rows.
    assert found.calibration_ is None
    assert abs(found.held_out_error_ - np.mean(found.predict(X_new) != y_new)) < 0.06
    average = clone(found).set_params(combiner=None, calibration=None).fit(X, y)
    assert log_loss(y_new, p) < log_loss(y_new, average.predict_proba(X_new))


def test_a_pool_of_regressors_is_weighed_by_ridge():
    X, y = make_friedman1(1300, noise=0.5, random_state=0)
    found = CommitteeRegressor(generator=Pool(REGRESSORS), random_state=0)
    found.fit(X[:300], y[:300])
    assert isinstance(found.combiner_, RidgeWeights)
    average = clone(found).set_params(combiner=None).fit(X[:300], y[:300])
    errors = [
        np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2))
        for model in (found, average)
    ]
    assert errors[0] < 0.9 * errors[1]


def test_a_bag_is_averaged_and_calibrated():
    X, y, X_new, y_new = _classes()
    bag = CommitteeClassifier(generator=Bagging(20), random_state=0).fit(X, y)
    assert bag.combiner_ is None
    np.testing.assert_allclose(bag.weights_, 1 / 20)
    plain = clone(bag).set_params(calibration=None).fit(X, y)
    np.testing.assert_array_equal(bag.predict(X_new), plain.predict(X_new))
    losses = [log_loss(y_new, m.predict_proba(X_new)) for m in (bag, plain)]
    assert losses[0] < 0.8 * losses[1]
    asked = clone(bag).set_params(calibration="slope").fit(X, y)
    np.testing.assert_array_equal(bag.predict_proba(X_new), asked.predict_proba(X_new))


def test_boosting_has_its_own_weights():
    X, y, *_ = _classes()
    stump = DecisionTreeClassifier(max_depth=1)
    boosted = CommitteeClassifier(stump, generator=AdaBoost(10), random_state=0)
    boosted.fit(X, y)
    assert boosted.combiner_ is None
    assert boosted.calibration_ is None
    assert np.ptp(boosted.weights_) > 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"generator": RandomInits(3)},
        {"generator": Bagging(5), "combiner": LogPool()},
        {"generator": AdaBoost(5), "combiner": SimplexWeights()},
        {"generator": Bagging(5), "gate": NeighbourGate()},
        {"generator": Bagging(5), "weigh_on": "train"},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_what_costs_more_is_not_calibrated(options):
    X, y, *_ = _classes(200)
    found = CommitteeClassifier(**options, random_state=0).fit(X, y)
    assert found.calibration_ is None


def test_a_pool_weighed_otherwise_is_calibrated():
    X, y, X_new, _ = _classes(200)
    pool = Pool(CLASSIFIERS[:2])
    found = CommitteeClassifier(
        generator=pool, combiner=SimplexWeights(), random_state=0
    )
    asked = clone(found).set_params(calibration="slope").fit(X, y)
    np.testing.assert_array_equal(
        found.fit(X, y).predict_proba(X_new), asked.predict_proba(X_new)
    )
    assert found.slope_ > 0


def test_members_that_are_trained_until_the_evidence_stops_are_weighed_by_it():
    X, y, *_ = _classes(200)
    grown = CommitteeClassifier(generator=Bagging(60), stop="evidence", random_state=0)
    assert isinstance(grown.fit(X, y).combiner_, EPPruner)


def test_the_kernel_machine_that_is_found_first_has_less_error():
    X, y = make_friedman1(900, noise=1.0, random_state=0)
    X_new = X[400:]
    classes = (y > np.median(y)).astype(int)
    pairs = [(CellKernelRegressor, CoupledKernelRegressor, y)]
    pairs += [(CellKernelClassifier, CoupledKernelClassifier, classes)]
    for first, second, t in pairs:
        scores = [
            kind().fit(X[:400], t[:400]).score(X_new, t[400:])
            for kind in (first, second)
        ]
        assert scores[0] > scores[1] + 0.02
        summary = " ".join((second.__doc__ or "").split("Parameters")[0].split())
        assert f"For predictions use `{first.__name__}`" in summary
    root = Path(__file__).parents[1]
    for page in ("README.md", "docs/api.md"):
        text = (root / page).read_text(encoding="utf-8")
        assert text.index("`CellKernelRegressor") < text.index(
            "`CoupledKernelRegressor"
        )


def test_combiners_are_searched_and_the_answer_does_not_depend_on_jobs():
    X, y, X_new, _ = _classes(150)
    pool = CommitteeClassifier(generator=Pool(CLASSIFIERS[:2]), random_state=0)
    grid = {"combiner": ["auto", None, "simplex", LogPool()]}
    search = GridSearchCV(pool, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == scores[3]  # "auto" is LogPool()
    for model in (pool, CommitteeClassifier(generator=Bagging(5), random_state=0)):
        one, two = (
            clone(model).set_params(n_jobs=n).fit(X, y).predict_proba(X_new)
            for n in (1, 2)
        )
        np.testing.assert_array_equal(one, two)
