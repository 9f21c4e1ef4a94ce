"""predict_interval and predict_set as a user calls them."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    Pool,
    load,
    prune,
    save,
)
from committee.uncertainty import jackknife_plus_interval
from committee.uncertainty.mixins import INTERVALS

N, N_TEST = 300, 2000


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(N + N_TEST, noise=1.0, random_state=0)
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(
        N + N_TEST, n_informative=5, n_classes=3, flip_y=0.1, random_state=0
    )
    y = np.array(["a", "b", "c"])[y]
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def forest(numbers):
    return RandomForestRegressor(50, random_state=0).fit(*numbers[:2])


@pytest.fixture(scope="module")
def pruned(forest, numbers):
    return prune(forest, *numbers[:2], oob=True)


def _limits(coverage=0.9, slack=0.02):
    """Bounds of the coverage on fresh rows, all but once in 10,000.

    Coverage by n = 300 rows is Beta with a standard deviation of 1.7 points, and that
    of 2,000 test rows is binomial; members that leave a row out are fewer than all, so
    that two points more than asked for are no surprise.
    """
    sd = np.sqrt(coverage * (1 - coverage) * (1 / N + 1 / N_TEST))
    return coverage - 3.9 * sd, coverage + slack + 3.9 * sd


def _coverage(interval, y):
    return np.mean((interval[:, 0] <= y) & (y <= interval[:, 1]))


def _made(name, forest, numbers):
    X, y = numbers[:2]
    pool = Pool([Ridge(), KNeighborsRegressor(5), KNeighborsRegressor(15)])
    how = {"uncertainty": True, "random_state": 0}
    if name == "whole forest":
        return prune(forest, X, y, combiner=Average(), oob=True)
    if name == "pool":
        return CommitteeRegressor(generator=pool, combiner="ep", **how).fit(X, y)
    if name == "bagging":
        return CommitteeRegressor(generator=Bagging(40), **how).fit(X, y)
    splits = CrossSplits(5, 4)
    return CommitteeRegressor(generator=splits, combiner="simplex", **how).fit(X, y)


@pytest.mark.parametrize("method", ["scaled", "constant"])
@pytest.mark.parametrize("name", ["whole forest", "pool", "bagging", "cross splits"])
def test_fresh_rows_are_covered(name, method, forest, numbers):
    interval = _made(name, forest, numbers).predict_interval(numbers[2], method=method)
    low, high = _limits()
    assert low < _coverage(interval, numbers[3]) < high


@pytest.mark.parametrize("max_members", [4, None])
def test_fresh_rows_are_covered_by_few_members(max_members, pruned, numbers):
    few = pruned.path_.choose(max_members=max_members) if max_members else pruned
    low, high = _limits()
    for method in ("scaled", "constant"):
        interval = few.predict_interval(numbers[2], method=method)
        assert low < _coverage(interval, numbers[3]) < high


def test_jackknife_plus_of_a_forest_is_that_of_its_mask(forest, numbers):
    X, y, X_test, y_test = numbers
    whole = prune(forest, X, y, combiner=Average(), oob=True)
    found = whole.predict_interval(X_test[:20], method="jackknife+")
    mask = np.ones((N, 50), dtype=bool)
    for m, rows in enumerate(forest.estimators_samples_):
        mask[rows, m] = False
    F = np.array([tree.predict(X) for tree in forest.estimators_]).T
    R = np.abs(y - (F * mask).sum(axis=1) / mask.sum(axis=1))
    F_test = np.array([tree.predict(X_test[:20]) for tree in forest.estimators_]).T
    w = np.full(50, 1 / 50)
    expected = jackknife_plus_interval(F_test, w, R, mask, 0.9)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    everywhere = whole.predict_interval(X_test, method="jackknife+")
    low, high = _limits()
    assert low < _coverage(everywhere, y_test) < high


def test_the_centre_is_the_prediction_and_more_coverage_is_wider(pruned, numbers):
    X_test = numbers[2]
    for method in ("scaled", "constant"):
        narrow, wide = (
            pruned.predict_interval(X_test, c, method=method) for c in (0.5, 0.95)
        )
        np.testing.assert_allclose(narrow.mean(axis=1), pruned.predict(X_test))
        assert np.all(np.diff(narrow) < np.diff(wide))


@pytest.mark.parametrize("way", ["pickle", "file", "without its path"])
@pytest.mark.parametrize("kind", ["pruned", "fitted"])
def test_copies_and_files_give_the_same(kind, way, forest, numbers, tmp_path):
    if kind == "pruned":
        model = prune(forest, *numbers[:2], oob=True)
    else:
        model = _made("bagging", forest, numbers)
    if way == "pickle":
        other = pickle.loads(pickle.dumps(model))
    elif way == "file":
        other = load(save(model, tmp_path / "m.skops") or tmp_path / "m.skops")
    else:
        other = pickle.loads(pickle.dumps(model))
        other.__dict__.pop("path_", None)
    for method in INTERVALS:
        np.testing.assert_array_equal(
            model.predict_interval(numbers[2][:50], method=method),
            other.predict_interval(numbers[2][:50], method=method),
        )


def test_another_size_from_a_file_has_no_rows(pruned):
    copied = pickle.loads(pickle.dumps(pruned))
    size = copied.path_.size[copied.path_.assessment.available].min()
    few = copied.path_.choose(max_members=int(size))
    assert few.n_members_ < copied.n_members_
    with pytest.raises(ValueError, match="before it was saved"):
        few.predict_interval(np.zeros((1, 10)))


def test_sets_cover_fresh_rows(classes):
    X, y, X_test, y_test = classes
    forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    pool = Pool([DecisionTreeClassifier(max_depth=4), DecisionTreeClassifier()])
    how = {"uncertainty": True, "random_state": 0}
    models = [
        prune(forest, X, y, combiner=Average(), oob=True),
        prune(forest, X, y, oob=True),
        CommitteeClassifier(generator=Bagging(40), **how).fit(X, y),
        CommitteeClassifier(generator=pool, combiner="simplex", **how).fit(X, y),
    ]
    codes = np.searchsorted(models[0].classes_, y_test)
    # Ties of votes and the likeliest class, which is always in, can only add.
    low, _ = _limits()
    for model in models:
        for method in ("lac", "aps"):
            sets = model.predict_set(X_test, method=method)
            assert sets.dtype == bool
            assert sets.shape == (N_TEST, 3)
            assert sets.any(axis=1).all()
            assert sets[np.arange(N_TEST), codes].mean() > low


def test_sets_of_a_copy_are_the_same(classes):
    X, y, X_test, _ = classes
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    model = prune(forest, X, y, oob=True)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_set(X_test), other.predict_set(X_test))
    del model.path_
    np.testing.assert_array_equal(model.predict_set(X_test), other.predict_set(X_test))


def test_the_error_is_that_of_exchangeable_rows():
    """Members fitted elsewhere, rows given to prune: split conformal, exactly."""
    rng, n, hits, draws = np.random.default_rng(0), 20, 0, 400
    member = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    for _ in range(draws):
        X = rng.normal(size=(n + 1, 1))
        y = X[:, 0] + rng.standard_t(2, size=n + 1)
        model = prune([member, member], X[:n], y[:n], combiner=Average(), oob=False)
        lower, upper = model.predict_interval(X[n:], 0.8)[0]
        hits += lower <= y[n] <= upper
    low, high = binom.interval(1 - 1e-6, draws, 17 / 21)  # k = ceil(0.8 * 21)
    assert low <= hits <= high


def test_questions_that_make_no_sense(pruned, numbers):
    X = numbers[2]
    with pytest.raises(ValueError, match=r"coverage must be .* Got 90"):
        pruned.predict_interval(X, 90)
    with pytest.raises(ValueError, match="needs at least 9999 held-out rows"):
        pruned.predict_interval(X, 0.9999)
    with pytest.raises(ValueError, match="method must be one of 'scaled', 'constant'"):
        pruned.predict_interval(X, method="wide")
    with pytest.raises(NotFittedError):
        CommitteeRegressor().predict_interval(X)


def test_a_committee_without_held_out_rows_says_what_to_do(numbers, classes):
    X, y = numbers[:2]
    model = CommitteeRegressor(generator=Bagging(3)).fit(X, y)
    with pytest.raises(ValueError, match="Fit it with uncertainty=True, or use"):
        model.predict_interval(X)
    X, y = classes[:2]
    model = CommitteeClassifier(generator=Bagging(3)).fit(X, y)
    with pytest.raises(ValueError, match="predict_set needs held-out rows"):
        model.predict_set(X)
    model.set_params(uncertainty=True).fit(X, y)
    model.set_params(uncertainty=False).fit(X, y)  # nothing old stays
    with pytest.raises(ValueError, match="predict_set needs held-out rows"):
        model.predict_set(X)


def test_too_few_rows_to_prune_on_are_counted(numbers, classes):
    """No fold can be left out of four rows: none of them is fair."""
    member = LinearRegression().fit(*numbers[:2])
    small = prune([member, member], numbers[2][:4], numbers[3][:4], oob=False)
    with pytest.raises(ValueError, match="at least 9 held-out rows, but there are 0"):
        small.predict_interval(numbers[2])
    trees = [DecisionTreeClassifier(max_depth=d).fit(*classes[:2]) for d in (2, 3)]
    small = prune(trees, classes[2][:4], classes[3][:4], oob=False)
    with pytest.raises(ValueError, match="at least 9 held-out rows, but there are 0"):
        small.predict_set(classes[2])
