import numpy as np
import pytest

from committee import CoupledKernelRegressor


def rows(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0]


def test_alpha_and_coupling_change_nothing_that_is_drawn():
    X, y = rows()
    models = [
        CoupledKernelRegressor(5, alpha=a, coupling=c, random_state=0).fit(X, y)
        for a, c in [(0.1, 0.0), (1.0, 1.0)]
    ]
    for name in ("subsets_", "coupling_points_"):
        a, b = (np.concatenate(getattr(m, name)) for m in models)
        np.testing.assert_array_equal(a, b)


def test_members_have_not_seen_the_rows_of_other_subsets():
    X, y = rows()
    model = CoupledKernelRegressor(5, random_state=0).fit(X, y)
    unseen = model._unseen(np.arange(60))
    for j, subset in enumerate(model.subsets_):
        np.testing.assert_array_equal(np.flatnonzero(~unseen[:, j]), subset)


@pytest.mark.parametrize(
    ("n_coupling", "expected"), [(0.25, 15), (1.0, 60), (7, 7), (1e-9, 1)]
)
def test_number_of_coupling_points(n_coupling, expected):
    X, y = rows()
    model = CoupledKernelRegressor(5, n_coupling=n_coupling, random_state=0).fit(X, y)
    assert len(model.coupling_points_) == expected
