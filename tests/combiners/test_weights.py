"""Weights without pruning."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from committee import (
    Average,
    LeastSquares,
    LPBoostWeights,
    OptimalWeights,
    SimplexWeights,
)
from committee.combiners.weights import _margin_rows
from committee.linalg import programmes
from committee.votes import Votes
from tests.reference import errors, search, weights
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_equal_whatever_is_known(kind, rng):
    F, y = make_problem(kind)
    plain = Average().fit(F, y)
    honest = Average().fit(
        F, y, held_out=make_held_out(), sample_weight=rng.exponential(size=40)
    )
    assert plain.weights_.tolist() == honest.weights_.tolist() == [1 / 7] * 7
    assert plain.support_.tolist() == list(range(7))


@pytest.mark.parametrize("kind", KINDS)
def test_combines_to_the_mean(kind):
    F, y = make_problem(kind)
    np.testing.assert_allclose(
        Average().fit(F, y).combine(F), F.mean(axis=1), rtol=1e-13, atol=1e-15
    )


def test_says_that_it_needs_no_rows():
    assert not Average.needs_rows


kinds = pytest.mark.parametrize("kind", KINDS)
constrained = pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights()])

# C of these problems has a condition number below 1e3: weights agree with a dense
# solve to 1e-12; the simplex solver's ridge of 1e-10 costs it 1e-7.
DENSE = {"rtol": 0, "atol": 1e-11}
RIDGED = {"rtol": 0, "atol": 1e-7}


def squared_error(f, y):
    """Return the mean squared error, of probability vectors for classes."""
    target = y if f.ndim == 1 else np.eye(f.shape[1])[y]
    return ((f - target) ** 2).sum() / len(f)


def stacked(F, y):
    """Return F and the target with one row for each row and class, centred."""
    if F.ndim == 2:
        return F, y
    K = F.shape[2]
    rows = F.transpose(0, 2, 1).reshape(-1, F.shape[1]) - 1 / K
    return rows, (np.eye(K)[y] - 1 / K).reshape(-1)


def interior(rng, w, N=40):
    """Return F and y whose unconstrained least squares solution is w."""
    F = rng.normal(size=(N, len(w)))
    residual = rng.normal(size=N)
    residual -= F @ np.linalg.lstsq(F, residual, rcond=None)[0]
    return F, F @ w + residual


@kinds
def test_optimal_against_the_bordered_system(kind):
    F, y = make_problem(kind)
    combiner = OptimalWeights().fit(F, y)
    C = errors.error_correlation(F, y)
    np.testing.assert_allclose(combiner.weights_, weights.optimal_weights(C), **DENSE)
    J = 1 / np.linalg.solve(C, np.ones(7)).sum()
    assert combiner.error_ == pytest.approx(J, rel=1e-10)


@kinds
def test_simplex_against_every_face(kind):
    F, y = make_problem(kind)
    w = SimplexWeights().fit(F, y).weights_
    C = errors.error_correlation(F, y)
    np.testing.assert_allclose(w, weights.simplex_weights(C), **RIDGED)
    violation, unit = weights.simplex_violation(C, w)
    assert np.all(violation <= 1e-8 * unit)


@kinds
def test_least_squares_against_the_normal_equations(kind):
    F, y = make_problem(kind)
    w = LeastSquares().fit(F, y).weights_
    np.testing.assert_allclose(w, weights.least_squares(*stacked(F, y)), **DENSE)


@kinds
@constrained
def test_error_is_the_squared_error_of_the_committee(kind, combiner):
    F, y = make_problem(kind)
    combiner.fit(F, y)
    assert combiner.error_ == pytest.approx(squared_error(combiner.combine(F), y))


@kinds
def test_the_freer_the_weights_the_smaller_the_error_on_the_rows_of_the_fit(kind):
    """Least squares <= sum one <= simplex <= the mean, and <= the best member."""
    F, y = make_problem(kind)
    if F.ndim == 3:  # centred, where least squares is free of the constant too
        F = F - 1 / F.shape[2]
        target = np.eye(F.shape[2])[y] - 1 / F.shape[2]
    else:
        target = y

    def error(combiner):
        F0, _ = make_problem(kind)
        w = combiner.fit(F0, y).weights_
        return ((np.tensordot(F, w, axes=(1, 0)) - target) ** 2).sum()

    steps = [LeastSquares(), OptimalWeights(), SimplexWeights(), Average()]
    seen = [error(step) for step in steps]
    # Equal ones may stand in any order, up to rounding and the ridge of 1e-10.
    for free, bound in pairwise(seen):
        assert free <= bound * (1 + 1e-9)
    best = min(((F[:, m] - target) ** 2).sum() for m in range(7))
    assert seen[2] <= best * (1 + 1e-9)


@pytest.mark.parametrize("combiner", [LeastSquares(), OptimalWeights()])
def test_nonbinding_constraints_give_least_squares(combiner, rng):
    """The best free weights are positive and sum to one: all three agree."""
    w = np.array([0.1, 0.2, 0.3, 0.4])
    F, y = interior(rng, w)
    simplex = SimplexWeights().fit(F, y)
    np.testing.assert_allclose(combiner.fit(F, y).weights_, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(simplex.weights_, w, rtol=0, atol=1e-8)


def test_optimal_weights_that_are_positive_are_the_simplex_weights(rng):
    E = rng.normal(size=(200, 5)) * [1.0, 1.1, 1.2, 1.3, 1.4]
    optimal = OptimalWeights().fit(E, np.zeros(200)).weights_
    assert optimal.min() > 0
    simplex = SimplexWeights().fit(E, np.zeros(200)).weights_
    np.testing.assert_allclose(simplex, optimal, rtol=0, atol=1e-9)


def test_uncorrelated_members_weigh_by_their_precision():
    """Errors of variance 1 and 4: weights 4/5 and 1/5, J = 4/5."""
    E = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]])
    combiner = OptimalWeights().fit(E + 3.0, np.full(4, 3.0))
    np.testing.assert_allclose(combiner.weights_, [0.8, 0.2], rtol=1e-14)
    assert combiner.error_ == pytest.approx(0.8, rel=1e-14)


def test_two_classes_are_a_regression_of_signs_on_signed_votes(binary_problem):
    F, y = binary_problem
    S = 2 * F[..., 1] - 1
    np.testing.assert_allclose(
        LeastSquares().fit(F, y).weights_,
        LeastSquares().fit(S, 2 * y - 1).weights_,
        **DENSE,
    )
    for combiner in (OptimalWeights(), SimplexWeights()):
        w = combiner.fit(F, y).weights_
        np.testing.assert_allclose(
            w, combiner.fit(S, 2 * y - 1).weights_, rtol=0, atol=1e-10
        )


@kinds
@pytest.mark.parametrize(
    "combiner", [OptimalWeights(), SimplexWeights(), LeastSquares()]
)
def test_row_weights_are_repetitions(kind, combiner, rng):
    F, y = make_problem(kind)
    s = rng.integers(0, 4, size=40)
    w = combiner.fit(F, y, sample_weight=s).weights_
    many = combiner.fit(np.repeat(F, s, axis=0), np.repeat(y, s)).weights_
    np.testing.assert_allclose(w, many, rtol=0, atol=1e-10)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_a_basic_solution_has_as_many_members_as_the_rank(kind, weighted, rng):
    F, y = make_problem(kind)
    F = np.concatenate([F, F[:, :3], F[:, :2].mean(axis=1, keepdims=True)], axis=1)
    s = rng.integers(0, 4, size=40) if weighted else np.ones(40, dtype=int)
    combiner = LeastSquares(solution="basic").fit(F, y, sample_weight=s)
    rows, target = stacked(np.repeat(F, s, axis=0), np.repeat(y, s))
    assert len(combiner.support_) == np.linalg.matrix_rank(rows)
    best = rows @ (np.linalg.pinv(rows, rcond=1e-10) @ target)
    np.testing.assert_allclose(rows @ combiner.weights_, best, rtol=0, atol=1e-8)


@kinds
def test_held_out_rows_leave_nothing_to_choose(kind):
    F, y = make_problem(kind)
    held_out = make_held_out(40, 7)
    F = np.concatenate([F, F], axis=1)
    mask = np.concatenate([held_out, held_out], axis=1)
    w, v = (
        LeastSquares(solution=solution).fit(F, y, held_out=mask).weights_
        for solution in ("minimum-norm", "basic")
    )
    np.testing.assert_array_equal(w, v)


@kinds
def test_rank_deficient_least_squares_has_minimum_norm(kind):
    F, y = make_problem(kind)
    F = np.concatenate([F, F[:, :3], F[:, :2].mean(axis=1, keepdims=True)], axis=1)
    rows, target = stacked(F, y)
    w = LeastSquares().fit(F, y).weights_
    np.testing.assert_allclose(
        w, np.linalg.pinv(rows, rcond=1e-10) @ target, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(w[:3], w[7:10], rtol=0, atol=1e-12)


@kinds
@pytest.mark.parametrize(
    "combiner", [OptimalWeights(), SimplexWeights(), LeastSquares()]
)
def test_more_members_than_rows(kind, combiner):
    F, y = make_problem(kind, N=6, M=30)
    w = combiner.fit(F, y).weights_
    assert np.all(np.isfinite(w))
    if kind == "regression":
        # Thirty members on six rows fit exactly; the jitter is 1e-8 at most.
        exact = isinstance(combiner, SimplexWeights) or np.allclose(
            combiner.combine(F), y, rtol=0, atol=1e-5
        )
        assert exact


@pytest.mark.parametrize("copies", [2, 10])
def test_optimal_with_identical_members(copies, regression_problem):
    F, y = regression_problem
    alone = OptimalWeights().fit(F, y)
    twins = OptimalWeights().fit(np.repeat(F, copies, axis=1), y)
    shares = twins.weights_.reshape(7, copies)
    # A jitter of 1e-10 to 1e-8 times a condition number below 1e3, and eps over it.
    np.testing.assert_allclose(shares.sum(axis=1), alone.weights_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        shares, shares.mean(axis=1)[:, None] + np.zeros(copies), rtol=0, atol=1e-5
    )
    assert twins.error_ == pytest.approx(alone.error_, rel=1e-6)


@constrained
def test_a_perfect_member_takes_all(combiner, regression_problem):
    F, y = regression_problem
    F[:, 4] = y
    combiner.fit(F, y)
    np.testing.assert_allclose(combiner.weights_, np.eye(7)[4], rtol=0, atol=1e-7)
    assert combiner.error_ <= 1e-12


@constrained
def test_members_without_error_share_equally(combiner):
    y = np.arange(5.0)
    combiner.fit(np.repeat(y[:, None], 3, axis=1), y)
    np.testing.assert_allclose(combiner.weights_, 1 / 3, rtol=1e-14)
    assert combiner.error_ == 0.0


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_weights_are_those_of_the_shrunk_correlation(kind, weighted, rng):
    F, y = make_problem(kind)
    held_out = make_held_out()
    s = rng.exponential(size=40) if weighted else None
    known = {"held_out": held_out, "sample_weight": s}
    C = errors.shrunk_correlation(F, y, held_out, s)
    optimal = OptimalWeights().fit(F, y, **known)
    simplex = SimplexWeights().fit(F, y, **known)
    np.testing.assert_allclose(optimal.weights_, weights.optimal_weights(C), **DENSE)
    np.testing.assert_allclose(simplex.weights_, weights.simplex_weights(C), **RIDGED)
    assert optimal.error_ == pytest.approx(optimal.weights_ @ C @ optimal.weights_)


@kinds
@pytest.mark.parametrize("unit", [1.0, 30.0])
def test_held_out_least_squares_scales_the_optimal_weights(kind, unit, rng):
    """S minimises the mean of (y - S f)^2, f = y + e, from moments row by row."""
    F, y = make_problem(kind)
    if kind == "regression":
        F, y = unit * F, unit * y
    held_out, s = make_held_out(), rng.exponential(size=40)
    optimal = OptimalWeights().fit(F, y, held_out=held_out, sample_weight=s)
    E = errors.error_vectors(F, y)
    target = y[:, None] if F.ndim == 2 else np.eye(F.shape[2])[y] - 1 / F.shape[2]
    c = y2 = total = 0.0
    for n in range(40):
        for m in np.flatnonzero(held_out[n]):
            c += s[n] * float(E[n, m] @ target[n])
            y2 += s[n] * float(target[n] @ target[n])
            total += s[n]
    c, y2 = c / total, y2 / total
    S = (c + y2) / (optimal.error_ + 2 * c + y2)
    w = LeastSquares().fit(F, y, held_out=held_out, sample_weight=s).weights_
    np.testing.assert_allclose(w, S * optimal.weights_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("unit", [0.01, 1.0, 1000.0])
def test_held_out_least_squares_halves_members_that_say_double(unit, rng):
    N, M = 400, 5
    y = unit * rng.normal(size=N)
    F = 2 * y[:, None] + 0.05 * unit * rng.normal(size=(N, M))
    held_out = rng.random((N, M)) < 0.5
    combiner = LeastSquares().fit(F, y, held_out=held_out)
    # Noise of 0.05 in F, and of 1 / sqrt(N) in the moments.
    assert combiner.weights_.sum() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
@pytest.mark.parametrize("masked", [False, True])
def test_least_squares_does_not_depend_on_the_unit(unit, masked, regression_problem):
    F, y = regression_problem
    held_out = make_held_out() if masked else None
    w = LeastSquares().fit(F, y, held_out=held_out).weights_
    v = LeastSquares().fit(unit * F, unit * y, held_out=held_out).weights_
    np.testing.assert_allclose(v, w, rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
def test_least_squares_rescales_members_of_any_unit(unit, regression_problem):
    """Predictions in metres, targets in nanometres: only the weights change."""
    F, y = regression_problem
    w = LeastSquares().fit(F, y).weights_
    v = LeastSquares().fit(unit * F, y).weights_
    np.testing.assert_allclose(v * unit, w, rtol=1e-9)


def test_a_classifier_that_abstains_has_no_say_in_least_squares(multiclass_problem):
    """The probability vector 1/K is zero once centred."""
    F, y = multiclass_problem
    mute = np.full((40, 1, 3), 1 / 3)
    w = LeastSquares().fit(np.concatenate([F, mute], axis=1), y).weights_
    np.testing.assert_allclose(w[:7], LeastSquares().fit(F, y).weights_, **DENSE)
    assert abs(w[7]) <= 1e-12


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
    monkeypatch.setattr(programmes, "_FIRST", 40)
    sifted = LPBoostWeights(nu).fit(F, y, sample_weight=s)
    assert sifted.n_iter_ > whole.n_iter_
    assert sifted.objective_ == pytest.approx(whole.objective_, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(sifted.weights_, whole.weights_, rtol=0, atol=1e-5)


def test_sifting_hard_votes_with_many_equal_margins(monkeypatch, rng):
    wrong = (rng.random((800, 6)) < 0.3).astype(int)
    whole = LPBoostWeights(0.3).fit(np.eye(2)[wrong], np.zeros(800))
    monkeypatch.setattr(programmes, "_FIRST", 50)
    sifted = LPBoostWeights(0.3).fit(np.eye(2)[wrong], np.zeros(800))
    assert sifted.objective_ == pytest.approx(whole.objective_, abs=1e-8)


def test_a_programme_that_cannot_be_solved_is_a_value_error():
    rows = np.ones((2, 1)), np.arange(2), np.full(2, 0.1)
    with pytest.raises(ValueError, match="HiGHS could not solve"):
        programmes._solve(*rows, np.zeros(1), 0.0)


def test_rows_of_a_problem_are_not_changed(binary_problem):
    F, y = binary_problem
    A, s = _margin_rows(Votes(F, y, None, None))
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
