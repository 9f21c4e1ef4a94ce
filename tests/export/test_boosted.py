"""What is read from LightGBM's and XGBoost's own files; see also test_trees."""

import numpy as np
import pytest

from committee.export.boosted import from_lightgbm, from_xgboost
from tests.export.cases import fitted, rows
from tests.export.test_trees import assert_same


def _lightgbm(kind, **options):
    library = pytest.importorskip("lightgbm")
    options = {"n_estimators": 6, "min_child_samples": 5, "verbose": -1} | options
    return getattr(library, kind)(n_jobs=1, **options)


def _xgboost(kind, **options):
    library = pytest.importorskip("xgboost")
    return getattr(library, kind)(**{"n_estimators": 6, "n_jobs": 1} | options)


def test_lightgbm_trees_without_splits():
    X, y = rows("regression")
    model = _lightgbm("LGBMRegressor", min_child_samples=1000).fit(X, y)
    assert_same(model, X, 1e-12)


def test_lightgbm_slope_of_the_sigmoid():
    X, y = rows("binary")
    assert_same(_lightgbm("LGBMClassifier", sigmoid=2.0).fit(X, y), X, 1e-12)


def test_xgboost_stops_at_its_best_round():
    X, y = rows("regression")
    model = _xgboost("XGBRegressor", n_estimators=60, early_stopping_rounds=2)
    model.fit(X[:60], y[:60], eval_set=[(X[60:], y[60:])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    assert_same(model, X, 1e-5)


def test_xgboost_base_score():
    X, y = rows("regression")
    assert_same(_xgboost("XGBRegressor", base_score=5.0).fit(X, y + 4), X, 1e-5)


def test_bare_boosters_are_refused():
    with pytest.raises(ValueError, match="Got a bare Booster"):
        from_lightgbm(fitted("lightgbm", "binary")[0].booster_)
    with pytest.raises(ValueError, match="Got a bare Booster"):
        from_xgboost(fitted("xgboost", "binary")[0].get_booster())


def test_other_links_are_refused():
    X, y = rows("regression")
    count = np.round(y**2)
    with pytest.raises(ValueError, match="'poisson'"):
        from_lightgbm(_lightgbm("LGBMRegressor", objective="poisson").fit(X, count))
    with pytest.raises(ValueError, match="'count:poisson'"):
        from_xgboost(_xgboost("XGBRegressor", objective="count:poisson").fit(X, count))
    with pytest.raises(ValueError, match="NaN for missing values"):
        from_xgboost(_xgboost("XGBRegressor", missing=0.0).fit(X, y))


def test_splits_that_onnx_does_not_have_are_refused():
    X, y = rows("regression")
    with pytest.raises(ValueError, match="linear_tree=False"):
        from_lightgbm(_lightgbm("LGBMRegressor", linear_tree=True).fit(X, y))
    with pytest.raises(ValueError, match="zero_as_missing=False"):
        from_lightgbm(_lightgbm("LGBMRegressor", zero_as_missing=True).fit(X, y))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": pandas.Categorical(np.where(y > 0, "a", "b"))})
    with pytest.raises(ValueError, match=r"categories|categorical"):
        from_lightgbm(_lightgbm("LGBMRegressor").fit(frame, y))
    model = _xgboost("XGBRegressor", enable_categorical=True)
    with pytest.raises(ValueError, match=r"categories|categorical"):
        from_xgboost(model.fit(frame, y))
