"""`Networks`: members, their rows, and predictions on held-out rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.tree import DecisionTreeRegressor

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    NetworkClassifier,
    NetworkRegressor,
    Networks,
)
from committee.members import TrainingData
from committee.networks import training
from committee.networks.layers import Layout
from committee.networks.training import (
    MemberRows,
    TrainingSettings,
    blocks_of,
    bytes_of_row,
    bytes_of_weights,
)
from tests.reference.sklearn_checks import assert_passes_all_checks

X, Y = load_diabetes(return_X_y=True)
DATA = TrainingData(X, Y, None)
SMALL = NetworkRegressor(8, max_epochs=12, patience=3)


def weights(generator, seed=0, **options):
    generation = generator.generate(SMALL, DATA, random_state=seed, **options)
    return [member.coefs_[0] for member in generation.members]


@pytest.mark.parametrize("data", ["all", "bagging", "cross-splits", "mini-batches"])
def test_members_do_not_depend_on_how_many_there_are_nor_on_blocks(data, monkeypatch):
    """Bit for bit: other M, blocks of one or of all, one thread or two."""
    whole = weights(Networks(12, data=data, n_splits=4))
    side_by_side = weights(Networks(12, data=data, n_splits=4), n_jobs=2)
    monkeypatch.setattr(training, "_CACHE", 1)
    few = weights(Networks(5, data=data, n_splits=4))
    np.testing.assert_array_equal(few, whole[:5])
    np.testing.assert_array_equal(side_by_side, whole)
    assert not np.array_equal(whole[0], whole[1])


@pytest.mark.parametrize(
    ("data", "share"),
    [("all", 0.1), ("bagging", 0.368), ("cross-splits", 0.25), ("mini-batches", 0.75)],
)
def test_rows_that_a_member_did_not_train_on_are_those_it_is_weighed_on(data, share):
    generator = Networks(8, data=data, n_splits=4)
    generation = generator.generate(SMALL, DATA, random_state=0)
    assert abs(generation.held_out.mean() - share) < 0.02


@pytest.mark.parametrize("data", ["bagging", "cross-splits", "mini-batches"])
def test_members_that_are_not_stopped_predict_the_rows_themselves(data):
    generator = Networks(8, data=data, n_splits=4)
    whole = clone(SMALL).set_params(patience=None)
    generation = generator.generate(whole, DATA, random_state=0)
    for m, member in enumerate(generation.members):
        rows = generation.held_out[:, m]
        np.testing.assert_allclose(
            generation.F[rows, m], member.predict(X[rows]), rtol=1e-12
        )


def test_blocks_have_members_of_one_size_and_fit_into_the_memory(monkeypatch):
    layout = Layout((10, 50, 1))
    kind = TrainingSettings(layout, "relu", 0.0, 200, 1e-3, 0.0, 1, None)
    seeds = [np.random.SeedSequence(m) for m in range(21)]
    rows = [MemberRows(np.arange(90 + m % 2), np.arange(9)) for m in range(21)]
    assert len(blocks_of(kind, rows, seeds, n_jobs=2)) == 4
    monkeypatch.setattr(training, "_MEMORY", 400_000)
    found = blocks_of(kind, rows, seeds, n_jobs=None)
    assert sorted(m for block in found for m in block.members) == list(range(21))
    assert all(len({len(r.train) for r in block.rows}) == 1 for block in found)
    batch = 128  # there are no 200 rows, and those to be stopped on come in chunks
    of_member = batch * bytes_of_row(kind) + bytes_of_weights(kind) + 8 * 91 + 12 * 9
    assert 1 < max(len(block.members) for block in found) <= 400_000 / of_member


def test_a_committee_without_an_estimator_has_networks_of_its_own_kind():
    A, b = make_classification(150, random_state=0)
    committee = CommitteeClassifier(generator=Networks(3), random_state=0).fit(A, b)
    assert all(type(m) is NetworkClassifier for m in committee.members_)
    assert committee.predict_proba(A).shape == (150, 2)


def test_committees_of_networks_keep_scikit_learns_contract():
    network = NetworkRegressor(max_epochs=60)
    committee = CommitteeRegressor(network, generator=Networks(2), random_state=0)
    reason = "weights and repetitions agree in distribution only"
    expected = {"check_sample_weight_equivalence_on_dense_data": reason}
    assert_passes_all_checks(committee, expected)


def test_rare_classes_are_known_to_all_members():
    A, b = make_classification(60, weights=[0.95], flip_y=0.0, random_state=0)
    committee = CommitteeClassifier(
        generator=Networks(5, data="mini-batches", n_splits=5), random_state=0
    ).fit(A, b)
    assert all(len(m.classes_) == 2 for m in committee.members_)


def test_rows_without_weight_are_not_looked_at():
    s = np.r_[np.zeros(100), np.ones(len(Y) - 100)]
    bad = Y.copy()
    bad[:100] = 1e6
    for data in ("all", "cross-splits"):
        found = [
            CommitteeRegressor(
                SMALL, generator=Networks(3, data=data), random_state=0
            ).fit(X, y, sample_weight=s)
            for y in (Y, bad)
        ]
        np.testing.assert_array_equal(found[0].predict(X), found[1].predict(X))


@pytest.mark.parametrize("data", ["all", "bagging", "cross-splits", "mini-batches"])
def test_a_row_counts_as_often_as_it_weighs(data):
    """Without a column that helps, members learn the weighted mean: 4 / (4 + 1)."""
    A, y = np.zeros((600, 1)), np.arange(600) % 2.0
    committee = CommitteeRegressor(
        NetworkRegressor(4, learning_rate=0.03, max_epochs=40, patience=None),
        generator=Networks(10, data=data, n_splits=3),
        random_state=0,
    ).fit(A, y, sample_weight=1 + 3 * y)
    # Counting twice would give 16 / 17.
    assert abs(committee.predict(A[:1])[0] - 0.8) < 0.05


def test_members_are_added_while_the_evidence_rises():
    committee = CommitteeRegressor(
        SMALL,
        generator=Networks(200, data="bagging"),
        combiner=EPPruner(),
        stop="evidence",
        random_state=0,
    ).fit(X, Y)
    assert len(committee.combiner_.weights_) < 200


def test_frames_keep_their_names_and_progress_has_the_held_out_loss(capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(10)])
    committee = CommitteeRegressor(
        SMALL, generator=Networks(3), random_state=0, verbose=True
    ).fit(frame, Y)
    assert committee.members_[0].feature_names_in_[0] == "x0"
    committee.predict(frame)
    assert "3/3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("estimator", "generator", "options", "message"),
    [
        (DecisionTreeRegressor(), Networks(3), {}, "trains NetworkRegressor"),
        (SMALL, Networks(3, share="adapters", data="bagging"), {}, 'data="all"'),
        (SMALL, Networks(3, coupling=-1.5), {}, "'coupling' parameter"),
        (
            NetworkRegressor(patience=None),
            Networks(3),
            {"combiner": "simplex"},
            "leave no rows out",
        ),
        (
            SMALL,
            Networks(30, coupling=0.5),
            {"combiner": EPPruner(), "stop": "evidence", "weigh_on": 0.3},
            "trained jointly",
        ),
        (
            SMALL,
            Networks(3, data="mini-batches", n_splits=9999),
            {},
            "into 9999 parts",
        ),
    ],
)
def test_what_cannot_be_trained_together_is_refused(
    estimator, generator, options, message
):
    committee = CommitteeRegressor(estimator, generator=generator, **options)
    with pytest.raises((TypeError, ValueError), match=message):
        committee.fit(X, Y)


@pytest.mark.parametrize("data", ["bagging", "mini-batches"])
def test_partitions_of_dask_have_members_of_their_own(data):
    da = pytest.importorskip("dask.array")
    parts, y = da.from_array(X, chunks=(221, 10)), da.from_array(Y, chunks=221)
    committee = CommitteeRegressor(
        SMALL, generator=Networks(4, data=data), combiner="simplex", random_state=0
    ).fit(parts, y)
    assert len(committee.combiner_.weights_) == 4
    assert committee.predict(parts).compute().shape == (442,)
    with pytest.raises(TypeError, match="Bagging or MiniBatches"):
        CommitteeRegressor(SMALL, generator=Networks(4)).fit(parts, y)


@pytest.mark.parametrize(
    "options",
    [{"data": "all"}, {"data": "bagging"}, {"coupling": 0.5}, {"share": "adapters"}],
    ids=str,
)
def test_a_rows_own_target_has_no_part_in_its_predictions(options):
    """Bit for bit: neither by training nor by the epoch to stop after."""
    Z, classes = make_classification(90, flip_y=0.5, random_state=0)
    network = NetworkClassifier(8, max_epochs=30, patience=30)

    def generate(y):
        data = TrainingData(Z, y, 2)
        return Networks(4, **options).generate(network, data, random_state=0)

    found = generate(classes)
    rows = np.flatnonzero(found.held_out.any(axis=1))[:8]
    for n in rows:
        other = generate(np.where(np.arange(90) == n, 1 - classes, classes))
        mask = found.held_out[n]
        np.testing.assert_array_equal(other.held_out[n], mask)
        np.testing.assert_array_equal(other.F[n, mask], found.F[n, mask])
