"""Targets, masks and errors of the rows to prune on."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee.ensembles import Roster, roster_of
from committee.predictions import predict_members
from committee.pruning.seen_rows import check_recorded_oob
from committee.votes import Votes, checked_rows


def test_labels_become_positions():
    roster = Roster([], None, classes=np.array(["no", "yes"]))
    rows = checked_rows(
        roster, np.zeros((3, 1)), ["yes", "no", "yes"], oob=False, sample_weight=None
    )
    assert rows[0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        (["no", "yes"], ["yes", "maybe"], "label 'maybe', which is not a class"),
        ([0, 1], ["0", "1"], "label '0', which is not a class"),
        ([0, 1], [0.0, np.nan], "contains NaN"),
        (None, ["a", "b"], "needs numbers as y"),
        (None, [0.0, np.nan], "contains NaN"),
        (None, [0.0, 1.0, 2.0], "inconsistent numbers of samples"),
    ],
)
def test_wrong_targets_are_named(classes, y, message):
    roster = Roster([], None, classes=None if classes is None else np.array(classes))
    with pytest.raises(ValueError, match=message):
        checked_rows(roster, np.zeros((2, 1)), y, oob=False, sample_weight=None)


def test_the_prediction_without_members():
    codes, s = np.array([0, 2, 2]), np.array([3.0, 1, 1])
    F = np.zeros((3, 1, 3))
    assert Votes(F, codes, None, None).baseline() == 2
    assert Votes(F, codes, None, s).baseline() == 0
    y, s = np.array([0.0, 3.0]), np.array([1.0, 2])
    assert Votes(np.zeros((2, 1)), y, None, s).baseline() == 2


@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
def test_rows_in_another_order_are_recognised(forest, rng):
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    model = forest(50, oob_score=True, random_state=0).fit(X, y)
    roster = roster_of(model)
    for order, is_same in ((np.arange(80), True), (rng.permutation(80), False)):
        rows = checked_rows(roster, X[order], y[order], oob=True, sample_weight=None)
        votes = Votes(predict_members(roster, X[order]), *rows)
        if is_same:
            check_recorded_oob(roster, votes)
        else:
            with pytest.raises(ValueError, match="in their order"):
                check_recorded_oob(roster, votes)


def test_oob_where_nothing_is_known_says_what_to_do(rng):
    X = rng.normal(size=(30, 2))
    forest = RandomForestRegressor(3, bootstrap=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"not possible here.*bootstrap=True"):
        checked_rows(roster_of(forest), X, X[:, 0], oob=True, sample_weight=None)
