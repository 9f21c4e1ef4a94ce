"""AdaBoost, Arcing and LPBoost."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    Arcing,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    LPBoost,
    LPBoostWeights,
    SimplexWeights,
)
from committee.members import TrainingData
from committee.predictions import predict_all
from tests.reference.boosting import adaboost, adaboost_predict

STUMP = DecisionTreeClassifier(max_depth=1)


def _problem(n_classes, n_rows=90):
    return make_classification(
        n_rows,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=0,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_weights_and_labels_are_those_of_the_chapter(n_classes):
    """The same stumps, alphas to 1e-10 (sums over 90 rows, ten rounds), all labels."""
    X, y = _problem(n_classes)

    def fit(P):
        # Mean one, as scikit-learn's stumps see them in the committee: a split's
        # gain is the same on any scale, up to rounding.
        return clone_of_stump().fit(X, y, sample_weight=P / P.sum() * len(P)).predict

    def clone_of_stump():
        return DecisionTreeClassifier(max_depth=1, random_state=0)

    learners, alphas = adaboost(fit, X, y, n_classes, 10)
    assert len(learners) == 10
    committee = CommitteeClassifier(STUMP, generator=AdaBoost(10), random_state=0)
    committee.fit(X, y)
    np.testing.assert_allclose(committee.weights_, alphas / alphas.sum(), rtol=1e-10)
    np.testing.assert_array_equal(
        committee.predict(X), adaboost_predict(learners, alphas, X, n_classes)
    )


class _Counting(DecisionTreeClassifier):
    """A tree that keeps the rows of its training, each as often as it was drawn."""

    def fit(self, X, y, sample_weight=None):
        self.drawn_ = np.repeat(X[:, 0], sample_weight.astype(int))
        return super().fit(X, y, sample_weight=sample_weight)


def test_boosting_on_drawn_rows():
    """The chapter's weights P of all rows, by which the rows of a member are drawn.

    A row's expected count is n P_n: over M members the sum of counts is within five
    standard deviations of M n mean_t P_tn, for the rows that are wrong most as for all.
    """
    X, y = _problem(2, n_rows=120)
    X[:, 0] = np.arange(120)
    M, n = 60, 40
    committee = CommitteeClassifier(
        _Counting(max_depth=2),
        generator=AdaBoost(M, max_samples=n),
        combiner=None,
        calibration=None,
        random_state=0,
    ).fit(X, y)
    trained = iter(committee.members_)
    learners, alphas = adaboost(lambda P: next(trained).predict, X, y, 2, M)
    assert len(learners) == committee.n_members_ == M
    np.testing.assert_allclose(committee.weights_, alphas / alphas.sum(), atol=1e-10)

    drawn = [member.drawn_.astype(int) for member in committee.members_]
    assert {len(rows) for rows in drawn} == {n}
    counts = np.bincount(np.concatenate(drawn), minlength=120)
    P, expected = np.full(120, 1 / 120), np.zeros(120)
    for member, alpha in zip(committee.members_, alphas, strict=True):
        expected += n * P
        P[member.predict(X) != y] *= np.exp(alpha)
        P /= P.sum()
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))
    assert expected.max() > 5 * expected.min()


def test_a_share_of_the_rows_and_one_class_of_them():
    """Two rows of one class make a constant member, at chance or better."""
    X, y = _problem(2)
    generator = AdaBoost(8, max_samples=0.03, on_perfect="restart")
    committee = CommitteeClassifier(STUMP, generator=generator, random_state=0)
    assert committee.fit(X, y).n_members_ == 8


def test_members_vote_with_labels_not_probabilities():
    X, y = _problem(2)
    committee = CommitteeClassifier(STUMP, generator=AdaBoost(5), random_state=0)
    F = committee.fit(X, y).member_predictions(X)
    assert set(np.unique(F)) == {0.0, 1.0}
    for m, member in enumerate(committee.members_):
        np.testing.assert_array_equal(F[:, m].argmax(axis=1), member.predict(X))


def test_boosting_makes_weak_members_strong():
    X, y = _problem(2)
    one = CommitteeClassifier(STUMP, generator=AdaBoost(1), random_state=0).fit(X, y)
    many = CommitteeClassifier(STUMP, generator=AdaBoost(60), random_state=0)
    assert many.fit(X, y).score(X, y) > one.score(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_perfect_member_is_kept_with_a_finite_weight_and_ends_the_sequence(n_classes):
    X, y = _problem(n_classes)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(), generator=AdaBoost(10), random_state=0
    )
    with pytest.warns(UserWarning, match="1 of 10 members.*no error.*weaker") as found:
        committee.fit(X, y)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert len(committee.members_) == 1
    np.testing.assert_array_equal(committee.weights_, [1.0])
    assert committee.score(X, y) == 1.0


def test_a_perfect_member_after_others_has_the_largest_finite_weight():
    class Improving(ClassifierMixin, BaseEstimator):
        """Wrong on some rows when all weights are equal, perfect afterwards."""

        def fit(self, X, y, sample_weight):
            self.classes_ = np.unique(y)
            self.perfect_ = np.ptp(sample_weight) > 0
            return self

        def predict(self, X):
            truth = X[:, 0].astype(int)
            return truth if self.perfect_ else np.where(X[:, 1] == 0, 1 - truth, truth)

    X = np.column_stack([np.arange(12) % 2, np.arange(12) // 4])
    committee = CommitteeClassifier(Improving(), generator=AdaBoost(10))
    with pytest.warns(UserWarning, match="2 of 10 members"):
        committee.fit(X, X[:, 0].astype(int))
    assert len(committee.members_) == 2
    assert np.all(np.isfinite(committee.weights_))
    assert committee.weights_[1] > committee.weights_[0] > 0
    assert committee.score(X, X[:, 0].astype(int)) == 1.0


def test_the_default_tree_can_be_boosted():
    """Without a limit of depth the first tree is perfect, and was the only one."""
    X, y = load_digits(return_X_y=True)
    committee = CommitteeClassifier(generator=AdaBoost(12), random_state=0)
    assert len(committee.fit(X[:900], y[:900]).members_) == 12
    alone = DecisionTreeClassifier(random_state=0).fit(X[:900], y[:900])
    assert committee.score(X[900:], y[900:]) > alone.score(X[900:], y[900:]) + 0.05
    with_bagging = CommitteeClassifier(generator=Bagging(2), random_state=0)
    assert with_bagging.fit(X[:99], y[:99]).members_[0].max_depth is None


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_rows_each", [4, 5, 7])
def test_a_first_member_at_chance_is_kept_with_a_warning(n_classes, n_rows_each):
    """Balanced classes and a constant answer: eps = 1 - 1/K up to rounding."""
    y = np.repeat(np.arange(n_classes), n_rows_each)
    X = np.zeros((len(y), 1))
    committee = CommitteeClassifier(DummyClassifier(), generator=AdaBoost(5))
    with pytest.warns(UserWarning, match="not below chance level.*only member"):
        committee.fit(X, y)
    assert len(committee.members_) == 1
    np.testing.assert_array_equal(committee.weights_, [1.0])


def test_a_later_member_at_chance_is_not_kept():
    """A constant answer is at chance once its errors weigh one half."""
    y = np.repeat([0, 1], [20, 10])
    X = np.zeros((30, 1))
    committee = CommitteeClassifier(
        DummyClassifier(strategy="constant", constant=0), generator=AdaBoost(5)
    )
    with pytest.warns(UserWarning, match="not below chance level.*not kept"):
        committee.fit(X, y)
    assert len(committee.members_) == 1
    np.testing.assert_array_equal(committee.weights_, [1.0])


class _Seen(ClassifierMixin, BaseEstimator):
    """A nearest-mean classifier that remembers its training rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.rows_ = X[:, -1].astype(int)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == k, :-1].mean(axis=0) for k in self.classes_])
        return self

    def predict(self, X):
        d = ((X[:, None, :-1] - self.means_) ** 2).sum(axis=2)
        return self.classes_[d.argmin(axis=1)]


def test_a_learner_without_sample_weight_trains_on_rows_drawn_by_weight():
    """N rows each; the rows got wrong by the first member are drawn more often.

    After one update they weigh one half in all, so of N draws half hit them, up
    to five standard deviations of a binomial.
    """
    X, y = _problem(2, 400)
    X = np.column_stack([X, np.arange(len(X))])
    committee = CommitteeClassifier(_Seen(), generator=AdaBoost(2), random_state=0)
    first, second = committee.fit(X, y).members_
    N = len(X)
    assert len(first.rows_) == len(second.rows_) == N
    wrong = np.flatnonzero(first.predict(X) != y)
    hits = np.isin(second.rows_, wrong).sum()
    assert abs(hits - N / 2) < 5 * np.sqrt(N / 4)
    assert len(wrong) < N / 3


def test_a_learner_without_sample_weight_needs_no_seed():
    X, y = _problem(2)
    knn = KNeighborsClassifier(9)
    predictions = [
        CommitteeClassifier(knn, generator=AdaBoost(4), random_state=0)
        .fit(X, y)
        .predict_proba(X)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*predictions)


def test_sample_weight_is_the_first_distribution():
    """Integer weights are repeated rows (no perfect or tied stumps here)."""
    X, y = _problem(2)
    s = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = CommitteeClassifier(STUMP, generator=AdaBoost(6), random_state=0)
    weighted.fit(X, y, sample_weight=s)
    repeated = CommitteeClassifier(STUMP, generator=AdaBoost(6), random_state=0)
    repeated.fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-10)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_vanishing_weights_of_wrong_rows_leave_the_votes_finite():
    X = np.zeros((4, 1))
    y = np.array([0, 0, 0, 1])
    s = np.array([1.0, 1.0, 1.0, 1e-99])
    committee = CommitteeClassifier(DummyClassifier(), generator=AdaBoost(2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "AdaBoost stopped")
        committee.fit(X, y, sample_weight=s)
    assert np.all(np.isfinite(committee.weights_))
    assert committee.predict([[0.0]])[0] == 0


def test_another_combiner_weighs_the_votes():
    X, y = _problem(3)
    committee = CommitteeClassifier(
        STUMP, generator=AdaBoost(8), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    assert committee.held_out_ is None
    np.testing.assert_allclose(committee.weights_.sum(), 1.0, rtol=1e-12)
    expected = SimplexWeights().fit(committee.member_predictions(X), y).weights_
    np.testing.assert_allclose(committee.weights_, expected, rtol=1e-12)


def test_regression_is_refused():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    committee = CommitteeRegressor(DecisionTreeRegressor(), generator=AdaBoost(3))
    with pytest.raises(ValueError, match="AdaBoost is defined for classification"):
        committee.fit(X, y)


def test_restarts_go_on_after_a_perfect_member():
    """Fully grown trees are perfect at once: each next one has a fresh bootstrap."""
    X, y = _problem(2)
    tree = DecisionTreeClassifier()
    restart = AdaBoost(12, on_perfect="restart")
    committee = CommitteeClassifier(tree, generator=restart, random_state=0).fit(X, y)
    assert committee.n_members_ == 12
    F = committee.member_predictions(X)
    assert len(np.unique(F[..., 0], axis=1).T) > 1
    # Perfect on a bootstrap sample of N rows of weight k / N: a = log((2N - 1) / 1).
    whole, *others = committee.weights_ * np.log(2 * 90 - 1) / committee.weights_[0]
    assert whole == pytest.approx(np.log(2 * 90 - 1))
    assert min(others) > 0


def test_restarts_change_nothing_before_a_perfect_member():
    X, y = _problem(3)
    stop, restart = (
        CommitteeClassifier(
            STUMP, generator=AdaBoost(15, on_perfect=how), random_state=0
        ).fit(X, y)
        for how in ("stop", "restart")
    )
    np.testing.assert_array_equal(stop.weights_, restart.weights_)


def test_restarts_end_where_chance_is_all_there_is():
    X = np.zeros((20, 1))
    y = np.arange(20) % 2
    boosted = CommitteeClassifier(
        STUMP, generator=AdaBoost(30, on_perfect="restart"), random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert boosted.fit(X, y).n_members_ <= 30


X, y = make_classification(120, 5, flip_y=0.2, random_state=0)
TREE = DecisionTreeClassifier(max_depth=3)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_by_the_fourth_power_of_the_mistakes(weighted):
    s = np.linspace(0.0, 2.0, 120) if weighted else None
    made = Arcing(6).generate(TREE, TrainingData(X, y, 2, s), random_state=5)
    mistakes = np.zeros(120)
    seeds = np.random.RandomState(5).randint(np.iinfo(np.int32).max, size=6)
    for m, seed in enumerate(seeds):
        P = [(1 + e**4) * (1 if s is None else s[n]) for n, e in enumerate(mistakes)]
        drawn = np.random.RandomState(seed).choice(120, 120, p=np.divide(P, np.sum(P)))
        state = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=1)[0]
        counts = np.bincount(drawn, minlength=120)
        rows = np.flatnonzero(counts)
        tree = clone(TREE).set_params(random_state=int(state))
        tree.fit(X[rows], y[rows], sample_weight=counts[rows])
        np.testing.assert_array_equal(tree.predict(X), made.members[m].predict(X))
        np.testing.assert_array_equal(made.held_out[:, m], counts == 0)
        np.testing.assert_array_equal(made.F[:, m].argmax(axis=1), tree.predict(X))
        mistakes += tree.predict(X) != y


def test_members_vote_as_equals_and_learn_the_rows():
    committee = CommitteeClassifier(TREE, generator=Arcing(40), random_state=0)
    assert set(committee.fit(X, y).weights_) == {1 / 40}
    assert committee.score(X, y) > TREE.fit(X, y).score(X, y)


def test_arcing_refuses_regression():
    with pytest.raises(ValueError, match="Arcing is defined for classification"):
        CommitteeRegressor(
            DecisionTreeRegressor(), generator=Arcing(2), combiner=Average()
        ).fit(X, y)


A, b = make_classification(60, 4, n_redundant=0, flip_y=0.1, random_state=1)


def every_stump():
    """Votes of all stumps: a split of each column, either way, and both constants."""
    votes = [np.zeros(60, int), np.ones(60, int)]
    for column in A.T:
        for cut in np.sort(column)[:-1]:
            votes += [(column > cut).astype(int), (column <= cut).astype(int)]
    return np.eye(2)[np.stack(votes, axis=1)]


@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_the_soft_margin_is_that_over_all_stumps(nu):
    """The learner finds the best stump for any weights, so the end is the optimum.

    A stump chosen by Gini impurity need not have the largest edge: entropy and Gini
    agree with the edge near the end only, so the margin may fall a little short.
    """
    best = LPBoostWeights(nu=nu).fit(every_stump(), b).objective_
    data = TrainingData(A, b, 2)
    made = LPBoost(200, nu=nu).generate(STUMP, data, random_state=0)
    F = predict_all(made.members, A, classes=np.arange(2), output="hard")
    found = LPBoostWeights(nu=nu).fit(F, b)
    assert found.objective_ <= best + 1e-9
    assert found.objective_ > 0.9 * best
    # The generator's own weights are an optimum of the same programme.
    S = (2 * b - 1)[:, None] * (2 * F[..., 1] - 1)
    margins = np.sort(S @ made.weights)
    k = nu * 60
    assert np.isclose(margins[: int(k)].sum() / k, found.objective_, atol=1e-6)


def test_many_classes_and_sample_weights():
    A, c = make_classification(
        90, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0
    )
    s = np.where(np.arange(90) % 3, 1.0, 2.0)
    tree = DecisionTreeClassifier(max_depth=2)
    committee = CommitteeClassifier(tree, generator=LPBoost(30), random_state=0)
    committee.fit(A, c, sample_weight=s)
    assert 1 < committee.n_members_ <= 30
    assert committee.score(A, c) > tree.fit(A, c).score(A, c)
    assert committee.weights_.sum() == pytest.approx(1.0)


def test_a_perfect_learner_ends_it_at_once():
    committee = CommitteeClassifier(
        DecisionTreeClassifier(), generator=LPBoost(20), random_state=0
    )
    assert committee.fit(A, b).n_members_ == 1
