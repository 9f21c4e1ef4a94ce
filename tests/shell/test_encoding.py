"""From columns of a table to numbers, in training and later."""

import datetime
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from committee.shell.encoding import FEW, Columns, encoder, row_numbers, unseen
from committee.shell.errors import ShellError


def fitted(frame, for_trees=True):
    columns = Columns.of(frame)
    X = columns.take(frame)
    return columns, encoder(X, columns, for_trees=for_trees).fit(X)


def many(n=3 * FEW):
    return pd.DataFrame({"code": [f"c{i:02d}" for i in range(n)] * 2})


def test_numbers_booleans_and_words_are_told_apart():
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "f": [0.5, None],
            "b": [True, False],
            "gaps": [True, None],
            "nothing": [None, None],
            "money": [Decimal("1.50"), None],
            "w": ["x", None],
            "c": pd.Series(["u", "v"], dtype="category"),
        }
    )
    columns = Columns.of(frame)
    assert columns.words == ["w", "c"]
    X = columns.take(frame)
    assert X["gaps"].tolist()[0] == 1.0
    assert X["money"].tolist()[0] == 1.5
    assert X.drop(columns=["w", "c"]).to_numpy().dtype == np.float64


def test_text_that_names_the_row_is_left_out():
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(30)], "a": range(30)})
    assert Columns.of(frame).left_out == ["id"]
    assert Columns.of(frame.head(10)).left_out == []
    with pytest.raises(ShellError, match="no columns to predict from"):
        Columns.of(frame[["id"]])


def written(frame, **options):
    """The frame as pandas writes and reads it."""
    return pd.read_csv(io.StringIO(frame.to_csv(**options)))


def test_row_numbers_that_pandas_writes_are_left_out(table):
    numbered = written(table)
    assert numbered.columns[0] == "Unnamed: 0"
    columns = Columns.of(numbered)
    assert columns.left_out == ["Unnamed: 0"]
    assert columns.names == table.columns.tolist()
    shuffled = written(table.sample(frac=0.5, random_state=0))
    assert row_numbers(shuffled) == ["Unnamed: 0"]
    twice = written(numbered)
    assert sorted(row_numbers(twice)) == ["Unnamed: 0", "Unnamed: 0.1"]
    assert Columns.of(twice).names == table.columns.tolist()
    with pytest.raises(ShellError, match="no columns to predict from"):
        Columns.of(numbered[["Unnamed: 0"]])


@pytest.mark.parametrize("index", [[0, 1, 1], [0.5, 1, 2], [-1, 0, 1], ["u", "v", "w"]])
def test_what_numbers_no_rows_is_a_column(index):
    frame = written(pd.DataFrame({"a": [1, 2, 3]}, index=index))
    assert row_numbers(frame) == []
    assert Columns.of(frame).names == ["Unnamed: 0", "a"]


def test_numbers_with_a_name_are_a_column(table):
    assert row_numbers(written(table.rename_axis("number"))) == []
    assert row_numbers(written(table, index=False)) == []


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "datetime64"),
        ([datetime.date(2020, 1, 1), None], "date"),
        ([[1, 2], [3]], "mixed"),
    ],
    ids=["times", "dates", "lists"],
)
def test_what_is_neither_number_nor_text_is_refused(values, kind):
    with pytest.raises(ShellError, match=f"'when' must hold .* It holds {kind}"):
        Columns.of(pd.DataFrame({"when": values}))


def test_missing_is_a_category_of_its_own(table):
    columns, reader = fitted(table[["town"]])
    X = columns.take(pd.DataFrame({"town": ["Bonn", "Kiel", "Ulm", None]}))
    assert reader.transform(X).tolist() == np.eye(4).tolist()


def test_unseen_words_are_none_of_the_known_ones_and_are_counted(table):
    columns, reader = fitted(table[["town", "code"]])
    X = columns.take(
        pd.DataFrame({"town": ["Oslo", None, "Rome"], "code": ["c00", "zz", None]})
    )
    assert unseen(reader, X) == {"town": 2, "code": 1}
    Z = reader.transform(X)
    assert Z[0, :4].tolist() == [0, 0, 0, 0]
    assert Z[1, 4] == -1


@pytest.mark.parametrize("for_trees", [True, False])
def test_many_words_stay_few_columns(for_trees):
    _, reader = fitted(many(), for_trees=for_trees)
    Z = reader.transform(many())
    assert Z.shape == (len(many()), 1 if for_trees else FEW + 1)
    assert np.isfinite(Z).all()


def test_few_words_are_one_column_each_whoever_reads_them():
    frame = many(FEW)
    for for_trees in (True, False):
        assert fitted(frame, for_trees)[1].transform(frame).shape[1] == FEW


def test_trees_see_gaps_and_others_see_scaled_medians():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 9.0], "gone": [np.nan] * 4})
    _, for_trees = fitted(frame)
    assert np.isnan(for_trees.transform(frame)[2, 0])
    _, scaled = fitted(frame, for_trees=False)
    Z = scaled.transform(frame)
    assert np.isfinite(Z).all()
    assert Z[2, 0] == Z[[1, 2], 0].mean()
    np.testing.assert_allclose(Z[:, 0].mean(), 0, atol=1e-12)


def test_columns_are_taken_by_name_and_others_ignored(table):
    columns = Columns.of(table[["size", "town"]])
    shuffled = table[["grade", "town", "price", "size"]]
    pd.testing.assert_frame_equal(columns.take(shuffled), columns.take(table))


def test_missing_columns_are_named(table):
    columns = Columns.of(table[["size", "town", "age"]])
    with pytest.raises(ShellError, match=r"lacks 2 columns .*: 'size', 'age'"):
        columns.take(table[["town"]])


@pytest.mark.parametrize("value", ["big", np.inf, "-inf"])
def test_what_is_no_number_is_refused_with_its_row(table, value):
    columns = Columns.of(table[["size"]])
    words = f"'size' must hold finite numbers or gaps. Row 2 has {value!r}."
    with pytest.raises(ShellError) as error:
        columns.take(pd.DataFrame({"size": ["1.5", value, None]}))
    assert words in str(error.value)


def test_numbers_among_words_are_words(table):
    columns = Columns.of(table[["town"]])
    taken = columns.take(pd.DataFrame({"town": [1, 2]}))
    assert taken["town"].tolist() == ["1", "2"]


def test_the_table_is_not_changed(table):
    before = table.copy(deep=True)
    columns, reader = fitted(table)
    reader.transform(columns.take(table))
    pd.testing.assert_frame_equal(table, before)


def test_columns_survive_the_file(table):
    columns = Columns.of(table)
    assert Columns(**columns.to_dict()) == columns
