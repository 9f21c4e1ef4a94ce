"""A combiner may be given by its name, wherever one is taken."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelRegressor,
    EPPruner,
    GreedyPruner,
    OrderPruner,
    PrunedClassifier,
    PrunedRegressor,
    prune,
)
from committee.combiner_names import COMBINERS, as_combiner


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X[:, 0] + X[:, 1] * X[:, 2]


class _NoFit(RandomForestRegressor):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("work has begun")


def test_a_committee_takes_a_name_and_keeps_it_as_its_parameter():
    X, y = data()
    named = CommitteeClassifier(generator=Bagging(10), combiner="ep", random_state=0)
    given = clone(named).set_params(combiner=EPPruner())
    assert clone(named).get_params()["combiner"] == "ep"
    named.fit(X, y > 0)
    assert named.combiner == "ep"
    np.testing.assert_array_equal(named.weights_, given.fit(X, y > 0).weights_)


def test_a_named_combiner_that_draws_is_seeded_by_the_committee():
    """Given as an object it has the seed that it was given, and no other."""
    X, y = data()
    made = CommitteeRegressor(generator=Bagging(40), combiner="random", random_state=0)
    once, again = (clone(made).fit(X, y).support_ for _ in range(2))
    other = clone(made).set_params(random_state=1).fit(X, y).support_
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)
    assert as_combiner(OrderPruner("random", random_state=5), 0).random_state == 5


def test_prune_and_coupled_estimators_take_names():
    X, y = data()
    forest = RandomForestClassifier(10, random_state=0).fit(X[:60], y[:60] > 0)
    small = prune(forest, X[60:], y[60:] > 0, combiner="reduce-error")
    assert type(small.combiner_).__name__ == COMBINERS["reduce-error"]
    coupled = CoupledKernelRegressor(3, combiner="average", random_state=0).fit(X, y)
    np.testing.assert_allclose(coupled.weights_, 1 / 3)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("epp", "ep"),
        ("EPPruner", "ep"),
        ("KappaPruner", "kappa"),
        ("least_squares", "least-squares"),
    ],
)
def test_a_wrong_name_is_answered_by_the_right_ones_before_any_work(name, meant):
    X, y = data()
    words = f"or one of the names ep, ard.*Got '{name}'. Did you mean '{meant}'"
    for model in (
        CommitteeRegressor(combiner=name),
        CoupledKernelRegressor(combiner=name),
        PrunedRegressor(_NoFit(), combiner=name),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    with pytest.raises(ValueError, match=words):
        prune([CommitteeRegressor(generator=Bagging(2)).fit(X, y)], X, y, combiner=name)


def test_a_name_and_its_object_weigh_the_same_members():
    X, y = data()
    by_name, by_object = (
        CommitteeClassifier(
            generator=Bagging(6), combiner=combiner, random_state=0
        ).fit(X, y > 0)
        for combiner in ("greedy", GreedyPruner())
    )
    for one, other in zip(by_name.members_, by_object.members_, strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", ["prune", "estimator"])
def test_a_named_combiner_that_draws_is_seeded_in_prune(kind):
    X, y = data()
    forest = RandomForestClassifier(20, max_depth=2, random_state=0)
    if kind == "estimator":
        small = PrunedClassifier(forest, combiner="random", random_state=0)
        first, second = (clone(small).fit(X, y > 0).support_ for _ in range(2))
    else:
        forest.fit(X[:60], y[:60] > 0)
        first, second = (
            prune(
                forest,
                X[60:],
                y[60:] > 0,
                combiner="random",
                max_members=5,
                random_state=0,
            ).support_
            for _ in range(2)
        )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("combiner", [EPPruner, 3])
def test_a_class_or_a_number_is_no_combiner_in_any_estimator(combiner):
    X, y = data()
    forest = RandomForestRegressor(3)
    committee = CommitteeRegressor(generator=Bagging(2))
    says = f"must be a combiner, such as EPPruner(), or its name. Got {combiner!r}."
    for fit in (
        lambda: as_combiner(combiner),
        lambda: clone(committee).set_params(combiner=combiner).fit(X, y),
        lambda: CoupledKernelRegressor(combiner=combiner).fit(X, y),
        lambda: PrunedRegressor(forest, combiner=combiner).fit(X, y),
        lambda: prune([clone(committee).fit(X, y)], X, y, combiner=combiner),
    ):
        with pytest.raises(TypeError, match=re.escape(says)):
            fit()
