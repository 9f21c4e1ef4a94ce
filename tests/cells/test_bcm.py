import numpy as np
import pytest

from committee.cells.bcm import GivenRows, Known, combined
from committee.kernels import Kernel


def known(rng, n=20, largest=1.0):
    return Known(rng.normal(size=(n, 2)), largest * rng.uniform(0.1, 0.9, size=n))


def test_a_kernel_that_has_seen_rows_is_a_posterior_covariance():
    rng = np.random.default_rng(0)
    D, X, Z = (rng.normal(size=(n, 3)) for n in (15, 8, 6))
    kernel, r = Kernel("rbf", 0.3), rng.uniform(0.1, 0.5, size=15)
    given = GivenRows(kernel, D, r)
    A = kernel(D, D) + np.diag(r)
    wanted = kernel(X, Z) - kernel(X, D) @ np.linalg.solve(A, kernel(D, Z))
    x, z = given.features(X), given.features(Z)
    np.testing.assert_allclose(given(x, z), wanted, atol=1e-12)
    np.testing.assert_allclose(given.diagonal(x), np.diag(given(x, x)), atol=1e-12)


def test_experts_that_add_nothing_change_nothing():
    rng = np.random.default_rng(0)
    first, expert = known(rng), known(rng, largest=0.1)
    nothing = Known(np.zeros_like(first.mean), first.variance)
    alone = combined(first, [expert], "grbcm")
    np.testing.assert_allclose(alone.mean, first.mean + expert.mean, atol=1e-12)
    np.testing.assert_allclose(alone.variance, expert.variance)
    for found, wanted in zip(
        combined(first, [expert, nothing, nothing], "grbcm"), alone, strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("method", ["bcm", "grbcm"])
def test_more_experts_are_surer_and_their_order_is_free_but_for_the_second(method):
    rng = np.random.default_rng(0)
    first, *experts = (known(rng, largest=c) for c in (1.0, 0.1, 0.1, 0.1))
    few, all_ = combined(first, experts[:2], method), combined(first, experts, method)
    assert np.all(all_.variance < few.variance)
    a, b, c = experts
    for found, wanted in zip(combined(first, [a, c, b], method), all_, strict=True):
        np.testing.assert_allclose(found, wanted)
