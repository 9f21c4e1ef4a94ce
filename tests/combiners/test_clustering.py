import numpy as np
import pytest
from hypothesis import given, settings

from committee import ClusterPruner
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem

methods = pytest.mark.parametrize("method", ["agglomerative", "k-means"])
#: Cluster of each of nine members, in no order, and how wrong each of them is.
GROUP = np.array([2, 0, 1, 0, 2, 1, 1, 0, 2])
BLUR = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.3, 0.2, 0.3, 0.1])


def known_clusters(kind):
    """Return three groups that err on different rows; 3, 2 and 8 are their best."""
    rng = np.random.default_rng(0)
    N = 300
    if kind == "regression":
        y = rng.normal(size=N)
        shared = rng.normal(size=(N, 3))[:, GROUP]
        return y[:, None] + shared + BLUR * rng.normal(size=(N, 9)), y
    y = rng.integers(0, 3, size=N)
    wrong = (np.arange(N)[:, None] % 10) == GROUP
    wrong |= rng.random((N, 9)) < BLUR / 4
    return np.eye(3)[(y[:, None] + wrong) % 3], y


@methods
@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_the_best_of_each_known_cluster(kind, method):
    F, y = known_clusters(kind)
    pruner = ClusterPruner(3, method=method, random_state=0).fit(F, y)
    assert pruner.labels_.tolist() == [0, 1, 2, 1, 0, 2, 2, 1, 0]
    if kind == "regression":
        error = ((F - y[:, None]) ** 2).mean(axis=0)
    else:
        error = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
    best = [min(np.flatnonzero(g == GROUP), key=lambda m: error[m]) for g in range(3)]
    assert pruner.support_.tolist() == sorted(best)
    np.testing.assert_allclose(pruner.weights_[best], 1 / 3)


@methods
def test_held_out_rows_find_the_same_clusters(method):
    F, y = known_clusters("regression")
    held_out = np.random.default_rng(1).random(F.shape) < 0.5
    pruner = ClusterPruner(3, method=method, random_state=0)
    pruner.fit(F, y, held_out=held_out)
    assert pruner.labels_.tolist() == [0, 1, 2, 1, 0, 2, 2, 1, 0]


@methods
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_clusters_as_members(kind, method):
    F, y = make_problem(kind)
    for n in (7, 25):
        pruner = ClusterPruner(n, method=method).fit(F, y)
        np.testing.assert_allclose(pruner.weights_, 1 / 7)
        assert pruner.labels_.tolist() == list(range(7))


@methods
@pytest.mark.parametrize("kind", KINDS)
def test_one_cluster_is_the_best_member(kind, method):
    F, y = make_problem(kind)
    if kind == "regression":
        best = ((F - y[:, None]) ** 2).mean(axis=0).argmin()
    else:
        wrong = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
        square = ((F - np.eye(F.shape[2])[y][:, None]) ** 2).sum(axis=(0, 2))
        best = np.lexsort((square, wrong))[0]
    assert ClusterPruner(1, method=method).fit(F, y).support_.tolist() == [best]


@methods
def test_twins_have_one_representative(method, multiclass_problem):
    F, y = multiclass_problem
    F = np.repeat(F[:, :3], 3, axis=1)
    pruner = ClusterPruner(3, method=method, random_state=0).fit(F, y)
    assert pruner.labels_.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert pruner.support_.tolist() == [0, 3, 6]


def test_fewer_different_members_than_clusters(regression_problem):
    F, y = regression_problem
    pruner = ClusterPruner(4, method="k-means", random_state=0)
    pruner.fit(np.repeat(F[:, :2], 3, axis=1), y)
    assert pruner.support_.tolist() == [0, 3]


def test_seeds(regression_problem):
    F, y = make_problem("regression", M=30)
    labels = [
        ClusterPruner(5, method="k-means", random_state=1).fit(F, y).labels_.tolist()
        for _ in range(2)
    ]
    assert labels[0] == labels[1]
    held_out = make_held_out(M=30)
    assert len(ClusterPruner(5).fit(F, y, held_out=held_out).support_) == 5


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    fit_or_refuse(ClusterPruner(3), *case)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    fit_or_refuse(ClusterPruner(3), *case)


@settings(max_examples=60)
@given(hostile_regression(), hostile_votes())
def test_nothing_breaks_k_means(regression, votes):
    for case in (regression, votes):
        fit_or_refuse(ClusterPruner(3, method="k-means", random_state=0), *case)
