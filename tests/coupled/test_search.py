import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from committee import (
    Average,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    LSSVMRegressor,
)
from committee.coupled import search_coupled

GRID = {"gammas": [0.1, 1.0], "alphas": [0.01, 1.0], "couplings": [0.0, 1.0]}


def waves(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def test_the_best_is_returned_ready_to_fit():
    X, y = waves()
    model = CoupledKernelRegressor(4, random_state=0)
    found = search_coupled(model, X, y, **GRID)
    best = found.error.argmin()
    assert found.best_error == found.error[best]
    assert found.best_params == {
        "gamma": found.gamma[best],
        "alpha": found.alpha[best],
        "coupling": found.coupling[best],
    }
    assert found.estimator.get_params()["gamma"] == found.gamma[best]
    assert not hasattr(found.estimator, "weights_")
    assert not hasattr(model, "kernel_")
    assert found.estimator.fit(X, y).score(X, y) > 0.9


def test_classifiers_count_wrong_labels():
    X, y = make_moons(80, noise=0.1, random_state=0)
    model = CoupledKernelClassifier(4, random_state=0)
    found = search_coupled(model, X, np.array(["a", "b"])[y], **GRID)
    np.testing.assert_allclose(found.error * 80, np.round(found.error * 80), atol=1e-9)
    assert found.best_error < 0.1


def test_several_classes_and_several_targets():
    X, y = make_blobs(80, centers=3, random_state=0)
    found = search_coupled(CoupledKernelClassifier(3, random_state=0), X, y, **GRID)
    assert found.best_error < 0.2
    X, y = waves()
    Y = np.column_stack([y, -y])
    model = CoupledKernelRegressor(3, random_state=0)
    one, two = (search_coupled(model, X, t, **GRID) for t in (y, Y))
    np.testing.assert_allclose(one.error, two.error, rtol=1e-6)


def test_default_grid_is_around_the_median_heuristic():
    X, y = waves(30)
    found = search_coupled(
        CoupledKernelRegressor(2, random_state=0), X, y, alphas=[1.0]
    )
    assert len(np.unique(found.gamma)) == 5
    assert len(found.error) == 25


def test_combiners_that_need_no_rows_and_sample_weights():
    X, y = waves()
    s = np.where(np.arange(60) < 50, 1.0, 0.0)
    other = np.where(s > 0, y, 99.0)
    model = CoupledKernelRegressor(3, combiner=Average(), random_state=0)
    errors = [
        search_coupled(model, X, t, sample_weight=s, **GRID).error for t in (y, other)
    ]
    np.testing.assert_allclose(*errors, rtol=1e-9)


def test_candidates_that_are_not_definite_are_passed_over():
    X, y = waves()
    model = CoupledKernelRegressor(3, random_state=0)
    options = {"gammas": [1.0], "alphas": [0.1]}
    found = search_coupled(model, X, y, couplings=[-1e6, 1.0], **options)
    assert np.isnan(found.error[0])
    assert found.best_params["coupling"] == 1.0
    with pytest.raises(ValueError, match="No candidate"):
        search_coupled(model, X, y, couplings=[-1e6], **options)


def test_progress_is_shown_where_asked_for(capsys):
    X, y = waves(20)
    model = CoupledKernelRegressor(2, random_state=0)
    search_coupled(model, X, y, verbose=True, **GRID)
    assert "searching" in capsys.readouterr().err


def test_bad_input():
    X, y = waves(20)
    with pytest.raises(ValueError, match=r"up to 5000 rows\. Got 6000"):
        search_coupled(
            CoupledKernelRegressor(), np.zeros((6000, 1)), np.zeros(6000), gammas=[1.0]
        )  # fmt: skip
    with pytest.raises(ValueError, match="'topology' parameter"):
        search_coupled(CoupledKernelRegressor(topology="star"), X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"gammas": []}, "gammas must be a non-empty list of positive"),
        ({"gammas": [-0.3]}, "gammas must be a non-empty list of positive"),
        ({"alphas": [np.nan]}, "alphas must be a non-empty list of positive"),
        ({"couplings": []}, "couplings must be a non-empty list of finite"),
    ],
)
def test_what_cannot_be_searched_is_said_first(rng, options, sentence):
    X = rng.normal(size=(20, 1))
    with pytest.raises(ValueError, match=sentence):
        search_coupled(CoupledKernelRegressor(2), X, X[:, 0], **options)


def test_only_coupled_estimators_are_searched(rng):
    X = rng.normal(size=(20, 1))
    with pytest.raises(TypeError, match="Got LSSVMRegressor"):
        search_coupled(LSSVMRegressor(), X, X[:, 0])


def test_all_candidates_share_their_subsets_without_a_seed(rng):
    X = rng.normal(size=(60, 1))
    found = search_coupled(
        CoupledKernelRegressor(3),
        X,
        np.sin(X[:, 0]),
        gammas=[0.3, 0.3],
        alphas=[0.1],
        couplings=[1.0],
    )
    assert found.error[0] == found.error[1]
    assert found.estimator.random_state is None
