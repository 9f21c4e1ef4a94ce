"""Hold BLAS to one thread where matrices are small."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds: do it once.
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    On matrices of a few dozen rows the threads of a BLAS cost more than they save,
    and on a busy machine a hundred times more.
    """
    context: AbstractContextManager[Any] = _controller().limit(
        limits=1, user_api="blas"
    )
    return context
