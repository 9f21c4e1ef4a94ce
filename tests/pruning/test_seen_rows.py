"""Rows that the ensemble was trained on, given to prune() without a word."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    LeastSquares,
    Pool,
    SimplexWeights,
    load,
    prune,
    refine,
    save,
)
from committee.ensembles import Roster
from committee.pruning.seen_rows import refuse_seen_rows

X, Y = make_classification(800, 8, n_informative=4, flip_y=0.1, random_state=0)
X_NEW, Y_NEW = X[300:], Y[300:]
X, Y = X[:300], Y[:300]
ORDER = np.random.default_rng(0).permutation(300)
SEED = {"random_state": 0}


def bagged():
    return CommitteeClassifier(generator=Bagging(15), combiner=SimplexWeights(), **SEED)


def pool():
    models = [LogisticRegression(), DecisionTreeClassifier(max_depth=3, **SEED)]
    return CommitteeClassifier(
        generator=Pool(models), combiner=SimplexWeights(), **SEED
    )


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, **SEED),
        BaggingClassifier(n_estimators=20, **SEED),
        BaggingClassifier(KNeighborsClassifier(1), n_estimators=20, **SEED),
        make_pipeline(StandardScaler(), RandomForestClassifier(20, **SEED)),
        GridSearchCV(RandomForestClassifier(20, **SEED), {"max_depth": [None]}, cv=2),
        bagged(),
        make_pipeline(StandardScaler(), bagged()),
    ],
    ids=["forest", "bagging", "neighbours", "pipeline", "search", "own", "own, piped"],
)
def test_forgotten_oob_is_made_up_for_with_one_warning(model):
    model.fit(X, Y)
    with pytest.warns(UserWarning, match=r"trained on.*out of bag.*oob=True") as caught:
        small = prune(model, X, Y)
    assert len(caught) == 1
    expected = prune(model, X, Y, oob=True)
    np.testing.assert_array_equal(small.combiner_.weights_, expected.combiner_.weights_)
    assert small.summary().oob


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(20, **SEED),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(20, **SEED)),
        pool(),
    ],
    ids=["extra trees", "pipeline", "pool"],
)
def test_without_a_bootstrap_training_rows_are_refused(model):
    """The way of a user who forgot, and lost 8 points of accuracy without a sign."""
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"trained on.*oob=False"):
        prune(model, X, Y)
    assert prune(model, X, Y, oob=False).n_members_ >= 1
    assert prune(model, X_NEW, Y_NEW).n_members_ >= 1


def test_extra_trees_are_told_of_bootstrap_and_committees():
    forest = ExtraTreesClassifier(20, **SEED).fit(X, Y)
    with pytest.raises(ValueError, match=r"bootstrap=True.*CommitteeClassifier"):
        prune(forest, X, Y)


@pytest.mark.parametrize("oob", ["auto", True])
def test_training_rows_in_another_order_are_refused(oob):
    """Without oob_score too: the mask is that of the order of the training."""
    forest = RandomForestClassifier(20, **SEED).fit(X, Y)
    with pytest.raises(ValueError, match="order"):
        prune(forest, X[ORDER], Y[ORDER], oob=oob)


def test_fresh_rows_in_the_number_of_the_training_rows_are_fresh():
    forest = RandomForestClassifier(20, **SEED).fit(X, Y)
    small = prune(forest, X_NEW[:300], Y_NEW[:300])
    assert not small.summary().oob
    with pytest.raises(ValueError, match="differ, or are in another order"):
        prune(forest, X_NEW[:300], Y_NEW[:300], oob=True)


def test_members_that_learn_nothing_by_heart_do_no_harm(rng):
    """Of these nothing tells the rows, and they are as good as fresh ones."""
    y = X[:, 0] + rng.normal(size=300)
    model = CommitteeRegressor(Ridge(), generator=Bagging(8), combiner=LeastSquares())
    plain = BaggingClassifier(LogisticRegression(), n_estimators=8, **SEED).fit(X, Y)
    assert not prune(plain, X, Y).summary().oob
    with pytest.warns(UserWarning, match="trained on"):  # but ours keep a digest
        prune(model.fit(X, y), X, y)


@pytest.mark.parametrize("way", ["pickle", "file"])
def test_committees_know_their_rows_after_a_file(way, tmp_path):
    model = pool().fit(X, Y)
    if way == "file":
        save(model, tmp_path / "model.skops")
        model = load(tmp_path / "model.skops")
    else:
        model = pickle.loads(pickle.dumps(model))
    small = prune(model, X_NEW, Y_NEW)
    for again in (model, small):
        with pytest.raises(ValueError, match="trained on"):
            prune(again, X, Y)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(60, **SEED),
        RandomForestRegressor(60, **SEED),
        RandomForestClassifier(100, max_samples=0.5, **SEED),
        BaggingClassifier(KNeighborsClassifier(1), n_estimators=60, **SEED),
        CommitteeClassifier(generator=Bagging(60), combiner=SimplexWeights(), **SEED),
        ExtraTreesClassifier(20, **SEED),
    ],
    ids=["forest", "of numbers", "half", "neighbours", "own", "extra trees"],
)
@pytest.mark.parametrize("rows", [ORDER[:200], ORDER], ids=["a part", "all"])
def test_training_rows_are_refused_in_any_order_and_number(model, rows):
    """Half of its rows left 4 trees of a forest, which lost 6 points of accuracy."""
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"trained on.*oob=False"):
        prune(model, X[rows], Y[rows])
    assert not prune(model, X_NEW[:200], Y_NEW[:200]).summary().oob


def mixed(n_seen, n_fresh):
    return (
        np.concatenate([X[ORDER[:n_seen]], X_NEW[:n_fresh]]),
        np.concatenate([Y[ORDER[:n_seen]], Y_NEW[:n_fresh]]),
    )


@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("ship", [prune, partial(refine, max_members=5)])
def test_training_rows_among_fresh_ones_are_noticed(forest, ship):
    """Half of 120 rows are too many, a sixth is warned of; both were taken as fresh."""
    forest = forest(60, **SEED).fit(X, Y)
    with pytest.warns(UserWarning, match="Some of these rows seem to be training rows"):
        ship(forest, *mixed(60, 300))
    with pytest.raises(ValueError, match="a part of the training rows"):
        ship(forest, *mixed(60, 0))


@pytest.mark.parametrize(("n_fresh", "noted"), [(10, True), (20, False)])
def test_training_rows_are_noted_beyond_chance(n_fresh, noted, rng):
    """P(5 of 15 at .01) = 3e-7 and P(5 of 25) = 5e-6, around one in a million.

    Members are wrong on fresh rows at random, on rows of theirs where they were left out.
    """
    mask = rng.random((100, 60)) < 0.4
    wrong = np.vstack([mask[:5], rng.random((n_fresh, 60)) < 0.5]).astype(float)
    tree = DecisionTreeClassifier().fit(X, Y)
    roster = Roster([tree], None, classes=np.arange(2), left_out=lambda: mask)
    y = np.arange(len(wrong)) % 2
    assert ("seem to be training rows" in refuse_seen_rows(wrong, y, roster)) == noted


def test_in_one_column_fresh_rows_may_look_like_their_neighbours(rng):
    """The nearest row decides there, so that a third of the rows err as it does."""
    x = rng.normal(size=(1000, 1))
    y = (np.sin(3 * x[:, 0]) + 0.5 * rng.normal(size=1000) > 0).astype(int)
    forest = RandomForestClassifier(60, **SEED).fit(x[:500], y[:500])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, x[500:], y[500:])


def test_a_mask_that_is_too_large_is_not_made(monkeypatch):
    """A forest of a million rows must not take gigabytes for a look at a few rows."""
    monkeypatch.setattr("committee.ensembles.forests._MANY", 60 * 300 - 1)
    forest = RandomForestClassifier(60, **SEED).fit(X, Y)
    assert prune(forest, X[:200], Y[:200]).n_members_ >= 1


def test_rows_that_all_members_know_are_warned_of():
    """Few of the training rows: nothing tells them, but all members are right there."""
    forest = ExtraTreesClassifier(20, **SEED).fit(X, Y)
    with pytest.warns(UserWarning, match="members can hardly be told apart"):
        prune(forest, X[:40], Y[:40])


def test_easy_rows_are_not_refused(rng):
    """Fresh rows that everybody gets right; a warning at most."""
    x = rng.normal(size=(400, 1))
    y = (x[:, 0] > 0).astype(int)
    x[:, 0] += np.where(y, 5.0, -5.0)
    forest = RandomForestClassifier(10, **SEED).fit(x[:200], y[:200])
    with pytest.warns(UserWarning, match="oob=False suppresses this warning"):
        small = prune(forest, x[200:], y[200:])
    assert small.score(x[200:], y[200:]) == 1.0


def test_insisting_is_silent():
    forest = RandomForestRegressor(10, **SEED).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not prune(forest, X, Y, oob=False).summary().oob


@pytest.mark.parametrize("oob", ["yes", None, 1])
def test_wrong_options(oob):
    forest = RandomForestClassifier(3, **SEED).fit(X, Y)
    with pytest.raises(ValueError, match='oob must be True, False or "auto"'):
        prune(forest, X, Y, oob=oob)
