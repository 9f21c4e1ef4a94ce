"""The decomposition against the size."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    AmbiguityDisplay,
    Average,
    Bagging,
    CommitteeRegressor,
    OrderPruner,
    SimplexWeights,
    ambiguity,
    prune,
)


@pytest.mark.parametrize(
    "kind", ["regression_problem", "binary_problem", "multiclass_problem"]
)
def test_every_size_against_the_function(kind, request, drawn):
    F, y = request.getfixturevalue(kind)
    order = [6, 0, 3, 1, 5]
    display = drawn(AmbiguityDisplay.from_predictions(F, y, order=order))
    assert display.size.tolist() == [1, 2, 3, 4, 5]
    for k in display.size:
        parts = ambiguity(F[:, order[:k]], y)
        assert display.ensemble_error[k - 1] == pytest.approx(parts.ensemble_error)
        assert display.member_error[k - 1] == pytest.approx(parts.member_error)
        # The difference of two numbers of the size of the member error.
        gap = abs(display.diversity[k - 1] - parts.diversity)
        assert gap <= 1e-12 * parts.member_error
    assert display.ax_.get_xlabel() == "number of members"
    assert display.ax_.get_ylabel() == "mean squared error"


def test_the_order_is_that_of_the_pruner_or_of_the_weights(rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] ** 2
    committees = [
        CommitteeRegressor(generator=Bagging(6), combiner=combiner, random_state=0)
        for combiner in (OrderPruner("best", 2), SimplexWeights(), Average())
    ]
    best, simplex, average = (committee.fit(X, y) for committee in committees)
    orders = [
        AmbiguityDisplay.from_estimator(committee, X, y).order
        for committee in (best, simplex, average)
    ]
    assert np.array_equal(best.support_[orders[0]], best.combiner_.order_[:2])
    assert np.all(np.diff(simplex.weights_[orders[1]]) <= 0)
    assert np.array_equal(orders[2], np.arange(6))
    given = AmbiguityDisplay.from_estimator(average, X, y, order=[5, 2])
    assert given.order.tolist() == [5, 2]


def test_a_forest_is_its_trees(rng):
    X = rng.normal(size=(60, 2))
    forest = RandomForestRegressor(9, random_state=0).fit(X[:30], X[:30, 0])
    display = AmbiguityDisplay.from_estimator(forest, X[30:], X[30:, 0])
    error = np.mean((forest.predict(X[30:]) - X[30:, 0]) ** 2)
    assert display.ensemble_error[-1] == pytest.approx(error)


def test_one_member_has_no_diversity(regression_problem):
    F, y = regression_problem
    display = AmbiguityDisplay.from_predictions(F[:, :1], y)
    assert display.diversity.tolist() == [0.0]


@pytest.mark.parametrize("order", [[0, 0], [7], [-1], [], [[0]]])
def test_an_order_that_is_none(order, regression_problem):
    with pytest.raises(ValueError, match=r"numbers 0\.\.6, each at most once"):
        AmbiguityDisplay.from_predictions(*regression_problem, order=order)


def test_columns_of_unequal_length():
    with pytest.raises(ValueError, match=r"one number for each size"):
        AmbiguityDisplay([1.0], [1.0, 2.0])


def test_scores_of_a_booster_are_refused(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    booster = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, y)
    for model in (booster, prune(booster, X, y)):
        with pytest.raises(
            ValueError, match=r"decomposition is not defined.*predict scores"
        ):
            AmbiguityDisplay.from_estimator(model, X, y)


def test_the_order_is_found_in_a_pipeline(rng):
    X = rng.normal(size=(60, 2))
    committee = CommitteeRegressor(
        generator=Bagging(6), combiner=OrderPruner("best", 2), random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), committee).fit(X, X[:, 0])
    display = AmbiguityDisplay.from_estimator(pipeline, X, X[:, 0])
    inner = pipeline[-1]
    assert np.array_equal(inner.support_[display.order], inner.combiner_.order_[:2])


def test_the_last_point_is_the_weighted_committee(rng):
    X = rng.normal(size=(90, 3))
    y = X[:, 0] ** 2 + X[:, 1]
    committee = CommitteeRegressor(
        generator=Bagging(6), combiner=SimplexWeights(), random_state=0
    ).fit(X[:60], y[:60])
    display = AmbiguityDisplay.from_estimator(committee, X[60:], y[60:])
    F, w = committee.member_predictions(X[60:]), committee.weights_
    error = np.mean((F @ (w / w.sum()) - y[60:]) ** 2)
    assert display.ensemble_error[-1] == pytest.approx(error)
    u = w[display.order[:2]]
    parts = ambiguity(F[:, display.order[:2]], y[60:], u / u.sum())
    assert display.member_error[1] == pytest.approx(parts.member_error)
    # Weights of both signs have no such line.
    with pytest.raises(ValueError, match="weight >= 0 for each member"):
        AmbiguityDisplay.from_predictions(F, y[60:], w=-w)
