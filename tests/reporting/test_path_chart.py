"""The path on the page: the pruner's numbers, one committee for each size."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Average,
    Bagging,
    BestPruner,
    CommitteeClassifier,
    EPPruner,
    GreedyPruner,
    combine,
    report,
)
from committee.reporting import path_chart as module
from committee.reporting.evaluation import evaluate_members
from committee.reporting.path_chart import path_chart


def committee_with(combiner, n_members=12):
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(n_members),
        combiner=combiner,
        random_state=0,
    ).fit(X[:100], y[:100])
    return committee, X[100:], y[100:]


def test_the_chosen_step_is_the_committee(classifier):
    committee, X, y = classifier
    path = path_chart(committee, evaluate_members(committee, X, y))
    at = path["chosen"]
    members = committee.support_
    assert sorted(path["members"][at]) == members.tolist()
    by_number = dict(zip(path["members"][at], path["weights"][at], strict=True))
    for m, w in zip(members, committee.weights_, strict=True):
        assert by_number[m] == pytest.approx(w)
    assert path["error"][at] == committee.combiner_.loo_
    assert path["weights"][at] == sorted(path["weights"][at], reverse=True)
    assert f"Chosen: {len(members)} members" in path["alt"]


def test_errors_here_are_measured_as_on_the_path(classifier):
    committee, X, y = classifier
    path = path_chart(committee, evaluate_members(committee, X, y))
    F, at = committee.member_predictions(X), path["chosen"]
    predicted = combine(F, committee.weights_)
    if "squared" in path["measure"]:
        error = ((predicted - np.eye(3)[y]) ** 2).sum(axis=1)
    else:
        error = predicted.argmax(axis=1) != y
    assert path["here"][at] == pytest.approx(error.mean())


def test_an_ordering_has_a_committee_of_every_size():
    committee, X, y = committee_with(BestPruner(4))
    path = path_chart(committee, evaluate_members(committee, X, y))
    assert path["size"] == list(range(1, 13))
    assert path["chosen"] == 3
    order = committee.combiner_.order_
    assert sorted(path["members"][1]) == sorted(order[:2].tolist())
    # Members that were left out are not at hand.
    assert path["here"][3] == pytest.approx(np.mean(committee.predict(X) != y))
    assert np.isfinite(path["here"][:4]).all()
    assert np.isnan(path["here"][4:]).all()
    assert path["measure"] == "error rate on the weighing rows"
    assert path["error"] == committee.combiner_.path_.error.tolist()
    assert path["note"] == ""


def test_sizes_that_come_again_are_shown_once():
    committee, X, y = committee_with(GreedyPruner(10))
    path = path_chart(committee, evaluate_members(committee, X, y))
    assert path["size"] == sorted(set(path["size"]))


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc_ovr"])
def test_a_greedy_path_is_the_pruners_and_not_of_these_rows(scoring):
    committee, X, y = committee_with(GreedyPruner(10, scoring=scoring))
    greedy = committee.combiner_.path_
    path = path_chart(committee, evaluate_members(committee, X, y))
    least = {n: greedy.error[greedy.size == n].min() for n in path["size"]}
    at = path["chosen"]
    others = [i for i in range(len(path["size"])) if i != at]
    for i in others:
        assert path["error"][i] == least[path["size"][i]]
    assert path["error"][at] == greedy.error.min()
    assert path["error_se"] is None
    name = f"minus {scoring}" if scoring else "squared error of probabilities"
    assert path["measure"] == f"{name} on the weighing rows"
    # What is drawn beside it is measured alike, on these rows.
    predicted = combine(committee.member_predictions(X), committee.weights_)
    here = {
        None: ((predicted - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "accuracy": -np.mean(predicted.argmax(axis=1) == y),
    }
    if scoring in here:
        assert path["here"][at] == pytest.approx(here[scoring])
    # Other rows choose nothing.
    again = path_chart(committee, evaluate_members(committee, X[::-2], y[::-2]))
    assert again["members"] == path["members"]
    assert again["error"] == path["error"]
    assert ", with its standard error" not in report(committee, X, y)


def test_held_out_votes_have_a_note():
    X, y = load_breast_cancer(return_X_y=True)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(8),
        combiner=EPPruner(),
        random_state=0,
    ).fit(X[:200], y[:200])
    path = path_chart(committee, evaluate_members(committee, X[200:], y[200:]))
    assert path["measure"] == "leave-one-out error rate"
    assert path["note"] == "rows on which no member has a vote count half"
    assert path["alt"].endswith("Rows on which no member has a vote count half.")
    assert "On the blue line rows on which no member has a vote" in report(
        committee, X[200:], y[200:]
    )


def test_long_paths_and_large_committees_are_cut(monkeypatch):
    committee, X, y = committee_with(BestPruner(4))
    monkeypatch.setattr(module, "_MOST_SIZES", 3)
    monkeypatch.setattr(module, "_MOST_MEMBERS", 2)
    path = path_chart(committee, evaluate_members(committee, X, y))
    assert path["size"] == [1, 4, 7, 12] or path["size"] == [1, 4, 6, 12]
    assert path["size"][path["chosen"]] == 4
    assert [len(m) for m in path["members"]] == [1, 2, 2, 2]
    assert path["more"][-1] == 10


def test_a_pruned_forest_knows_the_bytes_and_not_all_members(pruned):
    small, X, y = pruned
    path = path_chart(small, evaluate_members(small, X, y))
    at = path["chosen"]
    assert sorted(path["members"][at]) == sorted(small.support_.tolist())
    assert path["size"][at] == small.n_members_
    assert all(b > 0 for b in path["bytes"])
    assert path["measure"] == small.path_.measure == "cross-fitted error rate"
    assert set(path["error"]) <= set(small.path_.error)
    assert path["note"] == ""
    assert np.isfinite(path["here"][at])
    missing = [not set(m) <= set(small.support_) for m in path["members"]]
    assert [bool(np.isnan(e)) for e in path["here"]] == missing


def test_without_a_pruner_there_is_no_path():
    committee, X, y = committee_with(Average())
    assert path_chart(committee, evaluate_members(committee, X, y)) is None
