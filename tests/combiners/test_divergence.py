"""Divergence of outputs, and of the row weights of boosting."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from committee import AdaBoost, CommitteeClassifier, KLPruner, disagreement
from committee.combiners.ballots import Ballots
from committee.combiners.divergence import boosting_weights, symmetric_divergence
from committee.votes import Votes
from tests.reference.problems import make_problem


def test_divergence_of_two_coins():
    """Smoothing 0 in the limit: (0.9 - 0.1) log 9 from each of the two classes."""
    F = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    ballots = Ballots(Votes(F, np.zeros(1, dtype=int), None, None))
    J = symmetric_divergence(ballots, 1e-12)
    np.testing.assert_allclose(J, [[0, 1.6 * np.log(9)], [1.6 * np.log(9), 0]])


def test_divergence_of_votes_is_proportional_to_disagreement():
    F, y = make_problem("multiclass", N=100)
    V = np.eye(3)[F.argmax(axis=2)]
    J = symmetric_divergence(Ballots(Votes(1e150 * V, y, None, None)), 0.01)
    share = disagreement(V)
    np.testing.assert_allclose(J / J.max(), share / share.max(), atol=1e-12)


def test_a_row_without_a_positive_entry_is_the_vote_it_casts():
    F = np.array([[[-1.0, -2.0], [1.0, 0.0], [0.0, 0.0]]])
    ballots = Ballots(Votes(F, np.zeros(1, dtype=int), None, None))
    np.testing.assert_allclose(symmetric_divergence(ballots, 0.01), 0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_row_weights_are_those_that_boosting_trained_on(n_classes, monkeypatch):
    X, y = make_classification(
        80,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        flip_y=0.2,
        random_state=0,
    )
    seen = []
    stump = DecisionTreeClassifier(max_depth=1)
    fit = DecisionTreeClassifier.fit

    def watched(self, X, y, sample_weight=None):
        seen.append(sample_weight / sample_weight.sum())
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", watched)
    s = np.linspace(0.5, 1.5, 80)
    boosted = CommitteeClassifier(stump, generator=AdaBoost(8), random_state=0)
    boosted.fit(X, y, sample_weight=s)
    F = boosted.member_predictions(X)
    P = boosting_weights(Ballots(Votes(F, y, None, s)))
    np.testing.assert_allclose(P, np.array(seen)[: len(P)], rtol=1e-10)

    def J(i, j):
        return sum((P[i] - P[j]) * np.log(P[i] / P[j]))

    order = KLPruner(compare="rows").fit(F, y, sample_weight=s).order_
    first, second = order[:2]
    M = len(P)
    largest = max(J(i, j) for i in range(M) for j in range(M))
    assert J(first, second) == pytest.approx(largest)
    free = [k for k in range(M) if k not in order[:2]]
    best = max(free, key=lambda k: J(k, first) + J(k, second))
    assert order[2] == best


def test_row_weights_need_the_rows_of_the_training():
    F, y = make_problem("binary")
    mask = np.ones(F.shape[:2], dtype=bool)
    mask[0, 0] = False
    with pytest.raises(ValueError, match="that they were all trained on"):
        KLPruner(compare="rows").fit(F, y, held_out=mask)
