"""Predict: the same rows give the same predictions, however the table is laid out."""

import json

import numpy as np
import pandas as pd
from pandas.testing import assert_frame_equal
from sklearn.svm import LinearSVC, LinearSVR

from committee import Bagging, CommitteeClassifier, CommitteeRegressor, save
from committee.shell.table_model import read_model
from committee.shell.tables import read_table
from tests.shell.conftest import refused, run


def predict(model, data, *words, output="out.csv"):
    """Predict rows of the working folder; return the table, and what is printed."""
    if not isinstance(data, str):
        data.to_csv("rows.csv", index=False)
        data = "rows.csv"
    printed = run("predict", f"{model}.skops", data, "-o", output, *words)
    return read_table(output), printed


def test_predictions_are_those_of_the_loaded_pipeline(folder, table):
    model = read_model("classifier.skops")
    X, _ = model.take(table)
    written, _ = predict("classifier", table, "--proba")
    assert written.columns.tolist() == ["prediction", "p_no", "p_yes"]
    assert written["prediction"].tolist() == model.estimator.predict(X).tolist()
    np.testing.assert_allclose(
        written[["p_no", "p_yes"]], model.estimator.predict_proba(X), rtol=1e-12
    )


def test_the_layout_of_the_table_does_not_matter(folder, table):
    """Order of columns, further columns, row numbers, commas and endings."""
    plain, _ = predict("classifier", table[["size", "age", "town", "code", "member"]])
    shuffled = table.assign(more="x")[["more", *table.columns[::-1]]]
    assert_frame_equal(predict("classifier", shuffled)[0], plain)
    table.to_csv("numbered.csv.gz")
    numbered, printed = predict("classifier", "numbered.csv.gz", output="out.tsv.zst")
    assert_frame_equal(numbered, plain)
    assert "Note: the first column has no name" in printed.stderr
    table.to_csv("commas.csv", sep=";", decimal=",", index=False)
    assert_frame_equal(predict("classifier", "commas.csv")[0], plain)
    table.to_parquet("rows.pq")
    in_parquet, _ = predict("classifier", "rows.pq", output="out.parquet")
    assert_frame_equal(in_parquet, plain)


def test_row_numbers_are_no_column_of_a_model_without_names(folder, table):
    numbers = table[["size", "price"]]
    save(LinearSVC().fit(numbers.to_numpy(), table["member"]), "m.skops")
    numbers.to_csv("numbered.csv")
    assert_frame_equal(predict("m", "numbered.csv")[0], predict("m", numbers)[0])


def test_a_column_without_a_name_that_the_model_knows_is_used(folder):
    """In one row every whole number looks like the number of the row."""
    frame = pd.DataFrame({"Unnamed: 0": [1, 1, 2, 2], "a": [0.5, 1.5, 1.0, 2.0]})
    save(LinearSVC().fit(frame, [0, 0, 1, 1]), "m.skops")
    assert predict("m", frame[:1])[1].stderr == ""


def test_unseen_words_are_noted_once_and_predicted(folder, table):
    written, printed = predict("classifier", table.assign(town="Oslo"))
    assert len(written) == len(table)
    assert printed.stderr.count("Note:") == 1
    assert "'town' has values in 120 rows that were not there" in printed.stderr
    _, printed = predict("classifier", table.assign(town="Oslo"), "--json", "--quiet")
    report = json.loads(printed.stdout)
    assert (report["rows"], report["unseen_values"]) == (120, {"town": 120})


def test_words_that_look_like_numbers_stay_words(folder, table):
    codes = table.assign(zip=np.where(table["size"] > 0, "01", "x1"))[["zip", "grade"]]
    codes.to_csv("codes.csv", index=False)
    run("train", "codes.csv", "--target", "grade", "-o", "m.skops", "--members", 3)
    _, printed = predict("m", codes[codes["zip"] == "01"])
    assert printed.stderr == ""


def test_what_gives_no_probabilities_says_so(folder, table):
    assert predict("regressor", table)[0]["prediction"].dtype == np.float64
    save(LinearSVC().fit(table[["size"]], table["member"]), "svc.skops")
    error = refused("predict", "svc.skops", "grades.csv", "--proba")
    assert "gives no probabilities" in error
    assert set(predict("svc", table)[0]["prediction"]) == {True, False}


def test_json_beside_predictions_on_standard_output_is_a_usage_error(folder):
    words = ("predict", "classifier.skops", "grades.csv", "--json")
    assert "give a file" in refused(*words, status=2)


def test_intervals_are_those_of_the_committee(folder, table):
    model = read_model("regressor.skops")
    X, _ = model.take(table)
    expected = model.last.predict_interval(model.estimator[:-1].transform(X), 0.8)
    written, _ = predict("regressor", table, "--interval", 0.8)
    assert written.columns.tolist() == ["prediction", "lower", "upper"]
    np.testing.assert_allclose(written[["lower", "upper"]], expected, rtol=1e-12)
    run("prune", "regressor.skops", "prices.csv", "--oob", "-o", "small.skops")
    pruned, _ = predict("small", table, "--interval", 0.8)
    assert (pruned["lower"] < pruned["upper"]).all()
    assert (
        np.mean((pruned["lower"] < table["price"]) & (table["price"] < pruned["upper"]))
        > 0.8
    )


def test_intervals_that_there_are_not(folder, table):
    table.to_csv("rows.csv", index=False)
    said = refused("predict", "classifier.skops", "rows.csv", "--interval", 0.9)
    assert "is a classifier: --interval is for numbers" in said
    words = ("predict", "regressor.skops", "rows.csv", "--interval")
    assert "above 0 and below 1" in refused(*words, 90, status=2)
    assert "needs at least 999 held-out rows" in refused(*words, 0.999)
    save(LinearSVR().fit(table[["size"]], table["price"]), "m.skops")
    said = refused("predict", "m.skops", "rows.csv", "--interval", 0.9)
    assert "is not a committee" in said
    bag = CommitteeRegressor(generator=Bagging(2)).fit(table[["size"]], table["price"])
    save(bag, "m.skops")
    said = refused("predict", "m.skops", "rows.csv", "--interval", 0.9)
    assert "stores no held-out rows" in said


def test_sets_are_those_of_the_committee(folder, table):
    model = read_model("classifier.skops")
    X, _ = model.take(table)
    expected = model.last.predict_set(model.estimator[:-1].transform(X), 0.8)
    written, _ = predict("classifier", table, "--set", 0.8)
    names = [f"in_{label}" for label in model.estimator.classes_]
    assert written.columns.tolist() == ["prediction", *names]
    np.testing.assert_array_equal(written[names], expected)


def test_sets_that_there_are_not(folder, table):
    table.to_csv("rows.csv", index=False)
    said = refused("predict", "regressor.skops", "rows.csv", "--set", 0.9)
    assert "is a regressor: --proba and --set are for classes" in said
    words = ("predict", "classifier.skops", "rows.csv", "--set")
    assert "--set must be a fraction above 0" in refused(*words, 1.5, status=2)
    assert "needs at least 999 held-out rows" in refused(*words, 0.999)
    bag = CommitteeClassifier(generator=Bagging(2)).fit(
        table[["size"]], table["price"] > table["price"].mean()
    )
    save(bag, "m.skops")
    said = refused("predict", "m.skops", "rows.csv", "--set", 0.9)
    assert "stores no held-out rows" in said
