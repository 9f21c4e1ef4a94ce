import numpy as np
import pytest

from committee.studies.chen_regression import draw_split
from committee.studies.study import Job
from tests.studies.small import fill, outcome, verdicts


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


def test_a_report_of_some_cells(tmp_path):
    store = fill(
        tmp_path / "s.sqlite", "chen-regression", ["bagging/plane"], n_members=5
    )
    said = verdicts("chen-regression", store)
    assert said["bagging: EP has a lower error than ARD.", "paper"] != "undecided"
    assert said["random-forest: EP has a lower error than ARD.", "paper"] == "undecided"
