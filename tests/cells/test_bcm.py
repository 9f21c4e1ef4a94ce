from itertools import pairwise

import numpy as np
import pytest

from committee.cells.bcm import (
    CommitteeMachine,
    GivenRows,
    JointMachine,
    Known,
    combined,
)
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


def dense_posterior(kernel, X, Y, r, Z):
    """Mean and covariance at rows Z of a Gaussian process, by its formulas."""
    if not len(X):
        return np.zeros((len(Z), Y.shape[1])), kernel(Z, Z)
    K, A = kernel(Z, X), kernel(X, X) + np.diag(r)
    return K @ np.linalg.solve(A, Y), kernel(Z, Z) - K @ np.linalg.solve(A, K.T)


def dense_joint(kernel, parts, Z):
    """S^-1 = S_1^-1 + sum (S_i^-1 - S_1^-1) and its mean, from posteriors of D_1, D_i."""
    (X1, Y1, r1), *others = parts
    m1, S1 = dense_posterior(kernel, X1, Y1, r1, Z)
    P, h = np.linalg.inv(S1), np.zeros_like(m1)
    precision = P.copy()
    for X, Y, r in others:
        both = (np.vstack([X1, X]), np.vstack([Y1, Y]), np.r_[r1, r])
        m, S = dense_posterior(kernel, *both, Z)
        precision += np.linalg.inv(S) - P
        h += np.linalg.solve(S, m - m1)
    S = np.linalg.inv(precision)
    return m1 + S @ h, np.diag(S)


def machine(method, sizes, *, seed=0, n_targets=2):
    """A committee machine with rows D_1, D_2, ... of these sizes, and the rows."""
    rng = np.random.default_rng(seed)
    n, kernel = sum(sizes), Kernel("matern52", 0.5)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, n_targets))
    ridge = rng.uniform(0.1, 0.4, size=n)
    ends = np.cumsum([0, *sizes])
    cuts = [slice(*pair) for pair in pairwise(ends)]
    parts = [(X[cut], Y[cut], ridge[cut]) for cut in cuts]
    first = GivenRows(kernel, parts[0][0], parts[0][2])
    a, _ = first.solve(parts[0][1])
    coef = [a]
    for D, T, r in parts[1:]:
        features = first.features(D)
        A = first(features, features) + np.diag(r)
        coef.append(np.linalg.solve(A, T - first.mean(D, a)))
    model = CommitteeMachine(
        kernel, method, X, np.concatenate(coef), ridge, ends, np.zeros(n_targets)
    )
    return model, parts, rng.normal(size=(12, 2))


def jointly(model):
    return JointMachine(**vars(model))


@pytest.mark.parametrize(("method", "shared"), [("bcm", 0), ("grbcm", 6)])
def test_joint_predictions_are_the_dense_ones(method, shared):
    model, parts, Z = machine(method, [shared, 9, 11, 8])
    f, V = jointly(model).posterior(Z)
    mean, variance = dense_joint(model.kernel, parts, Z)
    np.testing.assert_allclose(f, mean, atol=1e-7)
    np.testing.assert_allclose(V, variance, atol=1e-7)
    alone = model.posterior(Z)
    assert np.abs(alone.mean - f).max() > 0.01


@pytest.mark.parametrize(("method", "shared"), [("bcm", 0), ("grbcm", 6)])
def test_with_all_training_rows_in_the_call_it_is_the_process_of_all_rows(
    method, shared
):
    """Given f at all training rows, the parts are independent: no approximation."""
    model, parts, Z = machine(method, [shared, 9, 11, 8])
    X, Y, r = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    f, V = jointly(model).posterior(np.vstack([Z, X]))
    mean, S = dense_posterior(model.kernel, X, Y, r, Z)
    np.testing.assert_allclose(f[:12], mean, atol=1e-6)
    np.testing.assert_allclose(V[:12], np.diag(S), atol=1e-6)


def test_a_row_alone_has_the_prediction_that_is_not_joint():
    model, _, Z = machine("bcm", [0, 9, 11, 8])
    together = model.posterior(Z)
    for i in range(3):
        f, V = jointly(model).posterior(Z[[i]])
        np.testing.assert_allclose(f, together.mean[[i]], atol=1e-7)
        np.testing.assert_allclose(V, together.variance[[i]], atol=1e-7)


def test_joint_predictions_follow_the_order_of_the_rows_and_bear_copies():
    model, _, Z = machine("grbcm", [5, 9, 11])
    twice = np.vstack([Z, Z[::-1]])
    f, V = jointly(model).posterior(twice)
    # Copies add no rows but a jitter of the covariance, relative 1e-10 or more.
    np.testing.assert_allclose(f[:12], f[12:][::-1], atol=1e-5)
    once = jointly(model).posterior(Z)
    np.testing.assert_allclose(f[:12], once.mean, atol=1e-5)
    np.testing.assert_allclose(V[:12], once.variance, atol=1e-5)
