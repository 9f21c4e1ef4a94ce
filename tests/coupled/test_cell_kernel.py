import pickle

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from committee import CellKernelClassifier, CellKernelRegressor, load, save
from tests.reference.sklearn_checks import assert_passes_all_checks


def surface(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n) + 50.0


@pytest.fixture(scope="module")
def fitted():
    X, y = surface(1200)
    return CellKernelRegressor(max_cell=200).fit(X, y)


@pytest.mark.filterwarnings("ignore:.* rows are duplicates of others")
@pytest.mark.parametrize("kind", [CellKernelRegressor, CellKernelClassifier])
def test_scikit_learn_accepts_them(kind):
    same = "leave-one-out leaves one of two equal rows, and a row of weight two whole"
    expected = {
        "check_sample_weight_equivalence_on_dense_data": same,
    }
    assert_passes_all_checks(kind(max_cell=20), expected)


def test_by_itself_it_is_near_the_noise(fitted):
    X, y = surface(500, seed=1)
    # The mean of 500 squares of noise has a standard deviation of 6 per cent.
    assert np.mean((fitted.predict(X) - y) ** 2) < 1.5 * 0.01
    assert fitted.loo_error_ == pytest.approx(0.01, rel=0.3)
    assert len(fitted.subsets_) == 6
    assert fitted.converged_
    assert fitted.alpha_ > 0
    assert fitted.kernel_.gamma > 0


def test_what_is_given_is_kept():
    X, y = surface(300)
    model = CellKernelRegressor(
        max_cell=100, kernel="matern32", gamma=0.7, alpha=0.2,
        coupling=0.5, n_coupling=7,
    ).fit(X, y)  # fmt: skip
    assert (model.kernel_.name, model.kernel_.gamma) == ("matern32", 0.7)
    assert (model.alpha_, model.coupling_) == (0.2, 0.5)
    assert len(model.coupling_points_) == 7 * 3


def test_several_targets_share_everything_but_the_targets():
    X, y = surface(300)
    options = {
        "max_cell": 100,
        "gamma": 1.0,
        "alpha": 0.1,
        "kernel": "rbf",
        "coupling": 1.0,
    }
    both = CellKernelRegressor(**options).fit(X, np.c_[y, -2 * y])
    one = CellKernelRegressor(**options).fit(X, y)
    np.testing.assert_allclose(both.predict(X)[:, 0], one.predict(X), atol=1e-3)
    np.testing.assert_allclose(both.predict(X)[:, 1], -2 * one.predict(X), atol=2e-3)
    assert both.member_predictions(X[:5]).shape == (5, 3, 2)
    assert one.member_predictions(X[:5]).shape == (5, 3)


def test_rows_of_weight_zero_are_not_there():
    X, y = surface(300)
    s = np.ones(300)
    s[250:] = 0
    options = {"max_cell": 100, "gamma": 1.0, "alpha": 0.1}
    f = CellKernelRegressor(**options).fit(X, y, s).predict(X)
    g = CellKernelRegressor(**options).fit(X[:250], y[:250]).predict(X)
    np.testing.assert_allclose(f, g, atol=1e-10)


def test_classes_are_told_apart_with_calibrated_probabilities():
    X, y = make_moons(3000, noise=0.25, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = CellKernelClassifier(max_cell=300)
    model.fit(X[:2000], labels[:2000])
    p = model.predict_proba(X[2000:])
    assert model.score(X[2000:], labels[2000:]) > 0.93
    assert log_loss(y[2000:], p[:, 1]) < 0.2
    d = model.decision_function(X[2000:])
    np.testing.assert_array_equal(model.predict(X[2000:]) == "yes", d > 0)
    F = model.member_predictions(X[2000:2003])
    assert F.shape == (3, 7, 2)
    np.testing.assert_allclose(F.sum(axis=2), 1.0)


def test_three_classes_are_taken_one_against_the_rest(rng):
    X = rng.normal(size=(600, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])
    model = CellKernelClassifier(max_cell=150).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.decision_function(X[:4]).shape == (4, 3)
    np.testing.assert_allclose(model.predict_proba(X[:4]).sum(axis=1), 1.0)


def test_a_file_predicts_the_same(fitted, tmp_path):
    X, _ = surface(50, seed=2)
    save(fitted, tmp_path / "cells.skops")
    again = load(tmp_path / "cells.skops")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X)
    )


def test_predictions_of_dask_arrays_are_lazy(fitted):
    X, _ = surface(60, seed=3)
    lazy = fitted.predict(da.from_array(X, chunks=20))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), fitted.predict(X), rtol=1e-10)


def test_a_fit_that_fails_leaves_no_model_of_the_one_before(fitted):
    X, y = surface(50)
    model = clone(fitted).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(50, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_grid_search_may_vary_the_size_of_cells():
    X, y = surface(300)
    grid = GridSearchCV(
        CellKernelRegressor(gamma=1.0, alpha=0.1),
        {"max_cell": [50, 100]},
        cv=2,
    )
    assert grid.fit(X, y).best_score_ > 0.9


def test_a_learned_metric_helps_where_columns_do_not_matter(rng, tmp_path):
    X = rng.normal(size=(1500, 6))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=1500)
    plain, learned = (
        CellKernelRegressor(max_cell=400, metric=metric) for metric in (None, "learned")
    )
    plain.fit(X[:1000], y[:1000])
    learned.fit(X[:1000], y[:1000])
    assert plain.metric_ is None
    assert learned.metric_.argmax() == 0
    errors = [np.mean((m.predict(X[1000:]) - y[1000:]) ** 2) for m in (plain, learned)]
    assert errors[1] < 0.5 * errors[0]
    save(learned, tmp_path / "model.skops")
    f = load(tmp_path / "model.skops").predict(X[:9])
    np.testing.assert_array_equal(f, learned.predict(X[:9]))
    assert learned.member_predictions(X[:2]).shape == (2, 3)


def test_only_ratios_of_weights_matter_where_the_ridge_is_chosen():
    X, y = surface(300)
    model = CellKernelRegressor(max_cell=100, coupling=0.0)
    f = clone(model).fit(X, y).predict(X)
    for scale in (2.0**-40, 2.0**40):
        scaled = clone(model).fit(X, y, sample_weight=np.full(300, scale))
        np.testing.assert_allclose(scaled.predict(X), f, rtol=1e-5)


def test_rows_that_all_repeat_have_probabilities_too(rng):
    X = np.repeat(rng.normal(size=(6, 2)), 200, axis=0)
    p = np.repeat([0.1, 0.3, 0.5, 0.5, 0.7, 0.9], 200)
    y = rng.uniform(size=1200) < p
    model = CellKernelClassifier(max_cell=20, alpha=1e-3).fit(X, y)
    found = model.predict_proba(X[::200])[:, 1]
    assert 0 < found[0] < 0.5 < found[-1] < 1
