"""Methods of rows on Dask collections, of every kind of model."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    LSSVMClassifier,
    LSSVMRegressor,
    member_predictions,
)
from committee.distributed.collections import columns_of
from tests.coupled.test_chunked_rows import holes, labels, spread, waves

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

CASES = {
    "two targets": (lambda: CoupledKernelRegressor(5, random_state=0), waves(2)),
    "two classes": (lambda: CoupledKernelClassifier(5, random_state=0), labels(2)),
    "three classes": (
        lambda: CoupledKernelClassifier(5, random_state=0, voting="soft"),
        labels(3),
    ),
    "machine": (LSSVMRegressor, waves()),
    "machine of three classes": (LSSVMClassifier, labels(3)),
    "committee": (
        lambda: CommitteeRegressor(Ridge(), generator=Bagging(3), random_state=0),
        waves(),
    ),
    "committee of three classes": (
        lambda: CommitteeClassifier(
            LogisticRegression(), generator=Bagging(3), random_state=0, n_jobs=2
        ),
        labels(3),
    ),
}
METHODS = ("predict", "predict_proba", "decision_function", "member_predictions")
everything = pytest.mark.parametrize(
    ("name", "method"),
    [(n, m) for n, (make, _) in CASES.items() for m in METHODS if hasattr(make(), m)],
)


def assert_same(found, expected):
    assert isinstance(found, da.Array)
    assert found.dtype == expected.dtype
    found = found.compute()  # a warning here would be an error
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    else:
        np.testing.assert_array_equal(found, expected)


@everything
def test_predictions_are_lazy_and_those_of_memory(name, method):
    make, (X, y) = CASES[name]
    model = make().fit(X, y)
    found = getattr(model, method)(spread(X, (1, 0, 89, 40)))
    assert_same(found, getattr(model, method)(X))


@everything
def test_errors(name, method):
    make, (X, y) = CASES[name]
    model = make()
    with pytest.raises(NotFittedError):
        getattr(model, method)(spread(X, 40))
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"^Chunk 2: Input X contains NaN"):
        getattr(model, method)(spread(holes(X), 40)).compute()


def test_member_predictions_takes_coupled_models():
    X, y = waves()
    model = CoupledKernelRegressor(5, random_state=0).fit(X, y)
    assert_same(member_predictions(model, spread(X, 40)), member_predictions(model, X))


@everything
def test_columns_are_checked_at_the_call(name, method):
    make, (X, y) = CASES[name]
    model = make().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    evaluate = getattr(model, method)
    other = dd.from_pandas(pd.DataFrame(X, columns=["b", "a"]), npartitions=3)
    with pytest.raises(ValueError, match=r"^The feature names should match"):
        evaluate(other)
    with (
        pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2"),
        pytest.warns(UserWarning, match="X does not have valid feature names"),
    ):
        evaluate(spread(X[:, :1], 40))
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 1D array"):
        evaluate(spread(X[:, 0], 40))
    unknown = da.from_delayed(dask.delayed(X), (len(X), np.nan), dtype=float)
    with pytest.raises(ValueError, match=r"^The number of columns of X is unknown"):
        evaluate(unknown)


@pytest.mark.parametrize("name", [n for n in CASES if "committee" not in n])
def test_names_on_one_side_are_worth_one_warning(name):
    make, (X, y) = CASES[name]
    frame = pd.DataFrame(X, columns=["a", "b"])
    with_names, without = make().fit(frame, y), make().fit(X, y)
    for model, lazy, expected in [
        (with_names, spread(X, 40), with_names.predict(frame)),
        (without, dd.from_pandas(frame, npartitions=4), without.predict(X)),
    ]:
        with pytest.warns(UserWarning, match="feature names") as warned:
            found = model.predict(lazy)
        assert len(warned) == 1
        assert_same(found, expected)
    assert hasattr(with_names, "feature_names_in_")


@pytest.mark.parametrize("name", CASES)
def test_score(name):
    make, (X, y) = CASES[name]
    s = np.random.default_rng(0).uniform(size=len(X))
    model = make().fit(X, y)
    predicted = model.predict(X)
    metric = accuracy_score if hasattr(model, "classes_") else r2_score
    assert model.score(X, y) == pytest.approx(metric(y, predicted))
    expected = pytest.approx(metric(y, predicted, sample_weight=s))
    assert model.score(spread(X, 40), spread(y, 40), spread(s, 40)) == expected
    assert model.score(spread(X, 40), y, sample_weight=s) == expected
    assert model.score(X, spread(y, 40), sample_weight=s) == expected


def test_columns_have_the_names_of_a_frame():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    lazy = dd.from_pandas(frame, npartitions=1)
    assert columns_of(lazy).columns.tolist() == ["a", "b"]
    assert columns_of(da.ones((4, 3))).shape == (0, 3)
