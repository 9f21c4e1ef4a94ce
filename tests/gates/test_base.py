"""What every gate must do: weights on the simplex, checked input, static invariances."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from committee import Average, NeighbourGate, SoftmaxGate, combine

GATES = [
    SoftmaxGate(),
    *(NeighbourGate(m) for m in ("soft", "ola", "knora-e", "knora-u", "des-p")),
]


def _classes(N=60, M=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    y = rng.integers(0, K, N)
    F = rng.dirichlet(np.ones(K), (N, M)) * 0.6 + 0.4 * np.eye(K)[y][:, None]
    return X, F, y, rng.random((N, M)) < 0.4


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_weights_are_on_the_simplex_also_where_members_abstain(gate):
    X, F, y, held_out = _classes()
    for mask in (None, held_out):
        G = clone(gate).fit(X, F, y, held_out=mask).weights(X)
        assert G.shape == F.shape[:2]
        assert np.all(G >= 0)
        np.testing.assert_allclose(G.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_units_of_columns_and_order_of_members_do_not_matter(gate):
    X, F, y, _ = _classes()
    order = np.array([2, 0, 3, 1])
    a = clone(gate).fit(X, F, y).weights(X)
    # Powers of two scale without rounding, so neighbours stay neighbours.
    Z = X * [2.0, 4.0, 0.5]
    b = clone(gate).fit(Z, F[:, order], y).weights(Z)
    np.testing.assert_allclose(b, a[:, order], atol=1e-5)


@pytest.mark.parametrize("gate", [SoftmaxGate(), NeighbourGate()], ids=str)
def test_rows_of_weight_zero_are_rows_that_are_not_there(gate):
    X, F, y, held_out = _classes()
    s = np.ones(60)
    s[::3] = 0.0
    with_zeros = clone(gate).fit(X, F, y, held_out=held_out, sample_weight=s)
    some = s > 0
    without = clone(gate).fit(X[some], F[some], y[some], held_out=held_out[some])
    np.testing.assert_allclose(with_zeros.weights(X), without.weights(X), atol=1e-9)


def test_equal_weights_give_the_average():
    X, F, y, _ = _classes()
    rng = np.random.default_rng(1)
    gate = SoftmaxGate(static=Average()).fit(X, rng.permuted(F, axis=0), y)
    assert np.isinf(gate.penalty_)  # there is nothing to learn from shuffled rows
    np.testing.assert_allclose(gate.combine(X, F), combine(F, np.full(4, 0.25)))


def test_columns_by_number_and_by_name():
    pd = pytest.importorskip("pandas")
    X, F, y, _ = _classes()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(text="t")
    by_number = NeighbourGate("ola", columns=[2, 0]).fit(X, F, y).weights(X)
    by_name = NeighbourGate("ola", columns=["c", "a"]).fit(frame, F, y).weights(frame)
    np.testing.assert_array_equal(by_number, by_name)
    with pytest.raises(ValueError, match="could not convert") as caught:
        NeighbourGate().fit(frame, F, y)
    assert "columns=[...]" in caught.value.__notes__[0]


def test_wrong_input_is_refused_in_words():
    X, F, y, _ = _classes()
    gate = NeighbourGate()
    with pytest.raises(NotFittedError):
        gate.weights(X)
    with pytest.raises(ValueError, match="same rows"):
        gate.fit(X[1:], F, y)
    with pytest.raises(ValueError, match="NaN"):
        gate.fit(np.where(X > 2, np.nan, X), F, y)
    for columns in ([7], 1):
        with pytest.raises(
            ValueError, match=r"'columns'|columns must be some of the 3"
        ):
            NeighbourGate(columns=columns).fit(X, F, y)
    with pytest.raises(ValueError, match="cannot be estimated"):
        gate.fit(
            *(X, F, y),
            held_out=np.arange(60)[:, None] + np.zeros(4) == 0,
            sample_weight=(np.arange(60) > 0).astype(float),
        )
    gate.fit(X, F, y)
    with pytest.raises(ValueError, match="2 features"):
        gate.weights(X[:, :2])
    with pytest.raises(ValueError, match=r"\(60, 4, 3\)"):
        gate.combine(X, F[:, :2])
