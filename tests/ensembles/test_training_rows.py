"""Rows that an ensemble was trained on are recognised, and no others."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee.ensembles import roster_of
from committee.ensembles.training_rows import digest, rows_of_trees
from tests.reference.boosters import TASKS, make_booster

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300) > 1).astype(int)
#: Just as many fresh rows.
FRESH = RNG.normal(size=(300, 4))
ORDER = RNG.permutation(300)
SEED = {"random_state": 0}

SAMPLED = {
    "forest": RandomForestClassifier(5, **SEED),
    "of numbers": RandomForestRegressor(5, **SEED),
    "small trees": RandomForestClassifier(20, max_depth=3, **SEED),
    "balanced": RandomForestClassifier(5, class_weight="balanced", **SEED),
    "half": RandomForestClassifier(5, max_samples=0.5, **SEED),
    "bagging": BaggingClassifier(n_estimators=5, **SEED),
    "columns": BaggingClassifier(n_estimators=5, max_features=0.5, **SEED),
    "search": GridSearchCV(RandomForestClassifier(5, **SEED), {"max_depth": [9]}, cv=2),
}
ALL_ROWS = {
    "extra trees": ExtraTreesRegressor(5, **SEED),
    "stumps": AdaBoostClassifier(n_estimators=20, **SEED),
    "boosting": GradientBoostingClassifier(n_estimators=5, **SEED),
    "histograms": HistGradientBoostingClassifier(max_iter=5, **SEED),
    "voting": VotingClassifier(
        [("lr", LogisticRegression()), ("rf", RandomForestClassifier(3, **SEED))]
    ),
    "pipeline": make_pipeline(StandardScaler(), ExtraTreesRegressor(5, **SEED)),
    "of pipelines": VotingClassifier(
        [("p", make_pipeline(StandardScaler(), DecisionTreeClassifier()))]
    ),
}


def recognised(model, rows):
    roster = roster_of(model)
    return roster.recognise(roster.prepared(rows))


@pytest.mark.parametrize("kind", [*SAMPLED, *ALL_ROWS])
def test_training_rows_are_recognised_and_others_are_not(kind):
    model = {**SAMPLED, **ALL_ROWS}[kind].fit(X, Y)
    assert recognised(model, X) == "same"
    for others in (FRESH, FRESH[:100], np.r_[FRESH, FRESH + 0.1]):
        assert recognised(model, others) in ("others", None)


@pytest.mark.parametrize("kind", [*SAMPLED, *ALL_ROWS])
def test_another_order(kind):
    """It matters only where members have seen samples, and is seen in small leaves."""
    found = recognised({**SAMPLED, **ALL_ROWS}[kind].fit(X, Y), X[ORDER])
    if kind in ALL_ROWS:
        assert found in ("same", "another order")
    elif kind in ("small trees", "half"):
        assert found in ("others", None)
    else:
        assert found == "another order"


def test_a_part_of_the_rows():
    """Only where members have seen all rows do the leaves tell."""
    trees = ExtraTreesRegressor(5, **SEED).fit(X, Y + 0.01 * X[:, 0])
    assert recognised(trees, X[ORDER[:200]]) == "another order"
    assert recognised(trees, X[:20]) is None  # as fresh rows might
    assert recognised(trees, np.r_[X[:200], FRESH[:50]]) in ("others", None)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.parametrize("task", TASKS)
def test_rounds_of_other_libraries(library, task):
    y = (X > 0).sum(axis=1) // 2 if task == "multiclass" else Y
    model = make_booster(library, task).fit(X, y)
    assert recognised(model, X[ORDER]) == "same"
    for others in (FRESH, X[:200]):
        assert recognised(model, others) is None


def test_weights_of_rows_do_not_matter(rng):
    forest = RandomForestClassifier(5, **SEED)
    assert recognised(forest.fit(X, Y, rng.uniform(0.1, 3, 300)), X) == "same"
    # Rows of weight zero are in no leaf: then nothing is told.
    weighted = ExtraTreesRegressor(5, **SEED).fit(
        X, Y, rng.uniform(size=300) // 0.5 / 3
    )
    assert recognised(weighted, X) is None


@pytest.mark.parametrize("kind", [csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_kinds_of_rows(kind):
    forest = RandomForestClassifier(5, **SEED).fit(kind(X), Y)
    rows = kind(X) if kind is not np.ndarray.tolist else X
    assert recognised(forest, rows) == "same"


def test_what_cannot_be_told():
    trees = [DecisionTreeClassifier(max_depth=1).fit(X, Y)]
    assert rows_of_trees(trees, X) is None  # 300 other rows may well be divided so
    assert rows_of_trees([LogisticRegression().fit(X, Y)], X) is None
    assert rows_of_trees(trees, X[:, :2]) in ("others", None)


def test_trees_of_a_list_are_recognised():
    forest = RandomForestClassifier(5, **SEED).fit(X, Y)
    assert recognised(list(forest.estimators_), X) == "another order"
    assert recognised(list(forest.estimators_), FRESH) is None


def test_a_digest_is_of_the_numbers_and_their_order():
    known = digest(X)
    assert known == digest(csr_matrix(X)) == digest(pd.DataFrame(X))
    assert known not in (digest(X[ORDER]), digest(X[:-1]), digest(FRESH))
    assert len(known) < 50
    text = pd.DataFrame({"a": list("xyz"), "b": [1.0, np.nan, 3.0]})
    assert digest(text) == digest(text.copy()) != digest(text[::-1])
