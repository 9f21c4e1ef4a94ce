"""The sequence as printed, against a plain loop over its text."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from committee.ep import (
    classification_path,
    classification_posterior,
    preferred,
    regression_path,
)
from committee.ep.loo import ScoreSums, vote_loo
from tests.ep.test_evidence import nasty, predictions, votes
from tests.reference import chen_sequence
from tests.reference.problems import make_problem

# EP is settled to 1e-4 standard deviations of a row; those of 200 rows add up to
# sqrt(200) of it at most where they are independent.
OFF = 1e-4 * np.sqrt(200)


def test_each_rule_prefers_another_step():
    """The error of the first is within .2 of the least, and it is the smallest."""
    numbers = [(0.50, 1, 3.0, -9.0), (0.40, 4, 2.0, -8.0), (0.60, 2, 1.0, -7.0)]
    numbers += [(0.70, 3, 4.0, -9.5)]
    names = ("loo_error", "size", "log_evidence", "loo_density")
    steps = [
        SimpleNamespace(**dict(zip(names, row, strict=True)), loo_se=0.2)
        for row in numbers
    ]
    rules = {"min-loo": 1, "max-evidence": 3, "max-density": 2, "one-se": 0}
    for rule, step in rules.items():
        assert preferred(steps, rule) is steps[step]


def test_weights_without_a_bound_have_no_price():
    """A truncated weight must be worth its price; a free one only its evidence."""
    F, y = make_problem("regression", N=60, M=8)
    path, unpriced, priced = (
        regression_path(F, y, truncated=False, price=price)
        for price in (None, 0.0, 1.0)
    )
    last, same, fewer = (p.steps[-1].active.tolist() for p in (path, unpriced, priced))
    assert last == same
    assert len(fewer) < len(same)


def test_votes_that_are_left_out_are_wrong_half_wrong_or_right():
    """Below zero, at zero, above; a case of two rows is as wrong as the worse."""
    c, log_z = np.array([-1.0, 2.0, 0.0, 3.0, 1.0, 2.0]), np.log(np.arange(1.0, 7.0))
    found = vote_loo(c, np.ones(6), log_z, np.repeat([1.0, 2.0, 3.0], 2), 2)
    assert found.loss.tolist() == [1.0, 0.5, 0.0]
    assert_allclose(np.exp(found.log_density), [2.0, 12.0, 30.0])
    assert found.weight.tolist() == [1.0, 2.0, 3.0]


def test_sums_of_two_sets_of_cases_are_those_of_both():
    """The largest losses of the sets differ, and so do their units."""
    losses, density = np.array([1.0, 2.0, 6.0, 3.0]), np.zeros(4)
    s = np.array([1.0, 2.0, 1.0, 3.0])
    parts = [ScoreSums.of(losses[i], density[i], s[i]) for i in ([0, 1], [2, 3])]
    whole = ScoreSums.of(losses, density, s)
    for found in (parts[0].plus(parts[1]), parts[1].plus(parts[0])):
        assert_allclose(found.score, whole.score, rtol=1e-14)


def printed(rows, *y, **options):
    """Run the sequence on votes, or on predictions and targets."""
    path = regression_path if y else classification_path
    return path(rows, *y, sequence="printed", **options)


def check_against(plain, path):
    """The same moves throughout, and EP's moments, settled to 1e-4 for every row."""
    assert len(plain) == len(path)
    for expected, step in zip(plain, path.steps, strict=True):
        assert step.active.tolist() == expected.active
        assert_allclose(step.alpha, expected.alpha, rtol=2 * OFF)
        assert_allclose(step.noise, expected.noise, rtol=1e-6)
        sd = np.sqrt(np.diag(step.cov))
        off = np.abs(step.weights[step.active] - expected.weights)
        assert np.all(off <= OFF * sd)
        assert_allclose(step.loo_error, expected.loo, rtol=1e-3)
    least = int(np.argmin([step.loo for step in plain]))
    assert preferred(path.steps).active.tolist() == plain[least].active


@pytest.mark.parametrize("noise", [None, 0.1])
def test_regression_follows_the_text(rng, noise):
    """The sum of two members comes first, then the two, and then it leaves."""
    a, b = rng.normal(size=(2, 40))
    clean = np.column_stack([a + b, a, b, -a, a - b])
    F = clean + np.array([0.6, 0.2, 0.2, 0.5, 0.5]) * rng.normal(size=(40, 5))
    y = a + b + 0.1 * rng.normal(size=40)
    plain = chen_sequence.regression(F, y, noise, least=40 * 1e-6)
    check_against(plain, printed(F, y, noise=noise, tol=1e-6))
    assert set(np.diff([len(step.active) for step in plain])) == {-1, 0, 1}


def test_classification_follows_the_text(rng):
    S = votes(rng, N=40, M=7, abstaining=0.0)
    plain = chen_sequence.classification(S, least=40 * 1e-4)
    check_against(plain, printed(S, tol=1e-4))
    assert len(plain) > 3


def test_the_text_begins_with_several_members(rng):
    """The ones that gain most alone and with a weight above zero, at their own alphas."""
    F, y = predictions(rng, N=40, M=7)
    F[:, 2] *= -1  # would gain most, with a weight below zero
    q = np.where(F.T @ y > 0, (F.T @ y) ** 2 / (F**2).sum(axis=0), 0)
    first = sorted(np.argsort(-q)[:3].tolist())
    plain = chen_sequence.regression(F, y, 0.5, least=40 * 1e-6, first=first)
    path = printed(F, y, noise=0.5, tol=1e-6, n_initial=3)
    check_against(plain, path)
    assert path.steps[0].active.tolist() == first

    S = votes(rng, N=40, M=7, abstaining=0.0)
    right = S.sum(axis=0)
    first = sorted(np.argsort(-right)[:3].tolist())
    plain = chen_sequence.classification(S, least=40 * 1e-4, first=first)
    check_against(plain, printed(S, tol=1e-4, n_initial=3))


def one_wrong(rng, N=400, M=20):
    """One member is always wrong, the others are right on 70 % of the rows."""
    S = np.where(rng.random((N, M)) < 0.7, 1.0, -1.0)
    S[:, 0] = -1.0
    return S


def test_a_committee_worse_than_one_of_its_members_warns(rng):
    """The gain of two sides is largest for the member that is always wrong."""
    with pytest.warns(UserWarning, match="alone has a leave-one-out error of 0.2"):
        path = printed(one_wrong(rng))
    assert preferred(path.steps).active.tolist() == [0]
    assert preferred(printed(one_wrong(rng), n_initial=10).steps).loo_error < 0.15


def test_where_no_member_is_better_than_chance_the_best_single_is_left(rng):
    path = printed(-np.abs(votes(rng, M=5)), n_initial=3)
    assert [step.size for step in path.steps] == [1]


def test_one_member_has_the_alpha_of_equation_15(rng):
    F, y = predictions(rng, N=30, M=1)
    noise = 0.5
    r, u = F[:, 0] @ F[:, 0] / noise, F[:, 0] @ y / noise
    step = printed(F, y, noise=noise).steps[-1]
    assert_allclose(step.alpha, r**2 / (u**2 - r), rtol=1e-9)


def test_two_sides_let_members_in_that_one_side_keeps_out(rng):
    """F_1 only takes away the error of F_0: a weight below zero would be right."""
    y, error = rng.normal(size=(2, 200))
    F = np.column_stack([y + error, error + 0.1 * rng.normal(size=200)])
    assert printed(F, y).steps[-1].active.tolist() == [0, 1]
    assert regression_path(F, y).steps[-1].active.tolist() == [0]
    # The truncation holds its weight above zero all the same, and near it.
    assert 0 < printed(F, y).steps[-1].weights[1] < 0.1


def test_one_move_at_a_time(rng):
    path = printed(votes(rng, M=30))
    assert path.converged
    before = {}
    for step in path.steps:
        now = dict(zip(step.active.tolist(), step.alpha, strict=True))
        changed = [i for i in before.keys() | now.keys() if before.get(i) != now.get(i)]
        assert len(changed) == 1
        before = now


def test_steps_of_rows_with_abstentions_are_posteriors(rng):
    S = votes(rng, N=150, M=8)
    for step in printed(S).steps[::4]:
        posterior = classification_posterior(S[:, step.active], step.alpha)
        sd = np.sqrt(np.diag(posterior.cov))
        off = np.abs(step.weights[step.active] - posterior.mean)
        assert np.all(off <= OFF * sd)


def test_integer_weights_are_repeated_rows(rng):
    S, (F, y) = votes(rng, N=100), predictions(rng, N=100)
    s = rng.integers(0, 3, size=100)
    pairs = (
        (printed(S, sample_weight=s), printed(np.repeat(S, s, axis=0))),
        (
            printed(F, y, sample_weight=s),
            printed(np.repeat(F, s, axis=0), np.repeat(y, s)),
        ),
    )
    for weighted, repeated in pairs:
        assert_allclose(weighted.weights, repeated.weights, rtol=1e-6)
        assert_allclose(weighted.own_error, repeated.own_error)


def test_order_and_units_do_not_matter(rng):
    F, y = predictions(rng)
    members, order = rng.permutation(8), rng.permutation(200)
    one, other = printed(F, y), printed(1e9 * F[order][:, members], 1e-5 * y[order])
    assert_allclose(1e14 * other.weights, one.weights[:, members], rtol=1e-6)


def test_limits_are_kept(rng):
    S = votes(rng, M=30)
    short = printed(S, max_iter=3)
    assert (len(short), short.converged) == (3, False)
    for options in ({"price": 1.0}, {"truncated": False}):
        with pytest.raises(ValueError, match="leave out 'truncated' and 'price'"):
            printed(S, **options)


@pytest.mark.filterwarnings("ignore:Member .* alone")
@given(problem=nasty(), probit=st.booleans())
@settings(max_examples=50)
def test_nothing_breaks_the_printed_sequence(problem, probit):
    F, y, scale = problem
    sign = np.where(y > 0, 1, -1)[:, None]
    path = printed(sign * F) if probit else printed(F, y * scale)
    for step in path.steps:
        assert step.size >= 1
        assert np.isfinite(step.weights).all()
        assert (step.weights[step.active] > 0).all()
        assert np.isfinite([step.loo_error, step.log_evidence, step.noise]).all()
