"""Predictions over Dask collections."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import (
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    LSSVMClassifier,
    LSSVMRegressor,
    member_predictions,
)
from tests.coupled.test_chunked import holes, labels, spread, waves

da = pytest.importorskip("dask.array")

CASES = {
    "one target": (lambda: CoupledKernelRegressor(5, random_state=0), waves()),
    "two targets": (lambda: CoupledKernelRegressor(5, random_state=0), waves(2)),
    "two classes": (lambda: CoupledKernelClassifier(5, random_state=0), labels(2)),
    "three classes": (
        lambda: CoupledKernelClassifier(5, random_state=0, voting="soft"),
        labels(3),
    ),
    "machine": (LSSVMRegressor, waves(2)),
    "machine of two classes": (LSSVMClassifier, labels(2)),
    "machine of three classes": (LSSVMClassifier, labels(3)),
}
METHODS = ("predict", "predict_proba", "decision_function", "member_predictions")
everything = pytest.mark.parametrize(
    ("name", "method"),
    [(n, m) for n, (make, _) in CASES.items() for m in METHODS if hasattr(make(), m)],
)


@pytest.mark.parametrize("rows", [130, 40, (1, 0, 129)])
@everything
def test_is_lazy_and_says_what_memory_says(name, method, rows):
    make, (X, y) = CASES[name]
    model = make().fit(X, y)
    expected = getattr(model, method)(X)
    found = getattr(model, method)(spread(X, rows))
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-8, atol=1e-10)
    else:
        np.testing.assert_array_equal(found.compute(), expected)


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
    found = member_predictions(model, spread(X, 40))
    expected = member_predictions(model, X)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-8, atol=1e-10)
