"""LightGBM and XGBoost: early stopping, categories, odd options, refusals."""

import numpy as np
import pytest

from committee.ensembles.boosters import booster_roster
from committee.ensembles.rebuild import rebuild
from tests.reference.boosters import (
    as_frame,
    combined,
    fit_booster,
    make_rows,
    member_values,
    output,
)


def assert_mean_is_the_booster(model, X, task):
    roster = booster_roster(model)
    F = member_values(roster.members, X, task)
    w = np.full(len(roster), 1.0 / len(roster))
    np.testing.assert_allclose(
        combined(F, w), output(model, X, task), rtol=2e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        np.stack(list(roster.staged_predictions(X)), 1), F, rtol=1e-9
    )
    return roster


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_early_stopping_in_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    X, y = make_rows("binary")
    model = lgb.LGBMClassifier(n_estimators=200, verbose=-1, learning_rate=0.5)
    model.fit(
        X[:80],
        y[:80],
        eval_set=[(X[80:], y[80:])],
        callbacks=[lgb.early_stopping(5, verbose=False)],
    )
    assert len(assert_mean_is_the_booster(model, X, "binary")) == model.best_iteration_
    assert_mean_is_the_booster(model.booster_, X, "binary")


def test_early_stopping_in_xgboost():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("binary")
    model = xgb.XGBClassifier(n_estimators=200, early_stopping_rounds=5)
    model.fit(X[:80], y[:80], eval_set=[(X[80:], y[80:])], verbose=False)
    roster = assert_mean_is_the_booster(model, X, "binary")
    assert len(roster) == model.best_iteration + 1
    # A bare booster predicts with all of its rounds.
    booster = model.get_booster()
    assert len(assert_mean_is_the_booster(booster, X, "binary")) > len(roster)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_categories_may_come_in_another_order(library):
    model, frame = fit_booster(library, "regression", frame=True)
    frame = frame.assign(e=frame["e"].cat.reorder_categories(["w", "s", "n", "e"]))
    roster = assert_mean_is_the_booster(model, frame, "regression")
    rebuilt = rebuild(roster.members, roster.weights)
    np.testing.assert_allclose(rebuilt.predict(frame), model.predict(frame), rtol=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_sparse_rows(library):
    sparse = pytest.importorskip("scipy.sparse")
    model, X = fit_booster(library, "multiclass")
    rows = sparse.csr_array(np.nan_to_num(X)) * 1.0
    if library == "lightgbm":
        rows = sparse.csr_matrix(rows)
    assert_mean_is_the_booster(model, rows, "multiclass")


def test_slope_of_a_lightgbm_sigmoid():
    lgb = pytest.importorskip("lightgbm")
    X, y = make_rows("binary")
    model = lgb.LGBMClassifier(n_estimators=5, sigmoid=2.0, verbose=-1).fit(X, y)
    assert_mean_is_the_booster(model, X, "binary")


def test_a_constant_target_in_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    X, _ = make_rows("regression")
    model = lgb.train({"verbosity": -1}, lgb.Dataset(X, np.full(len(X), 3.0)), 4)
    assert_mean_is_the_booster(model, X, "regression")


def test_a_mark_for_missing_values_in_xgboost():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("regression")
    X = np.nan_to_num(X, nan=-999.0)
    model = xgb.XGBRegressor(n_estimators=5, missing=-999.0).fit(X, y)
    assert_mean_is_the_booster(model, X, "regression")


def test_several_trees_for_each_round_of_xgboost():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("multiclass")
    model = xgb.XGBClassifier(n_estimators=5, num_parallel_tree=3, subsample=0.5)
    assert len(assert_mean_is_the_booster(model.fit(X, y), X, "multiclass")) == 5


def test_a_bare_booster_with_names_takes_frames():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("binary")
    frame = as_frame(X)
    rows = xgb.DMatrix(frame, y, enable_categorical=True)
    model = xgb.train({"objective": "binary:logistic"}, rows, 4)
    assert_mean_is_the_booster(model, frame, "binary")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"objective": "poisson"}, "objective='poisson'"),
        ({"objective": "tweedie"}, "objective='tweedie'"),
        ({"objective": "quantile"}, "quantile"),
        ({"objective": "regression", "reg_sqrt": True}, "objective='regression sqrt'"),
        ({"objective": "cross_entropy"}, "objective='cross_entropy'"),
        ({"linear_tree": True}, "linear_tree=True"),
        ({"boosting": "dart"}, "boosting='dart'"),
        (
            {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
            "boosting='rf'",
        ),
    ],
)
def test_refusals_of_lightgbm(options, named):
    lgb = pytest.importorskip("lightgbm")
    X, _ = make_rows("regression")
    y = make_rows("binary")[1]
    model = lgb.train({**options, "verbosity": -1}, lgb.Dataset(X, y), 2)
    with pytest.raises(ValueError, match=rf"{named}.* cannot be re-weighed"):
        booster_roster(model)


def test_own_objectives_of_lightgbm_are_refused():
    lgb = pytest.importorskip("lightgbm")
    X, y = make_rows("regression")
    model = lgb.LGBMRegressor(objective=lambda y, f: (f - y, np.ones_like(y)))
    model.set_params(n_estimators=2, verbose=-1).fit(X, y)
    with pytest.raises(ValueError, match="objective='a function'"):
        booster_roster(model)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"objective": "count:poisson"}, "objective='count:poisson'"),
        ({"objective": "reg:logistic"}, "objective='reg:logistic'"),
        ({"objective": "binary:logistic"}, "objective='binary:logistic'"),
        ({"objective": "rank:pairwise"}, "objective='rank:pairwise'"),
        ({"booster": "dart"}, "booster='dart'"),
        ({"booster": "gblinear"}, "booster='gblinear'"),
        (
            {"tree_method": "hist", "multi_strategy": "multi_output_tree"},
            "multi_strategy='multi_output_tree'",
        ),
    ],
)
def test_refusals_of_xgboost(options, named):
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("binary")
    target = np.column_stack([y, y]) if "multi_strategy" in options else y
    model = xgb.XGBRegressor(n_estimators=2, **options).fit(X, target)
    with pytest.raises(ValueError, match=rf"{named}.* cannot be re-weighed"):
        booster_roster(model)


def test_a_booster_without_rounds():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("regression")
    with pytest.raises(ValueError, match="has no rounds"):
        booster_roster(xgb.train({}, xgb.DMatrix(X, y), 0))
