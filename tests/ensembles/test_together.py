"""Weighted rounds of a booster, asked in one go."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge

from committee.ensembles.boosters import booster_roster
from committee.ensembles.together import together
from committee.predictions import ask
from tests.reference.boosters import LIBRARIES, TASKS, fit_booster, tolerance


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_says_what_the_rounds_say_one_by_one(library, task, frame):
    model, X = fit_booster(library, task, frame=frame)
    roster = booster_roster(model)
    w = np.linspace(0.0, 0.3, len(roster))
    F = ask(roster, X)
    np.testing.assert_allclose(
        together(roster.members, w)(X),
        np.tensordot(F, w, axes=(1, 0)),
        **tolerance(library),
    )


def test_other_members_have_no_booster():
    X, y = load_diabetes(return_X_y=True)
    assert together([Ridge().fit(X, y)], np.ones(1)) is None


def test_a_start_that_depends_on_x_needs_weights_of_sum_one():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=3, init=Ridge()).fit(X, y)
    rounds = booster_roster(model).members
    assert together(rounds, np.full(3, 0.5)) is None
    np.testing.assert_allclose(together(rounds, np.full(3, 1 / 3))(X), model.predict(X))
