"""Rosters, and the names of members."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    GreedyPruner,
    Pool,
    SimplexWeights,
    load,
    member_predictions,
    prune,
    save,
    to_sklearn,
)
from committee.ensembles.roster import Roster, unseen_rows


def test_unseen_rows_are_the_complement_of_seen_ones():
    mask = unseen_rows([np.array([0, 0, 2]), np.array([1])], 4)
    assert mask.T.tolist() == [[False, True, False, True], [True, False, True, True]]


def test_frames_become_arrays_where_members_want_these():
    X = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert Roster([], None).prepared(X) is X
    as_array = Roster([], None, arrays=True).prepared(X)
    assert isinstance(as_array, np.ndarray)
    np.testing.assert_array_equal(as_array, X.to_numpy())


def test_the_transformer_comes_first(rng):
    X = rng.normal(size=(10, 2))
    scaler = StandardScaler().fit(X)
    np.testing.assert_array_equal(
        Roster([], None, transformer=scaler).prepared(X), scaler.transform(X)
    )


NAMED = [
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=1, random_state=0)),
    ("linear", LogisticRegression()),
    ("near", make_pipeline(StandardScaler(), KNeighborsClassifier())),
]
NAMES = [name for name, _ in NAMED]


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=240) / 2 > 0, "b", "a")
    return X[:120], y[:120], X[120:], y[120:]


def fitted():
    X, y, *_ = rows()
    return [(name, member.fit(X, y)) for name, member in NAMED]


def kept(small):
    return [NAMES[m] for m in small.support_]


@pytest.mark.parametrize("form", ["pairs", "dict", "voting", "pipeline", "pool"])
def test_names_stay_with_the_members_that_are_kept(form):
    X, y, X_new, y_new = rows()
    ensemble = {
        "pairs": lambda: fitted(),
        "dict": lambda: dict(fitted()),
        "voting": lambda: VotingClassifier(NAMED, voting="soft").fit(X, y),
        "pipeline": lambda: make_pipeline(
            StandardScaler(), VotingClassifier(NAMED, voting="soft")
        ).fit(X, y),
        "pool": lambda: CommitteeClassifier(generator=Pool(NAMED), combiner=None).fit(
            X, y
        ),
    }[form]()
    small = prune(ensemble, X_new, y_new, combiner=SimplexWeights())
    assert 0 < small.n_members_ < 4
    assert small.member_names_ == kept(small)
    assert f"kept: {', '.join(kept(small))}\n" in str(small.summary())
    assert small.summary().to_dict()["names_after"] == kept(small)
    assert small.combiner_.member_names_ == NAMES
    again = prune(small, X_new, y_new, combiner=SimplexWeights())
    assert set(again.member_names_) <= set(small.member_names_)


def test_names_are_for_people_and_change_no_weight():
    _, _, X, y = rows()
    pairs = fitted()
    named = prune(pairs, X, y)
    plain = prune([member for _, member in pairs], X, y)
    np.testing.assert_array_equal(named.weights_, plain.weights_)
    np.testing.assert_array_equal(
        member_predictions(dict(pairs), X), member_predictions([m for _, m in pairs], X)
    )
    assert plain.member_names_[0].startswith("#")
    assert plain.roster_.names is None
    assert "kept:" not in str(plain.summary())


@pytest.mark.parametrize("whole_path", [False, True])
def test_a_file_and_the_committees_of_its_path_have_the_names(tmp_path, whole_path):
    _, _, X, y = rows()
    small = prune(fitted(), X, y, combiner=GreedyPruner(3))
    save(small, tmp_path / "m.skops", whole_path=whole_path)
    loaded = load(tmp_path / "m.skops")
    assert loaded.member_names_ == small.member_names_ == kept(small)
    tiny = loaded.path_.choose(max_members=1)
    assert tiny.member_names_ == kept(tiny)
    assert len(tiny.member_names_) == 1


def test_a_pool_that_was_saved_has_its_names(tmp_path):
    X, y, X_new, y_new = rows()
    pool = CommitteeClassifier(generator=Pool(NAMED), combiner="simplex").fit(X, y)
    assert pool.member_names_ == kept(pool)
    save(pool, tmp_path / "m.skops")
    loaded = load(tmp_path / "m.skops")
    assert loaded.member_names_ == pool.member_names_
    assert loaded.combiner_.member_names_ == NAMES
    small = prune(loaded, X_new, y_new, combiner=SimplexWeights())
    assert set(small.member_names_) <= set(pool.member_names_)


def test_displays_and_the_report_show_names(tmp_path):
    pytest.importorskip("matplotlib")
    from committee import WeightsDisplay, report
    from committee.reporting.evaluation import evaluate_members
    from committee.reporting.page_text import member_table

    _, _, X, y = rows()
    for ensemble in (fitted(), dict(fitted())):
        assert WeightsDisplay.from_estimator(ensemble).names == NAMES
        small = prune(ensemble, X, y, combiner=SimplexWeights())
        assert WeightsDisplay.from_estimator(small).names == NAMES
        table = member_table(small, evaluate_members(small, X, y))
        assert table.names == [f"#{m} {name}" for m, name in enumerate(NAMES)]
    report(dict(fitted()), X, y, tmp_path / "page.html")
    assert "near" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_native_models_have_the_names_unless_scikit_learn_has_taken_them():
    _, _, X, y = rows()
    small = prune(fitted(), X, y, combiner=SimplexWeights())
    assert list(to_sklearn(small, calibration=None).named_estimators_) == kept(small)
    awkward = [("weights", NAMED[0][1]), ("a__b", NAMED[2][1])]
    even = prune(awkward, X, y, combiner="average")
    model = to_sklearn(even, calibration=None)
    assert list(model.named_estimators_) == ["member0", "member1"]
    np.testing.assert_allclose(model.get_params()["weights"], 0.5)


def test_dropped_members_take_their_names_along():
    X, *_ = rows()
    members = [("a", Ridge()), ("b", "drop"), ("c", KNeighborsRegressor())]
    for kind in (VotingRegressor, StackingRegressor):
        ensemble = kind(members).fit(X, X[:, 0])
        small = prune(ensemble, X[:60], X[:60, 1], combiner="average", oob=False)
        assert small.member_names_ == ["a", "c"]


@pytest.mark.parametrize(
    "make", [Pool, lambda e: CommitteeRegressor(generator=Pool(e))]
)
def test_two_members_of_one_name_are_refused_before_any_work(make):
    X, *_ = rows()
    twins = [("a", Ridge()), ("b", Ridge(2.0)), ("a", Ridge(3.0))]
    made = make(twins)
    with pytest.raises(ValueError, match="Got several with the name 'a'"):
        made.names if isinstance(made, Pool) else made.fit(X, X[:, 0])
    models = [(name, member.fit(X, X[:, 0])) for name, member in twins]
    with pytest.raises(ValueError, match="Got several with the name 'a'"):
        prune(models, X, X[:, 1])


def test_members_without_a_name_are_called_by_their_kind():
    scaled = make_pipeline(StandardScaler(), GaussianNB())
    assert Pool([GaussianNB(), scaled, ("x", GaussianNB()), Ridge()]).names == [
        "GaussianNB-1",
        "GaussianNB-2",
        "x",
        "Ridge",
    ]


@pytest.mark.parametrize("ensemble", [[], (), {}])
def test_nobody_is_no_ensemble(ensemble):
    with pytest.raises(TypeError, match=f"Got an empty {type(ensemble).__name__}"):
        prune(ensemble, [[0.0]], [0.0])


@pytest.mark.parametrize(
    ("ensemble", "words"),
    [
        ([("a", GaussianNB, 1)], "Got builtins.tuple"),
        ({"a": "rf"}, "Got builtins.str"),
        ({"a": GaussianNB()}, "not fitted yet"),
    ],
)
def test_what_is_no_fitted_member_is_named(ensemble, words):
    with pytest.raises((TypeError, ValueError), match=words):
        prune(ensemble, [[0.0]], [0.0])


@pytest.mark.filterwarnings("error")
def test_the_combiner_of_named_members_takes_plain_predictions():
    _, _, X, y = rows()
    pairs = fitted()
    small = prune(pairs, X, y, combiner=SimplexWeights())
    S = small.combiner_.combine(member_predictions(pairs, X))
    np.testing.assert_array_equal(small.classes_[S.argmax(axis=1)], small.predict(X))
