"""ComplementarityPruner, ConcurrencyPruner and BoostingOrderPruner."""

import numpy as np
import pytest
from hypothesis import given

from committee import BoostingOrderPruner, ComplementarityPruner, ConcurrencyPruner
from tests.reference import pruners as plain
from tests.reference.hostile import votes

PRUNERS = {
    ComplementarityPruner: plain.complementarity,
    ConcurrencyPruner: plain.concurrency,
    BoostingOrderPruner: plain.boosting_order,
}


@pytest.mark.parametrize("pruner", PRUNERS)
@given(case=plain.vote_problems)
def test_against_plain_loops(pruner, case):
    F, y, held_out, s = case
    fitted = pruner().fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == PRUNERS[pruner](plain.Rows(*case))


@pytest.mark.parametrize("pruner", [ComplementarityPruner, BoostingOrderPruner])
def test_the_first_is_the_best_and_its_twin_waits(pruner):
    """Member 2 is wrong most, and right where 0 and 1 are wrong."""
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    assert pruner().fit(votes(codes), [0] * 5).order_.tolist() == [0, 2, 1]


def test_complementarity_without_failures_goes_by_error():
    """Member 3 is always right; then none complements: errors, not storage."""
    codes = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    order = ComplementarityPruner().fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [3, 2, 1, 0]


def test_concurrency_by_hand():
    """Votes of four on y = 0: the committee ties on row 0 and loses row 1.

    con_0 = con_1: tie right 1.5 - 2; con_2: -1 - 2; con_3: -1 + 2. So 2 goes first.
    Left 0, 1, 3: row 0 won, row 1 lost: con_0 = con_1 = 1 - 2, con_3 = 0 + 2; of the
    equal ones the higher number goes. 0 and 3 are equal as well.
    """
    F = votes(np.array([[0, 0, 1, 1], [1, 1, 1, 0]]))
    assert ConcurrencyPruner().fit(F, [0, 0]).order_.tolist() == [0, 3, 1, 2]


def test_boosting_starts_anew_when_nobody_beats_chance():
    """After 0 and 1 (wrong on rows 3 and 0) rows 0 and 3 weigh most.

    Members 2 and 3 err there and are no better than chance under these weights,
    but better than chance, and in this order, under the weights of the start.
    """
    codes = np.array([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1]])
    F, y = votes(codes), [0] * 4
    # 0: error 1/4, weights 1/6 1/6 1/6 1/2. 1: error 1/6, weights 1/2 1/10 1/10 3/10.
    # 2 errs by 4/5: anew, 1/2; it is chance: taken, weights stay those of the start.
    assert BoostingOrderPruner().fit(F, y).order_.tolist() == [0, 1, 2, 3]


def test_boosting_starts_anew_at_a_twin():
    """After 0 its twin errs by exactly chance, whatever the rounding."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        codes = (rng.random((9, 1)) < 0.3).astype(int).repeat(3, axis=1)
        codes[:, 2] = 1 - codes[:, 0] * (rng.random(9) < 0.5)
        rows = plain.Rows(votes(codes), [0] * 9)
        order = BoostingOrderPruner().fit(votes(codes), [0] * 9).order_
        assert order.tolist() == plain.boosting_order(rows)


def test_boosting_with_many_classes_uses_the_chance_of_many_classes():
    """K = 3: an error of 0.6 is better than chance and must not start anew."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    right = rng.random((300, 6)) < 0.4
    codes = np.where(right, y[:, None], (y[:, None] + 1) % 3)
    fitted = BoostingOrderPruner().fit(votes(codes, 3), y)
    rows = plain.Rows(votes(codes, 3), y)
    assert fitted.order_.tolist() == plain.boosting_order(rows)
