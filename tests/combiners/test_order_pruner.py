"""Paths of ordered members, back-fitting, and that nothing breaks an ordering pruner."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import committee
from committee import OrderPruner, ReduceErrorPruner, error_correlation
from committee.combiners.order_pruner import CRITERIA, _in_range, selection_path
from committee.votes import Votes
from tests.reference import pruners as plain
from tests.reference.hostile import (
    fit_or_refuse,
    hostile_regression,
    hostile_votes,
    votes,
)
from tests.reference.problems import KINDS, make_held_out, make_problem
from tests.reference.pruners import path_errors

ORDERINGS = [
    *(
        partial(OrderPruner, name)
        for name in ("random", *CRITERIA)
        if name != "kl-rows"
    ),
    ReduceErrorPruner,
]
VOTES_ONLY = [
    *(partial(OrderPruner, name) for name in CRITERIA if name != "best"),
    committee.KappaErrorHullPruner,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_path_against_plain_loops(kind, masked, weighted):
    F, y = make_problem(kind)
    held_out = make_held_out() if masked else None
    s = np.random.default_rng(0).exponential(size=40) if weighted else None
    order = np.array([5, 2, 6, 0])
    path = selection_path(Votes(F, y, held_out, s), order)
    error, error_se = path_errors(F, y, order, held_out, s)
    np.testing.assert_allclose(path.error, error, rtol=1e-12)
    np.testing.assert_allclose(path.error_se, error_se, rtol=1e-10)
    assert path.size.tolist() == [1, 2, 3, 4]
    assert path.members[2].tolist() == [2, 5, 6]


def test_blocks_of_rows_add_up(monkeypatch):
    F, y = make_problem("multiclass")
    problem, order = Votes(F, y, make_held_out(), None), np.arange(7)
    whole = selection_path(problem, order)
    monkeypatch.setattr("committee.combiners.order_pruner._BLOCK", 20)
    parts = selection_path(problem, order)
    np.testing.assert_allclose(parts.error, whole.error, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_path_of_a_regression_in_other_units(scale):
    F, y = make_problem("regression")
    order = np.arange(7)
    path = selection_path(Votes(F, y, None, None), order)
    scaled = selection_path(Votes(scale * F, scale * y, None, None), order)
    np.testing.assert_allclose(scaled.error / scale**2, path.error, rtol=1e-10)
    np.testing.assert_allclose(scaled.error_se / scale**2, path.error_se, rtol=1e-10)


def test_a_huge_member_spoils_only_the_committees_it_is_in():
    F, y = make_problem("regression")
    F[:, 6] *= 1e200
    path = selection_path(Votes(F, y, None, None), np.arange(7))
    error, error_se = path_errors(F[:, :6], y, np.arange(6))
    np.testing.assert_allclose(path.error[:6], error, rtol=1e-12)
    np.testing.assert_allclose(path.error_se[:6], error_se, rtol=1e-10)
    assert path.error[6] == np.inf


def test_sizes_without_a_vote_have_no_error():
    F, y = make_problem("binary")
    held_out = make_held_out()
    held_out[:, 2] = False
    path = selection_path(Votes(F, y, held_out, None), np.array([2, 0]))
    assert path.error[0] == np.inf
    assert np.isfinite(path.error[1])


@pytest.mark.parametrize("pruner", ORDERINGS)
def test_an_order_names_every_member_once_and_the_first_are_kept(pruner):
    F, y = make_problem("multiclass")
    for held_out in (None, make_held_out()):
        for n in (1, 2, 7, 25):
            fitted = pruner(n).fit(F, y, held_out=held_out)
            assert sorted(fitted.order_) == list(range(7))
            assert sorted(fitted.order_[:n]) == fitted.support_.tolist()
            np.testing.assert_allclose(fitted.weights_[fitted.support_], 1 / min(n, 7))
            assert fitted.path_.members[1].tolist() == sorted(fitted.order_[:2])


def test_the_number_of_members_is_checked():
    F, y = make_problem("binary")
    for pruner in ORDERINGS:
        with pytest.raises(ValueError, match=r"'n_members' .* Got 0 instead"):
            pruner(0).fit(F, y)


def test_pruners_of_votes_refuse_regression():
    F, y = make_problem("regression")
    for pruner in VOTES_ONLY:
        with pytest.raises(ValueError, match="needs votes of classifiers"):
            pruner().fit(F, y)


def test_pruning_to_all_members_is_the_average():
    F, y = make_problem("regression")
    np.testing.assert_allclose(OrderPruner("best", 100).fit(F, y).weights_, 1 / 7)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    for pruner in (*ORDERINGS, committee.KappaErrorHullPruner):
        arguments = {"n_members": 3} if pruner in ORDERINGS else {}
        fit_or_refuse(pruner(**arguments), *case)


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    for pruner in ("best", "random"):
        fit_or_refuse(OrderPruner(pruner, 3), *case)
    fit_or_refuse(ReduceErrorPruner(3), *case)


def test_predictions_on_training_rows_do_not_matter_however_large():
    F, y = make_problem("regression")
    held_out = make_held_out()
    path = OrderPruner("best", 2).fit(F, y, held_out=held_out).path_
    large = F.copy()
    large[~held_out] = 1e200
    same = OrderPruner("best", 2).fit(large, y, held_out=held_out).path_
    np.testing.assert_allclose(same.error, path.error)


def test_a_callable_gives_an_order_or_scores():
    F, y = make_problem("multiclass")
    wrong = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
    best = OrderPruner("best", 3).fit(F, y)
    scored = OrderPruner(lambda votes: -wrong, 3).fit(F, y)
    np.testing.assert_array_equal(scored.order_, best.order_)
    np.testing.assert_array_equal(scored.scores_, -wrong)
    ordered = OrderPruner(lambda votes: np.arange(votes.n_members)[::-1], 2).fit(F, y)
    assert ordered.support_.tolist() == [5, 6]
    assert not hasattr(ordered, "scores_")


@pytest.mark.parametrize(
    "found", [[0, 1], [0] * 7, np.full(7, np.nan), np.zeros((7, 1)), list("abcdefg")]
)
def test_a_callable_that_returns_something_else_is_refused(found):
    F, y = make_problem("binary")
    with pytest.raises(ValueError, match="must return the members 0 to 6, best first"):
        OrderPruner(lambda votes: found).fit(F, y)


def test_an_unknown_criterion_is_refused():
    F, y = make_problem("binary")
    with pytest.raises(ValueError, match="'criterion' parameter"):
        OrderPruner("worst").fit(F, y)


@given(case=plain.vote_problems)
def test_votes_against_plain_loops(case):
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    for n in (2, 4):
        fitted = ReduceErrorPruner(n).fit(F, y, held_out=held_out, sample_weight=s)
        expected = plain.reduce_error(rows.committee_error, rows.first, rows.M, n)
        assert fitted.order_.tolist() == expected


@pytest.mark.parametrize("masked", [False, True])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**20))
def test_regression_against_plain_loops(masked, seed):
    F, y = make_problem("regression", seed=seed)
    held_out = make_held_out(seed=seed) if masked else None
    C = error_correlation(F, y, held_out=held_out)

    def error_of(members):
        return C[np.ix_(members, members)].sum() / len(members) ** 2

    def first(score, members):
        return min(members, key=score.get)

    fitted = ReduceErrorPruner(4).fit(F, y, held_out=held_out)
    assert fitted.order_.tolist() == plain.reduce_error(error_of, first, 7, 4)


class Counted:
    """A matrix that counts the entries that are looked up in it."""

    def __init__(self, C):
        self.C, self.read = C, 0

    def __len__(self):
        return len(self.C)

    def __getitem__(self, key):
        found = self.C[key]
        self.read += found.size
        return found

    def __array__(self, dtype=None, copy=None):
        self.read += self.C.size
        return self.C


def test_an_order_of_all_members_reads_the_matrix_a_few_times(monkeypatch):
    """O(M^2): for every size once over all of it, 2,000 members took minutes."""
    F, y = make_problem("regression", N=60, M=100)
    C = Counted(error_correlation(F, y))
    expected = ReduceErrorPruner(4).fit(F, y).order_
    monkeypatch.setattr(Votes, "error_correlation", lambda self: (C, 1.0))
    np.testing.assert_array_equal(ReduceErrorPruner(4).fit(F, y).order_, expected)
    assert C.read < 5 * C.C.size


def enumerate_errors(rows, n):
    return {
        members: rows.committee_error(members)
        for members in combinations(range(rows.M), n)
    }


@settings(max_examples=30)
@given(case=plain.vote_problems)
def test_between_the_best_subset_and_plain_greedy(case):
    """No subset is better than the best; back-fitting never ends above greedy's end.

    After the last round no single replacement makes the error smaller.
    """
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    n = min(3, rows.M)
    error = enumerate_errors(rows, n)
    known = {"held_out": held_out, "sample_weight": s}
    chosen = tuple(ReduceErrorPruner(n).fit(F, y, **known).support_)
    assert min(error.values()) <= error[chosen] + 1e-9
    neighbours = [e for c, e in error.items() if len(set(c) & set(chosen)) == n - 1]
    assert error[chosen] <= min(neighbours, default=np.inf) + 1e-9


def test_back_fitting_replaces_the_best_member():
    """Errors +3 and -3 cancel; the single best, +1, must go."""
    F = np.tile([1.0, 3.0, -3.0], (4, 1))
    fitted = ReduceErrorPruner(2).fit(F, np.zeros(4))
    assert fitted.support_.tolist() == [1, 2]
    assert fitted.path_.error[1] == 0


def test_three_voters_that_cover_each_other():
    """Each of 1, 2, 3 loses two rows of six, all different: their vote none.

    Member 0 errs once but is never outvoted rightly.
    """
    codes = np.zeros((6, 4), dtype=int)
    codes[[0], 0] = 1
    codes[[0, 1], 1] = 1
    codes[[2, 3], 2] = 1
    codes[[4, 5], 3] = 1
    fitted = ReduceErrorPruner(3).fit(votes(codes), [0] * 6)
    assert fitted.path_.error[2] == 0


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_of_a_regression_do_not_matter(scale):
    F, y = make_problem("regression")
    order = ReduceErrorPruner(3).fit(F, y).order_
    scaled = ReduceErrorPruner(3).fit(scale * F, scale * y).order_
    np.testing.assert_array_equal(scaled, order)


def test_one_mean_loss_out_of_range_is_enough():
    """Squares of squared errors below 1e-60 vanish; a size without rows has none."""
    counted = np.array([2.0, 2.0, 0.0])
    for least, fits in [(1.0, True), (1e-70, False), (1e70, False)]:
        sums = np.array([counted, counted, [1.0, least, 0.0], [1.0, 1.0, 0.0]])
        assert _in_range(sums) == fits
