"""One member's training: its rows, its seed, and what happens when it fails."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_blobs, make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    MemberFitError,
    MiniBatches,
    OptimalWeights,
    Pool,
    RandomInits,
)
from committee.members.training import set_random_states


class _FailsOnRow(RegressorMixin, BaseEstimator):
    """Cannot be trained on the row whose first feature is 7."""

    def fit(self, X, y):
        if np.any(X[:, 0] == 7):
            raise RuntimeError("row 7 is poison")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def _with_row_7(n=20):
    X = np.arange(float(n))[:, None]
    return X, X[:, 0]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_names_its_member_chains_the_cause_and_keeps_the_others(n_jobs):
    X, y = _with_row_7()
    generator = MiniBatches(10, repeats=1)
    committee = CommitteeRegressor(
        _FailsOnRow(), generator=generator, random_state=0, n_jobs=n_jobs
    )
    with pytest.raises(MemberFitError) as caught:
        committee.fit(X, y)
    error = caught.value
    assert f"Member {error.index} of 10 (_FailsOnRow) failed to fit" in str(error)
    assert "RuntimeError: row 7 is poison" in str(error)
    assert isinstance(error.__cause__, RuntimeError)
    assert error.index > 0
    assert len(error.members) == error.index
    assert all(np.isfinite(m.predict(X)).all() for m in error.members)


def test_every_member_before_the_failure_is_kept_whichever_fails():
    """Of ten disjoint parts exactly one holds row 7: try seeds until all have."""
    X, y = _with_row_7()
    failed = set()
    for seed in range(30):
        committee = CommitteeRegressor(
            _FailsOnRow(), generator=MiniBatches(4, repeats=1), random_state=seed
        )
        with pytest.raises(MemberFitError) as caught:
            committee.fit(X, y)
        assert len(caught.value.members) == caught.value.index
        failed.add(caught.value.index)
    assert failed == {0, 1, 2, 3}


def test_boosting_and_cross_fitting_say_which_member_failed():
    X, y = make_blobs(30, centers=2, random_state=0)
    bad = DecisionTreeClassifier(max_depth=-1)
    for generator in [AdaBoost(3), RandomInits(3)]:
        committee = CommitteeClassifier(bad, generator=generator)
        with pytest.raises(MemberFitError, match=r"Member 0 of 3.*max_depth") as caught:
            committee.fit(X, y)
        assert caught.value.index == 0
        assert caught.value.members == []


def test_a_member_that_fails_leaves_the_committee_unfitted_and_fit_works_again():
    X, y = _with_row_7()
    committee = CommitteeRegressor(_FailsOnRow(), generator=RandomInits(3))
    with pytest.raises(MemberFitError):
        committee.fit(X, y)
    assert not hasattr(committee, "members_")
    assert committee.fit(X[8:], y[8:]).predict(X).shape == (20,)


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        SVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["logistic", "svc", "pipeline"],
)
@pytest.mark.parametrize("combiner", [None, OptimalWeights()])
def test_members_whose_rows_have_one_class_predict_that_class(learner, combiner):
    """Parts of two rows: some have one class, which these learners refuse."""
    X, y = make_blobs(24, centers=2, random_state=0)
    labels = np.array(["no", "yes"])[y]
    committee = CommitteeClassifier(
        learner, generator=MiniBatches(12, repeats=1), combiner=combiner, random_state=0
    ).fit(X, labels)
    single = [m for m, e in enumerate(committee.members_) if len(e.classes_) == 1]
    assert 0 < len(single) < 12
    F = committee.member_predictions(X)
    for m in single:
        code = committee.members_[m].classes_[0]
        np.testing.assert_array_equal(F[:, m], np.tile(np.eye(2)[code], (24, 1)))
    assert set(committee.predict(X)) <= {"no", "yes"}


def test_a_learner_that_fails_for_another_reason_on_one_class_is_not_hidden():
    """The stand-in is for ValueErrors about classes, with a single class only."""
    X, y = make_blobs(30, centers=2, random_state=0)
    X[3, 0] = np.nan
    committee = CommitteeClassifier(LogisticRegression(), generator=CrossSplits(3, 1))
    with pytest.raises(MemberFitError, match="NaN"):
        committee.fit(X, y)


@pytest.mark.parametrize(
    "learner", [DecisionTreeClassifier(), LogisticRegression(), SVC()], ids=repr
)
def test_columns_line_up_where_members_missed_a_class(learner):
    """Four distant blobs: every member that saw the class knows its rows."""
    X, y = make_blobs(
        [10, 10, 10, 2], centers=[[0, 0], [0, 50], [50, 0], [50, 50]], random_state=0
    )
    labels = np.array(["d", "b", "c", "a"])[y]
    committee = CommitteeClassifier(
        learner,
        generator=MiniBatches(4, repeats=1),
        combiner=OptimalWeights(),
        random_state=0,
    ).fit(X, labels)
    assert any(len(m.classes_) < 4 for m in committee.members_)
    F = committee.member_predictions(X)
    assert F.shape == (32, 4, 4)
    np.testing.assert_allclose(F.sum(axis=2), 1.0, rtol=1e-12)
    for m, member in enumerate(committee.members_):
        missing = np.setdiff1d(np.arange(4), member.classes_)
        assert np.all(F[:, m, missing] == 0)
        np.testing.assert_array_equal(F[:, m].argmax(axis=1), member.predict(X))


def test_every_random_state_gets_its_own_seed():
    pipeline = make_pipeline(
        StandardScaler(), SVC(probability=False), memory=None, verbose=False
    )
    nested = CommitteeClassifier(MLPClassifier(), generator=Bagging(2))
    set_random_states(pipeline, 0)
    set_random_states(nested, 0)
    seeds = [nested.random_state, nested.estimator.random_state]
    assert all(isinstance(seed, int) for seed in seeds)
    assert seeds[0] != seeds[1]
    assert isinstance(pipeline[-1].random_state, int)


def test_the_given_estimator_stays_as_it_was():
    X, y = make_regression(20, 2, random_state=0)
    tree = DecisionTreeRegressor()
    CommitteeRegressor(tree, generator=Bagging(2), random_state=0).fit(X, y)
    assert tree.random_state is None
    assert not hasattr(tree, "tree_")


def test_a_part_without_weight_is_explained():
    X, y = make_regression(20, 2, random_state=0)
    committee = CommitteeRegressor(generator=MiniBatches(10, repeats=1))
    with pytest.raises(MemberFitError, match="None of its rows has a positive"):
        committee.fit(X, y, sample_weight=np.arange(20) < 2)


def test_a_class_of_weight_zero_does_not_stop_a_learner_that_refuses_it():
    """SVC refuses two classes of which one weighs nothing."""
    X, y = make_blobs(30, centers=2, random_state=0)
    s = np.where(y == 0, 1.0, 0.0)
    s[np.flatnonzero(y == 1)[0]] = 1.0
    committee = CommitteeClassifier(SVC(), generator=CrossSplits(2, 1), random_state=0)
    committee.fit(X, y, sample_weight=s)
    assert {len(member.classes_) for member in committee.members_} == {1, 2}


class _OddError(Exception):
    """Cannot be unpickled: its arguments are not those of its constructor."""

    def __init__(self, first, second):
        super().__init__(f"{first}{second}")


class _RaisesOdd(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        raise _OddError("odd", "ity")


def test_the_error_survives_a_process_boundary():
    error = MemberFitError("member 3 failed", 3, ["a member"])
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "member 3 failed"
    assert (copy.index, copy.members) == (3, ["a member"])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_that_cannot_travel_is_told_by_its_text(n_jobs):
    X, y = make_classification(30, random_state=0)
    committee = CommitteeClassifier(
        _RaisesOdd(), generator=Bagging(2), n_jobs=n_jobs, random_state=0
    )
    with pytest.raises(MemberFitError, match=r"_OddError: oddity"):
        committee.fit(X, y)


def test_a_broken_learner_is_not_hidden_by_rows_of_one_class():
    X, y = make_classification(30, random_state=0)
    committee = CommitteeClassifier(SVC(C=-1), generator=MiniBatches(30, 1))
    with pytest.raises(MemberFitError, match="'C' parameter of SVC"):
        committee.fit(X, y)


def test_a_pool_keeps_the_seeds_it_was_given():
    X, y = make_classification(30, random_state=0)
    pool = Pool([DecisionTreeClassifier(random_state=42), DecisionTreeClassifier()])
    given, unset = CommitteeClassifier(generator=pool).fit(X, y).members_
    assert given.random_state == 42
    assert unset.random_state is not None
