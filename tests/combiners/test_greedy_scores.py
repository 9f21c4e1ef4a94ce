"""Scores that GreedyPruner optimises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    get_scorer,
    log_loss,
    make_scorer,
    r2_score,
    roc_auc_score,
)

from committee import GreedyPruner
from committee.combiners import greedy_scores
from committee.combiners.greedy_scores import row_score
from committee.votes import Votes
from tests.reference import search
from tests.reference.problems import KINDS, make_held_out, make_problem


def plain(name, y, K):
    """Return minus the score of a combined prediction, by sklearn.metrics."""
    return {
        "accuracy": lambda f: -accuracy_score(y, f.argmax(axis=1)),
        "neg_log_loss": lambda f: log_loss(y, f, labels=np.arange(K)),
        "r2": lambda f: -r2_score(y, f),
        "neg_mean_absolute_error": lambda f: np.abs(y - f).mean(),
    }[name]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("binary", "accuracy"),
        ("multiclass", "accuracy"),
        ("binary", "neg_log_loss"),
        ("multiclass", "neg_log_loss"),
        ("regression", "r2"),
        ("regression", "neg_mean_absolute_error"),
    ],
)
def test_against_the_plain_loop(kind, name):
    F, y = make_problem(kind)
    K = F.shape[2] if F.ndim == 3 else None
    picks, path = search.greedy(F, plain(name, y, K), 12)
    pruner = GreedyPruner(12, scoring=name).fit(F, y)
    assert pruner.order_.tolist() == picks
    np.testing.assert_allclose(pruner.path_.error, path, rtol=1e-10)


def votes(N, K, hard, M=5):
    rng = np.random.default_rng(N + K)
    y = np.resize(np.arange(K), N)
    F = rng.dirichlet(np.ones(K), size=(N, M))
    F[np.arange(N), :, y] += rng.uniform(0, 0.6, size=M)
    F /= F.sum(axis=2, keepdims=True)
    return (np.eye(K)[F.argmax(axis=2)] if hard else F), y, rng


@pytest.mark.parametrize(
    ("N", "K", "hard"),
    # The last has more rows than one piece of a sum.
    [(40, 2, False), (40, 2, True), (40, 4, True), (20_000, 4, True)],
)
@pytest.mark.parametrize(
    "name",
    ["accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "roc_auc_ovr"],
)
def test_fast_scores_are_those_of_scikit_learn(N, K, hard, name):
    """The fast forms against the loop over candidates, on many and on tied rows."""
    if name == "roc_auc" and K > 2:
        name = "roc_auc_ovr"
    F, y, rng = votes(N, K, hard)
    problem = Votes(F, y, None, rng.integers(1, 5, size=N).astype(float))
    fast, slow = (row_score(problem, s) for s in (name, get_scorer(name)))
    np.testing.assert_allclose(fast.all_candidates(), slow.all_candidates(), rtol=1e-9)
    for m in (0, 3, 3):
        assert fast.add(m) == pytest.approx(slow.add(m), rel=1e-9)
        np.testing.assert_allclose(
            fast.all_candidates(), slow.all_candidates(), rtol=1e-9
        )


@pytest.mark.parametrize(("K", "hard"), [(2, False), (2, True), (4, False), (4, True)])
def test_votes_that_cannot_be_heard_are_filled(K, hard):
    """Against filling row by row, for every candidate and for weights."""
    F, y, rng = votes(30, K, hard)
    held_out = rng.random((30, 5)) < 0.4
    held_out[:, :2] |= held_out.sum(axis=1, keepdims=True) < 2
    s = rng.integers(1, 5, size=30).astype(float)
    problem = Votes(F, y, held_out, s)
    for name, which, sign in (
        ("neg_log_loss", 0, 0.0),
        ("accuracy", 1, 1.0),
        ("neg_brier_score", 2, 0.0),
    ):
        score, picks = row_score(problem, name), []
        score.start()
        for pick in (0, 3, 3):
            expected = [
                np.average(
                    search.filled_losses(F, y, held_out, [*picks, m])[which], weights=s
                )
                for m in range(5)
            ]
            np.testing.assert_allclose(score.candidates(), np.array(expected) - sign)
            assert score.add(pick) == pytest.approx(expected[pick] - sign)
            picks.append(pick)
            w = np.bincount(picks, minlength=5) / len(picks)
            assert score.error(w) == pytest.approx(expected[pick] - sign)


@pytest.mark.parametrize("kind", KINDS)
def test_row_weights_are_repetitions(kind, rng):
    F, y = make_problem(kind)
    s = rng.integers(1, 4, size=40)
    name = "r2" if kind == "regression" else "neg_log_loss"
    weighted = GreedyPruner(8, scoring=name).fit(F, y, sample_weight=s)
    repeated = GreedyPruner(8, scoring=name).fit(
        np.repeat(F, s, axis=0), np.repeat(y, s)
    )
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.path_.error, repeated.path_.error, rtol=1e-9)


def test_negative_scores_are_cut_at_zero(binary_problem):
    F, y = binary_problem
    path = GreedyPruner(5, scoring="neg_log_loss").fit(2 * F - 0.5, y).path_
    assert np.all(np.isfinite(path.error))


def test_where_no_chosen_member_speaks_chance_has_a_say():
    """Member 0 votes on row 0 only; on row 1 two others are right and one is not."""
    F = np.eye(2)[[[0, 1, 1, 0], [0, 1, 1, 0]]]
    held_out = np.array([[True, False, False, False], [False, True, True, True]])
    problem = Votes(F, np.array([0, 1]), held_out, None)
    accuracy, log_loss = (
        -row_score(problem, name).all_candidates()[0]
        for name in ("accuracy", "neg_log_loss")
    )
    assert 0.5 < accuracy < 1.0
    assert log_loss < 0.5 * np.log(2 / 3)


@pytest.mark.parametrize(
    "name", ["neg_log_loss", "accuracy", "roc_auc", "neg_brier_score"]
)
def test_out_of_bag_a_forest_keeps_its_score_on_fresh_rows(name):
    """Rows on which none of a few trees has a vote must not speak for these few."""
    X, y = make_classification(
        2400, 12, n_informative=6, flip_y=0.05, random_state=0, shuffle=True
    )
    forest = RandomForestClassifier(60, random_state=0).fit(X[:800], y[:800])
    F, fresh = (
        np.stack([tree.predict_proba(x) for tree in forest.estimators_], axis=1)
        for x in (X[:800], X[800:])
    )
    held_out = np.ones((800, 60), dtype=bool)
    for m, rows in enumerate(forest.estimators_samples_):
        held_out[rows, m] = False
    pruner = GreedyPruner(scoring=name).fit(F, y[:800], held_out=held_out)
    scores = {
        "neg_log_loss": lambda p: -log_loss(y[800:], p),
        "accuracy": lambda p: accuracy_score(y[800:], p.argmax(axis=1)),
        "roc_auc": lambda p: roc_auc_score(y[800:], p[:, 1]),
        "neg_brier_score": lambda p: -brier_score_loss(y[800:], p[:, 1]),
    }
    chosen, whole = (
        scores[name](np.clip(p, 0.0, 1.0))
        for p in (pruner.combine(fresh), fresh.mean(axis=1))
    )
    assert len(pruner.support_) > 5
    assert chosen > whole - {"neg_log_loss": 0.2}.get(name, 0.02)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)),
        min_size=4,
        max_size=30,
    ),
    st.booleans(),
)
def test_the_area_is_that_of_scikit_learn(rows, weighted):
    """Of few different scores, so that most of them tie."""
    score, k, s = np.array([(0, 0, 1), (1, 1, 1), *rows]).T
    p = np.stack([3 - score, score], axis=1) / 3
    y = (k > 0).astype(int)
    weight = s.astype(float) if weighted else None
    found = greedy_scores.roc_auc(Votes(p[:, None], y, None, weight), "roc_auc")
    assert found is not None
    slabs, area = found
    expected = roc_auc_score(y, p[:, 1], sample_weight=weight)
    assert area(slabs[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("known", [{}, {"held_out": make_held_out()}])
def test_fast_scores_do_not_go_through_scikit_learn(monkeypatch, known):
    """Its checks for every candidate took a hundred times as long as the area."""
    monkeypatch.setattr(greedy_scores, "get_scorer", None)
    for kind, name in (
        ("binary", "roc_auc"),
        ("multiclass", "roc_auc_ovr"),
        ("binary", "neg_brier_score"),
        ("multiclass", "neg_brier_score"),
    ):
        GreedyPruner(4, scoring=name).fit(*make_problem(kind), **known)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("binary", "roc_auc"),
        ("binary", "f1"),
        ("multiclass", "roc_auc_ovr"),
        ("multiclass", "balanced_accuracy"),
        ("regression", "neg_median_absolute_error"),
    ],
)
def test_any_score_gets_better(kind, name):
    F, y = make_problem(kind)
    for known in ({}, {"held_out": make_held_out()}):
        path = GreedyPruner(4, scoring=name).fit(F, y, **known).path_
        assert path.error.min() <= path.error[0]


def test_a_score_of_your_own(regression_problem):
    def worst(y, f):
        return np.abs(y - f).max()

    F, y = regression_problem
    scorer = make_scorer(worst, greater_is_better=False)
    pruner = GreedyPruner(8, scoring=scorer).fit(F, y)
    assert pruner.path_.error.min() == pytest.approx(
        np.abs(F @ pruner.weights_ - y).max()
    )
    with pytest.raises(ValueError, match="with sample_weight"):
        pruner.fit(F, y, sample_weight=np.arange(40.0))


def test_a_score_that_is_not_a_number(regression_problem):
    scorer = make_scorer(lambda y, f: np.nan)
    with pytest.raises(ValueError, match="must be a finite number"):
        GreedyPruner(scoring=scorer).fit(*regression_problem)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize(
    "name",
    [
        *("neg_log_loss", "neg_brier_score", "roc_auc_ovr"),
        *("f1_macro", "balanced_accuracy", "accuracy"),
    ],
)
def test_a_class_that_no_row_has(kind, name):
    F, y = make_problem(kind)
    F = np.concatenate([F, np.full((40, 7, 1), 0.01)], axis=2)
    for votes in (F / F.sum(axis=2, keepdims=True), F - 0.2):
        path = GreedyPruner(4, scoring=name).fit(votes, y).path_
        assert np.all(np.isfinite(path.error))


def test_one_class_alone_has_no_curve():
    F, y = make_problem("binary")
    with pytest.raises(ValueError, match="needs rows of at least two classes"):
        GreedyPruner(scoring="roc_auc").fit(F, 0 * y)
    with pytest.raises(ValueError, match="scoring='roc_auc'"):
        GreedyPruner(scoring="roc_auc").fit(F - 0.5, 0 * y)
