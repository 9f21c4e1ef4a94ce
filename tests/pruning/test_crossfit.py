"""Committees judged on rows that did not choose them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from committee import BestPruner, EPPruner, SimplexWeights
from committee.pruning.crossfit import CrossFit
from committee.pruning.rows import Rows


@pytest.mark.parametrize("combiner", [EPPruner(), SimplexWeights()], ids=repr)
def test_each_row_is_judged_by_the_others(combiner, rng):
    """Against a plain loop over the folds."""
    y = rng.integers(0, 2, 100)
    right = rng.random((100, 8)) < 0.7
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    judged = CrossFit(combiner, F, Rows(y, None, None)).own
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(F[:, 0, 0], y)
    for train, test in folds:
        w = clone(combiner).fit(F[train], y[train]).weights_
        S = np.tensordot(F[test], w, axes=(1, 0))
        clear = np.abs(S[:, 0] - S[:, 1]) > 1e-9
        np.testing.assert_array_equal(judged.said[test][clear], S.argmax(axis=1)[clear])
    assert judged.speaks.all()


def test_noise_is_not_worth_anything(rng):
    """Members that guess are chosen for their luck, which folds do not have."""
    y = rng.integers(0, 2, 200)
    F = np.eye(2)[rng.integers(0, 2, (200, 100))]
    rows = Rows(y, None, None)
    chosen = EPPruner().fit(F, y)
    as_weighed = rows.mean(
        rows.losses(chosen.combine(F).argmax(axis=1)), np.ones(200, dtype=bool)
    )[0]
    judged = CrossFit(EPPruner(), F, rows).own
    fair, se = rows.mean(rows.losses(judged.said), judged.speaks)
    assert as_weighed < 0.4
    assert abs(fair - 0.5) < 3 * se


def test_sizes(rng):
    y = rng.normal(size=60)
    F = y[:, None] + rng.normal(size=(60, 10))
    crossfit = CrossFit(EPPruner(), F, Rows(y, None, None))
    assert crossfit.of_size(1) is crossfit.by_size[1]
    assert crossfit.of_size(1000) is crossfit.by_size[max(crossfit.by_size)]


def _votes(rng, skill, N=300):
    y = rng.integers(0, 2, N)
    right = rng.random((N, len(skill))) < skill
    return np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])], y


def test_of_members_that_are_alike_as_many_are_taken_as_may_be(rng):
    F, y = _votes(rng, np.full(30, 0.65))
    crossfit = CrossFit(BestPruner(), F, Rows(y, None, None))
    for most in (5, 12, 30):
        assert crossfit.take(np.arange(1, most + 1), 0.0) == most


def test_members_that_only_guess_are_not_taken(rng):
    """With five that know, and 95 that do not, the error rises with the size."""
    F, y = _votes(rng, np.r_[np.full(5, 0.85), np.full(95, 0.5)])
    crossfit = CrossFit(BestPruner(), F, Rows(y, None, None))
    size = crossfit.take(np.arange(1, 101), 0.0)
    assert 3 <= size <= 30
    errors = crossfit.errors()
    assert errors[max(k for k in errors if k <= size)][0] < errors[100][0] - 0.05


@pytest.mark.parametrize("within_se", [0.5, 1.0, 3.0])
def test_size_is_given_up_while_the_error_is_near(within_se, rng):
    """Against a plain walk downwards from the largest size."""
    F, y = _votes(rng, np.full(40, 0.6))
    crossfit = CrossFit(BestPruner(), F, Rows(y, None, None))
    sizes = list(crossfit.by_size)
    wrong = {k: (crossfit.by_size[k].said != y).astype(float) for k in sizes}
    expected = sizes[-1]
    for k in sizes[-2::-1]:
        gap = wrong[k] - wrong[sizes[-1]]
        if gap.mean() > within_se * gap.std() / np.sqrt(len(y)):
            break
        expected = k
    assert crossfit.take(np.array(sizes), within_se) == expected


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_on_which_nobody_is_heard_count_as_a_guess(kind, rng):
    """Two members, each heard on a third: the guess is that of the other folds."""
    y = rng.normal(size=90) if kind == "numbers" else np.repeat([0, 1], [60, 30])
    F = np.stack([y, y], axis=1) if kind == "numbers" else np.eye(2)[np.c_[y, y]]
    held_out = rng.random((90, 2)) < 1 / 3
    crossfit = CrossFit(SimplexWeights(), F, Rows(y, None, held_out))
    unheard = ~crossfit.own.speaks
    assert 0 < unheard.sum() < 90
    np.testing.assert_allclose(crossfit.own.said[~unheard], y[~unheard])
    if kind == "classes":
        assert not crossfit.own.said[unheard].any()
        wrong = np.mean(unheard & (y == 1))
        assert crossfit.errors()[2][0] == pytest.approx(wrong)
    else:
        np.testing.assert_allclose(crossfit.own.said[unheard], y.mean(), atol=0.2)


def test_too_few_rows_give_nothing():
    F = np.eye(2)[np.array([[0, 1], [1, 1], [0, 0]])]
    crossfit = CrossFit(EPPruner(), F, Rows(np.array([0, 1, 0]), None, None))
    assert crossfit.own is None
    assert crossfit.of_size(3) is None
    assert crossfit.take(np.array([1, 2]), 1.0) == 2
