"""Committees evaluated on rows that did not choose them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from committee import EPPruner, SimplexWeights
from committee.crossfit import CrossFit
from committee.weighing_rows import WeighingRows


@pytest.mark.parametrize("combiner", [EPPruner(), SimplexWeights()], ids=repr)
def test_each_row_is_predicted_by_a_committee_of_the_others(combiner, rng):
    """Against a plain loop over the folds."""
    y = rng.integers(0, 2, 100)
    right = rng.random((100, 8)) < 0.7
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    fair = CrossFit(combiner, F, WeighingRows(y, None, None)).own
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(F[:, 0, 0], y)
    for train, test in folds:
        w = clone(combiner).fit(F[train], y[train]).weights_
        S = np.tensordot(F[test], w, axes=(1, 0))
        clear = np.abs(S[:, 0] - S[:, 1]) > 1e-9
        np.testing.assert_array_equal(fair.values[test][clear], S.argmax(axis=1)[clear])
    assert fair.counted.all()


def test_noise_is_not_worth_anything(rng):
    """Members that guess are chosen for their luck, which folds do not have."""
    y = rng.integers(0, 2, 200)
    F = np.eye(2)[rng.integers(0, 2, (200, 100))]
    rows = WeighingRows(y, None, None)
    chosen = EPPruner().fit(F, y)
    as_weighed = rows.mean(
        rows.losses(chosen.combine(F).argmax(axis=1)), np.ones(200, dtype=bool)
    )[0]
    fair = CrossFit(EPPruner(), F, rows).own
    error, se = rows.mean(rows.losses(fair.values), fair.counted)
    assert as_weighed < 0.4
    assert abs(error - 0.5) < 3 * se


def test_sizes(rng):
    y = rng.normal(size=60)
    F = y[:, None] + rng.normal(size=(60, 10))
    crossfit = CrossFit(EPPruner(), F, WeighingRows(y, None, None))
    assert crossfit.of_size(1) is crossfit.by_size[1]
    assert crossfit.of_size(1000) is crossfit.by_size[max(crossfit.by_size)]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_without_a_vote_are_predicted_without_members(kind, rng):
    """Two members, each held out on a third of the rows."""
    y = rng.normal(size=90) if kind == "numbers" else np.repeat([0, 1], [60, 30])
    F = np.stack([y, y], axis=1) if kind == "numbers" else np.eye(2)[np.c_[y, y]]
    held_out = rng.random((90, 2)) < 1 / 3
    crossfit = CrossFit(SimplexWeights(), F, WeighingRows(y, None, held_out))
    silent = ~crossfit.own.counted
    assert 0 < silent.sum() < 90
    np.testing.assert_allclose(crossfit.own.values[~silent], y[~silent])
    if kind == "classes":
        assert not crossfit.own.values[silent].any()
    else:
        np.testing.assert_allclose(crossfit.own.values[silent], y.mean(), atol=0.2)


def test_too_few_rows_give_nothing():
    F = np.eye(2)[np.array([[0, 1], [1, 1], [0, 0]])]
    crossfit = CrossFit(EPPruner(), F, WeighingRows(np.array([0, 1, 0]), None, None))
    assert crossfit.own is None
    assert crossfit.of_size(3) is None


def test_an_error_of_the_combiner_is_not_taken_for_too_few_rows(rng):
    class Broken(SimplexWeights):
        def _weigh(self, problem):
            raise ValueError("a mistake of its own")

    y = rng.normal(size=50)
    rows = WeighingRows(y, None, None)
    with pytest.raises(ValueError, match="a mistake of its own"):
        CrossFit(Broken(), y[:, None] + rng.normal(size=(50, 3)), rows)
