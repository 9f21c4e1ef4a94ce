"""Scores of combined predictions that are not sums over rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import make_scorer, roc_auc_score

from committee import GreedyPruner
from committee.combiners import scorers
from committee.votes import Votes
from tests.reference.problems import make_held_out, make_problem


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
    found = scorers.roc_auc(Votes(p[:, None], y, None, weight), "roc_auc")
    assert found is not None
    slabs, area = found
    expected = roc_auc_score(y, p[:, 1], sample_weight=weight)
    assert area(slabs[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("known", [{}, {"held_out": make_held_out()}])
def test_fast_scores_do_not_go_through_scikit_learn(monkeypatch, known):
    """Its checks for every candidate took a hundred times as long as the area."""
    monkeypatch.setattr(scorers, "get_scorer", None)
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
    with pytest.raises(ValueError, match="compares rows of different classes"):
        GreedyPruner(scoring="roc_auc").fit(F, 0 * y)
    with pytest.raises(ValueError, match="scoring='roc_auc'"):
        GreedyPruner(scoring="roc_auc").fit(F - 0.5, 0 * y)
