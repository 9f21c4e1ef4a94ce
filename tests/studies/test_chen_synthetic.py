import numpy as np
import pytest

from committee.studies.chen_synthetic import NETWORK, AnySizeRegressor, sinc_rows
from tests.studies.small import claims, made_up, outcome


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


def test_noise_does_not_follow_the_points():
    found = []
    for seed in range(50):
        X, y, *_ = sinc_rows(seed, 1)
        noise = (y - np.sinc(X[:, 0] / np.pi)) / 0.1
        same_stream = np.random.default_rng(seed).standard_normal(100)
        assert not np.allclose(noise, same_stream)
        found.append([np.corrcoef(noise, X[:, 0])[0, 1], noise.std()])
    slope, spread = np.mean(found, axis=0)
    assert abs(slope) < 0.06  # 4 standard errors of 50 correlations of 100 points
    assert spread == pytest.approx(1, abs=0.05)


TEXT = "EP is better than the whole ensemble, with a few members."


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ({"sinc": -1, "synth": -1, "banana": -1}, "reproduced"),
        ({"sinc": -1, "synth": 0.1, "banana": 0.1}, "partly"),
        ({"sinc": 0.1, "synth": 0.1, "banana": 0.1}, "not"),
        ({"sinc": -1, "synth": -1, "banana": 1}, "not"),
    ],
)
def test_significantly_worse_on_one_set_is_not_partly(gaps, verdict):
    def numbers(protocol, cell, run):
        whole = 5.0
        noise = 0.3 if run % 2 else -0.3  # standard error 0.1 of ten runs
        return {
            "ep.error": whole + gaps[cell] + noise,
            "unpruned.error": whole,
            "ep.size": 3,
        }

    said = claims("chen-synthetic", made_up("chen-synthetic", numbers))
    assert said[TEXT, "paper"].verdict == verdict
