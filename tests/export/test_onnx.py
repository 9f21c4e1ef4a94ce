"""onnxruntime predicts what the committees predict, on rows nobody has seen."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    LogPool,
    Pool,
    SimplexWeights,
    SoftmaxGate,
    prune,
    to_onnx,
)
from tests.export.cases import (
    BOOSTERS,
    OTHERS,
    TASKS,
    TREES,
    more_unlike,
    pruned,
    pruned_on_large_numbers,
    rows,
    unlike,
)

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


class Unknown(LogisticRegression):
    """A kind that skl2onnx does not know."""


def run(model, **inputs):
    """Return the outputs of an ONNX model, or of a file."""
    source = model if isinstance(model, str) else model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        source, options, providers=["CPUExecutionProvider"]
    )
    assert {i.name for i in session.get_inputs()} == set(inputs)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def assert_same(committee, X, model=None):
    """X holds values of single precision."""
    X = np.asarray(X)
    outputs = run(model or to_onnx(committee), X=X.astype(np.float32))
    if hasattr(committee, "classes_"):
        p = committee.predict_proba(X)
        np.testing.assert_allclose(outputs["probabilities"], p, atol=1e-5)
        np.testing.assert_array_equal(outputs["label"], committee.predict(X))
        assert list(outputs) == ["label", "probabilities"]
    else:
        f = committee.predict(X)
        np.testing.assert_allclose(
            outputs["variable"][:, 0], f, atol=1e-5 * abs(f).max()
        )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*TREES, *OTHERS, *BOOSTERS])
def test_held_out_predictions_are_those_of_the_committee(name, task):
    assert_same(*pruned(name, task))


@pytest.mark.parametrize("task", TASKS)
def test_members_weighed_by_evidence(task):
    assert_same(*pruned("forest", task, EPPruner))


@pytest.mark.parametrize("method", ["slope", "vector"])
@pytest.mark.parametrize("combiner", [EPPruner(), SimplexWeights(), LogPool()])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_calibrated_committees(combiner, method, task):
    """Of means of weights that need not be shares, and of logarithms."""
    X, y = rows(task)
    X = X.astype(np.float32).astype(np.float64)
    fit = CommitteeClassifier(
        DecisionTreeClassifier(min_samples_leaf=7),  # leaves of many shares: no ties
        generator=Bagging(6),
        combiner=combiner,
        calibration=method,
        random_state=0,
    ).fit(X[::2], y[::2])
    assert_same(fit, X[1::2])
    assert_same(prune(fit, X[1::2], y[1::2], combiner=combiner, calibration=method), X)


@pytest.mark.parametrize("method", ["slope", "vector"])
def test_calibrated_gates(method):
    X, y = rows("multiclass")
    X = X.astype(np.float32).astype(np.float64)
    fit = CommitteeClassifier(
        generator=Pool([("a", LogisticRegression()), ("b", GaussianNB())]),
        gate=SoftmaxGate(),
        calibration=method,
        random_state=0,
    ).fit(X[::2], y[::2])
    assert fit.calibration_ is not None
    assert_same(fit, X[1::2])


@pytest.mark.parametrize("calibration", [None, "slope"])
def test_a_pool_of_logarithms_of_unlike_members(calibration):
    X, y = rows("multiclass")
    X = X.astype(np.float32).astype(np.float64)
    pool = Pool([("a", LogisticRegression()), ("b", GaussianNB())])
    fit = CommitteeClassifier(
        generator=pool, combiner=LogPool(), calibration=calibration, random_state=0
    ).fit(X[::2], y[::2])
    assert_same(fit, X[1::2])
    for combiner in (EPPruner(pool="log"), LogPool(signed=True)):
        assert_same(
            prune(fit, X[1::2], y[1::2], combiner=combiner, calibration=None), X
        )


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_rows_on_a_threshold_take_the_same_branch(task):
    """Whole numbers fall on thresholds all the time; so do halves of odd sums."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(300, 4)) / 10
    X = X.astype(np.float32).astype(np.float64)
    y = X.sum(axis=1) + rng.normal(size=300) / 10
    kind = RandomForestRegressor
    if task == "binary":
        y, kind = y > y.mean(), RandomForestClassifier
    forest = kind(10, random_state=0).fit(X[:100], y[:100])
    assert_same(prune(forest, X[100:200], y[100:200]), X[200:])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([3, 2**40], np.int64),
        ([False, True], np.int64),
        ([1.0, 2.0], np.int64),
        (["b", "a"], object),
    ],
)
def test_labels_come_out_as_they_went_in(labels, kind):
    X, y = rows("binary")
    y = np.array(labels)[(y == "yes").astype(int)]
    committee = CommitteeClassifier(generator=Bagging(5), random_state=0).fit(X, y)
    label = run(to_onnx(committee), X=X.astype(np.float32))["label"]
    assert label.dtype == kind
    np.testing.assert_array_equal(label, committee.predict(X))


def test_labels_that_onnx_does_not_have_are_refused():
    X, y = rows("binary")
    committee = CommitteeClassifier(generator=Bagging(3)).fit(X, y)
    committee.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    with pytest.raises(ValueError, match="text or integers"):
        to_onnx(committee)


def test_missing_values_take_the_same_branches():
    X, y = rows("multiclass")
    X[::4, :2] = np.nan
    forest = RandomForestClassifier(10, random_state=0).fit(X[:60], y[:60])
    assert_same(prune(forest, X[60:120], y[60:120]), X[120:])


def test_trees_without_a_split():
    X, y = rows("binary")
    forest = RandomForestClassifier(5, min_samples_leaf=30).fit(X[:40], y[:40])
    assert_same(prune(forest, X[60:120], y[60:120]), X[120:])


@pytest.mark.parametrize("imputed", [False, True])
@pytest.mark.parametrize(
    "last",
    [
        RandomForestClassifier(8, random_state=0),
        BaggingClassifier(GaussianNB(), random_state=0),
    ],
)
def test_columns_of_several_types_become_inputs(last, imputed):
    """Of these types, whether or not the graph can work in double."""
    pandas = pytest.importorskip("pandas")
    X, y = rows("binary")
    frame = pandas.DataFrame(
        {
            "size": X[:, 0],
            "town": np.where(X[:, 1] > 0, "rome", "oslo"),
            "n": np.digitize(X[:, 2], [-1.0, 0.0, 1.0]),
        }
    )
    columns = ColumnTransformer(
        [
            ("scaled", SimpleImputer() if imputed else StandardScaler(), ["size"]),
            ("coded", OneHotEncoder(sparse_output=False), ["town", "n"]),
        ]
    )
    model = make_pipeline(columns, last).fit(frame[:60], y[:60])
    committee = prune(model, frame[60:120], y[60:120], combiner=SimplexWeights())
    test = frame[120:]
    outputs = run(
        to_onnx(committee, X=frame),
        size=test[["size"]].to_numpy(),
        town=test[["town"]].to_numpy().astype(object),
        n=test[["n"]].to_numpy(),
    )
    p = committee.predict_proba(test)
    np.testing.assert_allclose(outputs["probabilities"], p, atol=1e-5)
    np.testing.assert_array_equal(outputs["label"], committee.predict(test))


def test_pipelines_fall_back_to_single_precision():
    """onnxruntime has no imputer in double precision."""
    X, y = rows("binary")
    forest = RandomForestClassifier(8, random_state=0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), forest)
    model.fit(X[:60], y[:60])
    assert_same(prune(model, X[60:120], y[60:120]), X[120:])


def test_frames_and_arrays_go_the_same_way():
    committee, X = pruned("linear subspaces", "binary", frame=True)
    outputs = run(to_onnx(committee), X=X.to_numpy(dtype=np.float32))
    p = committee.predict_proba(X)
    np.testing.assert_allclose(outputs["probabilities"], p, atol=1e-5)


def test_the_file_is_the_model(tmp_path):
    committee, X = pruned("forest", "multiclass")
    path = tmp_path / "m.onnx"
    model = to_onnx(committee, path)
    assert path.read_bytes() == model.SerializeToString()
    outputs, expected = (run(m, X=X.astype(np.float32)) for m in (str(path), model))
    np.testing.assert_array_equal(outputs["label"], expected["label"])
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_a_refusal_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    X, y = rows("binary")
    members = [("a", LinearSVC()), ("b", GaussianNB())]
    voting = VotingClassifier(members, voting="hard").fit(X[:60], y[:60])
    committee = prune(voting, X[60:], y[60:], combiner=Average())
    with pytest.raises(ValueError, match="members with predict_proba"):
        to_onnx(committee, path)
    with pytest.raises(ValueError, match=r"single precision, up to 3\.4e\+38"):
        to_onnx(pruned_on_large_numbers(), path)
    assert path.read_bytes() == b"old"


def test_members_that_skl2onnx_does_not_know_are_named():
    X, y = rows("binary")
    committee = prune([Unknown().fit(X, y)], X, y)
    with pytest.raises(ValueError, match=r"could not write the member 'member0' \(Unk"):
        to_onnx(committee)
    named = {"bayes": GaussianNB().fit(X, y), "odd": Unknown().fit(X, y)}
    committee = prune(named, X, y, combiner="average")
    with pytest.raises(ValueError, match=r"write the member 'odd' \(Unknown\):"):
        to_onnx(committee)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("combiner", ["ep", "em", "mcmc", "average"])
def test_a_pool_of_unlike_members_weighed_by_evidence(task, combiner):
    """Probabilities within 1e-5, those of logarithms in the graph; labels exactly."""
    committee, X = pool(task, combiner)
    assert_same(committee, X)


def pool(task, combiner, n_members=None, **options):
    """Return a committee of seven kinds of members, and rows to test it on."""
    X, y = rows(task)
    members = [*unlike(task), *more_unlike(task)][:n_members]
    kind = CommitteeRegressor if task == "regression" else CommitteeClassifier
    options.update(generator=Pool(members), combiner=combiner, random_state=0)
    committee = kind(**options)
    return committee.fit(X[:120], y[:120]), X[120:]


def test_an_array_is_no_frame():
    committee, X = pruned("pipeline", "binary")
    with pytest.raises(TypeError, match="X must be a frame"):
        to_onnx(committee, X=X)


@pytest.mark.slow
def test_a_missing_package_is_named():
    code = (
        "import sys; sys.modules['skl2onnx'] = None\n"
        "import committee\n"
        "try: committee.to_onnx(None)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install skl2onnx onnxruntime." in done.stdout
