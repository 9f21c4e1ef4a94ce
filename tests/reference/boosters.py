"""Fitted boosters of every library, task and kind of X, and their predictions."""

from functools import cache

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from committee.ensembles import roster_of

LIBRARIES = (
    "gradient",
    "histogram",
    "lightgbm",
    "xgboost",
    "catboost",
    "lgb.Booster",
    "xgb.Booster",
)
TASKS = ("regression", "binary", "multiclass")
LABELS = np.array(["low", "mid", "top"])
M = 12


def make_rows(task, *, missing=True, N=160, seed=0):
    """Return X of 5 columns, the last with codes 0..3, and y: floats or codes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 4] = rng.integers(4, size=N)
    y = 100.0 + 10.0 * X[:, 0] * X[:, 1] + 5.0 * np.sin(X[:, 4]) + rng.normal(size=N)
    if task != "regression":
        n_classes = 2 if task == "binary" else 3
        y = np.searchsorted(np.quantile(y, [0.3, 0.7][: n_classes - 1]), y)
    if missing:
        X[:, :4][rng.random((N, 4)) < 0.1] = np.nan
    return X, y


def as_frame(X):
    """Return X as a frame whose last column is of categories."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "c", "d"])
    frame["e"] = pd.Categorical(np.array(["n", "e", "s", "w"])[X[:, 4].astype(int)])
    return frame


@cache
def fit_booster(library, task, *, frame=False):
    """Return a fitted booster with M rounds, and the X that it takes: to be read."""
    X, y = make_rows(task, missing=library != "gradient")
    if frame and library in ("gradient", "catboost"):  # numbers only
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(X, columns=list("abcde"))
    elif frame:
        X = as_frame(X)
    return _FITTERS[library](task, X, y), X


def output(model, X, task):
    """Return the booster's own predictions or probabilities, as float64."""
    kind = type(model)
    if kind.__name__ == "Booster":
        if kind.__module__.startswith("xgboost"):
            xgb = pytest.importorskip("xgboost")
            X = xgb.DMatrix(X, enable_categorical=True)
        p = np.asarray(model.predict(X), dtype=np.float64)
        return np.column_stack([1.0 - p, p]) if task == "binary" else p
    method = model.predict if task == "regression" else model.predict_proba
    return np.asarray(method(X), dtype=np.float64)


def member_values(members, X, task):
    """Return F, one member at a time."""
    regression = task == "regression"
    return np.stack([m.predict(X) if regression else m.scores(X) for m in members], 1)


def combined(F, w):
    """Return sum_m w_m f_m, for class scores softmax(K sum_m w_m F_m)."""
    f = np.tensordot(F, w, axes=(1, 0))
    return f if f.ndim == 1 else softmax(f.shape[1] * f, axis=1)


def assert_mean_is_the_booster(model, X, task):
    """Return the roster, whose members predict with equal weights as the booster."""
    roster = roster_of(model)
    F = member_values(roster.members, X, task)
    np.testing.assert_allclose(
        combined(F, roster.weights), output(model, X, task), rtol=2e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        np.stack(list(roster.staged_predictions(X)), 1), F, rtol=1e-9
    )
    return roster


def tolerance(library):
    """XGBoost sums in single precision."""
    if library.startswith("xg"):
        return {"rtol": 2e-6, "atol": 1e-6}
    return {"rtol": 1e-12, "atol": 1e-13}


def _gradient(task, X, y):
    if task == "regression":
        return GradientBoostingRegressor(n_estimators=M, random_state=0).fit(X, y)
    model = GradientBoostingClassifier(n_estimators=M, random_state=0)
    return model.fit(X, LABELS[y])


def _histogram(task, X, y):
    if task == "regression":
        return HistGradientBoostingRegressor(max_iter=M).fit(X, y)
    return HistGradientBoostingClassifier(max_iter=M).fit(X, LABELS[y])


def _lightgbm(task, X, y):
    lgb = pytest.importorskip("lightgbm")
    options = {"n_estimators": M, "verbose": -1, "min_child_samples": 5, "n_jobs": 1}
    if task == "regression":
        return lgb.LGBMRegressor(**options).fit(X, y)
    return lgb.LGBMClassifier(**options).fit(X, LABELS[y])


def _xgboost(task, X, y):
    xgb = pytest.importorskip("xgboost")
    kind = xgb.XGBRegressor if task == "regression" else xgb.XGBClassifier
    model = kind(n_estimators=M, max_depth=4, n_jobs=1, enable_categorical=True)
    return model.fit(X, y)


def _catboost(task, X, y):
    cat = pytest.importorskip("catboost")
    options = {"iterations": M, "depth": 3, "verbose": 0, "thread_count": 1}
    options["allow_writing_files"] = False
    if task == "regression":
        return cat.CatBoostRegressor(**options).fit(X, y)
    return cat.CatBoostClassifier(**options).fit(X, LABELS[y])


def _lightgbm_booster(task, X, y):
    return _lightgbm(task, X, y).booster_


def _xgboost_booster(task, X, y):
    return _xgboost(task, X, y).get_booster()


_FITTERS = {
    "gradient": _gradient,
    "histogram": _histogram,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
    "lgb.Booster": _lightgbm_booster,
    "xgb.Booster": _xgboost_booster,
}
