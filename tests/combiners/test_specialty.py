"""Specialists for classes, and correlation with the whole, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import matthews_corrcoef

from committee import CorrelationPruner, SpecialtyPruner
from tests.reference import pruners as plain
from tests.reference.problems import make_problem


def specialty_order(rows):
    """One class after the other, on rows that nobody chosen gets right."""
    chosen, K = [], rows.K
    errors = {m: i for i, m in enumerate(plain.best(rows))}
    while len(chosen) < rows.M:
        k = len(chosen) % K
        free = [m for m in range(rows.M) if m not in chosen]
        scores = {
            m: share(rows, k, m, free, chosen, own=True)
            - share(rows, k, m, free, chosen, own=False)
            for m in free
        }
        top = max(scores.values())
        tied = [m for m in free if scores[m] > top - 1e-10]
        chosen.append(min(tied, key=errors.get))
    return chosen


def share(rows, k, m, free, chosen, *, own):
    """Votes for k among rows of class k, or of the others."""
    of_class = [n for n in range(rows.N) if (rows.y[n] == k) == own]
    left = [
        n
        for n in of_class
        if not any(rows.present[n][c] and rows.vote[n][c] == rows.y[n] for c in chosen)
    ]
    if not any(rows.s[n] > 0 and rows.present[n][f] for n in left for f in free):
        left = of_class
    total = sum(rows.s[n] for n in left if rows.present[n][m])
    votes = sum(rows.s[n] for n in left if rows.present[n][m] and rows.vote[n][m] == k)
    return votes / total if total > 0 else 0.0


@given(case=plain.vote_problems)
def test_specialists_against_a_plain_loop(case):
    F, y, held_out, s = case
    fitted = SpecialtyPruner().fit(F, y, held_out=held_out, sample_weight=s)
    expected = specialty_order(plain.Rows(*case))
    assert fitted.order_.tolist() == [m for m in expected if m in fitted.order_]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_correlation_is_that_of_matthews_and_gorodkin(kind):
    """On rows where the whole committee has one answer."""
    F, y = make_problem(kind, N=200)
    votes = F.argmax(axis=2)
    K = F.shape[2]
    counts = np.stack([(votes == k).sum(axis=1) for k in range(K)], axis=1)
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    s = np.where(clear, np.linspace(1, 2, 200), 0.0)
    found = CorrelationPruner().fit(F, y, sample_weight=s).correlation_
    whole = counts.argmax(axis=1)
    expected = [matthews_corrcoef(whole, v, sample_weight=s) for v in votes.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_vote_that_never_changes_has_no_correlation():
    votes = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 1]])
    pruner = CorrelationPruner(1).fit(np.eye(2)[votes], [0, 1, 0, 1])
    assert pruner.correlation_[0] == 0.0
    assert pruner.support_.tolist() != [0]
