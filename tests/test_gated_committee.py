"""Committees with a gate: fitted, saved, pruned, exported, and used wrongly."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoost,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    NeighbourGate,
    Pool,
    SoftmaxGate,
    combine,
    load,
    prune,
    report,
    save,
    to_sklearn,
)
from committee.reporting.evaluation import evaluate_members
from tests.reference.sklearn_checks import assert_passes_all_checks

X3, y3 = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[y3]


def _iris(gate, **options):
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(12),
        gate=gate,
        random_state=0,
        **options,
    )
    return committee.fit(X3, LABELS)


def test_predictions_are_sums_by_the_gates_weights():
    committee = _iris(NeighbourGate("ola"))
    F, G = committee.member_predictions(X3), committee.gate_weights(X3)
    np.testing.assert_allclose(committee.predict_proba(X3), combine(F, G), atol=1e-12)
    picked = committee.classes_[combine(F, G).argmax(axis=1)]
    np.testing.assert_array_equal(committee.predict(X3), picked)
    assert committee.score(X3, LABELS) > 0.9


def test_the_gate_sees_held_out_rows_only():
    """The same fit by hand, on the mask that the committee records."""
    committee = _iris(NeighbourGate("knora-u"))
    by_hand = NeighbourGate("knora-u").fit(
        X3, committee.member_predictions(X3), y3, held_out=committee.held_out_
    )
    np.testing.assert_allclose(committee.gate_weights(X3), by_hand.weights(X3))
    assert not committee.held_out_.all()


def test_the_combiner_chooses_and_the_gate_weighs_what_it_kept():
    committee = _iris(NeighbourGate(), combiner=EPPruner(max_members=6))
    assert 0 < committee.n_members_ < 12
    assert committee.gate_.n_members_ == committee.n_members_
    assert committee.gate_weights(X3).shape == (150, committee.n_members_)


@pytest.mark.parametrize("weigh_on", ["held-out", 0.3])
def test_a_pool_of_regressors_on_cross_fitted_or_split_off_rows(weigh_on):
    X, y = make_friedman1(200, noise=0.5, random_state=0)
    s = np.linspace(0.5, 1.5, 200)
    committee = CommitteeRegressor(
        generator=Pool([Ridge(), KNeighborsRegressor()]),
        gate=SoftmaxGate(),
        weigh_on=weigh_on,
        random_state=0,
    )
    committee.fit(X, y, sample_weight=s)
    G = committee.gate_weights(X)
    np.testing.assert_allclose(
        committee.predict(X), (committee.member_predictions(X) * G).sum(1), rtol=1e-12
    )
    again = clone(committee).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(again.predict(X), committee.predict(X))


def test_the_evidence_may_stop_the_growth_before_the_gate():
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(40),
        combiner=EPPruner(),
        gate=NeighbourGate(),
        stop="evidence",
        random_state=0,
    ).fit(X3, y3)
    assert committee.gate_weights(X3).shape == (150, committee.n_members_)


@pytest.mark.parametrize("gate", [NeighbourGate("ola"), SoftmaxGate()], ids=str)
def test_files_hold_the_gate(tmp_path, gate):
    committee = _iris(gate)
    save(committee, tmp_path / "gated.committee")
    loaded = load(tmp_path / "gated.committee")
    np.testing.assert_array_equal(loaded.predict_proba(X3), committee.predict_proba(X3))


def test_frames_and_searches():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X3, columns=list("abcd"))
    search = GridSearchCV(
        CommitteeClassifier(
            DecisionTreeClassifier(max_depth=2),
            generator=Bagging(5),
            gate=NeighbourGate(columns=["a", "b"]),
            random_state=0,
        ),
        {"gate__n_neighbors": [3, 9]},
        cv=2,
    ).fit(frame, LABELS)
    assert search.best_estimator_.gate_weights(frame).shape[0] == 150


def test_blocks_of_dask_are_predicted_as_rows_in_memory():
    da = pytest.importorskip("dask.array")
    committee = _iris(NeighbourGate())
    rows = da.from_array(X3, chunks=(40, 4))
    np.testing.assert_array_equal(
        committee.predict(rows).compute(), committee.predict(X3)
    )
    np.testing.assert_allclose(
        committee.gate_weights(rows).compute(), committee.gate_weights(X3)
    )
    with pytest.raises(TypeError, match="compute"):
        clone(committee).fit(rows, da.from_array(y3, chunks=40))


def test_prune_first_and_gate_after():
    forest = RandomForestClassifier(60, max_depth=2, random_state=0)
    few = X3[1::4], LABELS[1::4]
    small = prune(forest.fit(X3[::2], LABELS[::2]), *few, calibration=None)
    gated = small.with_gate(NeighbourGate("ola"), X3[1::2], LABELS[1::2])
    assert gated.members_ == small.members_
    F, G = small.member_predictions(X3), gated.gate_weights(X3)
    np.testing.assert_allclose(gated.predict_proba(X3), combine(F, G), atol=1e-12)
    assert not hasattr(gated, "path_")
    # Of the rows of the gate, not those that the members were chosen on.
    assert len(gated._known_rows().lac) == len(X3[1::2])
    assert small.gate_ is None
    assert small.path_ is not None


def test_a_gate_after_on_the_training_rows_knows_what_members_left_out():
    plain = _iris(None, calibration=None)
    weighed = _iris(None, combiner="simplex")
    gated = weighed.with_gate(NeighbourGate(), X3, LABELS)
    np.testing.assert_allclose(
        gated.gate_.weights(X3),
        NeighbourGate()
        .fit(X3, weighed.member_predictions(X3), y3, held_out=weighed.held_out_)
        .weights(X3),
    )
    with pytest.raises(ValueError, match="trained on"):
        plain.with_gate(NeighbourGate(), X3, LABELS)


def test_a_gated_committee_can_be_pruned():
    committee = _iris(NeighbourGate())
    small = prune(committee, X3, LABELS, oob=True)
    assert small.gate_ is None
    assert small.summary().n_members_before == 12


def test_the_report_is_of_what_the_gate_predicts():
    even, odd = slice(0, None, 2), slice(1, None, 2)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=1),
        generator=Bagging(8),
        combiner=EPPruner(),
        gate=NeighbourGate("ola"),
        random_state=0,
    ).fit(X3[even], LABELS[even])
    found = evaluate_members(committee, X3[odd], LABELS[odd])
    predicted = committee.classes_[found.own.predicted]
    np.testing.assert_array_equal(predicted, committee.predict(X3[odd]))
    shares = committee.gate_weights(X3[odd]).mean(axis=0)
    np.testing.assert_allclose(found.roster.weights, shares)
    assert "<html" in report(committee, X3[odd], LABELS[odd])


def test_what_has_no_gate_or_no_place_for_one_says_so():
    committee = _iris(SoftmaxGate())
    with pytest.raises(ValueError, match="depend on x"):
        to_sklearn(committee)
    with pytest.raises(AttributeError, match="with_gate"):
        _iris(None).gate_weights(X3)
    for options in ({"weigh_on": "train"}, {"generator": AdaBoost(3)}):
        wrong = CommitteeClassifier(gate=SoftmaxGate(), **options)
        with pytest.raises(ValueError, match=r"weigh_on=0\.25"):
            wrong.fit(X3, y3)
    booster = GradientBoostingClassifier(n_estimators=5).fit(X3[::2], y3[::2])
    rounds = prune(booster, X3[1::2], y3[1::2], combiner="average")
    with pytest.raises(ValueError, match="scores are summed"):
        rounds.with_gate(NeighbourGate(), X3[1::2], y3[1::2])
    with pytest.raises(TypeError, match=r"such as SoftmaxGate\(\). Got 'softmax'"):
        committee.with_gate("softmax", X3[1::2], LABELS[1::2])


def test_rows_that_a_gate_cannot_look_at_cost_no_training():
    class Untrained(DecisionTreeClassifier):
        def fit(self, *args, **options):
            raise AssertionError("members were trained")

    committee = CommitteeClassifier(Untrained(), gate=NeighbourGate())
    with pytest.raises(ValueError, match="NaN"):
        committee.fit(np.where(X3 > 6, np.nan, X3), y3)


def test_a_fit_that_fails_leaves_no_old_gate():
    committee = _iris(SoftmaxGate())
    committee.gate = None
    committee.fit(X3, LABELS)
    assert committee.gate_ is None


def test_scikit_learn_contract_of_classes():
    # With three samples of few rows the checks of weights cannot tell the difference.
    assert_passes_all_checks(
        CommitteeClassifier(
            generator=Bagging(3), gate=NeighbourGate("knora-e"), random_state=0
        )
    )


def test_scikit_learn_contract_of_numbers():
    folds = "weights and repetitions of rows agree in distribution only: folds differ"
    assert_passes_all_checks(
        CommitteeRegressor(
            generator=Pool([Ridge(), KNeighborsRegressor(2)], n_splits=2),
            gate=SoftmaxGate(),
            random_state=0,
        ),
        {"check_sample_weight_equivalence_on_dense_data": folds},
    )


def test_logistic_members_of_two_kinds():
    pool = Pool(
        [LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=1)]
    )
    committee = CommitteeClassifier(generator=pool, gate=SoftmaxGate(), random_state=0)
    G = committee.fit(X3, y3).gate_weights(X3)
    # The stump is sure of the first class, and does not know the two others apart.
    assert G[y3 > 0, 0].mean() > 0.9
    assert G[y3 == 0, 0].mean() < 0.5


def test_a_pipeline_around_a_gate_is_drawn_and_reported_as_it_predicts():
    pytest.importorskip("matplotlib")
    even, odd = slice(0, None, 2), slice(1, None, 2)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=1),
        generator=Bagging(8),
        gate=NeighbourGate("ola"),
        random_state=0,
    )
    pipeline = make_pipeline(StandardScaler(), committee).fit(X3[even], LABELS[even])
    found = evaluate_members(pipeline, X3[odd], LABELS[odd])
    predicted = pipeline.classes_[found.own.predicted]
    np.testing.assert_array_equal(predicted, pipeline.predict(X3[odd]))
    G = pipeline[-1].gate_weights(pipeline[:-1].transform(X3[odd]))
    np.testing.assert_allclose(found.roster.weights, G.mean(axis=0))
    np.testing.assert_allclose(found.own.p, pipeline.predict_proba(X3[odd]))
