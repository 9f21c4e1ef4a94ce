"""Committees as scikit-learn citizens: any member, any label, any frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    LeastSquares,
    MemberFitError,
    MiniBatches,
    OptimalWeights,
    Pool,
    RandomInits,
    SimplexWeights,
)

N = 48
COMBINERS = [None, Average(), OptimalWeights(), SimplexWeights(), LeastSquares()]


def _classes(n_classes=3):
    return make_classification(
        N,
        6,
        n_informative=4,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=0,
    )


def _targets():
    return make_regression(N, 4, noise=5.0, random_state=0)


# --- any scikit-learn estimator as member ------------------------------------

CLASSIFIERS = [
    DecisionTreeClassifier(max_depth=3),
    MLPClassifier((4,), max_iter=20),
    SVC(),
    KNeighborsClassifier(3),
    LogisticRegression(),
    make_pipeline(StandardScaler(), SVC()),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=3),
    MLPRegressor(hidden_layer_sizes=(4,), max_iter=20),
    SVR(C=100.0),
    KNeighborsRegressor(3),
    make_pipeline(StandardScaler(), Ridge()),
]


@pytest.mark.parametrize("member", CLASSIFIERS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("generator", [Bagging(4), AdaBoost(4)], ids=repr)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer", "ignore:AdaBoost stopped")
def test_any_classifier_is_a_member(member, generator):
    X, y = _classes()
    committee = CommitteeClassifier(
        member, generator=generator, combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    p = committee.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(committee.predict(X), p.argmax(axis=1))
    if not isinstance(member, MLPClassifier):  # 20 steps are not many
        assert committee.score(X, y) > 2 / 3


@pytest.mark.parametrize("member", REGRESSORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_any_regressor_is_a_member(member):
    X, y = _targets()
    committee = CommitteeRegressor(
        member, generator=Bagging(4), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    expected = committee.member_predictions(X) @ committee.weights_
    np.testing.assert_allclose(committee.predict(X), expected, rtol=1e-12)


def test_the_default_is_a_hundred_bagged_trees_of_equal_weight():
    X, y = _classes()
    committee = CommitteeClassifier(random_state=0).fit(X, y)
    assert len(committee.members_) == 100
    assert isinstance(committee.members_[0], DecisionTreeClassifier)
    np.testing.assert_allclose(committee.weights_, 0.01, rtol=1e-12)
    assert committee.n_members_ == 100


def test_a_committee_of_committees():
    X, y = _targets()
    inner = CommitteeRegressor(Ridge(), generator=Bagging(2))
    outer = CommitteeRegressor(
        inner, generator=CrossSplits(3, 1), combiner=SimplexWeights(), random_state=0
    )
    assert outer.fit(X, y).score(X, y) > 0.9


# --- which rows the members are weighed on -----------------------------------


class _Rows(Average):
    """A combiner that keeps what it is given; equal weights."""

    needs_rows = True

    def _weigh(self, problem):
        self.problem_ = problem
        return np.full(problem.n_members, 1.0 / problem.n_members)


class _SeenRows(RegressorMixin, BaseEstimator):
    """Remembers its rows by the first column of X; predicts that column."""

    def fit(self, X, y):
        self.rows_ = X[:, 0].astype(int)
        return self

    def predict(self, X):
        return X[:, 0] / 2


def _numbered():
    X = np.arange(float(N))[:, None]
    return X, 10 * X[:, 0]


def test_weighing_on_held_out_rows():
    X, y = _numbered()
    committee = CommitteeRegressor(
        _SeenRows(), generator=Bagging(4), combiner=_Rows(), random_state=0
    ).fit(X, y)
    problem = committee.combiner_.problem_
    np.testing.assert_array_equal(problem.y, y)
    kept = problem.held_out[:, committee.support_]
    np.testing.assert_array_equal(kept, committee.held_out_)
    for m, member in zip(committee.support_, committee.members_, strict=True):
        unseen = np.setdiff1d(np.arange(N), member.rows_)
        np.testing.assert_array_equal(np.flatnonzero(problem.held_out[:, m]), unseen)
        np.testing.assert_array_equal(problem.F[unseen, m], X[unseen, 0] / 2)


def test_weighing_on_the_training_rows():
    X, y = _numbered()
    committee = CommitteeRegressor(
        _SeenRows(), generator=Bagging(4), combiner=_Rows(), weigh_on="train"
    ).fit(X, y)
    problem = committee.combiner_.problem_
    assert committee.held_out_ is None
    assert problem.held_out is None
    np.testing.assert_array_equal(problem.F, np.repeat(X / 2, 4, axis=1))
    np.testing.assert_array_equal(problem.y, y)


@pytest.mark.parametrize("generator", [Bagging(4), RandomInits(4)], ids=repr)
def test_weighing_on_a_fraction_split_off(generator):
    X, y = _numbered()
    s = 1.0 + np.arange(N)
    committee = CommitteeRegressor(
        _SeenRows(),
        generator=generator,
        combiner=_Rows(),
        weigh_on=0.25,
        random_state=0,
    ).fit(X, y, sample_weight=s)
    problem = committee.combiner_.problem_
    apart = (problem.y / 10).astype(int)
    assert len(apart) == N / 4
    for member in committee.members_:
        assert not np.intersect1d(member.rows_, apart).size
    np.testing.assert_array_equal(problem.sample_weight, s[apart])
    np.testing.assert_array_equal(problem.F[:, 0], apart / 2)


def test_a_fraction_keeps_the_class_shares():
    X, y = _classes()
    committee = CommitteeClassifier(
        generator=Bagging(2), combiner=_Rows(), weigh_on=0.5, random_state=0
    ).fit(X, y)
    shares = np.bincount(committee.combiner_.problem_.y)
    assert np.all(np.abs(shares - np.bincount(y) / 2) <= 1)


@pytest.mark.parametrize("fraction", [0.02, 0.95])
def test_a_fraction_of_fewer_rows_than_classes(fraction):
    X, y = _classes()
    committee = CommitteeClassifier(
        generator=Bagging(2), combiner=SimplexWeights(), weigh_on=fraction
    ).fit(X, y)
    assert committee.predict_proba(X).shape == (N, 3)


def test_without_a_combiner_that_looks_at_rows_all_rows_train_members():
    X, y = _numbered()
    for combiner in (None, Average()):
        committee = CommitteeRegressor(
            _SeenRows(), generator=RandomInits(2), combiner=combiner, weigh_on=0.5
        ).fit(X, y)
        assert len(committee.members_[0].rows_) == N


def test_memorising_trees_look_better_on_their_training_rows():
    """The reason for held-out rows: a tree that has seen a row repeats its target."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    errors = {
        weigh_on: CommitteeRegressor(
            generator=CrossSplits(4, 2),
            combiner=SimplexWeights(),
            weigh_on=weigh_on,
            random_state=0,
        )
        .fit(X, y)
        .combiner_.error_
        for weigh_on in ("train", "held-out")
    }
    assert errors["train"] < 0.5 * y.var() < errors["held-out"]


# --- labels ------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes", "perhaps"]),
        np.array(["no", "yes", "perhaps"], dtype=object),
        np.array([-7, 3, 0]),
        np.array([2.0, 1.0, 5.0]),
        np.array([10, 20, 30], dtype=np.uint8),
    ],
    ids=["str", "object", "int", "float", "uint8"],
)
@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
def test_labels_of_any_type(labels):
    """Of members with probabilities and without, trained at once and in turn."""
    X, codes = _classes()
    y = labels[codes]
    for member, generator in (
        (DecisionTreeClassifier(), Bagging(3)),
        (SVC(), AdaBoost(3)),
    ):
        committee = CommitteeClassifier(member, generator=generator, random_state=0)
        predicted = committee.fit(X, y).predict(X)
        assert predicted.dtype == y.dtype
        np.testing.assert_array_equal(committee.classes_, np.unique(y))
        assert accuracy_score(y, predicted) > 0.8


def test_boolean_labels():
    X, codes = _classes(2)
    committee = CommitteeClassifier(generator=Bagging(3), random_state=0)
    predicted = committee.fit(X, codes == 1).predict(X)
    assert predicted.dtype == bool
    assert np.mean(predicted == (codes == 1)) > 0.8


@pytest.mark.parametrize(
    "wrap",
    [
        pd.Categorical,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        lambda y: pd.Series(y, index=np.arange(N)[::-1]),
        pl.Series,
        lambda y: pl.Series(y).cast(pl.Categorical),
        list,
    ],
    ids=["Categorical", "category", "string", "index", "polars", "polars-cat", "list"],
)
def test_labels_in_any_container(wrap):
    X, codes = _classes()
    y = np.array(["no", "yes", "perhaps"])[codes]
    plain = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, y)
    wrapped = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, wrap(y))
    np.testing.assert_array_equal(wrapped.predict(X), plain.predict(X))


# --- frames, text and sparse matrices ----------------------------------------

FRAMES = pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)


@FRAMES
@pytest.mark.parametrize(
    "generator", [Bagging(3), RandomInits(2), MiniBatches(2, 1)], ids=repr
)
def test_frames_give_what_arrays_give_and_their_names_are_checked(frame, generator):
    X, y = _classes()
    names = [f"x{i}" for i in range(X.shape[1])]
    df = frame(dict(zip(names, X.T, strict=True)))
    options = {"generator": generator, "combiner": SimplexWeights(), "random_state": 0}
    committee = CommitteeClassifier(**options).fit(df, y)
    np.testing.assert_array_equal(committee.feature_names_in_, names)
    assert committee.n_features_in_ == len(names)
    np.testing.assert_array_equal(
        committee.predict_proba(df),
        CommitteeClassifier(**options).fit(X, y).predict_proba(X),
    )
    with pytest.raises(ValueError, match="feature names should match"):
        committee.predict(df[names[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        committee.predict(df[names[1:]])
    with pytest.raises(ValueError, match="feature names should match"):
        committee.member_predictions(df[names[1:]])


def test_columns_of_one_name_are_refused():
    X, y = _classes()
    twice = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="different names: 'a' occurs twice"):
        CommitteeClassifier(generator=Bagging(3)).fit(twice, y)


def test_the_index_of_a_frame_does_not_matter():
    X, y = _targets()
    index = np.random.default_rng(0).permutation(N) + 1000
    plain = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, y)
    indexed = CommitteeRegressor(generator=Bagging(3), random_state=0)
    indexed.fit(
        pd.DataFrame(X, index=index, columns=list("abcd")), pd.Series(y, index=index)
    )
    np.testing.assert_array_equal(
        indexed.predict(pd.DataFrame(X, columns=list("abcd"))), plain.predict(X)
    )


@FRAMES
@pytest.mark.parametrize("combiner", [None, SimplexWeights()])
def test_a_pipeline_that_picks_columns_by_name_is_a_member(frame, combiner):
    """A text column reaches the members untouched."""
    colours = ["red green", "green blue", "blue red red"]
    codes = np.arange(N) % 3
    df = frame({"text": [colours[k] for k in codes], "size": np.arange(N) / N})
    member = make_pipeline(
        ColumnTransformer(
            [("words", CountVectorizer(), "text"), ("numbers", "passthrough", ["size"])]
        ),
        LogisticRegression(),
    )
    committee = CommitteeClassifier(
        member, generator=Bagging(3), combiner=combiner, random_state=0
    ).fit(df, codes)
    np.testing.assert_array_equal(committee.predict(df), codes)


class _NeedsSparse(DecisionTreeClassifier):
    """Refuses a dense X, to see that nothing on the way made it dense."""

    def fit(self, X, y, sample_weight=None):
        assert sparse.issparse(X)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        assert sparse.issparse(X)
        return super().predict_proba(X)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize(
    "generator", [Bagging(3), RandomInits(2), AdaBoost(2)], ids=repr
)
@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
def test_sparse_matrices_are_handed_through(container, generator):
    X, y = _classes()
    X[np.abs(X) < 0.5] = 0
    options = {"generator": generator, "combiner": SimplexWeights(), "random_state": 0}
    member = _NeedsSparse() if generator.output == "soft" else DecisionTreeClassifier()
    from_sparse = CommitteeClassifier(member, **options).fit(container(X), y)
    from_dense = CommitteeClassifier(DecisionTreeClassifier(), **options).fit(X, y)
    np.testing.assert_array_equal(
        from_sparse.predict_proba(container(X)), from_dense.predict_proba(X)
    )


def test_missing_values_reach_members_that_take_them():
    X, y = _classes()
    X[::5, 0] = np.nan
    committee = CommitteeClassifier(
        generator=Bagging(3), combiner=SimplexWeights(), random_state=0
    )
    assert committee.fit(X, y).score(X, y) > 0.8
    assert committee.__sklearn_tags__().input_tags.allow_nan


def test_missing_values_are_refused_by_members_that_do_not():
    X, y = _classes()
    X[0, 0] = np.nan
    committee = CommitteeClassifier(SVC(), generator=RandomInits(2))
    with pytest.raises(MemberFitError, match=r"Member 0 of 2.*Input X contains NaN"):
        committee.fit(X, y)
    assert not committee.__sklearn_tags__().input_tags.allow_nan


# --- sample weights ----------------------------------------------------------


@pytest.mark.parametrize(
    ("generator", "weigh_on"),
    [
        (Bagging(3), "held-out"),
        (Bagging(3), "train"),
        (Bagging(3), 0.3),
        (CrossSplits(2, 2), "held-out"),
        (MiniBatches(2, 1), "held-out"),
        (RandomInits(2), "held-out"),
        (AdaBoost(3), "held-out"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    # One that takes row weights, and one that is given a resample instead.
    "member",
    [DecisionTreeClassifier(max_depth=3), KNeighborsClassifier(3)],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:AdaBoost stopped")
def test_rows_of_weight_zero_never_influence(member, generator, weigh_on):
    """Whatever their X says; labels stay, as folds are stratified by them."""
    X, y = _classes(2)
    s = np.where(np.arange(N) % 3 == 0, 0.0, 1.0)
    other = np.where(s[:, None] > 0, X, 100.0 - 50.0 * X[::-1])
    predictions = [
        CommitteeClassifier(
            member,
            generator=generator,
            combiner=SimplexWeights(),
            weigh_on=weigh_on,
            random_state=0,
        )
        .fit(rows, y, sample_weight=s)
        .predict_proba(X)
        for rows in (X, other)
    ]
    np.testing.assert_array_equal(*predictions)


def test_the_combiner_sees_the_weights():
    """Two constants: the rows where one of them is right decide."""
    y = np.repeat([0.0, 1.0], N // 2)
    X = y[:, None]

    class Constant(RegressorMixin, BaseEstimator):
        def __init__(self, value=0.0):
            self.value = value

        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def predict(self, X):
            return np.full(len(X), self.value)

    pool = Pool([Constant(0.0), Constant(1.0)])
    committee = CommitteeRegressor(generator=pool, combiner=SimplexWeights())
    committee.fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    # min_w of 3 w^2 + (1 - w)^2, w the weight of the constant 1
    np.testing.assert_allclose(committee.weights_, [0.75, 0.25], rtol=1e-8)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(48,\)"),
        (-np.ones(N), "sample_weight must be non-negative"),
        (np.zeros(N), "at least one non-zero number|one positive entry"),
        (np.full(N, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_sample_weights(sample_weight, message):
    X, y = _targets()
    with pytest.raises(ValueError, match=message):
        CommitteeRegressor(generator=Bagging(2)).fit(X, y, sample_weight=sample_weight)


# --- scikit-learn's tools ----------------------------------------------------


def test_grid_search_over_combiner_and_members():
    X, y = _classes()
    committee = CommitteeClassifier(generator=Bagging(2), random_state=0)
    grid = {
        "combiner": [Average(), SimplexWeights()],
        "generator__n_members": [2, 5],
        "estimator": [DecisionTreeClassifier(), KNeighborsClassifier()],
    }
    search = GridSearchCV(committee, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    best = search.best_estimator_
    assert len(best.combiner_.weights_) == search.best_params_["generator__n_members"]
    assert type(best.combiner_) is type(search.best_params_["combiner"])


def test_clone_has_the_parameters_but_nothing_learned():
    X, y = _targets()
    committee = CommitteeRegressor(
        Ridge(), generator=Bagging(3), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    copy = clone(committee)
    assert not hasattr(copy, "members_")
    assert copy.generator is not committee.generator
    assert repr(copy) == repr(committee)
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), committee.predict(X))


def test_inside_a_pipeline():
    X, y = _classes()
    pipeline = make_pipeline(
        StandardScaler(),
        CommitteeClassifier(SVC(), generator=Bagging(3), random_state=0),
    )
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    pipeline.set_params(committeeclassifier__generator__n_members=2).fit(X, y)
    assert len(pipeline[-1].members_) == 2


def test_fit_leaves_the_parameters_alone():
    X, y = _targets()
    combiner, generator = SimplexWeights(), Bagging(3)
    CommitteeRegressor(generator=generator, combiner=combiner).fit(X, y)
    assert not hasattr(combiner, "weights_")
    assert vars(generator) == {"n_members": 3, "max_samples": 1.0}


# --- metadata routing --------------------------------------------------------


class _TakesNames(ClassifierMixin, BaseEstimator):
    """Keeps the extra metadata and the rows it was given."""

    def fit(self, X, y, names=None):
        self.rows_, self.names_ = X[:, 0].astype(int), names
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    "generator", [Bagging(3), CrossSplits(3, 1), RandomInits(3)], ids=repr
)
@pytest.mark.parametrize("weigh_on", ["held-out", 0.5])
def test_metadata_reach_the_members_cut_to_their_rows(generator, weigh_on):
    X = np.arange(float(N))[:, None]
    names = np.array([f"row {n}" for n in range(N)])
    with sklearn.config_context(enable_metadata_routing=True):
        committee = CommitteeClassifier(
            _TakesNames().set_fit_request(names=True),
            generator=generator,
            combiner=SimplexWeights(),
            weigh_on=weigh_on,
        ).fit(X, np.arange(N) % 2, names=names)
    for member in committee.members_:
        assert len(member.rows_) > 0
        np.testing.assert_array_equal(member.names_, names[member.rows_])


def test_each_member_of_a_pool_gets_what_it_asked_for():
    X = np.arange(float(N))[:, None]
    names = np.arange(N).astype(str)
    with sklearn.config_context(enable_metadata_routing=True):
        pool = Pool(
            [
                DecisionTreeClassifier(),
                _TakesNames().set_fit_request(names=True),
                _TakesNames().set_fit_request(names=False),
            ]
        )
        committee = CommitteeClassifier(generator=pool, combiner=None)
        committee.fit(X, np.arange(N) % 2, names=names)
    _, asked, did_not = committee.members_
    np.testing.assert_array_equal(asked.names_, names)
    assert did_not.names_ is None


def test_metadata_nobody_asked_for_are_refused():
    X, y = _classes()
    with sklearn.config_context(enable_metadata_routing=True):
        unset = CommitteeClassifier(_TakesNames(), generator=Bagging(2))
        with pytest.raises(UnsetMetadataPassedError, match="names"):
            unset.fit(X, y, names=y)
        with pytest.raises(TypeError, match="names"):
            CommitteeClassifier(generator=Bagging(2)).fit(X, y, names=y)


def test_an_unknown_fit_argument_without_routing():
    X, y = _classes()
    with pytest.raises(TypeError, match=r"\['colour'\].*enable_metadata_routing=True"):
        CommitteeClassifier(generator=Bagging(2)).fit(X, y, colour=y)


def test_sample_weight_through_a_grid_search():
    """A class of weight zero in every fold is a class nobody votes for."""
    X, y = _classes()
    s = np.where(y == 2, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        committee = CommitteeClassifier(
            DecisionTreeClassifier().set_fit_request(sample_weight=True),
            generator=CrossSplits(2, 1),
            random_state=0,
        )
        committee.set_fit_request(sample_weight=True)
        committee.set_score_request(sample_weight=False)
        search = GridSearchCV(committee, {"generator__n_splits": [2, 3]}, cv=2)
        search.fit(X, y, sample_weight=s)
        assert set(search.predict(X)) == {0, 1}


@pytest.mark.parametrize("request_it", [True, False])
def test_under_routing_members_get_weights_if_they_ask_and_else_a_resample(request_it):
    X, y = _classes(2)
    s = np.where(y == 0, 1.0, 1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=request_it)
        committee = CommitteeClassifier(tree, generator=RandomInits(2))
        committee.fit(X, y, sample_weight=s)
    weights_seen = {m.tree_.weighted_n_node_samples[0] for m in committee.members_}
    expected = s.sum() if request_it else N
    np.testing.assert_allclose(list(weights_seen), expected, rtol=1e-12)


# --- seeds and jobs ----------------------------------------------------------


@pytest.mark.parametrize(
    ("weigh_on", "combiner"),
    [
        ("held-out", None),
        ("held-out", OptimalWeights()),
        ("train", OptimalWeights()),
        (0.3, OptimalWeights()),
    ],
    ids=str,
)
def test_predictions_do_not_depend_on_n_jobs(weigh_on, combiner):
    X, y = _classes()
    one, two = (
        CommitteeClassifier(
            generator=Bagging(5),
            combiner=combiner,
            weigh_on=weigh_on,
            n_jobs=n_jobs,
            random_state=0,
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_the_same_random_state_gives_the_same_committee():
    X, y = _targets()
    a, b, c = (
        CommitteeRegressor(
            generator=Bagging(3), combiner=SimplexWeights(), random_state=seed
        )
        .fit(X, y)
        .predict(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a, b)
    assert np.any(a != c)
    state = CommitteeRegressor(
        generator=Bagging(3),
        combiner=SimplexWeights(),
        random_state=np.random.RandomState(0),
    )
    np.testing.assert_array_equal(state.fit(X, y).predict(X), a)


def test_inputs_are_not_modified():
    X, y = _targets()
    s = np.ones(N)
    copies = X.copy(), y.copy(), s.copy()
    CommitteeRegressor(generator=Bagging(2), combiner=LeastSquares()).fit(
        X, y, sample_weight=s
    ).predict(X)
    for array, copy in zip((X, y, s), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- progress ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("generator", "combiner"),
    [
        (Bagging(3), None),
        (RandomInits(3), SimplexWeights()),
        (AdaBoost(3), SimplexWeights()),
    ],
    ids=str,
)
def test_verbose_shows_a_bar_on_standard_error_only(capsys, generator, combiner):
    X, y = make_classification(N, 6, flip_y=0.3, random_state=0)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2), generator=generator, combiner=combiner
    )
    committee.fit(X, y).predict(X)
    silent = capsys.readouterr()
    assert silent.out == silent.err == ""
    committee.set_params(verbose=True).fit(X, y).predict(X)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err


# --- predictions -------------------------------------------------------------


def test_members_of_weight_zero_are_not_kept():
    X, y = _targets()
    committee = CommitteeRegressor(
        generator=Bagging(30), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    w = committee.combiner_.weights_
    assert 0 < committee.n_members_ == len(committee.members_) < 30
    np.testing.assert_array_equal(committee.support_, np.flatnonzero(w))
    np.testing.assert_array_equal(committee.weights_, w[committee.support_])
    assert committee.held_out_.shape == (len(y), committee.n_members_)
    np.testing.assert_allclose(
        committee.predict(X), committee.member_predictions(X) @ committee.weights_
    )


@pytest.mark.parametrize("combiner", COMBINERS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_are_the_largest_probability_and_rows_sum_to_one(combiner, n_classes):
    X, y = _classes(n_classes)
    tree = DecisionTreeClassifier(max_depth=2)
    committee = CommitteeClassifier(
        tree, generator=Bagging(6), combiner=combiner, random_state=0
    ).fit(X, y)
    p = committee.predict_proba(X)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(committee.predict(X), p.argmax(axis=1))


@pytest.mark.parametrize("weights", [[2.0, -1.0], [-2.0, -1.0], [-1.0, 1.0], [0, 0]])
def test_probabilities_stay_probabilities_under_negative_weights(weights):
    X, y = _classes()
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2), generator=Bagging(2), random_state=0
    ).fit(X, y)
    everyone = np.arange(2)
    committee.roster_ = committee.roster_.only(everyone, np.array(weights, float))
    p = committee.predict_proba(X)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(committee.predict(X), p.argmax(axis=1))
    F = committee.member_predictions(X)
    scores = sum(w * F[:, m] for m, w in enumerate(weights))
    best = np.take_along_axis(scores, p.argmax(axis=1)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(best, scores.max(axis=1), rtol=1e-12)


def test_all_weights_zero_is_still_a_prediction_for_every_row():
    """Least squares of a zero target, and of members that know nothing."""
    X, _ = _targets()
    regressor = CommitteeRegressor(
        generator=Bagging(2), combiner=LeastSquares(), weigh_on="train"
    ).fit(X, np.zeros(N))
    np.testing.assert_array_equal(regressor.weights_, 0)
    np.testing.assert_array_equal(regressor.predict(X), np.zeros(N))
    classifier = CommitteeClassifier(
        DummyClassifier(), generator=RandomInits(2), combiner=LeastSquares()
    ).fit(X, np.arange(N) % 2)
    assert classifier.predict_proba(X).shape == (N, 2)


def test_a_tie_goes_to_the_first_class():
    """Two voters of equal weight that disagree everywhere."""
    X, y = _classes(2)
    pool = Pool([DummyClassifier(strategy="constant", constant=k) for k in (1, 0)])
    committee = CommitteeClassifier(generator=pool, combiner=None, calibration=None)
    committee.fit(X, np.array(["a", "b"])[y])
    assert set(committee.predict(X)) == {"a"}
    np.testing.assert_array_equal(committee.predict_proba(X), 0.5)


# --- bad input ---------------------------------------------------------------


@pytest.mark.parametrize("committee", [CommitteeClassifier(), CommitteeRegressor()])
def test_not_fitted(committee):
    for method in ("predict", "predict_proba", "member_predictions"):
        if hasattr(committee, method):
            with pytest.raises(NotFittedError):
                getattr(committee, method)([[0.0]])
    assert not hasattr(committee, "n_members_")


def test_one_class_only():
    X, _ = _classes()
    with pytest.raises(ValueError, match=r"at least 2 classes in y. Got 1 class: 'no'"):
        CommitteeClassifier().fit(X, ["no"] * N)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[48, 47\]"),
        (lambda y: None, "requires y to be passed, but the target y is None"),
        (lambda y: np.r_[np.nan, y[1:]], "y contains NaN"),
        (lambda y: [None, *y[1:]], "y contains NaN"),
        (lambda y: pd.Series([pd.NA, *y[1:]], dtype=object), "y contains NaN"),
        (lambda y: pd.Series([pd.NA, *y[1:]], dtype="Int64"), "y contains NaN"),
        (lambda y: np.column_stack([y, y]), "y should be a 1d array"),
    ],
    ids=["short", "none", "nan", "None", "NA", "Int64", "2d"],
)
def test_bad_targets(bad, message):
    X, y = _classes()
    for kind in (CommitteeClassifier, CommitteeRegressor):
        with pytest.raises(ValueError, match=message):
            kind(generator=Bagging(2)).fit(X, bad(y))


def test_missing_string_labels():
    X, codes = _classes()
    y = np.array(["a", "b", "c"], dtype=object)[codes]
    y[3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        CommitteeClassifier(generator=Bagging(2)).fit(X, y)


def test_continuous_targets_are_no_labels():
    X, y = _targets()
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        CommitteeClassifier(generator=Bagging(2)).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weigh_on": "oob"}, r"'weigh_on' .*'held-out'.*\(0.0, 1.0\). Got 'oob'"),
        ({"weigh_on": 1.0}, r"'weigh_on' .*'train'.*\(0.0, 1.0\). Got 1.0"),
        ({"generator": "bagging"}, "'generator' .*Generator.* Got 'bagging'"),
        ({"generator": Bagging}, "'generator' .*Generator.* Got <class .*Bagging.>"),
        ({"random_state": "seed"}, "'random_state' .*RandomState.* Got 'seed'"),
        ({"verbose": 3.5}, "'verbose' .*bool.* Got 3.5"),
    ],
)
def test_unknown_options_are_named_with_what_is_allowed_and_what_came(options, message):
    X, y = _targets()
    with pytest.raises(ValueError, match=f"The {message} instead"):
        CommitteeRegressor(**options).fit(X, y)


def test_another_number_of_features():
    X, y = _targets()
    committee = CommitteeRegressor(generator=Bagging(2)).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        committee.predict(X[:, 1:])


def test_no_row_was_held_out_by_anybody():
    """One member and two rows: a bootstrap sample may well hold both."""
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    refused = []
    for seed in range(20):
        committee = CommitteeRegressor(
            generator=Bagging(1), combiner=SimplexWeights(), random_state=seed
        )
        try:
            committee.fit(X, y)
        except ValueError as error:
            refused.append(str(error))
    assert refused
    assert all("no member left out any of the rows" in text for text in refused)


# --- failures leave nothing half done ----------------------------------------


class _Interrupted(LinearRegression):
    """Ctrl-C in the middle of the fit of a row set that holds a negative target."""

    def fit(self, X, y, sample_weight=None):
        if np.any(y < 0):
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "generator", [Bagging(3), RandomInits(3), MiniBatches(3, 1)], ids=repr
)
@pytest.mark.parametrize("verbose", [False, True])
def test_ctrl_c_comes_through_and_leaves_the_committee_unfitted(generator, verbose):
    X, y = _targets()
    committee = CommitteeRegressor(_Interrupted(), generator=generator, verbose=verbose)
    with pytest.raises(KeyboardInterrupt):
        committee.fit(X, y)
    with pytest.raises(NotFittedError):
        committee.predict(X)
    assert committee.fit(X, np.abs(y)).predict(X).shape == (N,)


def test_ctrl_c_during_boosting():
    class Interrupted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise KeyboardInterrupt

    X, y = _classes()
    committee = CommitteeClassifier(Interrupted(), generator=AdaBoost(3))
    with pytest.raises(KeyboardInterrupt):
        committee.fit(X, y)
    assert not hasattr(committee, "weights_")


def test_a_failed_refit_does_not_leave_old_members_beside_new_classes():
    X, y = _classes(2)
    committee = CommitteeClassifier(SVC(), generator=RandomInits(2)).fit(X, y)
    bad = X.copy()
    bad[:] = np.nan
    with pytest.raises(MemberFitError):
        committee.fit(bad, np.array(["x", "y"])[y])
    with pytest.raises(NotFittedError):
        committee.predict(X)
    assert committee.fit(X, y).score(X, y) > 0.8


def test_refitting_forgets_the_last_data():
    X, y = make_blobs(N, centers=3, random_state=0)
    committee = CommitteeClassifier(
        generator=Bagging(3), combiner=SimplexWeights(), random_state=0
    )
    first = committee.fit(X, y).predict_proba(X)
    committee.fit(np.column_stack([X, X]), y % 2)
    assert committee.n_features_in_ == 4
    np.testing.assert_array_equal(committee.fit(X, y).predict_proba(X), first)


def test_text_in_a_plain_array_reaches_a_pipeline_that_can_read_it():
    X = np.array([["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]] * 10, dtype=object)
    y = (X[:, 0] == "a").astype(int)
    encoded = make_pipeline(OneHotEncoder(), LogisticRegression())
    committee = CommitteeClassifier(encoded, generator=Bagging(3), random_state=0)
    assert committee.fit(X, y).score(X, y) == 1.0


def test_a_failed_refit_leaves_the_committee_unfitted():
    X, y = make_classification(60, random_state=0)
    committee = CommitteeClassifier(generator=Bagging(2), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="2 classes"):
        committee.fit(X, np.zeros(60))
    with pytest.raises(NotFittedError):
        check_is_fitted(committee)


@pytest.mark.parametrize("fraction", [0.001, 0.999])
def test_a_fraction_that_leaves_nothing(fraction):
    X, y = make_classification(60, random_state=0)
    committee = CommitteeClassifier(
        generator=Bagging(2), combiner=SimplexWeights(), weigh_on=fraction
    )
    with pytest.raises(ValueError, match=r"weigh_on=.* of 60 rows"):
        committee.fit(X, y)


def test_weights_of_classes_are_weights_of_rows():
    """By label, for members that take sample_weight and for those that take none."""
    X, y = _classes()
    labels = np.array(["a", "b", "c"])[y]
    c = {"a": 5.0, "b": 1.0, "c": 0.2}
    s = np.array([5.0, 1.0, 0.2])[y]
    own = np.linspace(1.0, 2.0, len(y))
    for member in (DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(3)):
        for generator in (Bagging(3), RandomInits(2)):
            options = {"generator": generator, "combiner": SimplexWeights()}
            plain = CommitteeClassifier(member, random_state=0, **options)
            by_class = clone(plain).set_params(class_weight=c)
            np.testing.assert_array_equal(
                by_class.fit(X, labels, sample_weight=own).predict_proba(X),
                plain.fit(X, labels, sample_weight=own * s).predict_proba(X),
            )


def test_balanced_classes_are_all_found():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], [380, 20])
    X = rng.standard_normal((400, 2)) + y[:, None]
    stump = DecisionTreeClassifier(max_depth=2)
    plain = CommitteeClassifier(stump, generator=Bagging(10), random_state=0)
    balanced = clone(plain).set_params(class_weight="balanced").fit(X, y)
    assert np.mean(balanced.predict(X[380:])) > np.mean(
        plain.fit(X, y).predict(X[380:])
    )
    assert np.mean(balanced.predict(X[380:])) > 0.5
    with pytest.raises(ValueError, match="class_weight"):
        clone(plain).set_params(class_weight="even").fit(X, y)
    with pytest.raises(ValueError, match="not in class_weight"):
        clone(plain).set_params(class_weight={"typo": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="non-negative"):
        clone(plain).set_params(class_weight={0: -1.0, 1: 1.0}).fit(X, y)
