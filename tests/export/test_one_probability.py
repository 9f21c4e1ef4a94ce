"""save, to_sklearn and to_onnx deliver the probabilities of predict_proba."""

from functools import cache

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    EPPruner,
    LogPool,
    Pool,
    SimplexWeights,
    load,
    prune,
    refine,
    save,
    to_onnx,
    to_sklearn,
)
from committee.calibration import Calibration
from committee.probabilities import as_probabilities

ROUNDS = ("hist", "gradient", "lightgbm", "xgboost")
KINDS = (
    *("forest", "fresh rows", "refined", "extra trees", "votes", "bag"),
    *("pool", "log pool"),
    *ROUNDS,
)
#: K, calibration and seed; most of them are slow together.
CASES = [
    pytest.param(
        *(K, method, seed),
        marks=[] if seed == 0 and (K == 3 or method == "slope") else pytest.mark.slow,
    )
    for seed in range(4)
    for K in (2, 3, 5)
    for method in ("slope", "vector", None)
]


@cache
def rows(K, seed):
    """Return training rows, fresh rows and test rows, in single precision."""
    X, y = make_classification(
        450, 6, n_informative=5, n_redundant=0, n_classes=K, n_clusters_per_class=1,
        flip_y=0.1, class_sep=0.7, random_state=seed,
    )  # fmt: skip
    X = X.astype(np.float32).astype(np.float64)
    return X[:150], y[:150], X[150:300], y[150:300], X[300:]


def members():
    tree = RandomForestClassifier(5, min_samples_leaf=3, random_state=0)
    return [("a", LogisticRegression()), ("b", GaussianNB()), ("c", tree)]


def _rounds(kind):
    """Return an unfitted booster."""
    if kind == "hist":
        return HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5)
    if kind == "gradient":
        return GradientBoostingClassifier(n_estimators=8, random_state=0)
    if kind == "lightgbm":
        library = pytest.importorskip("lightgbm")
        return library.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1)
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(n_estimators=8, n_jobs=1)


@cache
def ensemble(kind, K, seed):
    X, y, *_ = rows(K, seed)
    if kind in ROUNDS:
        return _rounds(kind).fit(X, y)
    if kind == "votes":
        # Not a forest: where its trees tie, single precision may vote for another class.
        tree = ("c", DecisionTreeClassifier(min_samples_leaf=3, random_state=0))
        return VotingClassifier([*members()[:2], tree], voting="hard").fit(X, y)
    forest = ExtraTreesClassifier if kind == "extra trees" else RandomForestClassifier
    return forest(12, random_state=seed).fit(X, y)


def fitted(generator, combiner, method, X, y, member=None):
    return CommitteeClassifier(
        member,
        generator=generator,
        combiner=combiner,
        calibration=method,
        random_state=0,
    ).fit(X, y)


def made(kind, K, method, seed):
    """Return a committee."""
    X, y, Z, t, _ = rows(K, seed)
    if kind == "bag":
        member = DecisionTreeClassifier(min_samples_leaf=4)
        return fitted(Bagging(10), EPPruner(), method, X, y, member)
    if kind == "pool":
        return fitted(Pool(members()), SimplexWeights(), method, X, y)
    if kind == "log pool":
        return fitted(Pool(members()), LogPool(), method, X, y)
    whole = ensemble(kind, K, seed)
    if kind == "forest":
        return prune(whole, X, y, oob=True, calibration=method)
    if kind == "refined":
        return refine(
            whole, X, y, max_members=5, calibration=method, oob=True, random_state=0
        )
    return prune(whole, Z, t, calibration=method)


def by_onnx(committee, X):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    session = onnxruntime.InferenceSession(
        to_onnx(committee).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["probabilities", "label"], {"X": X.astype(np.float32)})


@pytest.mark.parametrize(("K", "method", "seed"), CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_three_ways_out(kind, K, method, seed, tmp_path):
    if kind in ROUNDS and method == "vector":
        pytest.skip("Rounds have scores, and refuse a vector.")
    committee, X = made(kind, K, method, seed), rows(K, seed)[-1]
    p, labels = committee.predict_proba(X), committee.predict(X)
    same = {"rtol": 0, "atol": 1e-6}
    if kind not in ("lightgbm", "xgboost"):  # types that `load` does not trust
        save(committee, tmp_path / "m.skops")
        np.testing.assert_allclose(load(tmp_path / "m.skops").predict_proba(X), p)
    found, decided = by_onnx(committee, X)
    np.testing.assert_allclose(found, p, **same)
    np.testing.assert_array_equal(decided, labels)
    if kind == "votes" and method == "vector":
        with pytest.raises(ValueError, match="labels only"):
            to_sklearn(committee)
        committee.calibration = committee._calibration = None
        labels = committee.predict(X)
    native = to_sklearn(committee)
    np.testing.assert_array_equal(native.predict(X), labels)
    if kind == "votes":  # nor probabilities of counted votes
        assert not hasattr(native, "predict_proba")
    elif kind == "refined" and method is None:  # means of leaves, not yet cut
        np.testing.assert_allclose(as_probabilities(native.predict_proba(X)), p, **same)
    else:
        np.testing.assert_allclose(native.predict_proba(X), p, **same)


@pytest.mark.parametrize("kind", ["forest", "refined", "extra trees"])
def test_the_plain_forest_is_inside_or_alone(kind):
    """With a calibration it is wrapped; `calibration=None` is the bare one."""
    committee, X = made(kind, 3, "slope", 0), rows(3, 0)[-1]
    wrapped, bare = to_sklearn(committee), committee.to_sklearn(calibration=None)
    assert type(wrapped) is CalibratedClassifierCV
    assert type(wrapped.estimator) is FrozenEstimator
    forest = ExtraTreesClassifier if kind == "extra trees" else RandomForestClassifier
    assert type(bare) is type(wrapped.estimator.estimator) is forest
    np.testing.assert_array_equal(
        bare.predict_proba(X), wrapped.estimator.predict_proba(X)
    )
    assert abs(bare.predict_proba(X) - wrapped.predict_proba(X)).max() > 0.01
    assert type(to_sklearn(made(kind, 3, None, 0))) is forest
    with pytest.raises(ValueError, match='calibration must be "keep"'):
        to_sklearn(committee, calibration=False)


@pytest.mark.parametrize("floor", [0.01, None])
@pytest.mark.parametrize("slope", [0.1, 1.0, 30.0])
def test_curves_of_steep_calibrations_are_exact(slope, floor, tmp_path):
    """Five classes, means of 1/5: curves within 1e-6 of [0, 1] would be far off."""
    committee, X = made("bag", 5, "slope", 0), rows(5, 0)[-1]
    a = np.linspace(-1, 1, 5)
    committee._calibration = Calibration(slope * np.linspace(0.8, 1.2, 5), floor, a)
    model = to_sklearn(committee)
    p = committee.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-11, atol=1e-15)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_sums_below_zero_are_calibrated_themselves():
    """A log of cut shares would not be a curve of one sum."""
    from committee.calibration import fit_calibration

    rng = np.random.default_rng(0)
    sums = rng.dirichlet(np.ones(3), 500)
    y = np.array([rng.choice(3, p=p) for p in sums])
    p = as_probabilities(sums)
    assert fit_calibration("slope", p, y, sums=sums).floor is not None
    shifted = sums - [0.02, 0.0, -0.02]
    assert shifted.min() < 0
    p = as_probabilities(shifted)
    assert fit_calibration("slope", p, y, sums=shifted).floor is None
