"""Which trees come first."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from committee.ensembles import roster_of
from committee.pruning.refined_sizes import greedy_order
from committee.votes import Votes


@pytest.mark.parametrize("masked", [False, True])
def test_each_lowers_the_error_of_the_mean_the_most(masked):
    """Enumerated: the mean of E_i E_j over the pairs of the chosen ones."""
    X, y = make_friedman1(200, random_state=0)
    forest = RandomForestRegressor(8, random_state=0).fit(X, y)
    F = np.stack([tree.predict(X) for tree in forest.estimators_], axis=1)
    held_out = roster_of(forest).held_out(200) if masked else None
    E = F - y[:, None]

    def pair(i, j):
        rows = np.ones(200, bool) if not masked else held_out[:, i] & held_out[:, j]
        return (E[rows, i] * E[rows, j]).mean()

    expected = []
    for _ in range(4):
        rest = [m for m in range(8) if m not in expected]
        errors = [
            sum(pair(i, j) for i in [*expected, m] for j in [*expected, m])
            for m in rest
        ]
        expected.append(rest[int(np.argmin(errors))])
    votes = Votes(F, y, held_out, None)
    assert greedy_order(votes, np.arange(8), 4).tolist() == expected
    some = np.array([1, 3, 5, 7])
    assert sorted(greedy_order(votes, some, 4)) == [0, 1, 2, 3]
