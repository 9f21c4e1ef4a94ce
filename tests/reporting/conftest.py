"""Committees with a page each, made once."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import Bagging, CommitteeClassifier, CommitteeRegressor, EPPruner, prune

#: What somebody might call a column, a class or a file.
HOSTILE = "</script><script>alert(1)</script><!--\u2028<img src=x onerror=alert(2)>"


@pytest.fixture(scope="session")
def classifier():
    """A committee of 20 trees, fitted, and rows that it has not seen."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(20),
        combiner=EPPruner(),
        random_state=0,
    ).fit(X[:100], y[:100])
    return committee, X[100:], y[100:]


@pytest.fixture(scope="session")
def regressor():
    """The same for numbers."""
    X, y = load_diabetes(return_X_y=True)
    committee = CommitteeRegressor(
        DecisionTreeRegressor(min_samples_leaf=10),
        generator=Bagging(12),
        combiner=EPPruner(),
        random_state=0,
    ).fit(X[:300], y[:300])
    return committee, X[300:], y[300:]


@pytest.fixture(scope="session")
def pruned():
    """A pruned forest whose columns and classes have names that look like HTML."""
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame = frame.rename(columns={"sepal length (cm)": HOSTILE})
    y = np.array(["setosa", HOSTILE, "virginica & <b>"])[y]
    forest = RandomForestClassifier(30, max_depth=2, random_state=0)
    return prune(forest.fit(frame, y), frame, y, oob=True), frame, y
