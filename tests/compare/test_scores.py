"""Every form of scores gives the same table; what cannot be used is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from committee.compare.comparison import read_scores

MEANS = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]])
COLUMNS = {"small": MEANS[:, 0], "large": MEANS[:, 1]}
DATASETS = ["sonar", "wine", "iris"]
FORMS = {
    "pandas": pd.DataFrame(COLUMNS, index=DATASETS),
    "pandas with a column of names": pd.DataFrame({"data": DATASETS, **COLUMNS}),
    "polars": pl.DataFrame({"data": DATASETS, **COLUMNS}),
    "runs": {
        name: {"small": [a - 0.1, a + 0.1], "large": [b, b, b]}
        for name, (a, b) in zip(DATASETS, MEANS, strict=True)
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_names_come_from_the_table(form):
    table = read_scores(FORMS[form])
    assert table.methods == ("small", "large")
    assert table.datasets == tuple(DATASETS)
    np.testing.assert_allclose(table.means, MEANS, rtol=1e-15)
    assert (table.runs is not None) == (form == "runs")


def test_without_names_there_are_numbers():
    table = read_scores(MEANS.tolist())
    assert (table.methods, table.datasets) == ((0, 1), (0, 1, 2))
    table = read_scores(pl.DataFrame(COLUMNS))
    assert (table.methods, table.datasets) == (("small", "large"), (0, 1, 2))


def test_a_third_axis_holds_runs():
    runs = np.random.default_rng(0).normal(size=(4, 3, 5))
    table = read_scores(runs)
    np.testing.assert_allclose(table.means, runs.mean(axis=2), atol=1e-15)
    np.testing.assert_array_equal(table.runs[2][1], runs[2, 1])


def test_scores_are_left_alone():
    scores = MEANS.copy()
    read_scores(scores).means.sum()
    np.testing.assert_array_equal(scores, MEANS)


NAN = pd.DataFrame(COLUMNS, index=DATASETS).replace(0.4, np.nan)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (NAN, "Method 'large' has no finite score on data set 'wine'"),
        ([[1.0, np.inf], [1.0, 2.0]], "Method 1 has no finite score on data set 0"),
        ({"a": {"x": [1, np.nan], "y": [1, 2]}, "b": {"x": [1, 2], "y": [1, 2]}},
         "Method 'x' has no finite score on data set 'a'"),
        ([[1.0], [2.0]], "at least 2 methods, in columns. Got 1"),
        ([[1.0, 2.0]], "needs at least 2 data sets, in rows. Got 1; for the runs"),
        ({}, "at least 2 methods"),
        (np.zeros((0, 3)), "at least 2 data sets, in rows. Got 0"),
        ([1.0, 2.0], "data sets x methods"),
        (np.zeros((2, 2, 1)), "at least 2 runs of each method on each data set. Got 1"),
        ([["a", "b"], ["c", "d"]], "scores must be a numeric table"),
        ([[1.0, 2.0], [1.0]], "rows of equal length"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), "columns \\['a', 'b'\\] do not hold"),
        (pd.DataFrame(MEANS, columns=["a", "a"]), "need different names"),
        ({"a": {"x": [1, 2], "y": [1, 2]}, "b": {"x": [1, 2]}}, "the same methods"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_says_so_in_one_sentence(scores, message):
    with pytest.raises(ValueError, match=message):
        read_scores(scores)


def test_a_mapping_must_name_methods():
    with pytest.raises(TypeError, match=r"\{data set: \{method: runs\}\}. Got list"):
        read_scores({"sonar": [1.0, 2.0]})
