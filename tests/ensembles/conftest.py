"""One OpenMP thread: these models are tiny, and threads that wait are slow."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="openmp"):
        yield
