"""Prune: fewer members, the same table, and honest refusals."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from committee import save
from committee.shell.errors import ShellError
from committee.shell.model_files import read_model
from committee.shell.output import Voice
from committee.shell.predict_command import predict
from committee.shell.prune_command import prune
from tests.shell.conftest import QUIET, make_table

JSON = Voice(quiet=True, as_json=True)


def pruned(trained, tmp_path, model="classifier", data="grades", **options):
    path = tmp_path / "small.skops"
    table = trained / f"{data}.csv" if isinstance(data, str) else tmp_path / "t.csv"
    if not isinstance(data, str):
        data.to_csv(table, index=False)
    prune(
        str(trained / f"{model}.skops"),
        str(table),
        output=str(path),
        **{"voice": JSON} | options,
    )
    return read_model(str(path))


@pytest.mark.parametrize(
    ("model", "data"), [("classifier", "grades"), ("regressor", "prices")]
)
def test_a_committee_is_pruned_on_the_rows_it_was_trained_on(
    model, data, trained, tmp_path, capsys
):
    small = pruned(trained, tmp_path, model, data, oob=True, limits={"max_members": 3})
    assert len(small.last.members_) <= 3
    report = json.loads(capsys.readouterr().out)
    assert report["members"] == len(small.last.members_)
    assert report["summary"]["n_members_before"] == 8
    assert report["summary"]["oob"] is True


def test_a_small_model_reads_the_same_tables(trained, tmp_path, table):
    small = pruned(trained, tmp_path, data=make_table(seed=1), voice=QUIET)
    assert small.columns == read_model(str(trained / "classifier.skops")).columns
    assert small.target == "grade"
    assert small.source["file"] == "grades.csv"
    table.to_csv(tmp_path / "in.csv", index=False)
    output = tmp_path / "out.parquet"
    predict(
        str(tmp_path / "small.skops"),
        str(tmp_path / "in.csv"),
        output=str(output),
        proba=True,
        voice=QUIET,
    )
    assert output.exists()


def test_row_numbers_are_left_out_with_a_note(trained, tmp_path, table, capsys):
    plain = pruned(trained, tmp_path, data=table).last.weights_
    table.to_csv(tmp_path / "numbered.csv")
    prune(
        str(trained / "classifier.skops"),
        str(tmp_path / "numbered.csv"),
        output=str(tmp_path / "small.skops"),
        voice=Voice(),
    )
    assert "Note: the first column has no name" in capsys.readouterr().err
    again = read_model(str(tmp_path / "small.skops")).last.weights_
    np.testing.assert_array_equal(again, plain)


def test_the_summary_is_a_table_for_readers(trained, tmp_path, capsys):
    pruned(trained, tmp_path, oob=True, voice=Voice(quiet=True))
    out = capsys.readouterr().out
    assert "before" in out
    assert "seconds per row" in out


def test_limits_that_are_not_given_are_no_limits(trained, tmp_path):
    free = pruned(trained, tmp_path, oob=True, limits={"max_bytes": None})
    again = pruned(trained, tmp_path, oob=True)
    np.testing.assert_array_equal(free.last.weights_, again.last.weights_)


def test_a_limit_that_nothing_meets_is_one_sentence(trained, tmp_path):
    with pytest.raises(ValueError, match="max_bytes"):
        pruned(trained, tmp_path, oob=True, limits={"max_bytes": 1})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"price": "dear"}, "must be numbers for regression. It has 'dear'"),
        ({"price": 1.0}, "at least 2 distinct values"),
    ],
)
def test_a_regressor_needs_numbers(change, words, trained, tmp_path, table):
    table = table.assign(**change)
    table.loc[0, "price"] = "cheap" if change["price"] == "dear" else 1.0
    with pytest.raises(ShellError) as error:
        pruned(trained, tmp_path, "regressor", table)
    assert words.replace("dear", "cheap") in str(error.value)


def test_labels_the_model_does_not_know_are_named(trained, tmp_path, table):
    table.loc[[1, 2], "grade"] = "perhaps"
    with pytest.raises(ShellError, match=r"'perhaps', which .* are 'no', 'yes'"):
        pruned(trained, tmp_path, data=table)


def test_a_column_of_another_type_is_a_model_of_another_task(trained, tmp_path, table):
    table["grade"] = np.arange(len(table)) % 2
    with pytest.raises(ShellError, match="has '0', '1', which the model does not know"):
        pruned(trained, tmp_path, data=table)


def test_a_forest_of_somebody_else_needs_its_target_named(tmp_path, table):
    frame = table[["size", "price"]]
    forest = RandomForestRegressor(8, random_state=0).fit(
        frame[["size"]], frame["price"]
    )
    save(forest, tmp_path / "forest.skops")
    with pytest.raises(ShellError, match="give --target") as error:
        pruned(tmp_path, tmp_path, "forest", frame)
    assert error.value.status == 2
    small = pruned(tmp_path, tmp_path, "forest", frame, target="price", oob=True)
    assert 0 < len(small.last.members_) <= 8
    assert small.target == "price"
