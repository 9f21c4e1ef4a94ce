"""Rows left out by importance sampling, against posteriors that never saw them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from committee.bayes.gibbs import targets_left_out, votes_left_out

#: Independent draws, and how far means of reweighted ones may be off: four standard
#: errors, doubled for ratios that make a draw worth a quarter of itself.
N_DRAWS = 40_000
OFF = 4 * 2 / np.sqrt(N_DRAWS)


class Grid:
    """A posterior of two weights above zero, by its values on a grid."""

    def __init__(self, log_terms, alpha=2.0, n=150):
        """`log_terms` maps weights (G, 2) to the log terms of all rows, (G, N)."""
        self.w = np.stack(np.meshgrid(*2 * [np.linspace(0.01, 3.0, n)]), -1)
        self.w = self.w.reshape(-1, 2)
        self.terms = log_terms(self.w)
        self.prior = -0.5 * alpha * (self.w**2).sum(axis=1)

    def probabilities(self, without=()):
        """Return the posterior without some of the rows."""
        kept = np.setdiff1d(np.arange(self.terms.shape[1]), without)
        log_p = self.prior + self.terms[:, kept].sum(axis=1)
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def draws(self, rng):
        return self.w[rng.choice(len(self.w), size=N_DRAWS, p=self.probabilities())]


def check(loo, grid, rows, group=1):
    """Mean, variance and density of every row, from the posterior without its case."""
    for n, x in enumerate(rows):
        case = n // group * group + np.arange(group)
        p, z = grid.probabilities(case), grid.w @ x
        mean = p @ z
        sd = np.sqrt(p @ (z - mean) ** 2)
        assert abs(loo.mean[n] - mean) <= OFF * sd
        assert_allclose(np.sqrt(loo.var[n]), sd, rtol=2 * OFF)
        if group == 1:
            density = np.log(p @ np.exp(grid.terms[:, n]))
            assert_allclose(loo.log_density[n], density, atol=2 * OFF)


def test_targets_are_left_out(rng):
    y = rng.normal(size=12)
    F = y[:, None] + 0.5 * rng.normal(size=(12, 2))
    noise = 0.3

    def log_terms(w):
        return -0.5 * (np.log(2 * np.pi * noise) + (y - w @ F.T) ** 2 / noise)

    grid = Grid(log_terms)
    loo = targets_left_out(grid.draws(rng), F, y, noise)
    check(loo, grid, F)
    assert_allclose(loo.loss, (y - loo.mean) ** 2)


@pytest.mark.parametrize("group", [1, 3])
def test_votes_are_left_out_case_by_case(rng, group):
    S = np.where(rng.random((12, 2)) < 0.7, 1.0, -1.0) * rng.random((12, 2))
    grid = Grid(lambda w: log_ndtr(w @ S.T))
    loo = votes_left_out(grid.draws(rng), S, group=group)
    check(loo, grid, S, group)
    wrong = np.where(loo.mean < 0, 1.0, 0.0).reshape(-1, group).max(axis=1)
    assert_allclose(loo.loss, wrong)


def test_a_row_without_weight_is_nothing_to_leave_out(rng):
    draws, F, y = rng.random((500, 2)), rng.normal(size=(6, 2)), rng.normal(size=6)
    weight = np.array([0.0, 0.5, 1.0, 2.0, 2.0, 1.0])
    loo = targets_left_out(draws, F, y, 1.0, weight=weight)
    plain = targets_left_out(draws, F, y, 1.0)
    posterior = draws.mean(axis=0) @ F.T
    assert_allclose(loo.mean[0], posterior[0])
    assert_allclose(loo.mean[2:], plain.mean[2:])
    assert min(posterior[1], plain.mean[1]) < loo.mean[1]
    assert loo.mean[1] < max(posterior[1], plain.mean[1])


def test_units_and_blocks_do_not_matter(rng, monkeypatch):
    draws, F, y = rng.random((50, 2)), rng.normal(size=(9, 2)), rng.normal(size=9)
    S = rng.normal(size=(9, 2))
    one = targets_left_out(draws, F, y, 0.5), votes_left_out(draws, S, group=3)
    monkeypatch.setattr("committee.bayes.gibbs._ELEMENTS", 1)
    two = (
        targets_left_out(draws, F, y, 0.5, y_scale=4.0),
        votes_left_out(draws, S, group=3),
    )
    assert_allclose(two[0].mean, 4.0 * one[0].mean)
    assert_allclose(two[0].loss, 16.0 * one[0].loss)
    assert_allclose(two[0].log_density, one[0].log_density - np.log(4.0))
    assert_allclose(two[1].mean, one[1].mean)


def test_large_ratios_are_cut_off_at_ten_times_the_mean_of_a_hundred():
    """One draw is four deviations off the row: exp(8) to 1 become 10 (exp(8) + 99) / 100."""
    draws = np.ones((100, 1))
    draws[0] = 5.0
    loo = targets_left_out(draws, np.ones((1, 1)), np.ones(1), 1.0)
    cut = 10 * (np.exp(8) + 99) / 100
    assert_allclose(loo.mean, (5 * cut + 99) / (cut + 99))
