"""LightGBM: early stopping, categories, odd options, refusals."""

from functools import partial

import numpy as np
import pytest

from committee.ensembles import roster_of, trees_of
from tests.ensembles.test_trees import assert_same
from tests.export.cases import rows
from tests.reference.boosters import (
    as_frame,
    assert_mean_is_the_booster,
    make_booster,
    make_rows,
)

small = partial(make_booster, "lightgbm")


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_early_stopping():
    lgb = pytest.importorskip("lightgbm")
    X, y = make_rows("binary")
    model = small("binary", n_estimators=200, learning_rate=0.5)
    model.fit(
        X[:80],
        y[:80],
        eval_set=[(X[80:], y[80:])],
        callbacks=[lgb.early_stopping(5, verbose=False)],
    )
    assert len(assert_mean_is_the_booster(model, X, "binary")) == model.best_iteration_
    assert_mean_is_the_booster(model.booster_, X, "binary")


def test_slope_of_the_sigmoid():
    X, y = rows("binary")
    model = small("binary", sigmoid=2.0).fit(X, y == "yes")
    assert_mean_is_the_booster(model, X, "binary")
    assert_same(model, X, 1e-12)


def test_a_constant_target():
    lgb = pytest.importorskip("lightgbm")
    X, _ = make_rows("regression")
    model = lgb.train({"verbosity": -1}, lgb.Dataset(X, np.full(len(X), 3.0)), 4)
    assert_mean_is_the_booster(model, X, "regression")


def test_trees_without_splits():
    X, y = rows("regression")
    assert_same(small(min_child_samples=1000).fit(X, y), X, 1e-12)


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
def test_rounds_that_cannot_be_re_weighed(options, named):
    lgb = pytest.importorskip("lightgbm")
    X, _ = make_rows("regression")
    y = make_rows("binary")[1]
    model = lgb.train({**options, "verbosity": -1}, lgb.Dataset(X, y), 2)
    with pytest.raises(ValueError, match=rf"{named}.* cannot be re-weighed"):
        roster_of(model)


def test_own_objectives_are_refused():
    X, y = make_rows("regression")
    model = small(objective=lambda y, f: (f - y, np.ones_like(y))).fit(X, y)
    with pytest.raises(ValueError, match="objective='a function'"):
        roster_of(model)


def test_what_tables_of_nodes_cannot_hold_is_refused():
    X, y = rows("regression")
    frame = as_frame(np.c_[X[:, :4], y > 0])
    with pytest.raises(ValueError, match="Got a bare Booster"):
        trees_of(small().fit(X, y).booster_)
    with pytest.raises(ValueError, match="'poisson'"):
        trees_of(small(objective="poisson").fit(X, y**2))
    with pytest.raises(ValueError, match="linear_tree=False"):
        trees_of(small(linear_tree=True).fit(X, y))
    with pytest.raises(ValueError, match="zero_as_missing=False"):
        trees_of(small(zero_as_missing=True).fit(X, y))
    with pytest.raises(ValueError, match="no splits on categories"):
        trees_of(small().fit(frame, y))
