"""Boosters and forests from a file add to columns that there are, or are refused."""

import numpy as np
import pytest
import skops.io
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import ModelFileError, load, prune, save
from committee.persistence.soundness import check_sound

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
CODES = np.arange(90) % 3
COLUMNS = "trees in a round that do not fit its columns"
START = "an init_ without a column for each tree"


def boosted(n_classes=3, **options):
    return GradientBoostingClassifier(n_estimators=3, **options).fit(
        X, CODES % n_classes
    )


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=3),
        GradientBoostingRegressor(n_estimators=3, init="zero"),
        GradientBoostingRegressor(n_estimators=3, init=LinearRegression()),
        GradientBoostingRegressor(
            n_estimators=3, init=make_pipeline(StandardScaler(), LinearRegression())
        ),
        GradientBoostingRegressor(
            n_estimators=2, init=GradientBoostingRegressor(n_estimators=2)
        ),
        GradientBoostingClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=3, init="zero"),
        GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()),
        HistGradientBoostingRegressor(max_iter=3),
        HistGradientBoostingClassifier(max_iter=3),
        IsolationForest(n_estimators=3),
        IsolationForest(n_estimators=3, max_features=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_sound_passes(model, n_classes, tmp_path):
    check_sound(model)  # there is nothing in it yet
    model.fit(X, CODES % n_classes)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_trees_in_a_round_than_columns_are_refused(tmp_path, n_classes):
    """Compiled code would write the trees beyond the last column."""
    model = boosted(n_classes)
    model.estimators_ = np.repeat(model.estimators_, 8, axis=1)
    with pytest.raises(
        ModelFileError, match=f"cannot be saved.*Classifier has {COLUMNS}"
    ):
        save(model, tmp_path / "m.skops")
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=f"Classifier has {COLUMNS}"):
        load(tmp_path / "m.skops")
    model.n_trees_per_iteration_ *= 8
    with pytest.raises(ModelFileError, match=COLUMNS):
        check_sound(model)


@pytest.mark.parametrize(
    "reshaped",
    [
        np.ravel,
        lambda trees: trees[:, :1],
        lambda trees: trees[..., None],
        lambda trees: trees[:0],
    ],
    ids=["a row", "one column", "a cube", "nothing"],
)
def test_rounds_are_a_table_of_trees(reshaped):
    model = boosted()
    model.estimators_ = reshaped(model.estimators_)
    with pytest.raises(ModelFileError, match=COLUMNS):
        check_sound(model)


def test_trees_of_a_booster_hold_one_number():
    """Their leaves are read as one number, however many there are."""
    model = boosted()
    model.estimators_[0, 0] = DecisionTreeClassifier().fit(X, CODES)
    with pytest.raises(ModelFileError, match=COLUMNS):
        check_sound(model)
    model.estimators_[0, 0] = DecisionTreeRegressor().fit(X, X[:, :2])
    with pytest.raises(ModelFileError, match=COLUMNS):
        check_sound(model)
    model.estimators_[0, 0] = LinearRegression().fit(X, CODES)
    with pytest.raises(ModelFileError, match=COLUMNS):
        check_sound(model)


def test_rounds_of_a_pruned_booster_are_looked_into():
    model = prune(boosted(), X, CODES, oob=False)
    check_sound(model)
    member = model.members_[-1].model
    member.estimators_ = np.repeat(member.estimators_, 9, axis=1)
    with pytest.raises(ModelFileError, match=rf"members_?\[.*\]\.model has {COLUMNS}"):
        check_sound(model)


def test_the_start_has_a_column_for_each_tree(tmp_path):
    """The array that trees are added to is made by `init_`."""
    model = boosted(3)
    model.init_ = DummyClassifier().fit(X, CODES % 2)
    with pytest.raises(
        ModelFileError, match=f"cannot be saved.*Classifier has {START}"
    ):
        save(model, tmp_path / "m.skops")
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=f"Classifier has {START}"):
        load(tmp_path / "m.skops")
    model = boosted(3)
    model._loss = boosted(2)._loss  # takes one column of the three
    with pytest.raises(ModelFileError, match=START):
        check_sound(model)
    model = GradientBoostingRegressor(n_estimators=2).fit(X, CODES)
    model.init_ = LinearRegression().fit(X, X[:, :2])
    model.init_.coef_, model.init_.intercept_ = np.zeros((0, 4)), np.zeros(0)
    with pytest.raises(ModelFileError, match=START):
        check_sound(model)


def test_the_start_has_a_row_for_each_row():
    model = GradientBoostingRegressor(n_estimators=2).fit(X, CODES)
    turned = make_pipeline(FunctionTransformer(np.transpose), DummyRegressor())
    turned[-1].fit(X, CODES)
    model.init_ = turned
    with pytest.raises(ModelFileError, match=START):
        check_sound(model)


def test_a_booster_inside_a_start_is_looked_into_first():
    """Or a prediction of the outer one would let the inner one write out of bounds."""
    inner = GradientBoostingRegressor(n_estimators=2).fit(X, CODES)
    outer = GradientBoostingRegressor(n_estimators=2, init=inner).fit(X, CODES)
    outer.init_.init_ = LinearRegression().fit(X, CODES)
    outer.init_.init_.coef_ = np.zeros((0, 4))
    outer.init_.init_.intercept_ = np.zeros(0)
    for model in (outer, [outer, outer.init_], [outer.init_, outer]):
        with pytest.raises(ModelFileError, match=START):
            check_sound(model)


def test_a_start_that_is_its_own_start_comes_to_an_end():
    model = GradientBoostingRegressor(n_estimators=2).fit(X, CODES)
    model.init_ = model
    with pytest.raises(RecursionError):
        check_sound(model)


def categories():
    A = np.c_[X[:, :3], np.arange(90) % 5]
    return HistGradientBoostingClassifier(max_iter=3, categorical_features=[3]).fit(
        A, np.arange(90) % 5 > 2
    )


def plain():
    return HistGradientBoostingClassifier(max_iter=3).fit(X, CODES)


def test_categories_are_sound():
    model = categories()
    sets = [tree.nodes["is_categorical"].any() for (tree,) in model._predictors]
    assert any(sets)
    check_sound(model)


def with_a_tree_too_many(model):
    model._predictors[1] = model._predictors[1] * 2


def with_a_wider_start(model):
    model._baseline_prediction = np.zeros((1, 9))


def with_rows_for_bins(model):
    model._in_fit = True


def with_fewer_features_known(model):
    model._bin_mapper.is_categorical_ = np.zeros(1, dtype=np.uint8)


def with_no_category_known(model):
    model._bin_mapper.is_categorical_ = np.zeros(4, dtype=np.uint8)


def with_narrow_sets(model):
    for (tree,) in model._predictors:
        tree.raw_left_cat_bitsets = tree.raw_left_cat_bitsets[:, :1]


def with_another_encoder(model):
    model._preprocessor = OrdinalEncoder().fit(X[:, :2])


def with_an_encoder_that_drops(model):
    model._preprocessor.transformers_ = model._preprocessor.transformers_[:1]


def with_an_encoder_that_turns(model):
    model._preprocessor.transformers_[1][1].func = np.transpose


def with_an_encoder_of_more(model):
    model._preprocessor.n_features_in_ = 9


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (plain, with_a_tree_too_many),
        (plain, with_a_wider_start),
        (plain, with_rows_for_bins),
        (plain, with_fewer_features_known),
        (plain, with_another_encoder),
        (categories, with_no_category_known),
        (categories, with_narrow_sets),
        (categories, with_an_encoder_that_drops),
        (categories, with_an_encoder_that_turns),
        (categories, with_an_encoder_of_more),
    ],
)
def test_histogram_boosters_are_looked_into(model, change):
    model = model()
    change(model)
    with pytest.raises(ModelFileError, match="has nodes that point outside its trees"):
        check_sound(model)


def test_an_isolation_forest_hands_out_as_many_columns_as_its_trees_take():
    model = IsolationForest(n_estimators=3, max_features=2, random_state=0).fit(X)
    kept = model.estimators_features_[1]
    for columns in (kept[:1], np.array([True, False, False, False])[:2], [kept]):
        model.estimators_features_[1] = columns
        with pytest.raises(ModelFileError, match="do not fit its features"):
            check_sound(model)
