"""Intervals and sets of committees whose weights depend on x: gates and mixtures."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    Pool,
    SimplexWeights,
    SoftmaxGate,
    load,
    prune,
    save,
)
from committee.diagnostics.missing_votes import (
    FilledProbabilities,
    FilledVotes,
    uniform_numbers,
)
from committee.held_out import of_gate, splits_of
from committee.uncertainty.mixins import INTERVALS
from committee.votes import Votes

N, N_TEST = 400, 3000
HOW = {"uncertainty": True, "random_state": 0}
REGRESSORS = Pool([Ridge(), KNeighborsRegressor(5), DecisionTreeRegressor(max_depth=5)])
CLASSIFIERS = Pool([LogisticRegression(), GaussianNB(), DecisionTreeClassifier()])

OF_NUMBERS = {
    "pool, softmax": CommitteeRegressor(
        generator=REGRESSORS, gate=SoftmaxGate(), **HOW
    ),
    "pool, combiner, neighbours": CommitteeRegressor(
        generator=REGRESSORS, combiner=SimplexWeights(), gate=NeighbourGate(), **HOW
    ),
    "bag, neighbours": CommitteeRegressor(
        generator=Bagging(25), gate=NeighbourGate(), **HOW
    ),
    "mixture": MixtureOfExpertsRegressor(n_experts=2, n_restarts=1, **HOW),
    "hard mixture": MixtureOfExpertsRegressor(Ridge(), assignment="hard", **HOW),
}
OF_CLASSES = {
    "pool, neighbours": CommitteeClassifier(
        generator=CLASSIFIERS, gate=NeighbourGate(), **HOW
    ),
    "bag, softmax": CommitteeClassifier(
        generator=Bagging(10), gate=SoftmaxGate(), calibration="slope", **HOW
    ),
    "mixture": MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, **HOW),
    "hard mixture": MixtureOfExpertsClassifier(
        LogisticRegression(), n_experts=2, assignment="hard", **HOW
    ),
}


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(N + N_TEST, noise=1.0, random_state=0)
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def classes():
    """One row in eight is of the second class."""
    X, y = make_classification(
        N + N_TEST, 8, n_informative=5, weights=[0.87], flip_y=0.05, random_state=0
    )
    y = np.array(["usual", "rare"])[y]
    return X[:N], y[:N], X[N:], y[N:]


def _lowest(coverage, n, n_test):
    """The least share on fresh rows, all but once in 10,000.

    Coverage by n held-out rows is Beta, that of n_test rows binomial.
    """
    return coverage - 3.9 * np.sqrt(coverage * (1 - coverage) * (1 / n + 1 / n_test))


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_fresh_numbers_are_covered(name, numbers, tmp_path):
    X, y, X_new, y_new = numbers
    model = OF_NUMBERS[name].fit(X, y)
    save(model, tmp_path / "m.skops")
    loaded = load(tmp_path / "m.skops")
    for method in INTERVALS:
        found = [model.predict_interval(X_new, c, method=method) for c in (0.5, 0.9)]
        inner, outer = found
        assert np.all(inner[:, 0] <= inner[:, 1])
        assert np.all((outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1]))
        np.testing.assert_allclose(outer.mean(axis=1), model.predict(X_new))
        share = np.mean((outer[:, 0] <= y_new) & (y_new <= outer[:, 1]))
        low = _lowest(0.9, N, N_TEST)
        assert low < share < 0.92 + (0.9 - low)
        np.testing.assert_array_equal(
            loaded.predict_interval(X_new, method=method), outer
        )
    rmse = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))
    # Experts with disjoint parts need more rows than a fold leaves them.
    tolerance = 0.3 if name == "hard mixture" else 0.15
    assert model.held_out_error_ == pytest.approx(rmse, rel=tolerance)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", OF_CLASSES)
def test_fresh_classes_are_covered(name, by_class, classes):
    X, y, X_new, y_new = classes
    model = OF_CLASSES[name].fit(X, y)
    codes = np.searchsorted(model.classes_, y_new)
    parts = [codes == k for k in (0, 1)] if by_class else [codes >= 0]
    known = [np.sum(y == label) for label in model.classes_] if by_class else [N]
    for method in ("lac", "aps"):
        sets = model.predict_set(X_new, 0.9, method=method, by_class=by_class)
        assert sets.any(axis=1).all()
        hit = sets[np.arange(N_TEST), codes]
        for rows, n in zip(parts, known, strict=True):
            assert hit[rows].mean() > _lowest(0.9, n, rows.sum())
    wrong = np.mean(model.predict(X_new) != y_new)
    assert abs(model.held_out_error_ - wrong) < 3.9 * np.sqrt(wrong / N)


def test_without_classes_the_rare_one_is_missed(classes):
    """The reason for by_class: the mean over all rows hides it."""
    X, y, X_new, y_new = classes
    model = OF_CLASSES["mixture"].fit(X, y)
    rare = y_new == "rare"
    k = int(np.flatnonzero(model.classes_ == "rare")[0])
    plain, by_class = (model.predict_set(X_new, by_class=b) for b in (False, True))
    assert plain[rare, k].mean() < 0.75
    assert by_class[rare, k].mean() > 0.8


def test_a_pruned_committee_behind_a_gate_has_intervals(numbers):
    X, y, X_new, y_new = numbers
    forest = RandomForestRegressor(30, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True)
    fresh = slice(0, 1000)
    gated = small.with_gate(NeighbourGate(), X_new[fresh], y_new[fresh])
    interval = gated.predict_interval(X_new[1000:])
    y_new = y_new[1000:]
    share = np.mean((interval[:, 0] <= y_new) & (y_new <= interval[:, 1]))
    low = _lowest(0.9, 1000, 2000)
    assert low < share < 0.9 + (0.9 - low)


def test_too_few_rows_for_folds_are_counted(numbers):
    X, y = numbers[0][:4], numbers[1][:4]
    pool = Pool([Ridge(), Ridge(10.0)], n_splits=2)
    gated = CommitteeRegressor(generator=pool, gate=NeighbourGate(n_neighbors=1), **HOW)
    for model in (gated, MixtureOfExpertsRegressor(n_experts=1, **HOW)):
        with pytest.raises(ValueError, match="but there are 0"):
            model.fit(X, y).predict_interval(X)
        assert model.held_out_error_ is None


def test_mixtures_without_held_out_rows_say_what_to_do(numbers):
    X, y = numbers[:2]
    model = MixtureOfExpertsRegressor(n_experts=2, n_restarts=1, random_state=0)
    with pytest.raises(ValueError, match="Fit it with uncertainty=True"):
        model.fit(X, y).predict_interval(X)
    # The folds do not change the mixture itself.
    other = MixtureOfExpertsRegressor(n_experts=2, n_restarts=1, **HOW).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    other.set_params(uncertainty=False).fit(X, y)
    assert not other.has_held_out_rows
    assert other.held_out_error_ is None


def test_a_gate_never_saw_the_row_that_it_predicts(numbers):
    """Plain loops: combiner, then gate, without each fold."""
    X, y = (a[:60] for a in numbers[:2])
    rng = np.random.default_rng(0)
    F = y[:, None] + rng.normal(size=(60, 3)) * [1, 1, 9]
    votes, gate = Votes(F, y, None, None), NeighbourGate(n_neighbors=5)
    found = of_gate(gate, SimplexWeights(), X, votes, None)
    for train, test in splits_of(y):
        kept = SimplexWeights().fit(F[train], y[train]).support_
        own = NeighbourGate(n_neighbors=5).fit(X[train], F[train][:, kept], y[train])
        G = own.weights(X[test])
        np.testing.assert_allclose(
            found.output[test], np.sum(G * F[test][:, kept], axis=1), rtol=1e-12
        )


def test_weights_of_a_gate_that_are_the_same_everywhere_are_static(rng):
    """FilledVotes of (N, M) equal those of (M,)."""
    F, mask = rng.dirichlet(np.ones(3), size=(40, 6)), rng.random((40, 6)) < 0.5
    y, w = rng.integers(0, 3, 40), np.array([0.3, 0.0, 0.1, 0.2, 0.1, 0.3])
    filled = FilledVotes.of(F, y, mask)
    G = np.tile(w, (40, 1))
    for name in ("output", "losses", "margin_variance", "open_share"):
        one, many = (getattr(filled, name)(weights) for weights in (w, G))
        np.testing.assert_allclose(many, one, rtol=1e-10, atol=1e-12, err_msg=name)
    probabilities = FilledProbabilities.of(filled)
    one, many = (probabilities.drawn(v, uniform_numbers(2, 40)) for v in (w, G))
    np.testing.assert_allclose(many, one, rtol=1e-10)


def test_coverage_of_exchangeable_rows_is_exact_with_a_gate_fitted_elsewhere():
    """Members and gate fitted on other rows: split conformal, rank by rank."""
    rng, n, hits, draws = np.random.default_rng(0), 20, 0, 150
    X0 = rng.normal(size=(60, 1))
    members = [Ridge(a).fit(X0, X0[:, 0]) for a in (1.0, 10.0)]
    for _ in range(draws):
        X = rng.normal(size=(n + 1, 1))
        y = X[:, 0] + rng.standard_t(3, size=n + 1)
        small = prune(members, X0, X0[:, 0], combiner="average", oob=False)
        gated = small.with_gate(NeighbourGate(n_neighbors=3), X[:n], y[:n])
        lower, upper = gated.predict_interval(X[n:], 0.8, method="constant")[0]
        hits += lower <= y[n] <= upper
    low, high = binom.interval(1 - 1e-6, draws, 17 / 21)  # k = ceil(0.8 * 21)
    assert low <= hits <= high
