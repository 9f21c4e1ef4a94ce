"""Members are trained until the evidence stops to rise."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    ARDPruner,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    EPPruner,
    LPBoost,
    MiniBatches,
    OrderPruner,
    RandomSubspaces,
    SimplexWeights,
)
from committee.members import TrainingData


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "loader", "tree"),
    [
        (CommitteeClassifier, load_breast_cancer, DecisionTreeClassifier()),
        (CommitteeClassifier, load_wine, DecisionTreeClassifier()),
        (CommitteeRegressor, load_diabetes, DecisionTreeRegressor(max_depth=5)),
    ],
)
def test_far_fewer_members_are_trained_and_are_as_good(kind, loader, tree):
    X, X_new, y, y_new = train_test_split(
        *loader(return_X_y=True), test_size=0.4, random_state=0
    )
    options = {"combiner": EPPruner(), "random_state": 0}
    grown = kind(tree, generator=Bagging(1000), stop="evidence", **options).fit(X, y)
    plain = kind(tree, generator=Bagging(100), **options).fit(X, y)
    assert 60 <= len(grown.combiner_.weights_) <= 400
    assert grown.score(X_new, y_new) > plain.score(X_new, y_new) - 0.03


@pytest.mark.slow
def test_all_the_members_would_not_have_been_better():
    """Of 1,000 the first 100 or so have what the evidence can find."""
    X, X_new, y, y_new = train_test_split(
        *load_diabetes(return_X_y=True), test_size=0.4, random_state=0
    )
    options = {"generator": Bagging(1000), "combiner": EPPruner(), "random_state": 0}
    tree = DecisionTreeRegressor(max_depth=5)
    grown = CommitteeRegressor(tree, stop="evidence", **options).fit(X, y)
    whole = CommitteeRegressor(tree, **options).fit(X, y)
    assert len(grown.combiner_.weights_) < 500
    assert grown.score(X_new, y_new) > whole.score(X_new, y_new) - 0.03


@pytest.mark.slow
def test_many_classes_grow_like_the_beginning_of_generation():
    X, y = load_wine(return_X_y=True)
    options = {"generator": Bagging(300), "combiner": EPPruner(), "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=2)
    grown = CommitteeClassifier(tree, stop="evidence", **options).fit(X, y)
    M = len(grown.combiner_.weights_)
    assert 60 <= M < 300
    assert M % 20 == 0
    seed, data = np.random.RandomState(0), TrainingData(X, y, 3)
    first = Bagging(300).generate(tree, data, random_state=seed)
    F, held_out = first.F[:, :M], first.held_out[:, :M]
    weights = EPPruner().fit(F, y, held_out=held_out).weights_
    np.testing.assert_array_equal(grown.combiner_.weights_, weights)


@pytest.mark.parametrize(
    "generator",
    [Bagging(60), CrossSplits(10, 6), MiniBatches(10, 6), RandomSubspaces(60)],
    ids=repr,
)
def test_growth_is_the_beginning_of_generation(generator):
    """The members trained so far, and their weights, are those of no stopping."""
    X, y = load_diabetes(return_X_y=True)
    options = {"generator": generator, "combiner": ARDPruner(), "random_state": 0}
    grown = CommitteeRegressor(stop="evidence", **options).fit(X, y)
    whole = CommitteeRegressor(**options).fit(X, y)
    M = len(grown.combiner_.weights_)
    assert M in (20, 40, 60)
    both = np.intersect1d(grown.support_, whole.support_)
    for name, one, two in (
        *[("mask", grown.held_out_, whole.held_out_)] * (whole.held_out_ is not None),
        ("F", grown.member_predictions(X), whole.member_predictions(X)),
    ):
        one = one[:, np.searchsorted(grown.support_, both)]
        two = two[:, np.searchsorted(whole.support_, both)]
        np.testing.assert_array_equal(one, two, err_msg=name)
    if M == 60:
        np.testing.assert_array_equal(grown.weights_, whole.weights_)


def test_boosting_grows_on_rows_that_are_split_off():
    """The members trained so far are the first of the whole sequence."""
    X, y = load_breast_cancer(return_X_y=True)
    options = {"combiner": EPPruner(), "weigh_on": 0.3, "random_state": 0}
    stump = DecisionTreeClassifier(max_depth=1)
    grown = CommitteeClassifier(
        stump, generator=AdaBoost(400), stop="evidence", **options
    ).fit(X, y)
    M = len(grown.combiner_.weights_)
    assert M < 400
    assert M % 20 == 0
    first = CommitteeClassifier(stump, generator=AdaBoost(M), **options).fit(X, y)
    np.testing.assert_array_equal(grown.support_, first.support_)
    np.testing.assert_array_equal(grown.weights_, first.weights_)


def test_n_jobs_does_not_matter():
    X, y = load_diabetes(return_X_y=True)
    one, two = (
        CommitteeRegressor(
            generator=Bagging(200),
            combiner=EPPruner(),
            stop="evidence",
            random_state=0,
            n_jobs=n_jobs,
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"combiner": None},
            "needs a combiner that computes the evidence.*combiner=None",
        ),
        ({"combiner": EPPruner(), "weigh_on": "train"}, "weigh_on='train'"),
        ({"combiner": SimplexWeights()}, "EPPruner or ARDPruner. Got SimplexWeights"),
        (
            {"combiner": OrderPruner("kappa", 3)},
            "EPPruner or ARDPruner. Got OrderPruner",
        ),
        ({"combiner": EPPruner(), "generator": AdaBoost(5)}, "such as weigh_on=0.25"),
        ({"combiner": EPPruner(), "generator": LPBoost(5)}, "Got LPBoost"),
        ({"combiner": EPPruner(), "stop": "never"}, "'stop' parameter"),
    ],
)
def test_what_cannot_grow_says_so(options, message):
    X, y = load_breast_cancer(return_X_y=True)
    committee = CommitteeClassifier(**{"stop": "evidence", **options})
    with pytest.raises((TypeError, ValueError), match=message):
        committee.fit(X, y)
