import numpy as np
import pytest

from committee.coupled import leave_one_out
from tests.coupled.test_system import RBF, both, data
from tests.reference.coupled import DenseCoupled


@pytest.mark.parametrize(
    ("q", "topology", "weighted"),
    [
        (1, "ring", False),
        (2, "chain", True),
        (3, "ring", True),
        (7, "chain", False),
        (7, "ring", True),
    ],
)
def test_equals_fits_without_the_row(q, topology, weighted, rng):
    """A row of weight zero has no target, and stays among the points."""
    X, Y, subsets, Xc = data(q)
    s = rng.uniform(0.5, 2.0, size=len(X)) if weighted else None
    _, gram, _ = both(q, topology=topology, s=s)
    rows, F = leave_one_out(gram, Y, alpha=0.1, coupling=0.7)
    np.testing.assert_array_equal(rows, np.arange(len(X)))
    for n in range(0, len(X), 3):
        without = np.ones(len(X)) if s is None else s.copy()
        without[n] = 0.0
        twin = DenseCoupled(
            RBF, X, Y, subsets, Xc, alpha=0.1, nu=0.7, topology=topology, s=without
        )
        for j, a in enumerate(twin.solve()):
            expected = RBF(X[[n]], X[twin.rows[j]]) @ a
            np.testing.assert_allclose(F[[n], j], expected, rtol=1e-7, atol=1e-8)
