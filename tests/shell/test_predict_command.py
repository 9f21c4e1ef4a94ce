"""Predict: the same rows give the same answers, however the table is laid out."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.svm import LinearSVC

from committee import save
from committee.shell.errors import ShellError
from committee.shell.model_files import read_model
from committee.shell.output import Voice
from committee.shell.predict_command import predict, predictions
from committee.shell.tables import read_table
from committee.shell.train_command import Recipe, train
from tests.shell.conftest import QUIET


@pytest.fixture
def classifier(trained):
    return str(trained / "classifier.skops")


def answers(model, frame, tmp_path, voice=QUIET, **options):
    data, output = tmp_path / "in.csv", str(tmp_path / "out.csv")
    frame.to_csv(data, index=False)
    predict(model, str(data), output=output, voice=voice, **options)
    return read_table(output)


def test_predictions_are_those_of_the_loaded_pipeline(classifier, table, tmp_path):
    model = read_model(classifier)
    X = model.rows(table)
    written = answers(classifier, table, tmp_path, proba=True)
    assert written.columns.tolist() == ["prediction", "p_no", "p_yes"]
    assert written["prediction"].tolist() == model.estimator.predict(X).tolist()
    np.testing.assert_allclose(
        written[["p_no", "p_yes"]], model.estimator.predict_proba(X), rtol=1e-12
    )


def test_the_order_of_columns_and_further_columns_do_not_matter(
    classifier, table, tmp_path
):
    plain = answers(classifier, table.drop(columns=["grade", "price"]), tmp_path)
    shuffled = table.assign(more="x")[["more", *table.columns[::-1]]]
    pd.testing.assert_frame_equal(answers(classifier, shuffled, tmp_path), plain)


def test_row_numbers_are_left_out_with_a_note(classifier, table, tmp_path, capsys):
    plain = answers(classifier, table, tmp_path)
    table.to_csv(tmp_path / "numbered.csv")
    output = str(tmp_path / "out.csv")
    predict(classifier, str(tmp_path / "numbered.csv"), output=output, voice=Voice())
    assert "Note: the first column has no name" in capsys.readouterr().err
    pd.testing.assert_frame_equal(read_table(output), plain)


def test_row_numbers_are_no_column_of_a_model_without_names(tmp_path, table):
    path, data = str(tmp_path / "m.skops"), tmp_path / "in.csv"
    numbers = table[["size", "price"]]
    save(LinearSVC().fit(numbers.to_numpy(), table["member"]), path)
    plain = answers(path, numbers, tmp_path)
    numbers.to_csv(data)
    predict(path, str(data), output=str(tmp_path / "out.csv"), voice=QUIET)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / "out.csv")), plain)


def test_a_column_without_a_name_that_the_model_knows_is_used(tmp_path, table, capsys):
    """In one row every whole number looks like the number of the row."""
    path, data = str(tmp_path / "m.skops"), tmp_path / "in.csv"
    frame = pd.DataFrame({"Unnamed: 0": [1, 1, 2, 2], "a": [0.5, 1.5, 1.0, 2.0]})
    save(LinearSVC().fit(frame, [0, 0, 1, 1]), path)
    frame[:1].to_csv(data, index=False)
    predict(path, str(data), output=str(tmp_path / "out.csv"), voice=Voice())
    assert capsys.readouterr().err == ""


def test_decimal_commas_are_the_numbers_of_training(classifier, table, tmp_path):
    plain = answers(classifier, table, tmp_path, proba=True)
    data, output = tmp_path / "comma.csv", str(tmp_path / "out.csv")
    table.to_csv(data, sep=";", decimal=",", index=False)
    predict(classifier, str(data), output=output, proba=True, voice=QUIET)
    pd.testing.assert_frame_equal(read_table(output), plain)


def test_unseen_words_are_noted_once_and_predicted(classifier, table, tmp_path, capsys):
    strange = table.assign(town="Oslo")
    assert len(answers(classifier, strange, tmp_path, Voice())) == len(table)
    err = capsys.readouterr().err
    assert err.count("Note:") == 1
    assert "'town' has values in 120 rows that were not there" in err


def test_words_that_look_like_numbers_stay_words(tmp_path, table, capsys):
    codes = table.assign(zip=np.where(table["size"] > 0, "01", "x1"))[["zip", "grade"]]
    codes.to_csv(tmp_path / "t.csv", index=False)
    model = str(tmp_path / "m.skops")
    train(
        str(tmp_path / "t.csv"),
        target="grade",
        output=model,
        recipe=Recipe(members=3),
        voice=QUIET,
    )
    capsys.readouterr()
    answers(model, codes[codes["zip"] == "01"], tmp_path, Voice())
    assert "Note" not in capsys.readouterr().err


def test_what_was_done_is_reported_beside_a_file(classifier, table, tmp_path, capsys):
    answers(
        classifier, table.assign(town="Oslo"), tmp_path, Voice(quiet=True, as_json=True)
    )
    report = json.loads(capsys.readouterr().out)
    assert report["rows"] == 120
    assert report["unseen_values"] == {"town": 120}


def test_json_beside_predictions_on_standard_output_is_a_usage_error(classifier):
    with pytest.raises(ShellError, match="give a file") as error:
        predict(classifier, "-", voice=Voice(as_json=True))
    assert error.value.status == 2


def test_a_regressor_has_no_probabilities(trained, table, tmp_path):
    regressor = str(trained / "regressor.skops")
    assert answers(regressor, table, tmp_path)["prediction"].dtype == np.float64
    with pytest.raises(ShellError, match="is a regressor: --proba"):
        answers(regressor, table, tmp_path, proba=True)


def test_a_classifier_without_probabilities_says_so(tmp_path, table):
    path = str(tmp_path / "svc.skops")
    save(LinearSVC().fit(table[["size"]], table["member"]), path)
    with pytest.raises(ShellError, match="gives no probabilities"):
        answers(path, table, tmp_path, proba=True)
    assert set(answers(path, table, tmp_path)["prediction"]) == {True, False}


def test_columns_of_probabilities_carry_the_labels():
    model = DummyClassifier().fit([[0], [1], [2]], [10, 20, 10])
    assert predictions(model, [[0]], proba=True).columns.tolist() == [
        "prediction",
        "p_10",
        "p_20",
    ]


def in_files(folder, frame, *cuts):
    """Write a table as CSV files, and return their pattern."""
    for number, rows in enumerate(np.split(np.arange(len(frame)), cuts)):
        frame.iloc[rows].to_csv(folder / f"part-{number}.csv", index=False)
    return str(folder / "part-*.csv")


@pytest.fixture
def on_dask(two_workers):
    return {"scheduler": two_workers.scheduler.address, "voice": QUIET}


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_files_are_predicted_as_one_table(kind, trained, table, tmp_path, on_dask):
    model = str(trained / f"{kind}.skops")
    expected = answers(model, table, tmp_path)
    output = str(tmp_path / "out.tsv.gz")
    pattern = in_files(tmp_path, table, 0, 13, 13, 14, 100)
    predict(model, pattern, output=output, **on_dask)
    pd.testing.assert_frame_equal(read_table(output), expected)


def test_values_that_are_new_are_counted_over_files(
    classifier, table, tmp_path, on_dask, capsys
):
    table.loc[[3, 60, 61], "town"] = "Oslo"
    pattern = in_files(tmp_path, table, 50)
    predict(classifier, pattern, **on_dask | {"voice": Voice()})
    printed = capsys.readouterr()
    assert "'town' has values in 3 rows that were not there" in printed.err
    assert len(printed.out.splitlines()) == 121


def test_files_without_any_rows_are_refused(classifier, table, tmp_path, on_dask):
    pattern = in_files(tmp_path, table[:0], 0)
    with pytest.raises(ShellError, match=r"part-1.csv' have no rows"):
        predict(classifier, pattern, output=str(tmp_path / "out.csv"), **on_dask)
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_lacks_a_column_is_named(classifier, table, tmp_path, on_dask):
    pattern = in_files(tmp_path, table, 60)
    table[60:].drop(columns="age").to_csv(tmp_path / "part-1.csv", index=False)
    with pytest.raises(ShellError, match=r"part-1.csv': The table lacks 1 column"):
        predict(classifier, pattern, output=str(tmp_path / "out.csv"), **on_dask)
