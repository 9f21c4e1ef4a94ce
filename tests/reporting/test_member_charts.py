"""The numbers of the charts are those of the diagnostics."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    EPPruner,
    GreedyPruner,
    OrderPruner,
    combine,
    pairwise_kappa,
    report,
)
from committee import ambiguity as terms_of
from committee.reporting import charts, evaluation
from committee.reporting.evaluation import evaluate_members


def test_weights_are_the_largest_with_their_spread(classifier, regressor):
    committee, _, _ = classifier
    names = [f"#{m}" for m in committee.support_]
    shown = charts.weights(committee, names)
    order = np.argsort(-committee.weights_, kind="stable")[: committee.n_members_]
    assert shown["names"] == [names[m] for m in order]
    np.testing.assert_allclose(shown["weight"], committee.weights_[order])
    assert shown["more"] == 0
    assert shown["names"][0] in shown["alt"]
    other = regressor[0]
    spread = charts.weights(other, [str(m) for m in other.support_])["std"]
    assert spread is None or min(spread) > 0
    assert charts.weights(RandomForestClassifier(), names) is None


def pairs_of(evaluated, kept):
    return charts.pairs(evaluated, kept, [f"#{m}" for m in evaluated.numbers])


def test_pairs_of_classifiers_have_kappa_and_error(classifier):
    committee, X, y = classifier
    evaluated = evaluate_members(committee, X, y)
    shown = pairs_of(evaluated, np.array([0, 1]))
    M = committee.n_members_
    assert shown["n_pairs"] == M * (M - 1) // 2
    assert len(shown["others"]) == shown["n_others"] == shown["n_pairs"] - 1
    kappa = pairwise_kappa(committee.member_predictions(X))
    [[x, e]] = shown["kept"]
    assert x == pytest.approx(kappa[0, 1])
    assert e == pytest.approx(evaluated.errors[:2].mean())
    assert [x for x, _ in shown["hull"]] == sorted(x for x, _ in shown["hull"])


def test_kappa_counts_a_row_of_weight_two_twice(classifier):
    committee, X, y = classifier
    s = np.where(np.arange(len(y)) < 20, 2.0, 1.0)
    shown = pairs_of(
        evaluate_members(committee, X, y, sample_weight=s), np.array([0, 1])
    )
    F = committee.member_predictions(np.vstack([X, X[:20]]))
    assert shown["kept"][0][0] == pytest.approx(pairwise_kappa(F)[0, 1])


def test_pairs_of_regressors_have_the_correlation_of_their_errors(regressor):
    committee, X, y = regressor
    shown = pairs_of(evaluate_members(committee, X, y), np.array([0, 1]))
    E = committee.member_predictions(X)[:, :2] - y[:, None]
    cosine = (E[:, 0] @ E[:, 1]) / np.sqrt((E**2).sum(axis=0).prod())
    assert shown["kept"][0][0] == pytest.approx(cosine)
    assert shown["x_label"] == "correlation of the errors"


def test_a_member_alone_is_no_pair():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(1, random_state=0).fit(X, y)
    assert pairs_of(evaluate_members(forest, X, y), np.array([0])) is None


def test_of_many_pairs_a_sample_is_drawn(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(charts, "_MOST_POINTS", 4)
    shown = pairs_of(evaluate_members(committee, X, y), np.arange(3))
    assert len(shown["others"]) == 4
    assert shown["n_others"] == shown["n_pairs"] - 3
    assert len(shown["kept"]) == 3


def test_of_very_many_members_some_are_compared(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(evaluation, "_MOST_IN_PAIRS", 4)
    evaluated = evaluate_members(committee, X, y)
    first, second = evaluated.leading[:2]
    shown = pairs_of(evaluated, np.array([first, second]))
    assert shown["n_pairs"] == 6
    kappa = pairwise_kappa(committee.member_predictions(X))
    assert shown["kept"][0][0] == pytest.approx(kappa[first, second])
    assert charts.ambiguity(evaluated, committee.weights_)["size"] == [
        1,
        2,
        3,
        4,
    ]


def test_ambiguity_is_an_identity_at_every_size(classifier):
    committee, X, y = classifier
    F, w = committee.member_predictions(X), committee.weights_
    shown = charts.ambiguity(evaluate_members(committee, X, y), w)
    total = terms_of(F, y, w / w.sum())
    # The line ends at the committee itself.
    assert shown["weighted"]
    assert shown["ensemble"][-1] == pytest.approx(total.ensemble_error)
    assert shown["diversity"][-1] == pytest.approx(total.diversity)
    order = np.argsort(-w, kind="stable")
    for k in (1, 3, len(w)):
        u = w[order[:k]]
        plain = terms_of(F[:, order[:k]], y, u / u.sum())
        at = shown["size"].index(k)
        assert shown["ensemble"][at] == pytest.approx(plain.ensemble_error)
        assert shown["member"][at] == pytest.approx(plain.member_error)


def test_scores_of_a_booster_have_no_ambiguity():
    X, y = load_digits(return_X_y=True)
    booster = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(X, y)
    evaluated = evaluate_members(booster, X, y)
    assert charts.ambiguity(evaluated, evaluated.roster.weights) is None


def test_confusion_counts_rows(classifier):
    committee, X, y = classifier
    shown = charts.confusion(evaluate_members(committee, X, y))
    counts = np.array(shown["counts"]).astype(float)
    assert counts.sum() == len(y)
    assert np.trace(counts) == np.sum(committee.predict(X) == y)
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(y))
    np.testing.assert_allclose(np.sum(shown["share"], axis=1), 1.0, atol=0.002)


def test_very_many_classes_have_no_matrix_but_a_line_each(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(charts, "_MOST_CLASSES", 2)
    page = report(committee, X, y)
    assert "Confusion</h3>" not in page
    assert "By class" in page


def test_residuals_are_targets_less_predictions(regressor):
    committee, X, y = regressor
    shown = charts.residuals(evaluate_members(committee, X, y))
    predicted = committee.predict(X)
    np.testing.assert_allclose(
        shown["points"], np.column_stack([predicted, y - predicted])
    )


def test_everything_is_json(classifier, regressor):
    for committee, X, y in (classifier, regressor):
        evaluated = evaluate_members(committee, X, y)
        kept = np.flatnonzero(committee.weights_)
        json.dumps(
            [
                charts.weights(committee, [str(m) for m in kept]),
                pairs_of(evaluated, kept),
                charts.ambiguity(evaluated, committee.weights_),
                charts.curves(evaluated) if evaluated.is_classifier else None,
                (charts.confusion if evaluated.F.ndim == 3 else charts.residuals)(
                    evaluated
                ),
            ],
            allow_nan=False,
        )


def path_of(committee, X, y):
    return charts.path_chart(committee, evaluate_members(committee, X, y))


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
    path = path_of(committee, X, y)
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
    path = path_of(committee, X, y)
    F, at = committee.member_predictions(X), path["chosen"]
    predicted = combine(F, committee.weights_)
    if "squared" in path["measure"]:
        error = ((predicted - np.eye(3)[y]) ** 2).sum(axis=1)
    else:
        error = predicted.argmax(axis=1) != y
    assert path["here"][at] == pytest.approx(error.mean())


def test_an_ordering_has_a_committee_of_every_size():
    committee, X, y = committee_with(OrderPruner("best", 4))
    path = path_of(committee, X, y)
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
    path = path_of(committee, X, y)
    assert path["size"] == sorted(set(path["size"]))


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc_ovr"])
def test_a_greedy_path_is_the_pruners_and_not_of_these_rows(scoring):
    committee, X, y = committee_with(GreedyPruner(10, scoring=scoring))
    greedy = committee.combiner_.path_
    path = path_of(committee, X, y)
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
    again = path_of(committee, X[::-2], y[::-2])
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
    path = path_of(committee, X[200:], y[200:])
    assert path["measure"] == "leave-one-out error rate"
    assert path["note"] == "rows on which no member has a vote count half"
    assert path["alt"].endswith("Rows on which no member has a vote count half.")
    assert "For the blue line, rows on which no member has a vote" in report(
        committee, X[200:], y[200:]
    )


def test_long_paths_and_large_committees_are_cut(monkeypatch):
    committee, X, y = committee_with(OrderPruner("best", 4))
    monkeypatch.setattr(charts, "_MOST_STEPS", 3)
    monkeypatch.setattr(charts, "_MOST_MEMBERS", 2)
    path = path_of(committee, X, y)
    assert path["size"] == [1, 4, 7, 12] or path["size"] == [1, 4, 6, 12]
    assert path["size"][path["chosen"]] == 4
    assert [len(m) for m in path["members"]] == [1, 2, 2, 2]
    assert path["more"][-1] == 10


def test_a_pruned_forest_knows_the_bytes_and_not_all_members(pruned):
    small, X, y = pruned
    path = path_of(small, X, y)
    at = path["chosen"]
    assert sorted(path["members"][at]) == sorted(small.support_.tolist())
    assert path["size"][at] == small.n_members_
    assert all(b > 0 for b in path["bytes"])
    assert path["measure"] == small.path_.measure == "held-out error rate"
    assert set(path["error"]) <= set(small.path_.error)
    assert path["note"] == ""
    # Members that were left out predict as well, as long as they are at hand.
    assert np.isfinite(path["here"]).all()
    again = pickle.loads(pickle.dumps(small))
    copied = path_of(again, X, y)
    missing = [not set(m) <= set(small.support_) for m in path["members"]]
    assert [bool(np.isnan(e)) for e in copied["here"]] == missing


def test_without_a_pruner_there_is_no_path():
    committee, X, y = committee_with(Average())
    assert path_of(committee, X, y) is None


def test_few_pairs_have_the_names_of_their_members(regressor, classifier):
    for committee, X, y in (regressor, classifier):
        few = evaluate_members(committee.members_[:4], X, y)
        names = ["a", "b", "c", "d"]
        labels = charts.pairs(few, np.arange(4), names)["labels"]
        assert [label["names"] for label in labels][:2] == [["a", "b"], ["a", "c"]]
    many = evaluate_members(RandomForestClassifier(9).fit(X, y), X, y)
    assert pairs_of(many, np.arange(9))["labels"] is None


def test_many_equal_weights_are_one_bar():
    X, y = load_wine(return_X_y=True)
    committee = CommitteeClassifier(generator=Bagging(25), random_state=0).fit(X, y)
    shown = charts.weights(committee, [str(m) for m in range(25)])
    assert shown["names"] == ["25 members, each"]
    assert shown["weight"] == [1 / 25]
    assert shown["more"] == 0
    assert "all have the same, 0.04" in shown["alt"]


def test_the_slider_has_the_weights_of_the_table(pruned):
    small, X, y = pruned
    path = path_of(small, X, y)
    at = path["chosen"]
    by_number = dict(zip(path["members"][at], path["weights"][at], strict=True))
    for m, w in zip(small.support_, small.weights_, strict=True):
        assert by_number[m] == w
    assert sum(path["weights"][0]) == pytest.approx(1.0)  # shares at other sizes too
    assert path["format"] == {"scale": 100, "decimals": 2, "unit": " %"}
