"""What the page says in words is what was measured."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from committee import Bagging, CommitteeRegressor, prune
from committee._format import byte_size, change, percent
from committee.reporting import facts
from committee.reporting.evaluation import hear
from committee.reporting.member_table import call_the_roll, core_of
from committee.reporting.pathway import pathway


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
    share = percent(summary.bytes_after / summary.bytes_before)
    assert bytes_["note"].startswith(f"the whole model: {share} of ")
    # The card, the slider and the table count the same bytes.
    at = pathway(core, heard)["chosen"]
    assert bytes_["value"] == byte_size(pathway(core, heard)["bytes"][at])
    gap = change(100 * summary.difference, 100 * summary.difference_se, "points")
    assert gain["note"].startswith((gap, "the same on every row"))
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


def test_rounding_is_no_gain(regressor):
    """Equal votes summed in another order differ by a few units in the last place."""
    _, X, y = regressor
    whole = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, y)
    core, heard, roll = told(whole, X, y)
    noisy = heard.losses * (1 + np.array([[0.0], [1e-14], [0.5]]))
    heard = replace(heard, losses=noisy)
    gain = facts.headlines(core, heard, roll)[2]
    assert (gain["value"], gain["note"]) == ("the same", "")
    _, equal, best = facts.comparison(heard, roll)
    assert equal["gap"] == "the same"
    # As many errors on other rows are not the same.
    swapped = np.stack([heard.losses[0], heard.losses[0][::-1], heard.losses[2]])
    _, equal, _ = facts.comparison(replace(heard, losses=swapped), roll)
    assert equal["gap"].startswith("0 ± ")
    assert best["gap"].startswith("+")


def test_of_one_row_nothing_is_claimed(regressor):
    committee, X, y = regressor
    core, heard, roll = told(committee, X[:1], y[:1])
    _, error, gain, *_ = facts.headlines(core, heard, roll)
    assert error["note"] == "95 % interval -"
    assert "±" not in gain["note"] + gain["value"]
    assert [line["interval"] for line in facts.comparison(heard, roll)] == ["-"] * 3


def test_rows_that_count_half_are_told_of_out_of_bag(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(12, random_state=0).fit(X, y)
    lines = {
        name: cells for name, *cells in facts.pruning(prune(forest, X, y, oob=True))
    }
    assert "nobody is heard" in lines["leave-one-out error rate"][-1]
    lines = {name: cells for name, *cells in facts.pruning(prune(forest, X, y))}
    assert lines["leave-one-out error rate"][-1] == ""
