"""Which trees come first, and which size is taken."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import PrunedClassifier, SimplexWeights, prune, refine
from committee.ensembles import roster_of
from committee.pruning.pair_errors import PairErrors
from committee.pruning.refined_sizes import Limits, _Search, checked_limits
from committee.pruning.refiner import Refined
from committee.votes import Votes


@pytest.mark.parametrize("masked", [False, True])
def test_each_lowers_the_error_of_the_mean_the_most(masked):
    """Enumerated: the mean of E_i E_j over the pairs of the chosen ones."""
    X, y = make_friedman1(200, random_state=0)
    forest = RandomForestRegressor(8, random_state=0).fit(X, y)
    F = np.stack([tree.predict(X) for tree in forest.estimators_], axis=1)
    held_out = roster_of(forest).held_out(200) if masked else None
    E = F - y[:, None]

    def pair(i, j):
        rows = np.ones(200, bool) if not masked else held_out[:, i] & held_out[:, j]
        return (E[rows, i] * E[rows, j]).mean()

    expected = []
    for _ in range(4):
        rest = [m for m in range(8) if m not in expected]
        errors = [
            sum(pair(i, j) for i in [*expected, m] for j in [*expected, m])
            for m in rest
        ]
        expected.append(rest[int(np.argmin(errors))])
    votes = Votes(F, y.copy(), held_out, None)
    folds = np.arange(200).reshape(4, 50)
    pairs = PairErrors(votes, folds)
    assert pairs.greedy_order(np.arange(8), 4).tolist() == expected
    some = np.array([1, 3, 5, 7])
    assert sorted(pairs.greedy_order(some, 4)) == [1, 3, 5, 7]
    # Targets of a fold have no part in the order without it.
    y[folds[2]] += np.random.default_rng(1).normal(size=50) * 100
    other = PairErrors(Votes(F, y, held_out, None), folds)
    before, after = (
        p.greedy_order(np.arange(8), 8, 2).tolist() for p in (pairs, other)
    )
    assert before == after
    assert pairs.greedy_order(np.arange(8), 8).tolist() != (
        other.greedy_order(np.arange(8), 8).tolist()
    )


def test_trees_are_chosen_again_for_each_fold():
    """Each row is predicted once by each group, by trees that other folds choose."""
    X, y = make_friedman1(200, random_state=0)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    made = refine(forest, X, y, max_members=4, oob=True)
    refiner = made._refined.refiner
    problems = refiner._groups(made.support_, np.full(4, 0.25))
    n_folds = len(refiner.folds)
    assert [one.fold for one in problems] == [*range(n_folds)] * 3
    held_out = roster_of(forest).held_out(200)
    for g in range(3):
        for fold, rows in enumerate(refiner.folds):
            one = problems[g * n_folds + fold]
            part = np.arange(g, 20, 3)
            own = np.sort(refiner.pairs.greedy_order(part, 4, fold))
            expected = np.zeros(200)
            expected[rows] = held_out[rows][:, own].sum(axis=1)
            assert one.n_votes.tolist() == expected.tolist()
    members = refiner.pairs.greedy_order(np.arange(20), 4)
    assert made.support_.tolist() == np.sort(members).tolist()


def test_other_trees_than_the_chosen_ones_are_judged_with_equal_weights():
    """15 of 20 trees make one group of the other 5 and the first 10 of the chosen."""
    X, y = make_friedman1(200, random_state=0)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    made = prune(forest, X, y, oob=True, refine=True, combiner=SimplexWeights())
    refiner = made._refined.refiner
    w = np.arange(1.0, 16.0) / 120.0
    (others,) = refiner._groups(np.arange(15), w)
    np.testing.assert_allclose(others.w, 1 / 15)
    w = np.arange(1.0, 21.0) / 210.0
    (own,) = refiner._groups(np.arange(20), w)
    np.testing.assert_array_equal(own.w, w)


@dataclass
class Losses:
    """Held-out predictions of one size: only their losses."""

    losses: np.ndarray

    def error(self, measure, rows=None):
        return np.mean(self.losses if rows is None else self.losses[rows]), 0.0


def search_of(limits, folds, *sizes):
    """A search that has found committees of these losses; the whole has 2 everywhere."""
    refiner = SimpleNamespace(folds=folds, measure=None)
    search = _Search(refiner, np.arange(2), np.ones(2), limits)
    for n, losses in enumerate(sizes):
        known = dict.fromkeys(Refined._fields) | {"committee": SimpleNamespace()}
        known |= {"before": Losses(np.full(8, 2.0)), "after": Losses(losses)}
        search.found.append(Refined(**known))
        search.sizes.append(SimpleNamespace(n_bytes=n))
    return search


@pytest.mark.parametrize("limits", [Limits(max_bytes=9), Limits(tolerance=0.1)])
def test_the_error_of_the_best_size_includes_its_choice(limits):
    """Two sizes, four folds of two rows; the whole has an error of 2.

    The first has 0 on fold 0 and 2.5 elsewhere, 1.875 in the mean, the second 2.1
    everywhere. All rows, and those without fold 1, 2 or 3 (1.67), choose the first by its
    error and by its bytes; the rows without fold 0 (2.5) choose the second.
    """
    folds = np.arange(8).reshape(4, 2)
    first, second = np.full(8, 2.5), np.full(8, 2.1)
    first[folds[0]] = 0.0
    search = search_of(limits, folds, first, second)
    made = search.result()
    assert made is search.found[0].committee
    expected = np.where(np.arange(8) < 2, second, first)
    assert made._refined.refined.after.losses.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("losses", "within"),
    [((), False), ((2.5, 2.1), True), ((2.1, 2.5), False), ((2.2,), True)],
)
def test_the_last_size_decides_whether_a_tolerance_is_kept(losses, within):
    """Of a tenth: an error of 2.2 at most."""
    sizes = [np.full(8, loss) for loss in losses]
    assert search_of(Limits(tolerance=0.1), None, *sizes).within() == within


def test_progress_goes_to_standard_error(capsys):
    """Of each size that is tried, and only if asked for."""
    X, y = make_friedman1(200, random_state=0)
    forest = RandomForestRegressor(12, random_state=0).fit(X, y)
    quiet = refine(forest, X, y, max_bytes=20_000, oob=True)
    assert capsys.readouterr() == ("", "")
    loud = refine(forest, X, y, max_bytes=20_000, oob=True, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    for text in ("predicting", "refining 5 trees", "refining 10 trees", "16/16"):
        assert text in err
    np.testing.assert_array_equal(quiet.predict(X), loud.predict(X))
    small = prune(forest, X, y, oob=True, refine=True, max_members=3, verbose=True)
    assert f"refining {small.n_members_} trees" in capsys.readouterr().err


def test_progress_of_the_teacher(capsys):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(6, random_state=0).fit(X, y)
    pruned = PrunedClassifier(
        forest, refine=True, max_members=3, verbose=True, random_state=0
    )
    pruned.fit(X, y)
    assert "labelling made-up rows" in capsys.readouterr().err


def test_a_leaf_for_each_tree_is_enough():
    limits = Limits(max_members=5, max_leaves=5)
    assert checked_limits(limits, 10) is limits
    with pytest.raises(ValueError, match="5 trees have at least 5 leaves"):
        checked_limits(limits._replace(max_leaves=4), 10)
