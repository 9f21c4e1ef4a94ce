"""Jointly trained members: coupling has its sign, and all have the same rows."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    NetworkRegressor,
    Networks,
    ambiguity,
)


def _diversity(nu):
    X, y = load_diabetes(return_X_y=True)
    network = NetworkRegressor(10, max_epochs=30, patience=None)
    committee = CommitteeRegressor(
        network, generator=Networks(8, coupling=nu), random_state=0
    ).fit(X, y)
    return ambiguity(committee.member_predictions(X), y).diversity


def test_negative_coupling_makes_members_disagree():
    apart, tiny, close = _diversity(-0.8), _diversity(1e-9), _diversity(3.0)
    assert close < 0.7 * tiny < 0.7 * 0.7 * apart


def test_more_negative_couplings_spread_members_further():
    """Joint training at nu ~ 0 is the line to compare with: nu = 0 has other rows."""
    spread = [_diversity(nu) for nu in (1e-9, -0.5, -0.75, -0.9)]
    assert np.all(np.diff(spread) > 0)
    assert spread[-1] > 2.0 * spread[0]


@pytest.mark.parametrize("options", [{"share": "adapters"}, {"coupling": -0.5}])
def test_all_are_stopped_and_weighed_on_the_same_rows(options):
    X, y = load_wine(return_X_y=True)
    committee = CommitteeClassifier(
        generator=Networks(6, **options), combiner="simplex", random_state=0
    ).fit(X, y)
    mask = committee.held_out_
    assert mask[:, 0].sum() == 18
    assert np.array_equal(mask, np.broadcast_to(mask[:, :1], mask.shape))
    assert len({member.n_iter_ for member in committee.members_}) == 1
    assert committee.score(X, y) > 0.95
