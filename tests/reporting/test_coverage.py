"""What intervals and sets cover on the page's rows."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import prune, report
from committee.reporting.charts import coverage
from committee.reporting.evaluation import evaluate_members


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    forest = RandomForestRegressor(30, random_state=0).fit(X[:200], y[:200])
    return prune(forest, X[:200], y[:200], oob=True), X, y


def test_intervals_are_counted_on_the_rows_of_the_page(numbers):
    small, X, y = numbers
    X, y = X[200:], y[200:]
    found = coverage(small, small, X, evaluate_members(small, X, y))
    assert [line["name"] for line in found["lines"]] == ["scaled", "constant"]
    lower, upper = small.predict_interval(X, 0.9).T
    share = 100 * np.mean((lower <= y) & (y <= upper))
    assert found["lines"][0]["share"].startswith(f"{share:.1f} ± ")
    size = float(found["lines"][0]["size"].split()[0])
    assert size == pytest.approx(np.mean(upper - lower), abs=0.005)  # two decimals
    page = report(small, X, y)
    assert "Intervals for 90%" in page
    assert found["lines"][0]["share"] in page


def test_sets_of_classes_too_also_in_a_pipeline():
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X[::2], y[::2])
    small = prune(forest, X[::2], y[::2], oob=True)
    rows = X[1::2], y[1::2]
    found = coverage(small, small, rows[0], evaluate_members(small, *rows))
    sets = small.predict_set(rows[0], 0.9)
    assert found["lines"][0]["size"].startswith(f"{sets.sum(axis=1).mean():.3f}"[:4])
    assert "Sets of classes for 90%" in report(small, *rows)
    scaler = StandardScaler().fit(X[::2])
    forest.fit(scaler.transform(X[::2]), y[::2])
    inner = prune(forest, scaler.transform(X[::2]), y[::2], oob=True)
    pipeline = make_pipeline(scaler, inner)
    whole = coverage(pipeline, inner, rows[0], evaluate_members(pipeline, *rows))
    assert whole["kind"] == "set"


def test_rows_that_say_nothing_have_none(numbers, regressor):
    small, X, y = numbers
    assert (
        coverage(small, small, X[:200], evaluate_members(small, X[:200], y[:200]))
        is None
    )
    plain, X_new, y_new = regressor  # fitted without uncertainty=True
    assert coverage(plain, plain, X_new, evaluate_members(plain, X_new, y_new)) is None
    few = prune(
        RandomForestRegressor(3, random_state=0).fit(X[:50], y[:50]), X[50:56], y[50:56]
    )
    assert coverage(few, few, X[60:], evaluate_members(few, X[60:], y[60:])) is None
