"""What the ensemble teaches, and what it has forgotten."""

import numpy as np
import pytest

from committee.ensembles import roster_of
from committee.refining.teacher import TreeOnRows, doubt, teacher_targets
from tests.refining.forests import forest_of

FOLDS = [np.arange(0, 120, 3), np.arange(1, 120, 3), np.arange(2, 120, 3)]


@pytest.fixture(scope="module")
def taught():
    """Return the trees, the mask, y and parents of 40 rows that stand for made-up ones."""
    forest, X, y = forest_of(True)
    trees = [
        TreeOnRows(
            tree.tree_.value[:, 0, :],
            tree.apply(X.astype(np.float32)),
            tree.apply(X[:40].astype(np.float32)),
        )
        for tree in forest.estimators_
    ]
    parents = np.arange(40), np.arange(40) + 1
    return trees, roster_of(forest).held_out(len(y)), np.eye(3)[y], parents


def all_targets(taught, y=None, w=None):
    trees, held_out, own, parents = taught
    w = np.full(6, 1 / 6) if w is None else w
    y = own if y is None else y
    return teacher_targets(trees, w, y, np.ones(len(y)), held_out, parents, FOLDS)


def test_rows_have_the_out_of_bag_mean_and_made_up_rows_that_of_all(taught):
    trees, held_out, y, _ = taught
    first = all_targets(taught)[0]
    for n in range(len(y)):
        votes = [
            t.values[t.rows[n]]
            for t, out in zip(trees, held_out[n], strict=True)
            if out
        ]
        expected = np.mean(votes, axis=0) if votes else np.full(3, 1 / 3)
        np.testing.assert_allclose(first.rows[n], expected, atol=1e-12)
    whole = np.mean([t.values[t.made_up] for t in trees], axis=0)
    np.testing.assert_allclose(first.made_up, whole, atol=1e-12)


def test_leaves_without_a_fold_are_those_of_the_other_rows(taught):
    """A plain loop over the rows that a tree has seen."""
    trees, held_out, y, _ = taught
    found = all_targets(taught)[1].made_up
    for s in range(40):
        votes = []
        for m, tree in enumerate(trees):
            leaf = tree.made_up[s]
            seen = np.flatnonzero((tree.rows == leaf) & ~held_out[:, m])
            rest = np.setdiff1d(seen, FOLDS[0])
            if len(rest) == len(seen):
                votes.append(tree.values[leaf])
            elif len(rest):
                votes.append(y[rest].mean(axis=0))
        np.testing.assert_allclose(found[s], np.mean(votes, axis=0), atol=1e-12)


def test_labels_of_a_fold_have_no_part_in_its_targets(taught):
    y = taught[2].copy()
    y[FOLDS[1]] = np.roll(y[FOLDS[1]], 1, axis=1)
    before, after = all_targets(taught), all_targets(taught, y)
    assert np.array_equal(before[2].rows, after[2].rows)
    assert np.array_equal(before[2].made_up, after[2].made_up)
    assert not np.array_equal(before[1].rows, after[1].rows)
    kept = before[2].kept
    assert not np.isin(taught[3][0][kept], FOLDS[1]).any()
    assert not np.isin(taught[3][1][kept], FOLDS[1]).any()


def test_rows_that_nobody_has_seen_are_forgotten_by_nobody(taught):
    trees, _, y, parents = taught
    found = teacher_targets(
        trees, np.full(6, 1 / 6), y, np.ones(120), None, parents, FOLDS
    )
    assert len(found) == 4
    assert all(np.array_equal(found[0].rows, one.rows) for one in found)


def test_doubt_is_largest_between_two_classes():
    np.testing.assert_allclose(
        doubt(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.6, 0.1, 0.3]])),
        [1.1, 0.1, 0.8],
    )
