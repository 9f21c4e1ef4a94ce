"""The sentences on top say what was measured, and warn of what misleads."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import OrderPruner, prune, report
from committee._format import NumberFormat
from committee.displays.sources import core_of
from committee.reporting.evaluation import ComparedError, evaluate_members
from committee.reporting.page_text import (
    _compared,
    member_table,
    next_step,
    verdict,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=700) > 0, "yes", "no")
    forest = RandomForestClassifier(40, random_state=0).fit(X[:200], y[:200])
    return forest, X, y


def said(model, X, y):
    evaluated, core = evaluate_members(model, X, y), core_of(model)
    return verdict(core, evaluated, member_table(core, evaluated))


def test_a_pruned_forest_is_compared_with_the_forest_on_these_rows(rows):
    forest, X, y = rows
    small = prune(forest, X[200:400], y[200:400])
    main, *_ = said(small, X[400:], y[400:])
    before = np.mean(forest.predict(X[400:]) != y[400:])
    after = np.mean(small.predict(X[400:]) != y[400:])
    assert f"{small.n_members_} of 40 members" in main["text"]
    assert f"{100 * after:.2f} % on 300 rows" in main["text"]
    assert f"the ensemble of 40 before pruning {100 * before:.2f} %" in main["text"]
    # A copy without a summary says what it does not know.
    other = prune(forest, X[200:400], y[200:400])
    main, *_ = said(pickle.loads(pickle.dumps(other)), X[400:], y[400:])
    assert "before pruning is not available" in main["text"]
    assert main["text"] in report(pickle.loads(pickle.dumps(other)), X[400:], y[400:])


def test_one_random_tree_is_clearly_worse(rows):
    forest, X, y = rows
    one = prune(forest, X[200:400], y[200:400], combiner=OrderPruner("random", 1))
    main = said(one, X[400:], y[400:])[0]
    assert main["kind"] == "warning"
    assert "clearly worse (+" in main["text"]


def test_training_rows_and_empty_members_are_warned_of(rows):
    forest, X, y = rows
    first = said(forest, X[:200], y[:200])[0]
    assert first["kind"] == "warning"
    assert first["text"].startswith("Members were trained on these rows")
    noise = np.random.default_rng(1).normal(size=300)
    blind = RandomForestRegressor(5, random_state=0).fit(X[:200], noise[:200])
    texts = [s["text"] for s in said(blind, X[400:], noise)]
    assert any("not better than always predicting the mean" in text for text in texts)


@pytest.mark.parametrize(
    ("gap", "word"), [(0.05, "clearly better"), (-0.05, "clearly worse"), (0.001, "no")]
)
def test_a_difference_is_one_beyond_two_standard_errors(gap, word):
    other = ComparedError(0.1 + gap, 0.0, 1.0, gap, 0.01)
    found = _compared("It", "others", other, NumberFormat.of("error rate", 0.1))
    assert f": {word}" in found["text"]


def test_a_committee_without_a_combiner_is_set_beside_its_best_member(rows):
    forest, X, y = rows
    main = said(forest, X[400:], y[400:])[0]
    assert main["text"].startswith("All 40 members have an error rate of")
    assert "the best of them alone" in main["text"]
    few = prune(forest, X[200:400], y[200:400], combiner=OrderPruner("best", 1))
    assert said(few, X[400:], y[400:])[0]["text"].startswith("1 of 40 members has")


def step(model, X, y, path=None):
    evaluated, core = evaluate_members(model, X, y), core_of(model)
    return next_step(core, evaluated, path)["text"]


def test_the_next_step_follows_from_the_errors(rows):
    forest, X, y = rows
    assert "rows that no member was trained on" in step(forest, X[:200], y[:200])
    one = prune(forest, X[200:400], y[200:400], combiner=OrderPruner("random", 1))
    assert step(one, X[400:], y[400:]).endswith("or refine() them if they are trees.")
    small = prune(forest, X[200:400], y[200:400])
    path = {
        "size": [1, 3, 5],
        "error": [0.3, 0.21, 0.2],
        "error_se": [0.02, 0.02, 0.02],
        "chosen": 2,
    }
    assert "within_se=1) has 3 members" in step(small, X[400:], y[400:], path)
    path["error_se"] = [0.0, 0.0, 0.0]
    assert "keep it as it is" in step(small, X[400:], y[400:], path)
