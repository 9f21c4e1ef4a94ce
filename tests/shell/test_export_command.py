"""Export: what onnxruntime and scikit-learn answer is what the model answers."""

import json

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import load, prune, save, to_c
from committee.shell.table_model import read_model
from committee.shell.tables import read_table
from tests.shell.conftest import make_table, refused, run


@pytest.fixture
def models(folder):
    """A pruned classifier, a trained regressor, and rows for both."""
    words = ("--oob", "-o", "small.skops", "-q")
    run("prune", "classifier.skops", "grades.csv", *words)
    make_table(80, seed=1).to_csv("fresh.csv", index=False)
    return folder


def taken(name):
    model = read_model(f"{name}.skops")
    X, _ = model.take(read_table("fresh.csv", model.words))
    return model, X


def fed(X, session):
    """The columns as the inputs of a session; ONNX has no gaps in text."""
    return {
        put.name: X[put.name].fillna("nan").to_numpy(object).reshape(-1, 1)
        if "string" in put.type
        else X[put.name].to_numpy(np.float64).reshape(-1, 1)
        for put in session.get_inputs()
    }


@pytest.mark.parametrize("name", ["small", "regressor"])
def test_onnxruntime_predicts_the_same(name, models):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    report = json.loads(run("export", f"{name}.skops", "-o", "m.onnx", "--json").stdout)
    model, X = taken(name)
    assert report["inputs"] == model.schema.names
    session = onnxruntime.InferenceSession("m.onnx")
    outputs = dict(
        zip(report["outputs"], session.run(None, fed(X, session)), strict=True)
    )
    if name == "small":
        assert outputs["label"].tolist() == model.estimator.predict(X).tolist()
        expected, found = model.estimator.predict_proba(X), outputs["probabilities"]
    else:
        expected, found = model.estimator.predict(X), outputs["variable"][:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_a_plain_scikit_learn_model_predicts_the_same(models):
    out = run("export", "small.skops", "-o", "plain.skops").stdout
    assert "scikit-learn" in out
    plain = load("plain.skops")
    assert isinstance(plain, CalibratedClassifierCV)
    assert isinstance(plain.estimator.estimator[-1], RandomForestClassifier)
    model, X = taken("small")
    assert plain.predict(X).tolist() == model.estimator.predict(X).tolist()
    expected = model.estimator.predict_proba(X)
    np.testing.assert_allclose(plain.predict_proba(X), expected, rtol=0, atol=1e-6)


def test_a_header_in_c_of_trees_on_the_columns_of_the_table(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    forest = RandomForestRegressor(6, random_state=0)
    forest.fit(table[:60], table["a"][:60] + table["b"][:60])
    small = prune(forest, table[60:], table["a"][60:] + table["b"][60:])
    save(small, "small.skops")
    report = json.loads(run("export", "small.skops", "-o", "my.h", "--json").stdout)
    assert report["format"] == "C"
    assert report["inputs"] == ["a", "b", "c"]
    assert report["outputs"][-1] == "my_predict(const float *x)"
    text = (tmp_path / "my.h").read_text()
    assert text == to_c(small, tmp_path / "my.h")


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("small.skops", "-o", "m.pdf"), 2, "must end in .onnx or .h or .skops"),
        (("small.skops", "-o", "small.skops"), 2, "it would be lost"),
        (
            ("forest.skops", "-o", "m.onnx"),
            1,
            "not a committee: make one with committee prune",
        ),
    ],
)
def test_what_cannot_be_exported_is_refused(words, status, sentence, models):
    table = make_table()
    forest = RandomForestClassifier(2, random_state=0)
    save(forest.fit(table[["size"]], table["grade"]), "forest.skops")
    assert sentence in refused("export", *words, status=status)
