"""Committees whose probabilities are calibrated on rows that had no part in them."""

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    EPPruner,
    LogPool,
    NeighbourGate,
    Pool,
    PrunedClassifier,
    load,
    prune,
    save,
)
from tests.reference.sklearn_checks import assert_passes_all_checks


@cache
def rows(K=3):
    X, y = make_classification(
        2400, 10, n_informative=6, n_classes=K, flip_y=0.1, random_state=3
    )
    return X[:400], y[:400], X[400:], y[400:]


def members():
    return [
        ("logistic", LogisticRegression(C=10.0)),
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(min_samples_leaf=3, random_state=0)),
        ("deep", DecisionTreeClassifier(random_state=1)),
    ]


@cache
def fitted(combiner, calibration, gate=False):
    X, y, _, _ = rows()
    return CommitteeClassifier(
        generator=Pool(members()),
        combiner={"ep": EPPruner(), "log": LogPool(), "mean": None}[combiner],
        gate=NeighbourGate() if gate else None,
        calibration=calibration,
        random_state=0,
    ).fit(X, y)


@pytest.mark.parametrize(
    ("combiner", "gate"),
    [("ep", False), ("log", False), ("mean", False), ("mean", True)],
)
def test_calibrated_probabilities_are_better_or_as_good_and_decide_alike(
    combiner, gate
):
    _, _, X_new, y_new = rows()
    plain, slope, vector = (
        fitted(combiner, method, gate) for method in (None, "slope", "vector")
    )
    losses = [log_loss(y_new, m.predict_proba(X_new)) for m in (plain, slope, vector)]
    assert losses[1] < losses[0] + 0.01
    assert losses[2] < losses[0] + 0.01
    np.testing.assert_array_equal(slope.predict(X_new), plain.predict(X_new))
    for committee in (slope, vector):
        p = committee.predict_proba(X_new)
        np.testing.assert_array_equal(
            committee.predict(X_new), committee.classes_[p.argmax(axis=1)]
        )
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert plain.calibration_ is None
    assert slope.slope_ == slope.calibration_.slope
    assert vector.slope_ is None


def test_members_that_are_sure_of_themselves_are_not_taken_at_their_word():
    _, _, X_new, y_new = rows()
    X, y, _, _ = rows()
    bag = CommitteeClassifier(generator=Bagging(8), random_state=0)
    losses = [
        log_loss(
            y_new, clone(bag).set_params(calibration=c).fit(X, y).predict_proba(X_new)
        )
        for c in (None, "slope")
    ]
    assert losses[1] < losses[0] - 0.2


def test_a_vector_may_decide_otherwise_and_the_summary_says_so():
    X, y, X_new, y_new = rows()
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    one, each = (
        prune(forest, X_new[:500], y_new[:500], calibration=c)
        for c in ("slope", "vector")
    )
    differs = one.predict(X_new) != each.predict(X_new)
    assert 0 < differs.mean() < 0.1
    assert one.summary().error_after != each.summary().error_after
    assert one.summary().error_before == each.summary().error_before


@pytest.mark.parametrize("method", ["slope", "vector"])
def test_files_copies_and_other_sizes_keep_it(method, tmp_path):
    X, y, X_new, _ = rows()
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True, calibration=method)
    few = small.path_.choose(max_members=3)
    for committee in (fitted("log", method), small, few):
        p = committee.predict_proba(X_new)
        save(committee, tmp_path / "model.skops")
        for copy in (
            load(tmp_path / "model.skops"),
            pickle.loads(pickle.dumps(committee)),
        ):
            np.testing.assert_array_equal(copy.predict_proba(X_new), p)
            np.testing.assert_array_equal(
                copy.calibration_.slope, committee.calibration_.slope
            )
    save(small, tmp_path / "model.skops", whole_path=True)
    again = load(tmp_path / "model.skops").path_.choose(max_members=3)
    np.testing.assert_array_equal(again.predict_proba(X_new), few.predict_proba(X_new))


def test_scikit_learn_calibrates_a_committee_as_any_classifier():
    X, y, X_new, y_new = rows()
    committee = CommitteeClassifier(
        generator=Bagging(10), calibration="slope", random_state=0
    )
    model = CalibratedClassifierCV(committee, cv=3, method="sigmoid").fit(X, y)
    assert log_loss(y_new, model.predict_proba(X_new)) < np.log(3)
    small = PrunedClassifier(RandomForestClassifier(20, random_state=0))
    assert CalibratedClassifierCV(small, cv=3).fit(X, y).score(X_new, y_new) > 0.6


def test_dask_rows_get_calibrated_probabilities_lazily():
    da = pytest.importorskip("dask.array")
    _, _, X_new, _ = rows()
    committee = fitted("ep", "vector")
    p = committee.predict_proba(da.from_array(X_new, chunks=(500, -1)))
    assert hasattr(p, "dask")
    np.testing.assert_allclose(p.compute(), committee.predict_proba(X_new), atol=1e-12)
    chunks = da.from_array(X_new, chunks=(500, -1))
    bag = CommitteeClassifier(generator=Bagging(4), calibration="slope")
    with pytest.raises(ValueError, match="calibration='slope' measures rows in memory"):
        bag.fit(chunks, da.from_array(rows()[3], chunks=500))


@pytest.mark.parametrize("method", ["slope", "vector"])
def test_scikit_learn_contract(method):
    assert_passes_all_checks(
        CommitteeClassifier(generator=Bagging(3), calibration=method, random_state=0),
        dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "weights and repetitions of rows agree in distribution only",
        ),
    )


def test_what_cannot_be_calibrated_is_refused():
    X, y, X_new, y_new = rows()
    for how in ({"generator": AdaBoost(3)}, {"weigh_on": "train"}):
        with pytest.raises(ValueError, match="needs held-out rows"):
            CommitteeClassifier(calibration="slope", **how).fit(X, y)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match='calibration must be "slope", "vector" or None'
    ):
        prune(forest, X_new, y_new, calibration="isotonic")
    booster = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="Rounds of a booster"):
        prune(booster, X_new, y_new, calibration="vector")
    # The scale of the scores is a slope, which there always is.
    assert prune(booster, X_new, y_new, calibration=None).slope_ > 0


def test_without_calibration_an_average_is_the_forest():
    X, y, X_new, _ = rows()
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    whole = prune(forest, X, y, oob=True, combiner=Average(), calibration=None)
    np.testing.assert_allclose(
        whole.predict_proba(X_new), forest.predict_proba(X_new), atol=1e-14
    )
    assert whole.slope_ is None
