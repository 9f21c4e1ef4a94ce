import numpy as np
import pytest

from committee import CoupledKernelClassifier, CoupledKernelRegressor
from committee.coupled.coupled_kernel import unseen_rows
from committee.kernels import Kernel
from tests.reference.coupled import DenseCoupled


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
    unseen = unseen_rows(np.arange(60), model.subsets_)
    for j, subset in enumerate(model.subsets_):
        np.testing.assert_array_equal(np.flatnonzero(~unseen[:, j]), subset)


@pytest.mark.parametrize(
    ("n_coupling", "expected"), [(0.25, 15), (1.0, 60), (7, 7), (1e-9, 1)]
)
def test_number_of_coupling_points(n_coupling, expected):
    X, y = rows()
    model = CoupledKernelRegressor(5, n_coupling=n_coupling, random_state=0).fit(X, y)
    assert len(model.coupling_points_) == expected


# --- given subsets -----------------------------------------------------------


def test_given_subsets_that_were_drawn_are_the_same_fit():
    X, y = rows()
    labels = np.where(y > 0, "up", "down")
    for kind, target in (
        (CoupledKernelRegressor, y),
        (CoupledKernelClassifier, labels),
    ):
        drawn = kind(5, random_state=3).fit(X, target)
        given = kind(5, random_state=3)
        given.fit(X, target, subsets=[part[::-1] for part in drawn.subsets_])
        np.testing.assert_array_equal(given.weights_, drawn.weights_)
        np.testing.assert_array_equal(given.coupling_points_, drawn.coupling_points_)
        np.testing.assert_array_equal(given.dual_coef_, drawn.dual_coef_)
        other = kind(5, random_state=3)
        other.fit(X, target, subsets=drawn.subsets_[::-1])
        np.testing.assert_array_equal(other.subsets_[0], drawn.subsets_[-1])


@pytest.mark.parametrize("topology", ["ring", "chain"])
def test_members_of_given_subsets_are_the_dense_solution(topology):
    """Of unlike sizes; some rows are in none, and their targets do not matter."""
    X, y = rows()
    subsets = [np.arange(20), np.arange(20, 25), np.array([40, 30, 50]), [59]]
    y[[26, 55]] = 1e6
    model = CoupledKernelRegressor(4, gamma=0.5, alpha=0.1, topology=topology)
    model.fit(X, y, subsets=subsets, X_coupling=X[:9])
    twin = DenseCoupled(
        Kernel("rbf", gamma=0.5), X, y[:, None], model.subsets_, X[:9],
        alpha=0.1, nu=1.0, topology=topology,
    )  # fmt: skip
    for member, coef in zip(model.members_, twin.solve(), strict=True):
        np.testing.assert_allclose(member.coef, coef[:, 0], rtol=1e-6, atol=1e-8)


def test_rows_of_weight_zero_are_in_no_subset(rng):
    X, y = rows()
    s = rng.uniform(0.5, 2, size=60)
    s[::4] = 0.0
    parts = np.array_split(np.arange(60), 3)
    kept = [part[s[part] > 0] for part in parts]
    weighted, without = (
        CoupledKernelRegressor(3, random_state=0).fit(X, y, s, subsets=subsets)
        for subsets in (parts, kept)
    )
    np.testing.assert_array_equal(weighted.dual_coef_, without.dual_coef_)


def test_an_indefinite_fit_warns_once_and_a_plain_one_refuses():
    X, y = rows()
    model = CoupledKernelRegressor(4, coupling=-5.0, random_state=0)
    with pytest.raises(np.linalg.LinAlgError, match="must be greater than"):
        model.fit(X, y)
    with pytest.warns(UserWarning, match="no minimum") as caught:
        model.set_params(allow_indefinite=True).fit(X, y)
    assert len(caught) == 1
    assert np.all(np.isfinite(model.predict(X)))
