"""Committees judged on rows that did not choose them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from committee import EPPruner, SimplexWeights
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


def test_too_few_rows_give_nothing():
    F = np.eye(2)[np.array([[0, 1], [1, 1], [0, 0]])]
    crossfit = CrossFit(EPPruner(), F, Rows(np.array([0, 1, 0]), None, None))
    assert crossfit.own is None
    assert crossfit.of_size(3) is None
