"""Small fitted ensembles of every kind, and rows that nobody has seen."""

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import SimplexWeights, prune
from tests.reference.boosters import BOOSTERS, make_booster

TASKS = ("binary", "multiclass", "regression")
LABELS = np.array(["no", "yes", "maybe"])
TREES = ("forest", "extra trees", "bagging", "subspaces", "few rows", "adaboost")
OTHERS = ("linear subspaces", "voting", "stacking", "list", "pipeline")


def rows(task):
    """X (180, 6) of single precision values, and y: text or numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 6)).astype(np.float32).astype(np.float64)
    f = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    if task == "regression":
        return X, f
    edges = [0.0] if task == "binary" else [-0.5, 0.5]
    return X, LABELS[np.digitize(f, edges)]


def pruned_on_large_numbers():
    """Committee whose numbers are infinite in single precision."""
    X, y = rows("regression")
    forest = RandomForestRegressor(9, random_state=0).fit(X[:90], 1e40 * y[:90])
    return prune(forest, X[90:], 1e40 * y[90:], oob=False)


def unlike(task):
    """Three named estimators of unlike kinds."""
    if task == "regression":
        return [
            ("a", Ridge()),
            ("b", DecisionTreeRegressor(max_depth=4, random_state=0)),
            ("c", make_pipeline(StandardScaler(), Ridge(10.0))),
        ]
    return [
        ("a", GaussianNB()),
        ("b", DecisionTreeClassifier(max_depth=4, random_state=0)),
        ("c", make_pipeline(StandardScaler(), LogisticRegression())),
    ]


def more_unlike(task):
    """Four more, of which three are ensembles, networks and neighbours."""
    few = {"max_iter": 5, "random_state": 0}
    # Content with the first steps: what it has learned does not matter here.
    net = {"hidden_layer_sizes": (4,), "tol": 1.0, "random_state": 0}
    if task == "regression":
        return [
            ("d", RandomForestRegressor(5, random_state=0)),
            ("e", HistGradientBoostingRegressor(**few)),
            ("f", KNeighborsRegressor()),
            ("g", make_pipeline(StandardScaler(), MLPRegressor(**net))),
        ]
    return [
        ("d", RandomForestClassifier(5, random_state=0)),
        ("e", HistGradientBoostingClassifier(**few)),
        ("f", KNeighborsClassifier()),
        ("g", make_pipeline(StandardScaler(), MLPClassifier(**net))),
    ]


def _scikit(name, task):
    classify = task != "regression"
    tree = (DecisionTreeClassifier if classify else DecisionTreeRegressor)(max_depth=3)
    linear = GaussianNB() if classify else Ridge()
    bagging = BaggingClassifier if classify else BaggingRegressor
    bag = {"n_estimators": 15, "random_state": 0}
    forest = RandomForestClassifier if classify else RandomForestRegressor
    extra = ExtraTreesClassifier if classify else ExtraTreesRegressor
    ada = AdaBoostClassifier if classify else AdaBoostRegressor
    voting = VotingClassifier if classify else VotingRegressor
    stacking = StackingClassifier if classify else StackingRegressor
    last = LogisticRegression() if classify else Ridge()
    soft = {"voting": "soft"} if classify else {}
    return {
        "forest": lambda: forest(15, max_depth=4, random_state=0),
        "extra trees": lambda: extra(15, max_depth=4, random_state=0),
        "bagging": lambda: bagging(tree, **bag),
        "subspaces": lambda: bagging(tree, max_features=0.5, **bag),
        "few rows": lambda: bagging(tree, max_samples=4, **bag),
        "adaboost": lambda: ada(tree, n_estimators=15, random_state=0),
        "linear subspaces": lambda: bagging(linear, max_features=0.5, **bag),
        "voting": lambda: voting(unlike(task), **soft),
        "stacking": lambda: stacking(unlike(task), last, cv=3),
        "pipeline": lambda: make_pipeline(
            StandardScaler(), bagging(tree, max_features=0.5, **bag)
        ),
    }[name]()


def fitted(name, task, frame=False):
    """Return an ensemble, rows to prune on with their y, and rows to test on."""
    X, y = rows(task)
    if name == "xgboost" and task != "regression":
        y = np.unique(y, return_inverse=True)[1]
    if frame:
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(X, columns=list("uvwxyz"))
    if name == "list":
        ensemble = [member.fit(X[:60], y[:60]) for _, member in unlike(task)]
    else:
        make = make_booster if name in BOOSTERS else _scikit
        ensemble = make(name, task).fit(X[:60], y[:60])
    return ensemble, X[60:120], y[60:120], X[120:]


@cache
def pruned(name, task, combiner=SimplexWeights, frame=False):
    """Return a committee with unequal weights, and rows to test it on: to be read."""
    ensemble, X, y, X_test = fitted(name, task, frame)
    return prune(ensemble, X, y, combiner=combiner()), X_test
