"""Agreement, kappa and divergence of pairs against plain loops."""

import numpy as np
import pytest
from hypothesis import given

from committee import disagreement
from committee.combiners.ballots import Ballots
from committee.combiners.problem import Problem
from committee.combiners.similarity import agreement, symmetric_divergence
from tests.reference.problems import make_problem
from tests.reference.pruners import Rows, divergence, kappa_of, vote_problems


def pairs(rows):
    return [(i, j) for i in range(rows.M) for j in range(rows.M) if i != j]


@given(case=vote_problems)
def test_pairs_against_plain_loops(case):
    rows, ballots = Rows(*case), Ballots(Problem(*case))
    kappa = agreement(ballots).kappa
    J = symmetric_divergence(ballots, 0.05)
    for i, j in pairs(rows):
        expected = kappa_of(rows, i, j)
        assert np.isnan(kappa[i, j]) == (expected is None)
        if expected is not None:
            assert kappa[i, j] == pytest.approx(expected, abs=1e-10)
            assert J[i, j] == pytest.approx(divergence(rows, i, j, 0.05), abs=1e-10)


def test_blocks_of_rows_add_up(monkeypatch):
    F, y = make_problem("multiclass")
    mask = np.random.default_rng(0).random((40, 7)) < 0.5
    ballots = Ballots(Problem(F, y, mask, None))
    whole = (*agreement(ballots), symmetric_divergence(ballots, 0.1))
    monkeypatch.setattr("committee.combiners.similarity._BLOCK", 50)
    monkeypatch.setattr("committee.diagnostics.agreement._BLOCK", 50)
    parts = (*agreement(ballots), symmetric_divergence(ballots, 0.1))
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_divergence_of_two_coins():
    """Smoothing 0 in the limit: (0.9 - 0.1) log 9 from each of the two classes."""
    F = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    ballots = Ballots(Problem(F, np.zeros(1, dtype=int), None, None))
    J = symmetric_divergence(ballots, 1e-12)
    np.testing.assert_allclose(J, [[0, 1.6 * np.log(9)], [1.6 * np.log(9), 0]])


def test_divergence_of_votes_is_proportional_to_disagreement():
    F, y = make_problem("multiclass", N=100)
    V = np.eye(3)[F.argmax(axis=2)]
    J = symmetric_divergence(Ballots(Problem(1e150 * V, y, None, None)), 0.01)
    share = disagreement(V)
    np.testing.assert_allclose(J / J.max(), share / share.max(), atol=1e-12)


def test_a_row_without_a_positive_entry_is_the_vote_it_casts():
    F = np.array([[[-1.0, -2.0], [1.0, 0.0], [0.0, 0.0]]])
    ballots = Ballots(Problem(F, np.zeros(1, dtype=int), None, None))
    np.testing.assert_allclose(symmetric_divergence(ballots, 0.01), 0, atol=1e-12)
