"""The first rounds of a booster, which a choice among its rounds has to beat."""

import copy
import pickle

import dask.array as da
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss

from committee import (
    ARDPruner,
    Average,
    EPPruner,
    GreedyPruner,
    OptimalWeights,
    OrderPruner,
    PrunedClassifier,
    SimplexWeights,
    load,
    prune,
    save,
    to_sklearn,
)
from committee.ensembles import roster_of
from committee.held_out import sizes_up_to
from committee.predictions import predict_members
from committee.pruning.first_rounds import FirstRounds


def _noisy(n_classes=2, N=1600, seed=0):
    """Rows on which many rounds learn noise."""
    X, y = make_classification(
        N,
        10,
        n_informative=5,
        n_classes=n_classes,
        flip_y=0.4,
        random_state=seed,
    )
    return X, y


@pytest.fixture(scope="module", params=[2, 3], ids=["binary", "multiclass"])
def overfitted(request):
    """A booster that had better stop early, and rows it has not seen."""
    X, y = _noisy(request.param)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    return model.fit(X[:500], y[:500]), X[500:1000], y[500:1000], X[1000:], y[1000:]


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    model = GradientBoostingRegressor(random_state=0).fit(X[:600], y[:600])
    return model, X[600:900], y[600:900], X[900:], y[900:]


def test_a_scale_for_classes_is_the_slope_of_least_log_loss(overfitted):
    """Oracle: the log-loss of every grid point, by the booster's own stages."""
    model, X, y, *_ = overfitted
    roster = roster_of(model)
    F = predict_members(roster, X)
    first = FirstRounds(roster.start).fit(F, y)
    raws = list(model.staged_decision_function(X))
    losses = []
    for t in sizes_up_to(60):
        raw = raws[t - 1]
        z = raw if raw.ndim == 2 else np.column_stack([-raw / 2, raw / 2])

        def loss(b, z=z):
            return -log_softmax(b * z, axis=1)[np.arange(len(y)), y].mean()

        losses.append(minimize_scalar(loss, bounds=(0.01, 10), method="bounded").fun)
    # Targets of the slope leave 1 / (N + K) to the wrong classes.
    np.testing.assert_allclose(first.path_.own_error, losses, rtol=1e-3)
    assert np.count_nonzero(first.weights_) == sizes_up_to(60)[np.argmin(losses)]
    np.testing.assert_array_equal(first.path_.size, sizes_up_to(60))


def test_the_error_of_numbers_is_leave_one_out(numbers):
    """Oracle: least squares of y - start on the sum of rounds, without each row."""
    model, X, y, *_ = numbers
    X, y = X[:40], y[:40]
    roster = roster_of(model)
    s = np.random.default_rng(0).integers(1, 4, size=40).astype(float)
    first = FirstRounds(roster.start).fit(
        predict_members(roster, X), y, sample_weight=s
    )
    staged = np.array(list(model.staged_predict(X))) - roster.start
    for step, t in enumerate(first.path_.size):
        h, r = staged[t - 1], y - roster.start
        errors = []
        for n in range(40):
            others = np.arange(40) != n
            c = (s * h * r)[others].sum() / (s * h * h)[others].sum()
            errors.append((r[n] - c * h[n]) ** 2)
        expected = np.average(errors, weights=s)
        assert first.path_.own_error[step] == pytest.approx(expected, rel=1e-9)


def test_a_booster_that_overfits_is_stopped_early(overfitted):
    model, X, y, X_new, y_new = overfitted
    small = prune(model, X, y)
    k = small.n_members_
    assert k < 50
    np.testing.assert_array_equal(small.support_, np.arange(k))
    assert f"stopped early at {k} rounds" in str(small.summary())
    # One slope more than the library's own model of as many rounds.
    native = to_sklearn(small)
    assert native.n_iter_ == k
    raw = list(model.staged_decision_function(X_new))[k - 1]
    found = native.decision_function(X_new)
    slope = small.slope_ * np.std(found) / np.std(raw) / small.slope_
    np.testing.assert_allclose(found, slope * raw, rtol=1e-6, atol=1e-6)
    before, after = (log_loss(y_new, m.predict_proba(X_new)) for m in (model, small))
    assert after < before


def test_what_is_printed_is_what_is_delivered(overfitted):
    """The log-loss of fresh rows is within three standard errors of the printed one."""
    model, X, y, X_new, y_new = overfitted
    for small in (
        prune(model, X, y),
        prune(model, X, y, max_members=10),
        prune(model, X, y, combiner=OptimalWeights()),
    ):
        p = small.predict_proba(X_new)
        losses = -np.log(p[np.arange(len(y_new)), y_new])
        se = losses.std() * np.sqrt(1 / len(y) + 1 / len(y_new))
        assert abs(small.summary().log_loss_after - losses.mean()) < 3 * se


@pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights(), Average()])
def test_the_scale_comes_from_held_out_sums(combiner, overfitted):
    """Oracle: the slope of sums of unit size, each by weights learned without the row."""
    model, X, y, *_ = overfitted
    small = prune(model, X, y, combiner=combiner)
    assessment = small.path_.assessment
    F = assessment.data.votes.F

    def sums(w):
        S = np.tensordot(F, w, axes=(1, 0))
        S = S - S.mean(axis=1, keepdims=True)
        return S / S.std()

    S = np.zeros((len(y), F.shape[2]))
    for test, w in assessment.crossfit.own.folds:
        S[test] = sums(w)[test]
    K, N = F.shape[2], len(y)
    T = np.full(S.shape, 1 / (N + K) / (K - 1))
    T[np.arange(N), y] = 1 - 1 / (N + K)

    def loss(b):
        return -np.sum(T * log_softmax(b * S, axis=1))

    found = minimize_scalar(loss, bounds=(1e-2, 1e2), method="bounded").x
    own = assessment.calibration(assessment.combiner.weights_)
    assert own.slope == pytest.approx(found, rel=1e-3)
    own = assessment.assemble(assessment.combiner.weights_)
    own_sums = np.tensordot(F[:, own.support_], own.weights_, axes=(1, 0))
    assert np.std(own_sums - own_sums.mean(axis=1, keepdims=True)) == pytest.approx(1)


class Rescaled(OptimalWeights):
    """Weights in another unit."""

    def _weigh(self, votes):
        return 7.0 * super()._weigh(votes)


def test_the_unit_of_the_weights_does_not_matter(overfitted):
    model, X, y, X_new, _ = overfitted
    one, other = (
        prune(model, X, y, combiner=combiner).path_.assessment
        for combiner in (OptimalWeights(), Rescaled())
    )
    one, other = (
        found.assemble(found.combiner.weights_).predict_proba(X_new)
        for found in (one, other)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_exports_have_the_scale(overfitted, tmp_path):
    pytest.importorskip("skl2onnx")
    ort = pytest.importorskip("onnxruntime")
    from committee import to_onnx

    model, X, y, X_new, _ = overfitted
    for small in (prune(model, X, y), prune(model, X, y).path_.choose(max_members=5)):
        p = small.predict_proba(X_new)
        save(small, tmp_path / "small.skops")
        loaded = load(tmp_path / "small.skops")
        np.testing.assert_allclose(loaded.predict_proba(X_new), p, rtol=1e-12)
        np.testing.assert_allclose(
            to_sklearn(small).predict_proba(X_new), p, rtol=0, atol=1e-12
        )
        graph = to_onnx(small).SerializeToString()
        session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
        found = session.run(["probabilities"], {"X": X_new.astype(np.float32)})[0]
        single = small.predict_proba(X_new.astype(np.float32))
        np.testing.assert_allclose(found, single, rtol=0, atol=2e-6)
        assert vars(loaded).keys() >= {"_calibration"}


def test_numbers_stop_where_the_error_is_least(numbers):
    model, X, y, X_new, y_new = numbers
    small = prune(model, X, y, combiner=FirstOnly())
    native = to_sklearn(small)
    np.testing.assert_allclose(native.predict(X_new), small.predict(X_new), rtol=1e-12)
    rmse = np.sqrt(np.mean((small.predict(X_new) - y_new) ** 2))
    summary = small.summary()
    se = np.std((small.predict(X_new) - y_new) ** 2) / np.sqrt(len(y)) / (2 * rmse)
    assert abs(summary.error_after - rmse) < 3 * se


class FirstOnly(OptimalWeights):
    """A poor choice: the last round alone."""

    def _weigh(self, votes):
        w = np.zeros(votes.n_members)
        w[-1] = 1.0
        return w


def test_a_choice_that_is_clearly_better_is_returned(numbers):
    """Five rounds of all beat the first five by far, which the summary names."""
    model, X, y, X_new, y_new = numbers
    small = prune(model, X, y, max_members=5)
    assert small.n_members_ == 5
    assert small.support_[-1] > 5
    summary = small.summary()
    assert summary.rival.is_first
    assert summary.rival.n_members == 5
    assert summary.rival.error > summary.error_after
    assert "the first 5 rounds" in str(summary)
    first = np.array(list(model.staged_predict(X_new)))[4]
    assert np.mean((small.predict(X_new) - y_new) ** 2) < np.mean((first - y_new) ** 2)


def test_a_booster_that_still_learns_keeps_all_rounds(numbers):
    model, X, y, *_ = numbers
    small = prune(model, X, y, combiner=FirstOnly())
    assert small.n_members_ == 100
    assert "all rounds stay" in str(small.summary())
    assert not small.summary().rival.is_first


LIMITS = {
    "members": {"max_members": 12},
    "bytes": {"max_bytes": 100_000},
    "within": {"within_se": 1.0},
    "log-loss": {"scoring": "neg_log_loss", "max_members": 30},
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("combiner", [EPPruner(), GreedyPruner(), OrderPruner()])
def test_every_limit_chooses_among_both(combiner, limits, overfitted):
    """The best first rounds within the limit, or a choice that beats them."""
    model, X, y, *_ = overfitted
    path = prune(model, X, y, combiner=combiner).path_
    chosen = path.choose(**limits)
    assert chosen.path_.n_first == len(sizes_up_to(60))
    size = chosen.n_members_
    assert size <= limits.get("max_members", 60)
    summary = chosen.summary()
    is_first = np.array_equal(chosen.support_, np.arange(size))
    assert summary.rival.is_first != is_first
    if is_first and "max_members" in limits and "scoring" not in limits:
        steps = np.flatnonzero(
            (np.arange(len(path)) >= len(path) - path.n_first) & (path.size <= 12)
        )
        assert size == path.size[steps[path.own_error[steps].argmin()]]


def test_a_limit_of_the_combiner_holds_for_first_rounds(overfitted):
    model, X, y, *_ = overfitted
    assert prune(model, X, y, combiner=EPPruner(max_members=4)).n_members_ <= 4
    small = prune(model, X, y, combiner=OrderPruner(n_members=4))
    assert small.n_members_ <= 4
    assert small.path_.size.max() == 60


@pytest.mark.parametrize("combiner", [ARDPruner(), OrderPruner()])
def test_copies_choose_the_same(combiner, overfitted, tmp_path):
    model, X, y, X_new, _ = overfitted
    small = prune(model, X, y, combiner=combiner)
    save(small, tmp_path / "whole.skops", whole_path=True)
    whole = load(tmp_path / "whole.skops")
    for k in (1, 10, 60):
        expected = small.path_.choose(max_members=k)
        found = whole.path_.choose(max_members=k)
        np.testing.assert_array_equal(found.support_, expected.support_)
        np.testing.assert_allclose(
            found.predict_proba(X_new), expected.predict_proba(X_new), rtol=1e-9
        )
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_allclose(
        again.predict_proba(X_new), small.predict_proba(X_new), rtol=1e-12
    )
    assert str(again.summary()) == str(small.summary())
    bare = copy.copy(small)
    del bare.path_
    np.testing.assert_array_equal(bare.predict_proba(X_new), small.predict_proba(X_new))


def test_rows_in_chunks_choose_the_same(overfitted):
    model, X, y, *_ = overfitted
    one = prune(model, X, y)
    other = prune(
        model, da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    )
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-6)


def test_only_rounds_have_first_ones(overfitted):
    """Trees of a forest have no order, and a start that depends on x is no constant."""
    _, X, y, *_ = overfitted
    forest = RandomForestClassifier(10, random_state=0).fit(X[:250], y[:250])
    assert prune(forest, X[250:], y[250:]).path_.n_first == 0
    X, y = make_friedman1(300, random_state=0)
    on_top = GradientBoostingRegressor(init=LinearRegression(), n_estimators=10)
    assert prune(on_top.fit(X[:200], y[:200]), X[200:], y[200:]).path_.n_first == 0
    model, X, y, *_ = overfitted
    whole = prune(model, X, y, combiner=Average())
    assert whole.n_members_ == 60
    assert whole.path_.n_first == 0


def test_as_one_estimator():
    X, y = _noisy()
    booster = GradientBoostingClassifier(n_estimators=60, random_state=0)
    small = PrunedClassifier(booster, random_state=0).fit(X, y)
    assert small.summary().rival is not None
    assert 0 < small.slope_ < np.inf
    assert small.predict_proba(X).shape == (len(y), 2)
