"""Merge: one model file whose raw scores are the weighted sum of several."""

import json

import numpy as np
import pytest

from committee.ensembles import roster_of
from committee.shell.export_command import LIBRARIES, _read
from tests.reference.boosters import make_booster, make_rows
from tests.shell.conftest import refused, run

LABELS = np.array(["low", "mid", "top"])


def raw(model, X):
    if hasattr(model, "num_boosted_rounds"):  # XGBoost
        X = pytest.importorskip("xgboost").DMatrix(X)
        return model.predict(X, output_margin=True)
    return roster_of(model).members[0].predict_raw(model, X)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(library, ending, task="multiclass", n=2):
        X, y = make_rows(task)
        if library == "catboost" and task == "multiclass":
            y = LABELS[y]
        for i in range(n):
            model = make_booster(library, task).fit(X[i::2], y[i::2])
            getattr(model, "booster_", model).save_model(f"{i}.{ending}")
        return X

    return write


@pytest.mark.parametrize(
    ("library", "ending"),
    [("lightgbm", "txt"), ("xgboost", "json"), ("xgboost", "ubj"), ("catboost", "cbm")],
)
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_files_become_one(library, ending, task, files):
    X = files(library, ending, task)
    names = [f"0.{ending}", f"1.{ending}"]
    weights = ("--weight", 0.7, "--weight", 0.4)
    report = json.loads(run("merge", *names, "-o", f"one.{ending}", "--json").stdout)
    assert report["models"] == 2
    assert report["rounds"] == 24
    assert report["library"] == LIBRARIES[f".{ending}"][0]
    run("merge", *names, "-o", f"sum.{ending}", *weights)
    first, second, mean, total = (
        _read(f"{name}.{ending}") for name in ("0", "1", "one", "sum")
    )
    a, b = raw(first, X), raw(second, X)
    np.testing.assert_allclose(raw(mean, X), (a + b) / 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(raw(total, X), 0.7 * a + 0.4 * b, rtol=1e-5, atol=1e-5)
    if library == "catboost" and task == "multiclass":
        assert set(mean.classes_) == set(LABELS)


def test_xgboost_gives_the_rounds_up_to_the_best_one(files):
    X, y = make_rows("regression")
    y = y + np.random.default_rng(0).normal(size=len(y))
    model = make_booster("xgboost", early_stopping_rounds=3, learning_rate=0.5)
    model.set_params(n_estimators=100)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    model.save_model("0.ubj")
    report = json.loads(run("merge", "0.ubj", "-o", "one.ubj", "--json").stdout)
    assert report["rounds"] == model.best_iteration + 1 < 100


def test_what_is_refused(files):
    files("lightgbm", "txt")
    assert "'2.txt': no such file" in refused(
        "merge", "0.txt", "2.txt", "-o", "one.txt"
    )
    mixed = ("merge", "0.txt", "1.ubj", "-o", "one.txt")
    refusal = "The output 'one.txt' belongs to LightGBM, '{}' does not"
    assert refusal.format("1.ubj") in refused(*mixed, status=2)
    other = ("merge", "0.txt", "a.b", "-o", "one.txt")
    assert refusal.format("a.b") in refused(*other, status=2)
    few = ("merge", "0.txt", "1.txt", "-o", "one.txt", "--weight", 1)
    assert "once for each of the 2 files" in refused(*few, status=2)
    lost = ("merge", "0.txt", "1.txt", "-o", "0.txt")
    assert "is the file '0.txt', which is the input" in refused(*lost, status=2)
    with open("no.txt", "w") as file:
        file.write("nothing")
    assert "not a LightGBM model file" in refused("merge", "no.txt", "-o", "one.txt")
