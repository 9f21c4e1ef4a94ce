"""XGBoost: early stopping, categories, odd options, refusals."""

from functools import partial

import numpy as np
import pytest

from committee.ensembles import rebuild, roster_of, trees_of
from tests.ensembles.test_trees import assert_same
from tests.export.cases import rows
from tests.reference.boosters import (
    M,
    as_frame,
    assert_mean_is_the_booster,
    combined,
    make_booster,
    make_rows,
    member_values,
    output,
)

small = partial(make_booster, "xgboost")


def test_early_stopping():
    X, y = make_rows("regression")
    model = small(n_estimators=200, early_stopping_rounds=5)
    model.fit(X[:80], y[:80], eval_set=[(X[80:], y[80:])], verbose=False)
    roster = assert_mean_is_the_booster(model, X, "regression")
    assert len(roster) == model.best_iteration + 1
    whole = rebuild(roster.members, roster.weights)
    np.testing.assert_allclose(whole.predict(X), model.predict(X), rtol=1e-5)
    assert_same(model, X, 1e-3)
    # A bare booster predicts with all of its rounds.
    booster = model.get_booster()
    assert len(assert_mean_is_the_booster(booster, X, "regression")) > len(roster)


def test_base_score():
    X, y = rows("regression")
    assert_same(small(base_score=5.0).fit(X, y + 4), X, 1e-5)


def test_a_mark_for_missing_values():
    X, y = make_rows("regression")
    X = np.nan_to_num(X, nan=-999.0)
    model = small(missing=-999.0).fit(X, y)
    assert_mean_is_the_booster(model, X, "regression")


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_several_trees_for_each_round(task):
    X, y = make_rows(task)
    model = small(task, num_parallel_tree=3, subsample=0.5).fit(X, y)
    roster = assert_mean_is_the_booster(model, X, task)
    assert len(roster) == M
    w = np.linspace(0, 0.5, M)
    np.testing.assert_allclose(
        output(rebuild(roster.members, w), X, task),
        combined(member_values(roster.members, X, task), w),
        rtol=1e-5,
    )


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
def test_rounds_that_cannot_be_re_weighed(options, named):
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("binary")
    target = np.column_stack([y, y]) if "multi_strategy" in options else y
    model = xgb.XGBRegressor(n_estimators=2, **options).fit(X, target)
    with pytest.raises(ValueError, match=rf"{named}.* cannot be re-weighed"):
        roster_of(model)


def test_a_booster_without_rounds():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("regression")
    with pytest.raises(ValueError, match="has no rounds"):
        roster_of(xgb.train({}, xgb.DMatrix(X, y), 0))


def test_what_tables_of_nodes_cannot_hold_is_refused():
    X, y = rows("regression")
    frame = as_frame(np.c_[X[:, :4], y > 0])
    with pytest.raises(ValueError, match="Got a bare Booster"):
        trees_of(small().fit(X, y).get_booster())
    with pytest.raises(ValueError, match="'count:poisson'"):
        trees_of(small(objective="count:poisson").fit(X, y**2))
    with pytest.raises(ValueError, match="missing values as NaN"):
        trees_of(small(missing=0.0).fit(X, y))
    with pytest.raises(ValueError, match="no splits on categories"):
        trees_of(small(enable_categorical=True).fit(frame, y))
