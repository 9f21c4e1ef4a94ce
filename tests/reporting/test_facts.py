"""What the page says in words is what was measured."""

import numpy as np
import pytest

from committee import Bagging, CommitteeRegressor
from committee.reporting import facts
from committee.reporting.hearing import hear
from committee.reporting.roll import call_the_roll, core_of
from committee.reporting.words import percent


def told(committee, X, y):
    heard, core = hear(committee, X, y), core_of(committee)
    return core, heard, call_the_roll(core, heard)


def test_headlines_of_a_weighed_committee(classifier):
    core, heard, roll = told(*classifier)
    members, error, gain, bytes_, speed = facts.headlines(core, heard, roll)
    assert members["value"] == f"{core.n_members_} of 20"
    assert error["value"] == percent(heard.scores()[0].error)
    assert "78 rows" in error["label"]
    assert "against equal votes" in gain["label"]
    assert "%" in bytes_["note"]
    assert "times as fast" in speed["note"]


def test_headlines_of_a_pruned_forest_are_those_of_its_summary(pruned):
    core, heard, roll = told(*pruned)
    summary = core.summary()
    members, _, gain, bytes_, _ = facts.headlines(core, heard, roll)
    assert members["value"] == f"{core.n_members_} of 30"
    before, after = gain["value"].split(" → ")
    assert before == percent(summary.error_before)
    assert after == percent(summary.error_after)
    assert bytes_["note"].startswith(
        percent(summary.bytes_after / summary.bytes_before)
    )
    lines = {name: cells for name, *cells in facts.pruning(core)}
    assert lines["members"][:2] == ["30", str(core.n_members_)]
    assert lines["error rate, cross-fitted"][0] == percent(summary.error_before)


def test_where_nothing_was_pruned_nothing_is_claimed(regressor):
    _, X, y = regressor
    whole = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, y)
    core, heard, roll = told(whole, X, y)
    members, _, gain, bytes_, speed = facts.headlines(core, heard, roll)
    assert members["value"] == "3 of 3"
    assert members["note"] == "none left out"
    assert gain["value"] == "the same"
    assert bytes_["note"] == ""
    assert "fast" not in speed["note"]
    assert facts.pruning(core) == []


def test_the_comparison_names_the_best_member(regressor):
    _, heard, roll = told(*regressor)
    own, equal, best = facts.comparison(heard, roll)
    assert own["gap"] == ""
    assert equal["name"] == "equal votes of 12 members"
    assert f"#{heard.errors.argmin()}" in best["name"]
    assert best["gap"][0] in "+-"


def test_the_table_starts_with_the_largest_weight(classifier):
    core, heard, roll = told(*classifier)
    table = facts.members_table(heard, roll)
    assert len(table) == 20
    assert table[0]["number"] == core.weights_.argmax()
    assert table[0]["kind"] == "DecisionTreeClassifier"
    assert table[0]["error"][0] == heard.errors[table[0]["number"]]
    assert all(line["bytes"][0] > 0 and line["seconds"][0] > 0 for line in table)


def test_settings_tell_how_to_do_it_again(pruned, classifier):
    core, heard, _ = told(*pruned)
    lines = dict(facts.settings(core, core, heard, {"data": "iris.csv"}))
    assert lines["data"] == "iris.csv"
    assert lines["combiner"] == "EPPruner()"
    assert lines["columns"].startswith("4: ")
    assert lines["classes"].startswith("3: ")
    assert "scikit-learn" in lines["versions"]
    committee, X, y = classifier
    _, heard, _ = told(committee.members_, X, y)
    lines = dict(facts.settings(committee.members_, None, heard, {}))
    assert lines["model"] == "a list of 20 estimators"
    assert "columns" not in lines


@pytest.mark.parametrize("n", [200, 201])
def test_long_lists_of_names_end(n):
    text = facts._listed(np.arange(n))
    assert text.endswith("and 1 more") == (n > 200)
