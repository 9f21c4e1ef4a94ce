"""Voting, stacking and lists: their members, and votes of weighted members."""

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import member_predictions
from committee.ensembles import roster_of
from committee.ensembles.member_features import OnColumns
from committee.ensembles.voting import (
    on_all_columns,
    voting_classifier,
    voting_regressor,
)
from tests.export.cases import LABELS, rows

TWO = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]
TWO_NUMBERS = [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]


def _classifiers(*members):
    X, y = rows("multiclass")
    codes = np.unique(y, return_inverse=True)[1]
    return X, codes, [member.fit(X, codes) for member in members]


def _how(output="soft"):
    return {
        "classes": np.sort(LABELS),
        "member_classes": np.arange(3),
        "output": output,
    }


@pytest.mark.parametrize(
    ("weights", "kind"),
    [((0.25, 0.75), VotingRegressor), ((0.5, 1.0), StackingRegressor)],
)
def test_regression_is_the_weighted_sum(weights, kind):
    X, y = rows("regression")
    members = [Ridge(a).fit(X, y) for a in (1.0, 100.0)]
    model = voting_regressor(members, weights)
    f = sum(w * m.predict(X) for w, m in zip(weights, members, strict=True))
    np.testing.assert_allclose(model.predict(X), f, atol=1e-13)
    assert type(model) is kind
    assert model.n_features_in_ == 6
    assert model.named_estimators_["member1"] is members[1]


def test_probabilities_are_the_weighted_mean_for_any_scale():
    X, _, members = _classifiers(GaussianNB(), LogisticRegression())
    p = 0.2 * members[0].predict_proba(X) + 0.8 * members[1].predict_proba(X)
    model = voting_classifier(members, [1.0, 4.0], **_how())
    np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-14)
    np.testing.assert_array_equal(model.predict(X), np.sort(LABELS)[p.argmax(axis=1)])


def test_votes_are_counted_by_weight():
    X, _, members = _classifiers(GaussianNB(), LinearSVC(), LogisticRegression())
    votes = sum(
        w * np.eye(3)[m.predict(X)] for w, m in zip([2, 1, 1], members, strict=True)
    )
    model = voting_classifier(members, [2, 1, 1], **_how("hard"))
    expected = np.sort(LABELS)[votes.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)


def test_columns_are_picked_by_a_pipeline():
    X, y = rows("regression")
    columns = np.array([5, 1])
    member = OnColumns(Ridge().fit(X[:, columns], y), columns)
    picked = on_all_columns(member, 6)
    np.testing.assert_array_equal(picked.predict(X), member.predict(X))
    assert on_all_columns(member.estimator, 2) is member.estimator


def test_what_cannot_be_averaged_is_refused():
    X, codes, members = _classifiers(GaussianNB(), LinearSVC())
    with pytest.raises(ValueError, match="Got a LinearSVC without it"):
        voting_classifier(members, [1, 1], **_how())
    two = GaussianNB().fit(X[codes < 2], codes[codes < 2])
    with pytest.raises(ValueError, match="Got a GaussianNB with 2"):
        voting_classifier([members[0], two], [1, 1], **_how())
    labels = {**_how("hard"), "member_classes": np.sort(LABELS)}
    with pytest.raises(ValueError, match=r"codes 0..2. Got members that vote for"):
        voting_classifier(members, [1, 1], **labels)


@pytest.mark.parametrize("prefit", [False, True])
def test_stacking_gives_its_first_layer(prefit):
    X, y = rows("multiclass")
    if prefit:
        layer = [(name, model.fit(X, y)) for name, model in TWO]
        stacking = StackingClassifier(layer, cv="prefit").fit(X, y)
    else:
        stacking = StackingClassifier(TWO).fit(X, y)
    assert roster_of(stacking).weights is None
    F = member_predictions(stacking, X)
    for m, (_, model) in enumerate(TWO):
        np.testing.assert_allclose(F[:, m], model.fit(X, y).predict_proba(X))


def test_stacking_of_regressors():
    X, y = rows("regression")
    F = member_predictions(StackingRegressor(TWO_NUMBERS).fit(X, y), X)
    np.testing.assert_allclose(F[:, 0], Ridge().fit(X, y).predict(X))


def test_a_list_holds_estimators_of_one_task():
    X, y = rows("regression")
    with pytest.raises(TypeError, match="A list must contain fitted scikit-learn"):
        roster_of([object()])
    with pytest.raises(ValueError, match="Got both"):
        roster_of([Ridge().fit(X, y), GaussianNB().fit(X, y > 0)])
