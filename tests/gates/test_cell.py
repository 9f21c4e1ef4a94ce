import numpy as np
import pytest
from scipy.optimize import minimize

from committee import (
    Average,
    CellGate,
    CommitteeRegressor,
    Pool,
    SoftmaxGate,
    load,
    save,
)
from committee.gates.cell import _weights_of


def regions(n, seed=0):
    """Four members: two that take turns in stripes below, two above."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    right = np.floor(2 * X[:, 0]).astype(int) % 2 + 2 * (X[:, 1] > 0)
    F = y[:, None] + rng.normal(size=(n, 4))
    F[np.arange(n), right] = y + 0.1 * rng.normal(size=n)
    return X, F, y


def test_members_are_weighed_where_they_are_right():
    X, F, y = regions(2000)
    gate = CellGate(60).fit(X, F, y)
    X_new, F_new, y_new = regions(1000, seed=1)
    error = np.mean((gate.combine(X_new, F_new) - y_new) ** 2)
    softmax = SoftmaxGate().fit(X, F, y)
    assert error < 0.7 * np.mean((softmax.combine(X_new, F_new) - y_new) ** 2)
    assert np.isfinite(gate.worth_)
    assert gate.gain_ > 0.5


def test_the_weights_of_a_cell_solve_their_problem(rng):
    E, H, s = (
        rng.normal(size=(50, 3, 2)),
        rng.uniform(size=(50, 2)),
        rng.uniform(1, 2, 50),
    )
    w, k = np.array([0.2, 0.5, 0.3]), 7.0
    found = _weights_of(H, E, s, w, k)
    s = s / s.mean()
    v = np.einsum("n,nmk,nmk->", s, E, E) / (3 * s.sum())

    def objective(x, c):
        e = np.einsum("m,nmk->nk", x, E)
        return np.sum((s * H[:, c])[:, None] * e**2) + k * v * np.sum((x - w) ** 2)

    for c in range(2):
        twin = minimize(
            objective, w, (c,), bounds=[(0, 1)] * 3, tol=1e-12, method="SLSQP",
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        )  # fmt: skip
        np.testing.assert_allclose(found[c], twin.x, atol=1e-5)


def test_where_nothing_depends_on_x_the_gate_is_static(rng):
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    F = y[:, None] + rng.normal(size=(400, 3))
    gate = CellGate(static=Average()).fit(X, F, y)
    assert np.isinf(gate.worth_)
    np.testing.assert_allclose(gate.weights(X), 1 / 3)


def test_weights_do_not_jump():
    X, F, y = regions(2000)
    gate = CellGate(60).fit(X, F, y)
    line = np.linspace(-1, 1, 20_001)[:, None] * np.array([1.0, 0.6])
    assert np.abs(np.diff(gate.weights(line), axis=0)).max() < 0.01


def test_it_works_in_a_committee_and_a_file(tmp_path):
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    X, _, y = regions(300)
    pool = Pool([LinearRegression(), DecisionTreeRegressor(max_depth=3)])
    model = CommitteeRegressor(generator=pool, gate=CellGate(60), random_state=0).fit(
        X, y
    )
    save(model, tmp_path / "gate.skops")
    again = load(tmp_path / "gate.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.gate_weights(X).shape == (300, 2)


def test_cells_of_one_row_are_refused():
    with pytest.raises(ValueError, match="max_cell"):
        CellGate(1).fit(*regions(50))
