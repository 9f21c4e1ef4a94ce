"""From columns of a table to numbers, in training and later."""

import io
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import skops.io

from committee.shell.encoding import TableEncoding, unseen
from committee.shell.messages import ShellError
from committee.shell.options import Train
from committee.shell.schema import FEW, row_numbers


def fitted(frame, estimator="tree", quiet=True, y=None):
    """The encoding of a table whose target, unless given, does not matter."""
    y = pd.Series(np.arange(len(frame)) % 2 if y is None else y, name="y")
    options = Train(data="", target="y", output="", estimator=estimator, quiet=quiet)
    return TableEncoding.fit(frame.assign(y=y), options)


def numbers(encoding, frame):
    return encoding.transformer.transform(encoding.schema.take(frame))


def many(n=3 * FEW):
    return pd.DataFrame({"code": [f"c{i:02d}" for i in range(n)] * 2})


def test_columns_are_numbers_or_words_and_are_taken_by_name(table):
    before = table.copy(deep=True)
    columns = fitted(table[["size", "town", "member"]]).schema
    assert columns.words == ["town"]
    taken = columns.take(table[["grade", "town", "price", "member", "size"]])
    pd.testing.assert_frame_equal(taken, columns.take(table))
    assert taken.columns.tolist() == ["size", "town", "member"]
    assert columns.take(pd.DataFrame({"size": [1], "town": [2], "member": [True]}))[
        "town"
    ].tolist() == ["2"]
    pd.testing.assert_frame_equal(table, before)


def test_text_that_names_the_row_is_left_out_with_a_note(capsys):
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(30)], "a": [1, 2] * 15})
    assert fitted(frame, quiet=False).schema.names == ["a"]
    assert "Note: 'name' left out: different in every row" in capsys.readouterr().err
    assert fitted(frame.head(10)).schema.names == ["name", "a"]
    with pytest.raises(ShellError, match="no columns to predict from"):
        fitted(frame[["name"]])


def written(frame, **options):
    """The frame as pandas writes and reads it."""
    return pd.read_csv(io.StringIO(frame.to_csv(**options)))


def test_row_numbers_that_pandas_writes_are_left_out(table):
    numbered = written(table)
    assert fitted(numbered).schema.names == table.columns.tolist()
    shuffled = written(table.sample(frac=0.5, random_state=0))
    assert row_numbers(shuffled) == ["Unnamed: 0"]
    twice = written(numbered)
    assert sorted(row_numbers(twice)) == ["Unnamed: 0", "Unnamed: 0.1"]
    assert row_numbers(written(table.rename_axis("number"))) == []
    with pytest.raises(ShellError, match="no columns to predict from"):
        fitted(numbered[["Unnamed: 0"]])


@pytest.mark.parametrize("index", [[0, 1, 1], [0.5, 1, 2], [-1, 0, 1], ["u", "v", "w"]])
def test_what_numbers_no_rows_is_a_column(index):
    frame = written(pd.DataFrame({"a": [1, 2, 3]}, index=index))
    assert fitted(frame).schema.names == ["Unnamed: 0", "a"]


def test_what_is_neither_number_nor_text_is_refused():
    with pytest.raises(ShellError, match=r"'when' must contain .* It contains mixed"):
        fitted(pd.DataFrame({"when": [[1, 2], [3]]}))


def test_missing_is_a_value_and_unseen_is_none_and_counted(table):
    encoding = fitted(table[["town", "code"]])
    new = pd.DataFrame(
        {"town": ["Bonn", None, "Oslo", "Rome"], "code": ["c00", "zz", None, "c01"]}
    )
    X = encoding.schema.take(new)
    assert unseen(encoding.transformer, X) == {"town": 2, "code": 1}
    assert numbers(encoding, new).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, -1],
        [0, 0, 0, 0, -1],
        [0, 0, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("n", "estimator", "width"),
    [(FEW, "tree", FEW), (FEW, "svm", FEW), (60, "tree", 1), (60, "svm", FEW + 1)],
)
def test_many_words_stay_few_columns(n, estimator, width):
    X = numbers(fitted(many(n), estimator), many(n))
    assert X.shape == (2 * n, width)
    assert np.isfinite(X).all()


def test_trees_see_gaps_and_others_see_scaled_medians():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 9.0], "gone": [np.nan] * 4})
    assert np.isnan(fitted(frame).X[2, 0])
    X = fitted(frame, "linear").X
    assert np.isfinite(X).all()
    assert X[2, 0] == X[1, 0]
    np.testing.assert_allclose(X[:, 0].mean(), 0, atol=1e-12)


@pytest.mark.parametrize("value", ["big", np.inf, "-inf"])
def test_what_is_no_number_is_refused_with_its_row(table, value):
    columns = fitted(table[["size"]]).schema
    words = (
        f"'size' must contain finite numbers or missing values. Row 2 has {value!r}."
    )
    with pytest.raises(ShellError) as error:
        columns.take(pd.DataFrame({"size": ["1.5", value, None]}))
    assert words in str(error.value)


def test_the_task_is_guessed_with_a_note(capsys):
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0.5, 1.5]})
    encoding = fitted(frame[["a"]], quiet=False, y=[0.5, 1.5])
    assert "Note: regression, since the target 'y' has 2" in capsys.readouterr().err
    assert (encoding.task, encoding.n_classes) == ("regression", None)
    assert encoding.y.tolist() == [0.5, 1.5]
    with pytest.raises(ShellError, match="All 2 rows have 3"):
        fitted(frame[["a"]], y=[3, 3])


def test_files_of_wide_tables_hold_names_in_arrays():
    """Written one by one, the names of 100,000 columns took minutes."""
    frame = pd.DataFrame(np.eye(3, 40), columns=[f"column {i}" for i in range(40)])
    data = skops.io.dumps(fitted(frame).transformer)
    with ZipFile(io.BytesIO(data)) as archive:
        assert archive.read("schema.json").count(b"column 7\\") <= 1
