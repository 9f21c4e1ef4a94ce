import numpy as np
import pytest

from committee import CoupledKernelClassifier, LSSVMClassifier
from committee.coupled import Layout, solve_coupled
from committee.coupled.rows import Drawn, Options, Rows
from committee.kernels import Kernel

OPTIONS = Options(alpha=0.1, coupling=0.7, solver="direct", tol=1e-10, max_iter=100)


def some_rows(weighted=True):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    s = rng.integers(0, 3, 12).astype(float) if weighted else None
    return Rows(X, y, y[:, None], s)


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_that_are_taken(weighted):
    rows = some_rows(weighted)
    some = np.array([0, 5, 11])
    for one, two in zip(rows.take(some), rows, strict=True):
        assert two is None or np.array_equal(one, two[some])


def test_rows_that_count_and_the_box_of_some():
    rows = some_rows()
    np.testing.assert_array_equal(rows.counted(), np.flatnonzero(rows.s > 0))
    np.testing.assert_array_equal(some_rows(weighted=False).counted(), np.arange(12))
    low, high = rows.box(np.array([1, 4]))
    np.testing.assert_array_equal(low, np.minimum(rows.X[1], rows.X[4]))
    np.testing.assert_array_equal(high, np.maximum(rows.X[1], rows.X[4]))


def test_a_plan_solves_the_system_and_evaluates_the_submodels():
    rows = some_rows(weighted=False)
    kernel, subsets = Kernel("rbf"), np.split(np.arange(12), 4)
    plan = rows.plan(Drawn(kernel, subsets, rows.X[:3], Layout(4), np.arange(2)))
    solution, outputs = plan.solve(rows.X[:5], OPTIONS)
    expected = solve_coupled(plan.gram, rows.Y, alpha=0.1, coupling=0.7).coef
    for j, a in enumerate(expected):
        np.testing.assert_allclose(solution.coef[j], a, rtol=1e-12)
        K = kernel(rows.X[:5], rows.X[plan.gram.support_rows(j)])
        np.testing.assert_allclose(outputs[:, j], K @ a, rtol=1e-10, atol=1e-12)
    assert plan.solve(None, OPTIONS)[1] is None


@pytest.mark.parametrize("kind", [CoupledKernelClassifier, LSSVMClassifier])
def test_rows_without_a_label_are_refused(kind):
    y = np.array([None, *"ababababab"], dtype=object)
    with pytest.raises(ValueError, match="Input y contains None: drop or fill"):
        kind().fit(np.eye(11), y)
