"""What holds for any rows: permutations, names, units, jobs, copies, intervals, gates."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    ARDPruner,
    Average,
    Bagging,
    BayesianCommitteeClassifier,
    BayesianCommitteeRegressor,
    CellKernelClassifier,
    CellKernelRegressor,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    EMPruner,
    EPPruner,
    GreedyPruner,
    LeastSquares,
    LogPool,
    LSSVMClassifier,
    LSSVMRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    OptimalWeights,
    Pool,
    ReduceErrorPruner,
    RidgeWeights,
    SimplexWeights,
    SoftmaxGate,
    load,
    save,
)
from tests.persistence.kinds import KINDS, LABELS, NEW, NUMBERS, X

SEEDS = st.integers(0, 2**32 - 1)
ON_NUMBERS = [
    Average,
    OptimalWeights,
    SimplexWeights,
    LeastSquares,
    RidgeWeights,
    EPPruner,
]
ON_CLASSES = [Average, OptimalWeights, SimplexWeights, LogPool, EPPruner]
CASES = [(kind, None) for kind in ON_NUMBERS] + [(kind, 3) for kind in ON_CLASSES]
#: These prune member by member.
PRUNERS = [(ARDPruner, None), (ARDPruner, 3), (EMPruner, None), (EMPruner, 3)]
PRUNERS += [(GreedyPruner, None), (GreedyPruner, 3), (ReduceErrorPruner, 3)]
#: Only ratios of weights matter to these; to evidence a weight is a number of rows.
BY_RATIOS = [case for case in CASES if case[0] is not EPPruner]


def problem(seed, K):
    """F (N, M) or (N, M, K) of members that differ, with y and row weights."""
    rng = np.random.default_rng(seed)
    N, M = int(rng.integers(30, 60)), int(rng.integers(2, 7))
    s = rng.random(N) + 0.1
    if K is None:
        y = rng.normal(size=N)
        return y[:, None] + rng.uniform(0.3, 2, M) * rng.normal(size=(N, M)), y, s
    y = rng.permutation(np.arange(N) % K)
    Z = (
        rng.normal(size=(N, M, K))
        + rng.uniform(0.5, 2, M)[:, None] * np.eye(K)[y][:, None]
    )
    return np.exp(Z) / np.exp(Z).sum(axis=2, keepdims=True), y, s


def assert_close(w, expected):
    """Equal to the tolerance of iterations: 1e-4 of the largest weight."""
    np.testing.assert_allclose(w, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("kind", "K"), CASES + PRUNERS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_rows_and_members_may_be_permuted(kind, K, seed):
    F, y, s = problem(seed, K)
    w = kind().fit(F, y, sample_weight=s).weights_
    rng = np.random.default_rng(seed)
    rows, members = rng.permutation(len(F)), rng.permutation(F.shape[1])
    assert_close(kind().fit(F[rows], y[rows], sample_weight=s[rows]).weights_, w)
    assert_close(kind().fit(F[:, members], y, sample_weight=s).weights_, w[members])


@pytest.mark.parametrize("kind", ON_CLASSES)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_classes_may_be_numbered_anew(kind, seed):
    F, y, s = problem(seed, 3)
    turned = np.random.default_rng(seed).permutation(3)
    w = kind().fit(F, y, sample_weight=s).weights_
    other = kind().fit(F[:, :, np.argsort(turned)], turned[y], sample_weight=s)
    assert_close(other.weights_, w)


@pytest.mark.parametrize(("kind", "K"), BY_RATIOS)
@settings(max_examples=15)
@given(seed=SEEDS, scale=st.sampled_from([1e-60, 1e-3, 7.0, 1e60]))
def test_only_ratios_of_sample_weights_matter(kind, K, seed, scale):
    F, y, s = problem(seed, K)
    w = kind().fit(F, y, sample_weight=s).weights_
    assert_close(kind().fit(F, y, sample_weight=scale * s).weights_, w)


_numbers = Pool([Ridge(), KNeighborsRegressor()], n_splits=2)
_classes = Pool([LogisticRegression(), GaussianNB()], n_splits=2)
_bag = {"generator": Bagging(4), "random_state": 0}
_boosted = {"generator": AdaBoost(4), "random_state": 0}
_stump = DecisionTreeClassifier(max_depth=2, random_state=0)
#: Their answers depend on neither the order of the rows nor that of the columns ...
WITHOUT_ORDER = [
    LSSVMRegressor(),
    LSSVMClassifier(),
    CellKernelRegressor(max_cell=40),
    CellKernelClassifier(max_cell=40),
    CommitteeClassifier(_stump, **_boosted),
]
#: ... and of these not on the order of the columns: groups and folds are drawn by row.
BY_COLUMNS = [
    *WITHOUT_ORDER,
    CoupledKernelRegressor(3, random_state=0),
    CoupledKernelClassifier(3, random_state=0),
    BayesianCommitteeRegressor(max_rows=40, random_state=0),
    BayesianCommitteeClassifier(max_rows=40, random_state=0),
    MixtureOfExpertsRegressor(n_experts=4, depth=2, random_state=0),
    MixtureOfExpertsClassifier(n_experts=2, random_state=0),
    CommitteeRegressor(generator=_numbers, random_state=0),
    CommitteeClassifier(generator=_classes, random_state=0),
    CommitteeRegressor(LinearRegression(), gate=SoftmaxGate(), **_bag),
    CommitteeRegressor(LinearRegression(), gate=NeighbourGate(), **_bag),
]


def answered(model, A, y, new):
    """Predictions, or probabilities, of a new fit."""
    model = clone(model).fit(A, y)
    return model.predict_proba(new) if is_classifier(model) else model.predict(new)


def targets_for(model):
    return LABELS if is_classifier(model) else NUMBERS


@pytest.mark.parametrize("model", WITHOUT_ORDER, ids=str)
@settings(max_examples=2, deadline=None)
@given(rows=st.permutations(range(len(X))))
def test_rows_of_whole_estimators_may_be_permuted(model, rows):
    """To 1e-5: probabilities of kernel machines are calibrated by iterations."""
    y = targets_for(model)
    found = answered(model, X[rows], y[rows], NEW)
    np.testing.assert_allclose(found, answered(model, X, y, NEW), atol=1e-5)


@pytest.mark.parametrize("model", BY_COLUMNS, ids=str)
@settings(max_examples=2, deadline=None)
@given(columns=st.permutations(range(4)))
def test_columns_of_whole_estimators_may_be_permuted(model, columns):
    y = targets_for(model)
    found = answered(model, X[:, columns], y, NEW[:, columns])
    np.testing.assert_allclose(found, answered(model, X, y, NEW), atol=1e-5)


@pytest.mark.parametrize("model", [m for m in BY_COLUMNS if is_classifier(m)], ids=str)
@settings(max_examples=3, deadline=None)
@given(
    names=st.lists(
        st.text("abcxyzÄß ", min_size=1, max_size=4),
        min_size=3,
        max_size=3,
        unique=True,
    )
)
def test_labels_may_have_any_names_in_any_order(model, names):
    """Columns of probabilities move to the places of the new names."""
    names = np.array(names, dtype=object)
    codes = np.unique(LABELS, return_inverse=True)[1]
    p = answered(model, X, codes, NEW)
    found = answered(model, X, names[codes], NEW)
    np.testing.assert_allclose(found, p[:, np.argsort(names)], atol=1e-6)


def classifiers():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    pool = Pool([LogisticRegression(), tree], n_splits=2)
    return [
        CommitteeClassifier(tree, generator=Bagging(6), combiner="ep", random_state=0),
        CommitteeClassifier(generator=pool, combiner="log-pool", random_state=0),
    ]


@pytest.mark.parametrize("model", classifiers(), ids=str)
def test_labels_of_the_same_order_change_no_bit(model):
    """Trees may break ties by the order of the classes."""
    names = np.array(["Ä", "ß ", "ßx"], dtype=object)
    codes = np.unique(LABELS, return_inverse=True)[1]
    p, labels = model.fit(X, codes).predict_proba(NEW), model.predict(NEW)
    model.fit(X, names[codes])
    np.testing.assert_array_equal(model.predict_proba(NEW), p)
    np.testing.assert_array_equal(model.predict(NEW), names[labels])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*is written. It contains types")
@pytest.mark.parametrize("kind", [name for name in KINDS if "Boost" not in name])
def test_copies_and_files_answer_as_the_model_does(kind, tmp_path):
    made, options, trusted = KINDS[kind]
    model = made()
    answer = model.predict(NEW)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    if not options.get("compact"):  # leaves of a compact file are rounded
        save(model, tmp_path / "m.skops", **options)
        copies.append(load(tmp_path / "m.skops", trusted=trusted))
    for other in copies:
        np.testing.assert_array_equal(other.predict(NEW), answer)


@pytest.mark.parametrize("kind", ["committee", "gate", "cells", "bayesian", "experts"])
def test_any_number_of_jobs_gives_the_same_answer(kind):
    with joblib.parallel_config("threading"):
        one, two = KINDS[kind].make(), KINDS[kind].make()
        two.set_params(n_jobs=2).fit(X, LABELS if hasattr(two, "classes_") else NUMBERS)
        np.testing.assert_array_equal(two.predict(NEW), one.predict(NEW))


@pytest.fixture(scope="module")
def certain():
    """A regressor and a classifier that know their held-out rows."""
    options = {"generator": Bagging(15), "combiner": "simplex", "uncertainty": True}
    numbers = CommitteeRegressor(DecisionTreeRegressor(max_depth=4), **options)
    classes = CommitteeClassifier(DecisionTreeClassifier(max_depth=4), **options)
    for model in (numbers, classes):
        model.set_params(random_state=0)
    return numbers.fit(X, NUMBERS), classes.fit(X, LABELS)


COVERAGES = st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)).map(sorted)


@settings(max_examples=30, deadline=None)
@given(coverages=COVERAGES)
def test_intervals_are_ordered_and_nested(certain, coverages):
    numbers, _ = certain
    (low, high), (wide_low, wide_high) = (
        numbers.predict_interval(NEW, coverage).T for coverage in coverages
    )
    assert (wide_low <= low).all()
    assert (low <= high).all()
    assert (high <= wide_high).all()


@settings(max_examples=30, deadline=None)
@given(coverages=COVERAGES)
@pytest.mark.parametrize("method", ["lac", "aps"])
def test_sets_are_never_empty_and_nested(certain, method, coverages):
    _, classes = certain
    small, large = (
        classes.predict_set(NEW, coverage, method=method) for coverage in coverages
    )
    assert small.any(axis=1).all()
    assert (small <= large).all()


def gated():
    line, bag = LinearRegression(), Bagging(4)
    yield from (
        CommitteeRegressor(line, generator=bag, gate=gate, random_state=0)
        for gate in (SoftmaxGate(), NeighbourGate(), NeighbourGate("ola"))
    )
    yield MixtureOfExpertsRegressor(n_experts=4, depth=2, random_state=0)
    yield MixtureOfExpertsRegressor(
        n_experts=3,
        assignment="hard",
        gate=DecisionTreeClassifier(max_depth=2),
        random_state=0,
    )


@pytest.fixture(scope="module", params=list(gated()), ids=str)
def gate(request):
    return request.param.fit(X, NUMBERS)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, scale=st.sampled_from([1e-6, 1.0, 30.0, 1e6]))
def test_gates_are_on_the_simplex(gate, seed, scale):
    """Also far from all rows that they were fitted on."""
    rows = scale * np.random.default_rng(seed).normal(size=(20, 4))
    G = gate.gate_weights(rows)
    assert (G >= 0).all()
    np.testing.assert_allclose(G.sum(axis=1), 1.0, rtol=1e-9)
