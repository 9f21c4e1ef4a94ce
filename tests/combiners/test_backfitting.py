"""ReduceErrorPruner against plain loops and the best of all subsets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import ReduceErrorPruner, error_correlation
from committee.votes import Votes
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_held_out, make_problem


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
