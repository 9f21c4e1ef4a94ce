"""Every committee on the path of prune()."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge

from committee import (
    ARDPruner,
    EPPruner,
    GreedyPruner,
    LeastSquares,
    OptimalWeights,
    OrderPruner,
    ReduceErrorPruner,
    SimplexWeights,
    combine,
    load,
    member_predictions,
    prune,
    report,
    save,
)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(40, random_state=0).fit(X[:300], y[:300])
    return forest, X[300:], y[300:]


@pytest.mark.parametrize(
    "combiner",
    [
        EPPruner(),
        EPPruner(votes="equal"),
        ARDPruner(),
        OrderPruner("kappa", 5),
        ReduceErrorPruner(5),
        GreedyPruner(),
        SimplexWeights(),
    ],
    ids=repr,
)
def test_each_step_is_a_committee(combiner, cancer):
    """Its decisions are those of its weights on F; its size and members as told."""
    forest, X, y = cancer
    path = prune(forest, X, y, combiner=combiner).path_
    F = np.stack([tree.predict_proba(X) for tree in forest.estimators_], axis=1)
    sizes = np.unique(path.size)
    for size in sizes[:: max(1, len(sizes) // 4)]:
        committee = path.choose(max_members=int(size))
        assert committee.n_members_ == len(committee.members_) <= size
        assert committee.summary().n_members_after == committee.n_members_
        np.testing.assert_allclose(
            committee.member_predictions(X), F[:, committee.support_]
        )
        S = np.tensordot(F[:, committee.support_], committee.weights_, axes=(1, 0))
        np.testing.assert_array_equal(
            committee.predict(X), forest.classes_[S.argmax(axis=1)]
        )
        assert committee.path_.assessment is path.assessment
        point = committee.path_[committee.path_.chosen]
        assert point.size == len(committee.members_)
        np.testing.assert_array_equal(np.flatnonzero(point.weights), committee.support_)


def test_limits_are_kept_and_made_use_of(cancer):
    """As many as may be; of several of one size the combiner's own best."""
    forest, X, y = cancer
    path = prune(forest, X, y).path_
    for name, cost in (
        ("max_members", path.size),
        ("max_bytes", path.n_bytes),
        ("max_seconds", path.seconds_per_row),
    ):
        limit = float(np.median(cost))
        allowed = cost <= limit
        largest = allowed & (path.size == path.size[allowed].max())
        at = int(np.where(largest, path.own_error, np.inf).argmin())
        chosen = path.choose(**{name: limit})
        np.testing.assert_array_equal(chosen.support_, path.members[at])


def test_seconds_are_measured_where_the_committee_serves(cancer, monkeypatch):
    """The largest size that keeps to the limit, found by bisection."""
    forest, X, y = cancer
    small = prune(forest, X, y)
    path, asked = small.path_, []

    def seconds(self, step, *how):
        asked.append(how)
        return 1e-6 * path.size[step]

    monkeypatch.setattr(type(path.assessment), "served_seconds", seconds)
    middle = int(np.sort(np.unique(path.size))[len(np.unique(path.size)) // 2])
    chosen = path.choose(max_seconds=1.01e-6 * middle, rows=1)
    expected = path.choose(max_members=middle)
    np.testing.assert_array_equal(chosen.support_, expected.support_)
    assert set(asked) == {(1, "python")}
    assert len(asked) <= np.ceil(np.log2(len(np.unique(path.size)) + 1))
    for how, expected in (
        ({"runtime": "c"}, (1, "c")),
        ({"rows": 1, "runtime": "onnx"}, (1, "onnx")),
        ({"rows": 7, "runtime": "python"}, (7, "python")),
    ):
        path.choose(max_seconds=1, max_members=middle, **how)
        assert asked[-1] == expected
    with pytest.raises(ValueError, match="fastest measured took 1e-06 s"):
        path.choose(max_seconds=1e-9, rows=1)
    for rows in (0, -1, 1.5):
        with pytest.raises(ValueError, match=rf"rows \(an int >= 1\).*rows={rows}"):
            path.choose(max_seconds=1, rows=rows)
    monkeypatch.undo()
    pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    for runtime in ("python", "onnx"):
        chosen = path.choose(max_seconds=60, rows=1, runtime=runtime)
        assert chosen.n_members_ == path.choose().n_members_
        assert path.assessment.served_seconds(0, 3, runtime) > 0
    with pytest.raises(ValueError, match='runtime must be "onnx" or "c"'):
        path.choose(max_seconds=1, runtime="java")
    for other in (
        pickle.loads(pickle.dumps(small)).path_,
        replace(path, assessment=None),
    ):
        with pytest.raises(ValueError, match="committee that prune"):
            other.choose(max_seconds=1, rows=1)


@pytest.mark.parametrize("seed", range(3))
def test_out_of_bag_a_limit_is_made_use_of(seed):
    """Few trees have a vote on a row, which must not make still fewer look better."""
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=seed).fit(X, y)
    assert prune(forest, X, y, oob=True).path_.choose(max_members=8).n_members_ >= 7


def test_nothing_is_measured_that_nobody_asked_for(cancer, monkeypatch):
    """prune() predicts by every member once and fits its combiner once."""
    forest, X, y = cancer
    predicted, fits = [], []
    tree, fit = type(forest.estimators_[0]), EPPruner.fit
    predict_proba = tree.predict_proba
    monkeypatch.setattr(
        tree,
        "predict_proba",
        lambda self, *a, **k: predicted.append(1) or predict_proba(self, *a, **k),
    )
    monkeypatch.setattr(
        EPPruner, "fit", lambda self, *a, **k: fits.append(1) or fit(self, *a, **k)
    )
    small = prune(forest, X, y)
    assert (len(predicted), len(fits)) == (40, 1)
    small.summary()
    assert len(fits) == 6


def test_within_standard_errors_is_never_larger(cancer):
    forest, X, y = cancer
    path = prune(forest, X, y).path_
    sizes = [path.choose(within_se=t).n_members_ for t in (0.0, 1.0, 3.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert path.choose(within_se=1e9).n_members_ == path.size.min()


def test_limits_that_nothing_keeps(cancer):
    forest, X, y = cancer
    path = prune(forest, X, y).path_
    with pytest.raises(ValueError, match="max_bytes=10; the least is"):
        path.choose(max_bytes=10)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"within_se": -1}, "within_se must be at least 0"),
        ({"within_se": np.nan}, "within_se must be at least 0"),
        ({"max_members": 0}, "max_members must be a positive number"),
        ({"max_members": "5"}, "max_members must be a positive number. Got '5'"),
        ({"max_bytes": np.nan}, "max_bytes must be a positive number"),
    ],
)
def test_wrong_limits(limits, message, cancer):
    forest, X, y = cancer
    path = prune(forest, X, y).path_
    with pytest.raises(ValueError, match=message):
        path.choose(**limits)


def test_bytes_that_members_share_are_counted_once():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    small = prune(model.fit(X[:300], y[:300]), X[300:], y[300:])
    at = next(
        i
        for i, members in enumerate(small.path_.members)
        if np.array_equal(members, small.support_)
    )
    assert small.path_.n_bytes[at] == pytest.approx(
        small.summary().bytes_after, rel=0.25
    )


def test_bytes_are_those_of_the_pickled_committee(cancer):
    """With held-out scores and the combiner, which outweigh small trees."""
    forest, X, y = cancer
    path = prune(forest, X, y).path_
    for step, n_bytes in enumerate(path.n_bytes):
        committee = path.assessment.committee(step)
        found = len(pickle.dumps(committee, protocol=5))
        assert n_bytes == pytest.approx(found, rel=0.02)
    chosen = path.choose(max_bytes=float(np.median(path.n_bytes)))
    assert chosen.summary().bytes_after < 1.02 * np.median(path.n_bytes)


def test_copies_and_pickles_keep_no_rows(cancer):
    forest, X, y = cancer
    small = prune(forest, X, y)
    for other in (pickle.loads(pickle.dumps(small)), copy.deepcopy(small)):
        np.testing.assert_array_equal(other.predict_proba(X), small.predict_proba(X))
        np.testing.assert_array_equal(other.path_.weights, small.path_.weights)
        np.testing.assert_array_equal(other.path_.own_error, small.path_.own_error)
        assert other.path_.n_bytes is None
        with pytest.raises(ValueError, match=r"cannot be computed again.*prune again"):
            other.summary()
    small.summary()
    small.path_.n_bytes  # noqa: B018 (measured on first use)
    other = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(other.path_.error, small.path_.error)
    np.testing.assert_array_equal(other.path_.n_bytes, small.path_.n_bytes)
    assert str(other.summary()) == str(small.summary())
    whole = len(pickle.dumps(forest))
    scores = 8 * len(y) + 1000  # two numbers by row for `predict_set`
    assert len(pickle.dumps(small)) < whole * (small.n_members_ + 3) / 40 + scores


def test_no_rows_are_in_a_pickle(rng):
    """Neither X, y nor F; a row of X is found in the tree that kept it, if anywhere."""
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    forest = RandomForestRegressor(10, max_depth=2, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True)
    small.summary()
    data = pickle.dumps(small) + pickle.dumps(small.path_)
    F = small.path_.assessment.data.votes.F
    for rows in (X, y, F, F.T):
        assert rows[:2].tobytes() in pickle.dumps(np.ascontiguousarray(rows))
        assert rows[:2].tobytes() not in data


def test_a_path_that_is_copied_alone_has_numbers_only():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, max_depth=2, random_state=0).fit(X, y)
    path = prune(forest, X, y, oob=True).path_
    for other in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path)):
        np.testing.assert_array_equal(other.error, path.error)
        np.testing.assert_array_equal(other.size, path.size)
        assert not other.available.any()
        with pytest.raises(ValueError, match="it stores no committee"):
            other.choose(max_members=2)
        with pytest.raises(ValueError, match="copy or save the committee"):
            other.choose(scoring="neg_mean_absolute_error")


def test_the_measure_is_named():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    path = prune(forest, X, y, oob=True).path_
    assert path.measure == "held-out RMSE"
    assert path.own_measure == "leave-one-out mean squared error"
    assert len(path) == len(path.size)


def test_errors_of_the_path_are_those_of_fresh_rows():
    """Out of bag and with noisy labels, where the combiner's own error is no guide."""
    own, fair, true = [], [], []
    for seed in range(4):
        X, y = make_classification(
            2300, 20, n_informative=5, flip_y=0.2, random_state=seed
        )
        forest = RandomForestClassifier(60, random_state=seed).fit(X[:300], y[:300])
        path = prune(forest, X[300:600], y[300:600]).path_
        for at in range(0, len(path), 4):
            F = member_predictions(forest, X[600:])
            wrong = combine(F, path.weights[at]).argmax(axis=1) != y[600:]
            own.append(path.own_error[at])
            fair.append(path.error[at])
            true.append(wrong.mean())
    assert np.mean(own) < np.mean(true) - 0.02
    assert abs(np.mean(fair) - np.mean(true)) < 0.02


@pytest.mark.parametrize("kind", ["two classes", "four classes", "numbers"])
def test_out_of_bag_errors_of_small_committees_are_those_of_fresh_rows(kind):
    """A third of the members may speak on a row; on fresh rows all do."""
    found, fresh = [], []
    for seed in range(2):
        if kind == "numbers":
            X, y = make_friedman1(2500, noise=1.0, random_state=seed)
        else:
            X, y = make_classification(
                *(2500, 10),
                n_informative=6,
                n_classes=2 if kind[0] == "t" else 4,
                flip_y=0.05,
                random_state=seed,
            )
        model = RandomForestRegressor if kind == "numbers" else RandomForestClassifier
        forest = model(80, random_state=seed).fit(X[:500], y[:500])
        path = prune(forest, X[:500], y[:500], oob=True).path_
        F = member_predictions(forest, X[500:])
        at = [int(np.abs(path.size - k).argmin()) for k in (5, 10)]
        for w in path.weights[at]:
            f = combine(F, w)
            losses = (f - y[500:]) ** 2 if f.ndim == 1 else f.argmax(1) != y[500:]
            fresh.append(np.sqrt(losses.mean()) if f.ndim == 1 else losses.mean())
        found += list(path.error[at])
    assert np.mean(found) == pytest.approx(np.mean(fresh), rel=0.12)


def test_another_point_of_the_path_has_nothing_of_the_chosen_one(cancer):
    """What EP knows of its own choice is not told of a smaller committee."""
    forest, X, y = cancer
    small = prune(forest, X, y)
    assert small.combiner_.loo_ == small.path_.own_error.min()
    smaller = small.path_.choose(max_members=int(small.n_members_) - 1)
    for name in ("loo_", "posterior_", "log_evidence_", "inclusion_"):
        assert not hasattr(smaller.combiner_, name)
    np.testing.assert_array_equal(
        np.flatnonzero(smaller.combiner_.weights_), smaller.support_
    )


def test_weights_that_are_all_zero_keep_all_members(rng):
    """Least squares of a zero target: the committee still predicts, as after fit."""
    X = rng.normal(size=(40, 3))
    forest = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    small = prune(forest, X, np.zeros(40), combiner=LeastSquares(), oob=False)
    assert len(small.members_) == 5
    np.testing.assert_allclose(small.predict(X), 0.0, atol=1e-12)


@pytest.mark.parametrize("combiner", [OptimalWeights(), LeastSquares(), ARDPruner()])
def test_out_of_bag_errors_of_signed_weights_are_those_of_fresh_rows(combiner):
    """Within four standard errors; a division by a signed sum was a hundred times off."""
    N, n = 300, 3000
    X, y = make_friedman1(N + n, noise=1.0, random_state=2)
    forest = RandomForestRegressor(30, random_state=2).fit(X[:N], y[:N])
    small = prune(forest, X[:N], y[:N], oob=True, combiner=combiner)
    losses = (small.predict(X[N:]) - y[N:]) ** 2
    se = np.sqrt(losses.var() * (1 / N + 1 / n))
    assert abs(small.summary().error_after ** 2 - losses.mean()) < 4 * se
    assert isinstance(combiner, ARDPruner) or small.weights_.min() < 0


@pytest.mark.parametrize("combiner", [LeastSquares(), ARDPruner()])
def test_where_nothing_is_worth_a_weight(combiner, rng, tmp_path):
    """y = 0: no member helps, and all that follows knows a committee without any."""
    X, y = rng.normal(size=(80, 3)), np.zeros(80)
    members = [Ridge().fit(X, rng.normal(size=80)) for _ in range(5)]
    small = prune(members, X, y, combiner=combiner)
    save(small, tmp_path / "m.skops")
    for committee in (small, load(tmp_path / "m.skops"), small.path_.choose()):
        assert committee.n_members_ == 0
        np.testing.assert_array_equal(committee.predict(X), y)
    assert small.summary().n_members_after == 0
    assert small.summary().error_after == 0.0
    np.testing.assert_array_equal(small.path_.error, 0.0)
    assert "A committee of 0 members" in report(small, X, y)
