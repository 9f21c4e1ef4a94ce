"""Sets of classes at 90 %: coverage of fresh rows, mean size and seconds."""

import time
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._pools import rows_of
from committee import Average, CommitteeClassifier, Pool, prune

COVERAGE = 0.9
TEST = 2000
#: MAPIE has APS for more than two classes only.
METHODS = ("lac", "aps")
SETS = (
    *("banana", "diabetis", "german", "image", "splice"),
    *("digits", "waveform-3", "blobs-3", "blobs-4", "blobs-8"),
)


def splits(name, n_splits, n_rows):
    """Yield X, y, X_test, y_test; y are codes 0..K-1."""
    X, y = rows_of(name)
    n = min(n_rows, len(y) * 2 // 3)
    test = min(TEST, len(y) - n)
    shuffles = StratifiedShuffleSplit(
        n_splits, train_size=n, test_size=test, random_state=0
    )
    for train, test in shuffles.split(X, y):
        yield X[train], y[train], X[test], y[test]


def measured(X, y, X_test, y_test, n_members, seed):
    """Return coverage, mean size and seconds of every line, on one split."""
    found = {}

    def add(name, sets):
        start = time.perf_counter()
        sets = sets()
        seconds = time.perf_counter() - start
        inside = sets[np.arange(len(y_test)), y_test]
        found[name] = inside.mean(), sets.sum(axis=1).mean(), seconds

    forest = RandomForestClassifier(n_members, random_state=seed).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pool = CommitteeClassifier(
            generator=Pool(learners(seed)),
            combiner="ep",
            calibration="slope",
            uncertainty=True,
            random_state=seed,
        ).fit(X, y)
        ways = {
            "whole forest": lambda: prune(forest, X, y, combiner=Average(), oob=True),
            "EP-pruned": lambda: prune(forest, X, y, oob=True),
            "pool by EP": lambda: pool,
        }
        for method in METHODS:
            for name, make in ways.items():
                add(
                    f"{name}, {method}",
                    lambda: make().predict_set(X_test, COVERAGE, method=method),  # noqa: B023
                )
            if has_mapie() and (method == "lac" or y.max() > 1):
                add(
                    f"MAPIE, five folds, {method}",
                    lambda: mapie(method, n_members, seed, X, y, X_test),  # noqa: B023
                )
    return found


def learners(seed):
    """Return the models of different kinds of the pool."""
    scaled = StandardScaler
    return [
        ("logistic", make_pipeline(scaled(), LogisticRegression(max_iter=500))),
        ("bayes", GaussianNB(var_smoothing=1e-3)),
        ("5 neighbours", make_pipeline(scaled(), KNeighborsClassifier(5))),
        ("20 neighbours", make_pipeline(scaled(), KNeighborsClassifier(20))),
        ("svm", make_pipeline(scaled(), SVC())),
        ("forest", RandomForestClassifier(20, random_state=seed)),
    ]


def has_mapie():
    try:
        import mapie.classification  # noqa: F401
    except ImportError:
        return False
    return True


def mapie(method, n_members, seed, X, y, X_test):
    """Cross-conformal sets of a forest that is trained again for each of five folds."""
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(
        RandomForestClassifier(n_members, random_state=seed),
        confidence_level=COVERAGE,
        conformity_score=method,
        cv=5,
        random_state=seed,
    )
    sets = model.fit_conformalize(X, y).predict_set(X_test)[1]
    return np.asarray(sets)[:, :, 0].astype(bool)
