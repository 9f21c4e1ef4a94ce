import numpy as np
import pytest

from committee.studies.chen_regression import draw_split
from committee.studies.study import Job
from tests.studies.small import claims, made_up, outcome


@pytest.mark.parametrize(
    "cell", ["bagging/sinc", "random-forest/multi", "bagging/house"]
)
def test_a_small_run(cell):
    found = outcome("chen-regression", cell, n_members=6, n_test=20).outcome
    for numbers in found.values():
        assert numbers["unpruned.size"] == 6
        assert 1 <= numbers["ep.size"] <= 6
        assert np.isfinite(numbers["ep.error"])
    # The same members, weighed on other rows.
    assert found["paper"]["unpruned.error"] == found["held-out"]["unpruned.error"]


def test_the_same_job_gives_the_same_numbers():
    one, two = (
        outcome("chen-regression", "bagging/plane", n_members=5, n_test=9).outcome
        for _ in range(2)
    )
    for protocol, numbers in one.items():
        for key, value in numbers.items():
            if not key.endswith("seconds"):
                np.testing.assert_array_equal(value, two[protocol][key])


def test_test_rows_are_clean_and_training_rows_are_not():
    X, y, X_test, y_test = draw_split("plane", Job("chen-regression", "", 0), n_test=50)
    assert (len(y), len(y_test)) == (250, 50)
    np.testing.assert_allclose(y_test, X_test @ [0.6, 0.3])
    assert np.std(y - X @ [0.6, 0.3]) > 0.03


METHODS = ("ep", "ard", "em", "ls", "random", "unpruned")
BAGGING = (
    "bagging: over the 7 sets EP is significantly better than ARD, EM and the unpruned "
    "ensemble."
)
FOREST = (
    "random-forest: over the 7 sets EP is significantly better than ARD and the "
    "unpruned ensemble, and not told apart from EM."
)


def numbers_of(errors):
    """Return numbers in which the methods have these errors on all sets but for noise."""

    def numbers(protocol, cell, run):
        found = {}
        for method, error in zip(METHODS, errors, strict=True):
            found |= {
                f"{method}.error": error + 0.001 * run,
                f"{method}.size": error + 0.001 * run,
                f"{method}.seconds": 1 / error,
            }
        return found

    return numbers


@pytest.mark.parametrize(
    ("errors", "bagging", "forest"),
    [
        ((1, 3, 2, 5, 5, 4), "partly", "reproduced"),  # ranks 1, 3, 2, 4
        ((1, 2, 4, 5, 5, 3), "partly", "partly"),  # EM is told apart
        ((3, 1, 4, 5, 5, 2), "not", "not"),  # no more than "not told apart"
    ],
)
def test_what_is_not_told_apart_is_no_support(errors, bagging, forest):
    said = claims("chen-regression", made_up("chen-regression", numbers_of(errors)))
    assert said[BAGGING, "paper"].verdict == bagging
    assert said[FOREST, "paper"].verdict == forest


def test_a_report_of_made_up_runs():
    numbers = numbers_of((1, 2, 3, 4, 5, 6))
    said = claims("chen-regression", made_up("chen-regression", numbers))
    wins = said["bagging: EP has a lower error than ARD.", "paper"]
    assert wins.verdict == "reproduced"
    assert wins.found == "wins 7, losses 0 (in print 7, 0); by a t-test 7, 0"
    kept = said["random-forest: EP keeps fewer members than ARD.", "held-out"]
    assert kept.verdict == "reproduced"
    assert said["EP takes more time to prune than EM and ARD.", "paper"].found == (
        "in 14 of 14 places"
    )
    few = claims("chen-regression", made_up("chen-regression", numbers, runs=9))
    assert {claim.verdict for claim in few.values()} == {"undecided"}
