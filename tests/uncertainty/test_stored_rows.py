"""What a committee keeps of held-out rows, against the definition."""

import numpy as np
import pytest

from committee.diagnostics.missing_votes import FilledVotes
from committee.uncertainty import stored_rows
from committee.uncertainty.stored_rows import (
    HeldOutResiduals,
    HeldOutScores,
    as_of_all_members,
)
from committee.votes import unpacked


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    mask = rng.random((40, 6)) < 0.5
    folds = [
        (np.arange(i, 40, 2), rng.uniform(size=6) * (np.arange(6) != i))
        for i in range(2)
    ]
    return F, y, mask, folds


def test_residuals_are_those_of_the_fold_that_did_not_have_the_row(rows):
    F, y, _, folds = rows
    found = HeldOutResiduals.of(FilledVotes.of(F, y, None), folds, np.arange(6))
    for n in range(40):
        w = folds[n % 2][1]
        assert found.residual[n] == pytest.approx(abs(y[n] - F[n] @ w))
    assert found.left_out is None
    assert found.mask is None
    assert found.unseen(np.ones(6)) == (found.residual, None)


def test_members_that_saw_a_row_do_not_count_on_it(rows):
    F, y, mask, folds = rows
    votes, support = FilledVotes.of(F, y, mask), np.array([1, 2, 4])
    found = HeldOutResiduals.of(votes, folds, support)
    kept = np.flatnonzero(mask.any(axis=1))
    for residual, n in zip(found.left_out, kept, strict=True):
        w = folds[n % 2][1] * mask[n]
        if not w.any():
            assert np.isnan(residual)
            continue
        f = F[n] @ w / w.sum() * folds[n % 2][1].sum()
        assert residual == pytest.approx(abs(y[n] - f))
    np.testing.assert_array_equal(unpacked(**found.mask), mask[np.ix_(kept, support)])
    R, h = found.unseen(np.array([1.0, 0.0, 1.0]))
    assert h[:, [0, 2]].any(axis=1).all()
    assert np.isfinite(R).all()


def test_changing_what_members_say_on_their_own_rows_changes_nothing(rows):
    F, y, mask, folds = rows
    other = np.where(mask, F, 1e3)
    one, two = (
        HeldOutResiduals.of(FilledVotes.of(G, y, mask), folds, np.arange(6))
        for G in (F, other)
    )
    np.testing.assert_allclose(one.residual, two.residual, rtol=1e-9)
    np.testing.assert_allclose(one.spread, two.spread, rtol=1e-9)
    np.testing.assert_allclose(one.left_out, two.left_out, rtol=1e-9)


def test_rows_of_weight_zero_are_left_out(rows):
    F, y, _, folds = rows
    s = np.arange(40) % 4
    found = HeldOutResiduals.of(FilledVotes.of(F, y, None), folds, np.arange(6), s)
    assert len(found.residual) == 30


def test_many_rows_are_drawn_from(rows, monkeypatch):
    F, y, mask, folds = rows
    monkeypatch.setattr(stored_rows, "MOST_ROWS", 10)
    found = HeldOutResiduals.of(FilledVotes.of(F, y, mask), folds, np.arange(6))
    assert len(found.residual) == len(found.left_out) == found.mask["shape"][0] == 10


def test_scores_are_of_the_rows_that_count():
    p = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    counted = np.array([True, False, True])
    found = HeldOutScores.of(p, np.array([0, 0, 0]), counted)
    assert found.lac.tolist() == [0.25, 0.75]
    assert found.aps.tolist() == [0.375, 0.875]


def test_rounded_scores_never_leave_out_a_class_that_has_the_same_score():
    p = np.random.default_rng(1).dirichlet(np.ones(2), size=1000)
    y = np.zeros(1000, dtype=np.intp)
    found = HeldOutScores.of(p, y, np.ones(1000, dtype=bool))
    exact = 1 - p[:, 0]
    assert found.lac.dtype == np.float32
    assert np.all(found.lac >= exact)
    np.testing.assert_allclose(found.lac, exact, rtol=2 * np.finfo(np.float32).eps)


def test_unseen_members_whose_weights_sum_to_zero_predict_nothing():
    """By hand: 1 - 2 + 2 * 3 = 5 where all are unseen; NaN where 1 and -1 are."""
    F, y = np.array([[1.0, 2.0, 3.0]] * 4), np.zeros(4)
    mask = np.array([[True, True, False]] + [[True, True, True]] * 3)
    folds = [(np.arange(4), np.array([1.0, -1.0, 2.0]))]
    found = HeldOutResiduals.of(FilledVotes.of(F, y, mask), folds, np.arange(3))
    np.testing.assert_allclose(found.left_out, [np.nan, 5.0, 5.0, 5.0])


@pytest.mark.parametrize("unit", [2.0**-10, 1.0])
def test_residuals_of_few_votes_are_scaled_to_those_of_all(unit):
    """By hand: k = k_n = 3/4, c = 4 - 3/4, d = 4, t = 13/16; R^2 times 7/8.

    A row with the variance of all members stays as it is.
    """
    R, s2 = unit * np.full(3, 2.0), unit**2 * np.ones(3)
    v, squares = np.array([-0.5, -0.5, 0.25]), np.full(3, 0.25)
    found = as_of_all_members(R, s2, v, squares, np.ones(3, dtype=bool))
    np.testing.assert_allclose(found, R * np.sqrt([0.875, 0.875, 1.0]), rtol=1e-12)


def test_rows_of_one_vote_are_not_scaled_where_others_have_no_residual():
    """Rows of several votes say nothing then: t is one."""
    R, v = np.array([0.0, 0.0, 3.0]), np.full(3, -0.5)
    several = np.array([True, True, False])
    found = as_of_all_members(R, np.ones(3), v, np.full(3, 0.25), several)
    assert found.tolist() == [0.0, 0.0, 3.0]
