import numpy as np
import pytest

from committee.coupled import GramBlocks, Layout
from committee.kernels import Kernel
from tests.reference.coupled import edges, supports


@pytest.mark.parametrize("topology", ["ring", "chain"])
@pytest.mark.parametrize("overlap", [True, False])
def test_layout(topology, overlap):
    for q in (1, 2, 3, 4, 9):
        layout = Layout(q, topology, overlap)
        assert [list(layout.support(j)) for j in range(q)] == supports(q, overlap)
        assert sorted(tuple(sorted(e)) for e in layout.edges) == edges(q, topology)
        ends = np.array(layout.edges, dtype=int).reshape(-1)
        assert layout.degrees.tolist() == [np.sum(ends == j) for j in range(q)]


class Counting:
    """A kernel that counts its entries and remembers the largest block."""

    def __init__(self):
        self.entries = 0

    def __call__(self, X, Z):
        self.entries += len(X) * len(Z)
        return np.exp(-((X[:, None] - Z) ** 2).sum(axis=2))


@pytest.mark.parametrize("keep", [True, False])
def test_blocks_are_products_of_kernels(keep, rng):
    q, n = 9, 4
    X, Xc = rng.normal(size=(q * n, 2)), rng.normal(size=(5, 2))
    subsets = np.split(rng.permutation(q * n), q)
    kernel = Kernel("rbf", gamma=0.3)
    gram = GramBlocks(kernel, X, subsets, Xc, Layout(q), keep=keep)
    Kc = [kernel(Xc, X[gram.support_rows(j)]) for j in range(q)]
    for _ in range(2):
        for j in range(q):
            k = (j + 1) % q
            np.testing.assert_allclose(gram.products(k, j, -2.0), -2 * Kc[k].T @ Kc[j])
            Kt = kernel(X[subsets[j]], X[gram.support_rows(j)])
            H = Kt.T @ Kt + 0.5 * np.eye(3 * n) + 2 * 3.0 * Kc[j].T @ Kc[j]
            np.testing.assert_allclose(
                np.tril(gram.diagonal(j, 0.5, 3.0)), np.tril(H), atol=1e-13
            )


def test_kernels_are_evaluated_once_and_freed(rng):
    """One pass makes every k(X_c, D_i) once, but for two around the corner."""
    q, n, n_c = 30, 4, 5
    X, Xc = rng.normal(size=(q * n, 2)), rng.normal(size=(n_c, 2))
    subsets = np.split(np.arange(q * n), q)
    kernel = Counting()
    gram = GramBlocks(kernel, X, subsets, Xc, Layout(q))
    gram.products(q - 1, 0, 1.0)
    for j in range(q):
        if j:
            gram.products(j, j - 1, 1.0)
        gram.diagonal(j, 1.0, 1.0)
    once = q * n * n_c + q * n * 3 * n
    assert once <= kernel.entries <= once + 5 * n * n_c
    assert len(gram._coupling) <= 4
    assert len(gram._pairs) <= 16
