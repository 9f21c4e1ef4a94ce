import numpy as np
import pytest

from committee import CellKernelRegressor, CoupledKernelClassifier, LSSVMClassifier
from committee.coupled.rows import Rows, _n_distinct, codes_of, signed_targets
from tests.coupled.test_cell_kernel import surface


def some_rows(weighted=True):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    s = rng.integers(0, 3, 12).astype(float) if weighted else None
    return Rows(X, y, y[:, None], s)


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_that_are_taken(weighted):
    rows = some_rows(weighted)
    some = np.array([0, 5, 11])
    for one, two in zip(rows.take(some), rows, strict=True):
        assert two is None or np.array_equal(one, two[some])


def test_rows_that_count():
    rows = some_rows()
    np.testing.assert_array_equal(rows.counted(), np.flatnonzero(rows.s > 0))
    np.testing.assert_array_equal(some_rows(weighted=False).counted(), np.arange(12))


@pytest.mark.parametrize("kind", [CoupledKernelClassifier, LSSVMClassifier])
def test_rows_without_a_label_are_refused(kind):
    y = np.array([None, *"ababababab"], dtype=object)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        kind().fit(np.eye(11), y)


def test_signed_targets_of_classes():
    expected = [[-1, 1, -1], [1, -1, -1], [-1, -1, 1]]
    assert signed_targets(np.array([1, 0, 2]), 3).tolist() == expected
    assert signed_targets(np.array([0, 1]), 2).tolist() == [[-1], [1]]
    for K in (2, 3):
        codes = np.arange(7) % K
        np.testing.assert_array_equal(codes_of(signed_targets(codes, K)), codes)


def test_distinct_rows_are_counted():
    A = np.random.default_rng(0).integers(0, 4, size=(2000, 5)).astype(float)
    A[A == 0] *= np.random.default_rng(1).choice([-1.0, 1.0], size=(A == 0).sum())
    assert _n_distinct(A) == len(np.unique(A + 0.0, axis=0))


def test_copies_of_rows_are_warned_of():
    X, y = surface(100)
    model = CellKernelRegressor(max_cell=200)
    with pytest.warns(UserWarning, match="100 of 200 rows are duplicates"):
        model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    # As weights they are left out together; measured again they are no copies.
    model.fit(X, y, sample_weight=np.full(100, 2.0))
    assert model.loo_error_ > 0.005
    again = y + 0.1 * np.random.default_rng(1).normal(size=100)
    model.fit(np.repeat(X, 2, axis=0), np.stack([y, again], axis=1).ravel())
