"""Fixtures shared by all tests; problems are those of `tests.reference.problems`."""

import os
import shutil
from contextlib import ExitStack, contextmanager

# Test processes share the cores: BLAS threads of their own would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from tests.reference.problems import make_problem

# The same examples on every run and machine, and no time limit for any of them.
settings.register_profile(
    "committee", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("committee")

#: Seconds for a test that talks to worker processes, which start slowly on busy machines.
_WITH_WORKERS = 200


def pytest_collection_modifyitems(items):
    """Let no test wait for lost workers until the suite is interrupted."""
    for item in items:
        if "clusters" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(_WITH_WORKERS))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def regression_problem():
    """F (40, 7) and y of a regression."""
    return make_problem("regression")


@pytest.fixture
def binary_problem():
    """F (40, 7, 2) of probabilities and codes y."""
    return make_problem("binary")


@pytest.fixture
def multiclass_problem():
    """F (40, 7, 3) of probabilities and codes y."""
    return make_problem("multiclass")


@pytest.fixture
def tiny_F(regression_problem):
    """Predictions alone, (40, 7)."""
    return regression_problem[0]


@pytest.fixture(scope="session")
def clusters():
    """Local clusters of one and of two worker processes, started when asked for."""
    distributed = pytest.importorskip("distributed")
    with ExitStack() as stack:
        started = {}

        def cluster(n_workers):
            if n_workers not in started:
                started[n_workers] = stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=":0",
                        silence_logs=50,
                    )
                )
            return started[n_workers]

        yield cluster


@contextmanager
def _client_of(cluster, n_workers):
    from distributed import Client

    # A test before this one may have killed a worker that Dask then closed for good.
    cluster.scale(n_workers)
    with Client(cluster) as client:
        client.wait_for_workers(n_workers)
        yield client


@pytest.fixture(params=[1, 2], ids=["one worker", "two workers"])
def client(request, clusters):
    """A client of one and of two worker processes, all of them there."""
    with _client_of(clusters(request.param), request.param) as client:
        yield client


@pytest.fixture
def two_workers(clusters):
    """A client of two worker processes, both of them there."""
    with _client_of(clusters(2), 2) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; its event loop must not run under other tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        # Containers run as root, where Chromium's own sandbox does not start.
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
