"""Each answer has the probabilities of the model that gives it."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, Ridge

from committee.ensembles import roster_of
from committee.reporting.answers import constant, own_answer


def test_an_ensemble_with_a_rule_of_its_own_is_asked_for_probabilities():
    X, y = load_iris(return_X_y=True)
    boosted = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    output = np.eye(3)[boosted.predict(X)]
    found = own_answer(boosted, roster_of(boosted), X, output)
    np.testing.assert_allclose(found.p, boosted.predict_proba(X))
    np.testing.assert_array_equal(found.predicted, boosted.predict(X))


def test_a_second_layer_predicts_itself(rng):
    X = rng.normal(size=(40, 2))
    stack = StackingRegressor([("a", Ridge()), ("b", LinearRegression())], cv=2)
    stack.fit(X, X[:, 0])
    found = own_answer(stack, roster_of(stack), X, np.zeros(40))
    np.testing.assert_allclose(found.predicted, stack.predict(X))


def test_the_constant_is_the_weighted_share_or_mean():
    s = np.array([3.0, 1.0, 1.0])
    classes = constant(np.array([0, 1, 1]), s, ["a", "b"])
    assert classes.predicted.tolist() == [0, 0, 0]
    np.testing.assert_allclose(classes.p[0], [0.6, 0.4])
    mean = constant(np.array([0.0, 1.0, 4.0]), s, None)
    assert mean.predicted.tolist() == [1.0] * 3
