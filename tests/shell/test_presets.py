"""Presets: which learners take part, and how rows change their settings."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from committee.shell.choices import MINUTES, PRESETS
from committee.shell.presets import Problem, learners


def settings(problem, name, preset="best"):
    """Return the parameters of a learner."""
    return dict(learners(preset, problem)[0])[name].get_params()


@pytest.mark.parametrize("preset", PRESETS)
def test_learners_are_of_the_task_and_have_the_names_of_the_preset(preset):
    for rarest, is_right in ((30, is_classifier), (None, is_regressor)):
        taken, left_out = learners(preset, Problem(1000, rarest, codes=[]))
        assert tuple(name for name, _ in taken) == PRESETS[preset]
        assert all(is_right(learner) for _, learner in taken)
        assert left_out == []
    assert preset in MINUTES


def test_neighbours_and_networks_leave_large_tables_to_the_others():
    taken, left_out = learners("best", Problem(2_000_000, None, codes=[]))
    assert set(left_out) == {"neighbours", "network"}
    assert "boosting" in dict(taken)


@pytest.mark.parametrize("name", ["forest", "extra-trees"])
def test_a_tree_of_a_forest_draws_at_most_20000_rows(name):
    assert settings(Problem(20_000, 30, codes=[]), name)["max_samples"] is None
    large = settings(Problem(2_000_000, 30, codes=[]), name)
    assert large["max_samples"] * 2_000_000 == 20_000
    assert large["bootstrap"]


@pytest.mark.parametrize(
    ("n_rows", "rarest", "stops"),
    [(10_000, 5000, False), (10_001, 5000, True), (10_001, 1, False)],
)
def test_boosting_puts_rows_aside_where_there_are_enough_of_all(n_rows, rarest, stops):
    """scikit-learn refuses to put aside rows of a class with one row."""
    problem = Problem(n_rows, rarest, codes=[])
    for name in ("boosting", "plain-boosting"):
        assert settings(problem, name)["early_stopping"] is stops


def test_large_tables_are_weighed_on_rows_put_aside():
    assert Problem(100_000, None, codes=[]).weigh_on == "held-out"
    assert Problem(200_000, None, codes=[]).weigh_on == 0.1
    assert Problem(2_000_000, None, codes=[]).weigh_on * 2_000_000 == 50_000


def test_codes_are_no_sizes_to_linear_learners(rng):
    """A class that alternates from code to code, beside a number with gaps."""
    code = rng.integers(0, 10, 300)
    X, y = np.c_[rng.normal(size=300), code], code % 2
    X[::7, 0] = np.nan
    score = {}
    for codes in ([], [1]):
        taken, _ = learners("fast", Problem(300, 100, codes))
        score[len(codes)] = dict(taken)["linear"].fit(X, y).score(X, y)
    assert score[1] == 1
    assert score[0] < 0.7
