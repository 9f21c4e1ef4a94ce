import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import ambiguity
from committee.diagnostics import Ambiguity, correlation
from tests.reference import errors as reference


@st.composite
def problems(draw, kinds=(None, 2, 4)):
    """Return F, y and weights that sum to one, some of them negative."""
    N, M = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    K = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    unit = 10.0 ** draw(st.integers(-100, 100))
    if K is None:
        F, y = unit * rng.normal(size=(N, M)), unit * rng.normal(size=N)
    else:
        F, y = rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(0, K, size=N)
    w = rng.normal(size=M) + draw(st.sampled_from([0.0, 1.0, 3.0]))
    w[0] += 1.0 - w.sum()
    return F, y, w


@given(problem=problems())
def test_identity_holds_for_any_weights_that_sum_to_one(problem):
    F, y, w = problem
    parts = ambiguity(F, y, w)
    # Terms of both signs are summed: relative to what their absolute values sum to.
    unit = ambiguity(F, y, np.abs(w) / np.abs(w).sum()).member_error * (
        np.abs(w).sum() ** 2
    )
    gap = parts.member_error - parts.diversity - parts.ensemble_error
    assert abs(gap) <= 1e-12 * unit


@given(problem=problems())
def test_parts_against_plain_loops(problem):
    F, y, w = problem
    expected = np.array(reference.ambiguity(F, y, w))
    unit = reference.ambiguity(F, y, np.abs(w))[1] * np.abs(w).sum()
    assert np.abs(np.array(ambiguity(F, y, w)) - expected).max() <= 1e-12 * unit


def test_equal_weights_unless_given(multiclass_problem):
    F, y = multiclass_problem
    parts = ambiguity(F, y)
    assert parts == ambiguity(F, y, np.full(7, 1 / 7))
    assert isinstance(parts, Ambiguity)
    assert parts.diversity > 0
    assert parts.ensemble_error < parts.member_error


def test_one_member_has_no_diversity(rng):
    y = rng.normal(size=5)
    parts = ambiguity(y[:, None] + 2.0, y, [1.0])
    assert parts.diversity == 0.0
    assert parts.ensemble_error == pytest.approx(4.0)


def test_blocks_do_not_show(regression_problem, monkeypatch):
    whole = ambiguity(*regression_problem)
    monkeypatch.setattr(correlation, "_BLOCK", 20)  # two rows of seven members
    # Sums of 40 rows in another order.
    assert ambiguity(*regression_problem) == pytest.approx(whole, rel=1e-13)


def test_weights_that_do_not_sum_to_one(regression_problem):
    with pytest.raises(ValueError, match=r"sum to 1. Got 7; divide w by w.sum\(\)"):
        ambiguity(*regression_problem, np.ones(7))


def test_weights_of_another_length(regression_problem):
    with pytest.raises(ValueError, match=r"each of the 7 members. Got shape \(3,\)"):
        ambiguity(*regression_problem, np.full(3, 1 / 3))


def test_terms_for_each_row_have_the_means_of_the_whole(multiclass_problem):
    F, y = multiclass_problem
    rows = ambiguity(F, y, by_row=True)
    assert rows.diversity.shape == y.shape
    np.testing.assert_allclose(
        rows.member_error - rows.diversity, rows.ensemble_error, atol=1e-14
    )
    whole = ambiguity(F, y)
    np.testing.assert_allclose([term.mean() for term in rows], whole, rtol=1e-12)


@given(problem=problems())
def test_weights_of_each_row_are_rows_decomposed_one_by_one(problem):
    F, y, w = problem
    W = np.stack([np.roll(w, n) for n in range(len(F))])
    rows = ambiguity(F, y, W, by_row=True)
    alone = [ambiguity(F[n : n + 1], y[n : n + 1], W[n]) for n in range(len(F))]
    # The same sums in another order, of terms of both signs.
    unit = 1e-12 * ambiguity(F, y).member_error * len(F) * np.abs(w).sum() ** 2
    np.testing.assert_allclose(np.transpose(rows), alone, rtol=1e-12, atol=unit)


def test_weights_of_each_row_must_fit():
    with pytest.raises(ValueError, match=r"\(2,\) or \(1, 2\)"):
        ambiguity([[1.0, 3.0]], [1.0], np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="sum to 1"):
        ambiguity([[1.0, 3.0]], [1.0], [[0.5, 0.6]])


def test_swapped_arguments_are_refused():
    with pytest.raises(ValueError, match=r"targets second. Got shapes \(1,\) and"):
        ambiguity([1.0], [[1.0, 3.0]])
