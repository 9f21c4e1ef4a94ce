"""compiled: the predictions of the committee, by onnxruntime and by a C compiler."""

import pickle
import shutil

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from committee import CommitteeRegressor, compiled
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
