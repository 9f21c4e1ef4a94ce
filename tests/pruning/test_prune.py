"""prune(): any fitted ensemble, one line."""

import gc
import pickle
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    make_classification,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    LeastSquares,
    Pool,
    SimplexWeights,
    prune,
)

FOUR = [
    ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
    ("stump", DecisionTreeClassifier(max_depth=1)),
    ("bayes", GaussianNB()),
    ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
]
FOUR_NUMBERS = [
    ("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
    ("stump", DecisionTreeRegressor(max_depth=1)),
    ("ridge", Ridge()),
    ("flat", Ridge(alpha=1e6)),
]
CLASSIFIERS = [
    RandomForestClassifier(30, random_state=0),
    ExtraTreesClassifier(30, random_state=0),
    BaggingClassifier(n_estimators=30, random_state=0),
    BaggingClassifier(n_estimators=30, max_features=0.5, random_state=0),
    AdaBoostClassifier(n_estimators=30, random_state=0),
    VotingClassifier(FOUR, voting="soft"),
    VotingClassifier(FOUR, voting="hard"),
    StackingClassifier(FOUR),
    GradientBoostingClassifier(n_estimators=30, random_state=0),
    HistGradientBoostingClassifier(max_iter=30, random_state=0),
    make_pipeline(StandardScaler(), RandomForestClassifier(30, random_state=0)),
    GridSearchCV(RandomForestClassifier(30, random_state=0), {"max_depth": [3]}),
    CommitteeClassifier(generator=Bagging(30), random_state=0),
]
REGRESSORS = [
    RandomForestRegressor(30, random_state=0),
    ExtraTreesRegressor(30, random_state=0),
    BaggingRegressor(n_estimators=30, max_features=0.5, random_state=0),
    AdaBoostRegressor(n_estimators=30, random_state=0),
    VotingRegressor(FOUR_NUMBERS),
    StackingRegressor(FOUR_NUMBERS),
    GradientBoostingRegressor(n_estimators=30, random_state=0),
    HistGradientBoostingRegressor(max_iter=30, random_state=0),
    make_pipeline(StandardScaler(), RandomForestRegressor(30, random_state=0)),
    CommitteeRegressor(generator=Bagging(30), random_state=0),
]


def _split(loader, labels=None):
    X, y = loader(return_X_y=True)
    if labels is not None:
        y = np.array(labels)[y]
    return train_test_split(X, y, test_size=0.5, random_state=0)


@pytest.fixture(scope="module", params=["binary", "multiclass"])
def labelled(request):
    if request.param == "binary":
        return _split(load_breast_cancer, ["bad", "good"])
    return _split(load_iris, ["x", "y", "z"])


@pytest.fixture(scope="module")
def numbers():
    return _split(load_diabetes)


@pytest.mark.parametrize("ensemble", CLASSIFIERS, ids=repr)
def test_classifiers(ensemble, labelled):
    X, X_new, y, y_new = labelled
    ensemble = clone(ensemble).fit(X, y)
    small = prune(ensemble, X_new, y_new)
    assert isinstance(small, CommitteeClassifier)
    assert 1 <= small.n_members_ == len(small.members_) <= 30
    p = small.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.all(p >= 0)
    np.testing.assert_array_equal(
        small.predict(X_new), ensemble.classes_[p.argmax(axis=1)]
    )
    summary = small.summary()
    assert summary.error_as_weighed == pytest.approx(1 - small.score(X_new, y_new))
    # Hard votes may tie, and rounding may break a tie in another way.
    assert summary.error_before == pytest.approx(
        1 - ensemble.score(X_new, y_new), abs=0.03
    )
    assert summary.cross_fitted
    assert summary.difference == pytest.approx(
        summary.error_after - summary.error_before
    )
    # The committee may not be clearly worse than the whole.
    assert summary.difference <= 3 * summary.difference_se + 0.03


@pytest.mark.parametrize("ensemble", REGRESSORS, ids=repr)
def test_regressors(ensemble, numbers):
    X, X_new, y, y_new = numbers
    ensemble = clone(ensemble).fit(X, y)
    small = prune(ensemble, X_new, y_new)
    assert isinstance(small, CommitteeRegressor)
    assert 1 <= small.n_members_ == len(small.members_) <= 30
    summary = small.summary()
    before, after = ensemble.predict(X_new), small.predict(X_new)
    assert summary.measure == "RMSE"
    for found, f in ((summary.error_before, before), (summary.error_as_weighed, after)):
        assert found == pytest.approx(np.sqrt(np.mean((f - y_new) ** 2)))
    assert summary.error_as_weighed < summary.error_before
    assert summary.error_after < 1.2 * summary.error_before


def test_a_list_of_unlike_estimators(labelled):
    X, X_new, y, y_new = labelled
    models = [clone(model).fit(X, y) for _, model in FOUR]
    small = prune(models, X_new, y_new, combiner=SimplexWeights())
    assert small.score(X_new, y_new) > 0.9
    assert small.summary().n_members_before == 4
    assert set(map(id, small.members_)) <= set(map(id, models))


def test_members_of_a_pool_keep_their_names(labelled):
    pytest.importorskip("matplotlib")
    from committee import WeightsDisplay

    X, X_new, y, y_new = labelled
    model = CommitteeClassifier(generator=Pool(FOUR), combiner=None)
    small = prune(model.fit(X, y), X_new, y_new, combiner=SimplexWeights())
    assert small.n_members_ < 4
    for committee in (small, small.path_.choose()):
        names = WeightsDisplay.from_estimator(committee).names
        assert names == [name for name, _ in FOUR]
    assert small.predict(X_new).shape == y_new.shape


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(40, random_state=0),
        ExtraTreesClassifier(40, bootstrap=True, random_state=0),
        BaggingClassifier(n_estimators=40, random_state=0),
        make_pipeline(StandardScaler(), RandomForestClassifier(40, random_state=0)),
        CommitteeClassifier(
            generator=Bagging(40), combiner=SimplexWeights(), random_state=0
        ),
    ],
    ids=repr,
)
def test_out_of_bag(ensemble, labelled):
    """Members vote on rows they did not see: the error is no training error."""
    X, X_new, y, y_new = labelled
    ensemble.fit(X, y)
    small = prune(ensemble, X, y, oob=True)
    assert small.n_members_ < 40
    assert small.summary().oob
    assert small.summary().error_before > 1 - ensemble.score(X, y)
    assert small.score(X_new, y_new) > ensemble.score(X_new, y_new) - 0.06


@pytest.mark.parametrize(
    ("ensemble", "advice"),
    [
        (ExtraTreesClassifier(3), "bootstrap=True"),
        (AdaBoostClassifier(n_estimators=3), "without oob"),
        (VotingClassifier(FOUR), "Pool"),
        (GradientBoostingClassifier(n_estimators=3), "not trained on"),
        (BaggingClassifier(n_estimators=3, bootstrap=False), "bootstrap=True"),
        (CommitteeClassifier(generator=Bagging(3), calibration=None), "held-out"),
    ],
    ids=repr,
)
def test_out_of_bag_where_it_cannot_be(ensemble, advice, labelled):
    X, _, y, _ = labelled
    with pytest.raises(ValueError, match=rf"oob=True is not possible here.*{advice}"):
        prune(ensemble.fit(X, y), X, y, oob=True)


def test_equal_weights_of_all_members_are_the_forest(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    whole = prune(forest, X_new, y_new, combiner=Average(), calibration=None)
    np.testing.assert_allclose(
        whole.predict_proba(X_new), forest.predict_proba(X_new), atol=1e-15
    )
    assert whole.summary().disagreement == 0
    assert whole.summary().difference == 0


def test_weights_of_a_vote_are_shares(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new)
    assert small.weights_.sum() == pytest.approx(1.0)
    F = small.member_predictions(X_new)
    s = np.tensordot(F, small.weights_, axes=(1, 0))
    p = small.combiner_.linked(small.combiner_.weights_.sum() * s)
    np.testing.assert_allclose(small.predict_proba(X_new), small.calibration_(p, s))


def test_negative_weights_are_left_alone(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, max_depth=2, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new, combiner=LeastSquares())
    assert np.any(small.weights_ < 0)
    assert small.score(X_new, y_new) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_column_names(library, labelled):
    X, X_new, y, y_new = labelled
    columns = [f"c{i}" for i in range(X.shape[1])]
    table, table_new = (
        pl.DataFrame(part, schema=columns)
        if library == "polars"
        else pd.DataFrame(part, columns=columns)
        for part in (X, X_new)
    )
    forest = RandomForestClassifier(20, random_state=0)
    small = prune(forest.fit(table, y), table_new, y_new)
    same = prune(forest.fit(X, y), X_new, y_new)
    np.testing.assert_array_equal(
        small.predict_proba(table_new), same.predict_proba(X_new)
    )
    assert small.feature_names_in_.tolist() == columns
    assert small.n_features_in_ == same.n_features_in_ == X.shape[1]
    assert not hasattr(same, "feature_names_in_")
    with pytest.raises(ValueError, match="feature names should match"):
        small.predict(table_new[columns[::-1]])


def test_text_columns_of_a_pipeline(rng):
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    X = pd.DataFrame(
        {"colour": rng.choice(["red", "blue"], 200), "size": rng.normal(size=200)}
    )
    y = np.where((X["colour"] == "red") ^ (X["size"] > 0), "in", "out")
    encode = make_column_transformer(
        (OneHotEncoder(), ["colour"]), remainder="passthrough"
    )
    model = make_pipeline(encode, RandomForestClassifier(20, random_state=0))
    small = prune(model.fit(X[:100], y[:100]), X[100:], y[100:])
    assert small.score(X[100:], y[100:]) > 0.9
    assert small.transformer_ is not None


def test_sparse_rows(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(csr_matrix(X), y)
    small = prune(forest, csr_matrix(X_new), y_new)
    np.testing.assert_array_equal(
        small.predict(csr_matrix(X_new)), small.predict(X_new)
    )


def test_sample_weights_count(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    s = np.random.default_rng(0).integers(0, 3, len(y_new))
    weighted = prune(forest, X_new, y_new, sample_weight=s.astype(float))
    repeated = prune(forest, np.repeat(X_new, s, axis=0), np.repeat(y_new, s))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-6)
    assert weighted.summary().error_as_weighed == pytest.approx(
        repeated.summary().error_as_weighed
    )


def test_members_that_were_left_out_stay_with_the_path_only(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    trees = [weakref.ref(tree) for tree in forest.estimators_]
    small = prune(forest, X_new, y_new, combiner=EPPruner(max_members=3))
    kept = set(small.support_.tolist())
    del forest
    del small.path_
    gc.collect()
    assert {m for m, tree in enumerate(trees) if tree() is not None} == kept


@pytest.mark.slow
@pytest.mark.parametrize("oob", [True, False])
def test_the_summary_does_not_promise_what_fresh_rows_deny(oob):
    """Noisy labels: members chosen on few rows look far better there than they are."""
    promised, as_weighed, true = [], [], []
    for seed in range(4):
        X, y = make_classification(
            3000, 20, n_informative=5, flip_y=0.2, random_state=seed
        )
        forest = RandomForestClassifier(100, random_state=seed).fit(X[:300], y[:300])
        rows = slice(0, 300) if oob else slice(300, 600)
        small = prune(forest, X[rows], y[rows], oob=oob)
        fresh = X[600:], y[600:]
        promised.append(small.summary().difference)
        as_weighed.append(
            small.summary().error_as_weighed - small.summary().error_before
        )
        true.append(forest.score(*fresh) - small.score(*fresh))
    assert np.mean(as_weighed) < np.mean(true) - 0.02
    assert np.mean(promised) > np.mean(true) - 0.01


def test_too_few_rows_for_folds(labelled):
    X, _, y, _ = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    few = np.r_[np.flatnonzero(y == y[0])[:2], np.flatnonzero(y != y[0])[:1]]
    summary = prune(forest, X[few], y[few]).summary()
    assert not summary.cross_fitted
    assert "too few for folds" in str(summary)


def test_columns_that_lightgbm_renames(labelled):
    lightgbm = pytest.importorskip("lightgbm")
    X, X_new, y, y_new = labelled
    columns = [f"column {i}" for i in range(X.shape[1])]
    table, table_new = (pd.DataFrame(part, columns=columns) for part in (X, X_new))
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    small = prune(model.fit(table, y), table_new, y_new)
    assert small.feature_names_in_.tolist() == columns
    assert small.predict(table_new).shape == y_new.shape


@pytest.mark.parametrize("kind", [list, pd.Series])
def test_text_in_a_pipeline(kind):
    from sklearn.feature_extraction.text import TfidfVectorizer

    text, y = kind(["good day", "bad night", "good night", "bad day"] * 20), [1, 0] * 40
    model = make_pipeline(TfidfVectorizer(), RandomForestClassifier(5, random_state=0))
    small = prune(model.fit(text, y), text, y, oob=False)
    assert small.score(text, y) == 1.0


def test_a_booster_predicts_in_one_go(labelled):
    """Rebuilt from the kept rounds, at first use; not a part of the pickle."""
    X, X_new, y, y_new = labelled
    model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, y)
    small = prune(model, X_new, y_new)
    F = small.member_predictions(X_new)
    sums = np.tensordot(F, small.weights_, axes=(1, 0)) + small.offsets_
    p = softmax(small.slope_ * sums, axis=1)
    np.testing.assert_allclose(small.predict_proba(X_new), p, atol=1e-12)
    other = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(
        other.predict_proba(X_new), small.predict_proba(X_new)
    )
    assert small.summary().bytes_after == pytest.approx(
        len(pickle.dumps(small)), rel=0.2
    )


def test_weights_of_zero_do_not_spoil_the_scale_of_a_booster():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    s = np.r_[np.zeros(300), np.ones(269)]
    small = prune(model, X, y, oob=False, sample_weight=s)
    assert small.score(X[300:], y[300:]) > 0.95


def test_the_result_is_a_fitted_estimator(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new)
    check_is_fitted(small)
    before = dict(vars(small))
    one_by_one = np.vstack([small.predict_proba(row[None]) for row in X_new[:5]])
    np.testing.assert_allclose(one_by_one, small.predict_proba(X_new[:5]))
    assert vars(small).keys() == before.keys()
    assert small.predict(X_new[:3].tolist()).shape == (3,)
    with pytest.raises(ValueError, match=r"is expecting .* features as input"):
        small.predict(X_new[:, :-1])
    with pytest.raises(ValueError, match="Expected 2D array"):
        small.predict(X_new[0])
    with pytest.raises(ValueError, match=r"infinity|too large"):
        small.predict(np.full((1, X.shape[1]), np.inf))
    with pytest.raises(NotFittedError):
        clone(small).predict(X_new)
    assert not hasattr(clone(small), "summary")
    again = clone(small).set_params(estimator__n_estimators=5).fit(X, y)
    assert again.combiner_.weights_.shape == (5,)


def test_n_jobs_does_not_matter(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    one, two = (prune(forest, X_new, y_new, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.predict_proba(X_new), two.predict_proba(X_new))


def test_the_ensemble_is_left_as_it_was(labelled):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    before = forest.predict_proba(X_new)
    prune(forest, X_new, y_new, combiner=EPPruner(max_members=3))
    assert len(forest.estimators_) == 20
    np.testing.assert_array_equal(forest.predict_proba(X_new), before)


def test_progress_goes_to_standard_error(labelled, capsys):
    X, X_new, y, y_new = labelled
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    prune(forest, X_new, y_new, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "predicting" in err
