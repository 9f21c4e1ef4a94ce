"""to_sklearn: native models, and the curves of their probabilities."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from committee import (
    AdaBoost,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    LeastSquares,
    OptimalWeights,
    Pool,
    SimplexWeights,
    load,
    prune,
    save,
    to_sklearn,
)
from committee.calibration import Calibration
from tests.export.cases import (
    BOOSTERS,
    OTHERS,
    TASKS,
    TREES,
    fitted,
    pruned,
    rows,
    unlike,
)


def plain(committee):
    """The forest, vote or booster inside."""
    return to_sklearn(committee, calibration=None)


def assert_same(model, committee, X, tol=1e-12):
    """Predictions to tol in units of the largest, labels exactly."""
    if hasattr(committee, "classes_"):
        p = committee.predict_proba(X)
        if p.shape[1] == 2:  # of two classes p may be a piecewise linear curve
            tol = max(tol, 1e-6)
        np.testing.assert_allclose(model.predict_proba(X), p, rtol=0, atol=tol)
        # CatBoost predicts one of many classes as a column.
        labels = np.ravel(model.predict(X))
        np.testing.assert_array_equal(labels, committee.predict(X))
        np.testing.assert_array_equal(model.classes_, committee.classes_)
    else:
        f = committee.predict(X)
        atol = tol * max(1.0, abs(f).max())
        np.testing.assert_allclose(model.predict(X), f, rtol=0, atol=atol)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*TREES, *OTHERS, *BOOSTERS])
def test_held_out_predictions_are_those_of_the_committee(name, task):
    committee, X = pruned(name, task)
    model = to_sklearn(committee)
    check_is_fitted(model)
    # XGBoost adds in single precision.
    assert_same(model, committee, X, tol=1e-6 if name == "xgboost" else 1e-12)
    library = type(plain(committee)).__module__.split(".")[0]
    assert library == (name if name in BOOSTERS[2:] else "sklearn")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "subspaces", "linear subspaces", "voting"])
def test_frames_are_taken_without_a_warning(name, task):
    committee, X = pruned(name, task, frame=True)
    model = to_sklearn(committee)
    assert_same(model, committee, X)
    assert list(model.feature_names_in_) == list("uvwxyz")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "linear subspaces"])
def test_weights_need_not_sum_to_one(name, task):
    """Weights of EP for regression are free; its votes are shares all the same."""
    committee, X = pruned(name, task, EPPruner)
    assert_same(to_sklearn(committee), committee, X)


def test_regression_takes_negative_weights():
    for name in ("forest", "voting"):
        committee, X = pruned(name, "regression", LeastSquares)
        assert committee.weights_.min() < 0
        assert_same(to_sklearn(committee), committee, X)


def test_kinds_are_those_of_the_members():
    def kind(name, task):
        return type(plain(pruned(name, task)[0]))

    assert kind("bagging", "binary") is RandomForestClassifier
    assert kind("extra trees", "multiclass") is ExtraTreesClassifier
    assert kind("adaboost", "regression") is RandomForestRegressor
    assert kind("gradient", "regression") is GradientBoostingRegressor
    assert kind("stacking", "binary") is VotingClassifier
    assert kind("pipeline", "binary") is Pipeline


def test_the_native_model_is_as_small_as_the_committee():
    committee, _ = pruned("forest", "binary", EPPruner)
    forest = plain(committee)
    assert len(forest.estimators_) == committee.n_members_ < 15
    assert forest.n_estimators == committee.n_members_


@pytest.mark.parametrize("name", ["forest", "voting", "pipeline"])
def test_native_models_survive_pickling(name):
    committee, X = pruned(name, "binary")
    assert_same(pickle.loads(pickle.dumps(to_sklearn(committee))), committee, X)


def test_the_committee_is_left_as_it_was():
    committee, X = pruned("subspaces", "multiclass")
    before = committee.predict_proba(X)
    forest = plain(committee)
    forest.estimators_[0].tree_.value[...] = 0.0
    np.testing.assert_array_equal(committee.predict_proba(X), before)


@pytest.mark.parametrize("combiner", [None, SimplexWeights()])
def test_committees_that_were_fitted(combiner):
    X, y = rows("multiclass")
    committee = CommitteeClassifier(
        generator=Bagging(10), combiner=combiner, calibration=None, random_state=0
    ).fit(X[:90], y[:90])
    assert_same(to_sklearn(committee), committee, X[90:])


def test_boosted_and_pooled_committees_that_were_fitted():
    X, y = rows("binary")
    stump = DecisionTreeClassifier(max_depth=1)
    boosted = CommitteeClassifier(stump, generator=AdaBoost(5), random_state=0)
    pool = CommitteeClassifier(
        generator=Pool([GaussianNB(), LogisticRegression()]), combiner=None
    )
    for committee in (boosted.fit(X[:90], y[:90]), pool.fit(X[:90], y[:90])):
        assert_same(to_sklearn(committee), committee, X[90:])
    X, y = rows("regression")
    linear = CommitteeRegressor(Ridge(), generator=Bagging(5), random_state=0)
    assert_same(to_sklearn(linear.fit(X[:90], y[:90])), linear, X[90:])


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("combiner", [EPPruner(), "em", "ard", "log-pool"])
def test_pools_of_logarithms_are_stacks(combiner, task, tmp_path):
    X, y = rows(task)
    committee = CommitteeClassifier(
        generator=Pool(unlike(task)[:2]),
        combiner=combiner,
        calibration=None,
        random_state=0,
    ).fit(X[:90], y[:90])
    model = to_sklearn(committee)
    assert_same(model, committee, X)
    assert type(model).__name__ == "StackingClassifier"
    save(model, tmp_path / "m.skops")
    assert_same(load(tmp_path / "m.skops"), committee, X)
    small = prune(committee, X[90:], y[90:])
    assert_same(to_sklearn(small), small, X)
    save(to_sklearn(small), tmp_path / "m.skops")
    assert_same(load(tmp_path / "m.skops"), small, X)


def test_negative_votes_are_refused():
    X, y = rows("binary")
    members = [LogisticRegression(C=C).fit(X[:90], y[:90]) for C in (10, 0.03, 0.001)]
    committee = prune(members, X[90:], y[90:], combiner=OptimalWeights())
    with pytest.raises(ValueError, match="1 negative weights"):
        to_sklearn(committee)


def test_votes_without_probabilities_keep_the_labels():
    X, y = rows("multiclass")
    svms = [("a", LinearSVC(C=0.1)), ("b", LinearSVC()), ("c", GaussianNB())]
    ensemble = VotingClassifier(svms, voting="hard").fit(X[:60], y[:60])
    committee = prune(ensemble, X[60:120], y[60:120], combiner=SimplexWeights())
    model = to_sklearn(committee)
    np.testing.assert_array_equal(model.predict(X[120:]), committee.predict(X[120:]))
    assert not hasattr(model, "predict_proba")


def test_transformers_become_steps():
    X, y = rows("binary")
    inner = make_pipeline(
        Pipeline([("nothing", "passthrough")]), RandomForestClassifier(5)
    ).fit(X[:60], y[:60])
    committee = prune(inner, X[60:120], y[60:120], combiner=SimplexWeights())
    model = to_sklearn(committee)
    assert_same(model, committee, X[120:])
    assert isinstance(plain(committee).steps[-1][1], RandomForestClassifier)


def test_other_things_are_refused_by_name():
    ensemble, *_ = fitted("forest", "binary")
    with pytest.raises(TypeError, match="Got RandomForestClassifier instead"):
        to_sklearn(ensemble)
    with pytest.raises(NotFittedError):
        to_sklearn(CommitteeRegressor())


def unlike_pool():
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
        generator=unlike_pool(),
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


def test_calibrated_votes_are_saved_as_one_curve(tmp_path):
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
