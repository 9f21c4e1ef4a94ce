import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from committee import disagreement, double_fault, pairwise_kappa, q_statistic
from committee.combiners.ballots import Ballots
from committee.votes import Votes
from tests.reference import diversity as reference
from tests.reference.pruners import Rows, kappa_of, random_votes


@st.composite
def votes(draw):
    """Return F and codes; few rows, so that constant members and ties occur."""
    N, M, K = draw(st.integers(1, 15)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    F = rng.integers(0, 4, size=(N, M, K)).astype(float)
    return F, rng.integers(0, K, size=N)


def kappa_of_sklearn(a, b):
    """Return sklearn's kappa, or 1 where it is 0/0: both name one class always."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = cohen_kappa_score(a, b)
    return kappa if np.isfinite(kappa) else 1.0


# All are ratios of counts below 100: rounding is a few eps.
close = {"rtol": 0, "atol": 1e-13}


@given(problem=votes())
def test_kappa_is_that_of_sklearn(problem):
    F, _ = problem
    expected = reference.per_pair(kappa_of_sklearn, F)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(pairwise_kappa(F), expected, **close)


@given(problem=votes())
def test_disagreement_counts_rows(problem):
    F, _ = problem
    expected = reference.per_pair(reference.disagreement, F)
    np.testing.assert_allclose(disagreement(F), expected, **close)


@given(problem=votes())
def test_q_statistic_counts_rows(problem):
    F, y = problem
    expected = reference.per_pair(reference.q_statistic, F, y)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(q_statistic(F, y), expected, **close)


@given(problem=votes())
def test_double_fault_counts_rows(problem):
    F, y = problem
    expected = reference.per_pair(reference.double_fault, F, y)
    np.testing.assert_allclose(double_fault(F, y), expected, **close)


MEASURES = {
    "disagreement": lambda F, y: disagreement(F),
    "pairwise_kappa": lambda F, y: pairwise_kappa(F),
    "q_statistic": q_statistic,
    "double_fault": double_fault,
}


@pytest.mark.parametrize("name", MEASURES)
def test_symmetric_and_follows_the_order_of_members(name, multiclass_problem, rng):
    F, y = multiclass_problem
    A = MEASURES[name](F, y)
    order = rng.permutation(7)
    np.testing.assert_allclose(A, A.T, **close)
    np.testing.assert_allclose(
        MEASURES[name](F[:, order], y), A[np.ix_(order, order)], **close
    )


@pytest.mark.parametrize("name", MEASURES)
def test_regression_has_no_votes(name, regression_problem):
    F, y = regression_problem
    with pytest.raises(ValueError, match=r"F of shape \(N, M, K\)"):
        MEASURES[name](F, y)


@pytest.mark.parametrize("measure", [q_statistic, double_fault])
def test_labels_that_are_not_codes(measure, binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match=r"codes 0\.\.1"):
        measure(F, np.where(y == 1, "yes", "no"))


def test_members_that_never_waver():
    always = np.eye(2)[np.array([[0, 0, 1]] * 6)]
    kappa = pairwise_kappa(always)
    assert kappa[0, 1] == 1.0  # the same class on every row
    assert kappa[0, 2] == 0.0  # never the same, and by chance never


@pytest.mark.parametrize("seed", range(10))
def test_kappa_and_errors_of_held_out_votes_with_weights(seed):
    """Against plain loops; a whole weight counts as so many rows."""
    F, y, mask, _ = random_votes(seed)
    s = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    F3 = np.asarray(F)
    kappa = pairwise_kappa(F3, held_out=mask, sample_weight=s)
    ballots = Ballots(Votes.checked(F3, y, mask, s))
    counted, wrong = ballots.counts
    with np.errstate(invalid="ignore"):
        error = wrong / counted
    times = s.astype(int)
    again = None if mask is None else mask.repeat(times, axis=0)
    np.testing.assert_allclose(
        kappa, pairwise_kappa(F3.repeat(times, axis=0), held_out=again), **close
    )
    rows = Rows(F3.repeat(times, axis=0), y.repeat(times), again, None)
    for i in range(rows.M):
        for j in range(i):
            expected = kappa_of(rows, i, j)
            assert kappa[i, j] == pytest.approx(
                np.nan if expected is None else expected, abs=1e-10, nan_ok=True
            )
        votes = F3[:, i].argmax(axis=1)
        counts = s if mask is None else s * mask[:, i]
        expected = counts @ (votes != y) / counts.sum() if counts.sum() else np.nan
        assert error[i] == pytest.approx(expected, nan_ok=True)
