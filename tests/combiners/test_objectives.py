import numpy as np
import pytest
from sklearn.metrics import accuracy_score, get_scorer, log_loss, make_scorer, r2_score

from committee import GreedyPruner
from committee.combiners.objectives import row_score
from committee.combiners.problem import Problem
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


@pytest.mark.parametrize(
    ("N", "K", "hard", "masked"),
    [
        (40, 2, False, False),
        (40, 2, True, True),
        (40, 4, False, True),
        (40, 4, True, False),
        # More rows than one piece of a sum.
        (20_000, 4, True, True),
    ],
)
def test_accuracy_and_log_loss_are_those_of_scikit_learn(N, K, hard, masked):
    """The fast forms against the loop over candidates, on many and on tied rows."""
    rng = np.random.default_rng(N + K)
    y = np.resize(np.arange(K), N)
    F = rng.dirichlet(np.ones(K), size=(N, 5))
    F[np.arange(N), :, y] += rng.uniform(0, 0.6, size=5)
    F /= F.sum(axis=2, keepdims=True)
    if hard:
        F = np.eye(K)[F.argmax(axis=2)]
    held_out = rng.random((N, 5)) < 0.4 if masked else None
    problem = Problem(F, y, held_out, rng.integers(1, 5, size=N).astype(float))
    for name in ("accuracy", "neg_log_loss"):
        fast, slow = (row_score(problem, s) for s in (name, get_scorer(name)))
        assert fast.total is not None
        assert slow.total is None
        np.testing.assert_allclose(fast.start(), slow.start(), rtol=1e-9)
        for m in (0, 3, 3):
            assert fast.add(m) == pytest.approx(slow.add(m), rel=1e-6)
            # A share of 1e-9 has lost nine digits beside a vote.
            np.testing.assert_allclose(fast.candidates(), slow.candidates(), rtol=1e-6)


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


def test_rows_that_no_chosen_member_speaks_on_go_by_the_whole_committee():
    """Member 0 votes on row 0 only; on row 1 the others are right."""
    F = np.eye(2)[[[0, 1, 1], [0, 1, 1]]]
    held_out = np.array([[True, False, False], [False, True, True]])
    problem = Problem(F, np.array([0, 1]), held_out, None)
    score = row_score(problem, "accuracy")
    np.testing.assert_allclose(score.start(), -1.0)
