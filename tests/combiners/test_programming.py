import numpy as np
import pytest
from hypothesis import given, settings

from committee import LPBoostWeights
from committee.combiners import programming
from committee.linalg import soft_margin
from committee.votes import Votes
from tests.reference import search
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem

kinds = pytest.mark.parametrize("kind", KINDS)


def margin_rows(F, y, held_out=None):
    """Return A of shape (N, R, M), row by row."""
    A = []
    for n in range(len(F)):
        if F.ndim == 3:
            rows = [F[n, :, y[n]] - F[n, :, k] for k in range(F.shape[2]) if k != y[n]]
            if held_out is not None:
                rows = [np.where(held_out[n], row, 0.0) for row in rows]
        else:
            e = F[n] - y[n]
            if held_out is not None and held_out[n].any():
                e = np.where(held_out[n], e, e[held_out[n]].mean())
            rows = [e, -e]
        A.append(rows)
    keep = slice(None) if held_out is None else held_out.any(axis=1)
    return np.array(A)[keep]


@kinds
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_primal_programme(kind, masked, weighted, rng):
    F, y = make_problem(kind)
    held_out = make_held_out() if masked else None
    s = rng.exponential(size=40) if weighted else np.ones(40)
    A = margin_rows(F, y, held_out)
    known = {"held_out": held_out, "sample_weight": s if weighted else None}
    counted = s if held_out is None else s[held_out.any(axis=1)]
    for nu in (0.1, 0.5, 1.0):
        value, w = search.soft_margin(A, counted, nu)
        lp = LPBoostWeights(nu).fit(F, y, **known)
        assert lp.objective_ == pytest.approx(value, rel=1e-7, abs=1e-9)
        np.testing.assert_allclose(lp.weights_, w, rtol=0, atol=1e-6)
        margin = (A @ lp.weights_).min(axis=1)
        worst = search.mean_of_worst(margin, counted, nu)
        assert worst == pytest.approx(value, rel=1e-7)


@kinds
def test_at_most_the_share_nu_of_rows_is_below_the_margin(kind):
    F, y = make_problem(kind, N=200)
    for nu in (0.1, 0.3, 0.8):
        lp = LPBoostWeights(nu).fit(F, y)
        margin = (margin_rows(F, y) @ lp.weights_).min(axis=1)
        assert np.mean(margin < lp.rho_ - 1e-7) <= nu + 1e-9
        assert np.mean(margin <= lp.rho_ + 1e-7) >= nu - 1e-9


def test_the_whole_sample_is_the_mean():
    """nu = 1: the member of largest mean margin, or least mean absolute error."""
    F, y = make_problem("binary")
    S = (2 * F[..., 1] - 1) * (2 * y - 1)[:, None]
    assert LPBoostWeights(1.0).fit(F, y).support_.tolist() == [S.mean(axis=0).argmax()]
    F, y = make_problem("regression")
    lp = LPBoostWeights(1.0).fit(F, y)
    assert lp.objective_ == pytest.approx(-np.abs(F @ lp.weights_ - y).mean())


def test_a_hard_margin():
    """Three members, each wrong on one row of three: 1/3 each, margin 1/3."""
    F = np.eye(2)[np.eye(3, dtype=int)]
    lp = LPBoostWeights(0.01).fit(F, [0, 0, 0])
    np.testing.assert_allclose(lp.weights_, 1 / 3)
    assert lp.rho_ == pytest.approx(1 / 3)


def test_the_middle_of_two_regressions():
    """Members 1 above and 3 below: weights 3/4 and 1/4 are exact."""
    y = np.arange(6.0)
    lp = LPBoostWeights(0.2).fit(np.c_[y + 1, y - 3], y)
    np.testing.assert_allclose(lp.weights_, [0.75, 0.25])
    assert lp.objective_ == pytest.approx(0, abs=1e-12)


@kinds
@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_sifting_solves_the_whole_programme(kind, nu, monkeypatch, rng):
    F, y = make_problem(kind, N=600)
    s = rng.exponential(size=600)
    whole = LPBoostWeights(nu).fit(F, y, sample_weight=s)
    assert whole.n_iter_ == 1 or kind != "binary"
    monkeypatch.setattr(soft_margin, "_FIRST", 40)
    sifted = LPBoostWeights(nu).fit(F, y, sample_weight=s)
    assert sifted.n_iter_ > whole.n_iter_
    assert sifted.objective_ == pytest.approx(whole.objective_, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(sifted.weights_, whole.weights_, rtol=0, atol=1e-5)


def test_sifting_hard_votes_with_many_equal_margins(monkeypatch, rng):
    wrong = (rng.random((800, 6)) < 0.3).astype(int)
    whole = LPBoostWeights(0.3).fit(np.eye(2)[wrong], np.zeros(800))
    monkeypatch.setattr(soft_margin, "_FIRST", 50)
    sifted = LPBoostWeights(0.3).fit(np.eye(2)[wrong], np.zeros(800))
    assert sifted.objective_ == pytest.approx(whole.objective_, abs=1e-8)


def test_a_programme_that_cannot_be_solved_is_a_value_error():
    rows = np.ones((2, 1)), np.arange(2), np.full(2, 0.1)
    with pytest.raises(ValueError, match="HiGHS could not solve"):
        soft_margin._solve(*rows, np.zeros(1), 0.0)


def test_rows_of_a_problem_are_not_changed(binary_problem):
    F, y = binary_problem
    A, s = programming._margin_rows(Votes(F, y, None, None))
    assert A.shape == (40, 1, 7)
    assert s.tolist() == [1.0] * 40


@pytest.mark.parametrize("nu", [0.0, 1.5, -1.0])
def test_nu_is_a_share(nu, binary_problem):
    with pytest.raises(ValueError, match="'nu' parameter of LPBoostWeights"):
        LPBoostWeights(nu).fit(*binary_problem)


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    fit_or_refuse(LPBoostWeights(), *case)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    fit_or_refuse(LPBoostWeights(0.2), *case)
