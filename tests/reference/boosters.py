"""Fitted boosters of every library, task and kind of X, and their predictions."""

from functools import cache

import numpy as np
import pytest
from scipy.special import softmax

from committee.ensembles import roster_of

M = 12
#: Module, class and settings of small boosters with M rounds.
_KINDS = {
    "gradient": (
        "sklearn.ensemble",
        "GradientBoosting",
        {"n_estimators": M, "random_state": 0},
    ),
    "histogram": (
        "sklearn.ensemble",
        "HistGradientBoosting",
        {"max_iter": M, "min_samples_leaf": 5, "random_state": 0},
    ),
    "lightgbm": (
        "lightgbm",
        "LGBM",
        {"n_estimators": M, "min_child_samples": 5, "verbose": -1, "n_jobs": 1},
    ),
    "xgboost": (
        "xgboost",
        "XGB",
        {"n_estimators": M, "max_depth": 4, "enable_categorical": True, "n_jobs": 1},
    ),
    "catboost": (
        "catboost",
        "CatBoost",
        {
            "iterations": M,
            "depth": 3,
            "verbose": 0,
            "thread_count": 1,
            "allow_writing_files": False,
        },
    ),
}
BOOSTERS = tuple(_KINDS)
LIBRARIES = (*BOOSTERS, "lgb.Booster", "xgb.Booster")
TASKS = ("regression", "binary", "multiclass")
LABELS = np.array(["low", "mid", "top"])


def make_booster(library, task="regression", **options):
    """Return an estimator of a library that is not yet fitted."""
    module, name, own = _KINDS[library]
    end = "Regressor" if task == "regression" else "Classifier"
    return getattr(pytest.importorskip(module), name + end)(**{**own, **options})


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
    name = {"lgb.Booster": "lightgbm", "xgb.Booster": "xgboost"}.get(library, library)
    if task != "regression" and name != "xgboost":  # which takes codes only
        y = LABELS[y]
    model = make_booster(name, task).fit(X, y)
    if library == "lgb.Booster":
        return model.booster_, X
    return (model.get_booster() if library == "xgb.Booster" else model), X


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
