"""Prune: fewer members, the same table, and honest refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from committee import prune as python_prune
from committee import save
from committee.shell.options import PRESETS
from committee.shell.table_model import read_model
from tests.shell.conftest import make_table, refused, run


def prune(model, data, *words):
    """Prune a model of the working folder; return what is printed, and the model."""
    if not isinstance(data, str):
        data.to_csv("rows.csv", index=False)
        data = "rows.csv"
    printed = run("prune", f"{model}.skops", data, "-o", "small.skops", *words)
    return printed, read_model("small.skops")


@pytest.mark.parametrize(
    ("model", "data"), [("classifier", "grades.csv"), ("regressor", "prices.csv")]
)
def test_a_committee_is_pruned_on_the_rows_it_was_trained_on(model, data, folder):
    printed, small = prune(model, data, "--oob", "--max-members", 3, "--json")
    report = json.loads(printed.stdout)
    assert report["members"] == len(small.last.members_) <= 3
    kept = read_model(f"{model}.skops").last.n_members_
    assert report["summary"]["n_members_before"] == kept
    assert report["summary"]["oob"] is True
    # The file knows it, for its page.
    assert small.last.summary().to_dict() == report["summary"]
    assert small.last.path_.measure.startswith("held-out")
    assert (small.last.path_.n_bytes > 0).all()
    before = read_model(f"{model}.skops")
    assert (small.schema, small.target) == (before.schema, before.target)
    assert small.source == before.source
    run("predict", "small.skops", data)


def test_the_file_predicts_with_the_calibration_that_was_assessed(folder, table):
    """`train`, `prune` and `predict` deliver what `prune` in Python and `save` do."""
    whole = read_model("classifier.skops")
    X, y = whole.take(table)[0], table["grade"]
    inner = whole.estimator[:-1].transform(X)
    for name, expected in (
        ("classifier", whole.last),
        ("small", python_prune(whole.last, inner, y, oob=True)),
    ):
        if name == "small":
            printed, _ = prune("classifier", "grades.csv", "--oob", "--json")
            summary = json.loads(printed.stdout)["summary"]
            assessed = expected.summary()
            assert summary["log_loss_after"] == assessed.log_loss_after
        run("predict", f"{name}.skops", "grades.csv", "-o", "p.csv", "--proba")
        found = pd.read_csv("p.csv")[["p_no", "p_yes"]].to_numpy()
        np.testing.assert_allclose(found, expected.predict_proba(inner), rtol=1e-12)
        expected.calibration = expected._calibration = None
        assert abs(found - expected.predict_proba(inner)).max() > 0.01


def test_training_rows_are_noted_once(folder):
    """Found out, they are said to be used out of bag; taken as they are, nothing is."""
    printed, _ = prune("regressor", "prices.csv")
    assert "Members now vote out of bag" in printed.stderr
    assert "if these are its rows" not in printed.stderr
    printed, _ = prune("regressor", "prices.csv", "--no-oob")
    assert "if these are its rows, give --oob" in printed.stderr
    assert "fresh rows, if no member was trained on these" in printed.stdout


def test_unlike_learners_are_not_pruned_on_the_rows_they_have_seen(folder, monkeypatch):
    monkeypatch.setitem(PRESETS, "fast", ("shallow-boosting", "linear"))
    words = ("--target", "price", "-o", "pool.skops", "--quiet")
    run("train", "prices.csv", *words)
    for oob in (["--oob"], []):
        error = refused("prune", "pool.skops", "prices.csv", "-o", "s.skops", *oob)
        assert (
            "The learners of 'pool.skops' were trained on all rows of their table"
            in error
        )
        assert "train has already selected and weighed them" in error
    fresh = make_table(80, seed=5)
    printed, small = prune("pool", fresh, "--max-members", 1)
    assert small.last.n_members_ == 1
    assert "--oob" not in printed.stderr
    assert "linear" in run("inspect", "pool.skops").stdout


def test_row_numbers_are_left_out_with_a_note(folder, table):
    plain = prune("classifier", table)[1].last.weights_
    table.to_csv("numbered.csv")
    printed, again = prune("classifier", "numbered.csv")
    assert "Note: the first column has no name" in printed.stderr
    np.testing.assert_array_equal(again.last.weights_, plain)


def test_the_summary_is_a_table_for_readers(folder):
    out = prune("classifier", "grades.csv", "--oob", "--quiet")[0].stdout
    assert "before" in out
    assert "time for a row" in out


@pytest.mark.parametrize(
    ("model", "column", "values", "sentence"),
    [
        ("regressor", "price", "dear", "must be numbers for regression. It has 'dear'"),
        ("regressor", "price", 1.0, "at least 2 distinct values"),
        (
            "classifier",
            "grade",
            "perhaps",
            "'perhaps', which the model was not trained on",
        ),
        ("classifier", "grade", 1, "'1', which the model was not trained on"),
    ],
)
def test_targets_that_do_not_fit(model, column, values, sentence, folder, table):
    table.assign(**{column: values}).to_csv("rows.csv", index=False)
    error = refused("prune", f"{model}.skops", "rows.csv", "-o", "small.skops")
    assert sentence in error


def test_a_limit_that_nothing_meets_is_one_sentence(folder):
    words = ("-o", "small.skops", "--oob", "--max-bytes", 1)
    assert "max_bytes" in refused("prune", "classifier.skops", "grades.csv", *words)


def test_a_forest_of_somebody_else_needs_its_target_named(folder, table):
    forest = RandomForestRegressor(8, random_state=0)
    save(forest.fit(table[["size"]], table["price"]), "forest.skops")
    words = ("forest.skops", "prices.csv", "-o")
    for command, output in (("prune", "out.skops"), ("report", "out.html")):
        assert "give --target" in refused(command, *words, output, status=2)
    run("report", *words, "out.html", "--target", "price")
    _, small = prune("forest", "prices.csv", "--target", "price", "--oob")
    assert 0 < len(small.last.members_) <= 8
    assert small.target == "price"


@pytest.mark.parametrize(
    "output", ["classifier.skops", "./classifier.skops", "soft.skops", "hard.skops"]
)
def test_a_model_is_replaced_by_what_is_left_of_it_only_by_force(output, folder):
    (folder / "soft.skops").symlink_to("classifier.skops")
    (folder / "hard.skops").hardlink_to("classifier.skops")
    before = (folder / "classifier.skops").read_bytes()
    words = ("classifier.skops", "grades.csv", "--oob", "-o", output)
    assert "or --force" in refused("prune", *words, status=2)
    assert (folder / "classifier.skops").read_bytes() == before
    run("prune", *words, "--max-members", 2, "--force")
    assert read_model(output).last.n_members_ <= 2


def test_force_does_not_cost_the_rows(folder):
    (folder / "rows.skops").hardlink_to(folder / "grades.csv")
    words = ("classifier.skops", "grades.csv", "-o", "rows.skops", "--force")
    assert "it would be lost" in refused("prune", *words, status=2)


def test_sizes_have_units(folder):
    small = prune("classifier", "grades.csv", "--oob", "--max-bytes", "15kB")[1].last
    n_bytes = small.path_.n_bytes
    chosen = [len(np.flatnonzero(w)) for w in small.path_.weights]
    assert n_bytes[chosen.index(small.n_members_)] <= 15_000 < n_bytes.max()
    words = ("classifier.skops", "grades.csv", "-o", "s.skops", "--max-bytes", "5kX")
    assert "is not a size: give a number of bytes" in refused("prune", *words, status=2)
