"""Errors on other rows are of the kind that the errors of the path are."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from committee import EPPruner, GreedyPruner, OrderPruner, combine
from committee.displays.measures import error_of, path_errors, split_measure


def test_errors_of_votes_and_numbers():
    assert error_of(np.eye(2), np.array([0, 0])) == 0.5
    assert error_of(np.eye(2), np.array([0, 0]), sample_weight=[3.0, 1.0]) == 0.25
    assert error_of(np.eye(2), np.array([0, 0]), squared=True) == 1.0
    assert error_of(np.array([1.0, 3.0]), np.zeros(2)) == 5.0


@pytest.mark.parametrize("how", ["leave-one-out", "cross-fitted"])
def test_how_stands_before_what(how):
    assert split_measure(f"{how} error rate") == ("error rate", how)


@pytest.mark.parametrize(
    "combiner",
    [EPPruner(), EPPruner(votes="equal"), OrderPruner("best", 3), GreedyPruner(10)],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["regression_problem", "multiclass_problem"])
def test_path_errors_are_those_of_the_weights(combiner, kind, request):
    F, y = request.getfixturevalue(kind)
    path = combiner.fit(F, y).path_
    squared = "squared" in path.measure
    plain = [error_of(combine(F, w), y, squared=squared) for w in path.weights]
    assert path_errors(path, F, y) == pytest.approx(plain, rel=1e-12)


def test_path_errors_of_a_selection_are_its_own_on_its_rows(binary_problem):
    F, y = binary_problem
    path = OrderPruner("best").fit(F, y).path_
    assert path_errors(path, F, y) == pytest.approx(path.error, rel=1e-12)


def test_scores_of_other_rows(binary_problem):
    F, y = binary_problem
    path = GreedyPruner(5, scoring="accuracy").fit(F, y).path_
    votes = [combine(F[::2], w).argmax(axis=1) for w in path.weights]
    plain = [-accuracy_score(y[::2], vote) for vote in votes]
    assert path_errors(path, F[::2], y[::2]) == pytest.approx(plain)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scores_that_need_two_classes_are_not_known_on_one(binary_problem):
    F, y = binary_problem
    path = GreedyPruner(5, scoring="roc_auc").fit(F, y).path_
    assert np.isnan(path_errors(path, F[y == 1], y[y == 1])).all()


def test_committees_with_members_that_are_not_at_hand(binary_problem):
    F, y = binary_problem
    path = OrderPruner("best").fit(F, y).path_
    kept = np.flatnonzero(path.weights[2])
    errors = path_errors(path, F[:, kept], y, members=kept)
    assert errors[:3] == pytest.approx(path.error[:3], rel=1e-12)
    assert np.isnan(errors[3:]).all()
    with pytest.raises(ValueError, match=r"F_test of the whole ensemble to from_path"):
        path_errors(path, F[:, kept], y)
