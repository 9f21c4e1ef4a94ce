"""Members through joblib's backends: Dask's, Ray's, and one that streams nothing."""

from contextlib import ExitStack
from threading import Thread

import joblib
import numpy as np
import pytest
from joblib.parallel import register_parallel_backend
from sklearn.utils.parallel import delayed
from threadpoolctl import threadpool_info, threadpool_limits

from committee import Bagging, CommitteeClassifier, EPPruner, SimplexWeights
from committee._parallel import one_thread, results_of


class Together(joblib.parallel.ThreadingBackend):
    """A backend that gives its results back together, as Ray's does."""

    supports_return_generator = False


register_parallel_backend("together", Together)


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, np.where(X[:, 0] + rng.normal(size=120) > 0, "yes", "no")


@pytest.mark.parametrize("backend", ["together", "dask", "ray"])
def test_members_and_weights_are_those_of_one_process(backend, request):
    if backend == "dask":
        request.getfixturevalue("two_workers")
    if backend == "ray":
        pytest.importorskip("ray.util.joblib").register_ray()
        request.addfinalizer(pytest.importorskip("ray").shutdown)
    X, y = problem()
    committee = CommitteeClassifier(
        generator=Bagging(6), combiner=SimplexWeights(), random_state=0
    )
    alone = committee.fit(X, y)
    weights, p = alone.weights_, alone.predict_proba(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        committee.fit(X, y)
        np.testing.assert_array_equal(committee.weights_, weights)
        np.testing.assert_array_equal(committee.predict_proba(X), p)


def test_results_come_while_calls_are_made():
    asked = []

    def calls():
        for i in range(100):
            asked.append(i)
            yield delayed(abs)(-i)

    results = results_of(calls(), n_jobs=1)
    assert next(results) == 0
    assert len(asked) < 100


def test_a_wrong_number_of_jobs_is_refused():
    with pytest.raises(ValueError, match="n_jobs"):
        list(results_of([delayed(abs)(1)], n_jobs=0))


def blas_threads():
    return [
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    ]


def test_blas_threads_are_given_back_whatever_the_order():
    """First in, first out: as threads do that fit at the same time."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_thread())
        second.enter_context(one_thread())
        assert blas_threads() == [1] * len(before)
        first.close()
        assert blas_threads() == [1] * len(before)
        second.close()
        assert blas_threads() == before


def test_blas_threads_are_given_back_by_threads_that_fit_at_once():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    F = y[:, None] + rng.normal(size=(60, 8))
    fits = [Thread(target=EPPruner().fit, args=(F, y)) for _ in range(4)]
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        assert blas_threads() == before
