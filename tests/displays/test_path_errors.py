"""Errors on other rows are of the kind that the errors of the path are."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from committee import EPPruner, GreedyPruner, OrderPruner, combine
from committee.displays.paths import path_errors, split_measure
from committee.losses import error_losses


def plain_error(path, output, y):
    """Mean squared distance of numbers or probabilities, or share of wrong classes."""
    if output.ndim == 2 and "squared" in path.measure:
        return ((output - np.eye(output.shape[1])[y]) ** 2).sum(axis=1).mean()
    return error_losses(output if output.ndim == 1 else output.argmax(1), y).mean()


@pytest.mark.parametrize("how", ["leave-one-out", "held-out"])
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
    plain = [plain_error(path, combine(F, w), y) for w in path.weights]
    assert path_errors(path, F, y) == pytest.approx(plain, rel=1e-12)


def test_a_row_of_weight_two_counts_twice(binary_problem):
    F, y = binary_problem
    path = OrderPruner("best").fit(F, y).path_
    s = np.ones(len(y))
    s[:10] = 2
    twice = np.concatenate([np.arange(len(y)), np.arange(10)])
    weighted = path_errors(path, F, y, sample_weight=s)
    assert weighted == pytest.approx(path_errors(path, F[twice], y[twice]))


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
