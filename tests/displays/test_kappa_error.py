"""The kappa-error diagram: points, hull and what is too much for points."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from committee import KappaErrorDisplay, KappaErrorHullPruner, pairwise_kappa
from tests.reference.problems import make_held_out


def test_points_are_kappa_and_the_mean_error(multiclass_problem, drawn):
    F, y = multiclass_problem
    display = drawn(KappaErrorDisplay.from_predictions(F, y))
    error = (F.argmax(axis=2) != y[:, None]).mean(axis=0)
    kappa = pairwise_kappa(F)
    assert len(display.kappa) == 21
    for (i, j), x, e in zip(display.pairs, display.kappa, display.error, strict=True):
        assert x == pytest.approx(kappa[i, j])
        assert e == pytest.approx((error[i] + error[j]) / 2)
    assert display.ax_.get_xlabel() == "kappa: agreement beyond chance"
    assert display.ax_.get_ylabel() == "mean error of the pair"


@pytest.mark.parametrize("masked", [False, True])
def test_the_hull_is_that_of_the_pruner(masked, multiclass_problem):
    F, y = multiclass_problem
    held_out = make_held_out() if masked else None
    display = KappaErrorDisplay.from_predictions(F, y, held_out=held_out)
    pruner = KappaErrorHullPruner().fit(F, y, held_out=held_out)
    assert np.array_equal(display.pairs[display.hull], pruner.pairs_)


def test_nothing_lies_below_and_left_of_the_hull(multiclass_problem):
    display = KappaErrorDisplay.from_predictions(*multiclass_problem)
    x, y = display.kappa[display.hull], display.error[display.hull]
    for start, stop in zip(range(len(x) - 1), range(1, len(x)), strict=True):
        side = (x[stop] - x[start]) * (display.error - y[start]) - (
            y[stop] - y[start]
        ) * (display.kappa - x[start])
        assert side.min() > -1e-9


def test_few_and_many_members(many, drawn, ax):
    display = drawn(KappaErrorDisplay.from_predictions(*many))
    M = many[0].shape[1]
    assert len(display.kappa) == M * (M - 1) // 2
    points = drawn(display.plot(ax)).ax_.collections[0]
    assert len(points.get_offsets()) == len(display.kappa)
    assert points.get_rasterized() == (M == 500)


def test_lists_of_classifiers(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    trees = [DecisionTreeClassifier(max_depth=d).fit(X[::2], y[::2]) for d in (1, 2, 3)]
    display = KappaErrorDisplay.from_estimator(trees, X, y)
    assert len(display.pairs) == 3


def test_wrong_input_is_refused(regression_problem, binary_problem):
    with pytest.raises(ValueError, match=r"votes: F of shape \(N, M, K\)"):
        KappaErrorDisplay.from_predictions(*regression_problem)
    F, y = binary_problem
    with pytest.raises(
        ValueError, match=r"needs two members that vote on the same row"
    ):
        KappaErrorDisplay.from_predictions(F[:, :1], y)
    no_common_row = np.eye(2, dtype=bool)[np.arange(len(y)) % 2]
    with pytest.raises(ValueError, match=r"vote on the same row. No pair does"):
        KappaErrorDisplay.from_predictions(F[:, :2], y, held_out=no_common_row)
    with pytest.raises(ValueError, match=r"one number for each pair"):
        KappaErrorDisplay([0.1], [0.2, 0.3])


def test_few_members_are_named(multiclass_problem, rng):
    F, y = multiclass_problem
    few = KappaErrorDisplay.from_predictions(F[:, :3], y, names=["a", "b $", "c"])
    texts = [text.get_text() for text in few.ax_.texts]
    assert texts == [r"a + b \$", "a + c", r"b \$ + c"]
    assert KappaErrorDisplay.from_predictions(F[:, :3], y).labels[0] == "0 + 1"
    many = KappaErrorDisplay.from_predictions(F, y)
    assert many.labels is None
    assert not many.ax_.texts
    with pytest.raises(ValueError, match=r"each of the 3 members. Got 1"):
        KappaErrorDisplay.from_predictions(F[:, :3], y, names=["a"])
