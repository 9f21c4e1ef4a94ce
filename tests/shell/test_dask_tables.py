"""Rows in files are read as the same rows in one table, whatever the parts."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import prune, save
from committee.shell import dask_tables as module
from committee.shell.dask_tables import (
    labelled_rows,
    naming_files,
    parts_of,
    training_rows,
)
from committee.shell.encoding import TableEncoding
from committee.shell.messages import USAGE, Messages, ShellError
from committee.shell.options import Train
from committee.shell.schema import TableLook, split_target
from committee.shell.table_model import read_model
from committee.shell.tables import files_of, is_for_dask
from tests.shell.conftest import QUIET, in_files

pytest.importorskip("dask.dataframe")


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def parts(frame, *cuts, ending="csv"):
    return parts_of(files_of(in_files(frame, *cuts, ending=ending)))


def training(found, target="grade", estimator="tree", quiet=True):
    return training_rows(found, options(target, estimator, quiet))


def options(target, estimator, quiet=True):
    return Train(data="", target=target, output="", estimator=estimator, quiet=quiet)


def in_memory(frame, target, estimator):
    asked = options(target, estimator)
    look = TableLook.at(frame, asked)
    rows, y = split_target(frame, target, look.types)
    return TableEncoding.fit(rows, y, asked, look, n_rows=len(rows))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("estimator", ["tree", "linear"])
@pytest.mark.parametrize("target", ["grade", "price", "member"])
def test_training_rows_are_those_of_memory(target, estimator, ending, table):
    table["name"] = [f"row {i}" for i in range(len(table))]
    found = parts(table, 0, 40, 40, 90, ending=ending)
    rows, encoding = training(found, target, estimator)
    expected = in_memory(table, target, estimator)
    assert (encoding.task, encoding.schema) == (expected.task, expected.schema)
    assert "name" not in encoding.schema.names
    np.testing.assert_allclose(rows.X.compute(), expected.X(table), rtol=1e-12)
    np.testing.assert_array_equal(rows.y.compute(), expected.y(table))
    assert rows.X.chunks[0] == (40, 50, 30)
    assert rows.parts == [found[1], found[3], found[4]]


def test_text_in_one_file_makes_the_column_text_in_all():
    frame = pd.DataFrame({"code": ["007", "012"] * 30, "grade": ["a", "b"] * 30})
    frame.loc[59, "code"] = "x"
    rows, encoding = training(parts(frame, 30))
    assert encoding.schema.words == ["code"]
    assert rows.X.compute().sum(axis=0).tolist() == [30, 29, 1]


def test_columns_may_stand_in_any_order_and_row_numbers_begin_again(table):
    table[:60].to_csv("part-0.csv")
    later = table[60:].reset_index(drop=True)
    later[later.columns[::-1]].to_csv("part-1.csv")
    rows, encoding = training(parts_of(files_of("part-*.csv")))
    assert "Unnamed: 0" not in encoding.schema.names
    expected = in_memory(table, "grade", "tree").X(table)
    np.testing.assert_allclose(rows.X.compute(), expected, rtol=1e-12)


def test_large_tables_are_read_by_a_sample(table, monkeypatch, capsys):
    monkeypatch.setattr(module, "SAMPLED_ROWS", 50)
    rows, encoding = training(parts(table, 70), "price", "linear", quiet=False)
    assert "encoded from 49 of the rows" in capsys.readouterr().err
    sample = pd.concat([table[:70:3], table[70::2]])
    scaler = encoding.transformer.named_transformers_["numbers"][-1]
    assert scaler.mean_[0] == pytest.approx(sample["size"].mean())
    assert rows.X.compute().shape[0] == 120


@pytest.mark.parametrize("n", [10, 11])
def test_the_task_is_guessed_from_all_parts(n):
    frame = pd.DataFrame({"a": np.arange(44.0), "y": np.arange(44) % n})
    _, encoding = training(parts(frame, 7, 20), "y")
    assert encoding.task == ("classification" if n == 10 else "regression")


def change(table, **values):
    return pd.concat([table[:60], table[60:].assign(**values)])


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (lambda t: t.drop(columns="age"), "part-1.csv' lacks 'age' of 'part-0.csv'"),
        (lambda t: t.assign(size=np.inf), "part-1.csv': The column 'size' .* Row 1 "),
        (lambda t: t.assign(grade="yes"), "All 120 rows have 'yes'"),
    ],
    ids=["columns", "infinite", "constant"],
)
def test_errors_name_the_file(second, sentence, table):
    table["grade"] = "yes" if "All" in sentence else table["grade"]
    table[:60].to_csv("part-0.csv", index=False)
    second(table[60:]).to_csv("part-1.csv", index=False)
    with pytest.raises(ShellError, match=sentence):
        training(parts_of(files_of("part-*.csv")))[0].X.compute()


def test_a_target_of_booleans_and_numbers_is_refused():
    pd.DataFrame({"a": [1, 2], "grade": [True, False]}).to_csv("a.csv", index=False)
    pd.DataFrame({"a": [1, 2], "grade": [1, 0]}).to_csv("b.csv", index=False)
    with pytest.raises(ShellError, match=r"has booleans in 'a.csv' and numbers in 'b"):
        training(parts_of(["a.csv", "b.csv"]))


@pytest.fixture
def classifier(trained):
    return read_model(str(trained / "classifier.skops"))


def test_labelled_rows_are_those_of_memory(classifier, trained, table, capsys):
    table.loc[[3, 60, 61], "town"] = "Oslo"
    table.to_csv("whole.csv", index=False)
    rows = labelled_rows(classifier, parts(table, 0, 50, 50, 90), Messages())
    assert "'town' has values in 3 rows that were not" in capsys.readouterr().err
    X, y = classifier.read_labelled("whole.csv", QUIET)
    found = rows.X.compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(found, X)
    np.testing.assert_array_equal(rows.y.compute(), y)
    assert rows.X.npartitions == len(rows.parts) == 3
    assert rows.n_rows == 120


@pytest.mark.parametrize("named", [True, False])
def test_models_of_others_take_files_too(named, table):
    numbers = table[["size", "price"]]
    rows = numbers if named else numbers.to_numpy()
    forest = RandomForestClassifier(5, random_state=0).fit(rows, table["grade"])
    save(forest, "forest.skops")
    model = read_model("forest.skops", "grade")
    found = labelled_rows(model, parts(table[["size", "price", "grade"]], 50), QUIET)
    weights = [
        prune(forest, X, y, oob=False).combiner_.weights_
        for X, y in ((found.X, found.y), (rows, table["grade"]))
    ]
    np.testing.assert_allclose(*weights, rtol=0, atol=1e-8)


def test_whole_numbers_of_one_file_are_numbers_in_all():
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40)})
    save(RandomForestRegressor(2).fit(frame[["a"]], frame["y"]), "forest.skops")
    frame["y"] = np.where(frame.index < 20, frame["y"], frame["y"] + 0.5)
    frame[:20].astype(int).to_csv("part-0.csv", index=False)
    frame[20:].to_csv("part-1.csv", index=False)
    model = read_model("forest.skops", "y")
    rows = labelled_rows(model, parts_of(files_of("part-*.csv")), QUIET)
    np.testing.assert_array_equal(rows.y.compute(), frame["y"])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"grade": "maybe"}, "part-1.csv': The target 'grade' has 'maybe', which"),
        ({"size": "big"}, "part-1.csv': The column 'size' must hold finite numbers"),
    ],
)
def test_errors_of_labelled_rows_name_the_file(values, sentence, classifier, table):
    with pytest.raises(ShellError, match=sentence):
        labelled_rows(classifier, parts(change(table, **values), 60), QUIET)


def test_files_without_rows_or_with_one_value_are_refused(classifier, table):
    for read in (training, lambda p: labelled_rows(classifier, p, QUIET)):
        with pytest.raises(ShellError, match="have no rows"):
            read(parts(table[:0], 0))
        with pytest.raises(ShellError, match="All 120 rows have 'yes'"):
            read(parts(table.assign(grade="yes"), 60))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    return tmp_path / "rows"


@pytest.fixture
def both(folder):
    for name in "ab":
        (folder / f"{name}.csv").write_text("size\n1\n")
    return parts_of(files_of("rows/*.csv"))


def test_files_come_in_the_order_of_their_numbers(folder):
    for number in (10, 2, 1):
        (folder / f"part.{number}.csv").write_text("a\n1\n")
    (folder / "part.1²3.csv").write_text("a\n1\n")  # int("²") is an error
    (folder / "_SUCCESS.csv").write_text("")
    (folder / "folder.csv").mkdir()
    assert files_of("rows/*.csv") == [f"rows/part.{i}.csv" for i in (1, "1²3", 2, 10)]


def test_a_folder_stands_for_its_parquet_files(folder, table):
    for number in (0, 1):
        table.to_parquet(folder / f"part.{number}.parquet")
    (folder / "notes.txt").write_text("hello")
    assert is_for_dask("rows")
    assert files_of("rows") == ["rows/part.0.parquet", "rows/part.1.parquet"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [("rows/*.csv", "check its folder"), ("rows", r"has no files \*.parquet")],
)
def test_no_files_at_all(data, sentence, folder):
    with pytest.raises(ShellError, match=sentence) as caught:
        files_of(data)
    assert caught.value.status == USAGE


def test_a_file_with_stars_in_its_name_is_a_file(folder):
    (folder / "a*.csv").write_text("a\n1\n")
    assert not is_for_dask("rows/a*.csv")
    assert is_for_dask("rows/a*.csv", "tcp://10.0.0.1:8786")
    assert files_of("rows/a*.csv") == ["rows/a*.csv"]


def test_a_large_parquet_file_is_read_by_groups_of_rows(folder, table, monkeypatch):
    table.to_parquet(folder / "a.parquet", row_group_size=30)
    path = str(folder / "a.parquet")
    (whole,) = parts_of([path])
    for size, groups in (
        (1, [(0,), (1,), (2,), (3,)]),
        ((folder / "a.parquet").stat().st_size - 1, [(0, 1), (2, 3)]),
    ):
        monkeypatch.setattr(module, "_LARGE", size)
        pieces = parts_of([path])
        assert [piece.groups for piece in pieces] == groups
        read = pd.concat([piece.read() for piece in pieces], ignore_index=True)
        assert_frame_equal(read, whole.read())


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (ValueError("too short"), "'rows/b.csv': too short"),
        (OSError(116, "Stale handle", "/x"), "'rows/b.csv': Stale handle"),
        (OSError("short file"), "'rows/b.csv': short file"),
    ],
)
def test_errors_have_the_name_of_the_file(error, named, both):
    with pytest.raises(ShellError, match=f"^{named}$"), both[1].named():
        raise error


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Chunk 1 has rows of one class only", "'rows/b.csv' has rows of one"),
        ("Member 2 failed: Chunk 0: too deep", "Member 2 failed: 'rows/a.csv': too"),
    ],
)
def test_chunks_in_errors_become_files(text, named, both):
    with pytest.raises(ShellError, match=f"^{named}"), naming_files(both):
        raise ValueError(text)


@pytest.mark.parametrize("text", ["All is wrong", "Chunk 7 is not of this table"])
def test_other_errors_stay_as_they_are(text, both):
    with pytest.raises(ValueError, match=f"^{text}$"), naming_files(both):
        raise ValueError(text)
