"""Rows with targets, in files: as in memory, and errors have the file's name."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import prune
from committee.shell.errors import ShellError
from committee.shell.model_files import Model, read_model
from committee.shell.scoring_rows import labelled_parts, labelled_rows
from tests.shell.conftest import QUIET
from tests.shell.test_survey import write

pytest.importorskip("dask.dataframe")


@pytest.fixture
def classifier(trained):
    return read_model(str(trained / "classifier.skops"))


def pieces(table, *cuts):
    return [table.iloc[r] for r in np.split(np.arange(len(table)), cuts)]


def test_rows_and_targets_are_those_of_memory(classifier, trained, tmp_path, table):
    parts = write(tmp_path, *pieces(table, 0, 50, 50, 90))
    found = labelled_parts(classifier, parts, "grade")
    path = str(trained / "grades.csv")
    X, y = labelled_rows(classifier, path, "grade", QUIET)
    assert_frame_equal(found.X.compute().reset_index(drop=True), X)
    np.testing.assert_array_equal(found.y.compute(), y)
    assert found.X.npartitions == len(found.parts) == 3
    assert found.findings.n_rows == 120


def test_a_regressor_is_pruned_as_in_memory(trained, tmp_path, table):
    model = read_model(str(trained / "regressor.skops"))
    found = labelled_parts(model, write(tmp_path, *pieces(table, 80)), "price")
    X, y = labelled_rows(model, str(trained / "prices.csv"), "price", QUIET)
    small, expected = (
        prune(model.estimator, rows, targets)
        for rows, targets in ((found.X, found.y), (X, y))
    )
    np.testing.assert_allclose(
        small.combiner_.weights_, expected.combiner_.weights_, rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("named", [True, False])
def test_models_of_others_take_files_too(named, tmp_path, table):
    numbers = table[["size", "price"]]
    rows = numbers if named else numbers.to_numpy()
    forest = RandomForestClassifier(5, random_state=0).fit(rows, table["grade"])
    frame = table[["size", "price", "grade"]]
    parts = write(tmp_path, *pieces(frame, 50))
    found = labelled_parts(Model(forest), parts, "grade")
    np.testing.assert_array_equal(np.asarray(found.X.compute()), numbers.to_numpy())
    small = prune(forest, found.X, found.y)
    expected = prune(forest, rows, table["grade"])
    np.testing.assert_allclose(
        small.combiner_.weights_, expected.combiner_.weights_, rtol=0, atol=1e-8
    )


def test_texts_that_are_new_are_counted_over_files(classifier, tmp_path, table):
    table.loc[[3, 60, 61], "town"] = "Oslo"
    found = labelled_parts(classifier, write(tmp_path, *pieces(table, 50)), "grade")
    assert dict(found.findings.unseen) == {"town": 3}


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("grade", "maybe", r"part-1.csv': The target 'grade' has 'maybe', which"),
        ("size", "big", r"part-1.csv': The column 'size' must hold finite numbers"),
    ],
)
def test_errors_name_the_file(column, value, said, classifier, tmp_path, table):
    one, two = pieces(table, 60)
    with pytest.raises(ShellError, match=said):
        labelled_parts(
            classifier, write(tmp_path, one, two.assign(**{column: value})), "grade"
        )


def test_no_rows_and_one_value_are_refused(classifier, tmp_path, table):
    with pytest.raises(ShellError, match="have no rows"):
        labelled_parts(classifier, write(tmp_path, table[:0], table[:0]), "grade")
    same = table.assign(grade="yes")
    with pytest.raises(ShellError, match="All 120 rows have 'yes'"):
        labelled_parts(classifier, write(tmp_path, *pieces(same, 60)), "grade")


def test_whole_numbers_of_one_file_are_numbers_in_all(tmp_path):
    X = pd.DataFrame({"a": np.arange(40.0)})
    forest = RandomForestRegressor(5, random_state=0).fit(X, X["a"])
    one = pd.DataFrame({"a": np.arange(20), "y": np.arange(20)})
    two = pd.DataFrame({"a": np.arange(20) + 0.5, "y": np.arange(20) + 0.5})
    found = labelled_parts(Model(forest), write(tmp_path, one, two), "y")
    np.testing.assert_array_equal(found.y.compute(), pd.concat([one, two])["y"])
