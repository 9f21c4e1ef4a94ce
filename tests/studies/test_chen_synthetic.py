import numpy as np
import pytest

from committee.studies.chen_synthetic import NETWORK, AnySizeRegressor
from tests.studies.small import outcome


@pytest.mark.parametrize("cell", ["sinc", "synth", "banana"])
def test_a_small_run(cell):
    found = outcome("chen-synthetic", cell, n_members=3, n_test=20).outcome
    for numbers in found.values():
        assert 1 <= numbers["ep.size"] <= numbers["unpruned.size"] <= 3


@pytest.mark.filterwarnings("ignore:lbfgs")
def test_networks_have_three_to_six_units_by_their_seed():
    X, y = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20)
    options = NETWORK | {"max_iter": 2}
    sizes = {
        AnySizeRegressor(**options, random_state=seed).fit(X, y).coefs_[0].shape[1]
        for seed in range(30)
    }
    assert sizes == {3, 4, 5, 6}
