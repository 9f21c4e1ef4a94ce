"""Arc-x4 against a plain loop."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import Arcing, Average, CommitteeClassifier, CommitteeRegressor
from committee.members import TrainingData

X, y = make_classification(120, 5, flip_y=0.2, random_state=0)
TREE = DecisionTreeClassifier(max_depth=3)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_by_the_fourth_power_of_the_mistakes(weighted):
    s = np.linspace(0.0, 2.0, 120) if weighted else None
    made = Arcing(6).generate(TREE, TrainingData(X, y, 2, s), random_state=5)
    mistakes = np.zeros(120)
    seeds = np.random.RandomState(5).randint(np.iinfo(np.int32).max, size=6)
    for m, seed in enumerate(seeds):
        P = [(1 + e**4) * (1 if s is None else s[n]) for n, e in enumerate(mistakes)]
        drawn = np.random.RandomState(seed).choice(120, 120, p=np.divide(P, np.sum(P)))
        state = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=1)[0]
        counts = np.bincount(drawn, minlength=120)
        rows = np.flatnonzero(counts)
        tree = clone(TREE).set_params(random_state=int(state))
        tree.fit(X[rows], y[rows], sample_weight=counts[rows])
        np.testing.assert_array_equal(tree.predict(X), made.members[m].predict(X))
        np.testing.assert_array_equal(made.held_out[:, m], counts == 0)
        np.testing.assert_array_equal(made.F[:, m].argmax(axis=1), tree.predict(X))
        mistakes += tree.predict(X) != y


def test_members_vote_as_equals_and_learn_the_rows():
    committee = CommitteeClassifier(TREE, generator=Arcing(40), random_state=0)
    assert set(committee.fit(X, y).weights_) == {1 / 40}
    assert committee.score(X, y) > TREE.fit(X, y).score(X, y)


def test_regression_is_refused():
    with pytest.raises(ValueError, match="Arcing is defined for classification"):
        CommitteeRegressor(
            DecisionTreeRegressor(), generator=Arcing(2), combiner=Average()
        ).fit(X, y)
