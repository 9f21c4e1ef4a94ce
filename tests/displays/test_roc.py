"""ROC curves, their areas and DeLong's standard error."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    RocCommitteeDisplay,
    SimplexWeights,
    combine,
)
from committee.displays.roc import delong, roc


def plain_delong(positive, score):
    """The definition: every positive row against every other, ties as halves."""
    psi = np.sign(score[positive][:, None] - score[~positive]) / 2 + 0.5
    V1, V0 = psi.mean(axis=1), psi.mean(axis=0)
    variance = V1.var(ddof=1) / len(V1) + V0.var(ddof=1) / len(V0)
    return psi.mean(), np.sqrt(variance)


@pytest.mark.parametrize("ties", [False, True])
def test_area_against_all_pairs_and_curve_against_scikit_learn(ties, rng):
    positive = rng.random(60) < 0.3
    score = rng.normal(size=60) + positive
    score = score.round() if ties else score
    assert delong(positive, score) == pytest.approx(plain_delong(positive, score))
    # Ranks are all that counts.
    assert delong(positive, score) == delong(positive, np.exp(score))
    fpr, tpr, _ = roc_curve(positive, score, drop_intermediate=False)
    assert np.array_equal(roc(positive, score), np.column_stack([fpr, tpr]))


def test_standard_error_is_the_spread_over_samples(rng):
    """Of 400 samples; the spread of so many has a relative error of 4 percent."""
    positive = np.arange(200) < 80
    found = [delong(positive, rng.normal(size=200) + positive) for _ in range(400)]
    auc, se = np.transpose(found)
    assert se.mean() == pytest.approx(auc.std(), rel=0.15)


def test_numbers_of_a_committee(binary_problem, rng, drawn):
    F, y = binary_problem
    w = rng.dirichlet(np.ones(7))
    display = drawn(RocCommitteeDisplay.from_predictions(F, y, w))
    score = combine(F, w)[:, 1]
    fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
    assert np.array_equal(display.fpr, fpr)
    assert np.array_equal(display.tpr, tpr)
    assert (display.auc, display.auc_se) == delong(y == 1, score)
    for m, (area, curve) in enumerate(
        zip(display.member_auc, display.member_curves, strict=True)
    ):
        assert area == pytest.approx(roc_auc_score(y, F[:, m, 1]))
        rates = roc_curve(y, F[:, m, 1], drop_intermediate=False)[:2]
        assert np.array_equal(curve, np.column_stack(rates))
    assert display.ax_.get_xlabel() == "false positive rate (positive: 1)"
    assert display.ax_.get_ylabel() == "true positive rate (positive: 1)"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"committee: AUC {display.auc:.3f} ± {display.auc_se:.3f}" in texts


def test_labels_of_any_type_stay_text(rng, drawn):
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, "$yes_1$", "<b>no")
    committee = CommitteeClassifier(
        generator=Bagging(5), combiner=SimplexWeights(), random_state=0
    ).fit(X[:40], y[:40])
    display = drawn(RocCommitteeDisplay.from_estimator(committee, X[40:], y[40:]))
    assert display.pos_label == "<b>no"  # the second in order
    assert "<b>no" in display.ax_.get_xlabel()
    p = committee.predict_proba(X[40:])
    assert display.auc == pytest.approx(roc_auc_score(y[40:] == "<b>no", p[:, 1]))
    other = drawn(
        RocCommitteeDisplay.from_estimator(
            committee, X[40:], y[40:], pos_label="$yes_1$"
        )
    )
    assert r"\$yes_1\$" in other.ax_.get_xlabel()
    assert other.auc == pytest.approx(roc_auc_score(y[40:] == "$yes_1$", p[:, 0]))


def test_members_curves_are_of_values_and_the_committees_of_votes(rng, drawn):
    X = rng.normal(size=(160, 2))
    y = np.where(X[:, 0] + rng.normal(size=160) > 0, "yes", "no")
    model = CoupledKernelClassifier(4, random_state=0).fit(X[:80], y[:80])
    X, y = X[80:], y[80:]
    for label, sign in (("yes", 1), ("no", -1)):
        display = drawn(
            RocCommitteeDisplay.from_estimator(model, X, y, pos_label=label)
        )
        f = sign * model.member_decision_function(X)
        areas = [roc_auc_score(y == label, column) for column in f.T]
        assert display.member_auc == pytest.approx(areas)
        assert min(map(len, display.member_curves)) > 20
        score = sign * model.decision_function(X)
        assert display.auc == pytest.approx(roc_auc_score(y == label, score))


def test_values_of_members_are_shaped_like_their_votes(binary_problem, rng):
    F, y = binary_problem
    votes = np.round(F)
    display = RocCommitteeDisplay.from_predictions(votes, y, member_scores=F)
    graded = RocCommitteeDisplay.from_predictions(F, y)
    np.testing.assert_array_equal(display.member_auc, graded.member_auc)
    assert display.auc == delong(y == 1, votes.mean(axis=1)[:, 1])[0]
    with pytest.raises(ValueError, match=r"shape of F, \(40, 7, 2\). Got \(40, 3, 2\)"):
        RocCommitteeDisplay.from_predictions(F, y, member_scores=F[:, :3])


def test_more_classes_need_a_positive_one(multiclass_problem, drawn):
    F, y = multiclass_problem
    with pytest.raises(ValueError, match=r"3 classes .* pass pos_label"):
        RocCommitteeDisplay.from_predictions(F, y)
    display = drawn(RocCommitteeDisplay.from_predictions(F, y, pos_label=2))
    score = F.mean(axis=1)[:, 2]
    assert display.auc == pytest.approx(roc_auc_score(y == 2, score))


def test_curves_of_many_rows_are_thinned_at_their_ends_not(rng):
    y = np.resize([0, 1], 5000)
    p = rng.random(size=(5000, 1))
    F = np.stack([1 - p, p], axis=2)
    (curve,) = RocCommitteeDisplay.from_predictions(F, y).member_curves
    assert len(curve) <= 400
    assert curve[[0, -1]].tolist() == [[0, 0], [1, 1]]


def test_one_positive_row_has_no_standard_error(drawn):
    F = np.array([[[0.1, 0.9]], [[0.6, 0.4]], [[0.5, 0.5]]])
    display = drawn(RocCommitteeDisplay.from_predictions(F, [1, 0, 0]))
    assert display.auc == 1.0
    assert np.isnan(display.auc_se)
    assert "±" not in display.ax_.get_legend().get_texts()[-1].get_text()


def test_wrong_input_is_refused(regression_problem, binary_problem, rng):
    with pytest.raises(ValueError, match=r"classes: F of shape \(N, M, K\)"):
        RocCommitteeDisplay.from_predictions(*regression_problem)
    F, y = binary_problem
    with pytest.raises(ValueError, match=r"Got 0 positive rows of 40"):
        RocCommitteeDisplay.from_predictions(F, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match=r"one of the classes \[0, 1\]. Got 5"):
        RocCommitteeDisplay.from_predictions(F, y, pos_label=5)
    X = rng.normal(size=(20, 2))
    regressor = CommitteeRegressor(generator=Bagging(2)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"is one of classes"):
        RocCommitteeDisplay.from_estimator(regressor, X, X[:, 0])
    classifier = CommitteeClassifier(generator=Bagging(2)).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"one of the classes .* Got 'no'"):
        RocCommitteeDisplay.from_estimator(classifier, X, X[:, 0] > 0, pos_label="no")
