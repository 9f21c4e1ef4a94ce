"""Bytes and seconds of models."""

import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from committee.ensembles import roster_of
from committee.pruning.costs import (
    TIMED_ROWS,
    few_rows,
    member_seconds,
    seconds_per_row,
    stored_bytes,
)


def test_bytes_are_those_of_the_pickle(rng):
    X = rng.normal(size=(50, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    large = rng.normal(size=100_000)  # handed over as a buffer of its own
    for model in (forest, [forest, large]):
        assert stored_bytes(model) == len(pickle.dumps(model, protocol=5))


def test_what_cannot_be_pickled_has_no_bytes():
    assert np.isnan(stored_bytes([lambda: None]))


def test_few_rows_are_the_first_ones():
    X = np.arange(2 * TIMED_ROWS)[:, None]
    np.testing.assert_array_equal(few_rows(X), X[:TIMED_ROWS])
    assert len(few_rows(pd.DataFrame(X[:7]))) == 7


def test_seconds_are_positive_and_by_row(rng):
    X = rng.normal(size=(50, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    calls = []
    assert seconds_per_row(lambda rows: calls.append(len(rows)), X) > 0
    assert calls == [50, 50, 50]
    seconds = member_seconds(roster_of(forest), X)
    assert seconds.shape == (5,)
    assert np.all(seconds > 0)
