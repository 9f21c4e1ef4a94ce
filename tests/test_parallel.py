"""Members through joblib's backends: Dask's, Ray's, and one that streams nothing."""

import os
import subprocess
import sys
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


#: Four threads fit at once. Those inside the limit wait for each other, so that the first
#: to enter is not the last to leave.
AT_ONCE = """
import sys
from threading import Barrier, Thread
import numpy as np
from threadpoolctl import threadpool_info
from committee import EPPruner
from committee._parallel import one_thread

def blas():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

rng = np.random.default_rng(0)
y = rng.normal(size=60)
F = y[:, None] + rng.normal(size=(60, 8))
barrier, inside, started = Barrier(4), [], blas()

def fit(number):
    EPPruner().fit(F, y)
    barrier.wait()
    with one_thread():
        barrier.wait()
        inside.append(blas())
        EPPruner().fit(F, y)
        barrier.wait()
    barrier.wait()

if sys.argv[1] == "after a fit in the main thread":
    EPPruner().fit(F, y)
threads = [Thread(target=fit, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
if sys.argv[1] == "before a thread ends":
    with one_thread():
        inside.append(blas())
for thread in threads:
    thread.join()
print(started, blas(), inside)
"""


@pytest.mark.skipif(
    not any(lib.get("threading_layer") == "pthreads" for lib in threadpool_info()),
    reason="needs an OpenBLAS with threads of its own",
)
@pytest.mark.parametrize(
    "when",
    ["in a fresh process", "after a fit in the main thread", "before a thread ends"],
)
def test_blas_threads_of_a_process_in_which_threads_fit_at_once(when):
    """One inside the limit, and as many as before after it, whichever thread set them."""
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, when],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    n_inside = 5 if when == "before a thread ends" else 4
    assert done.stdout.strip() == f"{{2}} {{2}} {[{1}] * n_inside}"
