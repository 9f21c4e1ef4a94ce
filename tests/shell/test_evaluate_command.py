"""Evaluate: the scores of scikit-learn, with spreads, paired against another model."""

import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeClassifier

from committee import save
from committee.shell.table_model import read_model
from committee.shell.tables import read_table
from tests.shell.conftest import make_table, refused, run


@pytest.fixture
def fresh(folder):
    """Rows that the models have not seen."""
    make_table(80, seed=1).to_csv("fresh.csv", index=False)
    return folder


def evaluated(*words):
    return json.loads(run("evaluate", *words, "--json").stdout)


def predicted(name):
    model = read_model(f"{name}.skops")
    X, y, _ = model.take_labelled(read_table("fresh.csv", model.words))
    return model.estimator, X, y


def test_scores_of_a_classifier_are_those_of_scikit_learn(fresh):
    report = evaluated("classifier.skops", "fresh.csv")
    model, X, y = predicted("classifier")
    p = model.predict_proba(X)
    assert {k: s["value"] for k, s in report["scores"].items()} == pytest.approx(
        {
            "error_rate": np.mean(model.predict(X) != y),
            "log_loss": metrics.log_loss(y, p),
            "auc": metrics.roc_auc_score(y, p[:, 1]),
            "brier_score": metrics.brier_score_loss(y, p[:, 1], pos_label="yes"),
        }
    )
    error = report["scores"]["error_rate"]
    spread = np.sqrt(error["value"] * (1 - error["value"]) / 80)
    assert error["se"] == pytest.approx(spread)
    none = DummyClassifier(strategy="prior").fit(X, y)
    assert report["baseline"]["log_loss"]["value"] == pytest.approx(
        metrics.log_loss(y, none.predict_proba(X))
    )
    held_out = read_model("classifier.skops").source["held_out_error"]
    assert report["held_out_error"] == held_out
    assert (report["rows"], report["target"], report["task"]) == (
        80,
        "grade",
        "classification",
    )


def test_scores_of_a_regressor_are_those_of_scikit_learn(fresh):
    report = evaluated("regressor.skops", "fresh.csv")
    model, X, y = predicted("regressor")
    assert {k: s["value"] for k, s in report["scores"].items()} == pytest.approx(
        {
            "rmse": metrics.root_mean_squared_error(y, model.predict(X)),
            "mae": metrics.mean_absolute_error(y, model.predict(X)),
            "r2": metrics.r2_score(y, model.predict(X)),
        }
    )
    none = DummyRegressor().fit(X, y)
    assert report["baseline"]["rmse"]["value"] == pytest.approx(
        metrics.root_mean_squared_error(y, none.predict(X))
    )


def test_the_model_before_pruning_is_compared_row_by_row(fresh):
    words = ("--oob", "--max-members", 2, "-o", "small.skops", "-q")
    run("prune", "classifier.skops", "grades.csv", *words)
    alone = run("evaluate", "small.skops", "fresh.csv")
    assert "pruned from" in alone.stdout
    assert "--against MODEL compares it with the file before" in alone.stderr
    report = evaluated("small.skops", "fresh.csv", "--against", "classifier.skops")
    assert report["held_out_error"] is None  # it was that of another
    other = report["against"]
    assert other["scores"] == evaluated("classifier.skops", "fresh.csv")["scores"]
    for name, gap in other["differences"].items():
        own, before = report["scores"][name], other["scores"][name]
        assert gap["value"] == pytest.approx(own["value"] - before["value"])
        assert gap["se"] < np.hypot(own["se"], before["se"])  # they err alike
    same = evaluated("small.skops", "fresh.csv", "--against", "small.skops")
    assert same["against"]["differences"]["log_loss"] == {"value": 0, "se": 0}
    text = run("evaluate", "small.skops", "fresh.csv", "--against", "classifier.skops")
    assert "against classifier.skops" in text.stdout
    assert "differences are paired by rows" in text.stdout


def test_a_table_for_readers_says_what_its_numbers_are(fresh):
    out = run("evaluate", "classifier.skops", "fresh.csv").stdout
    lines = out.splitlines()
    assert lines[0].split() == ["model", "classifier.skops"]
    for name in ("error rate", "log-loss", "AUC", "Brier score"):
        assert any(line.startswith(name) and " ± " in line for line in lines)
    assert "± is one standard error over the 80 rows" in out
    assert "baseline: always 'yes'" in out or "baseline: always 'no'" in out


def test_no_error_is_not_certainty(fresh):
    result = run("evaluate", "classifier.skops", "grades.csv")
    assert "has the name and the number of rows of the table that" in result.stderr
    assert "0, below 0.025 at 95 %" in result.stdout


def test_a_model_without_probabilities_has_its_error_rate(fresh):
    table = make_table()
    save(RidgeClassifier().fit(table[["size"]], table["grade"]), "ridge.skops")
    words = ("ridge.skops", "fresh.csv", "--target", "grade")
    assert list(evaluated(*words)["scores"]) == ["error_rate"]
    report = evaluated(*words, "--against", "classifier.skops")
    assert list(report["against"]["differences"]) == ["error_rate"]
    assert "log-loss" not in run("evaluate", *words).stdout


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("fresh.csv", "--against", "regressor.skops"), 1, "cannot be compared"),
        (("*.csv",), 1, "'*.csv': no such file"),
        (("-", "--against", "classifier.skops"), 2, "can be read only once"),
        (("fresh.csv", "--target", "price"), 1, "which the model was not trained on"),
        (("fresh.csv", "--against", "none.skops"), 1, "no such file"),
    ],
)
def test_what_cannot_be_compared_is_refused(words, status, sentence, fresh):
    error = refused("evaluate", "classifier.skops", *words, status=status)
    assert sentence in error
