"""One native model out of several: the weighted sum of their raw scores."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from committee import Average, LogPool, RidgeWeights, merge, prune, to_native
from committee.ensembles import roster_of
from committee.export.merge import _least_log
from tests.reference.boosters import BOOSTERS, LABELS, TASKS, make_booster, make_rows

WEIGHTS = (0.5, 0.3, 0.4)


def raw(model, X):
    """The raw scores (n, T), by the library itself."""
    round_ = roster_of(model).members[0]
    if hasattr(model, "get_booster"):
        return model.predict(X, output_margin=True).reshape(len(X), -1)
    return np.asarray(round_.predict_raw(model, X), dtype=float).reshape(len(X), -1)


def fitted(library, task, **options):
    """Three boosters, of parts of the rows and with settings of their own."""
    X, y = make_rows(task, missing=library != "gradient")
    models = []
    for i in range(3):
        rows = np.arange(len(X)) % 3 != i
        own = {"learning_rate": 0.1 * (i + 1), **options}
        models.append(make_booster(library, task, **own).fit(X[rows], y[rows]))
    return models, X, y


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", BOOSTERS)
def test_boosters_add_up(library, task):
    models, X, _ = fitted(library, task)
    for weights, w in ((WEIGHTS, WEIGHTS), (None, [1 / 3] * 3)):
        one = merge(models, weights)
        assert type(one) is type(models[0])
        expected = sum(
            w_b * raw(model, X) for w_b, model in zip(w, models, strict=True)
        )
        tol = 1e-6 if library == "xgboost" else 1e-12
        scale = max(1.0, abs(expected).max())
        np.testing.assert_allclose(raw(one, X), expected, rtol=0, atol=tol * scale)
    if task != "regression":
        np.testing.assert_array_equal(one.classes_, models[0].classes_)
        p = one.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(raw(again, X), raw(one, X))


def stopped_early(library, X, y):
    """A booster of fewer rounds than asked for, and their number."""
    options = {"n_estimators": 200, "learning_rate": 0.5}
    rest = np.arange(len(X)) % 4 == 0
    X, y, X_rest, y_rest = X[~rest], y[~rest], X[rest], y[rest]
    if library == "xgboost":
        model = make_booster(library, early_stopping_rounds=3, **options)
        model.fit(X, y, eval_set=[(X_rest, y_rest)], verbose=0)
        return model, model.best_iteration + 1
    if library == "lightgbm":
        stop = pytest.importorskip("lightgbm").early_stopping(3, verbose=False)
        model = make_booster(library, **options)
        model.fit(X, y, callbacks=[stop], eval_X=X_rest, eval_y=y_rest)
        return model, model.best_iteration_
    if library == "catboost":
        model = make_booster(library, iterations=200, learning_rate=0.5)
        model.fit(X, y, eval_set=(X_rest, y_rest), early_stopping_rounds=3)
        return model, model.tree_count_
    if library == "histogram":
        options = {"max_iter": 200, "early_stopping": True, "learning_rate": 0.5}
        model = make_booster(library, n_iter_no_change=3, **options).fit(X, y)
        return model, model.n_iter_
    model = make_booster(library, n_iter_no_change=3, **options).fit(X, y)
    return model, model.n_estimators_


@pytest.mark.parametrize("library", BOOSTERS)
def test_models_that_stopped_early_give_their_best_rounds(library):
    X, y = make_rows("regression", missing=library != "gradient")
    y = y + np.random.default_rng(0).normal(size=len(y))
    found = [stopped_early(library, X[i::2], y[i::2]) for i in range(2)]
    models, n_rounds = zip(*found, strict=True)
    assert sum(n_rounds) < 200
    tol = {"rtol": 1e-6 if library == "xgboost" else 1e-12, "atol": 1e-5}
    one = merge(models)
    assert len(roster_of(one)) == sum(n_rounds)
    np.testing.assert_allclose(
        one.predict(X), sum(model.predict(X) for model in models) / 2, **tol
    )
    small = prune(models, X, y, combiner=RidgeWeights(), oob=False)
    np.testing.assert_allclose(to_native(small).predict(X), small.predict(X), **tol)


def test_bare_boosters_and_their_files(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    models, X, _ = fitted("lightgbm", "binary")
    one = merge([model.booster_ for model in models])
    one.save_model(tmp_path / "one.txt")
    again = lightgbm.Booster(model_file=str(tmp_path / "one.txt"))
    expected = merge(models).predict_proba(X)[:, 1]
    np.testing.assert_allclose(again.predict(X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "kind", [RandomForestRegressor, RandomForestClassifier, ExtraTreesClassifier]
)
def test_forests_add_up(kind):
    X, y = make_rows("multiclass", missing=False)
    sizes = (5, 9, 7)
    models = [
        kind(n, random_state=n).fit(X[i::3], y[i::3]) for i, n in enumerate(sizes)
    ]
    one = merge(models, WEIGHTS)
    assert len(one.estimators_) == sum(sizes)
    assert type(one) is kind
    if kind is RandomForestRegressor:
        expected = sum(w * m.predict(X) for w, m in zip(WEIGHTS, models, strict=True))
        np.testing.assert_allclose(one.predict(X), expected, rtol=1e-12)
        return
    p = sum(w * m.predict_proba(X) for w, m in zip(WEIGHTS, models, strict=True))
    np.testing.assert_allclose(one.predict_proba(X), p / sum(WEIGHTS), atol=1e-12)


@pytest.mark.parametrize("same", [True, False])
def test_categories_must_be_the_same(same):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kinds = np.array(["a", "b", "c"])
    models, frames = [], []
    for i in range(2):
        values = kinds if same or i == 0 else np.array(["a", "d", "c"])
        town = pandas.Categorical(values[rng.integers(3, size=150)], categories=values)
        frames.append(pandas.DataFrame({"x": rng.normal(size=150), "town": town}))
        y = frames[i]["x"] + (town == "a")
        for library in ("histogram", "lightgbm", "xgboost"):
            how = {"histogram": {"categorical_features": "from_dtype"}}.get(library, {})
            models.append(make_booster(library, **how).fit(frames[i], y))
    for a, b in zip(models[:3], models[3:], strict=True):
        if not same:
            with pytest.raises(ValueError, match="same columns, categories"):
                merge([a, b])
            continue
        X = frames[0]
        expected = (a.predict(X) + b.predict(X)) / 2
        np.testing.assert_allclose(merge([a, b]).predict(X), expected, atol=1e-6)
        small = prune([a, b], X, a.predict(X), combiner=RidgeWeights(), oob=False)
        found = to_native(small).predict(X)
        np.testing.assert_allclose(found, small.predict(X), atol=1e-6)


@pytest.mark.parametrize("library", BOOSTERS)
def test_a_committee_of_boosters_is_one_booster(library):
    models, X, y = fitted(library, "regression")
    tol = {"rtol": 0, "atol": 1e-6 if library == "xgboost" else 1e-12}
    small = prune(models, X, y, combiner=RidgeWeights(), oob=False)
    assert small.intercept_ != 0
    rounds = prune(models[0], X, y, oob=False)
    for committee in (small, rounds):
        one, f = to_native(committee), committee.predict(X)
        assert type(one) is type(models[0])
        unit = abs(f).max()
        np.testing.assert_allclose(one.predict(X) / unit, f / unit, **tol)


def pooled(models, X, y, calibration=None, **options):
    pool = LogPool(**{"floor": 1e-9, **options})
    return prune(models, X, y, combiner=pool, oob=False, calibration=calibration)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("library", BOOSTERS)
def test_a_log_pool_of_boosters_is_one_booster(library, task):
    models, X, y = fitted(library, task)
    if library != "xgboost":  # which takes codes only
        models = [
            clone(model).fit(X[i::3], LABELS[y[i::3]]) for i, model in enumerate(models)
        ]
        y = LABELS[y]
    committee = pooled(models, X, y, signed=True)  # which keeps all members
    assert committee.n_members_ == 3
    assert np.ptp(committee.offsets_) > 0.01
    one = to_native(committee)
    assert type(one) is type(models[0])
    np.testing.assert_array_equal(one.classes_, committee.classes_)
    p = committee.predict_proba(X)
    np.testing.assert_allclose(one.predict_proba(X), p, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(one.predict(X).ravel(), committee.predict(X))
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_a_log_pool_in_the_files_of_its_library(library, tmp_path):
    """Names of columns and offsets are in the file that the library writes and reads."""
    pandas = pytest.importorskip("pandas")
    models, X, y = fitted(library, "binary", learning_rate=0.2)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    models = [clone(model).fit(frame[i::2], y[i::2]) for i, model in enumerate(models)]
    committee = pooled(models, frame, y)
    one, path = to_native(committee), str(tmp_path / "one")
    if library == "lightgbm":
        one.booster_.save_model(path)
        again = pytest.importorskip(library).Booster(model_file=path)
        names, p = again.feature_name(), again.predict(frame)
    else:
        path += {"xgboost": ".ubj", "catboost": ".cbm"}[library]
        one.save_model(path)
        again = type(one)()
        again.load_model(path)
        names = getattr(again, "feature_names_", None)
        names = again.get_booster().feature_names if names is None else names
        p = again.predict_proba(frame)[:, 1]
    assert list(names) == list(frame.columns)
    np.testing.assert_allclose(p, committee.predict_proba(frame)[:, 1], atol=1e-6)


def contributions(library, model, X):
    """SHAP values (n, T, columns + 1) by the library itself; the last one is the bias."""
    if library == "lightgbm":
        found = model.predict(X, pred_contrib=True)
    elif library == "xgboost":
        rows = pytest.importorskip("xgboost").DMatrix(X)
        found = model.get_booster().predict(rows, pred_contribs=True)
    else:
        rows = pytest.importorskip("catboost").Pool(X)
        found = model.get_feature_importance(rows, type="ShapValues")
    return np.asarray(found, dtype=float).reshape(len(X), -1, X.shape[1] + 1)


def assert_explained(library, one, models, w, bias, X):
    """By the weighted sum of the members' contributions, which sum to the raw scores."""
    parts = [contributions(library, model, X) for model in models]
    expected = sum(w_b * part for w_b, part in zip(w, parts, strict=True))
    expected[..., -1] += bias
    found = contributions(library, one, X)
    scale = max(1.0, abs(expected).max())
    tol = {"rtol": 0, "atol": scale * (2e-6 if library == "xgboost" else 1e-12)}
    np.testing.assert_allclose(found, expected, **tol)
    np.testing.assert_allclose(found.sum(axis=2), raw(one, X), **tol)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_merged_boosters_are_explained_by_their_library(library, task):
    models, X, y = fitted(library, task)
    assert_explained(library, merge(models, WEIGHTS), models, WEIGHTS, 0.0, X)
    if task == "regression":
        small = prune(models, X, y, combiner=RidgeWeights(), oob=False)
        parts = small.members_, small.weights_, small.intercept_
        assert_explained(library, to_native(small), *parts, X)


@pytest.mark.parametrize("task", TASKS)
def test_starts_that_were_set(task):
    """Base scores of XGBoost are on the scale of y, and differ between the models."""
    X, y = make_rows(task)
    scores = (90.0, -3.0) if task == "regression" else (0.2, 0.7)
    models = [
        make_booster("xgboost", task, base_score=score).fit(X[i::2], y[i::2])
        for i, score in enumerate(scores)
    ]
    expected = (raw(models[0], X) + raw(models[1], X)) / 2
    tol = {"rtol": 0, "atol": 1e-6 * abs(expected).max()}
    np.testing.assert_allclose(raw(merge(models), X), expected, **tol)
    if task == "regression":
        small = prune(models, X, y, combiner=RidgeWeights(), oob=False)
        f = small.predict(X)
        np.testing.assert_allclose(to_native(small).predict(X), f, **tol)
        return
    committee = pooled(models, X, y, signed=True)
    p = committee.predict_proba(X)
    np.testing.assert_allclose(
        to_native(committee).predict_proba(X), p, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_where_the_floor_of_a_pool_bites(task):
    models, X, y = fitted("histogram", task)
    least = np.min([model.predict_proba(X).min(axis=1) for model in models], axis=0)
    floor = float(np.median(least))
    committee = pooled(models, X, y, floor=floor, signed=True)
    with pytest.warns(UserWarning, match="log-odds may differ by [0-9]") as caught:
        one = to_native(committee)
    bound = float(str(caught[0].message).split("differ by ")[1].split(". A")[0])
    above = least > floor
    p, q = committee.predict_proba(X), one.predict_proba(X)
    np.testing.assert_allclose(q[above], p[above], atol=1e-9)
    gaps = np.log(p[:, :1] / p) - np.log(q[:, :1] / q)
    assert 1e-3 < abs(gaps).max() <= 1.05 * bound  # which is shown with two digits


def test_a_calibrated_pool_has_a_floor_of_its_own():
    models, X, y = fitted("histogram", "binary")
    committee = pooled(models, X, y, calibration="slope")
    eps, t = committee.calibration_.floor, committee.slope_
    assert t != 1
    with pytest.warns(UserWarning, match="log-odds may differ") as caught:
        one = to_native(committee)
    bound = float(str(caught[0].message).split("differ by ")[1].split(". A")[0])
    p, q = committee.predict_proba(X), one.predict_proba(X)
    above = p.min(axis=1) > 1.01 * eps**t / (eps**t + (1 - eps) ** t)
    assert 0 < above.sum() < len(X)
    np.testing.assert_allclose(q[above], p[above], atol=1e-9)
    gaps = np.log(p[:, 0] / p[:, 1]) - np.log(q[:, 0] / q[:, 1])
    assert 1e-3 < abs(gaps).max() <= 1.05 * bound


def test_the_least_probability_of_a_booster_is_a_bound():
    """One split in each of two rounds: the least leaf of both is reached."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(X, y)
    found = np.exp(_least_log(model))
    assert found == pytest.approx(model.predict_proba(X).min(), rel=1e-12)


def test_what_is_no_booster_of_one_pool():
    X, y = make_rows("multiclass", missing=False)
    hist, _, _ = fitted("histogram", "multiclass")
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="cannot represent an intercept"):
        to_native(pooled([forest, forest], X, y, offsets=False))
    with pytest.raises(ValueError, match="prune with combiner=LogPool"):
        to_native(prune(hist, X, y, combiner=Average(), oob=False))
    committee = pooled(hist, X, y, calibration="vector")
    with pytest.raises(ValueError, match='calibration="slope"'):
        to_native(committee)
    with pytest.raises(ValueError, match="write it by to_onnx"):
        to_native(pooled([hist[0], LogisticRegression().fit(X, y)], X, y, signed=True))


def test_what_cannot_be_one_model_is_refused():
    X, y = make_rows("regression", missing=False)
    high = y > np.median(y)
    hist = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    plain = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    forest = RandomForestRegressor(3).fit(X, y)
    for mixed in ([hist, plain], [plain, forest], [Ridge().fit(X, y)]):
        with pytest.raises(ValueError, match="write it by to_onnx"):
            merge(mixed)
    narrow = HistGradientBoostingRegressor(max_iter=3).fit(X[:, :3], y)
    of_classes = HistGradientBoostingClassifier(max_iter=3).fit(X, high)
    for other in (narrow, of_classes):
        with pytest.raises(ValueError, match=r"the same columns, .* Model 2 differs"):
            merge([hist, hist, other])
    steep = GradientBoostingClassifier(loss="exponential", n_estimators=3)
    flat = GradientBoostingClassifier(n_estimators=3).fit(X, high)
    with pytest.raises(ValueError, match="classes and link"):
        merge([steep.fit(X, high), flat])
    on_top = GradientBoostingRegressor(n_estimators=3, init=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="no common start"):
        merge([on_top, on_top])
    for weights in ([1.0], [0.0, 0.0], [1.0, np.nan], [1e300, 1.0], "ab", {}):
        with pytest.raises(ValueError, match=r"2 numbers between -1e\+30"):
            merge([hist, hist], weights)
    for no_list in ([], hist):
        with pytest.raises(ValueError, match="non-empty list of fitted models"):
            merge(no_list)
    with pytest.raises(TypeError, match="merge takes a list"):
        to_native(forest)
