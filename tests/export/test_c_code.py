"""Headers in C: compiled without a warning, they predict what the committees predict."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee import (
    Bagging,
    CommitteeClassifier,
    LogPool,
    load,
    prune,
    refine,
    save,
    to_c,
)
from committee.calibration import Calibration
from committee.export.tree_sums import tree_sum
from tests.export.cases import (
    BOOSTERS,
    TASKS,
    TREES,
    pruned,
    pruned_on_large_numbers,
    rows,
)

GCC = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="gcc compiles the headers, and is not here."
)

NUMBERS = """
#include "model.h"
void all(const {x} *x, int n, float *out);
void all(const {x} *x, int n, float *out)
{{
    for (int i = 0; i < n; i++) out[i] = model_predict(x + i * MODEL_N_FEATURES);
}}
"""
CLASSES = """
#include "model.h"
void all(const {x} *x, int n, float *out, int *decided);
const char *label(int k);
void all(const {x} *x, int n, float *out, int *decided)
{{
    for (int i = 0; i < n; i++, x += MODEL_N_FEATURES, out += MODEL_N_CLASSES) {{
        model_predict_proba(x, out);
        decided[i] = model_predict(x);
    }}
}}
const char *label(int k) {{ return model_label(k); }}
"""
QUANTIZE = """
void quantize(const float *x, int n, int16_t *q);
void quantize(const float *x, int n, int16_t *q)
{
    for (int i = 0; i < n; i++)
        model_quantize(x + i * MODEL_N_FEATURES, q + i * MODEL_N_FEATURES);
}
"""


def compiled(model, folder, dtype="float32"):
    """The header as a library."""
    to_c(model, folder / "model.h", dtype=dtype)
    code = CLASSES if is_classifier(model) else NUMBERS
    code = code.format(x="float" if dtype == "float32" else "int16_t")
    (folder / "m.c").write_text(code + (QUANTIZE if dtype == "int16" else ""))
    name = f"m{len(list(folder.iterdir()))}.so"  # a library is loaded once by its name
    command = [*GCC, "-shared", "-fPIC", "-o", name, "m.c", "-lm"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / name))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def run(library, model, X, dtype="float32"):
    """Numbers (n,), or probabilities (n, K) and class numbers (n,)."""
    X = np.ascontiguousarray(X, dtype=np.float32)
    if dtype == "int16":
        q = np.empty(X.shape, dtype=np.int16)
        library.quantize(pointer(X), len(X), pointer(q))
        X = q
    if not is_classifier(model):
        out = np.empty(len(X), dtype=np.float32)
        library.all(pointer(X), len(X), pointer(out))
        return out
    out = np.empty((len(X), len(model.classes_)), dtype=np.float32)
    decided = np.empty(len(X), dtype=np.int32)
    library.all(pointer(X), len(X), pointer(out), pointer(decided))
    return out, decided


def assert_same(model, X, folder, atol=1e-6):
    """Labels too, where the two largest sums are not equal but for rounding."""
    found = run(compiled(model, folder), model, X)
    X = np.asarray(X, dtype=np.float64)
    if not is_classifier(model):
        f = model.predict(X)
        np.testing.assert_allclose(found, f, rtol=0, atol=atol * abs(f).max())
        return
    p, decided = found
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=atol)
    trees = tree_sum(model)
    s = np.sort(trees.sums(X) if trees.link.keeps_order else p, axis=1)
    clear = s[:, -1] - s[:, -2] > 1e-5 if s.shape[1] > 1 else abs(s[:, 0]) > 1e-5
    assert clear.mean() > 0.5
    labels = model.classes_[decided]
    np.testing.assert_array_equal(labels[clear], model.predict(X)[clear])


def many(X, n=10_000, seed=0):
    """Rows in single precision, a part of them with missing values."""
    rng = np.random.default_rng(seed)
    Z = X[rng.integers(len(X), size=n)] + 0.1 * rng.normal(size=(n, X.shape[1]))
    return Z.astype(np.float32)


@needs_gcc
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*TREES, *BOOSTERS])
def test_ten_thousand_rows(name, task, tmp_path):
    committee, X = pruned(name, task)
    assert_same(committee, many(X), tmp_path, 2e-6 if name in BOOSTERS else 1e-6)


@needs_gcc
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_calibrations_logarithms_and_offsets(task, tmp_path):
    X, y = rows(task)
    K = len(np.unique(y))
    t, a = np.linspace(1, 2, K), np.linspace(0, 1, K)
    for combiner in ("average", LogPool()):
        committee = CommitteeClassifier(
            generator=Bagging(6), combiner=combiner, random_state=0
        ).fit(X[::2], y[::2])
        for found in (
            None,
            Calibration(3.0),
            Calibration(0.7, 0.01),
            Calibration(t, None, a),
            Calibration(t, 0.01, a),
        ):
            committee._calibration = found
            committee.calibration = None if found is None else "slope"
            assert_same(committee, many(X, 500), tmp_path, 2e-6)


@needs_gcc
def test_missing_values_refined_leaves_and_compact_files(tmp_path):
    X, y = rows("multiclass")
    X[::4, :2] = np.nan
    forest = RandomForestClassifier(12, random_state=0).fit(X[:90], y[:90])
    small = refine(forest, X[:90], y[:90], max_members=5, oob=True, random_state=0)
    Z = many(np.nan_to_num(X), 2000)
    Z[::3, :3] = np.nan
    assert_same(small, Z, tmp_path)
    save(small, tmp_path / "m", compact=True)
    assert_same(load(tmp_path / "m"), Z, tmp_path)
    assert_same(forest, Z, tmp_path)  # a plain forest


@needs_gcc
def test_whole_numbers_take_the_same_branches_in_16_bits(tmp_path):
    """Digits are 0 to 16: no column is scaled, so only the leaves are rounded."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(15, random_state=0).fit(X[:800], y[:800])
    small = prune(forest, X[800:], y[800:], combiner="average")
    library = compiled(small, tmp_path, "int16")
    q = np.empty((100, 64), dtype=np.int16)
    Z = np.ascontiguousarray(X[:100], dtype=np.float32)
    library.quantize(pointer(Z), 100, pointer(q))
    np.testing.assert_array_equal(q, Z)
    p, decided = run(library, small, X, "int16")
    np.testing.assert_allclose(p, small.predict_proba(X), rtol=0, atol=1e-3)
    s = np.sort(tree_sum(small).sums(X), axis=1)
    clear = s[:, -1] - s[:, -2] > 1e-3
    np.testing.assert_array_equal(decided[clear], small.predict(X)[clear])


@needs_gcc
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "histogram"])
def test_sixteen_bits_are_close(name, task, tmp_path):
    """Few rows lie within a step of a threshold; missing values take their branches."""
    committee, X = pruned(name, task)
    Z = many(X)
    if name == "histogram":
        Z[::3, :2] = np.nan
    found = run(compiled(committee, tmp_path, "int16"), committee, Z, "int16")
    if task == "regression":
        f = committee.predict(Z.astype(float))
        far = abs(found - f) > 1e-3 * abs(f).max()
    else:
        found, _ = found
        far = (abs(found - committee.predict_proba(Z.astype(float))) > 2e-3).any(axis=1)
    assert far.mean() < 0.005


@needs_gcc
def test_trees_without_a_split_and_wide_tables(tmp_path):
    X, y = rows("regression")
    stump = CommitteeClassifier(generator=Bagging(3), random_state=0)
    stump.set_params(estimator=RandomForestClassifier(2, max_depth=1))
    stump.fit(np.hstack([X] * 50), y > 0)
    assert stump.n_features_in_ == 300
    assert_same(stump, many(np.hstack([X] * 50), 200), tmp_path)
    forest = RandomForestClassifier(3, min_samples_leaf=60).fit(X[:100], y[:100] > 0)
    assert_same(forest, many(X, 200), tmp_path)


@needs_gcc
def test_labels_and_names_of_any_kind(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows("multiclass")
    labels = np.array(['a"b\\', "ä?? $@K;", "%d\n*/"], dtype=object)
    y = labels[np.unique(y, return_inverse=True)[1]]
    names = ["*/ int x;", "/* $", "ü", "@", "a\nb", "??/"]
    frame = pandas.DataFrame(X, columns=names)
    forest = RandomForestClassifier(5, random_state=0).fit(frame, y)
    library = compiled(forest, tmp_path)
    library.label.restype = ctypes.c_char_p
    said = [library.label(k).decode() for k in range(3)]
    assert said == forest.classes_.tolist()
    text = (tmp_path / "model.h").read_text("ascii")
    assert "x[0]: * / int x;" in text


def test_the_comment_has_version_columns_and_error(tmp_path):
    committee, _ = pruned("forest", "regression", frame=True)
    text = to_c(committee, tmp_path / "my model-1.h")
    found = committee.summary()
    assert text == (tmp_path / "my model-1.h").read_text()
    assert f"{found.error_name}: {found.error_after:.4g}, standard error" in text
    assert "x[5]: z" in text
    assert "float my_model_1_predict(const float *x)" in text
    assert "#define MY_MODEL_1_N_FEATURES 6" in text
    assert "model_2_" in to_c(committee, tmp_path / "2.h")


def test_refusals(tmp_path):
    path = tmp_path / "m.h"
    path.write_text("old")
    X, y = rows("regression")
    with pytest.raises(ValueError, match="of type Ridge"):
        to_c(prune([Ridge().fit(X, y)], X, y), path)
    with pytest.raises(ValueError, match="float32, int16"):
        to_c(pruned("forest", "binary")[0], path, dtype="int8")
    with pytest.raises(ValueError, match=r"single precision, up to 3\.4e\+38"):
        to_c(pruned_on_large_numbers(), path)
    with pytest.raises(NotFittedError):
        to_c(RandomForestClassifier(), path)
    assert path.read_text() == "old"
