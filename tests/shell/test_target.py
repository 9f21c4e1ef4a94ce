"""The target: found, whole, and of a task."""

import numpy as np
import pandas as pd
import pytest

from committee.shell.errors import ShellError
from committee.shell.target import (
    as_target,
    guess_task,
    refuse_constant,
    split_target,
)


def column(values, **options):
    return pd.Series(values, name="y", **options)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([0.0, 1.0], "classification"),
        (list(range(10)), "classification"),
        (list(range(11)), "regression"),
        ([0.5, 1.0], "regression"),
        ([1.0, np.inf], "regression"),
    ],
)
def test_the_task_is_guessed(values, task):
    assert guess_task(column(values)) == task


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["a", "b"], "U"), ([True, False], "b"), ([1.0, 2.0], "i"), ([3, 4], "i")],
)
def test_labels_keep_their_type(values, kind):
    y = as_target(column(values), "classification")
    assert y.dtype.kind == kind
    assert y.tolist() == values


def test_numbers_are_floats_and_whole_numbers_can_be_estimated():
    assert as_target(column([1, 2]), "regression").dtype == np.float64


@pytest.mark.parametrize(
    ("values", "task", "words"),
    [
        (["a", "b"], "regression", "must be numbers for regression. It has 'a'."),
        ([True, False], "regression", "must be numbers for regression"),
        ([0.5, 1.5], "classification", "use --task regression"),
        ([1.0, np.inf], "regression", "must be finite"),
    ],
)
def test_a_target_that_cannot_be_learned(values, task, words):
    with pytest.raises(ShellError) as error:
        as_target(column(values), task)
    assert words in str(error.value)
    assert error.value.status == 1


def test_one_value_cannot_be_learned():
    refuse_constant(column([1, 2]), 7)
    with pytest.raises(ShellError, match=r"at least 2 .* All 7 rows have 'a'"):
        refuse_constant(column(["a", "a"]), 7)


def test_an_unknown_target_suggests_a_name():
    frame = pd.DataFrame({"size": [1], "grade": [2]})
    with pytest.raises(ShellError, match=r"mean 'grade'.*'size', 'grade'") as error:
        split_target(frame, "Grades")
    assert error.value.status == 2


def test_rows_without_a_target_are_left_out():
    frame = pd.DataFrame({"y": ["a", None, "b"], "x": [1, 2, 3]})
    rows, y = split_target(frame, "y")
    assert (rows["x"].tolist(), y.tolist()) == ([1, 3], ["a", "b"])
    assert rows.index.tolist() == y.index.tolist() == [0, 1]
    with pytest.raises(ShellError, match="'y' has no value in any of the rows"):
        refuse_constant(split_target(frame[1:2], "y")[1], 0)
