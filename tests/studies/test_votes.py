import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from committee import Average, OrderPruner
from studies.votes import (
    Votes,
    boosted,
    curve,
    measure,
    pruners,
    signed,
    wrong,
)


@pytest.fixture
def classes(rng):
    """Twenty members that are right on 70 % of 60 rows."""
    y = rng.integers(0, 2, 60)
    right = rng.random((60, 20)) < 0.7
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    return Votes(F, y, signed(F), y)


def test_a_tie_is_half_wrong():
    score, y = np.array([[1.0, 0.0], [-1.0, 2.0]]), np.array([1, 0])
    np.testing.assert_allclose(wrong(score, y[:, None]), [0.0, 75.0])


def test_ties_of_equal_votes_are_exact():
    S = np.array([[1.0] * 50 + [-1.0] * 50])
    votes = Votes(np.zeros((1, 100, 2)), np.array([1]), S, np.array([1]))
    assert votes.error(votes.outputs(np.full(100, 0.01))) == 50.0


def test_errors_against_counting(classes):
    numbers = measure(classes, {"best": OrderPruner("best", 5)})
    ones = (classes.F[..., 1] > 0).sum(axis=1)
    expected = np.where(2 * ones == 20, 0.5, (2 * ones > 20) != classes.y)
    assert numbers["unpruned.error"] == pytest.approx(100 * expected.mean())
    assert numbers["best.size"] == 20  # no more than 25, and all there are


def test_all_combiners_of_the_paper_run_on_the_same_votes(classes):
    numbers = measure(classes, pruners(True, 0))
    assert {key.split(".")[0] for key in numbers} == {
        "unpruned", "ep", "ep-printed", "ard", "em", "ls", "random", "kappa", "cp",
    }  # fmt: skip


def test_a_curve_ends_at_the_whole_ensemble(classes):
    order = np.arange(20)[::-1]
    points = curve(classes, order)
    assert points[-1] == pytest.approx(measure(classes, {})["unpruned.error"])
    three = classes.F_test[:, order[:3]].sum(axis=1)
    assert points[2] == pytest.approx(float(wrong(three, classes.y)))


def test_a_curve_of_regression_is_that_of_means(rng):
    F, y = rng.normal(size=(30, 10)), rng.normal(size=30)
    points = curve(Votes(F, y, F, y), np.arange(10))
    half = F[:, :5].mean(axis=1)
    assert points[9] == pytest.approx(np.mean((half - y) ** 2))


def test_boosted_members_keep_their_own_votes(classes):
    own = np.linspace(1, 2, 20)
    boosted = Votes(classes.F, classes.y, classes.F_test, classes.y, own=own)
    numbers = measure(
        boosted, {"all": Average(), "random": pruners(False, 0)["random"]}
    )
    assert numbers["random.error"] == pytest.approx(numbers["unpruned.error"])
    assert numbers["unpruned.error"] == pytest.approx(
        float(wrong(classes.F_test @ own, classes.y))
    )


def test_boosting_has_all_its_members_where_a_tree_makes_no_error(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(np.intp)
    rows = np.arange(60)
    tree = DecisionTreeClassifier(max_depth=4)
    made = boosted(tree, (X, y, X, y), rows, rows, 100, seed=0)
    assert made.n_members == 100
    assert len(np.unique(made.F_test, axis=1).T) > 1
