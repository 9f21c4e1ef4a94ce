"""Sums of a sweep over signed rows, against dense products."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from committee.ep.arrays import compact
from committee.ep.likelihood import ProbitLikelihood
from committee.ep.probit_rows import ProbitRows
from committee.ep.sites import normal, tilted


@pytest.fixture
def votes(rng):
    """Votes of 9 members on 60 rows, two of them without any vote."""
    S = rng.choice([-1.0, 0.0, 1.0], size=(60, 9), p=[0.2, 0.3, 0.5])
    S[[3, 40]] = 0.0
    return S


def dense(S, sites, weight):
    s = np.ones(len(S)) if weight is None else weight
    return S.T @ (S * (s * sites.t)[:, None]), S.T @ (s * sites.u)


@pytest.mark.parametrize("n_active", [1, 4, 5, 9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
def test_messages_are_sums_over_rows(votes, rng, n_active, weighted, kind):
    """Few columns of S' diag(s t) S, or more than half of them, by different products."""
    weight = rng.exponential(size=60) if weighted else None
    active = np.sort(rng.permutation(9)[:n_active])
    rows = ProbitRows(votes.astype(kind), weight)
    likelihood = ProbitLikelihood(rows)
    likelihood.activate(active)
    q = normal(np.eye(n_active) + likelihood.messages.L[active], np.ones(n_active))
    likelihood.absorb(q, 1.0)
    G, h = dense(votes, likelihood.sites, weight)
    found = likelihood.messages
    np.testing.assert_allclose(found.L, G[:, active], atol=1e-12)
    np.testing.assert_allclose(found.diagonal, G.diagonal(), atol=1e-12)
    np.testing.assert_allclose(found.h, h, atol=1e-12)
    assert not likelihood.sites.u[[3, 40]].any()


def test_members_enter_with_products_among_active_members(votes):
    """L is symmetric: known columns hold the products of old with new members."""
    rows = ProbitRows(votes)
    likelihood = ProbitLikelihood(rows)
    likelihood.activate(np.array([2, 5]))
    likelihood.absorb(normal(2.0 * np.eye(2), np.ones(2)), 1.0)
    active = np.array([0, 2, 5, 7])
    likelihood.activate(active)
    G, _ = dense(votes, likelihood.sites, None)
    found = likelihood.messages.L[active]
    np.testing.assert_allclose(found, G[np.ix_(active, active)], atol=1e-12)


def test_votes_are_kept_in_the_smallest_type_that_is_exact(votes):
    assert compact(votes).dtype == np.int8
    assert compact(votes / 2).dtype == np.float32
    assert compact(votes / 3).dtype == np.float64
    np.testing.assert_array_equal(compact(votes), votes)


def test_log_phi_of_a_probit_site_everywhere():
    z = np.concatenate([[-1e8, -1e3], np.linspace(-40, 40, 401), [1e3, 1e8]])
    found = tilted(z, np.zeros_like(z), noise=1.0).log_z
    np.testing.assert_allclose(found, log_ndtr(z), rtol=1e-12, atol=1e-300)
