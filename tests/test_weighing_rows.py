"""Targets, masks and errors of the rows to prune on."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee.ensembles import Roster, roster_of
from committee.predictions import predict_members
from committee.weighing_rows import WeighingRows, checked_rows


def test_labels_become_positions():
    roster = Roster([], None, classes=np.array(["no", "yes"]))
    rows = checked_rows(
        roster, np.zeros((3, 1)), ["yes", "no", "yes"], oob=False, sample_weight=None
    )
    assert rows.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        (["no", "yes"], ["yes", "maybe"], "label 'maybe', which the ensemble does not"),
        ([0, 1], ["0", "1"], "label '0', which the ensemble does not"),
        ([0, 1], [0.0, np.nan], "label nan"),
        (None, ["a", "b"], "predicts numbers, but y holds"),
        (None, [0.0, np.nan], "contains NaN"),
        (None, [0.0, 1.0, 2.0], "inconsistent numbers of samples"),
    ],
)
def test_wrong_targets_are_named(classes, y, message):
    roster = Roster([], None, classes=None if classes is None else np.array(classes))
    with pytest.raises(ValueError, match=message):
        checked_rows(roster, np.zeros((2, 1)), y, oob=False, sample_weight=None)


def test_rows_that_nobody_may_judge_are_not_counted(rng):
    F, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    mask = rng.uniform(size=(20, 4)) < 0.4
    mask[:3] = False
    error = WeighingRows(y, None, mask).error(F, np.full(4, 0.25))
    assert error == WeighingRows(y[3:], None, mask[3:]).error(F[3:], np.full(4, 0.25))


def test_errors_and_their_spread(rng):
    F = rng.normal(size=(50, 3))
    y = rng.normal(size=50)
    s = rng.integers(1, 4, size=50)
    w = np.array([0.5, 0.0, 0.5])
    error, se = WeighingRows(y, s.astype(float), None).error(F, w)
    losses = (F[:, [0, 2]].mean(axis=1) - y) ** 2
    assert error == pytest.approx(np.repeat(losses, s).mean())
    assert se > 0
    error, se = WeighingRows(y, None, None).error(F, w)
    assert se == pytest.approx(losses.std() / np.sqrt(50))


def test_the_prediction_without_members():
    codes, s = np.array([0, 2, 2]), np.array([3.0, 1, 1])
    assert WeighingRows(codes, None, None).baseline() == 2
    assert WeighingRows(codes, s, None).baseline() == 0
    assert WeighingRows(np.array([0.0, 3.0]), np.array([1.0, 2]), None).baseline() == 2


@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
def test_rows_in_another_order_are_recognised(forest, rng):
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    model = forest(50, oob_score=True, random_state=0).fit(X, y)
    roster = roster_of(model)
    for order, is_same in ((np.arange(80), True), (rng.permutation(80), False)):
        rows = checked_rows(roster, X[order], y[order], oob=True, sample_weight=None)
        F = predict_members(roster, X[order])
        if is_same:
            rows.check_oob(roster, F)
        else:
            with pytest.raises(ValueError, match="in their order"):
                rows.check_oob(roster, F)


def test_oob_where_nothing_is_known_says_what_to_do(rng):
    X = rng.normal(size=(30, 2))
    forest = RandomForestRegressor(3, bootstrap=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"not possible here.*bootstrap=True"):
        checked_rows(roster_of(forest), X, X[:, 0], oob=True, sample_weight=None)
