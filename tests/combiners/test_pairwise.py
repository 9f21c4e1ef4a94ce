"""KappaPruner, KLPruner and DREPPruner."""

import numpy as np
import pytest
from hypothesis import given, settings

from committee import DREPPruner, KappaPruner, KLPruner
from tests.reference import pruners as plain
from tests.reference.hostile import votes


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    known = {"held_out": held_out, "sample_weight": s}
    rows = plain.Rows(*case)
    assert KappaPruner().fit(F, y, **known).order_.tolist() == plain.kappa(rows)
    for smoothing in (0.01, 0.3):
        order = KLPruner(smoothing=smoothing).fit(F, y, **known).order_
        assert order.tolist() == plain.kl(rows, smoothing)
    for rho in (0.1, 0.4, 1.0):
        order = DREPPruner(rho=rho).fit(F, y, **known).order_
        assert order.tolist() == plain.drep(rows, rho)


def test_kappa_takes_the_pair_that_agrees_least():
    """1 and 3 are opposites, kappa -1; 0 and 2 agree with nobody beyond chance."""
    codes = np.array([[0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 0]])
    fitted = KappaPruner(2).fit(votes(codes), [0, 1, 0, 0])
    assert fitted.support_.tolist() == [1, 3]
    # Errors on these targets: member 1 errs less, so it comes first.
    assert fitted.order_[:2].tolist() == [1, 3]


def test_kl_takes_the_pair_that_diverges_most_then_the_sum():
    """Probabilities of class 0: 0.9, 0.8, 0.5, 0.1. J grows with the distance."""
    p = np.array([[0.9, 0.8, 0.5, 0.1]])
    F = np.stack([p, 1 - p], axis=2)
    # After 0 and 3: for 1 the sum is J(0.8, 0.9) + J(0.8, 0.1), larger than for 2.
    assert KLPruner().fit(F, [0]).order_.tolist() == [0, 3, 1, 2]


def test_drep_is_not_the_order_of_storage():
    """The best member is last; its opposite in errors follows; twins wait."""
    codes = np.array(
        [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    )
    # Errors 2/5, 2/5, 3/5, 1/5. diff with 3: -1/5, -1/5, -1/5: rho = 0.4 of three
    # leaves two, by error 0 and 1. The vote of two, ties one half: equal; 0.
    # Then diff with {3, 0}: 1 is 0's twin, 2/5; 2: mean of -1/5 and -1/5.
    order = DREPPruner().fit(votes(codes), [0] * 5).order_
    assert order.tolist() == [3, 0, 2, 1]


@settings(max_examples=20)
@given(case=plain.vote_problems)
def test_drep_with_rho_of_one_reduces_the_error_greedily(case):
    rows = plain.Rows(*case)
    F, y, held_out, s = case
    fitted = DREPPruner(rho=1).fit(F, y, held_out=held_out, sample_weight=s)
    order = fitted.order_.tolist()
    for u in range(1, rows.M):
        error = {m: rows.committee_error([*order[:u], m]) for m in order[u:]}
        assert error[order[u]] <= min(error.values()) + 1e-9


def test_drep_between_few_candidates_takes_the_most_different():
    """rho so small that one candidate is left: the least diff, whatever it errs."""
    codes = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]])
    order = DREPPruner(rho=0.01).fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [0, 2, 1]


@pytest.mark.parametrize("rho", [0, 1.5])
def test_rho_is_a_share(rho):
    F, y, _, _ = plain.random_votes(0)
    with pytest.raises(ValueError, match="'rho' parameter"):
        DREPPruner(rho=rho).fit(F, y)
