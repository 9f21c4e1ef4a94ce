"""CatBoost: trees of any shape, scaled models, labels, refusals."""

import pickle
from functools import partial

import numpy as np
import pytest

from committee import SimplexWeights, load, prune, save, to_onnx, to_sklearn
from committee.ensembles import rebuild, roster_of, trees_of
from tests.ensembles.test_trees import assert_same
from tests.export.cases import rows
from tests.reference.boosters import (
    assert_mean_is_the_booster,
    combined,
    make_booster,
    make_rows,
    member_values,
    output,
)

catboost = pytest.importorskip("catboost")


small = partial(make_booster, "catboost")


@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide", "Depthwise"])
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_trees_of_any_shape(task, policy, nan_mode):
    """Rounds, weighted rounds and tables, with NaN on either side."""
    X, y = make_rows(task)
    X = X.astype(np.float32).astype(np.float64)
    model = small(task, grow_policy=policy, nan_mode=nan_mode).fit(X, y)
    roster = assert_mean_is_the_booster(model, X, task)
    w = np.linspace(0, 0.5, len(roster))
    whole = rebuild(roster.members, w)
    expected = combined(member_values(roster.members, X, task), w)
    np.testing.assert_allclose(output(whole, X, task), expected, rtol=1e-12)
    for booster in (model, whole):
        assert_same(booster, X, 1e-10)


def test_scale_and_bias():
    X, y = make_rows("regression")
    model = small().fit(X, y)
    model.set_scale_and_bias(0.5, 7.0)
    roster = assert_mean_is_the_booster(model, X, "regression")
    whole = rebuild(roster.members, roster.weights)
    np.testing.assert_allclose(whole.predict(X), model.predict(X), rtol=1e-12)
    assert_same(model, X.astype(np.float32).astype(np.float64), 1e-10)


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7], [False, True]])
def test_labels_and_settings_come_back(labels):
    X, y = make_rows("binary")
    model = small("binary", l2_leaf_reg=5.0).fit(X, np.array(labels)[y])
    roster = roster_of(model)
    whole = rebuild(roster.members, roster.weights)
    np.testing.assert_array_equal(whole.classes_, labels)
    np.testing.assert_array_equal(whole.predict(X), model.predict(X))
    assert whole.get_params() == model.get_params()


@pytest.mark.parametrize("loss", ["MAE", "Huber:delta=2.0"])
def test_other_losses_of_the_prediction_itself(loss):
    X, y = make_rows("regression")
    assert_mean_is_the_booster(small(loss_function=loss).fit(X, y), X, "regression")


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        ("regression", "Poisson"),
        ("regression", "Quantile:alpha=0.3"),
        ("binary", "CrossEntropy"),
        ("binary", "MultiClassOneVsAll"),
    ],
)
def test_other_losses_are_refused(task, loss):
    X, y = make_rows("binary")
    model = small(task, loss_function=loss).fit(X, y)
    name = loss.partition(":")[0]
    with pytest.raises(ValueError, match=f"loss_function='{name}' cannot be re-weigh"):
        roster_of(model)
    if name != "Quantile":
        with pytest.raises(ValueError, match=r"Got a CatBoost.* with loss_function"):
            trees_of(model)


def test_features_other_than_numbers_are_refused():
    pd = pytest.importorskip("pandas")
    X, y = make_rows("regression", missing=False)
    frame = pd.DataFrame(X, columns=list("abcde")).astype({"e": int})
    model = small().fit(frame, y, cat_features=["e"])
    with pytest.raises(ValueError, match=r"categorical_features.* not on numbers"):
        roster_of(model)
    with pytest.raises(ValueError, match="no splits on categories"):
        trees_of(model)


@pytest.mark.parametrize("frame", [False, True])
def test_columns_are_known_also_after_pickling(frame):
    pd = pytest.importorskip("pandas")
    X, y = rows("regression")
    X = pd.DataFrame(X, columns=list("uvwxyz")) if frame else X
    model = pickle.loads(pickle.dumps(small().fit(X[:60], y[:60])))
    committee = prune(model, X[60:120], y[60:120], combiner=SimplexWeights())
    assert committee.n_features_in_ == 6
    assert hasattr(committee, "feature_names_in_") == frame
    f = committee.predict(X[120:])
    np.testing.assert_allclose(to_sklearn(committee).predict(X[120:]), f, rtol=1e-12)


def test_from_prune_to_a_file(tmp_path):
    """A file names the types of CatBoost, which the reader has to trust."""
    X, y = rows("multiclass")
    model = small("binary").fit(X[:60], y[:60])
    committee = prune(model, X[60:120], y[60:120], combiner=SimplexWeights())
    native = to_sklearn(committee)
    assert type(native) is type(model)
    p = committee.predict_proba(X)
    np.testing.assert_allclose(native.predict_proba(X), p, atol=1e-12)
    assert [output.name for output in to_onnx(committee).graph.output] == [
        "label",
        "probabilities",
    ]
    path = tmp_path / "model.skops"
    with pytest.warns(UserWarning, match="types of other libraries"):
        save(committee, path)
    with pytest.raises(ValueError, match=r"catboost\.core\.CatBoostClassifier"):
        load(path)
    again = load(path, trusted=[type(model)])
    np.testing.assert_array_equal(again.predict_proba(X), p)
