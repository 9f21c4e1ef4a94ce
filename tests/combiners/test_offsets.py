"""What a combiner may add to its weighted sums, and where it arrives."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelRegressor,
    Pool,
    PruningPathDisplay,
    SoftmaxGate,
    member_predictions,
    prune,
)
from committee.combiners import Combiner
from committee.interop import CommitteeEnsembler
from committee.path import Path
from committee.reporting.evaluation import evaluate_members
from tests.reference.problems import make_problem


class Shifted(Combiner):
    """Weights 1/m for the first m members, and a constant; a path of m = 1..M."""

    takes_chunks: ClassVar[bool] = True

    def __init__(self, n_members=2, by=5.0, logarithms=False):
        self.n_members, self.by, self.logarithms = n_members, by, logarithms

    def _weigh(self, votes):
        M, K = votes.n_members, votes.n_classes
        W = np.tril(np.ones((M, M))) / np.arange(1, M + 1)[:, None]
        by = float(self.by) if K is None else self.by * np.arange(K)
        offsets = np.arange(1, M + 1).reshape(-1, *([1] if K else [])) * by
        if K is None:
            self.intercept_ = float(offsets[self.n_members - 1])
        else:
            self.offsets_ = offsets[self.n_members - 1]
            self.floor_, self.slope_ = 1e-3, 1.0
        unknown = np.arange(float(M))
        self.path_ = Path(
            W, unknown, unknown, "made-up error", floor=self.floor_, offsets=offsets
        )
        return W[self.n_members - 1]


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def labels():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order[:90]], y[order[:90]], X[order[90:]], y[order[90:]]


REGRESSORS = Pool([Ridge(0.1), DecisionTreeRegressor(max_depth=3), Ridge(9.0)])
CLASSIFIERS = Pool(
    [
        LogisticRegression(max_iter=5000),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2),
    ]
)


def test_combine_adds_them():
    F, y = make_problem("regression")
    combiner = Shifted().fit(F, y)
    np.testing.assert_allclose(combiner.combine(F), F[:, :2].mean(axis=1) + 10)
    np.testing.assert_array_equal(combiner.support_, [0, 1])
    F, y = make_problem("multiclass")
    combiner = Shifted(by=0.5).fit(F, y)
    z = np.log(np.clip(F, 1e-3, 1))[:, :2].mean(axis=1)
    np.testing.assert_allclose(combiner.combine(F), z + np.arange(3))


def test_a_regressor_adds_its_intercept_everywhere(numbers):
    X, y, X_new, _ = numbers
    plain, shifted = (
        CommitteeRegressor(
            generator=REGRESSORS, combiner=Shifted(by=by), uncertainty=True
        ).fit(X, y)
        for by in (0.0, 5.0)
    )
    assert (plain.intercept_, shifted.intercept_) == (0.0, 10.0)
    assert shifted.n_members_ == 2
    expected = plain.predict(X_new) + 10
    np.testing.assert_allclose(shifted.predict(X_new), expected)
    lazy = pytest.importorskip("dask.array").from_array(X_new, chunks=(50, 10))
    np.testing.assert_allclose(shifted.predict(lazy).compute(), expected)
    native = shifted.to_sklearn()
    np.testing.assert_allclose(native.predict(X_new), expected)
    again = pickle.loads(pickle.dumps(shifted))
    np.testing.assert_array_equal(again.predict(X_new), shifted.predict(X_new))
    for method in ("scaled", "constant", "jackknife+"):
        middle = shifted.predict_interval(X_new, method=method).mean(axis=1)
        np.testing.assert_allclose(middle, expected)


def test_every_step_of_a_regression_path_has_its_own(numbers):
    X, y, X_new, y_new = numbers
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new, combiner=Shifted())
    F = member_predictions(forest, X)
    copied = pickle.loads(pickle.dumps(small))
    for k, source in ((1, small), (2, small), (5, small), (1, copied)):
        made = source.path_.choose(max_members=k)
        assert made.n_members_ == k
        assert made.intercept_ == made.combiner_.intercept_ == 5.0 * k
        expected = F[:, :k].mean(axis=1) + 5.0 * k
        np.testing.assert_allclose(made.predict(X), expected)
    found = small.path_.error[[0, 4]]
    F = member_predictions(forest, X_new)
    known = [
        np.sqrt(np.mean((F[:, :k].mean(axis=1) + 5.0 * k - y_new) ** 2)) for k in (1, 5)
    ]
    np.testing.assert_allclose(found, known)
    shown = PruningPathDisplay.from_estimator(small, X_test=X_new, y_test=y_new)
    np.testing.assert_allclose(shown.test_error[[0, 1]], small.path_.error[[0, 1]])
    np.testing.assert_allclose(small.summary().error_after, small.path_.error[1])
    answers = evaluate_members(small, X_new, y_new).answers
    np.testing.assert_allclose(answers["committee"].predicted, small.predict(X_new))


def test_trees_with_an_intercept_become_a_stack(numbers):
    X, y, X_new, y_new = numbers
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new, combiner=Shifted())
    np.testing.assert_allclose(small.to_sklearn().predict(X), small.predict(X))
    booster = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    rounds = prune(booster, X_new, y_new, combiner=Shifted())
    np.testing.assert_allclose(rounds.to_sklearn().predict(X), rounds.predict(X))


def test_a_classifier_adds_its_offsets_everywhere(labels):
    X, y, X_new, y_new = labels
    fitted = CommitteeClassifier(
        generator=CLASSIFIERS, combiner=Shifted(by=0.5), uncertainty=True
    ).fit(X, y)
    F = fitted.member_predictions(X_new)
    assert F.shape[1] == 2
    s = np.log(np.clip(F, 1e-3, 1)).mean(axis=1) + np.arange(3)
    p = softmax(s, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X_new), p)
    np.testing.assert_array_equal(fitted.predict(X_new), p.argmax(axis=1))
    np.testing.assert_allclose(fitted.offsets_, [0, 1, 2])
    lazy = pytest.importorskip("dask.array").from_array(X_new, chunks=(20, 4))
    np.testing.assert_allclose(fitted.predict_proba(lazy).compute(), p)
    members = [member.fit(X, y) for member in CLASSIFIERS.members]
    small = prune(members, X_new, y_new, combiner=Shifted(by=0.5), calibration=None)
    F = member_predictions(members, X)
    for k, source in ((2, small), (3, small), (1, pickle.loads(pickle.dumps(small)))):
        made = source.path_.choose(max_members=k)
        s = np.log(np.clip(F[:, :k], 1e-3, 1)).mean(axis=1)
        expected = softmax(s + 0.5 * k * np.arange(3), axis=1)
        np.testing.assert_allclose(made.predict_proba(X), expected, atol=1e-12)
    found = small.summary()
    p = small.predict_proba(X_new)
    assert found.log_loss_after == pytest.approx(
        -np.log(p[np.arange(len(y_new)), y_new]).mean()
    )


def test_members_that_abstain_leave_them_as_they_are(numbers):
    X, y, X_new, _ = numbers
    bags = [
        CommitteeRegressor(
            generator=Bagging(4),
            combiner=Shifted(by=by),
            uncertainty=True,
            random_state=0,
        ).fit(X, y)
        for by in (0.0, 1e6)
    ]
    np.testing.assert_allclose(
        bags[1].predict(X_new), bags[0].predict(X_new) + 2e6, rtol=1e-12
    )
    for known in (bags[1]._held_out_rows.residual, bags[1]._held_out_rows.left_out):
        assert np.nanmin(known) > 1.9e6


def test_a_gate_has_no_constant(numbers, labels):
    X, y, X_new, y_new = numbers
    gated = CommitteeRegressor(
        generator=REGRESSORS, combiner=Shifted(by=1e6), gate=SoftmaxGate()
    ).fit(X, y)
    assert gated.predict(X_new).max() < 1e3
    assert gated.intercept_ == 0.0
    fitted = CommitteeRegressor(generator=REGRESSORS, combiner=Shifted(by=1e6))
    later = fitted.fit(X, y).with_gate(SoftmaxGate(), X_new, y_new)
    assert later.predict(X_new).max() < 1e3


def test_others_add_it_or_refuse_it(numbers):
    X, y, *_ = numbers
    with pytest.raises(ValueError, match="adds an intercept: use a combiner"):
        CoupledKernelRegressor(2, combiner=Shifted()).fit(X, y)
    F, y = make_problem("regression")
    found = CommitteeEnsembler(combiner=Shifted(), problem_type="regression")
    found.fit(F.T, y)
    np.testing.assert_allclose(found.predict_proba(F.T), F[:, :2].mean(axis=1) + 10)
