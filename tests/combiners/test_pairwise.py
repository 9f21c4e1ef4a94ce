"""Kappa, divergence and difference of pairs, and pruning by them."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoost,
    CommitteeClassifier,
    KappaErrorHullPruner,
    OrderPruner,
    disagreement,
)
from committee.combiners.ballots import Ballots
from committee.combiners.pairwise import (
    agreement,
    boosting_weights,
    drep,
    kl,
    lower_left_hull,
    symmetric_divergence,
)
from committee.votes import Votes
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_problem


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    known = {"held_out": held_out, "sample_weight": s}
    rows = plain.Rows(*case)
    assert OrderPruner("kappa").fit(F, y, **known).order_.tolist() == plain.kappa(rows)
    for smoothing in (0.01, 0.3):
        order = OrderPruner(partial(kl, smoothing=smoothing)).fit(F, y, **known).order_
        assert order.tolist() == plain.kl(rows, smoothing)
    for rho in (0.1, 0.4, 1.0):
        order = OrderPruner(partial(drep, rho=rho)).fit(F, y, **known).order_
        assert order.tolist() == plain.drep(rows, rho)
    hull = KappaErrorHullPruner().fit(F, y, **known)
    pairs = plain.hull_pairs(rows)
    assert {tuple(pair) for pair in hull.pairs_.tolist()} == pairs
    members = sorted({m for pair in pairs for m in pair})
    assert hull.support_.tolist() == (members or plain.best(rows)[:1])


def test_kappa_takes_the_pair_that_agrees_least():
    """1 and 3 are opposites, kappa -1; 0 and 2 agree with none beyond chance."""
    codes = np.array([[0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 0]])
    fitted = OrderPruner("kappa", 2).fit(votes(codes), [0, 1, 0, 0])
    assert fitted.support_.tolist() == [1, 3]
    # Errors on these targets: member 1 errs less, so it comes first.
    assert fitted.order_[:2].tolist() == [1, 3]


def test_kl_takes_the_pair_that_diverges_most_then_the_sum():
    """Probabilities of class 0: 0.9, 0.8, 0.5, 0.1. J grows with the distance."""
    p = np.array([[0.9, 0.8, 0.5, 0.1]])
    F = np.stack([p, 1 - p], axis=2)
    # After 0 and 3: for 1 the sum is J(0.8, 0.9) + J(0.8, 0.1), larger than for 2.
    assert OrderPruner("kl").fit(F, [0]).order_.tolist() == [0, 3, 1, 2]


def test_drep_is_not_the_order_of_storage():
    """The best member is last; its opposite in errors follows; twins wait."""
    codes = np.array(
        [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    )
    # Errors 2/5, 2/5, 3/5, 1/5. diff with 3: -1/5, -1/5, -1/5: rho = 0.4 of three
    # leaves two, by error 0 and 1. The vote of two, ties one half: equal; 0.
    # Then diff with {3, 0}: 1 is 0's twin, 2/5; 2: mean of -1/5 and -1/5.
    order = OrderPruner("drep").fit(votes(codes), [0] * 5).order_
    assert order.tolist() == [3, 0, 2, 1]


@settings(max_examples=20)
@given(case=plain.vote_problems)
def test_drep_with_rho_of_one_reduces_the_error_greedily(case):
    rows = plain.Rows(*case)
    F, y, held_out, s = case
    fitted = OrderPruner(partial(drep, rho=1)).fit(
        F, y, held_out=held_out, sample_weight=s
    )
    order = fitted.order_.tolist()
    for u in range(1, rows.M):
        error = {m: rows.committee_error([*order[:u], m]) for m in order[u:]}
        assert error[order[u]] <= min(error.values()) + 1e-9


def test_drep_between_few_candidates_takes_the_most_different():
    """rho so small that one candidate is left: the least diff, whatever it errs."""
    codes = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]])
    order = OrderPruner(partial(drep, rho=0.01)).fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [0, 2, 1]


def test_a_diagram_by_hand():
    """Corners (0, 4), (1, 1) and (4, 0); (2, 2/3) is on an edge, (3, 3) inside."""
    x = np.array([3.0, 4.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    y = np.array([3.0, 0.0, 1.0, 2 / 3, 4.0, 0.0, 5.0])
    assert lower_left_hull(x, y).tolist() == [4, 2, 3, 1]


def test_one_point_and_equal_points():
    assert lower_left_hull(np.array([]), np.array([])).tolist() == []
    assert lower_left_hull(np.zeros(3), np.ones(3)).tolist() == [0, 1, 2]
    # The lowest is also the leftmost: the hull is that point.
    assert lower_left_hull(np.array([1.0, 0.0]), np.array([1.0, 0.0])).tolist() == [1]


@given(st.integers(0, 10**6), st.integers(4, 60))
def test_against_qhull(seed, n):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    hull = ConvexHull(points)
    left, low = points[:, 0].argmin(), points[:, 1].argmin()
    # Vertices run counterclockwise: from the leftmost down to the lowest.
    ring = np.roll(hull.vertices, -int(np.flatnonzero(hull.vertices == left)[0]))
    expected = ring[: int(np.flatnonzero(ring == low)[0]) + 1]
    assert lower_left_hull(*points.T).tolist() == expected.tolist()


def test_accurate_and_diverse_pairs_are_kept_and_the_rest_is_not():
    """0 and 1 err least, 1 and 2 agree least; 3 errs most and agrees."""
    codes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    fitted = KappaErrorHullPruner().fit(votes(codes), [0] * 4)
    assert fitted.support_.tolist() == [0, 1, 2]


def test_members_that_share_no_row():
    F, y, _, _ = plain.random_votes(0)
    N, M, _ = F.shape
    held_out = np.zeros((N, M), dtype=bool)
    held_out[np.arange(M) % N, np.arange(M)] = True
    rows = plain.Rows(F, y, held_out)
    assert not plain.hull_pairs(rows)
    fitted = KappaErrorHullPruner().fit(F, y, held_out=held_out)
    assert fitted.support_.tolist() == plain.best(rows)[:1]


@given(case=plain.vote_problems)
def test_pairs_against_plain_loops(case):
    rows, ballots = plain.Rows(*case), Ballots(Votes(*case))
    kappa = agreement(ballots).kappa
    J = symmetric_divergence(ballots, 0.05)
    for i, j in permutations(range(rows.M), 2):
        expected = plain.kappa_of(rows, i, j)
        assert np.isnan(kappa[i, j]) == (expected is None)
        if expected is not None:
            assert kappa[i, j] == pytest.approx(expected, abs=1e-10)
            assert J[i, j] == pytest.approx(
                plain.divergence(rows, i, j, 0.05), abs=1e-10
            )


def test_blocks_of_rows_add_up(monkeypatch):
    F, y = make_problem("multiclass")
    mask = np.random.default_rng(0).random((40, 7)) < 0.5
    ballots = Ballots(Votes(F, y, mask, None))
    whole = (*agreement(ballots), symmetric_divergence(ballots, 0.1))
    monkeypatch.setattr("committee.combiners.pairwise._BLOCK", 50)
    monkeypatch.setattr("committee.diagnostics.agreement._BLOCK", 50)
    parts = (*agreement(ballots), symmetric_divergence(ballots, 0.1))
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


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

    order = OrderPruner("kl-rows").fit(F, y, sample_weight=s).order_
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
    with pytest.raises(ValueError, match="common training rows"):
        OrderPruner("kl-rows").fit(F, y, held_out=mask)
