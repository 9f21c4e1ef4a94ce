"""A model with the facts about its table, and models of other people."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import save
from committee.shell.encoding import Columns
from committee.shell.errors import ShellError
from committee.shell.model_files import (
    Model,
    check_model_output,
    read_model,
    source_of,
    write_model,
)


def test_what_the_shell_knows_comes_back(trained, table):
    model = read_model(str(trained / "classifier.skops"))
    assert model.task == "classification"
    assert model.target == "grade"
    assert model.source == {"file": "grades.csv", "rows": 120}
    assert model.columns == Columns.of(table.drop(columns=["grade", "price"]))
    assert model.description["kind"] == "classifier"
    assert model.encoder.transformers_[0][0] == "numbers"
    assert type(model.last).__name__ == "CommitteeClassifier"


def test_a_saved_model_carries_neither_jobs_nor_progress(trained):
    committee = read_model(str(trained / "regressor.skops")).last
    assert committee.n_jobs is None
    assert not committee.verbose


def test_a_forest_without_names_takes_as_many_columns(tmp_path, table):
    X, y = make_classification(50, 3, n_informative=3, n_redundant=0, random_state=0)
    path = str(tmp_path / "forest.skops")
    save(make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, y), path)
    model = read_model(path)
    assert model.columns is None
    frame = table[["size", "age", "price"]]
    np.testing.assert_array_equal(model.rows(frame), frame.to_numpy())
    with pytest.raises(ShellError, match=r"takes 3 columns .* The table has 2"):
        model.rows(frame[["size", "age"]])


def test_a_forest_with_names_takes_them_in_its_order(tmp_path, table):
    frame = table[["size", "price"]]
    path = str(tmp_path / "forest.skops")
    save(RandomForestClassifier(3).fit(frame, table["member"]), path)
    model = read_model(path)
    assert model.rows(table).columns.tolist() == ["size", "price"]
    with pytest.raises(ShellError, match=r"lacks 1 column .*: 'price'"):
        model.rows(table[["size"]])


def test_what_cannot_predict_is_refused(tmp_path):
    path = str(tmp_path / "scaler.skops")
    save(StandardScaler().fit([[0.0], [1.0]]), path)
    with pytest.raises(ShellError, match="must hold a classifier or a regressor"):
        read_model(path)


def test_a_missing_package_is_noticed_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr("committee.shell.model_files.find_spec", lambda name: None)
    with pytest.raises(ShellError, match=r"need skops.*pip install 'committee\["):
        check_model_output(str(tmp_path / "m.skops"))


def test_the_size_of_the_file_is_told(tmp_path):
    path = tmp_path / "m.skops"
    forest = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    assert write_model(Model(forest), str(path)) == path.stat().st_size


def test_the_folder_of_a_table_stays_private():
    assert source_of("/home/somebody/secret/t.csv", 3) == {"file": "t.csv", "rows": 3}
    assert source_of("-", 3)["file"] == "-"


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("/home/somebody/rows/*.csv", "rows/*.csv"),
        ("rows/2024-*/part?.csv", "rows/2024-*/part?.csv"),
        ("*.csv", "*.csv"),
    ],
)
def test_a_pattern_keeps_the_folder_that_it_is_about(pattern, kept):
    assert source_of(pattern, 3)["file"] == kept
