"""Fixtures shared by all tests; problems are those of `tests.reference.problems`."""

import numpy as np
import pytest
from hypothesis import settings

from tests.reference.problems import make_problem

# The same examples on every run and machine, and no time limit for any of them.
settings.register_profile(
    "committee", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("committee")


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
