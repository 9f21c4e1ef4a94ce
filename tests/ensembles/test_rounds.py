"""The contract of all boosters: rounds are members, weighted rounds a booster."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted

from committee.ensembles import rebuild, rebuilt, roster_of
from committee.persistence.array_checks import has_rounds_alike
from tests.reference.boosters import (
    BOOSTERS,
    LIBRARIES,
    TASKS,
    M,
    assert_mean_is_the_booster,
    combined,
    fit_booster,
    make_booster,
    make_rows,
    member_values,
    output,
    tolerance,
)


def weights_on(*kept, total):
    """Positive weights of unequal size on some rounds."""
    w = np.zeros(M)
    w[list(kept)] = np.arange(1, len(kept) + 1)
    return total * w / w.sum()


WEIGHTS = {
    "with the first round": weights_on(0, 3, 7, total=1.3),
    "without the first round": weights_on(2, 5, 6, 11, total=0.8),
    "one round": weights_on(4, total=1.0),
}


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_make_up_the_booster(library, task, frame):
    """mean_m f_m = raw, softmax(K mean_m F_m) = predict_proba; staged or one by one."""
    model, X = fit_booster(library, task, frame=frame)
    before = output(model, X, task)
    roster = roster_of(model)
    F = member_values(roster.members, X, task)
    assert len(roster) == M
    np.testing.assert_allclose(
        combined(F, roster.weights), before, **tolerance(library)
    )
    np.testing.assert_allclose(
        np.stack(list(roster.staged_predictions(X)), 1), F, rtol=1e-9
    )
    for w in WEIGHTS.values():
        booster = rebuild(roster.members, w)
        assert type(booster) is type(model)
        np.testing.assert_allclose(
            output(booster, X, task), combined(F, w), **tolerance(library)
        )
        np.testing.assert_allclose(
            rebuilt(roster.members, w)(X),
            np.tensordot(F, w, axes=(1, 0)),
            **tolerance(library),
        )
    np.testing.assert_array_equal(output(model, X, task), before)
    np.testing.assert_array_equal(member_values(roster.members, X, task), F)


def stopped(model, X, task, t):
    """Return the predictions of the first t rounds, by the library's own means."""
    predict = model.predict if task == "regression" else model.predict_proba
    kind = type(model).__name__
    if kind.startswith("LGBM"):
        return predict(X, num_iteration=t)
    if kind.startswith("XGB"):
        return predict(X, iteration_range=(0, t))
    if kind.startswith("CatBoost"):
        return predict(X, ntree_end=t)
    staged = getattr(model, f"staged_{predict.__name__}")
    return list(staged(X))[t - 1]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", BOOSTERS)
def test_the_first_rounds_are_the_booster_stopped_early(library, task):
    """(1 / M) sum_{m <= t} F_m + (1 - t / M) start, in one booster with that start."""
    model, X = fit_booster(library, task)
    roster = roster_of(model)
    for t in (1, 5, M):
        w = np.where(np.arange(M) < t, 1.0 / M, 0.0)
        small = rebuild(roster.members, w, (1 - t / M) * roster.start)
        np.testing.assert_allclose(
            output(small, X, task), stopped(model, X, task, t), rtol=2e-6, atol=1e-6
        )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_are_estimators_of_the_boosters_task(library, task):
    model, X = fit_booster(library, task)
    roster = roster_of(model)
    member = roster.members[0]
    check_is_fitted(member)
    if task == "regression":
        assert is_regressor(member)
        assert not hasattr(member, "classes_")
        assert roster.classes is None
        # A start near the mean of y: no round has to carry it alone.
        start = member.shared.start
        assert np.abs((member.predict(X) - start) / M).max() < 50 < start[0]
        return
    n_classes = 2 if task == "binary" else 3
    known = getattr(model, "classes_", np.arange(n_classes))
    assert is_classifier(member)
    assert roster.output == "scores"
    np.testing.assert_array_equal(roster.classes, known)
    scores = member.scores(X)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(member.predict(X), known[scores.argmax(axis=1)])


@pytest.mark.parametrize("library", LIBRARIES)
def test_parts_are_small_and_survive_pickling(library):
    model, X = fit_booster(library, "multiclass")
    members = roster_of(model).members
    one, all_of_them = (len(pickle.dumps(part)) for part in (members[3], members))
    assert one < all_of_them / 3
    again = pickle.loads(pickle.dumps(members[:2]))
    np.testing.assert_array_equal(
        member_values(again, X, "multiclass"),
        member_values(members[:2], X, "multiclass"),
    )
    small = rebuild(members, WEIGHTS["one round"])
    text = pickle.dumps(small)
    assert len(text) < len(pickle.dumps(model))
    np.testing.assert_array_equal(
        output(pickle.loads(text), X, "multiclass"), output(small, X, "multiclass")
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rebuilt_booster_has_rounds_and_labels_again(library):
    model, X = fit_booster(library, "multiclass")
    members, w = roster_of(model).members, WEIGHTS["without the first round"]
    booster = rebuild(members, w)
    again = roster_of(booster)
    assert len(again) == np.count_nonzero(w)
    np.testing.assert_array_equal(again.classes, roster_of(model).classes)
    np.testing.assert_allclose(
        combined(member_values(again.members, X, "multiclass"), again.weights),
        combined(member_values(members, X, "multiclass"), w),
        rtol=1e-5,
        atol=1e-6,
    )
    if hasattr(model, "classes_"):
        whole = rebuild(members, np.full(M, 1 / M))
        np.testing.assert_array_equal(whole.predict(X), model.predict(X))
        assert whole.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_categories_may_come_in_another_order(library):
    model, frame = fit_booster(library, "regression", frame=True)
    frame = frame.assign(e=frame["e"].cat.reorder_categories(["w", "s", "n", "e"]))
    roster = assert_mean_is_the_booster(model, frame, "regression")
    whole = rebuild(roster.members, roster.weights)
    np.testing.assert_allclose(whole.predict(frame), model.predict(frame), rtol=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_sparse_rows(library):
    model, X = fit_booster(library, "multiclass")
    X = csr_matrix(np.nan_to_num(X))
    assert_mean_is_the_booster(model, X, "multiclass")


def test_no_round_is_no_booster():
    members = roster_of(fit_booster("gradient", "regression")[0]).members
    with pytest.raises(ValueError, match="nonzero weight"):
        rebuild(members, np.zeros(M))


def test_other_members_have_no_booster():
    X = np.eye(3)
    assert rebuilt([Ridge().fit(X, X[0])], np.ones(1)) is None


@pytest.mark.parametrize("library", BOOSTERS)
def test_rounds_of_two_boosters_make_up_none(library):
    """The trees of one would look for columns that the other has not seen."""
    X, y = make_rows("regression", missing=False)
    boosters = [
        make_booster(library).fit(A, y) for A in (X, np.hstack([X, X]), X[:, ::-1])
    ]
    first, wider, other = (roster_of(booster).members for booster in boosters)
    w = np.full(2, 0.5)
    with pytest.raises(ValueError, match="rounds of more than one booster"):
        rebuild([first[0], wider[1]], w)
    assert rebuilt([first[0], wider[1]], w) is None
    assert not has_rounds_alike([first[0], None, wider[1]])
    assert has_rounds_alike(first)
    assert has_rounds_alike(np.array([None, other[3], other[4]], dtype=object))
