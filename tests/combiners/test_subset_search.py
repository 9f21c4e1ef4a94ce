"""Subsets by evolution, by relaxation and by clusters."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings

from committee import ClusterPruner, GeneticPruner, SDPPruner, SimplexWeights
from tests.reference import errors, search
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem

kinds = pytest.mark.parametrize("kind", KINDS)
votes = pytest.mark.parametrize("votes", ["equal", "weighted"])


def known_rows(held_out):
    return {"held_out": make_held_out() if held_out else None}


def correlation(F, y, held_out):
    if held_out is None:
        return errors.error_correlation(F, y)
    return errors.shrunk_correlation(F, y, held_out, None)


@kinds
@pytest.mark.parametrize("held_out", [False, True])
def test_genetic_lies_between_enumeration_and_the_best_member(kind, held_out):
    F, y = make_problem(kind)
    known = known_rows(held_out)
    C = correlation(F, y, known["held_out"])
    pruner = GeneticPruner(random_state=0).fit(F, y, **known)
    w = pruner.weights_
    assert pruner.error_ == pytest.approx(w @ C @ w, rel=1e-9)
    assert np.all((w == 0) | (w == w.max()))
    assert search.least_error_of_equal_votes(C) <= pruner.error_ * (1 + 1e-9)
    assert pruner.error_ <= np.diag(C).min() * (1 + 1e-9)


@kinds
def test_evolved_weights_near_the_simplex_weights(kind):
    F, y = make_problem(kind)
    exact = SimplexWeights().fit(F, y)
    pruner = GeneticPruner(votes="weighted", random_state=0).fit(F, y)
    np.testing.assert_array_equal(pruner.weights_, pruner.evolved_)
    assert pruner.weights_.sum() == pytest.approx(1)
    assert pruner.weights_.min() >= 0
    assert exact.error_ <= pruner.error_ * (1 + 1e-9)
    assert pruner.error_ <= exact.error_ * 1.01


def test_genetic_keeps_members_above_the_mean_weight(rng):
    """Independent errors of like size: those above the threshold beat any alone."""
    E = rng.normal(size=(300, 7)) * np.linspace(1.0, 1.5, 7)
    pruner = GeneticPruner(random_state=0).fit(E, np.zeros(300))
    above = np.flatnonzero(pruner.evolved_ > 1 / 7)
    np.testing.assert_array_equal(pruner.support_, above)
    low = GeneticPruner(threshold=0.0, random_state=0).fit(E, np.zeros(300))
    np.testing.assert_array_equal(low.support_, np.flatnonzero(low.evolved_ > 0))


@votes
def test_genetic_finds_two_good_members_among_bad_ones(votes, rng):
    """Members 2 and 5 have independent errors of 1, the others of 9 and more."""
    E = rng.normal(size=(500, 8)) * [3, 4, 1, 5, 3, 1, 6, 4]
    pruner = GeneticPruner(votes=votes, random_state=0).fit(E, np.zeros(500))
    assert sorted(np.argsort(pruner.weights_)[-2:]) == [2, 5]
    if votes == "equal":
        assert pruner.support_.tolist() == [2, 5]


def test_the_best_member_alone_where_others_only_hurt(rng):
    """All have the error of member 0 and some more: nothing is gained by them."""
    base = rng.normal(size=(200, 1))
    F = np.hstack([base, base * np.linspace(2, 3, 6)])
    for vote in ("equal", "weighted"):
        pruner = GeneticPruner(votes=vote, random_state=0).fit(F, np.zeros(200))
        assert pruner.error_ <= (base**2).mean() * (1 + 1e-12)
    assert GeneticPruner(random_state=0).fit(F, np.zeros(200)).support_.tolist() == [0]


@votes
def test_genetic_seeds(votes):
    F, y = make_problem("multiclass", M=20)
    one, two = (
        GeneticPruner(votes=votes, random_state=4).fit(F, y).evolved_ for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)
    other = GeneticPruner(votes=votes, random_state=5).fit(F, y).evolved_
    assert not np.array_equal(one, other)


def test_shared_errors_against_counts(multiclass_problem):
    F, y = multiclass_problem
    wrong = F.argmax(axis=2) != y[:, None]
    pruner = SDPPruner(3, random_state=0).fit(F, y)
    np.testing.assert_allclose(pruner.G_, search.shared_errors(wrong), rtol=1e-12)


@kinds
@pytest.mark.parametrize("held_out", [False, True])
def test_sdp_bound_optimum_and_choice(kind, held_out):
    F, y = make_problem(kind)
    for k in (1, 2, 4, 6):
        pruner = SDPPruner(k, random_state=0).fit(F, y, **known_rows(held_out))
        best, _ = search.best_choice(pruner.G_, k)
        assert len(pruner.support_) == k
        assert pruner.bound_ <= best + 1e-9
        assert best <= pruner.objective_ + 1e-9
        chosen = pruner.support_.tolist()
        G = pruner.G_
        assert G[np.ix_(chosen, chosen)].sum() == pytest.approx(pruner.objective_)
        for i in chosen:
            for j in set(range(7)) - set(chosen):
                other = [j if m == i else m for m in chosen]
                assert pruner.objective_ <= G[np.ix_(other, other)].sum() + 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_sdp_minimises_the_squared_error_of_a_regression(unit):
    F, y = make_problem("regression")
    pruner = SDPPruner(3, random_state=0).fit(unit * F, unit * y)
    _, best = search.best_choice(errors.error_correlation(F, y), 3)
    assert pruner.support_.tolist() == best


def test_sdp_prefers_members_that_are_wrong_on_different_rows():
    """0, 1 and 2 err on the same two rows, 3 and 4 on others, all equally often."""
    wrong = np.zeros((12, 5), dtype=int)
    for m, rows in enumerate([(0, 1), (0, 1), (0, 1), (2, 3), (4, 5)]):
        wrong[list(rows), m] = 1
    pruner = SDPPruner(3, random_state=0).fit(np.eye(2)[wrong], np.zeros(12))
    assert {3, 4} <= set(pruner.support_.tolist())
    assert pruner.objective_ == pytest.approx(3 / 6)


def test_sdp_gives_the_mean_to_pairs_that_never_met():
    wrong = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    held_out = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]], dtype=bool)
    G = SDPPruner(2).fit(np.eye(2)[wrong], [0] * 4, held_out=held_out).G_
    # On the rows of both, 0 is wrong twice and 1 once, with it: (1/2 + 1) / 2.
    assert G[0, 1] == pytest.approx(0.75)
    assert G[0, 2] == pytest.approx((G[0, 1] + G[1, 2]) / 2)
    np.testing.assert_allclose(np.diag(G), [1.0, 0.5, 1.0])


def test_sdp_needs_its_extra(monkeypatch, binary_problem):
    monkeypatch.setitem(sys.modules, "scs", None)
    with pytest.raises(ImportError, match=r"pip install scs\.$"):
        SDPPruner(3).fit(*binary_problem)
    everybody = SDPPruner(7).fit(*binary_problem)
    assert len(everybody.support_) == 7
    assert everybody.bound_ == everybody.objective_


@settings(max_examples=50)
@given(hostile_regression(), hostile_votes())
def test_nothing_breaks_a_search(regression, votes):
    for case in (regression, votes):
        fit_or_refuse(GeneticPruner(n_generations=5, random_state=0), *case)
        fit_or_refuse(SDPPruner(3, max_iter=200, random_state=0), *case)


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


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_the_best_of_each_known_cluster(kind):
    F, y = known_clusters(kind)
    pruner = ClusterPruner(3).fit(F, y)
    assert pruner.labels_.tolist() == [0, 1, 2, 1, 0, 2, 2, 1, 0]
    if kind == "regression":
        error = ((F - y[:, None]) ** 2).mean(axis=0)
    else:
        error = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
    best = [min(np.flatnonzero(g == GROUP), key=lambda m: error[m]) for g in range(3)]
    assert pruner.support_.tolist() == sorted(best)
    np.testing.assert_allclose(pruner.weights_[best], 1 / 3)


def test_held_out_rows_find_the_same_clusters():
    F, y = known_clusters("regression")
    held_out = np.random.default_rng(1).random(F.shape) < 0.5
    pruner = ClusterPruner(3)
    pruner.fit(F, y, held_out=held_out)
    assert pruner.labels_.tolist() == [0, 1, 2, 1, 0, 2, 2, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_clusters_as_members(kind):
    F, y = make_problem(kind)
    for n in (7, 25):
        pruner = ClusterPruner(n).fit(F, y)
        np.testing.assert_allclose(pruner.weights_, 1 / 7)
        assert pruner.labels_.tolist() == list(range(7))


@pytest.mark.parametrize("kind", KINDS)
def test_one_cluster_is_the_best_member(kind):
    F, y = make_problem(kind)
    if kind == "regression":
        best = ((F - y[:, None]) ** 2).mean(axis=0).argmin()
    else:
        wrong = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
        square = ((F - np.eye(F.shape[2])[y][:, None]) ** 2).sum(axis=(0, 2))
        best = np.lexsort((square, wrong))[0]
    assert ClusterPruner(1).fit(F, y).support_.tolist() == [best]


def test_twins_have_one_representative(multiclass_problem):
    F, y = multiclass_problem
    F = np.repeat(F[:, :3], 3, axis=1)
    pruner = ClusterPruner(3).fit(F, y)
    assert pruner.labels_.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert pruner.support_.tolist() == [0, 3, 6]


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    fit_or_refuse(ClusterPruner(3), *case)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    fit_or_refuse(ClusterPruner(3), *case)
