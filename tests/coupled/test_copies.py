import numpy as np
import pytest

from committee import CoupledKernelRegressor
from committee.coupled.copies import _n_distinct
from tests.coupled.test_in_cells import surface


def test_distinct_rows_are_counted():
    A = np.random.default_rng(0).integers(0, 4, size=(2000, 5)).astype(float)
    A[A == 0] *= np.random.default_rng(1).choice([-1.0, 1.0], size=(A == 0).sum())
    assert _n_distinct(A) == len(np.unique(A + 0.0, axis=0))


def test_copies_of_rows_are_warned_of():
    X, y = surface(100)
    model = CoupledKernelRegressor(subsets="cells", max_cell=200)
    with pytest.warns(UserWarning, match="100 of 200 rows are copies"):
        model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    # As weights they are left out together; measured again they are no copies.
    model.fit(X, y, sample_weight=np.full(100, 2.0))
    assert model.loo_error_ > 0.005
    again = y + 0.1 * np.random.default_rng(1).normal(size=100)
    model.fit(np.repeat(X, 2, axis=0), np.stack([y, again], axis=1).ravel())
