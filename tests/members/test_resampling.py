"""Which rows each member trains on, and which it is weighed on (math.md, section 2)."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    MiniBatches,
    RandomInits,
    SimplexWeights,
)
from committee.members import TrainingData

N = 60


class _Recorder(RegressorMixin, BaseEstimator):
    """Remembers the row numbers (the first column of X) that it was trained on."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.rows_ = X[:, 0].astype(int)
        self.y_ = y
        return self

    def predict(self, X):
        return X[:, 0] + 0.001 * self.rows_.sum()


class _WeightedRecorder(_Recorder):
    """The same, with sample_weight."""

    def fit(self, X, y, sample_weight=None):
        self.sample_weight_ = sample_weight
        return super().fit(X, y)


def _data(sample_weight=None):
    rows = np.arange(N)
    X = np.column_stack([rows, rows % 7]).astype(float)
    return TrainingData(X, rows * 10.0, None, sample_weight)


def _drawn(member):
    """Row numbers, each as often as it counted in training."""
    counts = getattr(member, "sample_weight_", None)
    if counts is None:
        return np.sort(member.rows_)
    return np.sort(np.repeat(member.rows_, counts.astype(int)))


GENERATORS = [Bagging(6), CrossSplits(3, repeats=2), MiniBatches(3, repeats=2)]
KINDS = pytest.mark.parametrize("learner", [_Recorder(), _WeightedRecorder()], ids=repr)


@KINDS
def test_random_inits_train_on_all_rows_with_their_own_seeds(learner):
    generation = RandomInits(4).generate(learner, _data(), random_state=0)
    for member in generation.members:
        np.testing.assert_array_equal(member.rows_, np.arange(N))
    assert len({member.random_state for member in generation.members}) == 4
    assert generation.held_out is None
    assert generation.F.shape == (N, 4)


def test_random_inits_are_weighed_on_predictions_of_clones_that_did_not_see_the_row():
    """A one-neighbour memory of y would be perfect on rows it has seen."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), rng.normal(size=N)
    generation = RandomInits(2).generate(
        DecisionTreeRegressor(), TrainingData(X, y, None), random_state=0
    )
    for m, member in enumerate(generation.members):
        np.testing.assert_array_equal(member.predict(X), y)
        assert np.all(generation.F[:, m] != y)


@KINDS
def test_bagging_draws_n_rows_with_replacement_and_holds_out_the_rest(learner):
    generation = Bagging(6).generate(learner, _data(), random_state=0)
    samples = [_drawn(member) for member in generation.members]
    for m, drawn in enumerate(samples):
        assert len(drawn) == N
        assert len(np.unique(drawn)) < N
        np.testing.assert_array_equal(
            np.flatnonzero(~generation.held_out[:, m]), np.unique(drawn)
        )
    assert len({tuple(drawn) for drawn in samples}) == 6


def test_bagging_draws_the_same_rows_with_and_without_sample_weight_support():
    """Counts are an economy, not another sample."""
    plain = Bagging(3).generate(_Recorder(), _data(), random_state=0)
    counted = Bagging(3).generate(_WeightedRecorder(), _data(), random_state=0)
    for a, b in zip(plain.members, counted.members, strict=True):
        np.testing.assert_array_equal(_drawn(a), _drawn(b))
        assert len(np.unique(b.rows_)) == len(b.rows_)


def test_bagging_holds_out_36_8_percent():
    """A row is missed by N draws with probability (1 - 1/N)^N.

    Over M N entries the standard deviation of the share is below
    sqrt(0.25 / (M N)), as misses within one sample are negatively correlated.
    """
    M = 400
    generation = Bagging(M).generate(_Recorder(), _data(), random_state=0)
    sd = np.sqrt(0.25 / (M * N))
    assert abs(generation.held_out.mean() - (1 - 1 / N) ** N) < 5 * sd


@pytest.mark.parametrize(("max_samples", "n"), [(0.1, 6), (7, 7), (1.0, 60), (1, 1)])
def test_bagging_on_few_rows(max_samples, n):
    """So many rows are drawn, and all that were not drawn are left out."""
    for s in (None, np.linspace(0.5, 2.0, N)):
        generation = Bagging(5, max_samples=max_samples).generate(
            _WeightedRecorder(), _data(s), random_state=0
        )
        for m, member in enumerate(generation.members):
            assert len(_drawn(member)) == n
            unseen = np.setdiff1d(np.arange(N), member.rows_)
            assert np.flatnonzero(generation.held_out[:, m]).tolist() == unseen.tolist()


def test_more_rows_than_there_are_cannot_be_drawn():
    with pytest.raises(ValueError, match="max_samples=61 rows cannot be drawn from"):
        Bagging(2, max_samples=61).generate(_Recorder(), _data(), random_state=0)


def test_bagging_draws_in_proportion_to_sample_weight():
    """E[count_n] = N s_n / sum s; its variance over M samples is at most that / M."""
    M = 400
    s = np.r_[np.zeros(10), np.ones(N - 20), np.full(10, 4.0)]
    generation = Bagging(M).generate(_Recorder(), _data(s), random_state=0)
    counts = sum(np.bincount(m.rows_, minlength=N) for m in generation.members) / M
    expected = N * s / s.sum()
    assert np.all(counts[:10] == 0)
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected / M))


@KINDS
@pytest.mark.parametrize("n_splits", [2, 7, N])
def test_cross_splits_leave_out_one_part_of_a_partition(learner, n_splits):
    repeats = 2
    generator = CrossSplits(n_splits, repeats=repeats)
    assert generator.n_members == n_splits * repeats
    generation = generator.generate(learner, _data(), random_state=0)
    assert len(generation.members) == n_splits * repeats
    for m, member in enumerate(generation.members):
        np.testing.assert_array_equal(
            np.flatnonzero(~generation.held_out[:, m]), np.sort(member.rows_)
        )
    _assert_partitions(generation.held_out, n_splits)


@KINDS
@pytest.mark.parametrize("n_splits", [2, 7, N])
def test_mini_batches_train_on_one_part_of_a_partition(learner, n_splits):
    repeats = 2
    generator = MiniBatches(n_splits, repeats=repeats)
    assert generator.n_members == n_splits * repeats
    generation = generator.generate(learner, _data(), random_state=0)
    assert len(generation.members) == n_splits * repeats
    for m, member in enumerate(generation.members):
        np.testing.assert_array_equal(
            np.flatnonzero(~generation.held_out[:, m]), np.sort(member.rows_)
        )
    _assert_partitions(~generation.held_out, n_splits)


def _assert_partitions(parts, n_splits):
    """In each repeat every row is in one part; parts are equal up to one row."""
    repeats = parts.reshape(N, -1, n_splits)
    assert np.all(repeats.sum(axis=2) == 1)
    sizes = parts.sum(axis=0)
    assert sizes.max() - sizes.min() <= 1
    if n_splits < N:
        first, second = ({tuple(c) for c in repeats[:, r].T} for r in (0, 1))
        assert first != second  # every repeat is split afresh


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
def test_members_train_on_the_targets_of_their_rows(generator):
    generation = generator.generate(_Recorder(), _data(), random_state=0)
    for member in generation.members:
        np.testing.assert_array_equal(member.y_, 10.0 * member.rows_)


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
def test_held_out_entries_are_the_members_own_predictions(generator):
    data = _data()
    generation = generator.generate(_Recorder(), data, random_state=0)
    for m, member in enumerate(generation.members):
        rows = generation.held_out[:, m]
        np.testing.assert_array_equal(
            generation.F[rows, m], member.predict(data.X[rows])
        )
        assert np.all(generation.F[~rows, m] == 0)


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
def test_held_out_class_probabilities_are_the_members_own(generator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.integers(0, 3, N)
    tree = DecisionTreeClassifier(max_depth=2)
    generation = generator.generate(tree, TrainingData(X, y, 3), random_state=0)
    assert generation.F.shape == (N, generator.n_members, 3)
    for m, member in enumerate(generation.members):
        rows = generation.held_out[:, m]
        P = member.predict_proba(X[rows])
        np.testing.assert_array_equal(generation.F[rows, m][:, member.classes_], P)


@pytest.mark.parametrize("generator", [*GENERATORS, RandomInits(6)], ids=repr)
def test_nothing_is_predicted_where_nobody_asks(generator):
    generation = generator.generate(_Recorder(), _data(), held_out=False)
    assert generation.F is None
    assert generation.held_out is None
    assert len(generation.members) == 6


@pytest.mark.parametrize("generator", GENERATORS[1:], ids=repr)
def test_sample_weight_reaches_the_members_rows(generator):
    s = 1.0 + np.arange(N)
    generation = generator.generate(_WeightedRecorder(), _data(s), random_state=0)
    for member in generation.members:
        np.testing.assert_array_equal(member.sample_weight_, s[member.rows_])


@pytest.mark.parametrize("generator", GENERATORS[1:], ids=repr)
def test_learners_without_sample_weight_train_on_a_weighted_resample(generator):
    """As many rows as the sample has, drawn from it, and none of weight zero."""
    s = np.where(np.arange(N) % 2 == 0, 0.0, 1.0)
    generation = generator.generate(_Recorder(), _data(s), random_state=0)
    for m, member in enumerate(generation.members):
        own = np.flatnonzero(~generation.held_out[:, m])
        assert len(member.rows_) == len(own)
        assert set(member.rows_) <= set(own[s[own] > 0])


@pytest.mark.parametrize("generator", [*GENERATORS, RandomInits(6)], ids=repr)
@pytest.mark.parametrize(
    "learner",
    [DecisionTreeClassifier(max_features=1), MLPClassifier((3,), max_iter=1)],
    ids=["tree", "mlp"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_same_seed_same_members_for_any_n_jobs(generator, learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), rng.integers(0, 2, N)
    data = TrainingData(X, y, 2)
    one, two = (
        generator.generate(learner, data, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.F, two.F)
    for a, b in zip(one.members, two.members, strict=True):
        assert a.random_state == b.random_state
        np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
def test_another_seed_gives_other_rows(generator):
    masks = [
        generator.generate(_Recorder(), _data(), random_state=seed).held_out
        for seed in (0, 1)
    ]
    assert np.any(masks[0] != masks[1])


@pytest.mark.parametrize("generator", [CrossSplits, MiniBatches])
@pytest.mark.parametrize("combiner", [None, SimplexWeights()])
def test_more_parts_than_rows(generator, combiner):
    committee = CommitteeRegressor(generator=generator(11), combiner=combiner)
    X = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="cannot split 10 rows into 11 parts"):
        committee.fit(X, X[:, 0])


def test_random_inits_with_fewer_rows_than_folds():
    committee = CommitteeRegressor(generator=RandomInits(2), combiner=SimplexWeights())
    X = np.arange(4.0)[:, None]
    assert len(committee.fit(X, X[:, 0]).members_) == 2
    with pytest.raises(ValueError, match="Cannot cross-fit 2 folds on 1 rows"):
        committee.fit(X[:1], X[:1, 0])


@pytest.mark.parametrize(
    ("generator", "parameter"),
    [
        (Bagging(0), "n_members"),
        (Bagging(max_samples=0.0), "max_samples"),
        (Bagging(max_samples=1.5), "max_samples"),
        (RandomInits(2.5), "n_members"),
        (CrossSplits(1), "n_splits"),
        (MiniBatches(2, repeats=0), "repeats"),
    ],
)
def test_bad_numbers_are_named(generator, parameter):
    X = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of .* Got"):
        CommitteeRegressor(generator=generator).fit(X, X[:, 0])


class _Votes(ClassifierMixin, BaseEstimator):
    """Votes for the class of its first row."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.label_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


def test_members_without_probabilities_cast_one_vote():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.integers(0, 3, N)
    generation = Bagging(4).generate(_Votes(), TrainingData(X, y, 3), random_state=0)
    for m, member in enumerate(generation.members):
        rows = generation.held_out[:, m]
        assert np.all(generation.F[rows, m] == np.eye(3)[member.label_])


def test_all_resampling_generators_make_a_working_committee():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = (X[:, 0] > 0).astype(int)
    for generator in [*GENERATORS, RandomInits(6)]:
        committee = CommitteeClassifier(
            generator=generator, combiner=SimplexWeights(), random_state=0
        ).fit(X, y)
        assert len(committee.members_) == 6
        assert committee.score(X, y) > 0.9
