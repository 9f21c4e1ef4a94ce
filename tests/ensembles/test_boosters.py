"""Which boosters are taken apart, how fast paths agree, what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError

from committee.ensembles.boosters import booster_roster
from tests.reference.boosters import (
    LIBRARIES,
    TASKS,
    M,
    fit_booster,
    make_rows,
    member_values,
)


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_stages_are_the_members_one_by_one(library, task, frame):
    model, X = fit_booster(library, task, frame=frame)
    roster = booster_roster(model)
    F = member_values(roster.members, X, task)
    np.testing.assert_allclose(
        np.stack(list(roster.staged_predictions(X)), 1), F, rtol=1e-9
    )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_roster_knows_classes_and_votes(library, task):
    model, _ = fit_booster(library, task)
    roster = booster_roster(model)
    assert len(roster) == M
    np.testing.assert_allclose(roster.weights, 1 / M)
    if task == "regression":
        assert roster.classes is None
        return
    n_classes = 2 if task == "binary" else 3
    known = getattr(model, "classes_", np.arange(n_classes))
    np.testing.assert_array_equal(roster.classes, known)
    assert roster.votes == "scores"


def test_other_things_are_no_boosters():
    X, y = make_rows("binary", missing=False)
    assert booster_roster(RandomForestClassifier(2).fit(X, y)) is None
    assert booster_roster("lightgbm") is None


@pytest.mark.parametrize(
    "model", [GradientBoostingRegressor(), HistGradientBoostingRegressor()]
)
def test_unfitted_boosters_say_so(model):
    with pytest.raises(NotFittedError):
        booster_roster(model)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile"])
def test_losses_whose_rounds_do_not_add_up_are_refused(loss):
    X, y = make_rows("regression")
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.5, max_iter=2)
    with pytest.raises(ValueError, match=f"loss='{loss}' cannot be re-weighed"):
        booster_roster(model.fit(X, y))


@pytest.mark.parametrize("loss", ["absolute_error", "huber"])
def test_other_losses_of_the_prediction_itself_are_taken(loss):
    X, y = make_rows("regression", missing=False)
    model = GradientBoostingRegressor(loss=loss, n_estimators=3).fit(X, y)
    F = member_values(booster_roster(model).members, X, "regression")
    np.testing.assert_allclose(F.mean(axis=1), model.predict(X), rtol=1e-12)


def test_libraries_are_not_imported_to_find_out():
    code = (
        "import sys; from committee.ensembles.boosters import booster_roster; "
        "booster_roster(3); "
        "sys.exit(any(name in sys.modules for name in ('lightgbm', 'xgboost')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
