"""A model with the facts about its table, and models of other people."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import save
from committee.shell.messages import ShellError
from committee.shell.table_model import read_model, source_name


def test_what_the_shell_knows_comes_back(trained):
    model = read_model(str(trained / "classifier.skops"))
    assert (model.task, model.target) == ("classification", "grade")
    assert (model.source["file"], model.source["rows"]) == ("grades.csv", 120)
    assert 0 <= model.source["held_out_error"] < 0.5
    assert model.schema.names == ["size", "age", "town", "code", "member"]
    assert model.schema.words == ["town", "code"]
    assert model.description["kind"] == "classifier"
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
    frame = table[["size", "age", "price"]]
    np.testing.assert_array_equal(model.take(frame)[0], frame.to_numpy())
    with pytest.raises(ShellError, match=r"takes 3 columns.* The table has 2"):
        model.take(frame[["size", "age"]])


def test_a_forest_with_names_takes_them_in_its_order(tmp_path, table):
    path = str(tmp_path / "forest.skops")
    save(RandomForestClassifier(3).fit(table[["size", "price"]], table["member"]), path)
    model = read_model(path)
    assert model.take(table)[0].columns.tolist() == ["size", "price"]
    with pytest.raises(ShellError, match=r"lacks 1 column .*: 'price'"):
        model.take(table[["size"]])


def test_what_cannot_predict_is_refused(tmp_path):
    path = str(tmp_path / "scaler.skops")
    save(StandardScaler().fit([[0.0], [1.0]]), path)
    with pytest.raises(ShellError, match="must contain a classifier or a regressor"):
        read_model(path)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/home/somebody/secret/t.csv", "t.csv"),
        ("-", "-"),
    ],
)
def test_the_folder_of_a_table_stays_private(path, kept):
    assert source_name(path) == kept
