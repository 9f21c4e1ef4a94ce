import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from committee import (
    BayesianCommitteeClassifier,
    BayesianCommitteeRegressor,
    load,
    save,
)
from committee.coupled import search_coupled
from tests.reference.sklearn_checks import assert_passes_all_checks

OPTIONS = (
    {"subsets": "cells", "max_rows": 100},
    {"subsets": "random", "max_rows": 100},
)


def surface(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module", params=OPTIONS, ids=lambda o: o["subsets"])
def fitted(request):
    model = BayesianCommitteeRegressor(random_state=0, **request.param)
    return model.fit(*surface(400, 0))


def test_one_expert_is_a_gaussian_process():
    X, y = surface(100, 1)
    model = BayesianCommitteeRegressor(kernel="matern52", gamma=0.5, alpha=0.1).fit(
        X, y
    )
    c = model.noise_ / 0.1
    twin = GaussianProcessRegressor(
        ConstantKernel(c) * Matern(2.0, nu=2.5), alpha=model.noise_, optimizer=None
    ).fit(X, y - y.mean())
    f, std = model.predict(X, return_std=True)
    g, twin_std = twin.predict(X, return_std=True)
    np.testing.assert_allclose(f, g + y.mean(), atol=1e-9)
    np.testing.assert_allclose(std, twin_std, rtol=1e-7)


def test_it_finds_the_surface_and_its_noise(fitted):
    X, _ = surface(2000, 2)
    truth = np.sin(2 * X[:, 0]) + X[:, 1]
    assert np.mean((fitted.predict(X) - truth) ** 2) < 0.01
    assert np.sqrt(fitted.noise_) == pytest.approx(0.2, rel=0.2)
    assert fitted.loo_error_ == pytest.approx(0.045, abs=0.01)


def test_every_expert_knows_the_shared_rows(fitted):
    shared = set(fitted.subsets_[0]).intersection(*fitted.subsets_[1:])
    assert len(shared) == 30  # 3/10 of a member
    assert set(np.concatenate(fitted.subsets_)) == set(range(400))
    assert fitted.member_predictions(surface(5, 3)[0]).shape == (5, 4)


@pytest.mark.parametrize("method", ["scaled", "constant"])
def test_intervals_cover_what_they_promise(fitted, method):
    X, y = surface(4000, 2)
    low, high = fitted.predict_interval(X, 0.9, method=method).T
    # 370 residuals: a standard deviation of 1.6 points.
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.05)


def test_the_answer_does_not_depend_on_n_jobs_and_survives_files(fitted, tmp_path):
    X, _ = surface(30, 3)
    again = clone(fitted).set_params(n_jobs=2).fit(*surface(400, 0))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    save(fitted, tmp_path / "machine.skops")
    loaded = load(tmp_path / "machine.skops")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    lazy = fitted.predict(da.from_array(X, chunks=(10, 2)))
    np.testing.assert_allclose(lazy.compute(), fitted.predict(X), rtol=1e-12)


def test_joint_predictions_have_less_error_and_honest_deviations():
    """Of 300 rows predicted together; switched on after the fit."""
    X, y = surface(400, 0)
    model = BayesianCommitteeRegressor(
        "bcm", subsets="random", max_rows=100, random_state=0
    ).fit(X, y)
    rows, _ = surface(300, 2)
    truth = np.sin(2 * rows[:, 0]) + rows[:, 1]
    alone, joint = model.predict(rows), clone(model).set_params(joint=True)
    f, std = joint.fit(X, y).predict(rows, return_std=True)
    assert np.mean((f - truth) ** 2) < 0.9 * np.mean((alone - truth) ** 2)
    assert np.mean(((f - truth) / std) ** 2) == pytest.approx(1.0, abs=0.5)
    model.joint = True
    np.testing.assert_array_equal(model.predict(rows), f)
    model.n_jobs = 2
    np.testing.assert_array_equal(model.predict(rows), f)


def test_joint_classes():
    X, y = make_moons(300, noise=0.2, random_state=0)
    X_test, y_test = make_moons(200, noise=0.2, random_state=1)
    model = BayesianCommitteeClassifier(joint=True, max_rows=100, random_state=0)
    p = model.fit(X, y).predict_proba(X_test)
    assert np.mean(p.argmax(axis=1) == y_test) > 0.92
    np.testing.assert_array_equal(model.predict(X_test), p.argmax(axis=1))


def test_given_subsets_are_taken():
    X, y = surface(90, 0)
    subsets = [np.arange(0, 30), np.arange(30, 80)]
    model = BayesianCommitteeRegressor("bcm").fit(X, y, subsets=subsets)
    assert [rows.tolist() for rows in model.subsets_] == [s.tolist() for s in subsets]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o["subsets"])
def test_classes_are_told_apart(options):
    X, y = make_moons(400, noise=0.2, random_state=0)
    X_test, y_test = make_moons(1000, noise=0.2, random_state=1)
    model = BayesianCommitteeClassifier(random_state=0, **options)
    labels = np.array(["no", "yes"])[y]
    p = model.fit(X, labels).predict_proba(X_test)
    assert np.mean(p.argmax(axis=1) == y_test) > 0.93  # the best is 0.97
    assert -np.mean(np.log(p[np.arange(1000), y_test])) < 0.15
    covered = model.predict_set(X_test, 0.9)[np.arange(1000), y_test]
    # 370 scores: a standard deviation of 1.6 points; more is covered where few err.
    assert covered.mean() > 0.86


def test_random_subsets_are_as_many_as_max_rows_makes():
    X, y = surface(90, 0)
    model = BayesianCommitteeRegressor(
        "bcm", subsets="random", max_rows=40, random_state=0
    )
    sizes = [len(rows) for rows in model.fit(X, y).subsets_]
    assert sizes == [30, 30, 30]


def test_subsets_of_one_class_and_none_are_refused():
    X, y = surface(60, 0)
    model = BayesianCommitteeClassifier()
    with pytest.raises(ValueError, match="Got 1 class: True"):
        model.fit(X, y > np.median(y), subsets=[np.flatnonzero(y > np.median(y))])
    with pytest.raises(ValueError, match="one for each expert"):
        model.fit(X, y > 0, subsets=[])


def test_what_needs_coupling_or_one_place_says_so():
    X, y = surface(50, 0)
    model = BayesianCommitteeRegressor()
    with pytest.raises(ValueError, match="take CellKernelRegressor for Dask"):
        model.fit(da.from_array(X), da.from_array(y))
    with pytest.raises(TypeError, match="choose kernel"):
        search_coupled(model, X, y)


@pytest.mark.filterwarnings("ignore:.* rows are duplicates of others")
@pytest.mark.parametrize(
    "kind", [BayesianCommitteeRegressor, BayesianCommitteeClassifier]
)
def test_scikit_learn_accepts_them(kind):
    same = "leave-one-out leaves one of two equal rows, and a row of weight two whole"
    expected = {"check_sample_weight_equivalence_on_dense_data": same}
    assert_passes_all_checks(kind(max_rows=20, random_state=0), expected)
