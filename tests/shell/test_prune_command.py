"""Prune: fewer members, the same table, and honest refusals."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from committee import save
from committee.shell.table_model import read_model
from tests.shell.conftest import refused, run


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
    assert report["summary"]["n_members_before"] == 8
    assert report["summary"]["oob"] is True
    before = read_model(f"{model}.skops")
    assert (small.columns, small.target) == (before.columns, before.target)
    assert small.source == before.source
    run("predict", "small.skops", data)


def test_row_numbers_are_left_out_with_a_note(folder, table):
    plain = prune("classifier", table)[1].last.weights_
    table.to_csv("numbered.csv")
    printed, again = prune("classifier", "numbered.csv")
    assert "Note: the first column has no name" in printed.stderr
    np.testing.assert_array_equal(again.last.weights_, plain)


def test_the_summary_is_a_table_for_readers(folder):
    out = prune("classifier", "grades.csv", "--oob", "--quiet")[0].stdout
    assert "before" in out
    assert "seconds per row" in out


@pytest.mark.parametrize(
    ("model", "column", "values", "sentence"),
    [
        ("regressor", "price", "dear", "must be numbers for regression. It has 'dear'"),
        ("regressor", "price", 1.0, "at least 2 distinct values"),
        ("classifier", "grade", "perhaps", "'perhaps', which the model does not know"),
        ("classifier", "grade", 1, "'1', which the model does not know"),
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
    words = ("forest.skops", "prices.csv", "-o", "out.html")
    for command in ("prune", "report"):
        assert "give --target" in refused(command, *words, status=2)
    run("report", *words, "--target", "price")
    _, small = prune("forest", "prices.csv", "--target", "price", "--oob")
    assert 0 < len(small.last.members_) <= 8
    assert small.target == "price"
