"""Committees, forests and lists as sources of numbers."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    BestPruner,
    CommitteeClassifier,
    CoupledKernelRegressor,
    EPPruner,
    GreedyPruner,
    combine,
    member_predictions,
    prune,
)
from committee.displays import sources
from committee.displays.measures import error_of, measure_of


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def test_predictions_come_with_codes(labelled):
    X, y = labelled
    committee = CommitteeClassifier(generator=Bagging(4), random_state=0).fit(X, y)
    F, codes = sources.predictions_of(committee, X, y)
    assert np.array_equal(F, committee.member_predictions(X))
    assert np.array_equal(committee.classes_[codes], y)
    with pytest.raises(ValueError, match=r"label 'maybe'.* not among the classes"):
        sources.predictions_of(committee, X[:1], ["maybe"])


def test_lists_and_forests_are_sources(labelled):
    X, y = labelled
    trees = [DecisionTreeClassifier(max_depth=d).fit(X, y) for d in (1, 2, 3)]
    F, codes = sources.predictions_of(trees, X, y)
    assert F.shape == (80, 3, 2)
    assert np.array_equal(codes, (y == "yes").astype(int))
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    assert np.array_equal(sources.weights_of(forest), np.full(5, 0.2))
    assert sources.predictions_of(forest, X, y)[0].shape == (80, 5, 2)


def test_several_targets_are_refused(labelled):
    X, _ = labelled
    model = CoupledKernelRegressor(2, random_state=0).fit(X, X[:, :2])
    with pytest.raises(ValueError, match=r"y should be a 1d array"):
        sources.predictions_of(model, X, X[:, :2])


def test_an_ensemble_has_its_own_weights(labelled):
    boosted = AdaBoostClassifier(n_estimators=5, random_state=0).fit(*labelled)
    w = sources.weights_of(boosted)
    assert len(np.unique(w)) > 1


def test_a_combiner_that_is_not_fitted():
    for estimator in (EPPruner(), CommitteeClassifier()):
        with pytest.raises(NotFittedError):
            sources.combiner_of(estimator)


@pytest.mark.parametrize(
    "combiner",
    [EPPruner(), EPPruner(votes="equal"), BestPruner(3), GreedyPruner(10)],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["regression_problem", "multiclass_problem"])
def test_path_errors_are_those_of_choose(combiner, kind, request):
    """Against the weights that the path itself gives for a size."""
    F, y = request.getfixturevalue(kind)
    path = combiner.fit(F, y).path_
    measure = measure_of(path, combiner)
    errors = sources.path_errors(path, F, y, measure)
    assert errors.shape == path.size.shape
    own = path.loo_error if hasattr(path, "loo_error") else path.error
    w = path.choose(max_members=2)
    step = int(np.where(path.size <= 2, own, np.inf).argmin())
    plain = error_of(combine(F, w), y, squared=measure.squared)
    assert errors[step] == pytest.approx(plain, rel=1e-12)


def test_path_errors_of_a_selection_are_its_own_on_its_rows(binary_problem):
    F, y = binary_problem
    path = BestPruner().fit(F, y).path_
    # Sums of a few votes in another order.
    assert sources.path_errors(path, F, y) == pytest.approx(path.error, rel=1e-12)


def test_path_errors_of_a_pruned_committee(labelled):
    X, y = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True)
    F, codes = sources.predictions_of(forest, X, y)
    errors = sources.path_errors(small.path_, F, codes)
    assert len(errors) == len(small.path_)
    chosen = [list(step.members) for step in small.path_.steps].index(
        list(small.support_)
    )
    assert errors[chosen] == pytest.approx(np.mean(small.predict(X) != y))
    F_kept = member_predictions(small, X)
    with pytest.raises(ValueError, match=r"F_test of the whole ensemble to from_path"):
        sources.path_errors(small.path_, F_kept, codes)
