"""Presets: which learners take part, their settings, and the time limit."""

import time

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import CommitteeClassifier, SimplexWeights
from committee.ensembles.boosted import BoostedRegressor
from committee.members import TrainingData
from committee.shell import learners
from committee.shell.learners import (
    TableSize,
    TimedPool,
    boosting_by,
    fit_time,
    learners_of,
)
from committee.shell.options import MINUTES, PRESETS


@pytest.fixture
def without_libraries(monkeypatch):
    """scikit-learn alone."""
    monkeypatch.setattr(learners, "_installed", lambda library: False)


def settings(problem, name, preset="best"):
    """Return the parameters of a learner."""
    return dict(learners_of(preset, problem)[0])[name].get_params()


@pytest.mark.parametrize("installed", [False, True])
@pytest.mark.parametrize("preset", PRESETS)
def test_learners_are_of_the_task_and_have_the_names_of_the_preset(
    preset, installed, monkeypatch
):
    monkeypatch.setattr(learners, "_installed", lambda library: installed)
    own = () if installed else ("catboost", "xgboost")
    names = [name for name in PRESETS[preset] if name not in own]
    for rarest, is_right in ((30, is_classifier), (None, is_regressor)):
        taken, left_out = learners_of(preset, TableSize(1000, rarest, codes=[]))
        assert [name for name, _ in taken] == names
        assert all(is_right(learner) for _, learner in taken)
        assert left_out == []
    assert preset in MINUTES


def test_neighbours_and_networks_leave_large_tables_to_the_others():
    taken, left_out = learners_of("best", TableSize(2_000_000, None, codes=[]))
    assert set(left_out) == {"neighbours", "network"}
    assert "boosting" in dict(taken)


@pytest.mark.parametrize("name", ["forest", "extra-trees"])
def test_a_tree_of_a_forest_draws_at_most_20000_rows(name):
    assert settings(TableSize(20_000, 30, codes=[]), name)["max_samples"] is None
    large = settings(TableSize(2_000_000, 30, codes=[]), name)
    assert large["max_samples"] * 2_000_000 == 20_000
    assert large["bootstrap"]


@pytest.mark.parametrize(
    ("n_rows", "rarest", "stops"),
    [(10_000, 5000, False), (10_001, 5000, True), (10_001, 1, False)],
)
def test_boosting_puts_rows_aside_where_there_are_enough_of_all(
    n_rows, rarest, stops, without_libraries
):
    """scikit-learn refuses to put aside rows of a class with one row."""
    problem = TableSize(n_rows, rarest, codes=[])
    for name in ("boosting", "slow-boosting"):
        assert settings(problem, name)["early_stopping"] is stops


def test_libraries_are_used_where_they_are_installed(monkeypatch):
    for library in ("lightgbm", "catboost"):
        monkeypatch.setattr(
            learners, "_installed", lambda name, is_it=library: name == is_it
        )
        taken = dict(learners_of("best", TableSize(1000, 30, codes=[]))[0])
        by = {name: getattr(one, "library", None) for name, one in taken.items()}
        assert (by["boosting"], by["shallow-boosting"]) == (
            ("lightgbm", "lightgbm") if library == "lightgbm" else (None, None)
        )
        assert ("catboost" in by) == (library == "catboost")
        assert "xgboost" not in by
    # scikit-learn's stops early on many rows.
    monkeypatch.setattr(learners, "_installed", lambda library: True)
    taken = dict(learners_of("fast", TableSize(20_000, 5000, codes=[]))[0])
    assert type(taken["boosting"]) is HistGradientBoostingClassifier


def test_the_libraries_of_boosters_are_named(monkeypatch):
    monkeypatch.setattr(learners, "version", lambda library: "1.0")
    boosters = [BoostedRegressor("catboost"), HistGradientBoostingClassifier()]
    assert boosting_by([*boosters, GaussianNB()]) == "catboost 1.0, scikit-learn 1.0"
    assert boosting_by([GaussianNB()]) is None


def test_large_tables_are_weighed_on_rows_put_aside():
    assert TableSize(100_000, None, codes=[]).weigh_on == "held-out"
    assert TableSize(200_000, None, codes=[]).weigh_on == 0.1
    assert TableSize(2_000_000, None, codes=[]).weigh_on * 2_000_000 == 50_000


def test_codes_are_no_sizes_to_linear_learners(rng):
    """A class that alternates from code to code, beside a number with gaps."""
    code = rng.integers(0, 10, 300)
    X, y = np.c_[rng.normal(size=300), code], code % 2
    X[::7, 0] = np.nan
    score = {}
    for codes in ([], [1]):
        taken, _ = learners_of("fast", TableSize(300, 100, codes))
        score[len(codes)] = dict(taken)["linear"].fit(X, y).score(X, y)
    assert score[1] == 1
    assert score[0] < 0.7


LEARNERS = [
    ("tree", DecisionTreeClassifier(max_features=1)),
    ("linear", LogisticRegression()),
    ("bayes", GaussianNB()),
]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 4))
    return TrainingData(X, (X[:, 0] + X[:, 1] > 0).astype(int), 2)


@pytest.fixture
def foresee(monkeypatch):
    """Set the seconds that a fit of each kind is said to take."""

    def set_seconds(tree, linear, bayes):
        kinds = {DecisionTreeClassifier: tree, LogisticRegression: linear}
        monkeypatch.setattr(
            learners,
            "fit_time",
            lambda learner, data, left: (
                0.0,
                kinds.get(type(learner), bayes) / len(data),
            ),
        )

    return set_seconds


def generated(rows, **limits):
    pool = TimedPool(LEARNERS, **limits)
    return pool, pool.generate(None, rows, random_state=7)


def test_what_would_not_end_in_time_is_left_out_and_the_rest_is_the_same(rows, foresee):
    _, everything = generated(rows)
    foresee(tree=0.0, linear=1e9, bayes=0.0)
    pool, some = generated(rows, deadline=time.monotonic() + 1e6)
    assert (pool.trained, pool.too_slow) == (["tree", "bayes"], ["linear"])
    np.testing.assert_array_equal(some.F, everything.F[:, [0, 2]])


def test_all_fits_count(rows, foresee):
    """Five folds and one fit on all rows; one fit where rows were put aside."""
    foresee(tree=0.0, linear=1e5, bayes=1e5)
    pool, _ = generated(rows, deadline=time.monotonic() + 5.5e5)
    assert pool.too_slow == ["linear", "bayes"]
    pool.generate(None, rows, held_out=False, random_state=7)
    assert pool.too_slow == []


def test_the_first_is_trained_where_time_is_up(rows, foresee):
    foresee(tree=3.0, linear=1.0, bayes=2.0)
    pool, made = generated(rows, deadline=0.0)
    assert (pool.trained, pool.too_slow) == (["tree"], ["linear", "bayes"])
    assert made.F.shape == (60, 1, 2)


def test_the_first_gets_fewer_rows_of_a_large_table(rows, foresee, monkeypatch):
    """Half of 600,000 seconds is enough for 20 of 60 rows; 10 are the fewest."""
    foresee(tree=9e5, linear=9e5, bayes=9e5)
    for fewest, n in ((10, 20), (30, 30)):
        monkeypatch.setattr(learners, "_FEWEST", fewest)
        pool = TimedPool(LEARNERS, deadline=time.monotonic() + 6.01e5)
        made = pool.generate(None, rows, held_out=False, random_state=7)
        assert pool.shortened == {"tree": n}
        assert made.members[0].tree_.n_node_samples[0] == n
        assert pool.too_slow == ["linear", "bayes"]


def test_who_cannot_learn_from_the_rows_is_named(rows):
    rows.X[0, 0] = np.nan
    pool, made = generated(rows)
    assert pool.trained == ["tree"]
    assert "NaN" in pool.failed["linear"]
    assert len(made.members) == 1
    with pytest.raises(ValueError, match=r"No learner could .* linear: Input X cont"):
        TimedPool(LEARNERS[1:]).generate(None, rows)


def test_seconds_are_foreseen_by_a_straight_line(rng, monkeypatch):
    monkeypatch.setattr(learners, "_QUICK", 0)
    monkeypatch.setattr(learners, "_seconds", lambda _, data: 2.0 + 0.5 * len(data))
    data = TrainingData(rng.normal(size=(1600, 2)), rng.normal(size=1600), None)
    assert fit_time(None, data) == pytest.approx((2.0, 0.5))


def test_a_table_is_small_beside_much_time(rng, monkeypatch):
    monkeypatch.setattr(learners, "_QUICK", 1000)
    monkeypatch.setattr(learners, "_seconds", lambda _, data: 0.5 * len(data))
    data = TrainingData(rng.normal(size=(1600, 2)), rng.normal(size=1600), None)
    assert fit_time(None, data, left=600.0) == (0.0, 0.0)
    assert fit_time(None, data, left=60.0) == pytest.approx((0.0, 0.5))


def test_a_part_of_the_rows_that_says_nothing_says_nothing(monkeypatch, rows):
    monkeypatch.setattr(learners, "_QUICK", 0)
    nothing = TrainingData(np.full((60, 4), np.nan), rows.y, 2)
    assert fit_time(LogisticRegression(), nothing) == (0.0, 0.0)
    start, by_row = fit_time(LogisticRegression(), rows)
    assert start + 60 * by_row > 0.0


def test_a_committee_takes_it_as_any_pool(rows):
    pool = TimedPool(LEARNERS)
    committee = CommitteeClassifier(
        generator=pool, combiner=SimplexWeights(), random_state=0
    ).fit(rows.X, rows.y)
    assert committee.score(rows.X, rows.y) > 0.8
