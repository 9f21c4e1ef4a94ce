"""One committee for one limit, whoever it is given to."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import (
    ARDPruner,
    EPPruner,
    GreedyPruner,
    MCMCPruner,
    OrderPruner,
    ReduceErrorPruner,
    member_predictions,
    prune,
)

X, Y = make_classification(
    700, 12, n_informative=6, n_classes=2, flip_y=0.15, random_state=0
)
TRAIN, ASIDE, NEW = slice(0, 250), slice(250, 450), slice(450, None)


def _models():
    models = [
        LogisticRegression(),
        GaussianNB(),
        *(KNeighborsClassifier(k) for k in (3, 9, 27)),
        *(DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 4, 6)),
    ]
    return [model.fit(X[TRAIN], Y[TRAIN]) for model in models]


ENSEMBLES = {
    "forest": lambda: RandomForestClassifier(40, random_state=0),
    "models": _models,
    "booster": lambda: GradientBoostingClassifier(n_estimators=40, random_state=0),
}
#: With a limit of their own.
LIMITED = {
    "ep": EPPruner,
    "ep, printed": lambda **limit: EPPruner(sequence="printed", **limit),
    "ep, equal votes": lambda **limit: EPPruner(votes="equal", **limit),
    "ep, gaussian": lambda **limit: EPPruner(likelihood="gaussian", **limit),
    "ard": ARDPruner,
}
WITH_A_PATH = {
    **LIMITED,
    "greedy": GreedyPruner,
    "order": OrderPruner,
    "reduce error": lambda: ReduceErrorPruner(10),
}


@pytest.fixture(scope="module", params=ENSEMBLES)
def ensemble(request):
    made = ENSEMBLES[request.param]()
    return made if isinstance(made, list) else made.fit(X[TRAIN], Y[TRAIN])


def assert_same(one, other):
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    np.testing.assert_array_equal(
        one.predict_proba(X[NEW]), other.predict_proba(X[NEW])
    )


@pytest.mark.parametrize("k", [3, 7])
@pytest.mark.parametrize("name", WITH_A_PATH)
def test_prune_takes_the_committee_of_the_path(name, k, ensemble):
    """max_members of `prune`, of `choose` and of the combiner: the same probabilities."""
    X_aside, y = X[ASIDE], Y[ASIDE]
    combiner = WITH_A_PATH[name]
    path = prune(ensemble, X_aside, y, combiner=combiner()).path_
    k = int(max(k, path.size.min()))  # the printed sequence begins with several members
    expected = path.choose(max_members=k)
    assert expected.n_members_ <= k
    assert_same(
        prune(ensemble, X_aside, y, combiner=combiner(), max_members=k), expected
    )
    if name in LIMITED:
        limited = combiner(max_members=k)
        assert_same(prune(ensemble, X_aside, y, combiner=limited), expected)


@pytest.mark.parametrize("name", LIMITED)
def test_alone_as_well(name, ensemble):
    F = member_predictions(ensemble, X[ASIDE])
    path = LIMITED[name]().fit(F, Y[ASIDE]).path_
    k = int(max(3, path.size.min()))
    limited = LIMITED[name](max_members=k).fit(F, Y[ASIDE])
    np.testing.assert_array_equal(limited.weights_, path.choose(max_members=k))
    if path.size.min() > 1:
        with pytest.raises(ValueError, match="max_members=1; the least is"):
            LIMITED[name](max_members=1).fit(F, Y[ASIDE])


def test_draws_have_the_members_of_ep(ensemble):
    F = member_predictions(ensemble, X[ASIDE])
    few = {"n_samples": 50, "n_warmup": 50, "n_chains": 4, "random_state": 0}
    drawn = MCMCPruner(max_members=3, **few).fit(F, Y[ASIDE])
    found = EPPruner(max_members=3).fit(F, Y[ASIDE])
    np.testing.assert_array_equal(drawn.support_, found.support_)


@pytest.mark.parametrize("k", [2, 5])
def test_numbers_too(k):
    X, y = load_diabetes(return_X_y=True)
    booster = GradientBoostingRegressor(n_estimators=40, random_state=0)
    booster.fit(X[:200], y[:200])
    for combiner in (EPPruner, ARDPruner):
        expected = prune(booster, X[200:], y[200:], combiner=combiner())
        expected = expected.path_.choose(max_members=k)
        for other in (
            prune(booster, X[200:], y[200:], combiner=combiner(), max_members=k),
            prune(booster, X[200:], y[200:], combiner=combiner(max_members=k)),
        ):
            np.testing.assert_array_equal(other.support_, expected.support_)
            np.testing.assert_array_equal(other.predict(X), expected.predict(X))
