"""Boosters of other libraries that keep plain trees."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    Pool,
    load,
    save,
    to_onnx,
)
from committee.ensembles.boosted import BoostedClassifier, BoostedRegressor
from committee.persistence import ModelFileError
from tests.persistence.archives import (
    array_of,
    as_file,
    attribute,
    opened,
    schema_of,
    written,
)

LIBRARIES = {
    "lightgbm": {"n_estimators": 20, "min_child_samples": 5},
    "xgboost": {"n_estimators": 20, "max_depth": 3},
    "catboost": {"iterations": 20, "depth": 3},
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5)).astype(np.float32)
X[::7, 2] = np.nan
NUMBERS = X[:, 0] + np.nan_to_num(X[:, 2]) * X[:, 1]
CODES = np.digitize(NUMBERS, [-0.5, 0.7])

libraries = pytest.mark.parametrize("library", LIBRARIES)


def made(kind, library, y, **options):
    pytest.importorskip(library)
    return kind(library, LIBRARIES[library], random_state=3, **options).fit(X, y)


@libraries
def test_predicts_what_the_library_predicts(library):
    """The trees are those of the library, up to its single precision."""
    model = made(BoostedRegressor, library, NUMBERS)
    own = model._model().fit(X, NUMBERS).predict(X)
    np.testing.assert_allclose(model.predict(X), own, rtol=0, atol=1e-5)
    for y in (CODES, CODES > 0):
        model = made(BoostedClassifier, library, y)
        codes = np.unique(y, return_inverse=True)[1]
        own = model._model().fit(X, codes).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X), own, rtol=0, atol=1e-5)


@libraries
def test_the_same_trees_for_any_number_of_threads(library):
    one, two = (made(BoostedClassifier, library, CODES, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@libraries
def test_labels_may_be_text_and_lack_a_class(library):
    names = np.array(["low", "middle", "high"])[CODES]
    model = made(BoostedClassifier, library, names)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert np.mean(model.predict(X) == names) > 0.8
    model = made(BoostedClassifier, library, np.where(CODES == 1, 2, CODES))
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="two classes or more"):
        clone(model).fit(X, np.zeros(300))


@libraries
def test_sample_weights_are_passed_on(library):
    pytest.importorskip(library)
    s = np.where(NUMBERS > 0, 1.0, 1e-6)
    model = BoostedRegressor(library, LIBRARIES[library], random_state=0)
    assert model.fit(X, NUMBERS, sample_weight=s).predict(X).min() > -0.5


@libraries
def test_files_hold_no_objects_of_the_library(library, tmp_path):
    """Read without `trusted`, in a process in which the library cannot be imported."""
    pytest.importorskip(library)
    pool = Pool([("one", BoostedClassifier(library, LIBRARIES[library]))])
    model = CommitteeClassifier(generator=pool, random_state=0).fit(X, CODES)
    path = tmp_path / "m.skops"
    save(model, path)
    np.save(tmp_path / "X.npy", X[:20])
    code = (
        f"import sys, json; sys.modules[{library!r}] = None\n"
        "import numpy as np; from committee import load\n"
        f"p = load({str(path)!r}).predict_proba(np.load({str(tmp_path / 'X.npy')!r}))\n"
        "print(json.dumps(p.tolist()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    np.testing.assert_array_equal(json.loads(done.stdout), model.predict_proba(X[:20]))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("right", lambda a: a.__setitem__(0, 0)),
        ("right", lambda a: a.__setitem__(0, 10**6)),
        ("feature", lambda a: a.__setitem__(0, 99)),
        ("start", lambda a: a.__setitem__(1, 2)),
        ("target", lambda a: a.__setitem__(0, 7)),
        ("target", lambda a: a.__setitem__(0, -1)),
    ],
    ids=["cycle", "outside", "no column", "another tree", "no sum", "before"],
)
def test_changed_trees_are_refused(part, change, tmp_path):
    path = tmp_path / "m.skops"
    save(made(BoostedRegressor, "lightgbm", NUMBERS), path)
    members = opened(path)
    name = attribute(schema_of(members), "TreeTable", part)["file"]
    array = array_of(members[name])
    change(array)
    written({**members, name: as_file(array)}, path)
    with pytest.raises(ModelFileError):
        load(path)


@libraries
def test_a_committee_of_them_is_exported(library, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    pytest.importorskip(library)
    learner = BoostedRegressor(library, LIBRARIES[library])
    # As `committee train` has it for networks.
    scaled = TransformedTargetRegressor(clone(learner), transformer=StandardScaler())
    model = CommitteeRegressor(generator=Pool([learner, scaled]), random_state=0)
    model.fit(X, 100.0 * NUMBERS - 7.0)
    assert model.weights_.all()
    to_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    found = session.run(None, {session.get_inputs()[0].name: X})[0].ravel()
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-4, atol=1e-2)
