import numpy as np
import pytest

from committee.coupled import GramBlocks, KernelMember, Layout, gram
from committee.kernels import Kernel

RBF = Kernel("rbf", gamma=0.4)


def members(q, overlap, rng, T=2):
    X = rng.normal(size=(5 * q, 3))
    subsets = np.split(rng.permutation(5 * q), q)
    layout = Layout(q, overlap=overlap)
    gram = GramBlocks(RBF, X, subsets, X[:2], layout)
    rows = [gram.support_rows(j) for j in range(q)]
    made = [KernelMember(RBF, X, r, rng.normal(size=(len(r), T))) for r in rows]
    return made, subsets, layout


@pytest.mark.parametrize("q", [1, 2, 3, 6])
@pytest.mark.parametrize("overlap", [True, False])
def test_shared_kernels_give_what_each_member_gives(q, overlap, rng):
    made, subsets, layout = members(q, overlap, rng)
    X = rng.normal(size=(7, 3))
    wanted = np.arange(q)[::-2]
    f = gram.member_outputs(made, X, subsets, layout, wanted)
    assert f.shape == (7, len(wanted), 2)
    for position, j in enumerate(wanted):
        expected = RBF(X, made[j].X[made[j].rows]) @ made[j].coef
        np.testing.assert_allclose(made[j].predict(X), expected, rtol=1e-12)
        np.testing.assert_allclose(f[:, position], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weights", [[0.5, 0.2, 0.3, 0, 0], [0, 0, 1, 0, 0], [0] * 5])
def test_one_expansion_is_the_weighted_sum(weights, rng):
    made, *_ = members(5, True, rng)
    X = rng.normal(size=(4, 3))
    w = np.array(weights, dtype=float)
    rows, coef = gram.collapse(made, w)
    expected = sum(w_j * m.predict(X) for w_j, m in zip(w, made, strict=True))
    ours = gram.evaluate(RBF, X, made[0].X[rows], coef)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)
    assert len(rows) == 5 * min(5, 0 if not w.any() else np.count_nonzero(w) + 2)


def test_rows_are_evaluated_in_bounded_blocks(monkeypatch, rng):
    monkeypatch.setattr(gram, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(gram, "_GRAM_POINTS", 5)
    monkeypatch.setattr(gram, "_GRAM_ROWS", 20)
    sizes = []

    def kernel(X, Z):
        sizes.append(len(X) * len(Z))
        return RBF(X, Z)

    X, points, coef = rng.normal(size=(53, 3)), rng.normal(size=(11, 3)), np.ones(11)
    f = gram.evaluate(Kernel(kernel), X, points, coef)
    assert max(sizes) <= 100
    np.testing.assert_allclose(f, RBF(X, points) @ coef, rtol=1e-12)
    blocks = gram.in_blocks(X, 11, lambda rows: rows[:, 0])
    np.testing.assert_array_equal(blocks, X[:, 0])
