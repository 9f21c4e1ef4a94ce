"""Coupled estimators as scikit-learn citizens."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    ARDPruner,
    Average,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    EPPruner,
    LeastSquares,
    LSSVMClassifier,
    LSSVMRegressor,
    OptimalWeights,
    SimplexWeights,
    member_predictions,
)
from committee.kernels import Kernel
from committee.linalg import NotPositiveDefiniteError
from tests.reference.coupled import DenseCoupled
from tests.reference.sklearn_checks import assert_passes_all_checks

COMBINERS = [
    Average(),
    OptimalWeights(),
    SimplexWeights(),
    LeastSquares(),
    EPPruner(),
    ARDPruner(),
]


def waves(n=120, T=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    if T is not None:
        y = np.column_stack([y, *(X[:, 1] ** (t + 1) for t in range(T - 1))])
    return X, y


# --- scikit-learn's contract --------------------------------------------------

_RANDOM_SUBSETS = (
    "weights and repetitions agree in distribution only: subsets and coupling points "
    "are drawn by row number, and repeated rows have other numbers"
)
_LINK = (
    "the link is fitted on leave-one-out scores, and without a row of weight two both "
    "of its copies are missing"
)


def _expected_failures(estimator):
    if isinstance(estimator, (CoupledKernelRegressor, CoupledKernelClassifier)):
        return {"check_sample_weight_equivalence_on_dense_data": _RANDOM_SUBSETS}
    if isinstance(estimator, LSSVMClassifier):
        return {"check_sample_weight_equivalence_on_dense_data": _LINK}
    return {}


@pytest.mark.parametrize(
    "estimator",
    [
        CoupledKernelRegressor(2, alpha=0.1, random_state=0),
        CoupledKernelRegressor(
            3, coupling_set="box", topology="chain", solver="cg", random_state=0
        ),
        CoupledKernelRegressor(
            2, weigh_on="held-out", combiner=OptimalWeights(), random_state=0
        ),
        CoupledKernelClassifier(2, alpha=0.1, random_state=0),
        LSSVMRegressor(alpha=0.1, gamma=0.5),
        LSSVMClassifier(alpha=0.1),
    ],
    ids=["ring", "chain", "held-out", "classifier", "lssvm", "lssvm-classifier"],
)
def test_scikit_learn_contract(estimator):
    assert_passes_all_checks(estimator, _expected_failures(estimator))


# --- what is fitted -----------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "topology", "solver"),
    [
        (1, "ring", "direct"),
        (2, "chain", "cg"),
        (7, "chain", "direct"),
        (7, "ring", "cg"),
    ],
)
def test_members_are_the_dense_solution(q, topology, solver):
    X, y = waves(40)
    model = CoupledKernelRegressor(
        q, gamma=0.5, alpha=0.1, topology=topology, solver=solver, random_state=0
    ).fit(X, y)
    assert model.converged_
    assert (model.n_iter_ > 1) == (solver == "cg")
    sizes = [len(rows) for rows in model.subsets_]
    assert max(sizes) - min(sizes) <= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(model.subsets_)), range(40))
    twin = DenseCoupled(
        Kernel("rbf", gamma=0.5),
        X,
        y[:, None],
        model.subsets_,
        model.coupling_points_,
        alpha=0.1,
        nu=1.0,
        topology=topology,
    )
    for member, rows, coef in zip(model.members_, twin.rows, twin.solve(), strict=True):
        np.testing.assert_array_equal(member.rows, rows)
        np.testing.assert_allclose(member.coef, coef[:, 0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("T", [None, 3])
def test_the_ensemble_is_the_weighted_sum_of_its_members(T):
    X, y = waves(T=T)
    model = CoupledKernelRegressor(6, random_state=0).fit(X, y)
    F = model.member_predictions(X)
    assert F.shape == ((120, 6) if T is None else (120, 6, 3))
    np.testing.assert_array_equal(member_predictions(model, X), F)
    expected = np.tensordot(F, model.weights_, axes=(1, 0))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)
    own = np.stack([member.predict(X) for member in model.members_], axis=1)
    np.testing.assert_allclose(own, F, rtol=1e-8, atol=1e-10)


def test_the_default_second_layer_is_simplex_weights():
    X, y = waves()
    plain = CoupledKernelRegressor(6, random_state=0).fit(X, y)
    named = CoupledKernelRegressor(6, combiner=SimplexWeights(), random_state=0)
    np.testing.assert_array_equal(plain.weights_, named.fit(X, y).weights_)
    assert plain.combiner_ is None
    np.testing.assert_array_equal(
        plain.support_members_, np.flatnonzero(plain.weights_)
    )


@pytest.mark.parametrize(
    ("combiner", "weigh_on"),
    [
        *((combiner, "held-out") for combiner in COMBINERS),
        (SimplexWeights(), "train"),
    ],
    ids=lambda value: str(value),
)
def test_any_combiner_is_the_second_layer(combiner, weigh_on):
    X, y = waves()
    model = CoupledKernelRegressor(
        4, alpha=0.1, combiner=combiner, weigh_on=weigh_on, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    assert not hasattr(combiner, "weights_")
    X, y = make_moons(120, noise=0.1, random_state=0)
    options = {"combiner": combiner, "weigh_on": weigh_on, "random_state": 0}
    for voting in ("hard", "soft"):
        model = CoupledKernelClassifier(
            4, alpha=0.1, gamma=2.0, voting=voting, **options
        ).fit(X, y)
        assert model.score(X, y) > 0.9


def test_scikit_learns_kernels_are_callables():
    X, y = waves(60)
    kernel = partial(polynomial_kernel, degree=3, gamma=0.5, coef0=1.0)
    model = CoupledKernelRegressor(3, kernel=kernel, alpha=0.1, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8


class _OnlyThird(Average):
    def _weigh(self, problem):
        return np.eye(problem.n_members)[3]


@pytest.mark.parametrize(
    ("combiner", "n_points"),
    [(_OnlyThird(), 60), (Average(), 200)],
    ids=["the support of one member", "every row once"],
)
def test_predicting_makes_only_the_kernel_values_that_count(combiner, n_points):
    X, y = waves(200)
    n_values = []

    def kernel(A, B):
        n_values.append(len(A) * len(B))
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    options = {"kernel": kernel, "combiner": combiner, "random_state": 0}
    for model, targets in (
        (CoupledKernelRegressor(10, **options), y),
        (CoupledKernelClassifier(10, voting="hard", **options), y > 0),
        (CoupledKernelClassifier(10, voting="soft", **options), y > 0),
    ):
        model.fit(X, targets)
        n_values.clear()
        model.predict(X[:7])
        assert sum(n_values) == 7 * n_points


def test_targets_share_the_subsets_and_the_factor():
    X, Y = waves(T=2)
    options = {"combiner": Average(), "random_state": 0}
    jointly = CoupledKernelRegressor(5, **options).fit(X, Y).predict(X)
    for t in range(2):
        alone = CoupledKernelRegressor(5, **options).fit(X, Y[:, t]).predict(X)
        np.testing.assert_allclose(jointly[:, t], alone, rtol=1e-8, atol=1e-10)


def test_same_seed_same_answer_and_inputs_are_untouched():
    X, y = waves()
    before = X.copy(), y.copy()
    model = CoupledKernelRegressor(5, random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(X), model.predict(X)
    )
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_rows_of_weight_zero_never_influence():
    X, y = waves()
    s = np.where(np.arange(120) % 3 == 0, 0.0, 1.0 + np.arange(120) / 60)
    other = np.where(s[:, None] > 0, X, 100.0 - X)
    noise = np.where(s > 0, y, -50.0)
    for model in (
        CoupledKernelRegressor(4, random_state=0),
        LSSVMRegressor(),
    ):
        plain = clone(model).fit(X, y, sample_weight=s).predict(X)
        spoiled = clone(model).fit(other, noise, sample_weight=s).predict(X)
        np.testing.assert_array_equal(plain, spoiled)


# --- the coupling points --------------------------------------------------------


def test_given_coupling_points_change_nothing_else():
    X, y = waves()
    drawn = CoupledKernelRegressor(4, random_state=0).fit(X, y)
    given = CoupledKernelRegressor(4, random_state=0)
    given.fit(X, y, X_coupling=drawn.coupling_points_)
    np.testing.assert_array_equal(given.predict(X), drawn.predict(X))


def test_uncoupled_members_need_no_coupling_points():
    X, y = waves()
    options = {"coupling": 0, "random_state": 0}
    a = CoupledKernelRegressor(4, **options).fit(X, y)
    b = CoupledKernelRegressor(4, **options).fit(X, y, X_coupling=X[:3] + 10)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_transductive_through_a_pipeline_and_a_grid_search():
    """The coupling points are scaled as the rows are, and reach every fold."""
    X, y = waves(80)
    X_new = waves(30, seed=1)[0]
    with sklearn.config_context(enable_metadata_routing=True):
        model = CoupledKernelRegressor(4, random_state=0)
        pipeline = make_pipeline(
            StandardScaler(),
            model.set_fit_request(X_coupling=True),
            transform_input=["X_coupling"],
        )
        search = GridSearchCV(
            pipeline, {"coupledkernelregressor__coupling": [0.0, 1.0]}, cv=3
        ).fit(X, y, X_coupling=X_new)
        assert np.ptp(search.cv_results_["mean_test_score"]) > 0
        best = search.best_estimator_
        scaled = best[0].transform(X_new)
        np.testing.assert_allclose(best[-1].coupling_points_, scaled, rtol=1e-12)


def test_transductive_through_a_pipeline_without_routing():
    X, y = waves(80)
    pipeline = make_pipeline(StandardScaler(), CoupledKernelRegressor(4))
    pipeline.fit(X, y, coupledkernelregressor__X_coupling=X[:5])
    np.testing.assert_array_equal(pipeline[-1].coupling_points_, X[:5])


def test_frames_are_checked_by_name():
    X, y = waves(60)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = CoupledKernelRegressor(3, random_state=0).fit(
        frame, y, X_coupling=frame[:9]
    )
    np.testing.assert_array_equal(model.coupling_points_, X[:9])
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(frame, y, X_coupling=frame[["b", "a"]])


# --- bad input: one sentence, before any heavy work -------------------------------


def _no_kernel(X, Z):
    raise AssertionError("a kernel was evaluated")


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"n_members": 50}, {}, "n_members=50 needs at least 100 training rows"),
        ({"n_members": 25}, {}, "two for each subset. Got n_samples=40"),
        ({}, {"X_coupling": np.zeros((3, 5))}, "X_coupling must have the 2 columns"),
        ({}, {"X_coupling": np.full((3, 2), np.nan)}, "X_coupling contains NaN"),
        ({}, {"X_coupling": np.zeros((0, 2))}, "Found array with 0 sample"),
        ({}, {"X": np.full((40, 2), np.nan)}, "Input X contains NaN"),
        ({}, {"y": np.full(40, np.inf)}, "Input y contains infinity"),
        ({}, {"y": np.zeros(39)}, "inconsistent numbers of samples"),
        ({}, {"sample_weight": -np.ones(40)}, "sample_weight must be non-negative"),
        ({"n_coupling": 41}, {}, "n_coupling=41 points cannot be drawn from 40"),
        ({"n_coupling": 0}, {}, "'n_coupling' parameter"),
        ({"alpha": 0.0}, {}, "'alpha' parameter"),
        ({"coupling": np.inf}, {}, "'coupling' parameter"),
        ({"gamma": -1.0}, {}, "'gamma' parameter"),
        ({"topology": "star"}, {}, "'topology' parameter"),
        ({"coupling_set": "test"}, {}, "'coupling_set' parameter"),
        ({"combiner": "mean"}, {}, "combiner must be a combiner"),
    ],
)
def test_bad_input(options, change, message):
    X, y = waves(40)
    rows = {"X": X, "y": y, **change}
    model = CoupledKernelRegressor(**{"kernel": _no_kernel, **options})
    with pytest.raises(ValueError, match=message):
        model.fit(**rows)


def test_an_unknown_kernel_and_rows_without_a_scale():
    X, y = waves(40)
    with pytest.raises(ValueError, match="'kernel' parameter"):
        CoupledKernelRegressor(kernel="cubic").fit(X, y)
    with pytest.raises(ValueError, match="all rows are equal: set gamma"):
        CoupledKernelRegressor().fit(np.ones((40, 2)), y)


def test_repeated_rows_and_constant_columns_do_no_harm():
    """With alpha > 0 the system stays definite, and a constant carries no information."""
    X, y = waves(40)
    twice, y2 = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    assert CoupledKernelRegressor(4, random_state=0).fit(twice, y2).score(X, y) > 0.8
    wide = np.c_[X, np.full(40, 3.0)]
    plain = CoupledKernelRegressor(4, random_state=0).fit(X, y)
    constant = CoupledKernelRegressor(4, random_state=0).fit(wide, y)
    np.testing.assert_allclose(constant.predict(wide), plain.predict(X), rtol=1e-6)


def test_a_coupling_below_its_limit():
    X, y = waves(40)
    with pytest.raises(NotPositiveDefiniteError, match="coupling must be greater than"):
        CoupledKernelRegressor(4, coupling=-1e4, random_state=0).fit(X, y)


def test_a_failed_fit_leaves_nothing_half_learned():
    X, y = waves(40)
    model = CoupledKernelRegressor(4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="coupling must be"):
        model.set_params(coupling=-1e4).fit(X, y)
    assert not hasattr(model, "weights_")


def test_one_class():
    X, _ = waves(40)
    for model in (CoupledKernelClassifier(4), LSSVMClassifier()):
        with pytest.raises(ValueError, match="Got 1 class"):
            model.fit(X, np.zeros(40))
