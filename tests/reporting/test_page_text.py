"""The text of the page is what was measured."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    AdaBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from committee import Bagging, CommitteeRegressor, prune, refine, report
from committee._format import byte_size, percent
from committee.reporting import page_text
from committee.reporting.charts import path_chart
from committee.reporting.evaluation import Answer, evaluate_members
from committee.reporting.page_text import core_of, member_table


def evaluated_parts(committee, X, y):
    evaluated, core = evaluate_members(committee, X, y), core_of(committee)
    return core, evaluated, member_table(core, evaluated)


def test_headlines_of_a_weighed_committee(classifier):
    core, evaluated, table = evaluated_parts(*classifier)
    members, error, bytes_, speed = page_text.headlines(core, evaluated, table)
    assert members["value"] == f"{core.n_members_} of 20"
    assert error["value"] == f"{100 * evaluated.comparisons['committee'].error:.2f} %"
    assert "78 rows" in error["label"]
    # What the others would have cost is not known.
    assert bytes_["note"] == ""
    assert "fast" not in speed["note"]


def test_costs_beside_members_without_a_weight(regressor):
    _, X, y = regressor
    boosted = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    core, evaluated, table = evaluated_parts(boosted, X, y)
    table = replace(table, weights=np.array([0.5, 0.5, 0.0, 0.0, 0.0]))
    *_, bytes_, speed = page_text.headlines(core, evaluated, table)
    assert "%" in bytes_["note"]
    assert "times as fast" in speed["note"]


def test_headlines_of_a_pruned_forest_are_those_of_its_summary(pruned):
    core, evaluated, table = evaluated_parts(*pruned)
    summary = core.summary()
    members, _, bytes_, _ = page_text.headlines(core, evaluated, table)
    assert members["value"] == f"{core.n_members_} of 30"
    share = percent(summary.bytes_after / summary.bytes_before)
    assert bytes_["note"].startswith(f"{share} of ")
    # The card and the slider count the bytes of the whole committee.
    assert bytes_["value"] == byte_size(summary.bytes_after)
    chart = path_chart(core, evaluated)
    assert chart["bytes"][chart["chosen"]] == pytest.approx(
        summary.bytes_after, rel=0.02
    )
    found = page_text.pruning(core)
    assert found["rows"][: len(summary.rows())] == summary.rows()
    assert found["rows"][0][1:3] == ("30", str(core.n_members_))
    assert found["how"].startswith("Errors to expect on fresh rows")


def test_a_refined_forest_shows_leaves_and_depth():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    small = refine(forest, X, y, max_members=5, oob=True)
    rows = page_text.pruning(small)["rows"]
    lines = {name: (before, after) for name, before, after, _ in rows}
    found = small.summary().refinement
    assert lines["leaves"] == (f"{found.leaves_before:,}", f"{found.leaves_after:,}")
    assert lines["deepest tree"][1] == str(found.depth_after)
    assert "  as many, unrefined" in lines
    assert "<caption>" in report(small, X, y)


def test_where_nothing_was_pruned_nothing_is_claimed(regressor):
    _, X, y = regressor
    whole = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, y)
    core, evaluated, table = evaluated_parts(whole, X, y)
    members, _, bytes_, speed = page_text.headlines(core, evaluated, table)
    assert members["value"] == "3 of 3"
    assert members["note"] == "none left out"
    assert bytes_["note"] == ""
    assert "fast" not in speed["note"]
    assert page_text.pruning(core) is None


def test_the_comparison_names_the_best_member(regressor):
    _, evaluated, table = evaluated_parts(*regressor)
    own, equal, best, constant = page_text.comparison(evaluated, table)["lines"]
    assert own["gap"] == ""
    assert equal["name"] == f"equal votes of {len(table.numbers)} members"
    assert f"#{table.numbers[evaluated.errors.argmin()]}" in best["name"]
    assert best["gap"][0] in "+-"
    assert constant["name"] == "the mean, always"
    assert page_text.comparison(evaluated, table)["columns"] == ["MAE", "R2"]
    assert constant["scores"][1].startswith("0.0000 ± ")


def test_the_table_starts_with_the_largest_weight(classifier):
    core, evaluated, table = evaluated_parts(*classifier)
    lines = page_text.members_table(evaluated, table)
    assert len(lines) == core.n_members_
    largest = core.weights_.argmax()
    assert lines[0]["number"] == core.support_[largest]
    assert lines[0]["kind"] == "DecisionTreeClassifier"
    assert lines[0]["error"][0] == evaluated.errors[largest]
    assert all(line["bytes"][0] > 0 and line["seconds"][0] > 0 for line in lines)


def test_settings_tell_how_to_do_it_again(pruned, classifier):
    core, evaluated, _ = evaluated_parts(*pruned)
    lines = dict(page_text.settings(core, core, evaluated, {"data": "iris.csv"}))
    assert lines["data"] == "iris.csv"
    assert lines["combiner"] == "EPPruner(pool='votes')"
    assert lines["columns"].startswith("4: ")
    assert lines["classes"].startswith("3: ")
    assert "scikit-learn" in lines["versions"]
    committee, X, y = classifier
    _, evaluated, _ = evaluated_parts(committee.members_, X, y)
    lines = dict(page_text.settings(committee.members_, None, evaluated, {}))
    assert lines["model"] == f"a list of {committee.n_members_} estimators"
    assert "columns" not in lines


@pytest.mark.parametrize("n", [200, 201])
def test_long_lists_of_names_end(n):
    text = page_text._listed(np.arange(n))
    assert text.endswith("and 1 more") == (n > 200)


def test_rounding_is_no_gain(regressor):
    """Equal votes summed in another order differ by a few units in the last place."""
    _, X, y = regressor
    whole = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, y)
    _, evaluated, table = evaluated_parts(whole, X, y)
    answers = evaluated.answers
    noisy = Answer(answers["equal"].predicted * (1 + 1e-14))
    evaluated = replace(evaluated, answers={**answers, "equal": noisy})
    assert page_text.comparison(evaluated, table)["lines"][1]["gap"] == "the same"
    # As many errors on other rows are not the same.
    turned = Answer(2 * y - answers["committee"].predicted[::-1] + (y[::-1] - y))
    swapped = replace(evaluated, answers={**answers, "equal": turned})
    assert "±" in page_text.comparison(swapped, table)["lines"][1]["gap"]


def test_of_one_row_nothing_is_claimed(regressor):
    committee, X, y = regressor
    core, evaluated, table = evaluated_parts(committee, X[:1], y[:1])
    _, error, *_ = page_text.headlines(core, evaluated, table)
    assert error["note"] == "95 % interval -"
    assert [
        line["interval"] for line in page_text.comparison(evaluated, table)["lines"]
    ] == ["-"] * 4


def test_rows_that_count_half_are_told_of_out_of_bag(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(12, random_state=0).fit(X, y)
    for oob, told in ((True, "no member has a vote"), (False, "")):
        name, *_, note = page_text.pruning(prune(forest, X, y, oob=oob))["rows"][-1]
        assert name == "leave-one-out error rate"
        assert told in note
        assert bool(note) == oob
