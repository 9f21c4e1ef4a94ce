import numpy as np
import pytest

from committee.studies.hamers import (
    PROBLEMS,
    draw_split,
    error,
    fit,
    significantly_lower,
    summary,
)


@pytest.fixture
def runs(rng):
    return rng.normal(size=50)


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [((-2, -2), "reproduced"), ((-2, 2), "partly"), ((0, 2), "not")],
)
def test_lower_medians_by_rank_sums(runs, shifts, verdict):
    pairs = {str(i): (runs + shift, runs) for i, shift in enumerate(shifts)}
    assert significantly_lower("text", "paper", pairs).verdict == verdict


def test_few_runs_decide_nothing(runs):
    claim = significantly_lower("text", "paper", {"a": (runs[:9] - 9, runs[:9])})
    assert claim.verdict == "undecided"
    assert all(len(values) == 0 for values in summary(runs[:1]).values())


def test_a_split_is_standardised_over_all_rows_and_disjoint():
    split = draw_split(PROBLEMS["tic-tac-toe"], 0, None)
    assert (len(split.y), len(split.y_test)) == (638, 320)
    both = np.vstack([split.X, split.X_test])
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-12)
    assert len(np.unique(both, axis=0)) == 958


def test_coupled_members_learn_tic_tac_toe():
    problem = PROBLEMS["tic-tac-toe"]
    split = draw_split(problem, 0, None)
    model = fit(problem, split, 0, coupling=0.1, weigh_on="train")
    assert error(problem, model, split) < 0.1
