"""The pruning path: its numbers, its scales, and who has one."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from committee import (
    ARDPruner,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    GreedyPruner,
    PruningPathDisplay,
    ReduceErrorPruner,
    combine,
    member_predictions,
    prune,
)


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("pruner", [EPPruner(), ARDPruner()])
def test_numbers_of_an_evidence_path(pruner, binary_problem, drawn):
    path = pruner.fit(*binary_problem).path_
    display = drawn(PruningPathDisplay.from_estimator(pruner))
    assert np.array_equal(display.size, path.size)
    assert np.array_equal(display.error, path.loo_error)
    assert np.array_equal(display.error_se, path.loo_se)
    assert np.array_equal(display.log_evidence, path.log_evidence)
    assert display.chosen == len(pruner.support_)
    assert display.ax_.get_xlabel() == "number of members"
    assert display.ax_.get_ylabel() == "leave-one-out error"
    assert display.evidence_ax_.get_ylabel() == "log evidence"
    assert "log evidence" in labels(display)


def test_numbers_of_an_ordering(binary_problem, drawn):
    F, y = binary_problem
    pruner = ReduceErrorPruner(3)
    display = drawn(PruningPathDisplay.from_predictions(F, y, combiner=pruner))
    path = pruner.fit(F, y).path_
    assert np.array_equal(display.error, path.error)
    assert np.array_equal(display.error_se, path.error_se)
    assert display.log_evidence is None
    assert display.evidence_ax_ is None
    assert display.chosen == 3
    assert display.ax_.get_ylabel() == "error on the weighing rows"


def test_numbers_of_a_greedy_path(regression_problem, drawn):
    pruner = GreedyPruner(10).fit(*regression_problem)
    display = drawn(PruningPathDisplay.from_estimator(pruner))
    assert np.array_equal(display.size, pruner.path_.size)
    assert np.array_equal(display.error, pruner.path_.error)
    assert display.error_se is None


def test_any_object_with_the_columns_is_a_path(drawn):
    path = SimpleNamespace(
        size=[1, 2], error=[0.3, 0.2], error_se=[0.1, 0.1], log_evidence=[np.nan] * 2
    )
    display = drawn(PruningPathDisplay.from_path(path, chosen=2))
    assert display.error.tolist() == [0.3, 0.2]
    assert display.log_evidence is None


def test_a_pruned_committee_and_the_test_error_of_its_forest(rng, drawn):
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:80], y[:80])
    small = prune(forest, X[:80], y[:80], oob=True)
    F_test = member_predictions(forest, X[80:])
    display = drawn(
        PruningPathDisplay.from_path(small.path_, F_test=F_test, y_test=y[80:])
    )
    assert np.array_equal(display.error, small.path_.error)
    assert len(display.test_error) == len(small.path_)
    marked = drawn(PruningPathDisplay.from_estimator(small))
    assert marked.chosen == small.n_members_
    with pytest.raises(ValueError, match=r"needs the predictions of all of them"):
        PruningPathDisplay.from_estimator(small, X[80:], y[80:])


def test_test_error_of_a_committee(rng, drawn):
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    committee = CommitteeClassifier(
        generator=Bagging(8), combiner=EPPruner(), random_state=0
    ).fit(X[:60], y[:60])
    display = drawn(PruningPathDisplay.from_estimator(committee, X[60:], y[60:]))
    F = committee.member_predictions(X[60:])
    for w, error in zip(
        committee.combiner_.path_.weights, display.test_error, strict=True
    ):
        wrong = committee.classes_[combine(F, w).argmax(axis=1)] != y[60:]
        assert error == pytest.approx(wrong.mean())
    assert "test error" in labels(display)


def test_the_line_goes_through_the_best_of_a_size():
    display = PruningPathDisplay([2, 1, 2, 3], [0.3, 0.5, 0.1, np.inf])
    assert display.best.tolist() == [1, 2, 3]


def test_errors_that_are_not_known_leave_a_gap(drawn):
    display = drawn(PruningPathDisplay([1, 2, 3], [np.inf, 0.2, 0.1]).plot())
    line = display.ax_.lines[1].get_ydata()
    assert np.isnan(line[0])
    assert line[1:].tolist() == [0.2, 0.1]


def test_few_and_many_members(many, ax, drawn):
    F, y = many
    for combiner in (EPPruner(), ReduceErrorPruner()):
        display = PruningPathDisplay.from_predictions(
            F, y, combiner=combiner, F_test=F, y_test=y, ax=ax
        )
        drawn(display.plot(ax))
    # One scale for the evidence, however often it is drawn.
    assert len(ax.figure.axes) == 2


def test_what_is_wrong_is_said(regression_problem, rng):
    with pytest.raises(TypeError, match=r"kept by EPPruner, .*Got Average\."):
        PruningPathDisplay.from_predictions(*regression_problem, combiner=Average())
    X = rng.normal(size=(20, 2))
    plain = CommitteeRegressor(generator=Bagging(3)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"Got CommitteeRegressor without a combiner"):
        PruningPathDisplay.from_estimator(plain)
    with pytest.raises(NotFittedError):
        PruningPathDisplay.from_estimator(EPPruner())
    with pytest.raises(ValueError, match=r"each of the 2 steps. Got shape \(1,\)"):
        PruningPathDisplay([1, 2], [0.1])
