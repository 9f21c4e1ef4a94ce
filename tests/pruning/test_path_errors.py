"""The ensemble and its committees are measured alike, and their probabilities hold."""

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score

from committee import (
    Bagging,
    CommitteeClassifier,
    EPPruner,
    SimplexWeights,
    load,
    prune,
    save,
)


@cache
def rows(K=2):
    X, y = make_classification(
        *(2400, 12), n_informative=6, n_classes=K, flip_y=0.1, random_state=1
    )
    return X[:400], y[:400], X[400:], y[400:]


@cache
def forest(K=2):
    X, y, _, _ = rows(K)
    return RandomForestClassifier(60, random_state=0).fit(X, y)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("limits", [{}, {"max_members": 8}])
def test_probabilities_of_few_members_hold_on_fresh_rows(K, limits):
    """The mean of few trees that are sure of themselves costs far more."""
    X, y, X_new, y_new = rows(K)
    small = prune(forest(K), X, y, oob=True)
    if limits:
        small = small.path_.choose(**limits)
    s = np.tensordot(small.member_predictions(X_new), small.weights_, axes=(1, 0))
    s = np.minimum(s, 1.0)  # weights may sum to 1 + rounding
    found = log_loss(y_new, small.predict_proba(X_new))
    assert found < log_loss(y_new, s) - 0.05
    # Another slope, chosen on the fresh rows themselves, is hardly better.
    best = min(
        log_loss(y_new, p / p.sum(axis=1, keepdims=True))
        for p in (np.exp(t * s) for t in np.linspace(1, 10, 40))
    )
    assert found < best + 0.02
    p = small.predict_proba(X_new)[np.arange(len(y_new)), y_new]
    se = np.log(p).std() / np.sqrt(len(y))
    assert abs(small.summary().log_loss_after - found) < 4 * se


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(
    ("combiner", "n_trees"), [("average", 10), ("average", 60), ("orientation", 60)]
)
def test_log_losses_out_of_bag_are_those_of_fresh_rows(combiner, n_trees, K):
    """Of plain shares of votes, within 4 standard errors of as many fresh rows."""
    X, y, X_new, y_new = rows(K)
    model = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    small = prune(model, X, y, oob=True, combiner=combiner, calibration=None)
    summary = small.summary()
    found = summary.log_loss_before, summary.log_loss_after
    for shown, each in zip(found, (model, small), strict=True):
        p = each.predict_proba(X_new)[np.arange(len(y_new)), y_new]
        losses = -np.log(np.maximum(p, np.finfo(float).eps))
        assert abs(shown - losses.mean()) < 4 * losses.std() / np.sqrt(len(y))


def test_pruning_a_weighed_committee_keeps_its_probabilities():
    """Its weights were learned on these rows: before and after are measured alike."""
    X, y, X_new, y_new = rows()
    committee = CommitteeClassifier(
        generator=Bagging(60), combiner=EPPruner(), random_state=0
    ).fit(X, y)
    small = prune(committee, X, y, oob=True)
    before, after = (
        log_loss(y_new, model.predict_proba(X_new)) for model in (committee, small)
    )
    assert after < before + 0.02
    summary = small.summary()
    assert summary.n_members_before == summary.n_members_after
    assert summary.difference == summary.difference_se == 0.0
    assert summary.log_loss_before == pytest.approx(before, rel=0.25)


def test_the_calibration_of_the_ensemble_counts_before_pruning():
    X, y, *_ = rows()
    committee = CommitteeClassifier(
        generator=Bagging(6), combiner=EPPruner(), calibration="slope", random_state=0
    ).fit(X, y)
    # Members that `fit` leaves out cannot be chosen in a fold of `prune`: held-out sums,
    # and so the slopes, would differ.
    assert committee.n_members_ == 6
    small = prune(committee, X, y, oob=True)
    # The search for log t stops within 1e-5.
    slope = committee.slope_ * committee.weights_.sum()
    assert small.slope_ == pytest.approx(slope, rel=1e-5)
    summary = small.summary()
    assert summary.n_members_before == summary.n_members_after
    assert summary.log_loss_before == pytest.approx(summary.log_loss_after, rel=1e-5)


def test_the_slope_is_found_once_and_goes_along():
    X, y, X_new, _ = rows()
    small = prune(forest(), X, y, oob=True)
    before = vars(small).keys()
    p = small.predict_proba(X_new)
    assert vars(small).keys() == before
    copy = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(copy.predict_proba(X_new), p)
    del small.path_
    np.testing.assert_array_equal(small.predict_proba(X_new), p)


def test_too_few_rows_for_folds_leave_the_weighted_mean():
    _, _, X_new, y_new = rows()
    small = prune(forest(), X_new[:4], y_new[:4], oob=False, combiner=SimplexWeights())
    s = np.tensordot(small.member_predictions(X_new), small.weights_, axes=(1, 0))
    s = np.minimum(s, 1.0)  # weights may sum to 1 + rounding
    assert small.slope_ is None
    np.testing.assert_allclose(small.predict_proba(X_new), s, atol=1e-12)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc"])
def test_scoring_is_what_path_and_summary_measure(scoring):
    _, _, X_new, y_new = rows()
    X, y, X_test, y_test = X_new[:600], y_new[:600], X_new[600:], y_new[600:]
    small = prune(forest(), X, y, scoring=scoring)
    summary = small.summary()

    def error(model, X, y):
        p = model.predict_proba(X)
        return log_loss(y, p) if "log" in scoring else 1 - roc_auc_score(y, p[:, 1])

    assert summary.measure == ("log-loss" if "log" in scoring else "1 - AUC")
    assert summary.error_before == pytest.approx(error(forest(), X, y), rel=1e-6)
    gap = error(small, X_test, y_test) - error(forest(), X_test, y_test)
    assert abs(summary.difference - gap) < 3 * summary.difference_se
    assert small.path_.measure == f"held-out {summary.measure}"
    with pytest.raises(ValueError, match="scoring must be one of accuracy"):
        prune(forest(), X, y, scoring="r2")


def test_another_scoring_without_pruning_again():
    _, _, X, y = rows()
    X, y = X[:600], y[:600]
    small = prune(forest(), X, y)
    told = prune(forest(), X, y, scoring="neg_log_loss")
    limits = {"max_members": 12, "within_se": 1.0}
    chosen = small.path_.choose(scoring="neg_log_loss", **limits)
    expected = told.path_.choose(**limits)
    np.testing.assert_array_equal(chosen.support_, expected.support_)
    assert chosen.path_.measure == "held-out log-loss"
    np.testing.assert_allclose(chosen.path_.error, told.path_.error, rtol=1e-12)
    assert chosen.summary().measure == "log-loss"
    # The path that was asked still has its own errors.
    assert small.path_.measure == "held-out error rate"
    back = chosen.path_.choose(scoring="accuracy", **limits)
    np.testing.assert_array_equal(back.support_, small.path_.choose(**limits).support_)
    for wrong in ("r2", "neg_mean_absolute_error"):
        with pytest.raises(ValueError, match="scoring must be one of accuracy"):
            small.path_.choose(scoring=wrong)
    with pytest.raises(ValueError, match="its leave-one-out error rate"):
        small.combiner_.fit(small.member_predictions(X), y).path_.choose(
            scoring="roc_auc"
        )


def test_files_choose_by_the_scoring_that_they_were_saved_with(tmp_path):
    _, _, X, y = rows()
    small = prune(forest(), X[:600], y[:600], scoring="neg_log_loss")
    save(small, tmp_path / "model", whole_path=True)
    path = load(tmp_path / "model").path_
    limits = {"max_members": 8}
    same = path.choose(scoring="neg_log_loss", **limits)
    np.testing.assert_array_equal(same.support_, path.choose(**limits).support_)
    with pytest.raises(ValueError, match=r"prune with scoring='roc_auc' before"):
        path.choose(scoring="roc_auc", **limits)
