import numpy as np
import pytest

from committee.coupled.system import CoupledOperator
from tests.coupled.test_system import both


@pytest.mark.parametrize("q", [2, 3, 7])
@pytest.mark.parametrize("topology", ["ring", "chain"])
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("alpha", [0.1, 1e-9])
def test_the_limit_is_where_the_matrix_becomes_singular(q, topology, overlap, alpha):
    twin, gram, _ = both(q, alpha=alpha, topology=topology, overlap=overlap)
    limit = CoupledOperator(gram, alpha, -1.0).limit()
    np.testing.assert_allclose(limit, twin.limit(), rtol=1e-6)


def test_the_limit_goes_with_a_small_ridge():
    """Where the data are no evidence only alpha holds against the coupling."""
    _, gram, _ = both(5)
    limits = [CoupledOperator(gram, a, -1.0).limit() for a in (1e-9, 1e-14)]
    np.testing.assert_allclose(limits[1], 1e-5 * limits[0], rtol=1e-6)
