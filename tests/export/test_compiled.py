"""compiled: the predictions of the committee, by onnxruntime and by a C compiler."""

import pickle
import shutil

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from committee import Bagging, CommitteeClassifier, CommitteeRegressor, compiled
from tests.export.cases import TASKS, pruned

RUNTIMES = [
    pytest.param("onnx"),
    pytest.param(
        "c",
        marks=pytest.mark.skipif(
            not (shutil.which("cc") or shutil.which("gcc")),
            reason="A C compiler is needed, and is not here.",
        ),
    ),
]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "histogram"])
def test_rows_and_batches(name, task, runtime):
    if runtime == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("skl2onnx")
    committee, X = pruned(name, task, frame=True)
    fast, Z = compiled(committee, runtime), X.to_numpy()
    others = (pl.from_pandas(X), Z[:1], Z[:1].tolist(), np.asfortranarray(Z))
    for rows in (X, Z, *others):
        expected = committee.predict(X)[: len(rows)]
        if task == "regression":
            np.testing.assert_allclose(
                fast.predict(rows), expected, rtol=1e-4, atol=1e-5
            )
            continue
        assert fast.predict(rows).tolist() == expected.tolist()
        p = committee.predict_proba(X)[: len(rows)]
        np.testing.assert_allclose(fast.predict_proba(rows), p, rtol=0, atol=2e-6)
    with pytest.raises(ValueError, match=r"shape \(N, 6\)"):
        fast.predict(Z[:, :5])
    with pytest.raises(ValueError, match="feature names"):
        fast.predict(X[list("zyxwvu")])
    for strange in (csr_array(Z), Z.astype(object) + 1j, [["a"] * 6], {"u": [1.0]}):
        with pytest.raises(ValueError, match="a dense table of numbers"):
            fast.predict(strange)
    far = np.array([[1e300] * 6, [-1e300] * 6])  # beyond single precision, no warning
    assert fast.predict(far).tolist() == fast.predict(np.sign(far) * 1e30).tolist()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(fast)
    if task == "regression":
        with pytest.raises(AttributeError, match="no probabilities"):
            fast.predict_proba(X)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    "labels", [["a", "bb", "c"], [7, -1, 3], np.array(["x", "yy", "z"], dtype=object)]
)
def test_missing_values_and_labels(labels, runtime):
    """Every batch size takes the branches of the committee, with its labels."""
    if runtime == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    codes = np.isnan(X[:, 0]).astype(int) + (np.nan_to_num(X[:, 1]) > 0)
    y = np.array(labels)[codes]
    trees = Bagging(6)
    committee = CommitteeClassifier(generator=trees, random_state=0).fit(X, y)
    fast, p = compiled(committee, runtime), committee.predict_proba(X)
    for n in (1, 7, 8, 9, 200):
        found = fast.predict(X[:n])
        assert found.dtype == committee.classes_.dtype
        assert found.tolist() == committee.predict(X[:n]).tolist()
        np.testing.assert_allclose(fast.predict_proba(X[:n]), p[:n], rtol=0, atol=1e-6)


def test_what_is_missing_is_named(monkeypatch):
    committee, _ = pruned("forest", "binary")
    with pytest.raises(NotFittedError):
        compiled(CommitteeRegressor(), "c")
    with pytest.raises(TypeError, match="not an estimator instance"):
        compiled([committee], "c")
    with pytest.raises(ValueError, match='"onnx" or "c"'):
        compiled(committee, "java")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ImportError, match="needs a C compiler"):
        compiled(committee, "c")
