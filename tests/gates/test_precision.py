"""PrecisionGate: the formula by hand, special cases, committees of Gaussian processes."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    Pool,
    PrecisionGate,
    RandomSubspaces,
    load,
    save,
)
from committee.deviations import gives_std


def _rows(N=40, M=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    S = rng.uniform(0.5, 2.0, (N, M))
    return X, y[:, None] + S * rng.normal(size=(N, M)), y, S, rng


def test_the_formula_by_hand():
    X, F, y, S, rng = _rows()
    mask, s = rng.random((40, 3)) < 0.6, rng.uniform(0.5, 1.5, 40)
    gate = PrecisionGate().fit(X, F, y, std=S, held_out=mask, sample_weight=s)
    share = s / np.mean([s[n] for n in range(40) if mask[n].any()])
    c = []
    for m in range(3):
        rows = np.flatnonzero(mask[:, m])
        z = [(F[n, m] - y[n]) ** 2 / S[n, m] ** 2 for n in rows]
        c.append(np.sqrt((1 + share[rows] @ z) / (1 + share[rows].sum())))
    np.testing.assert_allclose(gate.scales_, c, rtol=1e-12)
    precision = 1 / (np.array(c) * S) ** 2
    G = precision / precision.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gate.weights(X, std=S), G, rtol=1e-12)
    np.testing.assert_allclose(gate.combine(X, F, S), (F * G).sum(1), rtol=1e-12)


def test_equal_deviations_are_the_average_and_one_member_is_itself():
    X, F, y, _, _ = _rows()
    equal = PrecisionGate(calibrate=False).fit(X, F, y)
    np.testing.assert_allclose(equal.combine(X, F, np.ones((40, 3))), F.mean(axis=1))
    one = PrecisionGate().fit(X, F[:, :1], y, std=np.ones((40, 1)))
    np.testing.assert_array_equal(one.combine(X, F[:, :1], np.ones((40, 1))), F[:, 0])


def test_a_member_that_is_too_sure_is_found_out():
    """Where all say the truth but for a factor, weights are those of the truth."""
    X, F, y, S, _ = _rows(20_000)
    true = 1 / S**2 / (1 / S**2).sum(axis=1, keepdims=True)
    told = S * [0.1, 1.0, 7.0]
    G = PrecisionGate().fit(X, F, y, std=told).weights(X, std=told)
    # Each c is known to 1 / sqrt(2 N) = 0.005, a weight to half of that at most.
    np.testing.assert_allclose(G, true, atol=0.01)
    raw = PrecisionGate(calibrate=False).fit(X, F, y)
    assert raw.weights(X, std=told)[:, 0].min() > 0.8


def test_units_and_deviations_of_zero():
    X, F, y, S, _ = _rows()
    G = PrecisionGate().fit(X, F, y, std=S).weights(X, std=S)
    for unit in (1e-150, 1e200):
        far = PrecisionGate().fit(X, unit * F, unit * y, std=unit * S)
        np.testing.assert_allclose(far.weights(X, std=unit * S), G, rtol=1e-9)
    S[0, 1] = 0.0
    gate = PrecisionGate().fit(X[1:], F[1:], y[1:], std=S[1:])
    np.testing.assert_allclose(gate.weights(X, std=S)[0], [0, 1, 0], atol=1e-9)


def _committee(**options):
    kernel = RBF() + WhiteKernel()
    return CommitteeRegressor(
        GaussianProcessRegressor(kernel, optimizer=None),
        gate=PrecisionGate(),
        **options,
    )


@pytest.mark.parametrize(
    ("generator", "weigh_on"),
    [(Bagging(4), "held-out"), (RandomSubspaces(4, max_features=3), 0.3)],
    ids=["bag", "subspaces"],
)
def test_committees_of_gaussian_processes(generator, weigh_on, tmp_path):
    X, y = make_friedman1(120, n_features=5, random_state=0)
    committee = _committee(generator=generator, weigh_on=weigh_on, random_state=0)
    committee.fit(X, y)
    asked = [member.predict(X, return_std=True) for member in committee.members_]
    F, S = (np.stack(part, axis=1) for part in zip(*asked, strict=True))
    P = 1 / (committee.gate_.scales_ * S) ** 2
    G = P / P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(committee.gate_weights(X), G, rtol=1e-9)
    np.testing.assert_allclose(committee.predict(X), (F * G).sum(1), rtol=1e-9)
    save(committee, tmp_path / "gp.committee")
    again = load(tmp_path / "gp.committee")
    np.testing.assert_array_equal(again.predict(X), committee.predict(X))
    again.n_jobs = 2
    np.testing.assert_array_equal(again.predict(X), committee.predict(X))


def test_members_of_a_pool_are_believed_or_weighed_on_other_rows():
    X, y = make_friedman1(120, n_features=5, random_state=0)
    pool = Pool([BayesianRidge(), make_pipeline(StandardScaler(), BayesianRidge())])
    gated = CommitteeRegressor(generator=pool, gate=PrecisionGate(), random_state=0)
    with pytest.raises(ValueError, match=r"weigh_on=0\.25, or take .*calibrate=False"):
        gated.fit(X, y)
    assert gated.set_params(weigh_on=0.25).fit(X, y).score(X, y) > 0.5
    gated.set_params(weigh_on="held-out", gate=PrecisionGate(calibrate=False))
    np.testing.assert_array_equal(gated.fit(X, y).gate_.scales_, 1.0)


def test_a_gate_after():
    X, y = make_friedman1(160, n_features=5, random_state=0)
    plain = CommitteeRegressor(BayesianRidge(), generator=Bagging(3), random_state=0)
    gated = plain.fit(X[:80], y[:80]).with_gate(PrecisionGate(), X[80:], y[80:])
    F, S = zip(
        *(m.predict(X[80:], return_std=True) for m in plain.members_), strict=True
    )
    by_hand = PrecisionGate().fit(X[80:], np.stack(F, 1), y[80:], std=np.stack(S, 1))
    np.testing.assert_allclose(gated.gate_.scales_, by_hand.scales_, rtol=1e-12)
    trees = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X[:80], y[:80])
    with pytest.raises(ValueError, match="DecisionTreeRegressor does not give"):
        trees.with_gate(PrecisionGate(), X[80:], y[80:])


def test_misuse_is_refused_in_words():
    X, F, y, S, _ = _rows()
    gate = PrecisionGate()
    with pytest.raises(ValueError, match="give std, of the shape of F"):
        gate.fit(X, F, y)
    with pytest.raises(ValueError, match="for numbers"):
        gate.fit(X, np.full((40, 3, 2), 0.5), np.zeros(40, int))
    with pytest.raises(ValueError, match=r"shape \(40, 3\)"):
        gate.fit(X, F, y, std=S[:, :2])
    with pytest.raises(ValueError, match="not negative"):
        gate.fit(X, F, y, std=-S)
    with pytest.raises(ValueError, match="NaN"):
        gate.fit(X, F, y, std=np.where(S > 1.9, np.nan, S))
    with pytest.raises(ValueError, match="give std, weights"):
        gate.fit(X, F, y, std=S).weights(X)
    with pytest.raises(ValueError, match="Ridge does not give"):
        CommitteeRegressor(Ridge(), gate=gate).fit(X, y)
    with pytest.raises(ValueError, match="is for regression: take SoftmaxGate"):
        CommitteeClassifier(gate=gate).fit(X, y > 0)


def test_who_gives_deviations():
    assert gives_std(make_pipeline(StandardScaler(), BayesianRidge()))
    assert not gives_std(make_pipeline(StandardScaler(), Ridge()))
