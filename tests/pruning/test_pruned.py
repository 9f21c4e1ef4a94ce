"""Pruning as an estimator: for cross-validation, grids and pipelines."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    EPPruner,
    OrderPruner,
    Pool,
    PrunedClassifier,
    PrunedRegressor,
    SimplexWeights,
    load,
    prune,
    save,
)
from committee.ensembles import leaves_rows_out


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_a_clone_is_the_recipe(cancer):
    """It was 100 fresh bagged trees, and cross_val_score scored those."""
    X, y = cancer
    forest = RandomForestClassifier(40, max_depth=3, random_state=0)
    small = prune(forest.fit(X, y), X, y, oob=True, combiner=OrderPruner("best", 5))
    again = clone(small).fit(X, y)
    np.testing.assert_array_equal(again.support_, small.support_)
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    fresh = PrunedClassifier(forest, combiner=OrderPruner("best", 5))
    np.testing.assert_array_equal(
        cross_val_score(small, X, y, cv=3), cross_val_score(fresh, X, y, cv=3)
    )


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_clone_is_measured_in_the_same_way(scoring, cancer):
    X, y = cancer
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True, scoring=scoring)
    again = clone(small).fit(X, y)
    assert again.summary().measure == small.summary().measure
    assert again.summary().error_after == small.summary().error_after
    np.testing.assert_array_equal(again.path_.error, small.path_.error)


def test_out_of_bag_and_by_a_fraction_are_what_prune_does():
    X, y = load_diabetes(return_X_y=True)
    bagging = BaggingRegressor(n_estimators=15, random_state=1)
    fitted = PrunedRegressor(bagging, combiner=SimplexWeights()).fit(X, y)
    same = prune(bagging.fit(X, y), X, y, oob=True, combiner=SimplexWeights())
    np.testing.assert_array_equal(fitted.predict(X), same.predict(X))
    split = PrunedRegressor(bagging, weigh_on=0.4, random_state=0).fit(X, y)
    assert split.summary().n_rows == round(0.4 * len(X))
    assert not split.summary().oob


def test_a_booster_is_pruned_on_rows_that_it_was_not_trained_on():
    X, y = load_diabetes(return_X_y=True)
    booster = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    small = PrunedRegressor(booster, random_state=0).fit(X, y)
    assert small.summary().n_rows == round(0.25 * len(X) + 0.5)
    # The rounds have seen three quarters of the rows: those of its own first tree.
    assert small.members_[0].model._predictors[0][0].nodes["count"][0] == 331
    alone = small.path_.choose(max_members=5)
    assert alone.n_members_ <= 5
    assert isinstance(alone, PrunedRegressor)


def test_grids_reach_the_ensemble_and_the_combiner(cancer):
    X, y = cancer
    small = PrunedClassifier(RandomForestClassifier(10, random_state=0))
    grid = {
        "estimator__max_depth": [1, 4],
        "combiner": [EPPruner(), OrderPruner("best", 3)],
    }
    search = GridSearchCV(small, grid, cv=2).fit(X, y)
    assert search.best_estimator_.members_[0].max_depth in (1, 4)
    assert len(search.cv_results_["params"]) == 4
    # A search stands for what it chose.
    pruned = prune(search, X, y, oob=False, combiner=OrderPruner("best", 2))
    assert clone(pruned).estimator.get_params()["estimator__max_depth"] in (1, 4)


def test_inside_and_around_pipelines(cancer):
    X, y = cancer
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    forest = RandomForestClassifier(10, random_state=0)
    outer = make_pipeline(StandardScaler(), PrunedClassifier(forest)).fit(frame, y)
    inner = PrunedClassifier(make_pipeline(StandardScaler(), forest)).fit(frame, y)
    np.testing.assert_array_equal(
        outer.predict_proba(frame), inner.predict_proba(frame)
    )
    assert inner.feature_names_in_.tolist() == list("abcd")


def test_documents_reach_a_pipeline():
    words = ["good fine", "bad poor", "fine good well", "poor bad awful"] * 10
    forest = make_pipeline(TfidfVectorizer(), RandomForestClassifier(8, random_state=0))
    small = PrunedClassifier(forest).fit(words, ["yes", "no"] * 20)
    assert small.predict(["good"]).tolist() == ["yes"]


def test_a_committee_may_be_the_ensemble():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    tree = DecisionTreeClassifier(max_depth=3)
    for calibration, oob in (("auto", True), (None, False)):
        bag = CommitteeClassifier(
            tree, generator=Bagging(10), calibration=calibration, random_state=0
        )
        small = PrunedClassifier(
            bag, combiner=OrderPruner("best", 3), random_state=0
        ).fit(X, y)
        assert small.n_members_ == 3
        assert small.summary().oob is oob
        assert small.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("ensemble", "expected"),
    [
        (RandomForestClassifier(), True),
        (RandomForestClassifier(bootstrap=False), False),
        (ExtraTreesClassifier(), False),
        (BaggingRegressor(bootstrap=False, max_samples=0.5), True),
        (BaggingRegressor(bootstrap=False), False),
        (GradientBoostingClassifier(), False),
        (make_pipeline(StandardScaler(), RandomForestRegressor()), True),
        (GridSearchCV(RandomForestRegressor(), {}), True),
        (CommitteeClassifier(combiner=EPPruner()), True),
        (CommitteeClassifier(combiner=EPPruner(), weigh_on="train"), False),
        (CommitteeClassifier(generator=Pool([GaussianNB()])), False),
        (PrunedClassifier(RandomForestClassifier()), False),
    ],
    ids=str,
)
def test_which_rows_are_left_out_is_known_beforehand(ensemble, expected):
    assert leaves_rows_out(ensemble) is expected


def test_a_clone_of_a_pruned_list_is_a_pool_of_its_models():
    X, y = load_iris(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    models = [GaussianNB().fit(X, y), KNeighborsClassifier(3).fit(X, y)]
    recipe = clone(prune(models, X_new, y_new, combiner=SimplexWeights()))
    assert isinstance(recipe.generator, Pool)
    assert [str(m) for m in recipe.generator.members] == [str(m) for m in models]
    assert recipe.fit(X, y).score(X_new, y_new) > 0.9
    assert all(model.theta_ is not None for model in models[:1])


def test_what_cannot_be_trained_again_says_so():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = load_diabetes(return_X_y=True)
    bare = lightgbm.train(
        {"objective": "regression", "verbose": -1}, lightgbm.Dataset(X, y), 5
    )
    small = prune(bare, X, y, oob=False)
    assert small.predict(X).shape == y.shape
    with pytest.raises(TypeError, match="cannot be trained again"):
        clone(small)
    with pytest.raises(ValueError, match="cannot be trained again"):
        small.fit(X, y)


def test_sample_weights_reach_training_and_pruning(cancer):
    X, y = cancer
    s = np.where(np.arange(len(y)) % 2, 1.0, 1e-9)
    forest = RandomForestClassifier(15, random_state=0)
    small = PrunedClassifier(forest).fit(X, y, sample_weight=s)
    trained = clone(forest).fit(X, y, sample_weight=s)
    same = prune(trained, X, y, oob=True, sample_weight=s)
    np.testing.assert_array_equal(small.predict_proba(X), same.predict_proba(X))
    inner = make_pipeline(StandardScaler(), forest)
    assert PrunedClassifier(inner).fit(X, y, sample_weight=s).n_members_
    with config_context(enable_metadata_routing=True):
        routed = clone(forest).set_fit_request(sample_weight=True)
        again = PrunedClassifier(routed).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(small.predict_proba(X), again.predict_proba(X))
    with pytest.raises(TypeError, match="does not accept sample_weight"):
        PrunedClassifier(_WithoutWeights()).fit(X, y, sample_weight=s)


class _WithoutWeights(RandomForestClassifier):
    def fit(self, X, y):
        return super().fit(X, y)


def test_files_know_it(tmp_path, cancer):
    X, y = cancer
    forest = RandomForestClassifier(10, random_state=0)
    small = PrunedClassifier(forest, random_state=0).fit(X, y)
    save(small, tmp_path / "small.skops")
    again = load(tmp_path / "small.skops")
    assert isinstance(again, PrunedClassifier)
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    np.testing.assert_array_equal(
        clone(again).fit(X, y).predict_proba(X), small.predict_proba(X)
    )


def test_a_seed_makes_it_repeatable(cancer):
    X, y = cancer
    extra = PrunedClassifier(ExtraTreesClassifier(10), random_state=3)
    one, two = (clone(extra).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_every_class_is_trained_on():
    """A class of one row would otherwise be unknown to the ensemble that is pruned."""
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[7] = 9
    for seed in range(8):
        extra = PrunedClassifier(ExtraTreesClassifier(5), random_state=seed)
        assert extra.fit(X, y).classes_.tolist() == [0, 1, 2, 9]
    with pytest.raises(ValueError, match="leaves no rows for pruning"):
        extra.fit(X[::40], np.arange(4))


def test_wrong_use_says_what_to_do(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="must be classifiers"):
        PrunedClassifier(RandomForestRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="scoring must be one of"):
        PrunedClassifier(RandomForestClassifier(), scoring="r2").fit(X, y)
    with pytest.raises(TypeError, match="The ensemble must be one of"):
        PrunedClassifier(GaussianNB()).fit(X, y)
    with pytest.raises(TypeError, match="metadata routing"):
        PrunedClassifier(RandomForestClassifier()).fit(X, y, colour=y)
    with pytest.raises(ValueError, match=r"at least 2 classes in y. Got 1 class: 'm'"):
        PrunedClassifier(RandomForestClassifier(2)).fit(X, np.full(len(X), "m"))


@pytest.mark.parametrize("calibration", [None, "slope", "vector"])
@pytest.mark.parametrize("seed", [0, 2])  # with the others `fit` says why not
def test_two_rows_of_positive_weight_can_be_saved_and_summarised(
    seed, calibration, tmp_path
):
    """Folds of them may have no row that any member left out."""
    rng = np.random.default_rng(seed)
    X, y, s = rng.normal(size=(5, 2)), np.array([0, 1, 0, 1, 0]), np.zeros(5)
    s[rng.choice([0, 2, 4])] = s[rng.choice([1, 3])] = 1.0
    forest = RandomForestClassifier(10, random_state=seed)
    small = PrunedClassifier(
        forest, combiner=SimplexWeights(), calibration=calibration, random_state=0
    ).fit(X, y, sample_weight=s)
    p = small.predict_proba(X)
    assert np.isfinite(p).all()
    save(small, tmp_path / "m.skops")
    copies = [pickle.loads(pickle.dumps(small)), copy.deepcopy(small)]
    for other in [*copies, load(tmp_path / "m.skops")]:
        np.testing.assert_array_equal(other.predict_proba(X), p)
    assert "members" in str(small.summary())
    assert small.path_.size.max() >= 1
