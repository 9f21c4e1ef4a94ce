"""Criteria of OrderPruner, against plain loops and by hand."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import matthews_corrcoef

from committee import OrderPruner
from committee.combiners.order_criteria import margin_distance
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_held_out, make_problem


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    fitted = OrderPruner("best").fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == plain.best(rows)
    order, contribution = plain.contribution(rows)
    fitted = OrderPruner("contribution").fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == order
    np.testing.assert_allclose(fitted.scores_, contribution, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_best_of_a_regression(masked, scale, rng):
    F, y = make_problem("regression")
    held_out, s = make_held_out() if masked else None, rng.exponential(size=40)
    expected = plain.best_regression(F, y, held_out, s)
    fitted = OrderPruner("best", 2).fit(
        scale * F, scale * y, held_out=held_out, sample_weight=s
    )
    assert fitted.order_.tolist() == expected


def test_best_of_a_regression_over_all_scales():
    """Squares of 1e-200 and 1e200 would vanish or overflow; the order does not."""
    F = np.array([[1e200, 1e-200, 1.0, 1e-190, 0.0]] * 3)
    assert OrderPruner("best").fit(F, np.zeros(3)).order_.tolist() == [4, 1, 3, 2, 0]


def test_a_member_that_never_speaks_is_not_in_the_order():
    F, y = make_problem("regression")
    held_out = np.ones((40, 7), dtype=bool)
    held_out[:, 0] = False
    order = OrderPruner("best").fit(F, y, held_out=held_out).order_
    assert sorted(order) == [1, 2, 3, 4, 5, 6]


def test_random_order_depends_on_the_seed_alone():
    F, y = make_problem("regression", M=50)
    first, again, other = (
        OrderPruner("random", 5, random_state=seed).fit(F, y).order_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    flipped = OrderPruner("random", 5, random_state=0).fit(-F, y).order_
    np.testing.assert_array_equal(first, flipped)


def test_every_member_is_drawn_equally_often():
    F, y = np.zeros((1, 5)), np.zeros(1)
    first = [
        OrderPruner("random", 1, random_state=i).fit(F, y).order_[0] for i in range(100)
    ]
    # Binomial: 20 +- 4 each.
    assert np.all(np.abs(np.bincount(first, minlength=5) - 20) < 16)


def test_contribution_by_hand():
    """Five members, three classes, one row: y = 0 has two votes, 1 has two, 2 one.

    Those for 0 and 1 are in the majority: v_sec = 2/5 and v_y - v_m - v_max = -2/5;
    the one for 2 gets 2/5 - 1/5 - 2/5.
    """
    F = votes(np.array([[0, 0, 1, 1, 2]]), 3)
    fitted = OrderPruner("contribution").fit(F, [0])
    np.testing.assert_allclose(fitted.scores_, [0.4, 0.4, -0.4, -0.4, -0.2])
    assert fitted.order_.tolist() == [0, 1, 4, 2, 3]


def test_a_right_minority_contributes_most():
    """Rows of three: alone and right 2 * 2/3 - 1/3 = 1, right with another 1/3."""
    F = votes(np.array([[0, 1, 1], [0, 0, 1]]))
    fitted = OrderPruner("contribution").fit(F, [0, 0])
    np.testing.assert_allclose(fitted.scores_, [2 / 3, -1 / 3, -2 / 3])


@given(case=plain.vote_problems)
def test_signatures_against_plain_loops(case):
    F, y, held_out, s = case
    known = {"held_out": held_out, "sample_weight": s}
    rows = plain.Rows(*case)
    order, cosine = plain.orientation(rows)
    fitted = OrderPruner("orientation").fit(F, y, **known)
    np.testing.assert_allclose(fitted.scores_, cosine, atol=1e-9)
    assert fitted.order_.tolist() == order
    for p in (0.075, 0.5):
        fitted = OrderPruner(partial(margin_distance, p=p)).fit(F, y, **known)
        assert fitted.order_.tolist() == plain.margin_distance(rows, p)[0]


def test_orientation_by_hand():
    """Signatures (1, 1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, -1) on rows of y = 0.

    c_ens = (1, 1, -1) / 2 and o . c_ens = 1/2, |c_ens|^2 = 3/4: lambda = -2/3 and
    c_ref = (2, 2, 4) / 3. Scalar products with it: 0, 0, 4/3, -4/3.
    """
    F = votes(np.array([[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]]))
    fitted = OrderPruner("orientation").fit(F, [0, 0, 0])
    expected = np.array([0, 0, 4 / 3, -4 / 3]) / np.sqrt(3 * 24 / 9)
    np.testing.assert_allclose(fitted.scores_, expected, atol=1e-12)
    assert fitted.order_.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("voters", [[0, 0, 0], [0, 0, 1]])
def test_orientation_on_the_diagonal_is_the_order_of_errors(voters):
    """Each row is lost by one member in turn: c_ens has equal entries."""
    F = votes(np.array([np.roll(voters, i) for i in range(3)]))
    fitted = OrderPruner("orientation").fit(F, [0, 0, 0])
    best = OrderPruner("best").fit(F, [0, 0, 0])
    np.testing.assert_array_equal(fitted.order_, best.order_)


def test_margin_distance_by_hand():
    """T = 4, p = 1/4: the target is a sum of one vote on every row.

    Signatures: a = (1, 1, 1, -1), its twin b, c = (-1, 1, -1, 1), d = (-1, -1, -1, 1).
    a is first: it misses the target by (0, 0, 0, 2). Squared misses after the next:
    with the twin 1 + 1 + 1 + 9, with c or d 1 + 1 + 1 + 1; c errs less and is next.
    """
    codes = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]])
    fitted = OrderPruner(partial(margin_distance, p=0.25)).fit(votes(codes), [0] * 4)
    assert fitted.order_[:2].tolist() == [0, 2]


def test_margin_distance_is_a_distance_of_vectors():
    """Two members of equal mean signature, one of them the twin of the first."""
    codes = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0], [1, 1, 0]])
    order = OrderPruner("margin-distance").fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [0, 2, 1]


PRUNERS = {
    "complementarity": plain.complementarity,
    "concurrency": plain.concurrency,
    "boosting-order": plain.boosting_order,
}


@pytest.mark.parametrize("criterion", PRUNERS)
@given(case=plain.vote_problems)
def test_one_by_one_against_plain_loops(criterion, case):
    F, y, held_out, s = case
    fitted = OrderPruner(criterion).fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == PRUNERS[criterion](plain.Rows(*case))


@pytest.mark.parametrize("criterion", ["complementarity", "boosting-order"])
def test_the_first_is_the_best_and_its_twin_waits(criterion):
    """Member 2 is wrong most, and right where 0 and 1 are wrong."""
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    order = OrderPruner(criterion).fit(votes(codes), [0] * 5).order_
    assert order.tolist() == [0, 2, 1]


def test_complementarity_without_failures_goes_by_error():
    """Member 3 is always right; then none complements: errors, not storage."""
    codes = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    order = OrderPruner("complementarity").fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [3, 2, 1, 0]


def test_concurrency_by_hand():
    """Votes of four on y = 0: the committee ties on row 0 and loses row 1.

    con_0 = con_1: tie right 1.5 - 2; con_2: -1 - 2; con_3: -1 + 2. So 2 goes first.
    Left 0, 1, 3: row 0 won, row 1 lost: con_0 = con_1 = 1 - 2, con_3 = 0 + 2; of the
    equal ones the higher number goes. 0 and 3 are equal as well.
    """
    F = votes(np.array([[0, 0, 1, 1], [1, 1, 1, 0]]))
    assert OrderPruner("concurrency").fit(F, [0, 0]).order_.tolist() == [0, 3, 1, 2]


def test_boosting_starts_anew_when_nobody_beats_chance():
    """After 0 and 1 (wrong on rows 3 and 0) rows 0 and 3 weigh most.

    Members 2 and 3 err there and are no better than chance under these weights,
    but better than chance, and in this order, under the weights of the start.
    """
    codes = np.array([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1]])
    F, y = votes(codes), [0] * 4
    # 0: error 1/4, weights 1/6 1/6 1/6 1/2. 1: error 1/6, weights 1/2 1/10 1/10 3/10.
    # 2 errs by 4/5: anew, 1/2; it is chance: taken, weights stay those of the start.
    assert OrderPruner("boosting-order").fit(F, y).order_.tolist() == [0, 1, 2, 3]


def test_boosting_starts_anew_at_a_twin():
    """After 0 its twin errs by exactly chance, whatever the rounding."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        codes = (rng.random((9, 1)) < 0.3).astype(int).repeat(3, axis=1)
        codes[:, 2] = 1 - codes[:, 0] * (rng.random(9) < 0.5)
        rows = plain.Rows(votes(codes), [0] * 9)
        order = OrderPruner("boosting-order").fit(votes(codes), [0] * 9).order_
        assert order.tolist() == plain.boosting_order(rows)


def test_boosting_with_many_classes_uses_the_chance_of_many_classes():
    """K = 3: an error of 0.6 is better than chance and must not start anew."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    right = rng.random((300, 6)) < 0.4
    codes = np.where(right, y[:, None], (y[:, None] + 1) % 3)
    fitted = OrderPruner("boosting-order").fit(votes(codes, 3), y)
    rows = plain.Rows(votes(codes, 3), y)
    assert fitted.order_.tolist() == plain.boosting_order(rows)


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
    fitted = OrderPruner("specialty").fit(F, y, held_out=held_out, sample_weight=s)
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
    found = OrderPruner("correlation").fit(F, y, sample_weight=s).scores_
    whole = counts.argmax(axis=1)
    expected = [matthews_corrcoef(whole, v, sample_weight=s) for v in votes.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_vote_that_never_changes_has_no_correlation():
    votes = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 1]])
    pruner = OrderPruner("correlation", 1).fit(np.eye(2)[votes], [0, 1, 0, 1])
    assert pruner.scores_[0] == 0.0
    assert pruner.support_.tolist() != [0]
