import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from committee._validation import check_size
from committee.kernels import (
    KERNELS,
    Kernel,
    equal_steps,
    make_kernel,
    median_gamma,
    warn_of_scales,
)

TWINS = {
    "rbf": lambda X, Z: rbf_kernel(X, Z, gamma=0.3),
    "linear": linear_kernel,
    "exponential": Matern(1 / 0.3, nu=0.5),
    "matern32": Matern(1 / 0.3, nu=1.5),
    "matern52": Matern(1 / 0.3, nu=2.5),
}


@pytest.mark.parametrize("name", KERNELS)
@given(n=st.integers(1, 9), m=st.integers(1, 9), seed=st.integers(0, 1000))
def test_named_kernels_are_those_of_scikit_learn(name, n, m, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    K = Kernel(name, gamma=0.3)(X, Z)
    np.testing.assert_allclose(K, TWINS[name](X, Z), rtol=1e-12, atol=1e-14)


def test_a_callable_gets_both_sets_and_may_be_indefinite(rng):
    X, Z = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    kernel = make_kernel(lambda X, Z: np.tanh(X @ Z.T - 1), X)
    np.testing.assert_array_equal(kernel(X, Z), np.tanh(X @ Z.T - 1))


def test_what_a_callable_must_return(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(
        ValueError, match=r"one row for each of the 4 .* shape \(2, 4\)"
    ):
        Kernel(lambda X, Z: np.ones((2, 4)))(X, X)
    with pytest.raises(ValueError, match="not finite"):
        Kernel(lambda X, Z: np.full((4, 4), np.nan))(X, X)


@pytest.mark.parametrize("name", ["rbf", "exponential", "matern32", "matern52"])
def test_equal_points_are_at_one_even_far_from_the_origin(name):
    X = np.full((2, 3), 1e6)
    np.testing.assert_array_equal(Kernel(name, gamma=1.0)(X, X), np.ones((2, 2)))


@pytest.mark.parametrize("name", ["rbf", "exponential", "matern32", "matern52"])
def test_a_row_does_not_depend_on_the_others_of_its_block(name, rng):
    Z = rng.normal(size=(400, 3))
    X = np.concatenate([Z[:100], rng.normal(size=(100, 3)), np.full((1, 3), 1e9)])
    K = Kernel(name, gamma=0.3)(X, Z)
    np.testing.assert_allclose(K[:200], TWINS[name](X[:200], Z), atol=1e-13)
    assert not K[200].any()


@pytest.mark.parametrize("name", ["rbf", "exponential", "matern32", "matern52"])
def test_single_precision_stays_single(name, rng):
    X = rng.normal(size=(20, 3))
    kernel = Kernel(name, gamma=0.3)
    K = kernel(X.astype(np.float32), X.astype(np.float32))
    assert K.dtype == np.float32
    # The root of a rounded square: sqrt(eps) where two points nearly coincide.
    np.testing.assert_allclose(K, kernel(X, X), atol=4e-3)


@pytest.mark.parametrize("kernel", ["rbf", "exponential"])
def test_the_median_heuristic(kernel, rng):
    X = rng.normal(size=(30, 3))
    root = 2 if kernel == "exponential" else 1
    distances = [
        np.sum(np.abs(X[m] - X[n]) ** 2) ** (1 / root)
        for m in range(30)
        for n in range(m)
    ]
    np.testing.assert_allclose(
        make_kernel(kernel, X).gamma, 1 / np.median(distances), rtol=1e-12
    )
    assert make_kernel(kernel, X, gamma=3).gamma == 3.0


def test_repeated_rows_and_constant_columns_do_not_count(rng):
    X = np.c_[rng.normal(size=(20, 2)), np.full(20, 7.0)]
    expected = median_gamma(X[:, :2])
    np.testing.assert_allclose(median_gamma(X), expected, rtol=1e-10)
    one = np.repeat(X, [1] * 19 + [50], axis=0)
    assert np.isfinite(median_gamma(one))


def test_rows_that_are_all_alike_have_no_scale():
    with pytest.raises(ValueError, match="all rows are equal: set gamma"):
        make_kernel("rbf", np.full((5, 2), 0.1))


def test_of_many_rows_some_decide(rng):
    X = rng.normal(size=(5000, 2))
    np.testing.assert_allclose(median_gamma(X), median_gamma(X[::5]), rtol=0.1)


def test_other_kernels_need_no_median():
    X = np.zeros((3, 4))
    assert make_kernel("linear", X)(X, X).shape == (3, 3)


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_an_offset_of_all_rows_does_not_matter(rng, offset):
    X = rng.normal(size=(30, 3))
    far = np.c_[X, np.full(30, offset)]
    near = np.c_[X, np.zeros(30)]
    assert median_gamma(far) == pytest.approx(median_gamma(near), rel=1e-12)
    np.testing.assert_allclose(
        Kernel("rbf", gamma=0.5)(far, far), Kernel("rbf", gamma=0.5)(near, near)
    )


def test_a_name_that_is_not_known():
    with pytest.raises(ValueError, match=r"kernel must be one of .*Got 'gaussian'"):
        Kernel("gaussian")


def test_columns_of_unlike_scales_are_warned_of():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, 1e8]
    for kernel in (None, "rbf"):
        with pytest.warns(UserWarning, match=r"^Column 2 of X has a range of .* Scale"):
            warn_of_scales(X, kernel)
    # A constant column has no scale, and a product of rows is not a distance.
    warn_of_scales(np.c_[X[:, :2], np.zeros(50)], "rbf")
    warn_of_scales(X, "linear")


def test_numbers_without_squares_are_refused():
    with pytest.raises(ValueError, match=r"^y must not contain a number above 1e\+150"):
        check_size(np.array([0.0, -1e200]), "y")


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 1001, 3456])
def test_rows_at_equal_steps_give_the_width_of_all(n):
    rows = equal_steps(n, 1000)
    assert len(rows) == min(n, 1000)
    assert len(set(rows.tolist())) == len(rows)
    if n > 1:
        assert (rows[0], rows[-1]) == (0, n - 1)
        X = np.random.default_rng(0).normal(size=(n, 2))
        assert median_gamma(X[rows]) == median_gamma(X)
