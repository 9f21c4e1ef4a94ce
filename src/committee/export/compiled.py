"""compiled: predictions of a committee in microseconds, by onnxruntime or a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from committee._hints import how_to_install
from committee._typing import FloatArray
from committee._validation import check_columns
from committee.export.c_code import to_c
from committee.export.onnx import to_onnx

#: Eight rows walk a tree together without branches: their loads overlap.
_CODE = """
#include <string.h>
#include "model.h"
enum { ROWS = 8, F = MODEL_N_FEATURES };
static void walk(const float *x, float total[ROWS][MODEL_N_SUMS])
{
    for (int32_t m = 0; m < MODEL_N_TREES; m++) {
        const int32_t first = model_tree[m];
        int32_t at[ROWS], going = model_tree[m + 1] > first ? 0 : -1;
        for (int r = 0; r < ROWS; r++) at[r] = going;
        while (going >= 0) {
            going = -1;
            for (int r = 0; r < ROWS; r++) {
                const int32_t done = -(at[r] < 0), i = first + (at[r] & ~done);
                const float v = x[r * F + model_feature[i]];
                const int bit = model_missing_left[i / 8] >> (7 - i % 8) & 1;
                const int32_t left = -((v <= model_threshold[i]) | (isnan(v) & bit));
                const int32_t next =
                    (model_left[i] & left) | (model_right[i] & ~left);
                at[r] = (at[r] & done) | (next & ~done);
                going &= at[r];
            }
        }
        for (int r = 0; r < ROWS; r++) model_add(m, ~at[r], total[r]);
    }
}
void rows(const float *x, long n, void *out, int proba);
void rows(const float *x, long n, void *out, int proba)
{
    float total[ROWS][MODEL_N_SUMS], s[MODEL_N_SUMS];
    (void)proba;
    for (long i = 0; i < n; i++) {
        const long r = i % ROWS;
        if (r == 0 && i + ROWS <= n) {
            memset(total, 0, sizeof total);
            walk(x + i * F, total);
        }
        if (i - r + ROWS <= n)
            model_scaled(total[r], s);
        else
            model_sums(x + i * F, s);
        SHOW
    }
}
"""
_NUMBERS = "((float *)out)[i] = s[0];"
_CLASSES = """if (proba) model_link(s, (float *)out + i * MODEL_N_CLASSES);
        else ((int *)out)[i] = model_class(s);"""


class Compiled:
    """Predictions of a committee for rows in single precision; see `compiled`.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Only for classes.
    n_features_in_ : int
    runtime : {"onnx", "c"}
    """

    def __init__(self, committee: Any, runtime: str) -> None:
        check_is_fitted(committee)  # raises TypeError for what is no estimator
        self.runtime, self._committee = runtime, committee
        self.n_features_in_ = int(committee.n_features_in_)
        self._width = 1
        if is_classifier(committee):
            self.classes_ = np.asarray(committee.classes_)
            self._width = len(self.classes_)
        run = _in_c if runtime == "c" else _in_onnx
        self._run = run(committee, self._width if is_classifier(committee) else 0)

    def _rows(self, X: Any) -> FloatArray:
        """Return rows as one block of single precision."""
        if hasattr(X, "columns"):
            X = check_columns(self._committee, X, reset=False)
        if not isinstance(X, np.ndarray) or X.dtype != np.float32:
            X = _single(X)
        rows: Any = np.ascontiguousarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have shape (N, {self.n_features_in_}). Got {rows.shape}."
            )
        return rows  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        """Raise TypeError: compiled code belongs to this process."""
        raise TypeError(
            "A compiled model cannot be pickled or copied: save its committee."
        )

    def predict(self, X: Any) -> Any:
        """Return numbers or labels (N,)."""
        found = self._run(self._rows(X), False)
        if not hasattr(self, "classes_"):
            return found
        if self.runtime == "c":
            return self.classes_[found]
        return found.astype(self.classes_.dtype, copy=False)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities (N, K)."""
        if not hasattr(self, "classes_"):
            raise AttributeError("A committee of regressors has no probabilities.")
        p: FloatArray = self._run(self._rows(X), True)
        return p


def _single(X: Any) -> Any:
    """Return numbers in single precision; those beyond it are infinite, as for trees."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must be a dense table of numbers. Got {type(X).__name__}: {error}"
        ) from error


def compiled(committee: Any, runtime: str = "onnx") -> Compiled:
    """Return an object that predicts single rows of a committee in microseconds.

    Parameters
    ----------
    committee : committee
        A committee on the columns of X that `to_onnx` can export; for runtime="c", one
        that `to_c` can export.
    runtime : {"onnx", "c"}, default="onnx"
        onnxruntime, or a C compiler (`cc` or `gcc`) that compiles the header from
        `to_c`.

    Returns
    -------
    model : Compiled
        Object with `predict` and `predict_proba`. It cannot be pickled.

    Raises
    ------
    ImportError
        If onnxruntime or a compiler is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from committee import Bagging, CommitteeClassifier, compiled
    >>> X, y = load_iris(return_X_y=True)
    >>> committee = CommitteeClassifier(generator=Bagging(5), random_state=0).fit(X, y)
    >>> fast = compiled(committee)
    >>> bool((fast.predict(X) == committee.predict(X.astype(np.float32))).all())
    True
    """
    if runtime not in ("onnx", "c"):
        raise ValueError(f'runtime must be "onnx" or "c". Got {runtime!r}.')
    return Compiled(committee, runtime)


def _in_onnx(committee: Any, n_classes: int) -> Any:
    """Return the function of rows by onnxruntime, on one thread."""
    try:
        from onnxruntime import InferenceSession, SessionOptions
    except ImportError as error:
        raise ImportError(
            f'runtime="onnx" needs onnxruntime: {how_to_install("onnx")}.'
        ) from error
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(
        to_onnx(committee).SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
    )
    if not n_classes:
        return lambda X, _: session.run(None, {"X": X})[0][:, 0]
    names = "label", "probabilities"
    return lambda X, proba: session.run([names[proba]], {"X": X})[0]


def _in_c(committee: Any, n_classes: int) -> Any:
    """Return the function of rows by a library that is compiled now."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ImportError(
            'runtime="c" needs a C compiler, cc or gcc: install one, or use "onnx".'
        )
    with TemporaryDirectory() as folder:
        to_c(committee, Path(folder, "model.h"))
        Path(folder, "m.c").write_text(
            _CODE.replace("SHOW", _CLASSES if n_classes else _NUMBERS)
        )
        command = [compiler, "-std=c99", "-O3", "-shared", "-fPIC", "-o", "m.so", "m.c"]
        done = subprocess.run(
            [*command, "-lm"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{compiler} could not compile: {done.stderr}")
        rows = ctypes.CDLL(str(Path(folder, "m.so"))).rows
    pointer = ctypes.c_void_p
    rows.argtypes = [pointer, ctypes.c_long, pointer, ctypes.c_int]
    rows.restype = None

    def run(X: FloatArray, proba: bool) -> Any:
        shape = (len(X), n_classes) if proba else len(X)
        whole = n_classes and not proba
        out = np.empty(shape, dtype=np.intc if whole else np.float32)
        rows(X.ctypes.data, len(X), out.ctypes.data, proba)
        return out

    return run
