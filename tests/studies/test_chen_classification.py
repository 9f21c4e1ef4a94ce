import numpy as np
import pytest

from committee.studies.chen_classification import draw_split
from committee.studies.study import Job
from tests.reference.data import load_or_skip
from tests.studies.small import folder, outcome


@pytest.mark.parametrize(
    "cell", ["bagging/heart", "adaboost/thyroid", "random-forest/titanic"]
)
def test_a_small_run(cell):
    found = outcome("chen-classification", cell, n_members=6).outcome
    for numbers in found.values():
        assert 1 <= numbers["ep.size"] <= numbers["unpruned.size"] <= 6
        assert 0 <= numbers["kappa.error"] <= 100
        assert len(numbers["cp.curve"]) == 20


def test_splits_are_those_of_the_file_and_then_random():
    z = load_or_skip("raetsch_image")
    for run in (3, 20, 57):
        X, y, X_test, y_test = draw_split("image", Job("s", "c", run, folder()))
        assert (len(y), len(y_test)) == (1300, 1010)
        pool = np.r_[z["train_idx"][0], z["test_idx"][0]]
        both = np.sort(np.r_[X, X_test].sum(axis=1))
        np.testing.assert_allclose(both, np.sort(z["X"][pool].sum(axis=1)))
    X, *_ = draw_split("image", Job("s", "c", 3, folder()))
    np.testing.assert_array_equal(X, z["X"][z["train_idx"][3]])
