"""The rows that members are trained and tested on, and the members themselves."""

import numpy as np
import pytest

from studies import chen_classification, chen_regression, chen_synthetic
from studies.chen_poker import deal
from studies.chen_synthetic import NETWORK, AnySizeRegressor
from studies.hamers import PROBLEMS, draw_split, error, fit
from studies.study import Job
from studies.ways import generators
from tests.reference.data import load_or_skip
from tests.studies.small import folder


def test_test_rows_are_clean_and_training_rows_are_not():
    job = Job("chen-regression", "", 0)
    X, y, X_test, y_test = chen_regression.draw_split("plane", job, n_test=50)
    assert (len(y), len(y_test)) == (250, 50)
    np.testing.assert_allclose(y_test, X_test @ [0.6, 0.3])
    assert np.std(y - X @ [0.6, 0.3]) > 0.03


def test_splits_are_those_of_the_file_and_then_random():
    z = load_or_skip("raetsch_image")
    rows = np.r_[z["train_idx"][0], z["test_idx"][0]]
    for run in (3, 20, 57):
        job = Job("s", "c", run, folder())
        X, y, X_test, y_test = chen_classification.draw_split("image", job)
        assert (len(y), len(y_test)) == (1300, 1010)
        both = np.sort(np.r_[X, X_test].sum(axis=1))
        np.testing.assert_allclose(both, np.sort(z["X"][rows].sum(axis=1)))
        if run == 3:
            np.testing.assert_array_equal(X, z["X"][z["train_idx"][3]])


def test_noise_does_not_follow_the_points():
    found = []
    for run in range(50):
        job = Job("chen-synthetic", "sinc", run)
        X, y, *_ = chen_synthetic.draw_split(job, 1)
        noise = (y - np.sinc(X[:, 0] / np.pi)) / 0.1
        same_stream = np.random.default_rng(job.seed).standard_normal(100)
        assert not np.allclose(noise, same_stream)
        found.append([np.corrcoef(noise, X[:, 0])[0, 1], noise.std()])
    slope, spread = np.mean(found, axis=0)
    assert abs(slope) < 0.06  # 4 standard errors of 50 correlations of 100 points
    assert spread == pytest.approx(1, abs=0.05)


@pytest.mark.filterwarnings("ignore:lbfgs")
def test_networks_have_three_to_six_units_by_their_seed():
    X, y = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20)
    options = NETWORK | {"max_iter": 2}
    sizes = {
        AnySizeRegressor(**options, random_state=seed).fit(X, y).coefs_[0].shape[1]
        for seed in range(30)
    }
    assert sizes == {3, 4, 5, 6}


def test_about_half_of_the_hands_hold_something():
    X, y = deal(20_000, np.random.default_rng(0))
    assert y.mean() == pytest.approx(0.4988, abs=0.015)  # 4 standard errors
    assert X.shape == (20_000, 10)


def test_all_generators_see_as_many_rows_at_most():
    ways = generators(30)
    shares = {"CrossSplits": 3 / 4, "MiniBatches": 1 / 5}
    seen = [way.n_members * shares.get(name, 1) for name, way in ways.items()]
    assert seen == [30] * len(ways)


def test_coupled_members_learn_tic_tac_toe_from_standardised_rows():
    problem = PROBLEMS["tic-tac-toe"]
    split = draw_split(problem, 0, None)
    assert (len(split.y), len(split.y_test)) == (638, 320)
    both = np.vstack([split.X, split.X_test])
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-12)
    assert len(np.unique(both, axis=0)) == 958
    model = fit(problem, split, 0, coupling=0.1, weigh_on="train")
    assert error(problem, model, split) < 0.1


def test_tic_tac_toe_as_letters_and_in_the_order_of_the_file():
    plain, coded, in_order = (
        PROBLEMS[f"tic-tac-toe{name}"] for name in ("", "-123", "-123-in-order")
    )
    one, other = (draw_split(problem, 0, None) for problem in (plain, coded))
    np.testing.assert_array_equal(one.y, other.y)
    for j in range(9):
        # x, blank, o of the one are the largest, the least and the middle of the other.
        x, blank, o = (
            other.X[one.X[:, j] == v, j] for v in np.unique(one.X[:, j])[::-1]
        )
        assert {np.ptp(v) for v in (x, blank, o)} == {0.0}
        assert x[0] > o[0] > blank[0]
        assert x[0] - o[0] == pytest.approx(o[0] - blank[0])
    splits = [draw_split(in_order, seed, None) for seed in (0, 1)]
    np.testing.assert_array_equal(splits[0].X, splits[1].X)
    assert (splits[0].y.sum(), splits[0].y_test.sum()) == (626, 0)
