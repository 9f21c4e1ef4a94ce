"""Coupling of members and the ambiguity decomposition."""

import numpy as np
from sklearn.metrics import log_loss

from committee import ambiguity
from committee.networks.losses import CrossEntropy, SquaredError


def test_coupling_is_the_term_of_the_ambiguity_decomposition():
    """sum_k (f_k - y)^2 + nu sum_k (f_k - f)^2 = M ((f - y)^2 + (1 + nu) diversity).

    The gradient of the left side is what members are trained by; its sum over members is
    that of the committee whatever nu, and at nu = -1 all have the committee's own.
    """
    rng = np.random.default_rng(0)
    M, nu = 5, -0.6
    f, y = rng.standard_normal((M, 8, 1)), rng.standard_normal((1, 8, 1))
    parts = ambiguity(f[:, :, 0].T, y[0, :, 0])
    left = np.sum((f - y) ** 2) + nu * np.sum((f - f.mean(axis=0)) ** 2)
    right = M * 8 * (parts.ensemble_error + (1 + nu) * parts.diversity)
    np.testing.assert_allclose(left, right, rtol=1e-12)
    of_mean = f.mean(axis=0) - y[0]
    loss = SquaredError()
    g = loss.gradient(f.copy(), y, nu)
    np.testing.assert_allclose(g.mean(axis=0), of_mean, atol=1e-14)
    g = loss.gradient(f.copy(), y, -1.0)
    np.testing.assert_allclose(g, np.broadcast_to(of_mean, g.shape), atol=1e-14)


def test_a_coupling_of_zero_is_none():
    rng = np.random.default_rng(1)
    out, Y = rng.standard_normal((3, 4, 2)), np.eye(2)[[[0, 1, 1, 0]]]
    np.testing.assert_array_equal(SquaredError().gradient(out.copy(), Y, 0.0), out - Y)
    tiny = CrossEntropy().gradient(out.copy(), Y, 1e-12)
    none = CrossEntropy().gradient(out.copy(), Y)
    np.testing.assert_allclose(tiny, none, atol=1e-11)


def test_the_loss_of_classes_is_the_log_loss_and_outputs_may_be_huge():
    out = np.array([[[1e4, 0.0, -1e4], [0.3, 0.1, 0.9]]])
    p = CrossEntropy().predictions(out.copy())
    assert p[0, 0].tolist() == [1, 0, 0]
    Y = np.eye(3)[[[0, 2]]]
    value = CrossEntropy().values(p, Y)
    np.testing.assert_allclose(
        value.mean(), log_loss([0, 2], p[0], labels=[0, 1, 2]), rtol=1e-12
    )
    wrong = CrossEntropy().values(p, np.eye(3)[[[2, 0]]])
    assert np.isfinite(wrong).all()
