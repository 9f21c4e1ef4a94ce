"""LPBoost: column generation ends at the optimum over all that the learner can find."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from committee import CommitteeClassifier, LPBoost, LPBoostWeights
from committee.members import TrainingData
from committee.predictions import predict_all

X, y = make_classification(60, 4, n_redundant=0, flip_y=0.1, random_state=1)
STUMP = DecisionTreeClassifier(max_depth=1)


def every_stump():
    """Votes of all stumps: a split of each column, either way, and both constants."""
    votes = [np.zeros(60, int), np.ones(60, int)]
    for column in X.T:
        for cut in np.sort(column)[:-1]:
            votes += [(column > cut).astype(int), (column <= cut).astype(int)]
    return np.eye(2)[np.stack(votes, axis=1)]


@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_the_soft_margin_is_that_over_all_stumps(nu):
    """The learner finds the best stump for any weights, so the end is the optimum.

    A stump chosen by Gini impurity need not have the largest edge: entropy and Gini
    agree with the edge near the end only, so the margin may fall a little short.
    """
    best = LPBoostWeights(nu=nu).fit(every_stump(), y).objective_
    data = TrainingData(X, y, 2)
    made = LPBoost(200, nu=nu).generate(STUMP, data, random_state=0)
    F = predict_all(made.members, X, classes=np.arange(2), output="hard")
    found = LPBoostWeights(nu=nu).fit(F, y)
    assert found.objective_ <= best + 1e-9
    assert found.objective_ > 0.9 * best
    # The generator's own weights are an optimum of the same programme.
    S = (2 * y - 1)[:, None] * (2 * F[..., 1] - 1)
    margins = np.sort(S @ made.weights)
    k = nu * 60
    assert np.isclose(margins[: int(k)].sum() / k, found.objective_, atol=1e-6)


def test_many_classes_and_sample_weights():
    A, c = make_classification(
        90, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0
    )
    s = np.where(np.arange(90) % 3, 1.0, 2.0)
    tree = DecisionTreeClassifier(max_depth=2)
    committee = CommitteeClassifier(tree, generator=LPBoost(30), random_state=0)
    committee.fit(A, c, sample_weight=s)
    assert 1 < committee.n_members_ <= 30
    assert committee.score(A, c) > tree.fit(A, c).score(A, c)
    assert committee.weights_.sum() == pytest.approx(1.0)


def test_a_perfect_learner_ends_it_at_once():
    committee = CommitteeClassifier(
        DecisionTreeClassifier(), generator=LPBoost(20), random_state=0
    )
    assert committee.fit(X, y).n_members_ == 1
